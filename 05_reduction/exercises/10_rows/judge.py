"""Exercise 05/rows."""

from itertools import accumulate

from exercise.api import Array, Case, Count, Right, eighths

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
    for name, lengths in inputs.items():
        begin = [0, *accumulate(lengths)]
        yield Case(
            name,
            {"rows": len(lengths)},
            [
                Array("x", eighths(random, begin[-1] + 1)),
                Array("begin", begin, type="int"),
                Array("sums", role="output", count=len(lengths)),
            ],
        )


def expected(case):
    x, begin = case["x"].values, case["begin"].values
    return {"sums": [sum(x[a:b]) for a, b in zip(begin, begin[1:])]}


def _used(counts):
    return counts["global"]["load_bytes_used"] / max(1, counts["global"]["load_bytes_moved"])


POINTS = [
    Right(2, "still right"),
    Count(
        3,
        "half of the bytes that move are used",
        "200 rows",
        lambda counts, case: _used(counts) >= 0.5,
        lambda counts: f"{_used(counts):.0%} of the bytes that moved were used",
    ),
    Count(
        1,
        "half of the lanes work",
        "200 rows",
        lambda counts, case: counts["active_lanes_per_instruction"] >= 16,
        lambda counts: f"{counts['active_lanes_per_instruction']:.1f} lanes worked on average",
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

MUTANTS = {
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
}
