"""Exercise 02/clamp."""

from exercise.api import Array, Case, Count, Right, drawn, floats

TITLE = "A short branch, without the branch"
KIND = "step"
MINUTES = 5


def cases(random):
    fixed = (128, 1, 31, 33, 1000, 8192)
    odd = drawn(random, 2, 999, besides=(*fixed, *range(0, 999, 32)))
    for n in (*fixed, odd, drawn(random, 1024, 9999, 32, fixed)):
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
    # Not the branches that simt sees: of a ?: the CPU's compiler makes one, nvcc a select.
    Count(
        2,
        "one store a warp, whatever its lanes hold",
        lambda case: case.sizes["n"] >= 1024 and case.sizes["n"] % 32 == 0,
        lambda counts, case: counts["global"]["store_requests"] <= case.sizes["n"] // 32,
        lambda counts: f"{counts['global']['store_requests']} stores, one for 32 elements is "
        "enough",
        blocks=lambda case: case.sizes["n"] // 4096,
        busy=0.3,
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

RIGHTS = {
    "two elements a thread": {
        1: "if (2 * i + 1 < n) {\n"
        "  const float2 v = reinterpret_cast<const float2*>(x)[i];\n"
        "  reinterpret_cast<float2*>(y)[i] = make_float2("
        "fminf(fmaxf(v.x, low), high), fminf(fmaxf(v.y, low), high));\n"
        "} else if (2 * i < n) {\n  y[2 * i] = fminf(fmaxf(x[2 * i], low), high);\n}"
    },
    "two selects": {
        1: "const float v = x[i];\ny[i] = v < low ? low : v > high ? high : v;"
    },
    "ifs that store nothing": {
        1: "float v = x[i];\nif (v < low) v = low;\nif (v > high) v = high;\ny[i] = v;"
    },
    "sums of products of comparisons": {
        1: "const float v = x[i];\n"
        "y[i] = low * (v < low) + high * (v > high) + v * (v >= low && v <= high);"
    },
}

MUTANTS = {
    "a warp that is not full does nothing": {
        1: "if (i / 32 < n / 32) y[i] = fminf(fmaxf(x[i], low), high);"
    },
    "only from below": {1: "y[i] = fmaxf(x[i], low);"},
    "the limits have changed places": {1: "y[i] = fminf(fmaxf(x[i], high), low);"},
    "one limit for both": {1: "y[i] = fminf(fmaxf(x[i], -high), high);"},
    "the limits are left out": {1: "y[i] = x[i];"},
    "cut off at the size": {1: "y[i] = fminf(fabsf(x[i]), high);"},
    "before: three branches": {1: _THREE_BRANCHES},
}
