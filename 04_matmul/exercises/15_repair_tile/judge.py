"""Exercise 04/repair_tile."""

from exercise.api import Right, drawn, product, product_case

TITLE = "Repair: a tiled product"
KIND = "repair"
MINUTES = 20
CALL = "multiply(float* a, float* b, float* c, int m, int n, int k)"


def cases(random):
    fixed = ((32, 32, 32), (16, 64, 48), (1, 1, 3), (17, 15, 33), (5, 40, 3), (40, 3, 20))
    whole = (16 * drawn(random, 1, 3), 64, 16 * drawn(random, 1, 2))
    odd = (drawn(random, 18, 31), drawn(random, 1, 15), drawn(random, 17, 31))
    for m, n, k in (*fixed, whole, odd):
        yield product_case(random, m, n, k)


def expected(case):
    m, n, k = (case.sizes[name] for name in "mnk")
    return {"c": product(case["a"].values, case["b"].values, m, n, k)}


def _whole(case):
    return all(case.sizes[name] % 16 == 0 for name in "mnk")


def _square(case):
    return case.sizes["n"] == case.sizes["k"]


POINTS = [
    Right(2, "multiples of 16, square", lambda case: _whole(case) and _square(case)),
    Right(2, "multiples of 16, not square", lambda case: _whole(case) and not _square(case)),
    Right(4, "any other sizes", lambda case: not _whole(case)),
]

RIGHTS = {
    "ifs": {
        1: "bool inside = true;\nif (row >= m || col >= n) inside = false;",
        2: "tile_a[y][x] = tile_b[y][x] = 0;\n"
        "if (row < m && p + x < k) tile_a[y][x] = a[row * k + p + x];\n"
        "if (p + y < k && col < n) tile_b[y][x] = b[(p + y) * n + col];",
    },
    "a lambda, and a pointer": {
        1: "float* const to = row < m && col < n ? c + row * n + col : nullptr;",
        2: "const auto at = [](const float* from, int r, int s, int rows, int cols) {\n"
        "  return r < rows && s < cols ? from[r * cols + s] : 0.0f;\n};\n"
        "tile_a[y][x] = at(a, row, p + x, m, k);\ntile_b[y][x] = at(b, p + y, col, k, n);",
        4: "if (to != nullptr) *to = sum;",
    },
    "the barrier comes before the load": {
        2: "__syncthreads();\n"
        "tile_a[y][x] = row >= m || p + x >= k ? 0.0f : a[row * k + p + x];\n"
        "tile_b[y][x] = p + y >= k || col >= n ? 0.0f : b[(p + y) * n + col];",
        3: "",
        4: "if (!inside) return;\nc[row * n + col] = sum;",
    },
}

MUTANTS = {
    "threads outside of C have left": {
        1: "const bool inside = row < m && col < n;\nif (!inside) return;"
    },
    "A ends where C does": {
        2: "tile_a[y][x] = row < m && p + x < n ? a[row * k + p + x] : 0.0f;\n"
        "tile_b[y][x] = p + y < k && col < n ? b[(p + y) * n + col] : 0.0f;"
    },
    "a barrier of each warp": {3: "__syncwarp();"},
    "rows of C are k long": {4: "if (inside) c[row * k + col] = sum;"},
    "no guard at the store": {4: "c[row * n + col] = sum;"},
}
