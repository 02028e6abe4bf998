"""Exercise 05/warp_sum."""

from exercise.api import Array, Case, Count, Right, eighths

TITLE = "A tree of shuffles"
KIND = "step"
MINUTES = 15

BLOCK = 256


def cases(random):
    for n in (BLOCK, 4 * BLOCK, 1, 2, 31, 33, 255, 257, 1021):
        sums = Array("sums", role="output", count=-(-n // BLOCK))
        yield Case(f"n = {n}", {"n": n}, [Array("x", eighths(random, n)), sums])


def expected(case):
    x = case["x"].values
    return {"sums": [sum(x[i : i + BLOCK]) for i in range(0, len(x), BLOCK)]}


POINTS = [
    Right(2, "whole blocks", lambda case: case.sizes["n"] % BLOCK == 0),
    Right(2, "blocks that are not full", lambda case: case.sizes["n"] % BLOCK),
    Count(
        2,
        "one barrier a block",
        "n = 1024",
        lambda counts, case: counts["barriers"] <= 4,
        lambda counts: f"four blocks passed {counts['barriers']} barriers, 4 are enough",
    ),
]

_TREE = """
__shared__ float part[kWarps];
if (t % 32 == 0) part[t / 32] = sum;
__syncthreads();
for (int half = kWarps / 2; half > 0; half /= 2) {
  if (t < half) part[t] += part[t + half];
  __syncthreads();
}
sum = part[0];"""
_LEAVE = "if (t % 32 == 0) of_warps[t / 32] = sum;\n"

MUTANTS = {
    "begins one step late": {
        1: "for (int s = 8; s > 0; s /= 2) sum += __shfl_down_sync(kAllLanes, sum, s);"
    },
    "no barrier": {2: _LEAVE + "if (t < 32) sum = warp_sum(t < kWarps ? of_warps[t] : 0.0f);"},
    "eight lanes come, the mask names 32": {
        2: _LEAVE + "__syncthreads();\nif (t < kWarps) sum = warp_sum(of_warps[t]);"
    },
    "lanes without a warp take what lies there": {
        2: _LEAVE + "__syncthreads();\nif (t < 32) sum = warp_sum(of_warps[t]);"
    },
    "before: a tree in shared memory": {2: _TREE},
}
