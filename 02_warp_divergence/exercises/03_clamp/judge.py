"""Exercise 02/clamp."""

from exercise.api import Array, Case, Count, Right, floats

TITLE = "A short branch, without the branch"
KIND = "step"
MINUTES = 5


def cases(random):
    for n in (128, 1, 31, 33, 1000, 4096):
        limits = sorted(floats(random, 2))
        yield Case(
            f"n = {n}",
            {"n": n},
            [
                Array("limits", limits),
                Array("x", floats(random, n, -2, 2)),
                Array("y", role="output", count=n),
            ],
        )


def expected(case):
    low, high = case["limits"].values
    return {"y": [min(max(value, low), high) for value in case["x"].values]}


POINTS = [
    Right(1, "whole warps", lambda case: case.sizes["n"] % 32 == 0),
    Right(1, "a warp that is not full", lambda case: case.sizes["n"] % 32),
    Count(
        1,
        "no branch at which the lanes of a warp part",
        "n = 4096",
        lambda counts, case: counts["divergent_branches"] == 0,
        lambda counts: f"lanes parted at {counts['divergent_branches']} branches",
    ),
    Count(
        1,
        "one store a warp",
        "n = 4096",
        lambda counts, case: counts["global"]["store_requests"] == case.sizes["n"] // 32,
        lambda counts: f"{counts['global']['store_requests']} stores, 128 are enough",
    ),
]

_THREE_BRANCHES = """
if (x[i] < low) {
  y[i] = low;
} else if (x[i] > high) {
  y[i] = high;
} else {
  y[i] = x[i];
}"""

MUTANTS = {
    "only from below": {1: "y[i] = fmaxf(x[i], low);"},
    "the limits have changed places": {1: "y[i] = fminf(fmaxf(x[i], high), low);"},
    "cut off at the size": {1: "y[i] = fminf(fabsf(x[i]), high);"},
    "before: three branches": {1: _THREE_BRANCHES},
}
