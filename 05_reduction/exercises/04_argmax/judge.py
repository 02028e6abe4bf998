"""Exercise 05/argmax."""

import math

from exercise.api import Array, Case, Right, drawn, floats

TITLE = "The same tree, another operator"
KIND = "step"
MINUTES = 10
CALL = "argmax(float* x, int n, float* value, int* index)"


def cases(random):
    late = floats(random, 300)
    late.append(1000.0)  # no thread finds it first
    many, few = drawn(random, 302, 1000), drawn(random, 257, 900)
    inputs = {
        "301 different floats": late,
        "1 float": floats(random, 1),
        "33 negative floats": floats(random, 33, -9, -1),
        "1000 floats of five values": [float(random.randrange(-2, 3)) for _ in range(1000)],
        f"{many} different floats": floats(random, many, -9, 9),
        f"{few} floats of three values": [float(random.randrange(-3, 0)) for _ in range(few)],
        "600 equal floats": [-0.5] * 600,
        "1 float, -infinity": [-math.inf],
        "40 floats, all of them -infinity": [-math.inf] * 40,
        "300 floats, all of them -infinity": [-math.inf] * 300,  # a thread has more than one
        "-0 before 0": [-1.0, -0.0, 0.0],
        "neighbours of 0.5": [0.5 - 2.0**-25 * random.randrange(1, 9) for _ in range(300)] + [0.5],
    }
    for name, x in inputs.items():
        outputs = [Array("value", role="output", count=1)]
        outputs += [Array("index", role="output", count=1, type="int")]
        yield Case(name, {"n": len(x)}, [Array("x", x), *outputs])


def expected(case):
    x = case["x"].values
    return {"value": [max(x)], "index": [x.index(max(x))]}


def _ties(case):
    return len(set(case["x"].values)) < case.sizes["n"] and "neighbours" not in case.name


def _infinite(case):
    return "infinity" in case.name


POINTS = [
    Right(2, "different elements", lambda case: not _ties(case) and not _infinite(case)),
    Right(2, "equal elements", lambda case: _ties(case) and not _infinite(case), task=2),
    Right(2, "no element but -infinity", _infinite, task=1),
]

RIGHTS = {
    "no index": {
        1: "return {-INFINITY, -1};",
        2: "const bool same = a.value == b.value;\n"
        "const bool earlier = unsigned(b.index) < unsigned(a.index);\n"
        "return b.value > a.value || (same && earlier) ? b : a;",
    },
    "member by member": {
        1: "Best worst;\nworst.value = -INFINITY;\nworst.index = 2147483647;\nreturn worst;"
    },
    "two questions": {
        2: "if (a.value != b.value) return a.value > b.value ? a : b;\n"
        "return a.index < b.index ? a : b;"
    },
    "a new pair": {
        1: "return Best{-HUGE_VALF, INT_MAX};",
        2: "if (b.value < a.value) return a;\nif (b.value > a.value) return b;\n"
        "return {a.value, min(a.index, b.index)};",
    },
}

MUTANTS = {
    "only the first 256 elements": {0: [("i < n; i += kBlock", "i < min(n, kBlock); i += kBlock")]},
    "the neutral element is 0": {1: "return {0, INT_MAX};"},
    "the neutral element wins against -infinity": {1: "return {-INFINITY, -1};"},
    "the neutral element is the smallest that is finite": {
        1: "return {-3.402823466e38f, INT_MAX};"
    },
    "no rule for equal elements": {2: "return b.value > a.value ? b : a;"},
    "the last of equal elements wins": {
        2: "const bool b_wins = b.value > a.value || (b.value == a.value && b.index > a.index);\n"
        "return b_wins ? b : a;"
    },
    "the index decides, whatever the values": {
        2: "return b.value >= a.value && b.index < a.index ? b : a;"
    },
    "a difference that is not a number": {
        2: "const float ahead = a.value - b.value;\n"
        "if (ahead == 0) return a.index < b.index ? a : b;\nreturn ahead > 0 ? a : b;"
    },
    "the bits of the values decide, and -0 is less than 0": {
        2: "const auto key = [](float v) {\n"
        "  const int bits = __float_as_int(v);\n  return bits < 0 ? bits ^ INT_MAX : bits;\n};\n"
        "const int of_a = key(a.value), of_b = key(b.value);\n"
        "return of_a > of_b || (of_a == of_b && a.index < b.index) ? a : b;"
    },
    "nearly equal is equal": {
        2: "if (fabsf(a.value - b.value) > 1e-6f) return a.value > b.value ? a : b;\n"
        "return a.index < b.index ? a : b;"
    },
}
