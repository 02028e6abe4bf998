"""Exercise 05/rows."""

from itertools import accumulate

from exercise.api import Array, Case, Count, Right, drawn, eighths

TITLE = "Make it fast: rows of different lengths"
KIND = "speed"
MINUTES = 25
CALL = "sum_rows(float* x, int* begin, int rows, float* sums)"


def cases(random):
    inputs = {
        "200 rows": [random.choice((0, 7, 31, 60, 64, 90, 120)) for _ in range(195)] + [300] * 5,
        "one row of 100": [100],
        "one empty row": [0],
        "33 rows of at most 3": [random.randrange(4) for _ in range(33)],
        "5 rows, the last one empty": [32, 33, 1, 300, 0],
    }
    rows = drawn(random, 900, 990)
    lengths = [random.choice((0, 7, 31, 60, 64, 90, 120)) for _ in range(rows - 6)]
    inputs[f"{rows} rows"] = [*lengths, *[300] * 5, random.randrange(2)]
    for name, lengths in inputs.items():
        begin = [0, *accumulate(lengths)]
        yield Case(
            name,
            {"rows": len(lengths)},
            [
                Array("x", eighths(random, max(1, begin[-1]))),
                Array("begin", begin, type="int"),
                Array("sums", role="output", count=len(lengths)),
            ],
        )


def expected(case):
    x, begin = case["x"].values, case["begin"].values
    return {"sums": [sum(x[a:b]) for a, b in zip(begin, begin[1:])]}


def _is_large(case):
    return case.sizes["rows"] >= 200


def _used(counts):
    return counts["global"]["load_bytes_used"] / max(1, counts["global"]["load_bytes_moved"])


POINTS = [
    Right(2, "still right"),
    Count(
        3,
        "45 % of the bytes that move are used, each element once",
        _is_large,
        # Four warps a row have 49 %. Beside x there is `begin`; who loads x twice passes 8 bytes.
        lambda counts, case: _used(counts) >= 0.45
        and counts["global"]["load_bytes_used"] < 8 * len(case["x"]),
        lambda counts: f"{_used(counts):.0%} of the bytes that moved were used; "
        f"{counts['global']['load_bytes_used']} bytes were loaded",
    ),
    Count(
        1,
        "half of the lanes work",
        lambda case: case.sizes["rows"] >= 900,
        lambda counts, case: counts["active_lanes_per_instruction"] >= 16
        and counts["launches"] <= 8
        and counts["atomics"]["global_executions"] <= 16 * case.sizes["rows"],
        lambda counts: f"{counts['active_lanes_per_instruction']:.1f} lanes worked on average, in "
        f"{counts['launches']} launches, with {counts['atomics']['global_executions']} atomics",
        blocks=lambda case: 2,
        threads=lambda case: {"loads": 128},
        busy=0.09,  # a block of 128 for each row, of which one thread loads where it begins
    ),
]

_WARP = """
__global__ void sum_rows_kernel(const float* x, const int* begin, int rows, float* sums) {{
  const int row = (blockIdx.x * kBlock + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  float sum = 0;
  {loop}
  for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffffu, sum, s);
  if (lane == 0) sums[row] = sum;
}}
inline void sum_rows(const float* x, const int* begin, int rows, float* sums) {{
  {launch}
}}"""
_LOOP = "for (int i = begin[row] + lane; i < begin[row + 1]; i += 32) sum += x[i];"
_LAUNCH = "sum_rows_kernel<<<(rows + 3) / 4, kBlock>>>(x, begin, rows, sums);"

RIGHTS = {
    "pointers, by xor": {
        1: _WARP.format(
            loop="const float *from = x + begin[row] + lane, *end = x + begin[row + 1];\n"
            "  while (from < end) {\n    sum += *from;\n    from += 32;\n  }\n"
            "  for (int s = 1; s < 32; s *= 2) sum += __shfl_xor_sync(~0u, sum, s);\n"
            "  if (lane == 0) sums[row] = sum;\n  return;",
            launch=_LAUNCH,
        )
    },
    "a few blocks walk over all rows": {
        1: """
__device__ float over_warp(float sum) {
  for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffffu, sum, s);
  return sum;
}
__global__ void sum_rows_kernel(const float* x, const int* begin, int rows, float* sums) {
  const int lane = threadIdx.x & 31, warps = gridDim.x * blockDim.x / 32;
  for (int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32; r < rows; r += warps) {
    const int first = begin[r], length = begin[r + 1] - first;
    float sum = 0;
    for (int k = lane; k < length; k += 32) sum += x[first + k];
    if (sum = over_warp(sum); lane == 0) sums[r] = sum;
  }
}
inline void sum_rows(const float* x, const int* begin, int rows, float* sums) {
  sum_rows_kernel<<<16, 256>>>(x, begin, rows, sums);
}"""
    },
    "a block of one warp for each row": {
        1: """
__global__ void sum_rows_kernel(const float* x, const int* begin, float* sums) {
  const int2 mine = {begin[blockIdx.x], begin[blockIdx.x + 1]};
  float sum = 0;
  for (int i = mine.x + threadIdx.x; i < mine.y; i += 32) sum += x[i];
  for (int s = 16; s > 0; s >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, s);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}
inline void sum_rows(const float* x, const int* begin, int rows, float* sums) {
  sum_rows_kernel<<<rows, 32>>>(x, begin, sums);
}"""
    },
}

