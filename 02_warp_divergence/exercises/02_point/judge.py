"""Exercise 02/point."""

import math

from exercise.api import Array, Case, Count, Right, drawn, floats

TITLE = "A point with one store"
KIND = "step"
MINUTES = 5
CALL = "to_cartesian(float* phi, float2* z, int n)"


def cases(random):
    fixed = (128, 1, 31, 33, 1000, 8192)
    odd = drawn(random, 2, 999, besides=(*fixed, *range(0, 999, 32)))
    for n in (*fixed, odd, drawn(random, 1024, 9999, 32, fixed)):
        phi = Array("phi", floats(random, n, -10, 10))
        yield Case(
            f"n = {n}", {"n": n}, [phi, Array("z", role="output", count=2 * n, shape=(n, 2))]
        )


def expected(case):
    return {"z": [f(angle) for angle in case["phi"].values for f in (math.cos, math.sin)]}


def bound(case, name, i):
    """2 units in the last place of a number below 1, and what is lost near 0."""
    return 2.5e-7


def _places(counts):
    """Where the source stores. (Of z[i] = {a, b} the CPU's compiler makes two stores, nvcc one.)"""
    stores = [site for site in counts["sites"] if site["kind"] == "global store"]
    return len({(site["line"], site["column"]) for site in stores})


POINTS = [
    Right(1, "whole warps", lambda case: case.sizes["n"] % 32 == 0),
    Right(1, "a warp that is not full", lambda case: case.sizes["n"] % 32),
    Count(
        2,
        "one store a warp",
        lambda case: case.sizes["n"] >= 1024 and case.sizes["n"] % 32 == 0,
        lambda counts, case: _places(counts) == 1
        and counts["global"]["store_requests"] <= 2 * case.sizes["n"] // 32
        and counts["global"]["store_bytes"] <= 8 * case.sizes["n"],
        lambda counts: f"{_places(counts)} places in the kernel store a part of z, "
        f"{counts['global']['store_requests']} times together, "
        f"{counts['global']['store_bytes']} bytes",
        blocks=lambda case: case.sizes["n"] // 4096,
        busy=0.51,
    ),
]

RIGHTS = {
    "put together in memory": {1: "z[i] = {cosf(phi[i]), sinf(phi[i])};"},
    "by name": {
        1: "float s, c;\nsincosf(phi[i], &s, &c);\nz[i] = float2{c, s};"
    },
    "stored by sincosf": {1: "sincosf(phi[i], &z[i].y, &z[i].x);"},
    "make_float2": {1: "const float a = phi[i];\nz[i] = make_float2(cosf(a), sinf(a));"},
}

MUTANTS = {
    "a warp that is not full does nothing": {
        1: "if (i / 32 < n / 32) z[i] = make_float2(cosf(phi[i]), sinf(phi[i]));"
    },
    "to degrees and back": {
        1: "const float angle = phi[i] * 57.29578f / 57.29578f;\n"
        "z[i] = make_float2(cosf(angle), sinf(angle));"
    },
    "sine first": {
        1: "float2 point;\nsincosf(phi[i], &point.x, &point.y);\nz[i] = point;",
    },
    "a number each": {
        1: "float* const numbers = reinterpret_cast<float*>(z);\n"
        "numbers[i] = cosf(phi[i]), numbers[n + i] = sinf(phi[i]);"
    },
    "only the first block": {
        1: "if (blockIdx.x == 0) z[i] = make_float2(cosf(phi[i]), sinf(phi[i]));"
    },
    "the cosine twice": {1: "z[i] = make_float2(cosf(phi[i]), cosf(phi[i]));"},
    "before: two stores": {1: "z[i].x = cosf(phi[i]);\nz[i].y = sinf(phi[i]);"},
    "before: each point is stored twice": {
        1: "for (int k = 0; k < 2; ++k) {\n  z[i] = make_float2(cosf(phi[i]), sinf(phi[i]));\n"
        "  __threadfence();\n}"
    },
}
