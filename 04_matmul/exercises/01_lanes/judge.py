"""Exercise 04/lanes."""

from exercise.api import Count, Right, drawn, product, product_case

TITLE = "Rows or columns for the lanes"
KIND = "step"
MINUTES = 5
CALL = "multiply(float* a, float* b, float* c, int m, int n, int k)"


def cases(random):
    fixed = ((32, 32, 16), (64, 96, 24), (1, 1, 1), (33, 31, 5), (5, 70, 9), (70, 3, 12))
    whole = (32 * drawn(random, 1, 3), 32 * drawn(random, 1, 2), drawn(random, 3, 23))
    odd = (drawn(random, 34, 63), drawn(random, 1, 31), drawn(random, 1, 23))
    for m, n, k in (*fixed, whole, odd):
        yield product_case(random, m, n, k)


def expected(case):
    m, n, k = (case.sizes[name] for name in "mnk")
    return {"c": product(case["a"].values, case["b"].values, m, n, k)}


def _whole(case):
    return case.sizes["m"] % 32 == 0 and case.sizes["n"] % 32 == 0


def _sectors(counts, op):
    return counts["global"][f"{op}_sectors"] / max(1, counts["global"][f"{op}_requests"])


POINTS = [
    Right(1, "whole tiles", _whole),
    Right(1, "tiles that stick out over an edge", lambda case: not _whole(case)),
    Count(
        2,
        "2.5 sectors a load, 4 a store",
        _whole,
        # Alone a lane moves one sector at a time: so all of them are asked for.
        lambda counts, case: _sectors(counts, "load") <= 2.5
        and _sectors(counts, "store") <= 4
        and counts["threads"] >= len(case["c"])
        and counts["global"]["store_bytes"] <= 4 * len(case["c"]),
        lambda counts: f"{_sectors(counts, 'load'):.1f} sectors a load, "
        f"{_sectors(counts, 'store'):.1f} a store of {counts['global']['store_executions']}, by "
        f"{counts['threads']} threads",
        busy=0.6,
    ),
]

RIGHTS = {
    "the number of the thread": {
        1: "const unsigned t = threadIdx.y * blockDim.x + threadIdx.x;\n"
        "const int row = blockIdx.y * 32 + t / 32, col = blockIdx.x * 32 + t % 32;"
    },
    "a lambda": {
        1: "const auto place = [](int block, int thread) { return block * kTile + thread; };\n"
        "const int row = place(blockIdx.y, threadIdx.y), col = place(blockIdx.x, threadIdx.x);"
    },
    "pointers": {
        0: [("for (int p = 0; p < k; ++p) sum += a[row * k + p] * b[p * n + col];",
             "const float *left = a + row * k, *right = b + col;\n"
             "  for (int p = 0; p < k; ++p, right += n) sum = fmaf(*left++, *right, sum);")],
    },
}

MUTANTS = {
    "before: two blocks for each tile": {
        0: [("(m + kTile - 1) / kTile);", "(m + kTile - 1) / kTile, 2);")]
    },
    "one column past the right edge": {
        0: [("if (row >= m || col >= n) return;", "if (row >= m || col > n) return;")]
    },
    "one product too few": {0: [("for (int p = 0; p < k;", "for (int p = 0; p < k - 1;")]},
    "blocks across and down mixed up": {
        1: "const int row = blockIdx.x * kTile + threadIdx.y;\n"
        "const int col = blockIdx.y * kTile + threadIdx.x;"
    },
    "the block is forgotten": {1: "const int row = threadIdx.y, col = threadIdx.x;"},
    "before: the lanes run down a column": {
        1: "const int row = blockIdx.y * kTile + threadIdx.x;\n"
        "const int col = blockIdx.x * kTile + threadIdx.y;"
    },
}
