"""Exercise 02/point."""

import math

from exercise.api import Array, Case, Count, Right, floats

TITLE = "A point with one store"
KIND = "step"
MINUTES = 5


def cases(random):
    for n in (128, 1, 31, 33, 1000, 4096):
        phi = Array("phi", floats(random, n, -10, 10))
        yield Case(
            f"n = {n}", {"n": n}, [phi, Array("z", role="output", count=2 * n, shape=(n, 2))]
        )


def expected(case):
    return {"z": [f(angle) for angle in case["phi"].values for f in (math.cos, math.sin)]}


def bound(case, name, i):
    """2 units in the last place of a number below 1, and what is lost near 0."""
    return 2.5e-7


POINTS = [
    Right(1, "whole warps", lambda case: case.sizes["n"] % 32 == 0),
    Right(1, "a warp that is not full", lambda case: case.sizes["n"] % 32),
    Count(
        2,
        "one store a warp",
        "n = 4096",
        lambda counts, case: counts["global"]["store_requests"] == case.sizes["n"] // 32,
        lambda counts: f"{counts['global']['store_requests']} stores, 128 are enough",
    ),
]

MUTANTS = {
    "sine first": {
        1: "float2 point;\nsincosf(phi[i], &point.x, &point.y);\nz[i] = point;",
    },
    "the cosine twice": {1: "z[i] = make_float2(cosf(phi[i]), cosf(phi[i]));"},
    "before: two stores": {1: "z[i].x = cosf(phi[i]);\nz[i].y = sinf(phi[i]);"},
}
