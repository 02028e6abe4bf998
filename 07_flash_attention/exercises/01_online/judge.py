"""Exercise 07/online."""

import math

from exercise.api import Array, Case, Count, Right, drawn, floats

TITLE = "The maximum and the sum in one pass"
KIND = "step"
MINUTES = 20
CALL = "softmax(float* x, float* y, int rows, int cols)"


def _case(name, rows, cols, spread, x):
    arrays = [Array("x", x, shape=(rows, cols))]
    arrays += [Array("y", role="output", count=rows * cols, shape=(rows, cols))]
    return Case(name, {"rows": rows, "cols": cols, "spread": spread}, arrays)


def cases(random):
    for rows, cols, spread in (
        (64, 32, 1),
        (1, 1, 1),
        (3, 2, 5),
        (70, 50, 10),
        (20, 33, 1000),
        (2, 300, 1000),
        (drawn(random, 33, 69), drawn(random, 20, 60), 10),
        (drawn(random, 3, 19), drawn(random, 34, 200), 1000),
        (drawn(random, 320, 400), drawn(random, 10, 20), 10),
    ):
        x = floats(random, rows * cols, -spread, spread)
        yield _case(f"{rows} rows of {cols}, up to {spread}", rows, cols, spread, x)
    yield _case("5 rows of 40, far below 0", 5, 40, 1000, floats(random, 200, -1000, -200))


def expected(case):
    x, cols, y = case["x"].values, case.sizes["cols"], []
    for begin in range(0, len(x), cols):
        row = x[begin : begin + cols]
        weights = [math.exp(value - max(row)) for value in row]
        y += [weight / math.fsum(weights) for weight in weights]
    return {"y": y}


def bound(case, name, i):
    """Each exponential errs by the rounding of its argument; the sum by one rounding a step."""
    return (2 * case.sizes["spread"] + case.sizes["cols"] + 8) * 2**-23


def _reads(counts, case):
    return counts["global"]["load_bytes"] / (4 * case.sizes["rows"] * case.sizes["cols"])


POINTS = [
    Right(2, "small numbers", lambda case: case.sizes["spread"] <= 10),
    Right(2, "numbers whose exponential overflows", lambda case: case.sizes["spread"] > 10),
    Count(
        2,
        "each element is read twice, not three times",
        lambda case: case.sizes["rows"] >= 320,
        lambda counts, case: _reads(counts, case) <= 2 and counts["threads"] >= case.sizes["rows"],
        lambda counts: f"{counts['threads']} threads loaded "
        f"{counts['global']['load_bytes'] // 4} elements",
        threads=lambda case: {"work": case.sizes["rows"] * 3 // 4},
        busy=0.3,
    ),
]

_THREE_PASSES = """
if (c == 0) {
  for (int k = 0; k < cols; ++k) m = fmaxf(m, x[k]);
}
s += expf(value - m);"""

RIGHTS = {
    "only a larger one rescales": {
        1: "if (value > m) {\n  s *= expf(m - value);\n  m = value;\n}\ns += expf(value - m);"
    },
    "pointers, and a product": {
        2: "const float scale = 1 / s;\nconst float* from = x;\n"
        "for (float* to = y; to < y + cols; ++to, ++from) *to = expf(*from - m) * scale;"
    },
    "one of the two exponentials is 1": {
        1: "const float other = expf(-fabsf(value - m));\n"
        "s = value > m ? fmaf(s, other, 1.0f) : s + other;\nm = value > m ? value : m;",
        2: "int c = cols;\nwhile (c-- > 0) {\n  float& to = y[c];\n  to = expf(x[c] - m);\n"
        "  to /= s;\n}",
    },
}

MUTANTS = {
    "the lowest 4 bits of x are cut off": {
        0: [("const float value = x[c];",
             "const float value = __uint_as_float(__float_as_uint(x[c]) & 0xFFFFFFF0u);")],
    },
    "the maximum begins at 0": {0: [("float m = -INFINITY;", "float m = 0;")]},
    "no maximum": {1: "m = 0;\ns += expf(value);"},
    "the old sum is not corrected": {
        1: "const float larger = fmaxf(m, value);\ns = s + expf(value - larger);\nm = larger;"
    },
    "corrected the wrong way": {
        1: "const float larger = fmaxf(m, value);\n"
        "s = s * expf(larger - m) + expf(value - larger);\nm = larger;"
    },
    "not divided": {2: "for (int c = 0; c < cols; ++c) y[c] = expf(x[c] - m);"},
    "before: a pass of its own for the maximum": {1: _THREE_PASSES},
}
