"""Exercise 03/coalesced."""

from exercise.api import Array, Case, Count, Right, drawn, floats

TITLE = "Which element is whose"
KIND = "step"
MINUTES = 5
CALL = "copy(float* x, float* y, int n)"

TILE = 1024


def cases(random):
    fixed = (TILE, 5 * TILE, 1, 33, TILE - 1, TILE + 1, 2500)
    odd = drawn(random, 2, 4999, besides=(*fixed, *range(0, 4999, TILE)))
    for n in (*fixed, odd, drawn(random, 2 * TILE, 9 * TILE, TILE, fixed)):
        yield Case(
            f"n = {n}",
            {"n": n},
            [Array("x", floats(random, n)), Array("y", role="output", count=n)],
            tile=TILE,
        )


def expected(case):
    return {"y": case["x"].values}


def _sectors(counts, op):
    return counts["global"][f"{op}_sectors"] / max(1, counts["global"][f"{op}_requests"])


POINTS = [
    Right(1, "whole tiles", lambda case: case.sizes["n"] % TILE == 0),
    Right(1, "a last tile that is not full", lambda case: case.sizes["n"] % TILE),
    Count(
        2,
        "loads and stores of 4 sectors",
        lambda case: case.sizes["n"] % TILE == 0 and case.sizes["n"] > TILE,
        lambda counts, case: _sectors(counts, "load") == 4 and _sectors(counts, "store") == 4,
        lambda counts: f"{_sectors(counts, 'load'):.1f} sectors a load, "
        f"{_sectors(counts, 'store'):.1f} a store",
        blocks=lambda case: case.sizes["n"] // (2 * TILE),
        busy=0.51,
    ),
]

RIGHTS = {
    "a piece for each warp": {
        1: "const int i = tile + threadIdx.x / 32 * (32 * kItems) + k * 32 + threadIdx.x % 32;"
    },
    "bits": {1: "const unsigned t = threadIdx.x;\nconst int i = tile | k << 7 | t;"},
    "memcpy": {
        0: [("if (i < n) y[i] = x[i];", "if (i < n) memcpy(y + i, x + i, sizeof *y);")],
        1: "const int i = threadIdx.x + blockDim.x * (k + kItems * blockIdx.x);",
    },
    "pointers, and the loop ends early": {
        1: "const int i = threadIdx.x + tile + k * kBlock;\nif (i >= n) break;\n"
        "const float* from = x + i;\n*(y + i) = *from;\ncontinue;"
    },
}

MUTANTS = {
    "a warp that is not full does nothing": {0: [("if (i < n)", "if (i < n / 32 * 32)")]},
    "the block is forgotten": {1: "const int i = k * kBlock + threadIdx.x;"},
    "steps overlap": {1: "const int i = tile + k * kItems + threadIdx.x;"},
    "steps as long as the grid": {
        1: "const int i = tile + k * gridDim.x * kBlock + threadIdx.x;",
    },
    "before: a piece for each thread": {1: "const int i = tile + threadIdx.x * kItems + k;"},
    "before: two pieces for each thread": {
        1: "const int i = tile + k / 4 * (kTile / 2) + threadIdx.x * 4 + k % 4;"
    },
}