MUTANTS = {
    "before: an atomic for each element": {
        1: """
__global__ void sum_rows_kernel(const float* x, const int* begin, float* sums) {
  const int row = blockIdx.x;
  for (int i = begin[row] + threadIdx.x; i < begin[row + 1]; i += kBlock) {
    atomicAdd(&sums[row], x[i]);
  }
}
__global__ void clear_kernel(float* sums, int rows) {
  const int row = blockIdx.x * kBlock + threadIdx.x;
  if (row < rows) sums[row] = 0;
}
inline void sum_rows(const float* x, const int* begin, int rows, float* sums) {
  clear_kernel<<<(rows + kBlock - 1) / kBlock, kBlock>>>(sums, rows);
  sum_rows_kernel<<<rows, kBlock>>>(x, begin, sums);
}"""
    },
    "before: one warp for all rows": {
        1: """
__global__ void sum_rows_kernel(const float* x, const int* begin, int rows, float* sums) {
  for (int row = 0; row < rows; ++row) {
    float sum = 0;
    for (int i = begin[row] + threadIdx.x; i < begin[row + 1]; i += 32) sum += x[i];
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(~0u, sum, s);
    if (threadIdx.x == 0) sums[row] = sum;
  }
}
inline void sum_rows(const float* x, const int* begin, int rows, float* sums) {
  sum_rows_kernel<<<1, 32>>>(x, begin, rows, sums);
}"""
    },
    "before: two blocks of a warp for all rows": {
        1: """
__global__ void sum_rows_kernel(const float* x, const int* begin, int rows, float* sums) {
  for (int row = blockIdx.x; row < rows; row += gridDim.x) {
    float sum = 0;
    for (int i = begin[row] + threadIdx.x; i < begin[row + 1]; i += 32) sum += x[i];
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(~0u, sum, s);
    if (threadIdx.x == 0) sums[row] = sum;
  }
}
inline void sum_rows(const float* x, const int* begin, int rows, float* sums) {
  sum_rows_kernel<<<2, 32>>>(x, begin, rows, sums);
}"""
    },
    "before: a launch for each row": {
        1: """
__global__ void sum_rows_kernel(const float* x, const int* begin, int row, float* sums) {
  {
    float sum = 0;
    for (int i = begin[row] + threadIdx.x; i < begin[row + 1]; i += 32) sum += x[i];
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(~0u, sum, s);
    if (threadIdx.x == 0) sums[row] = sum;
  }
}
inline void sum_rows(const float* x, const int* begin, int rows, float* sums) {
  for (int r = 0; r < rows; ++r) sum_rows_kernel<<<1, 32>>>(x, begin, r, sums);
}"""
    },
    "before: one warp of four for each row": {
        1: _WARP.format(
            loop=_LOOP.replace("begin[row] + lane", "begin[row] + threadIdx.x").replace(
                "for", "if (threadIdx.x < 32) for"
            ),
            launch="sum_rows_kernel<<<rows, kBlock>>>(x, begin, rows, sums);",
        ).replace("(blockIdx.x * kBlock + threadIdx.x) / 32", "blockIdx.x").replace(
            "lane == 0", "threadIdx.x == 0"
        )
    },
    "before: one warp of each of four large blocks": {
        1: _WARP.format(
            loop="for (int r = row; threadIdx.x < 32 && r < rows; r += 4) {\n"
            "  sum = 0;\n  " + _LOOP.replace("[row", "[r") + "\n"
            "  for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffffu, sum, s);\n"
            "  if (lane == 0) sums[r] = sum;\n  }\n  return;",
            launch="sum_rows_kernel<<<4, 1024>>>(x, begin, rows, sums);",
        ).replace("(blockIdx.x * kBlock + threadIdx.x) / 32", "blockIdx.x")
    },
    "at most 32 elements a row": {
        1: _WARP.format(
            loop="if (begin[row] + lane < begin[row + 1]) sum = x[begin[row] + lane];",
            launch=_LAUNCH,
        )
    },
    "lanes beyond the row's end leave": {
        1: _WARP.format(
            loop="if (begin[row] + lane >= begin[row + 1]) return;\n  " + _LOOP, launch=_LAUNCH
        )
    },
    "too few blocks": {
        1: _WARP.format(loop=_LOOP, launch=_LAUNCH.replace("(rows + 3) / 4", "(rows + 7) / 8"))
    },
    "before: each lane has a stretch of the row": {
        1: _WARP.format(
            loop="const int each = (begin[row + 1] - begin[row] + 31) / 32;\n"
            "  for (int k = 0; k < each; ++k) {\n"
            "    const int i = begin[row] + lane * each + k;\n"
            "    if (i < begin[row + 1]) sum += x[i];\n  }",
            launch=_LAUNCH,
        )
    },
    "before: a thread a row": {
        1: """
__global__ void sum_rows_kernel(const float* x, const int* begin, int rows, float* sums) {
  const int row = blockIdx.x * kBlock + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int i = begin[row]; i < begin[row + 1]; ++i) sum += x[i];
  sums[row] = sum;
}
inline void sum_rows(const float* x, const int* begin, int rows, float* sums) {
  sum_rows_kernel<<<(rows + kBlock - 1) / kBlock, kBlock>>>(x, begin, rows, sums);
}"""
    },
    "before: two warps do the same row": {
        1: _WARP.format(loop=_LOOP, launch=_LAUNCH.replace("(rows + 3) / 4", "(rows + 1) / 2"))
        .replace("/ 32, lane", "/ 64, lane")
    },
}
