"""Exercise 03/swizzle."""

from exercise.api import Array, Case, Count, Right, drawn, floats

TITLE = "Swizzle instead of padding"
KIND = "step"
MINUTES = 10


PLACES = ("places_in_row", "banks_of_column")


def cases(random):
    drew = (drawn(random, 32, 128, 32, (96,)), drawn(random, 32, 128, 32))
    odd = (drawn(random, 2, 63, besides=(32,)), drawn(random, 66, 95))
    for rows, cols in ((96, 64), (1, 1), (33, 65), drew, odd):
        yield Case(
            f"{rows} x {cols}",
            {"rows": rows, "cols": cols},
            [
                Array("a", floats(random, rows * cols), shape=(rows, cols)),
                Array("b", role="output", count=rows * cols, shape=(cols, rows)),
            ],
        )


    counts = [Array(name, role="output", count=32, type="int") for name in PLACES]
    yield Case("32 x 32 places", {"rows": 0, "cols": 0}, counts)


def expected(case):
    if case.sizes["rows"] == 0:
        return {name: [32] * 32 for name in PLACES}
    a, rows, cols = case["a"].values, case.sizes["rows"], case.sizes["cols"]
    return {"b": [a[r * cols + c] for c in range(cols) for r in range(rows)]}


def _rounds(counts, op):
    return counts["shared"][f"{op}_wavefronts"] / max(1, counts["shared"][f"{op}_requests"])


POINTS = [
    Right(2, "every element has a place of its own", lambda case: case.sizes["rows"]),
    Right(1, "rows have 32 places, columns 32 banks", lambda case: case.sizes["rows"] == 0),
    Count(
        2,
        "one round an access to shared memory",
        lambda case: case.sizes["rows"] and case.sizes["rows"] % 32 == case.sizes["cols"] % 32 == 0,
        lambda counts, case: _rounds(counts, "load") == 1 and _rounds(counts, "store") == 1
        and counts["shared"]["load_wavefronts"] <= case.sizes["rows"] * case.sizes["cols"] // 32,
        lambda counts: f"{_rounds(counts, 'load'):.0f} rounds a load, "
        f"{_rounds(counts, 'store'):.0f} a store; {counts['shared']['load_requests']} loads and "
        f"{counts['shared']['store_requests']} stores by warps",
        blocks=lambda case: case.sizes["rows"] * case.sizes["cols"] // 3072,
        busy=0.51,
    ),
]

RIGHTS = {
    "a function that is not inlined": {
        0: [("// The column of the tile",
             "template <int kStep>\n__device__ __noinline__ int skewed(int row, int col) {\n"
             "  return (kStep * row + 5 * col) % 32;\n}\n// The column of the tile")],
        1: "return skewed<7>(row, col);",
    },
    "a sum modulo 32": {1: "return (row + col) % kTile;"},
    "three places a row": {1: "return (col + 3 * row) & 31;"},
    "a difference, by an if": {
        1: "int at = col - row;\nif (at < 0) at += kTile;\nreturn at;"
    },
    "the bits that differ": {1: "return (col | row) - (col & row);"},
}

MUTANTS = {
    "the edge below is forgotten": {
        0: [("if (col + y < cols && row + x < rows) b", "if (row + x < rows) b")]
    },
    "some elements share a place": {1: "return col & row;"},
    "the sum runs out of the row": {1: "return col + row;"},
    "all of a row in one place": {1: "return row;"},
    "in order": {1: "return col;"},
    "in order, with a column more": {
        0: [("tile[kTile][kTile];", "tile[kTile][kTile + 1];")],
        1: "return col;",
    },
    "before: place is right, and not asked for": {
        0: [("tile[y][place(y, x)]", "tile[y][x]"), ("tile[x][place(x, y)]", "tile[x][y]")]
    },
    "before: a column, one lane after the other": {
        0: [("tile[y][place(y, x)]", "tile[y][x]"),
            ("if (col + y < cols && row + x < rows) b",
             "for (int l = 0; l < 32; ++l) if (l == x && col + y < cols && row + x < rows) b"),
            ("tile[x][place(x, y)]", "tile[x][y]")]
    },
    "only eight orders": {1: "return col ^ row % 8;"},
}
