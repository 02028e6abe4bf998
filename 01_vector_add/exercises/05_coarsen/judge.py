"""Exercise 01/coarsen."""

from exercise.api import Array, Case, Count, Right, drawn, float32, floats

TITLE = "Four elements per thread"
KIND = "step"
MINUTES = 12

TILE, PIECE = 512, 128


def cases(random):
    # Who loads a piece only after he has stored the one before meets, where x begins one piece
    # before y, what he stored himself.
    both = Array("x_and_y", floats(random, TILE + PIECE), "in_out")
    yield Case("x begins 512 bytes before y", {"n": TILE, "shift": PIECE}, [both])
    yield Case(
        "x begins 128 bytes behind y",  # where each warp adds to the x of the warp before
        {"n": TILE, "shift": -32},
        [Array("x_and_y", floats(random, TILE + 32), "in_out")],
        meets="elements of different warps were added by one thread: all warps are to work",
    )
    yield Case(
        "n = 300, x begins 128 bytes behind y",
        {"n": 300, "shift": -32},
        [Array("x_and_y", floats(random, 300 + 32), "in_out")],
        meets="elements of different warps were added by one thread: all warps are to work",
    )
    yield Case(
        "n = 32, x begins 4 bytes behind y",
        {"n": 32, "shift": -1},
        [Array("x_and_y", floats(random, 33), "in_out")],
        meets="elements of different lanes were added by one thread: all lanes are to work",
    )
    fixed = (TILE, 4 * TILE, 1, 127, 129, TILE - 1, TILE + 1, 1021, 3 * TILE + 300)
    whole = drawn(random, 2 * TILE, 16 * TILE, TILE, fixed)
    for n in (*fixed, whole, drawn(random, TILE, 9999, 1, fixed)):
        x, y = floats(random, n), floats(random, n)
        arrays = [Array("x", x), Array("y", y, "in_out")]
        yield Case(f"n = {n}", {"n": n, "shift": 0}, arrays, tile=TILE)


def expected(case):
    if case.sizes["shift"]:
        x = case["x_and_y"].values
        return {"x_and_y": x[:PIECE] + [float32(a + b) for a, b in zip(x, x[PIECE:])]}
    return {"y": [float32(a + b) for a, b in zip(case["x"].values, case["y"].values)]}


def _sectors(counts, op):
    return counts["global"][f"{op}_sectors"] / max(1, counts["global"][f"{op}_requests"])


POINTS = [
    Right(1, "whole tiles", lambda case: case.sizes["n"] % TILE == 0 and case.sizes["shift"] <= 0),
    Right(2, "a last tile that is not full", lambda case: case.sizes["n"] % TILE, task=2),
    Right(1, "all loads come before the stores", lambda case: case.sizes["shift"] > 0, task=1),
    Count(
        2,
        "loads and stores of 4 sectors",
        lambda case: case.sizes["n"] % (2 * TILE) == 0,
        lambda counts, case: _sectors(counts, "load") == 4 and _sectors(counts, "store") == 4,
        lambda counts: f"{_sectors(counts, 'load'):.1f} sectors a load, "
        f"{_sectors(counts, 'store'):.1f} a store",
        blocks=lambda case: case.sizes["n"] // (2 * TILE),
        busy=0.7,
    ),
]

_NEIGHBOURS = """
const int first = tile + kPieces * threadIdx.x;
for (int p = 0; p < kPieces; ++p) a[p] = x[first + p], b[p] = y[first + p];
for (int p = 0; p < kPieces; ++p) y[first + p] = a[p] + b[p];"""

RIGHTS = {
    "pointers": {
        1: "const float* from = x + tile + threadIdx.x;\nfloat* to = y + tile + threadIdx.x;\n"
        "for (int p = 0; p < kPieces; ++p) a[p] = from[p * kBlock];\n"
        "for (int p = 0; p < kPieces; ++p) b[p] = to[p * kBlock];\n"
        "for (int p = 0; p < kPieces; ++p) to[p * kBlock] = a[p] + b[p];"
    },
    "sums first": {
        1: "int p = 0;\nfor (int i = tile + threadIdx.x; i < tile + kTile; i += kBlock, ++p) {\n"
        "  a[p] = x[i] + (b[p] = y[i]);\n}\n"
        "for (p = 0; p < kPieces; ++p) y[tile + threadIdx.x + p * kBlock] = a[p];"
    },
    "a guard for each piece": {
        2: "for (int p = 0; p < kPieces; ++p) {\n"
        "  const int i = tile + p * kBlock + threadIdx.x;\n  if (i < n) y[i] += x[i];\n}"
    },
}

MUTANTS = {
    "one warp of four works": {
        1: "if (threadIdx.x >= 32) return;\nfloat sums[16];\n"
        "for (int p = 0; p < 16; ++p) {\n  const int i = tile + 32 * p + threadIdx.x;\n"
        "  sums[p] = x[i] + y[i];\n}\n"
        "for (int p = 0; p < 16; ++p) y[tile + 32 * p + threadIdx.x] = sums[p];"
    },
    "one lane of each warp for the last tile": {
        2: "for (int i = tile + threadIdx.x; threadIdx.x % 32 == 0 && i < n; i += kBlock) {\n"
        "  for (int l = i; l < min(n, i + 32); ++l) y[l] += x[l];\n}"
    },
    "one thread for the last tile": {
        2: "if (threadIdx.x == 0) {\n  for (int i = tile; i < n; ++i) y[i] += x[i];\n}"
    },
    "before: two warps of four work": {
        1: "if (threadIdx.x >= 64) return;\nfloat sums[8];\n"
        "for (int p = 0; p < 8; ++p) {\n  const int i = tile + 64 * p + threadIdx.x;\n"
        "  sums[p] = x[i] + y[i];\n}\n"
        "for (int p = 0; p < 8; ++p) y[tile + 64 * p + threadIdx.x] = sums[p];"
    },
    "pieces overlap": {
        1: "const int first = tile + threadIdx.x;\n"
        "for (int p = 0; p < kPieces; ++p) a[p] = x[first + p], b[p] = y[first + p];\n"
        "for (int p = 0; p < kPieces; ++p) y[first + p] = a[p] + b[p];"
    },
    "loads and stores take turns": {
        1: "for (int i = tile + threadIdx.x; i < tile + kTile; i += kBlock) y[i] = x[i] + y[i];"
    },
    "one piece too few": {
        1: "for (int p = 0; p < 3; ++p) {\n  const int i = tile + p * kBlock + threadIdx.x;\n"
        "  a[p] = x[i], b[p] = y[i];\n}\n"
        "for (int p = 0; p < 3; ++p) y[tile + p * kBlock + threadIdx.x] = a[p] + b[p];"
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
    "four neighbours a thread": {1: _NEIGHBOURS},
    "before: the lanes of a warp take every fourth element": {
        1: "const int first = tile + threadIdx.x % 32 * 4 + threadIdx.x / 32;\n"
        "for (int p = 0; p < kPieces; ++p) {\n"
        "  a[p] = x[first + p * kBlock], b[p] = y[first + p * kBlock];\n}\n"
        "for (int p = 0; p < kPieces; ++p) y[first + p * kBlock] = a[p] + b[p];"
    },
}
