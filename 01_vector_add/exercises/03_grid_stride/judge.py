"""Exercise 01/grid_stride."""

from exercise.api import Array, Case, Count, Right, float32, floats

TITLE = "One grid for any n"
KIND = "step"
MINUTES = 8

BLOCK = 128


def cases(random):
    for grid, n in ((2, 256), (3, 200), (1, 1), (1, 300), (2, 1021), (3, 385), (2, 4096)):
        x, y = floats(random, n), floats(random, n)
        yield Case(
            f"n = {n}, grid = {grid}",
            {"n": n, "grid": grid},
            [Array("x", x), Array("y", y, "in_out")],
        )


def expected(case):
    return {"y": [float32(a + b) for a, b in zip(case["x"].values, case["y"].values)]}


def _one_round(case):
    return case.sizes["n"] <= case.sizes["grid"] * BLOCK


def _sectors(counts):
    return counts["global"]["load_sectors"] / counts["global"]["load_requests"]


POINTS = [
    Right(2, "a thread for each element", _one_round),
    Right(3, "more elements than threads", lambda case: not _one_round(case)),
    Count(
        2,
        "neighbours take neighbours: 4 sectors a load",
        "n = 4096, grid = 2",
        lambda counts, case: _sectors(counts) == 4,
        lambda counts: f"{_sectors(counts):.1f} sectors a load",
    ),
]

_STRIDE = "const int stride = gridDim.x * blockDim.x;\n"
_FIRST = "const int first = blockIdx.x * blockDim.x + threadIdx.x;\n"

MUTANTS = {
    "no loop": {1: _FIRST + "if (first < n) y[first] += x[first];"},
    "the step is one block": {
        1: _FIRST + "for (int i = first; i < n; i += blockDim.x) y[i] += x[i];"
    },
    "every block begins at 0": {
        1: _STRIDE + "for (int i = threadIdx.x; i < n; i += stride) y[i] += x[i];"
    },
    "the last round is left out": {
        1: _STRIDE + _FIRST + "for (int i = first; i + stride < n; i += stride) y[i] += x[i];"
    },
    "before: a piece of the array for each thread": {
        1: _STRIDE + _FIRST + "const int length = (n + stride - 1) / stride;\n"
        "for (int i = first * length; i < n && i < (first + 1) * length; ++i) y[i] += x[i];"
    },
}
