"""Exercise 04/epilogue."""

import math

from exercise.api import Array, Case, Count, Right, drawn, eighths, product

TITLE = "A new problem: a product with an epilogue"
KIND = "problem"
MINUTES = 20
CALL = "linear(float* a, float* b, float* bias, float* c, int m, int n, int k)"


def cases(random):
    fixed = ((16, 16, 16), (32, 48, 32), (1, 1, 1), (17, 15, 33), (5, 40, 3), (40, 3, 20))
    whole = (32 * drawn(random, 1, 2), 48, 16 * drawn(random, 2, 3))
    odd = (drawn(random, 18, 31), drawn(random, 1, 15), drawn(random, 17, 31))
    for m, n, k in (*fixed, whole, odd):
        yield Case(
            f"{m} x {n} x {k}",
            {"m": m, "n": n, "k": k},
            [
                Array("a", eighths(random, m * k), shape=(m, k)),
                Array("b", eighths(random, k * n), shape=(k, n)),
                Array("bias", eighths(random, n)),
                Array("c", role="output", count=m * n, shape=(m, n)),
            ],
        )


def expected(case):
    m, n, k = (case.sizes[name] for name in "mnk")
    sums, bias = product(case["a"].values, case["b"].values, m, n, k), case["bias"].values

    def gelu(x):
        return 0.5 * x * (1 + math.erf(x * math.sqrt(0.5)))

    return {"c": [gelu(value + bias[i % n]) for i, value in enumerate(sums)]}


def bound(case, name, i):
    """The sum is exact and at most k + 1; its error function errs by some 2^-22."""
    return (case.sizes["k"] + 1) * 2**-21


def _whole(case):
    return all(case.sizes[name] % 16 == 0 for name in "mnk")


