"""Exercise 07/merge."""

import math

from exercise.api import Array, Case, Right, float32, floats

TITLE = "Two halves of the keys"
KIND = "step"
MINUTES = 10
CALL = (
    "merge(float* o_a, float* lse_a, float* o_b, float* lse_b, float* o, float* lse, "
    "int rows, int d)"
)


def cases(random):
    for rows, d, spread, empty in (
        (4, 8, 1, ""),
        (33, 5, 1, ""),
        (40, 16, 200, ""),
        (1, 1, 200, ""),
        (7, 8, 2, "a"),
        (9, 4, 2, "b"),
        (5, 16, 2, "ab"),
    ):
        arrays = []
        for half in "ab":
            is_empty = half in empty
            o = [0.0] * (rows * d) if is_empty else floats(random, rows * d)
            lse = [-math.inf] * rows if is_empty else floats(random, rows, -spread, spread)
            arrays += [Array(f"o_{half}", o), Array(f"lse_{half}", lse)]
        arrays.append(Array("o", role="output", count=rows * d, shape=(rows, d)))
        arrays.append(Array("lse", role="output", count=rows))
        name = f"{rows} rows of {d}, lse up to {spread}"
        if empty:
            name += f", no keys in {' and '.join(empty)}"
        yield Case(name, {"rows": rows, "d": d, "empty": len(empty)}, arrays)


def expected(case):
    o, lse, d = [], [], case.sizes["d"]
    for row, (a, b) in enumerate(zip(case["lse_a"].values, case["lse_b"].values)):
        if max(a, b) == -math.inf:
            o += [0.0] * d
            lse.append(-math.inf)
            continue
        of_a, of_b = math.exp(a - max(a, b)), math.exp(b - max(a, b))
        for i in range(row * d, row * d + d):
            mean = (of_a * case["o_a"].values[i] + of_b * case["o_b"].values[i]) / (of_a + of_b)
            o.append(float32(mean))
        lse.append(max(a, b) + math.log(of_a + of_b))
    return {"o": o, "lse": lse}


def bound(case, name, i):
    """Exponents are exact to 2^-24 of up to 400."""
    return 400 * 2**-23


POINTS = [
    Right(2, "small numbers", lambda case: not case.sizes["empty"] and "200" not in case.name),
    Right(2, "numbers whose exponential overflows", lambda case: "200" in case.name),
    Right(2, "halves without keys", lambda case: case.sizes["empty"]),
]

_MERGE = """
const float larger = fmaxf(a, b);
const float shift = larger == -INFINITY ? 0.0f : larger;
const float of_a = expf(a - shift), of_b = expf(b - shift), sum = of_a + of_b;
o[i] = sum > 0 ? (of_a * o_a[i] + of_b * o_b[i]) / sum : 0.0f;
if (i % d == 0) lse[row] = shift + logf(sum);"""

MUTANTS = {
    "the mean of the two": {1: "o[i] = (o_a[i] + o_b[i]) / 2;\nif (i % d == 0) lse[row] = a + b;"},
    "nothing is subtracted": {
        1: _MERGE.replace("larger == -INFINITY ? 0.0f : larger", "0.0f * (larger > 0)")
    },
    "two halves without keys give NaN": {
        1: _MERGE.replace("larger == -INFINITY ? 0.0f : larger", "larger")
    },
    "0 / 0": {1: _MERGE.replace("sum > 0 ? ", "").replace(" : 0.0f;\nif", ";\nif")},
    "the shift is not added again": {1: _MERGE.replace("shift + logf(sum)", "logf(sum)")},
}
