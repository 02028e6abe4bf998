"""Exercise 05/kahan."""

import math

from exercise.api import Array, Case, Right, floats

TITLE = "Remember what each addition lost"
KIND = "step"
MINUTES = 10
CALL = "strided_sums(float* x, float* sums, int n, int stride)"


def cases(random):
    for n, stride in ((4, 1), (1, 3), (33, 7), (6000, 1), (18_000, 3), (12_000, 4)):
        sums = Array("sums", role="output", count=stride)
        sizes = {"n": n, "stride": stride}
        yield Case(f"{n} numbers by {stride}", sizes, [Array("x", floats(random, n, 1, 2)), sums])


def expected(case):
    x, stride = case["x"].values, case.sizes["stride"]
    return {"sums": [math.fsum(x[t::stride]) for t in range(stride)]}


def bound(case, name, t):
    return 2 * 2**-24 * math.fsum(case["x"].values[t :: case.sizes["stride"]])


POINTS = [
    Right(1, "a few numbers", lambda case: case.sizes["n"] <= 33),
    Right(4, "thousands of them", lambda case: case.sizes["n"] > 33),
]

_BODY = """
const float corrected = value - lost;
const float next = sum + corrected;
lost = (next - sum) - corrected;
sum = next;"""

MUTANTS = {
    "the plain loop": {1: "sum += value;"},
    "what was lost is added once more": {1: _BODY.replace("value - lost", "value + lost")},
    "what was lost is measured against the value": {1: _BODY.replace("- corrected;", "- value;")},
    "the old sum is forgotten": {
        1: "sum += value - lost;\nlost = (sum - sum) - (value - lost);"
    },
}
