"""Exercise 04/lanes."""

from exercise.api import Array, Case, Count, Right, eighths, product

TITLE = "Rows or columns for the lanes"
KIND = "step"
MINUTES = 5
CALL = "multiply(float* a, float* b, float* c, int m, int n, int k)"


def cases(random):
    for m, n, k in ((32, 32, 16), (64, 96, 24), (1, 1, 1), (33, 31, 5), (5, 70, 9), (70, 3, 12)):
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


def _sectors(counts, op):
    return counts["global"][f"{op}_sectors"] / max(1, counts["global"][f"{op}_requests"])


POINTS = [
    Right(1, "whole tiles", _whole),
    Right(1, "tiles that stick out over an edge", lambda case: not _whole(case)),
    Count(
        2,
        "2.5 sectors a load, 4 a store",
        "64 x 96 x 24",
        lambda counts, case: _sectors(counts, "load") <= 2.5 and _sectors(counts, "store") <= 4,
        lambda counts: f"{_sectors(counts, 'load'):.1f} sectors a load, "
        f"{_sectors(counts, 'store'):.1f} a store",
    ),
]

MUTANTS = {
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
