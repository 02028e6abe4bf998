"""Exercise 05/compact."""

from exercise.api import Array, Case, Count, Right, drawn, floats

TITLE = "A new problem: keep what is positive"
KIND = "problem"
# No GPU promises that block 0 begins, or warp 0. Blocks may wait for one another, all at a time.
SETTINGS = {"SIMT_ORDER": "random:7", "SIMT_STACK_KB": "64"}
MINUTES = 45
TINY = 2.0**-140


def cases(random):
    few, many = drawn(random, 34, 254), drawn(random, 258, 4000)
    inputs = {
        "n = 256": floats(random, 256),
        "n = 1, kept": [0.5],
        "n = 1, not kept": [-0.5],
        "n = 33": floats(random, 33),
        "n = 255, all kept": floats(random, 255, 0.5, 1),
        f"n = {few}": floats(random, few),
        f"n = {many}": floats(random, many),
        "n = 257": floats(random, 257),
        "n = 5000": floats(random, 5000),
        "n = 12000, few kept": floats(random, 12_000, -9, 1),
        "n = 1000, none kept": floats(random, 1000, -1, -0.5),
        "n = 200, some of them 0": [
            random.choice((-1.0, -TINY, -0.0, 0.0, TINY, 1.0)) for _ in range(200)
        ],
    }
    for name, x in inputs.items():
        kept = sum(value > 0 for value in x)
        outputs = [Array("y", role="output", count=kept)]
        outputs += [Array("count", role="output", count=1, type="int")]
        yield Case(name, {"n": len(x)}, [Array("x", x), *outputs])


def expected(case):
    kept = [value for value in case["x"].values if value > 0]
    return {"y": kept, "count": [len(kept)]}


def _requests(counts):
    return counts["global"]["load_requests"]


def _lanes(counts):
    """That store together."""
    return counts["global"]["store_executions"] / max(1, counts["global"]["store_requests"])


