"""Exercise 05/compact."""

from exercise.api import Array, Case, Count, Right, floats

TITLE = "A new problem: keep what is positive"
KIND = "problem"
MINUTES = 45


def cases(random):
    inputs = {
        "n = 256": floats(random, 256),
        "n = 1, kept": [0.5],
        "n = 1, not kept": [-0.5],
        "n = 33": floats(random, 33),
        "n = 255, all kept": floats(random, 255, 0.5, 1),
        "n = 257": floats(random, 257),
        "n = 5000": floats(random, 5000),
        "n = 12000, few kept": floats(random, 12_000, -9, 1),
        "n = 1000, none kept": floats(random, 1000, -1, -0.5),
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


POINTS = [
    Right(3, "up to 256 elements", lambda case: case.sizes["n"] <= 256),
    Right(4, "more elements", lambda case: case.sizes["n"] > 256),
    Count(
        2,
        "warps load together",
        "n = 5000",
        # 157 warps of x, read twice, and what the scan takes.
        lambda counts, case: _requests(counts) <= 1000,
        lambda counts: f"the warps made {_requests(counts)} loads for 5000 elements, "
        "1000 are more than enough",
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
_LAUNCHES = """
const int blocks = (n + kBlock - 1) / kBlock;
count_kernel<<<blocks, kBlock>>>(x, n, scratch);
{scan}
place_kernel<<<blocks, kBlock>>>(x, n, scratch, y);"""

MUTANTS = {
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
