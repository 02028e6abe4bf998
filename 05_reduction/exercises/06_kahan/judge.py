"""Exercise 05/kahan."""

import math

from exercise.api import Array, Case, Count, Right, drawn, floats

TITLE = "Remember what each addition lost"
KIND = "step"
MINUTES = 10
CALL = "strided_sums(float* x, float* sums, int n, int stride)"


def cases(random):
    fixed = ((4, 1), (1, 3), (33, 7), (6000, 1), (18_000, 3), (12_000, 4))
    few, many = (drawn(random, 2, 32), drawn(random, 2, 6)), (5 * drawn(random, 2500, 3500), 5)
    wide = (drawn(random, 7000, 9000), drawn(random, 530, 600))
    for n, stride in (*fixed, few, many, wide):
        sums = Array("sums", role="output", count=stride)
        sizes = {"n": n, "stride": stride}
        yield Case(f"{n} numbers by {stride}", sizes, [Array("x", floats(random, n, 1, 2)), sums])


def expected(case):
    x, stride = case["x"].values, case.sizes["stride"]
    return {"sums": [math.fsum(x[t::stride]) for t in range(stride)]}


def bound(case, name, t):
    return 2 * 2**-24 * math.fsum(case["x"].values[t :: case.sizes["stride"]])


def _many(case):
    return case.sizes["n"] > 33


POINTS = [
    Right(1, "a few numbers", lambda case: case.sizes["n"] <= 33),
    Right(3, "thousands of them", _many),
    Count(
        1,
        "a thread for each sum",
        lambda case: case.sizes["stride"] > 100,
        lambda counts, case: counts["threads"] >= case.sizes["stride"],
        lambda counts: f"{counts['threads']} threads were started",
        threads=lambda case: {"stores": case.sizes["stride"]},
        busy=0.51,
    ),
]

_BODY = """
const float corrected = value - lost;
const float next = sum + corrected;
lost = (next - sum) - corrected;
sum = next;"""

RIGHTS = {
    "the difference twice": {
        1: "const float next = sum + (value - lost);\nlost = (next - sum) - (value - lost);\n"
        "sum = next;"
    },
    "step by step": {
        1: "float y = value;\ny -= lost;\nfloat t = sum;\nt += y;\nlost = t - sum;\n"
        "lost -= y;\nsum = t;"
    },
    "what both of them lost": {
        1: "const float y = value - lost, t = sum + y, of_y = t - sum;\n"
        "lost = -((sum - (t - of_y)) + (y - of_y));\nsum = t;"
    },
}

MUTANTS = {
    "before: one thread": {
        0: [("  const int t = blockIdx.x * blockDim.x + threadIdx.x;\n"
             "  if (t >= stride) return;\n",
             "  for (int t = 0; t < stride; ++t) {\n"),
            ("  sums[t] = sum;\n", "  sums[t] = sum;\n  }\n"),
            ("<<<(stride + 31) / 32, 32>>>", "<<<1, 1>>>")],
    },
    "sixteen at a time": {
        0: [("float lost = 0;", "float lost = 0;\n  int count = 0;")],
        1: "lost += value;\nif (++count % 16 == 0 || i + stride >= n) {\n"
        "  sum += lost;\n  lost = 0;\n}"
    },
    "the plain loop": {1: "sum += value;"},
    "what was lost is added once more": {1: _BODY.replace("value - lost", "value + lost")},
    "what was lost is measured against the value": {1: _BODY.replace("- corrected;", "- value;")},
    "the old sum is forgotten": {
        1: "sum += value - lost;\nlost = (sum - sum) - (value - lost);"
    },
}
