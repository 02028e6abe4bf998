"""Exercise 03/scale_rows."""

from exercise.api import Array, Case, Count, Right, Speed, drawn, float32, floats, is_wide

TITLE = "Make it fast: scale the rows of a matrix"
KIND = "speed"
MINUTES = 10
CALL = "scale_rows(float* s, float* a, int rows, int cols)"


def cases(random):
    drew = (drawn(random, 32, 128, 8, (96,)), 64)
    odd = (drawn(random, 2, 70, besides=range(0, 70, 8)), drawn(random, 33, 63))
    # 1000 columns of few rows: a launch that goes by the rows has too few threads; 1100 are more
    # than a block may have.
    fixed = ((96, 64), (1, 1), (1, 100), (100, 1), (33, 70), (4, 1000), (2, 1100))
    for rows, cols in (*fixed, odd, drew):
        yield Case(
            f"{rows} x {cols}",
            {"rows": rows, "cols": cols},
            [
                Array("s", floats(random, rows)),
                Array("a", floats(random, rows * cols), "in_out", shape=(rows, cols)),
            ],
        )


def expected(case):
    s, a, cols = case["s"].values, case["a"].values, case.sizes["cols"]
    return {"a": [float32(value * s[i // cols]) for i, value in enumerate(a)]}


def _loaded(counts):
    found = counts["global"]
    return found["load_bytes"] // 32 if is_wide(counts) else found["load_sectors"]


POINTS = [
    Right(1, "still right"),
    Count(
        2,
        "128 bytes a store or more, in sectors used in full",
        lambda case: case.sizes["cols"] == 64,
        lambda counts, case: counts["global"]["store_bytes_used"]
        == counts["global"]["store_bytes_moved"] >= 128 * counts["global"]["store_requests"],
        lambda counts: f"{counts['global']['store_sectors']} sectors in "
        f"{counts['global']['store_requests']} stores, of which "
        f"{counts['global']['store_bytes_used']} bytes were used",
        blocks=lambda case: case.sizes["rows"] // 48,
        busy=0.3,
    ),
    Count(
        2,
        "each element is loaded once, in sectors used in full",
        lambda case: case.sizes["cols"] == 64,
        # Beside a: a factor a warp, one sector each.
        lambda counts, case: _loaded(counts) <= 5 * case.sizes["rows"] * 64 // 32,
        lambda counts: f"{_loaded(counts)} sectors were loaded; for 32 elements 4 "
        "are enough, and one for their factor",
    ),
]

# Reads and writes a matrix of 8192 x 8192.
SPEED = Speed({"rows": 1 << 13, "cols": 1 << 13}, {"s": 1 << 13, "a": 1 << 26}, bytes=8 << 26)

RIGHTS = {
    "float4 where a row allows it": {
        1: "const int r = blockIdx.y;\nconst int c = 4 * (blockIdx.x * blockDim.x + threadIdx.x);\n"
        "float* const p = a + r * cols + c;\nif (cols % 4 == 0 && c < cols) {\n"
        "  float4 v = *reinterpret_cast<float4*>(p);\n"
        "  v.x *= s[r], v.y *= s[r], v.z *= s[r], v.w *= s[r];\n"
        "  *reinterpret_cast<float4*>(p) = v;\n} else {\n"
        "  for (int k = 0; k < 4 && c + k < cols; ++k) p[k] *= s[r];\n}",
        2: "scale_rows_kernel<<<dim3((cols + 127) / 128, rows), 32>>>(s, a, rows, cols);",
    },
    "a block a row, its threads walk": {
        1: "const float factor = s[blockIdx.x];\n"
        "for (int c = threadIdx.x; c < cols; c += blockDim.x) a[blockIdx.x * cols + c] *= factor;",
        2: "scale_rows_kernel<<<rows, 64>>>(s, a, rows, cols);",
    },
    "a warp a row": {
        1: "const int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32;\nif (r >= rows) return;\n"
        "float* row = a + r * cols;\nfor (int c = threadIdx.x % 32; c < cols; c += 32) {\n"
        "  row[c] = row[c] * s[r];\n}",
        2: "scale_rows_kernel<<<(rows + 3) / 4, 128>>>(s, a, rows, cols);",
    },
    "a grid of rows and an early return": {
        1: "const int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y;\nif (c >= cols) return;\n"
        "float& element = a[r * cols + c];\nelement *= s[r];",
        2: "scale_rows_kernel<<<dim3((cols + 31) / 32, rows), 32>>>(s, a, rows, cols);",
    },
}

MUTANTS = {
    "before: one warp for all": {
        1: "for (int r = 0; r < rows; ++r) {\n"
        "  for (int c = threadIdx.x; c < cols; c += 32) a[r * cols + c] *= s[r];\n}",
        2: "scale_rows_kernel<<<1, 32>>>(s, a, rows, cols);",
    },
    "the factor of the column": {
        1: "const int c = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "const int r = blockIdx.y * blockDim.y + threadIdx.y;\n"
        "if (r < rows && c < cols) a[r * cols + c] *= s[min(c, rows - 1)];"
    },
    "a thread a column, and the launch as it was": {
        1: "const int c = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "for (int r = 0; r < rows && c < cols; ++r) a[r * cols + c] *= s[r];",
        2: "scale_rows_kernel<<<(rows + 127) / 128, 128>>>(s, a, rows, cols);",
    },
    "a block a row, a thread a column": {
        1: "a[blockIdx.x * cols + threadIdx.x] *= s[blockIdx.x];",
        2: "scale_rows_kernel<<<rows, cols>>>(s, a, rows, cols);",
    },
    "only whole blocks": {
        2: "scale_rows_kernel<<<dim3(cols / 32, rows / 8), dim3(32, 8)>>>(s, a, rows, cols);"
    },
    "the edges have changed places": {
        1: "const int c = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "const int r = blockIdx.y * blockDim.y + threadIdx.y;\n"
        "if (r < cols && c < rows) a[r * cols + c] *= s[r];"
    },
    "before: a thread walks along a row": {
        1: "const int r = blockIdx.x * blockDim.x + threadIdx.x;\nif (r >= rows) return;\n"
        "for (int c = 0; c < cols; ++c) a[r * cols + c] *= s[r];",
        2: "scale_rows_kernel<<<(rows + 127) / 128, 128>>>(s, a, rows, cols);",
    },
}
