"""Exercise 05/tree."""

import math

from exercise.api import Array, Case, Count, Right, floats

TITLE = "A tree without conflicts"
KIND = "step"
MINUTES = 15

BLOCK = 256


def cases(random):
    for n in (BLOCK, 4 * BLOCK, 1, 2, 31, 33, 255, 257, 1021):
        sums = Array("sums", role="output", count=-(-n // BLOCK))
        yield Case(f"n = {n}", {"n": n}, [Array("x", floats(random, n)), sums])


def expected(case):
    x = case["x"].values
    return {"sums": [math.fsum(x[i : i + BLOCK]) for i in range(0, len(x), BLOCK)]}


def bound(case, name, b):
    """A sum of 256 passes each element through at most 255 roundings."""
    return 255 * 2**-24 * sum(map(abs, case["x"].values[b * BLOCK : (b + 1) * BLOCK]))


def _rounds(counts):
    shared = counts["shared"]
    return (shared["load_wavefronts"] + shared["store_wavefronts"]) / (
        shared["load_requests"] + shared["store_requests"]
    )


POINTS = [
    Right(2, "whole blocks", lambda case: case.sizes["n"] % BLOCK == 0),
    Right(2, "blocks that are not full", lambda case: case.sizes["n"] % BLOCK),
    Count(
        1,
        "no bank conflicts",
        "n = 1024",
        lambda counts, case: _rounds(counts) == 1,
        lambda counts: f"{_rounds(counts):.2f} rounds an access to shared memory",
    ),
    Count(
        1,
        "whole warps drop out, not lanes",
        "n = 1024",
        # Four blocks; lanes part where 16, 8, 4, 2 and 1 of a warp add, and where thread 0 stores.
        lambda counts, case: counts["divergent_branches"] <= 4 * 6,
        lambda counts: f"lanes parted at {counts['divergent_branches']} branches, 24 are needed",
    ),
]

MUTANTS = {
    "no barrier": {
        1: "for (int half = kBlock / 2; half > 0; half /= 2) {\n"
        "  if (t < half) part[t] += part[t + half];\n}"
    },
    "a barrier only for those that add": {
        1: "for (int half = kBlock / 2; half > 0; half /= 2) {\n"
        "  if (t < half) {\n    part[t] += part[t + half];\n    __syncthreads();\n  }\n}"
    },
    "ends one step early": {
        1: "for (int half = kBlock / 2; half > 1; half /= 2) {\n"
        "  if (t < half) part[t] += part[t + half];\n  __syncthreads();\n}"
    },
    "begins one step late": {
        1: "for (int half = kBlock / 4; half > 0; half /= 2) {\n"
        "  if (t < half) part[t] += part[t + half];\n  __syncthreads();\n}"
    },
    "before: every second thread": {
        1: "for (int step = 1; step < kBlock; step *= 2) {\n"
        "  if (t % (2 * step) == 0) part[t] += part[t + step];\n  __syncthreads();\n}"
    },
    "before: neighbours that read far apart": {
        1: "for (int step = 1; step < kBlock; step *= 2) {\n"
        "  const int first = 2 * step * t;\n"
        "  if (first < kBlock) part[first] += part[first + step];\n  __syncthreads();\n}"
    },
}
