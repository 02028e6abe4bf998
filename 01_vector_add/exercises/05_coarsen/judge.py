"""Exercise 01/coarsen."""

from exercise.api import Array, Case, Count, Right, float32, floats

TITLE = "Four elements a thread"
KIND = "step"
MINUTES = 12

TILE = 512


def cases(random):
    for n in (TILE, 4 * TILE, 1, 127, 129, TILE - 1, TILE + 1, 1021, 3 * TILE + 300):
        x, y = floats(random, n), floats(random, n)
        yield Case(f"n = {n}", {"n": n}, [Array("x", x), Array("y", y, "in_out")], tile=TILE)


def expected(case):
    return {"y": [float32(a + b) for a, b in zip(case["x"].values, case["y"].values)]}


def _sectors(counts, op):
    return counts["global"][f"{op}_sectors"] / max(1, counts["global"][f"{op}_requests"])


POINTS = [
    Right(2, "whole tiles", lambda case: case.sizes["n"] % TILE == 0),
    Right(2, "a last tile that is not full", lambda case: case.sizes["n"] % TILE),
    Count(
        2,
        "loads and stores of 4 sectors",
        "n = 2048",
        lambda counts, case: _sectors(counts, "load") == 4 and _sectors(counts, "store") == 4,
        lambda counts: f"{_sectors(counts, 'load'):.1f} sectors a load, "
        f"{_sectors(counts, 'store'):.1f} a store",
    ),
]

_NEIGHBOURS = """
const int first = tile + kPieces * threadIdx.x;
for (int p = 0; p < kPieces; ++p) a[p] = x[first + p], b[p] = y[first + p];
for (int p = 0; p < kPieces; ++p) y[first + p] = a[p] + b[p];"""

MUTANTS = {
    "pieces overlap": {
        1: "const int first = tile + threadIdx.x;\n"
        "for (int p = 0; p < kPieces; ++p) a[p] = x[first + p], b[p] = y[first + p];\n"
        "for (int p = 0; p < kPieces; ++p) y[first + p] = a[p] + b[p];"
    },
    "only the first piece": {
        1: "a[0] = x[tile + threadIdx.x], b[0] = y[tile + threadIdx.x];\n"
        "y[tile + threadIdx.x] = a[0] + b[0];"
    },
    "one element a thread in the last tile": {
        2: "const int i = tile + threadIdx.x;\nif (i < n) y[i] = x[i] + y[i];"
    },
    "the last tile without a guard": {
        2: "for (int i = tile + threadIdx.x; i < tile + kTile; i += kBlock) y[i] = x[i] + y[i];"
    },
    "before: four neighbours a thread": {1: _NEIGHBOURS},
}
