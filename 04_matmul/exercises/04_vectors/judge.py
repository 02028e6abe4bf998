"""Exercise 04/vectors."""

from exercise.api import Array, Case, Count, Right, eighths, product

TITLE = "A tile of A, transposed on its way"
KIND = "step"
MINUTES = 12
CALL = "multiply(float* a, float* b, float* c, int m, int n, int k)"


def cases(random):
    for m, n, k in ((32, 32, 8), (64, 64, 64), (1, 4, 4), (33, 36, 12), (5, 72, 20), (40, 4, 4)):
        yield Case(
            f"{m} x {n} x {k}",
            {"m": m, "n": n, "k": k},
            [
                Array("a", eighths(random, m * k), shape=(m, k)),
                Array("b", eighths(random, k * n), shape=(k, n)),
                Array("c", role="output", count=m * n, shape=(m, n)),
            ],
        )


def expected(case):
    m, n, k = (case.sizes[name] for name in "mnk")
    return {"c": product(case["a"].values, case["b"].values, m, n, k)}


def _whole(case):
    return case.sizes["m"] % 32 == 0 and case.sizes["n"] % 32 == 0


POINTS = [
    Right(2, "whole tiles", _whole),
    Right(2, "tiles that stick out over an edge", lambda case: not _whole(case)),
    Count(
        2,
        "a quarter of the loads from global memory",
        "64 x 64 x 64",
        # 4 blocks of 2 warps, 8 tiles of k, one load of A and one of B.
        lambda counts, case: counts["global"]["load_requests"] <= 4 * 2 * 8 * 2,
        lambda counts: f"{counts['global']['load_requests']} loads, 128 are enough",
    ),
]

_B = "*reinterpret_cast<float4*>(&tile_b[b_row][b_col]) = from_b;"
_ONE_BY_ONE = """
float v[4];
for (int i = 0; i < 4; ++i) {
  v[i] = row < rows && col + i < cols ? x[row * cols + col + i] : 0.0f;
}
return make_float4(v[0], v[1], v[2], v[3]);"""

MUTANTS = {
    "nothing is zero": {
        1: "return *reinterpret_cast<const float4*>(\n"
        "    x + min(row, rows - 1) * cols + min(col, cols - 4));"
    },
    "A is not transposed": {
        2: "float* flat = &tile_a[0][0] + a_row * kTileK + a_col;\n"
        "*reinterpret_cast<float4*>(flat) = from_a;\n" + _B
    },
    "A's rows in the place of its columns": {
        2: "tile_a[a_col][a_row] = from_a.x;\ntile_a[a_col][a_row + 1] = from_a.y;\n"
        "tile_a[a_col][a_row + 2] = from_a.z;\ntile_a[a_col][a_row + 3] = from_a.w;\n" + _B
    },
    "three of four": {
        2: "tile_a[a_col][a_row] = from_a.x;\ntile_a[a_col + 1][a_row] = from_a.y;\n"
        "tile_a[a_col + 2][a_row] = from_a.z;\n" + _B
    },
    "before: single floats": {1: _ONE_BY_ONE},
}
