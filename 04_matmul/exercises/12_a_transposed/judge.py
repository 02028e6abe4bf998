"""Exercise 04/a_transposed."""

from exercise.api import Array, Case, Count, Right, conflict_degree, drawn, eighths, product

TITLE = "A new problem: C = Aᵀ B"
KIND = "problem"
MINUTES = 30
CALL = "multiply(float* a, float* b, float* c, int m, int n, int k)"

COUNTED = "64 x 48 x 80"


def cases(random):
    fixed = ((32, 32, 32), (64, 48, 80), (1, 1, 1), (17, 33, 5), (5, 40, 35), (40, 3, 20))
    whole = tuple(16 * drawn(random, 1, 4) for _ in "mnk")
    odd = (drawn(random, 1, 15), drawn(random, 17, 39), drawn(random, 17, 31))
    for m, n, k in (*fixed, whole, odd):
        yield Case(
            f"{m} x {n} x {k}",
            {"m": m, "n": n, "k": k},
            [
                Array("a", eighths(random, k * m), shape=(k, m)),
                Array("b", eighths(random, k * n), shape=(k, n)),
                Array("c", role="output", count=m * n, shape=(m, n)),
            ],
        )


def expected(case):
    m, n, k = (case.sizes[name] for name in "mnk")
    a = case["a"].values
    return {"c": product([v for i in range(m) for v in a[i::m]], case["b"].values, m, n, k)}


def _whole(case):
    return all(case.sizes[name] % 16 == 0 for name in "mnk")


def _sectors(counts):
    return counts["global"]["load_sectors"] / max(1, counts["global"]["load_requests"])


POINTS = [
    Right(2, "multiples of 16", _whole),
    Right(3, "any other sizes", lambda case: not _whole(case)),
    Count(
        1,
        "at most 4 sectors a load, or more in full",
        _whole,
        lambda counts, case: _sectors(counts) <= 4
        or counts["global"]["load_bytes_used"] == counts["global"]["load_bytes_moved"],
        lambda counts: f"{_sectors(counts):.1f} sectors a load",
    ),
    Count(
        2,
        "at most 64,000 floats are loaded",
        COUNTED,
        lambda counts, case: counts["global"]["load_bytes"] <= 4 * 64_000,
        lambda counts: f"{counts['global']['load_bytes'] // 4} floats were loaded",
        loose="tiles of 8 x 8 load 61,440",
        blocks=lambda case: 2,
    ),
    Count(
        1,
        "no bank conflicts",
        _whole,
        lambda counts, case: conflict_degree(counts) <= 1,
        lambda counts: f"a conflict degree of {conflict_degree(counts):.2f}",
    ),
]

_KERNEL = """
__global__ void multiply_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float tile_a[16][16], tile_b[16][16];
  const int y = threadIdx.y, x = threadIdx.x;
  const int row = blockIdx.y * 16, col = blockIdx.x * 16;
  float sum = 0;
  for (int p = 0; p < k; p += 16) {
    LOAD
    tile_b[y][x] = p + y < k && col + x < n ? b[(p + y) * n + col + x] : 0.0f;
    __syncthreads();
    for (int q = 0; q < 16; ++q) sum += FACTOR * tile_b[q][x];
    __syncthreads();
  }
  if (row + y < m && col + x < n) c[(row + y) * n + col + x] = sum;
}"""
_ONE_BY_ONE = """
__global__ void multiply_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  if (row >= m || col >= n) return;
  float sum = 0;
  for (int p = 0; p < k; ++p) sum += a[p * m + row] * b[p * n + col];
  c[row * n + col] = sum;
}"""
_LAUNCH = {
    2: "multiply_kernel<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(a, b, c, m, n, k);"
}


def _kernel(load, factor="tile_a[q][y]"):
    return {1: _KERNEL.replace("LOAD", load).replace("FACTOR", factor), **_LAUNCH}

