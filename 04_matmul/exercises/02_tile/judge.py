"""Exercise 04/tile."""

from exercise.api import Count, Right, drawn, many, product, product_case

TITLE = "Load it once, use it sixteen times"
KIND = "step"
MINUTES = 15
CALL = "multiply(float* a, float* b, float* c, int m, int n, int k)"


def cases(random):
    fixed = ((16, 16, 16), (32, 48, 64), (1, 1, 1), (17, 15, 33), (5, 40, 3), (40, 3, 20))
    whole = (16 * drawn(random, 1, 4), 16 * drawn(random, 1, 2), 16 * drawn(random, 2, 4))
    odd = (drawn(random, 1, 15), drawn(random, 17, 39), drawn(random, 17, 31))
    for m, n, k in (*fixed, whole, odd):
        yield product_case(random, m, n, k)


def expected(case):
    m, n, k = (case.sizes[name] for name in "mnk")
    return {"c": product(case["a"].values, case["b"].values, m, n, k)}


def _whole(case):
    return all(case.sizes[name] % 16 == 0 for name in "mnk")


def _most_bytes(case):
    """Each thread loads an element of A and one of B for 16 values of k."""
    m, n, k = (case.sizes[name] for name in "mnk")
    return 4 * 2 * m * n * k // 16


def _sectors(counts):
    return counts["global"]["load_sectors"] / max(1, counts["global"]["load_requests"])


POINTS = [
    Right(2, "whole tiles", _whole),
    Right(3, "tiles that stick out over an edge", lambda case: not _whole(case)),
    Count(
        1,
        "a block loads each element of its tiles once, in loads of 4 sectors",
        _whole,
        lambda counts, case: counts["global"]["load_bytes_moved"] <= _most_bytes(case)
        and counts["global"]["load_bytes"] <= _most_bytes(case),
        lambda counts: f"{counts['global']['load_bytes'] // 4} floats were loaded by "
        f"{many(counts['blocks'], 'block')}, {_sectors(counts):.1f} sectors a load",
        blocks=lambda case: case.sizes["m"] * case.sizes["n"] // 768,
        threads=lambda case: {"loads": case.sizes["m"] * case.sizes["n"] // 2},
    ),
    Count(
        1,
        "at most two barriers a tile of k",
        _whole,
        lambda counts, case: counts["barriers"] <= counts["blocks"] * case.sizes["k"] // 16 * 2,
        lambda counts: f"{many(counts['blocks'], 'block')} passed {counts['barriers']} barriers",
    ),
]

_SUM = "for (int q = 0; q < kTile; ++q) sum += tile_a[y][q] * tile_b[q][x];"

RIGHTS = {
    "four sums, rounded by hand": {
        2: "__syncthreads();\nfloat part[4] = {};\nfor (int q = 0; q < kTile; q += 4) {\n"
        "  for (int e = 0; e < 4; ++e) {\n"
        "    part[e] = __fmaf_rn(tile_a[y][q + e], tile_b[q + e][x], part[e]);\n  }\n}\n"
        "sum += (part[0] + part[1]) + (part[2] + part[3]);\n__syncthreads();",
    },
    "ifs": {
        1: "tile_a[y][x] = tile_b[y][x] = 0;\n"
        "if (row < m && p + x < k) tile_a[y][x] = a[row * k + p + x];\n"
        "if (p + y < k && col < n) tile_b[y][x] = b[(p + y) * n + col];"
    },
    "a lambda for an element, pointers in the loop": {
        1: "const auto at = [](const float* from, int r, int c, int rows, int cols) {\n"
        "  return r < rows && c < cols ? from[r * cols + c] : 0.0f;\n};\n"
        "tile_a[y][x] = at(a, row, p + x, m, k);\ntile_b[y][x] = at(b, p + y, col, k, n);",
        2: "__syncthreads();\nconst float *left = tile_a[y], *right = &tile_b[0][x];\n"
        "for (int q = 0; q < kTile; ++q, right += kTile) sum = fmaf(*left++, *right, sum);\n"
        "__syncthreads();",
    },
    "no products with zeros, and a barrier at the top": {
        1: "if (p > 0) __syncthreads();\n"
        "tile_a[y][x] = row >= m || p + x >= k ? 0.0f : a[row * k + (p + x)];\n"
        "tile_b[y][x] = p + y >= k || col >= n ? 0.0f : b[(p + y) * n + col];",
        2: "__syncthreads();\nconst int end = min(kTile, k - p);\n"
        "for (int q = 0; q < end; ++q) sum += tile_a[y][q] * tile_b[q][x];",
    },
}

MUTANTS = {
    "before: each product from global memory": {
        2: "__syncthreads();\nfor (int q = 0; q < min(kTile, k - p); ++q) {\n"
        "  if (row < m && col < n) sum += a[row * k + p + q] * b[(p + q) * n + col];\n}\n"
        "__syncthreads();",
    },
    "nothing is zero": {
        1: "tile_a[y][x] = a[min(row, m - 1) * k + min(p + x, k - 1)];\n"
        "tile_b[y][x] = b[min(p + y, k - 1) * n + min(col, n - 1)];"
    },
    "one barrier in front": {2: "__syncthreads();\n" + _SUM},
    "one barrier behind": {2: _SUM + "\n__syncthreads();"},
    "threads outside of C have left": {
        2: "if (row >= m || col >= n) return;\n__syncthreads();\n" + _SUM + "\n__syncthreads();"
    },
    "before: the lanes load down a column": {
        1: "const int r = row - y + x, s = col - x + y;\n"
        "tile_a[x][y] = r < m && p + y < k ? a[r * k + p + y] : 0.0f;\n"
        "tile_b[x][y] = p + x < k && s < n ? b[(p + x) * n + s] : 0.0f;"
    },
    "before: two warps of eight load for all": {
        1: "for (int e = y * kTile + x; y < 4 && e < 256; e += 64) {\n"
        "  const int r = e / kTile, s = e % kTile;\n"
        "  tile_a[r][s] = row - y + r < m && p + s < k ? a[(row - y + r) * k + p + s] : 0.0f;\n"
        "  tile_b[r][s] = p + r < k && col - x + s < n ? b[(p + r) * n + col - x + s] : 0.0f;\n}"
    },
    "before: a barrier for each product": {
        2: "for (int q = 0; q < kTile; ++q) {\n  __syncthreads();\n"
        "  sum += tile_a[y][q] * tile_b[q][x];\n}\n__syncthreads();"
    },
}
