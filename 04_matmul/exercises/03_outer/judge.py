"""Exercise 04/outer."""

from exercise.api import Count, Right, drawn, eighths, product, product_case

TITLE = "An outer product in registers"
KIND = "step"
MINUTES = 12
CALL = "multiply(float* a, float* b, float* c, int m, int n, int k)"


def cases(random):
    fixed = ((32, 32, 8), (64, 64, 64), (1, 1, 1), (33, 31, 9), (5, 70, 17), (40, 3, 20))
    whole = (32 * drawn(random, 1, 2), 32 * drawn(random, 1, 3), 8 * drawn(random, 2, 7))
    odd = (drawn(random, 34, 63), drawn(random, 1, 31), drawn(random, 1, 31))
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
        "8 loads from shared memory for 16 multiply-adds",
        _whole,
        # Blocks of 2 warps, k in eighths, 8 loads for each value.
        lambda counts, case: counts["shared"]["load_requests"]
        <= counts["blocks"] * 2 * case.sizes["k"] * 8,
        lambda counts: f"{counts['blocks']} blocks of 2 warps loaded "
        f"{counts['shared']['load_requests']} times, 8 a warp for each value of k are enough",
    ),
]

_EACH = """
for (int r = 0; r < kThread; ++r) {
  for (int s = 0; s < kThread; ++s) acc[r][s] += FACTORS;
}"""

RIGHTS = {
    "one loop, unrolled": {
        1: "#pragma unroll\nfor (int i = 0; i < kThread; ++i) {\n"
        "  from_a[i] = tile_a[y + i][q];\n  from_b[i] = tile_b[q][x + i];\n}"
    },
    "references and fmaf": {
        2: "for (int i = 0; i < kThread * kThread; ++i) {\n"
        "  float& to = acc[i / kThread][i % kThread];\n"
        "  to = fmaf(from_a[i / kThread], from_b[i % kThread], to);\n}"
    },
    "pointers, and loops that end at the edge": {
        1: "const float *down = &tile_a[y][q], *across = tile_b[q] + x;\n"
        "for (int r = 0; r < kThread; ++r) from_a[r] = down[r * kTileK];\n"
        "for (int s = 0; s < kThread; ++s) from_b[s] = *across++;",
        3: "float* to = c + (row + y) * n + col + x;\n"
        "for (int r = 0; r < min(kThread, m - row - y); ++r, to += n) {\n"
        "  for (int s = 0; s < min(kThread, n - col - x); ++s) to[s] = acc[r][s];\n}",
    },
}

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
