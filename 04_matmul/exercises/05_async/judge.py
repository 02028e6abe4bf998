"""Exercise 04/async."""

from exercise.api import Count, Right, drawn, many, product, product_case

TITLE = "Copies behind the multiplication"
KIND = "step"
MINUTES = 15
CALL = "multiply(float* a, float* b, float* c, int m, int n, int k)"


def cases(random):
    fixed = ((16, 16, 64), (32, 48, 80), (1, 4, 4), (17, 12, 36), (5, 40, 20), (40, 4, 68))
    whole = (16 * drawn(random, 1, 3), 16 * drawn(random, 1, 2), 16 * drawn(random, 2, 6))
    odd = (drawn(random, 18, 31), 4 * drawn(random, 1, 3), 16 * drawn(random, 2, 4) + 4)
    for m, n, k in (*fixed, whole, odd):
        yield product_case(random, m, n, k)


def expected(case):
    m, n, k = (case.sizes[name] for name in "mnk")
    return {"c": product(case["a"].values, case["b"].values, m, n, k)}


def _whole(case):
    return all(case.sizes[name] % 16 == 0 for name in "mnk")


POINTS = [
    Right(2, "whole tiles", _whole),
    Right(2, "tiles that stick out over an edge", lambda case: not _whole(case)),
    Count(
        2,
        "one barrier a tile of k",
        _whole,
        lambda counts, case: counts["barriers"] <= counts["blocks"] * case.sizes["k"] // 16,
        lambda counts: f"{many(counts['blocks'], 'block')} passed {counts['barriers']} barriers",
    ),
]

_NEXT = "if (p + kTile < k) issue(stage ^ 1, p + kTile);\nptx::cp_async_commit();\n"

RIGHTS = {
    "no empty group": {
        2: "ptx::cp_async_wait<0>();\n__syncthreads();\nif (p + kTile < k) {\n"
        "  issue(1 - stage, p + kTile);\n  ptx::cp_async_commit();\n}"
    },
    "a group is closed where it is waited for": {
        1: "issue(0, 0);",
        2: "ptx::cp_async_commit();\nptx::cp_async_wait<0>();\n__syncthreads();\n"
        "const int next = p + kTile;\nif (next < k) issue(!stage, next);",
    },
    "pointers, in the loop": {
        0: [("for (int q = 0; q < kTile; ++q) sum += tile_a[stage][y][q] * tile_b[stage][q][x];",
             "const float *left = tile_a[stage][y], *right = &tile_b[stage][0][x];\n"
             "    for (int q = 0; q < kTile; ++q) sum = fmaf(left[q], right[q * kTile], sum);")],
    },
}

MUTANTS = {
    "past the right edge of A the next row goes on": {
        0: [("const bool inside = row + i < m && p + j < k;", "const bool inside = row + i < m;")]
    },
    "waits for the barrier, not for the copies": {2: "__syncthreads();\n" + _NEXT},
    "waits for the copies, not for the others": {2: "ptx::cp_async_wait<0>();\n" + _NEXT},
    "issues the next before the barrier": {
        2: "ptx::cp_async_wait<0>();\n" + _NEXT + "__syncthreads();"
    },
    "waits for all groups but the youngest": {
        2: "ptx::cp_async_wait<1>();\n__syncthreads();\n" + _NEXT
    },
    "before: one stage after the other": {
        1: "",
        2: "__syncthreads();\nissue(stage, p);\nptx::cp_async_commit();\n"
        "ptx::cp_async_wait<0>();\n__syncthreads();",
    },
}