POINTS = [
    Right(3, "up to 256 elements", lambda case: case.sizes["n"] <= 256),
    Right(4, "more elements", lambda case: case.sizes["n"] > 256),
    Count(
        2,
        "warps load together",
        "n = 5000",
        # 157 warps of x, read twice, and what the scan takes.
        lambda counts, case: _requests(counts) <= 1000 and _lanes(counts) >= 4,
        lambda counts: f"the warps made {_requests(counts)} loads for 5000 elements, "
        f"1000 are more than enough; {_lanes(counts):.0f} lanes of a warp store together",
        blocks=lambda case: 4,
        # Those that keep something; a few may store counts, one after the other.
        threads=lambda case: {"stores": len(case["y"]) // 50},
    ),
]

_DRAWN = """
__global__ void draw_kernel(const float* x, int n, float* y, int* count) {
  const int i = blockIdx.x * kBlock + threadIdx.x;
  if (i < n && x[n - 1 - i] > 0) y[atomicAdd(count, 1)] = x[n - 1 - i];
}"""
_ALONE = """
__global__ void alone_kernel(const float* x, int n, float* y, int* count) {
  int kept = 0;
  for (int i = 0; i < n; ++i) {
    if (x[i] > 0) y[kept++] = x[i];
  }
  *count = kept;
}"""
_ALL = """
__global__ void all_kernel(const float* x, int n, float* y, int* count) {
  __shared__ int of_warps[8];
  const int t = threadIdx.x;
  int before = 0;
  for (int first = 0; first < n; first += 256) {
    const float value = first + t < n ? x[first + t] : 0;
    const unsigned kept = __ballot_sync(~0u, value > 0);
    if (t % 32 == 0) of_warps[t / 32] = __popc(kept);
    __syncthreads();
    int place = before + __popc(kept & ((1u << t % 32) - 1));
    for (int w = 0; w < 8; ++w) place += w < t / 32 ? of_warps[w] : 0, before += of_warps[w];
    if (value > 0) y[place] = value;
    __syncthreads();
  }
  if (t == 0) *count = before;
}"""
_LAUNCHES = """
const int blocks = (n + kBlock - 1) / kBlock;
count_kernel<<<blocks, kBlock>>>(x, n, scratch);
{scan}
place_kernel<<<blocks, kBlock>>>(x, n, scratch, y);"""
# Where each block adds up the counts of those before it.
_COUNT = """
__global__ void count_kernel(const float* x, int n, int* kept) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  const int count = __syncthreads_count(i < n && x[i] > 0);
  if (threadIdx.x == 0) kept[blockIdx.x] = count;
}"""
_COUNT_AND_PLACE = (
    "const int blocks = (n + kBlock - 1) / kBlock;\n"
    "count_kernel<<<blocks, kBlock>>>(x, n, scratch);\n"
    "place_kernel<<<blocks, kBlock>>>(x, n, scratch, y, count);"
)

RIGHTS = {
    "counted by atomics in shared memory": {
        0: [("  const int count = __syncthreads_count(i < n && x[i] > 0);\n"
             "  if (threadIdx.x == 0) kept[blockIdx.x] = count;",
             "  __shared__ int all;\n  if (threadIdx.x == 0) all = 0;\n  __syncthreads();\n"
             "  if (i < n && x[i] > 0) atomicAdd(&all, 1);\n  __syncthreads();\n"
             "  if (threadIdx.x == 0) kept[blockIdx.x] = all;")],
    },
    "one thread scans the counts": {
        0: [("  const int lane = threadIdx.x;\n  int before = 0;\n"
        "  for (int first = 0; first < blocks; first += 32) {",
             "  int all = 0;\n  for (int b = 0; b < blocks && threadIdx.x == 0; ++b) {\n"
             "    int& at = kept[b];\n    const int own = at;\n    at = all;\n    all += own;\n"
             "  }\n"
             "  if (threadIdx.x == 0) *total = all;\n  return;\n"
             "  const int lane = threadIdx.x;\n  int before = 0;\n"
             "  for (int first = 0; first < blocks; first += 32) {")],
    },
    "counted by ballots, a template": {
        0: [("__global__ void count_kernel(", "template <int kThreads>\n"
        "__global__ void count_kernel("),
            ("  const int count = __syncthreads_count(i < n && x[i] > 0);\n"
             "  if (threadIdx.x == 0) kept[blockIdx.x] = count;",
             "  __shared__ int count;\n  if (threadIdx.x == 0) count = 0;\n  __syncthreads();\n"
             "  const float* from = x + i;\n"
             "  const unsigned lanes = __ballot_sync(~0u, from < x + n && *from > 0);\n"
             "  if (threadIdx.x % 32 == 0) atomicAdd(&count, __popc(lanes));\n  __syncthreads();\n"
             "  if (threadIdx.x == kThreads - 1) kept[blockIdx.x] = count;")],
        2: "const int blocks = (n - 1) / kBlock + 1;\n"
        "count_kernel<kBlock><<<blocks, kBlock>>>(x, n, scratch);\n"
        "scan_kernel<<<1, 32>>>(scratch, blocks, count);\n"
        "place_kernel<<<blocks, kBlock>>>(x, n, scratch, y);",
    },
}

MUTANTS = {
    "blocks draw their places from a counter": {
        1: """
__global__ void draw_kernel(const float* x, int n, float* y, int* count) {
  __shared__ int of_warps[8], first;
  const int i = blockIdx.x * 256 + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const float value = i < n ? x[i] : 0;
  const unsigned kept = __ballot_sync(~0u, value > 0);
  if (lane == 0) of_warps[warp] = __popc(kept);
  __syncthreads();
  int before = 0, all = 0;
  for (int w = 0; w < 8; ++w) before += w < warp ? of_warps[w] : 0, all += of_warps[w];
  if (threadIdx.x == 0) first = atomicAdd(count, all);
  __syncthreads();
  if (value > 0) y[first + before + __popc(kept & ((1u << lane) - 1))] = value;
}
__global__ void zero_kernel(int* count) { *count = 0; }""",
        2: "zero_kernel<<<1, 1>>>(count);\n"
        "draw_kernel<<<(n + kBlock - 1) / kBlock, kBlock>>>(x, n, y, count);",
    },
    "before: one block for all": {
        1: _ALL,
        2: "all_kernel<<<1, 256>>>(x, n, y, count);",
    },
    "0 is kept": {0: [("x[i] > 0", "x[i] >= 0")]},
    "before: one block of four does the work": {
        1: _ALL.replace("  int before = 0;", "  if (blockIdx.x > 0) return;\n  int before = 0;"),
        2: "all_kernel<<<4, 256>>>(x, n, y, count);",
    },
    "before: thread 0 places what its block has loaded": {
        1: _COUNT + """
__global__ void place_kernel(const float* x, int n, const int* kept, float* y, int* count) {
  __shared__ float tile[256];
  const int t = threadIdx.x, i = blockIdx.x * 256 + t;
  tile[t] = i < n ? x[i] : 0;
  __syncthreads();
  if (t > 0) return;
  int place = 0;
  for (int b = 0; b < int(blockIdx.x); ++b) place += kept[b];
  for (int e = 0; e < 256; ++e) {
    if (tile[e] > 0) y[place++] = tile[e];
  }
  if (blockIdx.x + 1 == gridDim.x) *count = place;
}""",
        2: _COUNT_AND_PLACE,
    },
    "before: lane 0 stores what its warp has loaded": {
        1: _COUNT + """
__global__ void place_kernel(const float* x, int n, const int* kept, float* y, int* count) {
  __shared__ int of_warps[8];
  const int i = blockIdx.x * 256 + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const float value = i < n ? x[i] : 0;
  const unsigned keep = __ballot_sync(~0u, value > 0);
  if (lane == 0) of_warps[warp] = __popc(keep);
  __syncthreads();
  int place = 0;
  for (int b = 0; b < int(blockIdx.x); ++b) place += kept[b];
  for (int w = 0; w < warp; ++w) place += of_warps[w];
  for (unsigned rest = keep; rest != 0; rest &= rest - 1) {
    const float of_lane = __shfl_sync(~0u, value, __ffs(rest) - 1);
    if (lane == 0) y[place] = of_lane;
    ++place;
  }
  if (blockIdx.x + 1 == gridDim.x && threadIdx.x == 255) *count = place;
}""",
        2: _COUNT_AND_PLACE,
    },
    "no count if nothing is kept": {
        0: [("if (lane == 0) *total = before;", "if (lane == 0 && before > 0) *total = before;")]
    },
    "places are drawn from a counter": {
        1: _DRAWN,
        2: "cudaMemset(count, 0, sizeof(int));\n"
        "draw_kernel<<<(n + kBlock - 1) / kBlock, kBlock>>>(x, n, y, count);",
    },
    "the counts are not scanned": {2: _LAUNCHES.format(scan="cudaMemset(count, 0, 4);")},
    "at most 32 blocks": {
        2: _LAUNCHES.format(
            scan="scan_kernel<<<1, 32>>>(scratch, blocks < 32 ? blocks : 32, count);"
        )
    },
    "before: one thread": {1: _ALONE, 2: "alone_kernel<<<1, 1>>>(x, n, y, count);"},
}
