"""Exercise 04/outer."""

from exercise.api import Count, Right, drawn, eighths, product, product_case

TITLE = "An outer product in registers"
KIND = "step"
MINUTES = 12
CALL = "multiply(float* a, float* b, float* c, int m, int n, int k)"


def cases(random):
    fixed = ((32, 32, 8), (64, 64, 64), (1, 1, 1), (33, 31, 9), (5, 70, 17), (40, 3, 20))
    whole = (64 * drawn(random, 1, 2), 64 * drawn(random, 1, 2), 8 * drawn(random, 2, 7))
    odd = (drawn(random, 34, 63), drawn(random, 1, 31), drawn(random, 1, 31))
    for m, n, k in (*fixed, whole, odd):
        yield product_case(random, m, n, k)


def expected(case):
    m, n, k = (case.sizes[name] for name in "mnk")
    return {"c": product(case["a"].values, case["b"].values, m, n, k)}


def _whole(case, tile=32):
    return case.sizes["m"] % tile == 0 and case.sizes["n"] % tile == 0


def _enough(case):
    """Loads by warps from shared memory, 8 for each value of k, and bytes for tiles of 32 x 32."""
    m, n, k = (case.sizes[name] for name in "mnk")
    return m * n // 512 * k * 8, m * n // 32 * k * 8


POINTS = [
    Right(2, "whole tiles", _whole),
    Right(2, "tiles that stick out over an edge", lambda case: not _whole(case)),
    Count(
        2,
        "8 loads from shared memory for 16 multiply-adds",
        lambda case: _whole(case, 64),  # whole tiles of 64 x 64, too
        lambda counts, case: counts["shared"]["load_requests"] <= _enough(case)[0]
        and counts["global"]["load_bytes"] <= _enough(case)[1],
        lambda counts: f"{counts['shared']['load_requests']} loads from shared memory by warps, 8 "
        "for each value of k and 512 elements of C are enough; "
        f"{counts['global']['load_bytes']} bytes from global memory, each tile once is enough",
        threads=lambda case: {"steps": case.sizes["m"] * case.sizes["n"] // 24},
    ),
]

_EACH = """
for (int r = 0; r < kThread; ++r) {
  for (int s = 0; s < kThread; ++s) acc[r][s] += FACTORS;
}"""

RIGHTS = {
    "tiles of 64 x 64": {0: [("kTile = 32; ", "kTile = 64; ")]},
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
    "before: past the tiles": {
        1: "for (int r = 0; r < kThread; ++r) {\n"
        "  from_a[r] = at_or_zero(a, row + y + r, p + q, m, k);\n"
        "  from_b[r] = at_or_zero(b, p + q, col + x + r, k, n);\n}"
    },
    "before: one thread loads the tiles": {
        0: [("for (int i = t; i < kTile * kTileK; i += kThreads) {",
             "for (int i = 0; t == 0 && i < kTile * kTileK; ++i) {")]
    },
    "before: half of the threads work": {
        0: [("float acc[kThread][kThread] = {};", "float both[2][kThread][kThread] = {};"),
            ("for (int q = 0; q < kTileK; ++q) {",
             "for (int h = 0; h < 2 * kTileK && t < kThreads / 2; ++h) {\n"
             "      const int q = h / 2, y = t / 8 * 4 + h % 2 * 16;\n"
             "      auto& acc = both[h % 2];")],
        3: "for (int h = 0; h < 2 && t < kThreads / 2; ++h) {\n"
        "  for (int e = 0; e < 16; ++e) {\n"
        "    const int i = row + y + 16 * h + e / 4, j = col + x + e % 4;\n"
        "    if (i < m && j < n) c[i * n + j] = both[h][e / 4][e % 4];\n  }\n}",
    },
    "before: the whole product twice": {
        0: [("multiply_kernel<<<grid, kThreads>>>(a, b, c, m, n, k);",
             "for (int i = 0; i < 2; ++i) multiply_kernel<<<grid, kThreads>>>(a, b, c, m, n, k);")]
    },
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