RIGHTS = {
    "a function that is not inlined": {
        1: "__device__ __noinline__ float at(const float* from, int r, int s, int rows, int cols) "
        "{\n  return r < rows && s < cols ? from[r * cols + s] : 0.0f;\n}\n"
        + _kernel("tile_a[y][x] = at(a, p + y, row + x, k, m);")[1],
        **_LAUNCH,
    },
    "tiles of 32": {
        0: [("constexpr int kTile = 16;", "constexpr int kTile = 32;")],
    },
    "pointers that walk down": {
        1: _kernel(
            "const float* from = a + (p + y) * m + row + x;\n"
            "    tile_a[y][x] = 0;\n    if (p + y < k && row + x < m) tile_a[y][x] = *from;"
        )[1].replace("sum += tile_a[q][y] * tile_b[q][x]", "sum = fmaf(tile_a[q][y], "
        "tile_b[q][x], sum)"),
        **_LAUNCH,
    },
    "two rows a thread, by a template": {
        1: """
template <int kT, int kRows>
__global__ void multiply_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float of_a[kT][kT], of_b[kT][kT];
  const int x = threadIdx.x, row = blockIdx.y * kT, col = blockIdx.x * kT;
  const auto at = [k](const float* from, int r, int s, int cols) {
    return r < k && s < cols ? from[r * cols + s] : 0.0f;
  };
  float sums[kT / kRows] = {};
  for (int p = 0; p < k; p += kT) {
    for (int y = threadIdx.y; y < kT; y += kRows) {
      of_a[y][x] = at(a, p + y, row + x, m);
      of_b[y][x] = at(b, p + y, col + x, n);
    }
    __syncthreads();
    for (int q = 0; q < kT; ++q) {
      const float factor = of_b[q][x];
      for (int i = 0; i < kT / kRows; ++i) sums[i] += of_a[q][threadIdx.y + i * kRows] * factor;
    }
    __syncthreads();
  }
  for (int i = 0; i < kT / kRows; ++i) {
    const int r = row + threadIdx.y + i * kRows;
    if (r < m && col + x < n) c[r * n + col + x] = sums[i];
  }
}""",
        2: "const dim3 grid((n + 15) / 16, (m + 15) / 16), block(16, 8);\n"
        "multiply_kernel<16, 8><<<grid, block>>>(a, b, c, m, n, k);",
    },
    "4 x 4 elements a thread, all loads by float4": {
        1: """
__device__ float4 four(const float* from, int r, int s, int rows, int cols) {
  float found[4] = {};
  if (r >= rows || s >= cols) return make_float4(0, 0, 0, 0);
  if (cols % 4 == 0) return *reinterpret_cast<const float4*>(from + r * cols + s);
  for (int i = 0; i < 4 && s + i < cols; ++i) found[i] = from[r * cols + s + i];
  return make_float4(found[0], found[1], found[2], found[3]);
}
__global__ void multiply_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float4 of_a[16][8], of_b[16][8];
  const int row = blockIdx.y * 32, col = blockIdx.x * 32, y = threadIdx.x / 8, x = threadIdx.x % 8;
  float sums[4][4] = {};
  for (int p = 0; p < k; p += 16) {
    for (int q = y; q < 16; q += 8) {
      of_a[q][x] = four(a, p + q, row + 4 * x, k, m);
      of_b[q][x] = four(b, p + q, col + 4 * x, k, n);
    }
    __syncthreads();
    for (int q = 0; q < 16; ++q) {
      const float4 u = of_a[q][y], v = of_b[q][x];
      const float left[] = {u.x, u.y, u.z, u.w}, right[] = {v.x, v.y, v.z, v.w};
      for (int i = 0; i < 16; ++i) sums[i / 4][i % 4] += left[i / 4] * right[i % 4];
    }
    __syncthreads();
  }
  for (int i = 0; i < 16; ++i) {
    const int r = row + 4 * y + i / 4, s = col + 4 * x + i % 4;
    if (r < m && s < n) c[r * n + s] = sums[i / 4][i % 4];
  }
}""",
        2: "const dim3 grid((n + 31) / 32, (m + 31) / 32);\n"
        "multiply_kernel<<<grid, 64>>>(a, b, c, m, n, k);",
    },
}

MUTANTS = {
    "past the lower edge of A": _kernel(
        "tile_a[y][x] = row + x < m ? a[(p + y) * m + row + x] : 0.0f;"
    ),
    "A as it was": _kernel(
        "tile_a[y][x] = row + y < m && p + x < k ? a[(row + y) * k + p + x] : 0.0f;",
        "tile_a[y][q]",
    ),
    "the edges of A mixed up": _kernel(
        "tile_a[y][x] = p + y < m && row + x < k ? a[(p + y) * m + row + x] : 0.0f;"
    ),
    "before: one element a thread, from memory": {1: _ONE_BY_ONE, **_LAUNCH},
    "before: the lanes load down a column of A": _kernel(
        "tile_a[x][y] = p + x < k && row + y < m ? a[(p + x) * m + row + y] : 0.0f;"
    ),
    "before: A's tile is turned in shared memory": _kernel(
        "tile_a[x][y] = p + y < k && row + x < m ? a[(p + y) * m + row + x] : 0.0f;",
        "tile_a[y][q]",
    ),
}
