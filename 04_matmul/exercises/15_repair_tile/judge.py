"""Exercise 04/repair_tile."""

from exercise.api import Array, Case, Right, eighths, product

TITLE = "Repair: a tiled product"
KIND = "repair"
MINUTES = 20
CALL = "multiply(float* a, float* b, float* c, int m, int n, int k)"


def cases(random):
    for m, n, k in ((32, 32, 32), (16, 64, 48), (1, 1, 3), (17, 15, 33), (5, 40, 3), (40, 3, 20)):
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
    return all(case.sizes[name] % 16 == 0 for name in "mnk")


POINTS = [
    Right(2, "multiples of 16, square", lambda case: case.name == "32 x 32 x 32"),
    Right(2, "multiples of 16, not square", lambda case: case.name == "16 x 64 x 48"),
    Right(4, "any other sizes", lambda case: not _whole(case)),
]

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
