"""Exercise 04/async."""

from exercise.api import Array, Case, Count, Right, eighths, product

TITLE = "Copies behind the multiplication"
KIND = "step"
MINUTES = 15
CALL = "multiply(float* a, float* b, float* c, int m, int n, int k)"


def cases(random):
    for m, n, k in ((16, 16, 64), (32, 48, 80), (1, 4, 4), (17, 12, 36), (5, 40, 20), (40, 4, 68)):
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
    Right(2, "whole tiles", _whole),
    Right(2, "tiles that stick out over an edge", lambda case: not _whole(case)),
    Count(
        2,
        "one barrier a tile of k",
        "32 x 48 x 80",
        # 6 blocks, 5 tiles of k.
        lambda counts, case: counts["barriers"] <= 6 * 5,
        lambda counts: f"the blocks passed {counts['barriers']} barriers, 30 are enough",
    ),
]

_NEXT = "if (p + kTile < k) issue(stage ^ 1, p + kTile);\nptx::cp_async_commit();\n"

MUTANTS = {
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
