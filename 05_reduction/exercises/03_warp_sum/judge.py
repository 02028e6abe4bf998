"""Exercise 05/warp_sum."""

from exercise.api import Array, Case, Count, Right, drawn, eighths, many

TITLE = "A tree of shuffles"
KIND = "step"
MINUTES = 15
CALL = "block_sums(float* x, float* sums, int n)"

BLOCK = 256


def cases(random):
    fixed = (BLOCK, 4 * BLOCK, 1, 2, 31, 33, 255, 257, 1021)
    odd = drawn(random, 3, 4 * BLOCK, besides=(*fixed, *range(0, 4 * BLOCK + 1, BLOCK)))
    for n in (*fixed, odd, drawn(random, 2 * BLOCK, 12 * BLOCK, BLOCK, fixed)):
        sums = Array("sums", role="output", count=-(-n // BLOCK))
        yield Case(f"n = {n}", {"n": n}, [Array("x", eighths(random, n)), sums])


def expected(case):
    x = case["x"].values
    return {"sums": [sum(x[i : i + BLOCK]) for i in range(0, len(x), BLOCK)]}


POINTS = [
    Right(2, "whole blocks", lambda case: case.sizes["n"] % BLOCK == 0),
    Right(2, "blocks that are not full", lambda case: case.sizes["n"] % BLOCK),
    # Steps are basic blocks and accesses: a shuffle for each of 32 lanes takes 686 a block.
    Count(
        2,
        "one barrier a block, and a sum of a warp by its lanes",
        lambda case: case.sizes["n"] % BLOCK == 0 and case.sizes["n"] > BLOCK,
        # Who adds alone loads one element after the other.
        lambda counts, case: counts["barriers"] <= counts["blocks"]
        and counts["global"]["load_requests"] <= 8 * counts["blocks"]
        and counts["shared"]["load_requests"] <= 16 * counts["blocks"]
        and counts["instructions"] <= 480 * counts["blocks"],
        lambda counts: f"{many(counts['blocks'], 'block')} passed {counts['barriers']} barriers, "
        f"loaded {counts['global']['load_requests']} times, and "
        f"{counts['shared']['load_requests']} times from shared memory; "
        f"{counts['instructions'] // counts['blocks']} steps of warps a block, as the "
        "emulator counts them",
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

RIGHTS = {
    "by xor": {
        1: "for (int s = 1; s < 32; s *= 2) sum += __shfl_xor_sync(kAllLanes, sum, s);"
    },
    "thread 0 adds eight": {
        2: _LEAVE + "__syncthreads();\nif (t == 0) {\n"
        "  for (int w = 1; w < kWarps; ++w) sum += of_warps[w];\n}"
    },
    "every warp adds all": {
        2: "if ((t & 31) == 0) of_warps[t >> 5] = sum;\n__syncthreads();\n"
        "sum = warp_sum((t & 31) < kWarps ? of_warps[t & 31] : 0.0f);"
    },
}

MUTANTS = {
    "before: 32 shuffles, one after the other": {
        1: "float all = 0;\n"
        "for (int l = 0; l < 32; ++l) all += __shfl_sync(kAllLanes, sum, l);\nreturn all;"
    },
    "past the end the last element counts again": {
        0: [("i < n ? x[i] : 0.0f", "x[min(i, n - 1)]")]
    },
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
    "before: thread 0 adds alone": {
        2: "__shared__ float all[kBlock];\nall[t] = i < n ? x[i] : 0.0f;\n__syncthreads();\n"
        "sum = 0;\nfor (int k = 0; k < kBlock && t == 0; ++k) sum += all[k];"
    },
    "before: a tree in shared memory": {2: _TREE},
}
