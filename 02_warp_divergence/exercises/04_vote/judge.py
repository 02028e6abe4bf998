"""Exercise 02/vote."""

from exercise.api import Array, Case, Count, Right, floats

TITLE = "Ask the other lanes first"
KIND = "step"
MINUTES = 10

TERMS = 16
COUNTED = "n = 2048, negative in 3 warps"


def cases(random):
    def case(name, x):
        n = len(x)
        return Case(
            name,
            {"n": n},
            [
                Array("x", x),
                Array("coefficients", floats(random, TERMS)),
                Array("y", role="output", count=n),
            ],
        )

    sparse = floats(random, 2048, 0, 1)
    for i in (5, 37, 38, 2047):
        sparse[i] = -sparse[i] - 0.125
    yield case(COUNTED, sparse)
    for n in (128, 1, 31, 33, 127, 1021):
        yield case(f"n = {n}", floats(random, n))


def expected(case):
    def path(x):
        total = 0.0
        for coefficient in case["coefficients"].values:
            total = total * x + coefficient
        return total

    return {"y": [path(x) if x < 0 else x for x in case["x"].values]}


def bound(case, name, i):
    """16 steps, each rounded once, of sums that stay below 16."""
    return 3e-5 if case["x"].values[i] < 0 else 0.0


POINTS = [
    Right(2, "whole warps", lambda case: case.sizes["n"] % 32 == 0),
    Right(2, "a warp that is not full", lambda case: case.sizes["n"] % 32),
    Count(
        1,
        "the lanes of a warp never part",
        COUNTED,
        lambda counts, case: counts["divergent_branches"] == 0,
        lambda counts: f"lanes parted at {counts['divergent_branches']} branches",
    ),
    Count(
        2,
        "only warps that need it load the coefficients",
        COUNTED,
        lambda counts, case: counts["global"]["load_requests"] == 64 + 3 * TERMS,
        lambda counts: f"{counts['global']['load_requests']} loads, 64 + 3 x 16 are enough",
    ),
]

_VALUE = "const float value = i < n ? x[i] : 0.0f;\n"

MUTANTS = {
    "lanes past the end do not vote": {
        1: "if (i >= n) return;\nfloat result = x[i];\n"
        "if (__any_sync(kWholeWarp, x[i] < 0)) {\n"
        "  const float expensive = expensive_path(x[i], coefficients);\n"
        "  result = x[i] < 0 ? expensive : x[i];\n}\ny[i] = result;"
    },
    "all must be negative": {
        1: _VALUE + "float result = value;\n"
        "if (__all_sync(kWholeWarp, value < 0)) result = expensive_path(value, coefficients);\n"
        "if (i < n) y[i] = result;"
    },
    "whoever comes along is taken for negative": {
        1: _VALUE + "float result = value;\n"
        "if (__any_sync(kWholeWarp, value < 0)) result = expensive_path(value, coefficients);\n"
        "if (i < n) y[i] = result;"
    },
    "before: a plain branch": {
        1: "if (i >= n) return;\n"
        "if (x[i] < 0) {\n  y[i] = expensive_path(x[i], coefficients);\n"
        "} else {\n  y[i] = x[i];\n}"
    },
    "before: everybody computes both": {
        1: _VALUE + "const float expensive = expensive_path(value, coefficients);\n"
        "if (i < n) y[i] = value < 0 ? expensive : value;"
    },
}
