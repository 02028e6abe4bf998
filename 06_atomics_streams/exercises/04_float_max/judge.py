"""Exercise 06/float_max."""

import math

from exercise.api import Array, Case, Count, Right, drawn, floats

TITLE = "Look, compute, try again"
KIND = "step"
MINUTES = 15
REFUSED = {"atomicExch": "overwrites whatever the cell holds by then, a larger value, too"}
# A rival comes before each atomicCAS (run.cu), and before none of these.
REFUSED |= dict.fromkeys(("atomic", "atomic_ref"), "is no atomicCAS, which the task is about")


def cases(random):
    rising = sorted(floats(random, 500, -100, 100))
    with_nan = floats(random, 300, -100, 100)
    for k in range(300):
        if k % 3 == 0 or k % 128 >= 120 or k >= 292:  # whichever block comes last, one comes late
            with_nan[k] = math.nan
    few_nan = floats(random, 100, -9, 9)
    few_nan[3::7] = [math.nan] * len(few_nan[3::7])
    many = drawn(random, 501, 900)
    inputs = {
        "1 float": floats(random, 1),
        "100 negative floats": floats(random, 100, -9, -1),
        "500 floats": floats(random, 500, -100, 100),
        "500 rising floats": rising,
        f"{many} floats": floats(random, many, -100, 100),
        "300 floats, some of them NaN": with_nan,
        # Whatever gets in here stays: nobody brings the 50 back.
        "100 floats, some of them NaN, none above the cell": few_nan,
        "129 equal floats": floats(random, 1) * 129,
        "1000 floats, none above the cell": floats(random, 990, -9, 9) + [50.0] * 10,
    }
    for name, x in inputs.items():
        start = 50.0 if "above" in name else -math.inf
        yield Case(name, {"n": len(x)}, [Array("x", x), Array("cell", [start], "in_out")])


def expected(case):
    x = [value for value in case["x"].values if not math.isnan(value)]
    return {"cell": [max([*x, case["cell"].values[0]])]}


def _asked(counts):
    return counts["atomics"]["global_executions"]


POINTS = [
    Right(3, "numbers", lambda case: "NaN" not in case.name),
    Right(2, "numbers and NaN", lambda case: "NaN" in case.name),
    Count(
        1,
        "who has nothing to add does not ask",
        "1000 floats, none above the cell",
        lambda counts, case: _asked(counts) == 0,
        lambda counts: f"{_asked(counts)} lanes asked, though none had more than the cell",
        threads=lambda case: {"loads": case.sizes["n"] // 4},
        busy=0.3,
    ),
]

_TRY = "atomicCAS(bits, seen, __float_as_uint({}))"

RIGHTS = {
    "returns": {
        1: "while (true) {\n  if (!(value > __uint_as_float(seen))) return;\n"
        "  const unsigned found = atomicCAS(bits, seen, __float_as_uint(value));\n"
        "  if (found == seen) return;\n  seen = found;\n}"
    },
    "do": {
        1: "if (!(value > __uint_as_float(seen))) return;\nunsigned assumed;\ndo {\n"
        "  assumed = seen;\n  seen = atomicCAS(bits, assumed, __float_as_uint(value));\n"
        "} while (seen != assumed && value > __uint_as_float(seen));"
    },
    "for": {
        1: "for (unsigned found; value > __uint_as_float(seen); seen = found) {\n"
        "  found = atomicCAS(bits, seen, __float_as_uint(value));\n  if (found == seen) break;\n}"
    },
    "by the order of the bits": {
        1: "if (!(value > __uint_as_float(seen))) return;\nif (value >= 0) {\n"
        "  atomicMax(reinterpret_cast<int*>(cell), __float_as_int(value));\n} else {\n"
        "  atomicMin(bits, __float_as_uint(value));\n}"
    },
}

MUTANTS = {
    "two tries": {
        1: "for (int k = 0; k < 2 && value > __uint_as_float(seen); ++k) {\n"
        "  const unsigned found = " + _TRY.format("value")
        + ";\n  if (found == seen) break;\n  seen = found;\n}"
    },
    "eight tries": {
        1: "for (int k = 0; k < 8 && value > __uint_as_float(seen); ++k) {\n"
        "  const unsigned found = " + _TRY.format("value")
        + ";\n  if (found == seen) break;\n  seen = found;\n}"
    },
    "one try": {1: "if (value > __uint_as_float(seen)) " + _TRY.format("value") + ";"},
    "bits are compared as if they were the numbers": {
        1: "while (__float_as_uint(value) > seen) {\n  const unsigned found = "
        + _TRY.format("value")
        + ";\n  if (found == seen) break;\n  seen = found;\n}"
    },
    "a plain store": {1: "if (value > __uint_as_float(seen)) *cell = value;"},
    "a NaN gets in": {
        1: "while (!(value <= __uint_as_float(seen))) {\n  const unsigned found = "
        + _TRY.format("value")
        + ";\n  if (found == seen) break;\n  seen = found;\n}"
    },
    "before: one thread for all numbers": {
        0: [("  if (i < n) atomic_max(cell, x[i]);",
             "  for (int j = 0; i == 0 && j < n; ++j) atomic_max(cell, x[j]);")]
    },
    "before: always asks": {
        1: "while (true) {\n  const float larger = fmaxf(value, __uint_as_float(seen));\n"
        "  const unsigned found = "
        + _TRY.format("larger")
        + ";\n  if (found == seen) break;\n  seen = found;\n}"
    },
    "before: asks when it is equal": {
        1: "while (value >= __uint_as_float(seen)) {\n  const unsigned found = "
        + _TRY.format("value")
        + ";\n  if (found == seen) break;\n  seen = found;\n}"
    },
}
