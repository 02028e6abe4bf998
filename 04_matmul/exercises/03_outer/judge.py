"""Exercise 04/outer."""

from exercise.api import Array, Case, Count, Right, eighths, product

TITLE = "An outer product in registers"
KIND = "step"
MINUTES = 12
CALL = "multiply(float* a, float* b, float* c, int m, int n, int k)"


def cases(random):
    for m, n, k in ((32, 32, 8), (64, 64, 64), (1, 1, 1), (33, 31, 9), (5, 70, 17), (40, 3, 20)):
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
        "8 loads from shared memory for 16 multiply-adds",
        "64 x 64 x 64",
        # 4 blocks of 2 warps, 64 values of k, 8 loads each.
        lambda counts, case: counts["shared"]["load_requests"] <= 4 * 2 * 64 * 8,
        lambda counts: f"{counts['shared']['load_requests']} loads, 4096 are enough",
    ),
]

_EACH = """
for (int r = 0; r < kThread; ++r) {
  for (int s = 0; s < kThread; ++s) acc[r][s] += FACTORS;
}"""

MUTANTS = {
    "only the diagonal": {
        2: "for (int r = 0; r < kThread; ++r) acc[r][r] += from_a[r] * from_b[r];"
    },
    "rows and columns of the result mixed up": {
        2: _EACH.replace("FACTORS", "from_a[s] * from_b[r]")
    },
    "every thread has the first column": {
        1: "for (int r = 0; r < kThread; ++r) from_a[r] = tile_a[y + r][q];\n"
        "for (int s = 0; s < kThread; ++s) from_b[s] = tile_b[q][s];"
    },
    "the store looks at its first element alone": {
        3: "for (int r = 0; r < kThread; ++r) {\n"
        "  for (int s = 0; s < kThread; ++s) {\n"
        "    if (row + y < m && col + x < n) c[(row + y + r) * n + col + x + s] = acc[r][s];\n"
        "  }\n}"
    },
    "before: both factors from shared memory": {
        1: "",
        2: _EACH.replace("FACTORS", "tile_a[y + r][q] * tile_b[q][x + s]"),
    },
}
