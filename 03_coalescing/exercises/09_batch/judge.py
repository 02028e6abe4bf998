"""Exercise 03/batch."""

from exercise.api import Array, Case, Count, Right, conflict_degree, drawn, floats, is_wide

TITLE = "A new problem: many small matrices, each transposed"
KIND = "problem"
MINUTES = 25
CALL = "transpose_all(float* a, float* b, int count, int rows, int cols)"

def cases(random):
    odd = (2 * drawn(random, 1, 14) + 1, drawn(random, 2, 31))
    for count, rows, cols in (
        (20, 16, 24),
        (3, 32, 32),
        (1, 1, 1),
        (7, 1, 32),
        (7, 32, 1),
        (50, 5, 7),
        (9, 31, 29),
        (drawn(random, 21, 40), 16, 24),
        (drawn(random, 2, 9), *odd),
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


def _is_counted(case):
    return (case.sizes["rows"], case.sizes["cols"]) == (16, 24)


def _sectors(counts):
    """Loaded, and stored."""
    found = counts["global"]
    loaded = found["load_bytes"] // 32 if is_wide(counts) else found["load_sectors"]
    return loaded, found["store_sectors"]


POINTS = [
    Right(2, "multiples of 8", lambda case: case.sizes["rows"] % 8 == case.sizes["cols"] % 8 == 0),
    Right(3, "odd sizes", lambda case: case.sizes["rows"] % 8 or case.sizes["cols"] % 8),
    Count(
        2,
        "each sector is loaded once and stored once",
        _is_counted,
        lambda counts, case: max(_sectors(counts)) <= 1.25 * len(case["a"]) / 8
        and counts["threads"] >= 16 * case.sizes["count"],
        lambda counts: f"{_sectors(counts)[0]} sectors were loaded and {_sectors(counts)[1]} "
        f"stored (48 a matrix are enough), by {counts['threads']} threads",
        blocks=lambda case: case.sizes["count"] // 10,
    ),
    Count(
        1,
        # A float4 needs four.
        "at most two rounds for each that an access to shared memory needs",
        _is_counted,
        lambda counts, case: conflict_degree(counts) <= 2,
        lambda counts: f"{conflict_degree(counts):.1f} rounds for each that is needed",
    ),
]

_HEAD = "__global__ void transpose_kernel(const float* a, float* b, int rows, int cols) {\n"
_KERNEL = _HEAD + """  __shared__ float matrix[32 * 32];
  const int length = rows * cols;
  a += blockIdx.x * length;
  b += blockIdx.x * length;
  for (int i = threadIdx.x; i < length; i += 128) matrix[i] = a[i];
  BARRIER
  for (int i = threadIdx.x; i < length; i += 128) b[i] = matrix[FROM];
}"""
_DIRECT = _HEAD + """  const int length = rows * cols;
  a += blockIdx.x * length;
  b += blockIdx.x * length;
  for (int i = threadIdx.x; i < length; i += 128) b[i % cols * rows + i / cols] = a[i];
}"""
_PADDED = _HEAD + """  __shared__ float matrix[32][33];
  const float* from = a + blockIdx.x * rows * cols;
  float* to = b + blockIdx.x * rows * cols;
  for (int i = threadIdx.x; i < rows * cols; i += blockDim.x) {
    const int r = i / cols, c = i - r * cols;
    matrix[c][r] = from[i];
  }
  __syncthreads();
  for (int i = threadIdx.x; i < rows * cols; i += blockDim.x) to[i] = matrix[i / rows][i % rows];
}"""
_LAUNCH = {2: "transpose_kernel<<<count, 128>>>(a, b, rows, cols);"}


def _kernel(barrier="__syncthreads();", source="i % rows * cols + i / rows"):
    return {1: _KERNEL.replace("BARRIER", barrier).replace("FROM", source), **_LAUNCH}

RIGHTS = {
    "float4 in, where a row allows it": {
        1: _HEAD + """  __shared__ __align__(16) float matrix[32][36];
  const int length = rows * cols, wide = cols % 4 == 0 ? 4 : 1;
  a += blockIdx.x * length;
  for (int i = wide * threadIdx.x; i < length; i += wide * 128) {
    float* to = &matrix[i / cols][i % cols];
    if (wide == 1) {
      *to = a[i];
    } else {
      *reinterpret_cast<float4*>(to) = *reinterpret_cast<const float4*>(a + i);
    }
  }
  __syncthreads();
  b += blockIdx.x * length;
  for (int i = threadIdx.x; i < length; i += 128) b[i] = matrix[i % rows][i / rows];
}""",
        **_LAUNCH,
    },
    "float4 out, where a column allows it": {
        1: _HEAD + """  __shared__ float matrix[32][33];
  const int length = rows * cols;
  for (int i = threadIdx.x; i < length; i += 128) {
    matrix[i / cols][i % cols] = a[blockIdx.x * length + i];
  }
  __syncthreads();
  b += blockIdx.x * length;
  const int wide = rows % 4 == 0 ? 4 : 1;
  for (int i = wide * threadIdx.x; i < length; i += wide * 128) {
    const int r = i % rows, c = i / rows;
    if (wide == 1) {
      b[i] = matrix[r][c];
    } else {
      const float4 four = {matrix[r][c], matrix[r + 1][c], matrix[r + 2][c], matrix[r + 3][c]};
      *reinterpret_cast<float4*>(b + i) = four;
    }
  }
}""",
        **_LAUNCH,
    },
    "two indices": {
        1: _PADDED,
        2: "transpose_kernel<<<count, 256>>>(a, b, rows, cols);",
    },
    "a block for each matrix, along y": {
        1: _PADDED.replace("blockIdx.x", "blockIdx.y"),
        2: "transpose_kernel<<<dim3(1, count), 128>>>(a, b, rows, cols);",
    },
    "shuffles in place of shared memory": {
        1: """template <int kWarps>
__global__ void transpose_kernel(const float* a, float* b, int count, int rows, int cols) {
  const int m = blockIdx.x * kWarps + threadIdx.x / 32, lane = threadIdx.x % 32;
  const int size = rows * cols;
  if (m >= count) return;
  float held[32];
#pragma unroll
  for (int k = 0; k < 32; ++k) held[k] = 32 * k + lane < size ? a[m * size + 32 * k + lane] : 0;
  for (int i = lane; i - lane < size; i += 32) {
    const int from = i % rows * cols + i / rows;
    float value = 0;
#pragma unroll
    for (int k = 0; k < 32; ++k) {
      const float other = __shfl_sync(~0u, held[k], from & 31);
      if (from >> 5 == k) value = other;
    }
    if (i < size) b[m * size + i] = value;
  }
}""",
        2: "transpose_kernel<4><<<(count + 3) / 4, 128>>>(a, b, count, rows, cols);",
    },
    "a warp for each matrix": {
        1: _HEAD.replace("int rows", "int count, int rows") + """  __shared__ float all[4][32 * 33];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, m = 4 * blockIdx.x + warp;
  if (m >= count) return;
  const int length = rows * cols, pitch = cols + (cols + 1) % 2;
  a += m * length;
  b += m * length;
  for (int i = lane; i < length; i += 32) all[warp][i / cols * pitch + i % cols] = a[i];
  __syncwarp();
  for (int i = lane; i < length; i += 32) b[i] = all[warp][i % rows * pitch + i / rows];
}""",
        2: "transpose_kernel<<<(count + 3) / 4, 128>>>(a, b, count, rows, cols);",
    },
    "a grid-stride loop, a function for the place": {
        1: "__device__ int place(int r, int c) { return 33 * r + c; }\n"
        + _HEAD.replace("int rows", "int count, int rows") + """  __shared__ float matrix[33 * 32];
  for (int m = blockIdx.x; m < count; m += gridDim.x) {
    const int first = m * rows * cols, end = first + rows * cols;
    for (int i = first + threadIdx.x; i < end; i += 128) {
      matrix[place((i - first) / cols, (i - first) % cols)] = a[i];
    }
    __syncthreads();
    for (int i = first + threadIdx.x; i < end; i += 128) {
      b[i] = matrix[place((i - first) % rows, (i - first) / rows)];
    }
    __syncthreads();
  }
}""",
        2: "transpose_kernel<<<min(count, 8), 128>>>(a, b, count, rows, cols);",
    },
}

MUTANTS = {
    "before: straight from memory to memory": {1: _DIRECT, **_LAUNCH},
    "no barrier": _kernel(barrier=""),
    "rows and columns of the result mixed up": _kernel(source="i % cols * rows + i / cols"),
    "before: one thread a matrix": {
        1: _DIRECT.replace("i += 128", "++i"),
        2: "transpose_kernel<<<count, 1>>>(a, b, rows, cols);",
    },
    "before: four threads a matrix": {
        1: _DIRECT.replace("i += 128", "i += 4"),
        2: "transpose_kernel<<<count, 4>>>(a, b, rows, cols);",
    },
    "room for 1000 elements": {
        1: _KERNEL.replace("32 * 32", "1000").replace("BARRIER", "__syncthreads();").replace(
            "FROM", "i % rows * cols + i / rows"
        ),
        **_LAUNCH,
    },
    "before: a launch for each matrix": {
        1: _PADDED,
        2: "for (int m = 0; m < count; ++m) {\n  const int first = m * rows * cols;\n"
        "  transpose_kernel<<<1, 128>>>(a + first, b + first, rows, cols);\n}",
    },
    "before: one thread turns the matrix": {
        1: _HEAD + """  __shared__ float in[1024], out[1024];
  const int length = rows * cols, first = blockIdx.x * length;
  for (int i = threadIdx.x; i < length; i += 128) in[i] = a[first + i];
  __syncthreads();
  for (int i = 0; i < length && threadIdx.x == 0; ++i) out[i] = in[i % rows * cols + i / rows];
  __syncthreads();
  for (int i = threadIdx.x; i < length; i += 128) b[first + i] = out[i];
}""",
        **_LAUNCH,
    },
    "a thread for each element, but only 128": {
        1: _DIRECT.replace("i < length; i += 128", "i < min(length, 128); i += 128"),
        **_LAUNCH,
    },
    "before: no padding": _kernel(),
}
