"""Exercise 04/vectors."""

from exercise.api import Count, Right, drawn, many, product, product_case

TITLE = "A tile of A, transposed on its way"
KIND = "step"
MINUTES = 12
CALL = "multiply(float* a, float* b, float* c, int m, int n, int k)"


def cases(random):
    fixed = ((32, 32, 8), (64, 64, 64), (1, 4, 4), (33, 36, 12), (5, 72, 20), (40, 4, 4))
    whole = (32 * drawn(random, 1, 2), 32 * drawn(random, 1, 3), 8 * drawn(random, 2, 7))
    odd = (drawn(random, 34, 63), 4 * drawn(random, 1, 7), 8 * drawn(random, 1, 4) + 4)
    for m, n, k in (*fixed, whole, odd):
        yield product_case(random, m, n, k)


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
        _whole,
        # Blocks of 2 warps, tiles of 8 values of k, one load of A and one of B.
        lambda counts, case: counts["global"]["load_requests"]
        <= counts["blocks"] * 2 * case.sizes["k"] // 8 * 2,
        lambda counts: f"{many(counts['blocks'], 'block')} of 2 warps loaded "
        f"{counts['global']['load_requests']} times, twice a warp and tile is enough",
    ),
]

_B = "*reinterpret_cast<float4*>(&tile_b[b_row][b_col]) = from_b;"
_ONE_BY_ONE = """
float v[4];
for (int i = 0; i < 4; ++i) {
  v[i] = row < rows && col + i < cols ? x[row * cols + col + i] : 0.0f;
}
return make_float4(v[0], v[1], v[2], v[3]);"""

RIGHTS = {
    "an if, and an index in units of float4": {
        1: "float4 four = {};\nif (row < rows && col < cols) {\n"
        "  four = reinterpret_cast<const float4*>(x)[(row * cols + col) / 4];\n}\nreturn four;"
    },
    "?: between structures": {
        1: "const bool inside = row < rows && col < cols;\n"
        "return inside ? *(const float4*)&x[row * cols + col] : float4{0, 0, 0, 0};"
    },
    "loops, a pointer and a reference": {
        2: "const float four[4] = {from_a.x, from_a.y, from_a.z, from_a.w};\n"
        "float* to = &tile_a[a_col][a_row];\n"
        "for (int i = 0; i < 4; ++i, to += kTile) *to = four[i];\n"
        "float4& of_b = reinterpret_cast<float4&>(tile_b[b_row][b_col]);\nof_b = from_b;"
    },
    "a reference to what is loaded": {
        1: "if (row < rows && col < cols) {\n"
        "  const float4& four = reinterpret_cast<const float4&>(x[row * cols + col]);\n"
        "  return four;\n}\nreturn {0, 0, 0, 0};"
    },
}

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
