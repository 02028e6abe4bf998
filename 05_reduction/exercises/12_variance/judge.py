"""Exercise 05/variance."""

from exercise.api import Array, Case, Count, Right, drawn, eighths, floats

TITLE = "Repair: mean and variance"
KIND = "repair"
SETTINGS = {"SIMT_ORDER": "reverse"}  # no GPU promises that block 0 begins
MINUTES = 20
CALL = "variances(float* x, int rows, int columns, float* mean, float* variance, float* largest)"


def cases(random):
    drew = (drawn(random, 256, 384, 128), drawn(random, 64, 127, besides=(77,)))
    one_row = [(1, columns) for columns in (128, 512, 1, 31, 77, *drew)]
    several = ((5, 128), (7, 33), (4, 300), (drawn(random, 2, 3), drawn(random, 64, 300)))
    for rows, columns in (*one_row, *several):
        x = floats(random, rows * columns, -3, 5)
        if rows > 1:  # the largest variance is that of the last row, or of none but the second
            least = slice(0, -columns) if columns == 128 else slice(0, columns)
            x[least] = [value / 4 for value in x[least]]
        if columns == 512:  # its squares are a million times as large as their distances
            x = [value + 1024 for value in eighths(random, columns)]
        yield Case(
            f"{rows} x {columns}",
            {"rows": rows, "columns": columns},
            [
                Array("x", x, shape=(rows, columns)),
                Array("mean", role="output", count=rows),
                Array("variance", role="output", count=rows),
                Array("largest", role="output", count=1),
            ],
        )


def expected(case):
    x, columns, means, variances = case["x"].values, case.sizes["columns"], [], []
    for begin in range(0, len(x), columns):
        row = x[begin : begin + columns]
        means.append(sum(row) / columns)
        variances.append(sum((value - means[-1]) ** 2 for value in row) / columns)
    return {"mean": means, "variance": variances, "largest": [max(variances)]}


def bound(case, name, i):
    """An element goes through at most columns / 128 + 9 additions; distances are at most 8, and of
    one element 0. Multiples of 1/8 near 1024 have an exact sum."""
    if case.sizes["columns"] == 1 and name != "mean":
        return 0.0
    return (case.sizes["columns"] / 128 + 13) * 2**-24 * (8 if name == "mean" else 128)


POINTS = [
    Right(
        2,
        "one row, work for every thread",
        lambda case: case.sizes["rows"] == 1 and case.sizes["columns"] >= 128,
    ),
    Right(
        3,
        "one row, fewer elements than threads",
        lambda case: case.sizes["rows"] == 1 and case.sizes["columns"] < 128,
    ),
    Right(2, "several rows", lambda case: case.sizes["rows"] > 1),
    Count(
        1,
        "each element is loaded three times at most, by all threads of its block",
        lambda case: case.sizes["rows"] > 1 and case.sizes["columns"] >= 128,
        lambda counts, case: counts["global"]["load_bytes"] <= 12 * len(case["x"]),
        lambda counts: f"{counts['global']['load_bytes'] // 4} elements were loaded",
        busy=0.3,
    ),
]

_SQUARES = """
for (int c = threadIdx.x; c < columns; c += kBlock) {
  squares += (row[c] - center) * (row[c] - center);
}
"""
_STORE = """
if (threadIdx.x == 0) {
  if (blockIdx.x == 0) *largest = 0;
  mean[blockIdx.x] = center;
  variance[blockIdx.x] = squares / columns;
  atomicMax(largest, __float_as_uint(squares / columns));
}"""

RIGHTS = {
    "pointers, and a distance in a variable": {
        2: "for (const float* at = row + threadIdx.x; at < row + columns; at += kBlock) {\n"
        "  const float distance = *at - center;\n  squares = fmaf(distance, distance, squares);\n"
        "}\n"
        "squares = block_sum(squares);"
    },
    "a lambda, and one result for both": {
        2: "const auto square = [](float d) { return d * d; };\n"
        "for (int c = threadIdx.x; c < columns; c += blockDim.x) squares += square(row[c] - "
        "center);\n"
        "squares = block_sum(squares) / columns;",
        3: "if (threadIdx.x == kBlock - 1) {\n  mean[blockIdx.x] = center;\n"
        "  variance[blockIdx.x] = squares;\n"
        "  atomicMax(reinterpret_cast<int*>(largest), __float_as_int(squares));\n}",
    },
    "cleared by a copy of 0": {
        4: "const float zero = 0;\n"
        "cudaMemcpyAsync(largest, &zero, sizeof zero, cudaMemcpyHostToDevice);"
    },
    "cleared byte by byte": {4: "cudaMemset(largest, 0, 4);"},
}

MUTANTS = {
    "before: one thread squares": {
        2: "if (threadIdx.x == 0) {\n  for (int c = 0; c < columns; ++c) "
        "squares += (row[c] - center) * (row[c] - center);\n}\nsquares = block_sum(squares);"
    },
    "before: all threads square the same": {
        2: "for (int c = 0; c < columns; ++c) squares += (row[c] - center) * (row[c] - center);"
    },
    "the mean of the squares": {
        2: "for (int c = threadIdx.x; c < columns; c += kBlock) squares += row[c] * row[c];\n"
        "squares = block_sum(squares) - columns * center * center;"
    },
    "the lowest 11 bits of the variance are cut off": {
        3: "if (threadIdx.x == 0) {\n"
        "  const unsigned bits = __float_as_uint(squares / columns) & 0xFFFFF800u;\n"
        "  mean[blockIdx.x] = center;\n  variance[blockIdx.x] = __uint_as_float(bits);\n"
        "  atomicMax(largest, bits);\n}"
    },
    "cleared to ones": {4: "cudaMemset(largest, 1, sizeof(float));"},
    "the lowest 8 bits of x are cut off": {
        0: [("sum += row[c];", "sum += __uint_as_float(__float_as_uint(row[c]) & 0xFFFFFF00u);")]
    },
    "no barrier between two uses of the same memory": {1: ""},
    "only a warp waits": {1: "__syncwarp();"},
    "threads without an element stay away": {
        2: _SQUARES + "if (static_cast<int>(threadIdx.x) < columns) squares = block_sum(squares);"
    },
    "block 0 clears what others add to": {3: _STORE, 4: ""},
    "nobody clears it": {4: ""},
}
