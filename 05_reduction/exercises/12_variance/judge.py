"""Exercise 05/variance."""

from exercise.api import Array, Case, Right, floats

TITLE = "Repair: mean and variance"
KIND = "repair"
SETTINGS = {"SIMT_ORDER": "reverse"}  # no GPU promises that block 0 begins
MINUTES = 20
CALL = "variances(float* x, int rows, int columns, float* mean, float* variance, float* largest)"


def cases(random):
    one_row = [(1, columns) for columns in (128, 512, 1, 31, 77)]
    for rows, columns in (*one_row, (5, 128), (7, 33), (4, 300)):
        x = floats(random, rows * columns, -3, 5)
        if rows > 1:  # the largest variance is not that of the first row
            x[:columns] = [value / 4 for value in x[:columns]]
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
    """An element goes through at most columns / 128 + 9 additions; distances are at most 8."""
    return (case.sizes["columns"] / 128 + 13) * 2**-24 * (8 if name == "mean" else 128)


POINTS = [
    Right(2, "one row, work for every thread", lambda case: case.name in ("1 x 128", "1 x 512")),
    Right(
        3,
        "one row, fewer elements than threads",
        lambda case: case.sizes["rows"] == 1 and case.sizes["columns"] < 128,
    ),
    Right(3, "several rows", lambda case: case.sizes["rows"] > 1),
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

MUTANTS = {
    "no barrier between two uses of the same memory": {1: ""},
    "only a warp waits": {1: "__syncwarp();"},
    "threads without an element stay away": {
        2: _SQUARES + "if (static_cast<int>(threadIdx.x) < columns) squares = block_sum(squares);"
    },
    "block 0 clears what others add to": {3: _STORE, 4: ""},
    "nobody clears it": {4: ""},
}
