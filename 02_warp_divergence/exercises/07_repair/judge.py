"""Exercise 02/repair."""

from exercise.api import Array, Case, Right, floats

TITLE = "Repair: a barrier, a vote and a count"
KIND = "repair"
MINUTES = 15
CALL = "reverse(float* x, float* y, int* negatives, int n)"

BLOCK = 64


def cases(random):
    for n in (64, 256, 32, 96, 1, 31, 33, 70, 1021):
        yield Case(
            f"n = {n}",
            {"n": n},
            [
                Array("x", floats(random, n)),
                Array("y", role="output", count=n),
                Array("negatives", role="output", type="int", count=-(-n // 32)),
            ],
        )


def expected(case):
    x, n = case["x"].values, case.sizes["n"]
    return {
        "y": [v for begin in range(0, n, BLOCK) for v in reversed(x[begin : begin + BLOCK])],
        "negatives": [sum(v < 0 for v in x[i : i + 32]) for i in range(0, n, 32)],
    }


POINTS = [
    Right(2, "full blocks", lambda case: case.sizes["n"] % BLOCK == 0),
    Right(2, "a last block with one warp", lambda case: case.sizes["n"] % BLOCK == 32),
    Right(2, "a warp that is not full", lambda case: case.sizes["n"] % 32),
]

MUTANTS = {
    "no barrier": {
        1: "if (t < length) part[t] = x[begin + t];\n"
        "if (t < length) y[begin + t] = part[length - 1 - t];"
    },
    "the barrier stays in the branch": {
        1: "if (t < length) {\n  part[t] = x[begin + t];\n  __syncthreads();\n"
        "  y[begin + t] = part[length - 1 - t];\n}"
    },
    "a mask of who happens to be here": {
        2: "unsigned votes = 0;\n"
        "if (t < length && part[t] < 0) votes = __ballot_sync(__activemask(), true);"
    },
    "lanes past the end vote with what they find": {
        2: "const unsigned votes = __ballot_sync(0xFFFFFFFF, part[t] < 0);"
    },
    "the last warp always writes": {
        3: "if (lane == 0) negatives[(begin + t) / 32] = __popc(votes);"
    },
}
