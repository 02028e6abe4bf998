"""Exercise 02/repair."""

from exercise.api import Array, Case, Count, Right, drawn, floats

TITLE = "Repair: a barrier, a vote and a count"
KIND = "repair"
MINUTES = 15
CALL = "reverse(float* x, float* y, int* negatives, int n)"

BLOCK, TINY = 64, 2.0**-100
REFUSED = {"__activemask": "guesses who comes along; all lanes of the warp must vote"}


def cases(random):
    blocks = [BLOCK * drawn(random, 5, 9) for _ in range(3)]
    drew = (blocks[0], blocks[1] + 32, blocks[2] + drawn(random, 1, 31))
    for n in (64, 256, 32, 96, 1, 31, 33, 70, 1021, *drew):
        x = floats(random, n)
        if n >= 64:  # a warp of negative ones, and zeros, which are none
            x[:36] = [*floats(random, 32, -1, -0.125), 0.0, -0.0, -TINY, TINY]
        yield Case(
            f"n = {n}",
            {"n": n},
            [
                Array("x", x),
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


def _in_shared(counts, op):
    return counts["shared"][f"{op}_executions"]


POINTS = [
    Right(2, "full blocks", lambda case: case.sizes["n"] % BLOCK == 0),
    Right(2, "a last block with one warp", lambda case: case.sizes["n"] % BLOCK == 32),
    Right(1, "a warp that is not full", lambda case: case.sizes["n"] % 32),
    Count(
        1,
        "the elements pass through shared memory",
        lambda case: case.sizes["n"] >= 256 and case.sizes["n"] % BLOCK == 0,
        # Four elements at a time are right, too.
        lambda counts, case: min(_in_shared(counts, "load"), _in_shared(counts, "store"))
        >= case.sizes["n"] // 4,
        lambda counts: f"{_in_shared(counts, 'store')} stores to shared memory, "
        f"{_in_shared(counts, 'load')} loads",
        task=1,
        busy=0.45,
    ),
]

RIGHTS = {
    "a variable for each element": {
        1: "const float mine = t < length ? x[begin + t] : 0.0f;\npart[t] = mine;\n"
        "__syncthreads();\nif (t < length) y[begin + t] = part[length - 1 - t];",
        2: "const unsigned votes = __ballot_sync(~0u, mine < 0);",
    },
    "written backwards, by pointers": {
        1: "float value = 0;\nif (t < length) {\n  value = *(x + begin + t);\n"
        "  part[length - 1 - t] = value;\n}\n__syncthreads();\n"
        "if (t < length) *(y + begin + t) = part[t];",
        2: "const bool negative = value < 0;\n"
        "const unsigned votes = __ballot_sync(0xFFFFFFFFu, negative);",
        3: "int* const to = negatives + 2 * blockIdx.x + t / 32;\n"
        "if (lane == 31 && t - 31 < length) *to = __popc(votes);",
    },
    "bit by bit": {
        3: "if ((t & 31) == 0 && begin + t < n) {\n  int count = 0;\n"
        "  for (unsigned left = votes; left != 0; left &= left - 1) ++count;\n"
        "  negatives[(blockIdx.x * blockDim.x + t) >> 5] = count;\n}"
    },
}

MUTANTS = {
    "before: without shared memory": {
        1: "if (t < length) y[begin + length - 1 - t] = x[begin + t];",
        2: "const unsigned votes = __ballot_sync(~0u, t < length && x[begin + t] < 0);",
    },
    "the bit of the sign": {
        2: "const unsigned votes =\n"
        "    __ballot_sync(~0u, t < length && __float_as_uint(part[t]) >> 31);"
    },
    "five bits for the count": {
        3: "if (lane == 0 && t < length) negatives[(begin + t) / 32] = __popc(votes) % 32;"
    },
    "the last lane of a warp writes": {
        3: "if (lane == 31 && t < length) negatives[(begin + t) / 32] = __popc(votes);"
    },
    "one count a block": {3: "if (t == 0) negatives[blockIdx.x] = __popc(votes);"},
    "no barrier": {
        1: "if (t < length) part[t] = x[begin + t];\n"
        "if (t < length) y[begin + t] = part[length - 1 - t];"
    },
    "the barrier stays in the branch": {
        1: "if (t < length) {\n  part[t] = x[begin + t];\n  __syncthreads();\n"
        "  y[begin + t] = part[length - 1 - t];\n}"
    },
    "lanes past the end vote with what they find": {
        2: "const unsigned votes = __ballot_sync(0xFFFFFFFF, part[t] < 0);"
    },
    "the last warp always writes": {
        3: "if (lane == 0) negatives[(begin + t) / 32] = __popc(votes);"
    },
}
