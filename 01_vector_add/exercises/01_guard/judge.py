"""Exercise 01/guard."""

from exercise.api import Array, Case, Count, Right, float32, floats

TITLE = "Guard the last block"
KIND = "step"
MINUTES = 10

BLOCK = 256


def cases(random):
    for n in (BLOCK, 4 * BLOCK, 1, 2, 255, 257, 1000, 1021, 5 * BLOCK + 1):
        x, y = floats(random, n), floats(random, n)
        yield Case(f"n = {n}", {"n": n}, [Array("x", x), Array("y", y, "in_out")], tile=BLOCK)


def expected(case):
    return {"y": [float32(a + b) for a, b in zip(case["x"].values, case["y"].values)]}


POINTS = [
    Right(2, "sizes that fill every block", lambda case: case.sizes["n"] % BLOCK == 0),
    Right(3, "sizes that leave the last block half empty", lambda case: case.sizes["n"] % BLOCK),
    Count(
        1,
        "as many blocks as it takes, and no more",
        "n = 1024",
        lambda counts, case: counts["threads"] == 4 * BLOCK,
        lambda counts: f"{counts['threads']} threads were started, 1024 are enough",
    ),
]

MUTANTS = {
    "no guard": {1: "const int i = blockIdx.x * blockDim.x + threadIdx.x;\ny[i] = x[i] + y[i];"},
    "guard one too far": {
        1: "const int i = blockIdx.x * blockDim.x + threadIdx.x;\nif (i <= n) y[i] = x[i] + y[i];"
    },
    "guard one too near": {
        1: "const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "if (i < n - 1) y[i] = x[i] + y[i];"
    },
    "forgets the block": {1: "const int i = threadIdx.x;\nif (i < n) y[i] = x[i] + y[i];"},
    "rounds down": {2: "const int grid = n / block > 0 ? n / block : 1;"},
    "before: a block more than needed": {2: "const int grid = n / block + 1;"},
}
