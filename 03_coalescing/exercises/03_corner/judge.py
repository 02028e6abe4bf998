"""Exercise 03/corner."""

from exercise.api import Array, Case, Count, Right, drawn, floats

TITLE = "Turn the corner in shared memory"
KIND = "step"
MINUTES = 20
CALL = "transpose(float* a, float* b, int rows, int cols)"


def cases(random):
    drew = (drawn(random, 64, 160, 32, (96,)), drawn(random, 32, 128, 32))
    odd = (drawn(random, 2, 63, besides=(32,)), drawn(random, 71, 95))
    fixed = ((32, 32), (96, 64), (1, 1), (1, 50), (50, 1), (31, 33), (40, 70))
    for rows, cols in (*fixed, drew, odd):
        yield Case(
            f"{rows} x {cols}",
            {"rows": rows, "cols": cols},
            [
                Array("a", floats(random, rows * cols), shape=(rows, cols)),
                Array("b", role="output", count=rows * cols, shape=(cols, rows)),
            ],
        )


def expected(case):
    a, rows, cols = case["a"].values, case.sizes["rows"], case.sizes["cols"]
    return {"b": [a[r * cols + c] for c in range(cols) for r in range(rows)]}


def _sectors(counts, op):
    return counts["global"][f"{op}_sectors"] / max(1, counts["global"][f"{op}_requests"])


def _whole(case):
    return case.sizes["rows"] % 32 == 0 and case.sizes["cols"] % 32 == 0


POINTS = [
    Right(2, "whole tiles", _whole),
    Right(2, "tiles that stick out over an edge", lambda case: not _whole(case)),
    Count(
        1,
        "loads of 4 sectors, each element once",
        _whole,
        lambda counts, case: _sectors(counts, "load") == 4
        and counts["global"]["load_bytes"] <= 4 * len(case["a"]),
        lambda counts: f"{_sectors(counts, 'load'):.1f} sectors a load, "
        f"{counts['global']['load_bytes'] // 4} elements",
    ),
    Count(
        2,
        "stores of 4 sectors, each element once",
        _whole,
        lambda counts, case: _sectors(counts, "store") == 4
        and counts["global"]["store_bytes"] <= 4 * len(case["a"]),
        lambda counts: f"{_sectors(counts, 'store'):.1f} sectors a store, "
        f"{counts['global']['store_bytes'] // 4} elements",
        blocks=lambda case: case.sizes["rows"] * case.sizes["cols"] // 3072,
        busy=0.6,
    ),
]

_LOAD_DOWN = """
for (int y = threadIdx.y; y < kTile; y += kRows) {
  const int r = row + threadIdx.x, c = col + y;
  if (r < rows && c < cols) tile[threadIdx.x][y] = a[r * cols + c];
}"""
_STORE_DOWN = """
for (int y = threadIdx.y; y < kTile; y += kRows) {
  const int r = row + y, c = col + threadIdx.x;
  if (r < rows && c < cols) b[c * rows + r] = tile[y][threadIdx.x];
}"""

RIGHTS = {
    "pointers, a loop that ends at the edge": {
        1: "const int x = threadIdx.x;\n"
        "const float* from = a + (row + threadIdx.y) * cols + col + x;\n"
        "for (int y = threadIdx.y; y < kTile && row + y < rows; y += kRows) {\n"
        "  if (col + x < cols) tile[y][x] = *from;\n  from += kRows * cols;\n}"
    },
    "turned on the way in": {
        1: "#pragma unroll\nfor (int k = 0; k < kTile / kRows; ++k) {\n"
        "  const int y = threadIdx.y + k * kRows, r = row + y, c = col + threadIdx.x;\n"
        "  if (r < rows && c < cols) tile[threadIdx.x][y] = a[r * cols + c];\n}",
        3: "for (int y = threadIdx.y; y < kTile; y += kRows) {\n"
        "  const int r = col + y, c = row + threadIdx.x;\n"
        "  if (r < cols && c < rows) b[r * rows + c] = tile[y][threadIdx.x];\n}",
    },
    "leaves after the barrier, in a padded tile": {
        0: [("tile[kTile][kTile];", "tile[kTile][kTile + 1];")],
        3: "const int c = row + threadIdx.x;\nif (c >= rows) return;\n"
        "for (int r = col + threadIdx.y; r < min(cols, col + kTile); r += kRows) {\n"
        "  float& to = b[r * rows + c];\n  to = tile[threadIdx.x][r - col];\n}",
    },
}

MUTANTS = {
    "past the edge on the right of b": {
        3: "for (int y = threadIdx.y; y < kTile; y += kRows) {\n"
        "  const int r = col + y, c = row + threadIdx.x;\n"
        "  if (r < cols) b[r * rows + c] = tile[threadIdx.x][y];\n}"
    },
    "no barrier": {2: ""},
    "only a warp waits": {2: "__syncwarp();"},
    "the tile is not transposed": {
        3: "for (int y = threadIdx.y; y < kTile; y += kRows) {\n"
        "  const int r = col + y, c = row + threadIdx.x;\n"
        "  if (r < cols && c < rows) b[r * rows + c] = tile[y][threadIdx.x];\n}"
    },
    "the edges of a and b are mixed up": {
        3: "for (int y = threadIdx.y; y < kTile; y += kRows) {\n"
        "  const int r = col + y, c = row + threadIdx.x;\n"
        "  if (r < rows && c < cols) b[r * rows + c] = tile[threadIdx.x][y];\n}"
    },
    "before: loads run down columns": {1: _LOAD_DOWN},
    "before: stores run down columns": {3: _STORE_DOWN},
    "before: each element is stored twice": {
        3: "for (int y = threadIdx.y; y < 2 * kTile; y += kRows) {\n"
        "  const int r = col + y % kTile, c = row + threadIdx.x;\n"
        "  if (r < cols && c < rows) b[r * rows + c] = tile[threadIdx.x][y % kTile];\n}"
    },
}
