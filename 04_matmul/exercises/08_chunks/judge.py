"""Exercise 04/chunks."""

from exercise.api import Array, Case, Count, Right, drawn, eighths, product

TITLE = "Rows for ldmatrix, in a swizzled tile"
KIND = "step"
MINUTES = 12

def _case(name, k, a, b):
    arrays = [Array("a", a, shape=(16, k)), Array("b", b, shape=(k, 8))]
    arrays += [Array("c", role="output", count=128, shape=(16, 8))]
    return Case(name, {"k": k}, arrays)


def cases(random):
    # One 8 x 8 matrix of A alone: where its products arrive says where it went.
    for name, top, left in (("top right", 0, 8), ("bottom left", 8, 0)):
        a = [0.0] * (16 * 64)
        for row in range(top, top + 8):
            a[row * 64 + left : row * 64 + left + 8] = eighths(random, 8)
        b = eighths(random, 64 * 8)
        yield _case(f"k = 64, and A is 0 but for its {name} 8 x 8", 64, a, b)
    for k in (64, 128, 320, 64 * drawn(random, 3, 4)):
        yield _case(f"k = {k}", k, eighths(random, 16 * k), eighths(random, k * 8))
    chunks = Array("chunks_in_row", role="output", count=16, type="int")
    yield Case("16 rows of places", {"k": 0}, [chunks])


def expected(case):
    if case.sizes["k"] == 0:
        return {"chunks_in_row": [8] * 16}
    return {"c": product(case["a"].values, case["b"].values, 16, 8, case.sizes["k"])}


def _wavefronts(counts, op):
    return counts["shared"][f"{op}_wavefronts"] / max(1, counts["shared"][f"{op}_requests"])


POINTS = [
    Right(2, "one tile", lambda case: case.sizes["k"] == 64),
    Right(1, "more than one", lambda case: case.sizes["k"] > 64),
    Right(1, "each row keeps its 8 chunks", lambda case: case.sizes["k"] == 0, task=1),
    Count(
        2,
        "four wavefronts for four matrices, and for 32 chunks",
        lambda case: case.sizes["k"] > 64,
        lambda counts, case: _wavefronts(counts, "load") <= 4
        and _wavefronts(counts, "store") <= 4,
        lambda counts: f"{_wavefronts(counts, 'load'):.0f} wavefronts a load, "
        f"{_wavefronts(counts, 'store'):.0f} a store",
        busy=0.3,
    ),
]

RIGHTS = {
    "chunks are counted": {
        1: "const int chunk = (col >> 3) ^ (row & 7);\nreturn 8 * (8 * row + chunk);"
    },
    "rows are turned round": {1: "return row * kTileK + (col / 8 + row) % 8 * 8;"},
    "bits of the lane": {
        2: "int row = lane & 7, col = q;\nif (lane & 8) row += 8;\nif (lane & 16) col += 8;"
    },
}

MUTANTS = {
    "always the first tile of B": {
        0: [("b + (p + q + two + i * 8) * 8 + g", "b + (q + two + i * 8) * 8 + g")]
    },
    "rows are padded": {
        0: [("tile[16 * kTileK]", "tile[16 * (kTileK + 8)]")],
        1: "return row * (kTileK + 8) + col;",
    },
    "chunks share a place": {1: "return row * kTileK + (col / 8 & row % 8) * 8;"},
    "runs into the next row": {1: "return row * kTileK + (col / 8 ^ row) * 8;"},
    "right matrices before the lower ones": {
        2: "const int row = lane / 16 * 8 + lane % 8, col = q + lane / 8 % 2 * 8;"
    },
    "rows of the left half alone": {2: "const int row = lane % 16, col = q;"},
    "before: chunks in order": {1: "return row * kTileK + col;"},
}
