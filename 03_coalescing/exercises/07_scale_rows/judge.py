"""Exercise 03/scale_rows."""

from exercise.api import Array, Case, Count, Right, Speed, float32, floats

TITLE = "Make it fast: scale the rows of a matrix"
KIND = "speed"
MINUTES = 10


def cases(random):
    for rows, cols in ((96, 64), (1, 1), (1, 100), (100, 1), (33, 70)):
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


POINTS = [
    Right(1, "still right"),
    Count(
        2,
        "stores of 4 sectors",
        "96 x 64",
        lambda counts, case: counts["global"]["store_sectors"]
        == 4 * counts["global"]["store_requests"],
        lambda counts: f"{counts['global']['store_sectors']} sectors in "
        f"{counts['global']['store_requests']} stores",
    ),
    Count(
        2,
        "each element is loaded once, in sectors used in full",
        "96 x 64",
        # Beside a: a factor a warp, one sector each.
        lambda counts, case: counts["global"]["load_sectors"] <= 5 * 96 * 64 // 32,
        lambda counts: f"{counts['global']['load_sectors']} sectors were loaded, 960 are enough",
    ),
]

# Reads and writes a matrix of 8192 x 8192.
SPEED = Speed({"rows": 1 << 13, "cols": 1 << 13}, {"s": 1 << 13, "a": 1 << 26}, bytes=8 << 26)

MUTANTS = {
    "the factor of the column": {
        1: "const int c = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "const int r = blockIdx.y * blockDim.y + threadIdx.y;\n"
        "if (r < rows && c < cols) a[r * cols + c] *= s[min(c, rows - 1)];"
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
