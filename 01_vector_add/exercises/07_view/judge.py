"""Exercise 01/view."""

from exercise.api import Array, Case, Count, Right, drawn, floats, is_wide

TITLE = "A new problem: add to a part of a matrix"
KIND = "problem"
MINUTES = 20


def cases(random):
    drew = drawn(random, 1, 70), drawn(random, 1, 33)
    for rows, cols, pitch, row, col in (
        (16, 64, 64, 0, 0),
        (40, 64, 96, 3, 32),
        (1, 1, 5, 1, 4),
        (1, 100, 130, 0, 7),
        (70, 1, 3, 2, 1),
        (33, 35, 50, 4, 8),
        (*drew, drew[1] + drawn(random, 4, 9), 2, 4),
        (2, 1100, 1104, 0, 0),  # more columns than a block may have threads
        (8 * drawn(random, 6, 12), 64, 32 * drawn(random, 4, 9), 1, 32),
    ):
        large = (row + rows + 1) * pitch
        yield Case(
            f"{rows} x {cols} in rows of {pitch}",
            {"rows": rows, "cols": cols, "pitch": pitch, "row": row, "col": col},
            [
                Array("a", floats(random, 1)),
                Array("from", floats(random, rows * cols), shape=(rows, cols)),
                Array("to", floats(random, large), "in_out", shape=(large // pitch, pitch)),
            ],
        )


def _elements(case):
    """For each element of the view: its place in `to`, and in `from`."""
    size = case.sizes
    for r in range(size["rows"]):
        for c in range(size["cols"]):
            yield (size["row"] + r) * size["pitch"] + size["col"] + c, r * size["cols"] + c


def expected(case):
    to, a, source = list(case["to"].values), case["a"].values[0], case["from"].values
    for at, i in _elements(case):
        to[at] += a * source[i]
    return {"to": to}


def bound(case, name, i):
    """A product and a sum of numbers up to 1, each rounded once. Beside the view: nothing."""
    size = case.sizes
    row, col = i // size["pitch"] - size["row"], i % size["pitch"] - size["col"]
    return 3 * 2**-24 if 0 <= row < size["rows"] and 0 <= col < size["cols"] else 0.0


def _is_regular(case):
    """Whether its rows begin at multiples of 32 bytes."""
    return case.sizes["cols"] == 64 and case.sizes["col"] == 32


def _used(counts):
    """Of what loads moved. (A thread alone moves a whole sector for one element.)"""
    if is_wide(counts):
        return 1
    return counts["global"]["load_bytes_used"] / max(1, counts["global"]["load_bytes_moved"])


POINTS = [
    Right(2, "rows of 64 elements", lambda case: case.sizes["cols"] == 64),
    Right(3, "narrow, short and odd views", lambda case: case.sizes["cols"] != 64),
    Count(
        1,
        "one launch",
        _is_regular,
        lambda counts, case: counts["launches"] == 1,
        lambda counts: f"{counts['launches']} launches",
        blocks=lambda case: case.sizes["rows"] // 20,  # of 2560 elements or more
        busy=0.3,
    ),
    Count(
        2,
        "neighbours in a warp are neighbours in a row: all of a sector is used",
        _is_regular,
        lambda counts, case: _used(counts) == 1,
        lambda counts: f"{_used(counts):.0%} of what was loaded was used",
    ),
]

_INDEX = """
const int c = blockIdx.x * blockDim.x + threadIdx.x;
const int r = blockIdx.y * blockDim.y + threadIdx.y;
"""

RIGHTS = {
    "rounded by hand": {
        1: _INDEX + "if (r < rows & c < cols) {\n"
        "  to[r * pitch + c] = __fmaf_rn(a, from[r * cols + c], to[r * pitch + c]);\n}"
    },
    "blocks of 16 x 16 and pointers": {
        1: "const int c = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "const int r = blockIdx.y * blockDim.y + threadIdx.y;\n"
        "if (r >= rows || c >= cols) return;\n"
        "float* row = to + r * pitch;\nrow[c] = fmaf(a, from[r * cols + c], row[c]);",
        2: "dim3 block(64, 4), grid((cols + 63) / 64, (rows + 3) / 4);\n"
        "add_to_view_kernel<<<grid, block>>>(a, from, to, rows, cols, pitch);",
    },
    "a loop over rows": {
        1: "const int c = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "for (int r = blockIdx.y; r < rows; r += gridDim.y) {\n"
        "  if (c < cols) to[r * pitch + c] += a * from[r * cols + c];\n}",
        2: "add_to_view_kernel<<<dim3((cols + 31) / 32, 4), 32>>>(a, from, to, rows, cols, pitch);",
    },
    "a row for each block, its threads walk": {
        1: "for (int c = threadIdx.x; c < cols; c += blockDim.x) {\n"
        "  to[blockIdx.y * pitch + c] += a * from[blockIdx.y * cols + c];\n}",
        2: "add_to_view_kernel<<<dim3(1, rows), 128>>>(a, from, to, rows, cols, pitch);",
    },
}

MUTANTS = {
    "before: one warp for all": {
        1: "for (int r = 0; r < rows; ++r) {\n  for (int c = threadIdx.x; c < cols; c += 32) {\n"
        "    to[r * pitch + c] += a * from[r * cols + c];\n  }\n}",
        2: "add_to_view_kernel<<<1, 32>>>(a, from, to, rows, cols, pitch);",
    },
    "added in 16 pieces": {
        1: _INDEX + "if (r >= rows || c >= cols) return;\nfloat sum = to[r * pitch + c];\n"
        "for (int k = 0; k < 16; ++k) sum += a / 16 * from[r * cols + c];\n"
        "to[r * pitch + c] = sum;"
    },
    "the pitch is forgotten": {
        1: _INDEX + "if (r < rows && c < cols) to[r * cols + c] += a * from[r * cols + c];"
    },
    "the guard looks at the pitch": {
        1: _INDEX + "if (r < rows && c < pitch) to[r * pitch + c] += a * from[r * cols + c];"
    },
    "a block for each row, a thread for each column": {
        1: "const int r = blockIdx.x, c = threadIdx.x;\n"
        "if (r < rows && c < cols) to[r * pitch + c] += a * from[r * cols + c];",
        2: "add_to_view_kernel<<<rows, cols>>>(a, from, to, rows, cols, pitch);",
    },
    "block and grid have changed places": {
        2: "add_to_view_kernel<<<dim3(32, 8), dim3((cols + 31) / 32, (rows + 7) / 8)>>>(\n"
        "    a, from, to, rows, cols, pitch);"
    },
    "only whole blocks": {
        2: "add_to_view_kernel<<<dim3(cols / 32 + (cols < 32), rows / 8 + (rows < 8)), "
        "dim3(32, 8)>>>(a, from, to, rows, cols, pitch);"
    },
    "before: x runs down a column": {
        1: "const int r = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "for (int c = blockIdx.y * blockDim.y + threadIdx.y; c < cols && r < rows; "
        "c += gridDim.y * blockDim.y) {\n  to[r * pitch + c] += a * from[r * cols + c];\n}",
        2: "add_to_view_kernel<<<dim3((rows + 31) / 32, (cols + 7) / 8), dim3(32, 8)>>>(\n"
        "    a, from, to, rows, cols, pitch);",
    },
    "before: a launch for each row": {
        2: "for (int r = 0; r < rows; ++r) {\n"
        "  add_to_view_kernel<<<(cols + 31) / 32, 32>>>(\n"
        "      a, from + r * cols, to + r * pitch, 1, cols, pitch);\n}"
    },
}
