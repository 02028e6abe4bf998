"""Exercise 03/batch."""

from exercise.api import Array, Case, Count, Right, floats

TITLE = "A new problem: many small matrices, each transposed"
KIND = "problem"
MINUTES = 25
CALL = "transpose_all(float* a, float* b, int count, int rows, int cols)"

COUNTED = "20 of 16 x 24"


def cases(random):
    for count, rows, cols in (
        (20, 16, 24),
        (3, 32, 32),
        (1, 1, 1),
        (7, 1, 32),
        (7, 32, 1),
        (50, 5, 7),
        (9, 31, 29),
    ):
        length = count * rows * cols
        yield Case(
            f"{count} of {rows} x {cols}",
            {"count": count, "rows": rows, "cols": cols},
            [
                Array("a", floats(random, length), shape=(count * rows, cols)),
                Array("b", role="output", count=length, shape=(count * cols, rows)),
            ],
        )


def expected(case):
    a, size = case["a"].values, case.sizes
    count, rows, cols = size["count"], size["rows"], size["cols"]
    return {
        "b": [
            a[(m * rows + r) * cols + c]
            for m in range(count)
            for c in range(cols)
            for r in range(rows)
        ]
    }


def _sectors(counts, op):
    return counts["global"][f"{op}_sectors"] / max(1, counts["global"][f"{op}_requests"])


def _rounds(counts):
    shared = counts["shared"]
    requests = shared["load_requests"] + shared["store_requests"]
    return (shared["load_wavefronts"] + shared["store_wavefronts"]) / max(1, requests)


POINTS = [
    Right(2, "multiples of 8", lambda case: case.sizes["rows"] % 8 == case.sizes["cols"] % 8 == 0),
    Right(3, "odd sizes", lambda case: case.sizes["rows"] % 8 or case.sizes["cols"] % 8),
    Count(
        2,
        "loads and stores of 4 sectors",
        COUNTED,
        lambda counts, case: _sectors(counts, "load") <= 4 and _sectors(counts, "store") <= 4,
        lambda counts: f"{_sectors(counts, 'load'):.1f} sectors a load, "
        f"{_sectors(counts, 'store'):.1f} a store",
    ),
    Count(
        1,
        "at most two rounds an access to shared memory",
        COUNTED,
        lambda counts, case: _rounds(counts) <= 2,
        lambda counts: f"{_rounds(counts):.1f} rounds",
    ),
]

_KERNEL = """
__global__ void transpose_kernel(const float* a, float* b, int rows, int cols) {
  __shared__ float matrix[32 * 32];
  const int length = rows * cols;
  a += blockIdx.x * length;
  b += blockIdx.x * length;
  for (int i = threadIdx.x; i < length; i += 128) matrix[i] = a[i];
  BARRIER
  for (int i = threadIdx.x; i < length; i += 128) b[i] = matrix[FROM];
}"""
_DIRECT = """
__global__ void transpose_kernel(const float* a, float* b, int rows, int cols) {
  const int length = rows * cols;
  a += blockIdx.x * length;
  b += blockIdx.x * length;
  for (int i = threadIdx.x; i < length; i += 128) b[i % cols * rows + i / cols] = a[i];
}"""
_LAUNCH = {2: "transpose_kernel<<<count, 128>>>(a, b, rows, cols);"}


def _kernel(barrier="__syncthreads();", source="i % rows * cols + i / rows"):
    return {1: _KERNEL.replace("BARRIER", barrier).replace("FROM", source), **_LAUNCH}


MUTANTS = {
    "no barrier": _kernel(barrier=""),
    "rows and columns of the result mixed up": _kernel(source="i % cols * rows + i / cols"),
    "a thread for each element, but only 128": {
        1: _DIRECT.replace("i < length; i += 128", "i < min(length, 128); i += 128"),
        **_LAUNCH,
    },
    "before: straight from memory to memory": {1: _DIRECT, **_LAUNCH},
    "before: no padding": _kernel(),
}
