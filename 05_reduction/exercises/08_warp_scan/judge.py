"""Exercise 05/warp_scan."""

from itertools import accumulate

from exercise.api import Array, Case, Count, Right, drawn, eighths, many

TITLE = "A scan without a tree"
KIND = "step"
MINUTES = 15
CALL = "scan_blocks(float* x, float* y, int n)"

BLOCK = 256


def cases(random):
    fixed = (1, 2, 31, 32, 33, 255, 256, 257, 4 * BLOCK, 1021)
    few = drawn(random, 3, 30)
    odd = drawn(random, 34, 4 * BLOCK, besides=(*fixed, *range(0, 4 * BLOCK + 1, BLOCK)))
    for n in (*fixed, few, odd, drawn(random, 2 * BLOCK, 12 * BLOCK, BLOCK, fixed)):
        x = Array("x", eighths(random, n))
        yield Case(f"n = {n}", {"n": n}, [x, Array("y", role="output", count=n)], tile=BLOCK)


def expected(case):
    x, y = case["x"].values, []
    for first in range(0, len(x), BLOCK):
        y += accumulate(x[first : first + BLOCK])
    return {"y": y}


POINTS = [
    Right(2, "at most one warp", lambda case: case.sizes["n"] <= 32),
    Right(2, "several warps and blocks", lambda case: case.sizes["n"] > 32),
    # Steps are basic blocks and accesses: a shuffle for each of 32 lanes takes 1216 a block.
    Count(
        1,
        "one barrier a block, and no thread that scans alone",
        lambda case: case.sizes["n"] % BLOCK == 0 and case.sizes["n"] > BLOCK,
        lambda counts, case: counts["barriers"] <= counts["blocks"]
        and counts["global"]["load_requests"] <= 8 * counts["blocks"]
        and counts["shared"]["load_requests"] <= 72 * counts["blocks"]
        and counts["instructions"] <= 800 * counts["blocks"],
        lambda counts: f"{many(counts['blocks'], 'block')} passed {counts['barriers']} barriers, "
        f"loaded {counts['global']['load_requests']} times, and "
        f"{counts['shared']['load_requests']} times from shared memory; "
        f"{counts['instructions'] // counts['blocks']} steps of warps a block, as the "
        "emulator counts them",
    ),
]

_LEAVE = "if (threadIdx.x % 32 == 31) of_warps[warp] = sum;\n"
_TWO_BARRIERS = _LEAVE + (
    "__syncthreads();\nif (threadIdx.x == 0) {\n"
    "  for (int w = 1; w < kWarps; ++w) of_warps[w] += of_warps[w - 1];\n}\n"
    "__syncthreads();\nif (warp > 0) sum += of_warps[warp - 1];"
)

RIGHTS = {
    "every lane adds something": {
        1: "#pragma unroll\nfor (int d = 1; d <= 16; d <<= 1) {\n"
        "  const float earlier = __shfl_up_sync(~0u, sum, d);\n"
        "  sum += lane < d ? 0.0f : earlier;\n}"
    },
    "pointers": {
        2: "if ((threadIdx.x & 31) == 31) *(of_warps + warp) = sum;\n__syncthreads();\n"
        "for (const float* w = of_warps; w < of_warps + warp; ++w) sum += *w;"
    },
    "all warps look at all sums": {
        2: _LEAVE + "__syncthreads();\nfloat before = 0;\n"
        "for (int w = 0; w < kWarps; ++w) before += w < warp ? of_warps[w] : 0.0f;\nsum += before;"
    },
    "the sums are scanned by every warp": {
        2: _LEAVE + "__syncthreads();\nconst int lane = threadIdx.x % 32;\n"
        "const float totals = warp_scan(lane < kWarps ? of_warps[lane] : 0.0f);\n"
        "const float before = __shfl_sync(kAllLanes, totals, max(0, warp - 1));\n"
        "if (warp > 0) sum += before;"
    },
}

MUTANTS = {
    "before: 32 shuffles, one after the other": {
        1: "float all = 0;\nfor (int l = 0; l < 32; ++l) {\n"
        "  const float other = __shfl_sync(kAllLanes, sum, l);\n"
        "  if (l <= lane) all += other;\n}\nreturn all;"
    },
    "only the warp before is added": {
        2: _LEAVE + "__syncthreads();\nif (warp > 0) sum += of_warps[warp - 1];"
    },
    "the guard is gone": {0: [("if (i < n) y[i] = sum;", "y[i] = sum;")]},
    "the first lanes add their own value": {
        1: "for (int d = 1; d < 32; d *= 2) sum += __shfl_up_sync(kAllLanes, sum, d);"
    },
    "only those shuffle that add": {
        1: "for (int d = 1; d < 32; d *= 2) {\n"
        "  if (lane >= d) sum += __shfl_up_sync(kAllLanes, sum, d);\n}"
    },
    "no barrier": {2: _LEAVE + "for (int w = 0; w < warp; ++w) sum += of_warps[w];"},
    "the own warp is added, too": {
        2: _LEAVE + "__syncthreads();\nfor (int w = 0; w <= warp; ++w) sum += of_warps[w];"
    },
    "before: thread 0 scans the sums of the warps": {2: _TWO_BARRIERS},
}
