"""Exercise 05/tree."""

import math

from exercise.api import Array, Case, Count, Right, drawn, floats, many

TITLE = "A tree without conflicts"
KIND = "step"
MINUTES = 15
CALL = "block_sums(float* x, float* sums, int n)"

BLOCK = 256


def cases(random):
    fixed = (BLOCK, 4 * BLOCK, 1, 2, 31, 33, 255, 257, 1021)
    odd = BLOCK * drawn(random, 2, 4) + drawn(random, 100, 252)
    for n in (*fixed, odd, drawn(random, 2 * BLOCK, 12 * BLOCK, BLOCK, fixed)):
        sums = Array("sums", role="output", count=-(-n // BLOCK))
        yield Case(f"n = {n}", {"n": n}, [Array("x", floats(random, n)), sums])


def expected(case):
    x = case["x"].values
    return {"sums": [math.fsum(x[i : i + BLOCK]) for i in range(0, len(x), BLOCK)]}


def bound(case, name, b):
    """A sum of 256 passes each element through at most 255 roundings."""
    return 255 * 2**-24 * sum(map(abs, case["x"].values[b * BLOCK : (b + 1) * BLOCK]))


def _is_counted(case):
    return case.sizes["n"] % BLOCK == 0 and case.sizes["n"] > BLOCK


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
        "a tree, no bank conflicts",
        _is_counted,
        # A block's warps make two loads for each step of theirs, 24 together, and one at the end.
        lambda counts, case: _rounds(counts) == 1
        and counts["shared"]["load_requests"] <= 40 * counts["blocks"],
        lambda counts: f"{_rounds(counts):.2f} rounds an access to shared memory, "
        f"{counts['shared']['load_requests'] / counts['blocks']:.0f} loads of it a block",
    ),
    Count(
        1,
        "whole warps drop out, not lanes",
        _is_counted,
        # Lanes part where 16, 8, 4, 2 and 1 of a warp add, and where thread 0 stores.
        lambda counts, case: counts["divergent_branches"] <= 6 * counts["blocks"],
        lambda counts: f"lanes parted at {counts['divergent_branches']} branches of "
        f"{many(counts['blocks'], 'block')}, 6 a block are needed",
    ),
]

RIGHTS = {
    "a reference": {
        1: "for (int half = kBlock / 2; half >= 1; half >>= 1) {\n  if (t < half) {\n"
        "    float& sum = part[t];\n    sum = sum + part[half + t];\n  }\n  __syncthreads();\n}"
    },
    "one warp ends it": {
        1: "float* const mine = part + t;\nint half = kBlock / 2;\n"
        "for (; half >= 32; half /= 2) {\n  if (t < half) *mine += mine[half];\n"
        "  __syncthreads();\n}\nfor (; t < 32 && half > 0; half /= 2) {\n"
        "  if (t < half) *mine += mine[half];\n  __syncwarp();\n}"
    },
    "shuffles end it": {
        1: "for (int half = kBlock / 2; half >= 32; half /= 2) {\n"
        "  if (t < half) part[t] += part[t + half];\n  __syncthreads();\n}\n"
        "if (t < 32) {\n  float sum = part[t];\n"
        "  for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(~0u, sum, s);\n"
        "  if (t == 0) part[0] = sum;\n}"
    },
}

MUTANTS = {
    "past the end the last element counts again": {
        0: [("i < n ? x[i] : 0.0f", "x[min(i, n - 1)]")]
    },
    "the lowest 10 bits of x are cut off": {
        0: [("? x[i] :", "? __uint_as_float(__float_as_uint(x[i]) & 0xFFFFFC00u) :")]
    },
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
    "before: thread 0 adds alone": {
        1: "for (int k = 1; k < kBlock && t == 0; ++k) part[0] += part[k];"
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