def _most_loads(case):
    """Bytes: tiles of A and B, and a bias for each element."""
    m, n, k = (case.sizes[name] for name in "mnk")
    return 4 * (2 * m * n * k // 16 + m * n)


def _lanes(counts):
    """That store together."""
    return counts["global"]["store_executions"] / max(1, counts["global"]["store_requests"])


POINTS = [
    Right(2, "whole tiles", _whole),
    Right(3, "tiles that stick out over an edge", lambda case: not _whole(case)),
    Count(
        1,
        "one launch",
        _whole,
        lambda counts, case: counts["launches"] == 1,
        lambda counts: f"{counts['launches']} launches",
        blocks=lambda case: case.sizes["m"] * case.sizes["n"] // 768,
        busy=0.3,
    ),
    Count(
        2,
        "C is written once, and never read",
        # A block may take two or three tiles: here none of them lies outside of C.
        lambda case: _whole(case) and case.sizes["m"] % 32 == case.sizes["n"] % 48 == 0,
        lambda counts, case: counts["global"]["store_bytes"] <= 4 * len(case["c"])
        and counts["global"]["load_bytes"] <= _most_loads(case)
        and _lanes(counts) >= 8,
        lambda counts: f"{counts['global']['store_bytes'] // 4} floats were stored, "
        f"{_lanes(counts):.0f} by a warp at a time, and {counts['global']['load_bytes'] // 4} "
        "loaded; a block needs its tiles of A and B, and a bias for each element",
    ),
]

_KERNEL = """
__global__ void linear_kernel(const float* a, const float* b, const float* bias, float* c, int m,
                              int n, int k) {
  const int row = blockIdx.y * kTile + threadIdx.y, col = blockIdx.x * kTile + threadIdx.x;
  BODY
}"""
_SUM = "const float sum = product(a, b, row, col, m, n, k);\n"
_FINISH = """
__global__ void finish_kernel(const float* bias, float* c, int n, int length) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < length) c[i] = gelu(c[i] + bias[i % n]);
}"""
_TWO = """
const dim3 grid((n + kTile - 1) / kTile, (m + kTile - 1) / kTile);
linear_kernel<<<grid, dim3(kTile, kTile)>>>(a, b, bias, c, m, n, k);
finish_kernel<<<(m * n + 127) / 128, 128>>>(bias, c, n, m * n);"""


def _kernel(body):
    return _KERNEL.replace("BODY", body)

RIGHTS = {
    "an early return behind the product, a reference": {
        1: _kernel(
            _SUM + "if (row >= m || col >= n) return;\n  float& to = c[row * n + col];\n"
            "  to = gelu(bias[col] + sum);"
        )
    },
    "the bias is loaded first": {
        1: _kernel(
            "const bool inside = row < m && col < n;\n"
            "  const float own = inside ? bias[col] : 0.0f;\n  " + _SUM
            + "  if (inside) *(c + row * n + col) = gelu(sum + own);"
        )
    },
    "blocks in one dimension, each with two tiles": {
        1: """
__global__ void linear_kernel(const float* a, const float* b, const float* bias, float* c, int m,
                              int n, int k) {
  const int across = (n + kTile - 1) / kTile;
  const int col = blockIdx.x % across * kTile + threadIdx.x;
  const float own = col < n ? __ldg(bias + col) : 0.0f;
  for (int half = 0; half < 2; ++half) {
    const int row = (blockIdx.x / across * 2 + half) * kTile + threadIdx.y;
    const float sum = product(a, b, row, col, m, n, k) + own;
    if (row >= m || col >= n) continue;
    c[size_t(row) * n + col] = gelu(sum);
  }
}""",
        2: "const int across = (n + kTile - 1) / kTile, down = (m + 2 * kTile - 1) / (2 * kTile);\n"
        "linear_kernel<<<across * down, dim3(kTile, kTile)>>>(a, b, bias, c, m, n, k);",
    },
    "the epilogue is an argument": {
        1: """
struct BiasAndGelu {
  const float* bias;
  __device__ float operator()(float sum, int col) const { return gelu(sum + bias[col]); }
};
template <class Epilogue>
__global__ void linear_kernel(const float* a, const float* b, Epilogue epilogue, float* c, int m,
                              int n, int k) {
  const int row = blockIdx.y * kTile + threadIdx.y, col = blockIdx.x * kTile + threadIdx.x;
  const float sum = product(a, b, row, col, m, n, k);
  if (row < m && col < n) c[row * n + col] = epilogue(sum, col);
}""",
        2: "const dim3 grid((n - 1) / kTile + 1, (m - 1) / kTile + 1), block(kTile, kTile);\n"
        "linear_kernel<<<grid, block>>>(a, b, BiasAndGelu{bias}, c, m, n, k);",
    },
}

MUTANTS = {
    "the root of a half, rounded": {0: [("0.70710678f", "0.70712f")]},
    "the bias of the row": {
        1: _kernel(
            _SUM + "if (row < m && col < n) c[row * n + col] = gelu(sum + bias[min(row, n - 1)]);"
        )
    },
    "the bias after the activation": {
        1: _kernel(_SUM + "if (row < m && col < n) c[row * n + col] = gelu(sum) + bias[col];")
    },
    "threads outside of C have left": {
        1: _kernel(
            "if (row >= m || col >= n) return;\n"
            + _SUM
            + "c[row * n + col] = gelu(sum + bias[col]);"
        )
    },
    "before: one thread finishes for its block": {
        1: _kernel(
            "__shared__ float sums[kTile][kTile];\n  "
            "sums[threadIdx.y][threadIdx.x] = product(a, b, row, col, m, n, k);\n"
            "  __syncthreads();\n  if (threadIdx.x + threadIdx.y > 0) return;\n"
            "  for (int y = 0; y < kTile && row + y < m; ++y) {\n"
            "    for (int x = 0; x < kTile && col + x < n; ++x) {\n"
            "      c[(row + y) * n + col + x] = gelu(sums[y][x] + bias[col + x]);\n    }\n  }"
        )
    },
    "before: of four blocks one has a tile": {
        1: _kernel(
            "if (2 * blockIdx.x >= gridDim.x || 2 * blockIdx.y >= gridDim.y) return;\n  "
            + _SUM
            + "if (row < m && col < n) c[row * n + col] = gelu(sum + bias[col]);"
        ),
        2: "const dim3 grid(2 * ((n + kTile - 1) / kTile), 2 * ((m + kTile - 1) / kTile));\n"
        "linear_kernel<<<grid, dim3(kTile, kTile)>>>(a, b, bias, c, m, n, k);",
    },
    "before: a second kernel finishes": {
        1: _kernel(_SUM + "if (row < m && col < n) c[row * n + col] = sum;") + _FINISH,
        2: _TWO,
    },
}
