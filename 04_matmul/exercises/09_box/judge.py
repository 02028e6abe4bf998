"""Exercise 04/box."""

from exercise.api import Array, Case, Count, Right, drawn, floats

TITLE = "A box from TMA"
KIND = "step"
MINUTES = 12
CALL = "transpose(float* a, float* b, int rows, int cols)"


def cases(random):
    fixed = ((16, 32), (32, 96), (1, 4), (40, 64), (17, 36), (70, 20))
    whole = (16 * drawn(random, 3, 4), 32 * drawn(random, 1, 2))
    odd = (16 * drawn(random, 1, 4) + drawn(random, 2, 15), 4 * drawn(random, 9, 15))
    for rows, cols in (*fixed, whole, odd):
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


def _whole(case):
    return case.sizes["rows"] % 16 == 0 and case.sizes["cols"] % 32 == 0


POINTS = [
    Right(1, "whole tiles", _whole),
    Right(2, "tiles that stick out over an edge", lambda case: not _whole(case)),
    Count(
        1,
        "TMA brings all of it, and no thread loads any",
        _whole,
        lambda counts, case: counts["beside"]["tma_load_bytes"] == 4 * len(case["a"])
        and counts["global"]["load_requests"] == 0,
        lambda counts: f"TMA brought {counts['beside']['tma_load_bytes']} bytes, and the warps "
        f"loaded {counts['global']['load_requests']} times",
    ),
]

_COPY = """
if (threadIdx.x == 0) {
  ptx::mbarrier_arrive_expect_tx(&full, BYTES);
  ptx::tensor_load(tile, &map, CORNER, &full);
}
"""
_WAIT = "while (!ptx::mbarrier_try_wait_parity(&full, 0)) {\n}"
_DESCRIBE = """
const Sizes sizes = {static_cast<std::uint64_t>(cols), static_cast<std::uint64_t>(rows)};
const Sizes pitch = {PITCH};
const Box box = {BOX};"""


def _copy(corner="col, row", size="sizeof tile", wait=_WAIT):
    return {1: _COPY.replace("BYTES", size).replace("CORNER", corner) + wait}

RIGHTS = {
    "another thread, by pointers": {
        1: "if (threadIdx.x == 32) {\n"
        "  ptx::mbarrier_arrive_expect_tx(&full, kRows * kCols * sizeof(float));\n"
        "  ptx::tensor_load(&tile[0][0], &map, blockIdx.x * kCols, blockIdx.y * kRows, &full);\n}\n"
        "bool done = false;\ndo {\n  done = ptx::mbarrier_try_wait_parity(&full, 0);\n"
        "} while (!done);"
    },
    "sizes in variables": {
        2: "const std::uint64_t width = cols, height = rows;\n"
        "const Sizes sizes = {width, height}, pitch = {4 * width};\nconst Box box = {32, 16};"
    },
    "a lambda that waits": {
        1: "const auto wait = [&] {\n"
        "  while (true) {\n    if (ptx::mbarrier_try_wait_parity(&full, 0)) return;\n  }\n};\n"
        "if (threadIdx.x != 0) {\n  wait();\n} else {\n"
        "  ptx::mbarrier_arrive_expect_tx(&full, 4 * kCols * kRows);\n"
        "  ptx::tensor_load(tile[0], &map, col, row, &full);\n  wait();\n}"
    },
}

MUTANTS = {
    "past the right edge of a": {0: [("if (r < rows && c < cols) b", "if (r < rows) b")]},
    "before: the threads load it": {
        0: [("CUtensorMap map, float* b", "CUtensorMap map, const float* a, float* b"),
            ("(map, b, rows", "(map, a, b, rows")],
        1: "for (int i = threadIdx.x; i < kRows * kCols; i += blockDim.x) {\n"
        "  const int r = row + i / kCols, c = col + i % kCols;\n"
        "  if (r < rows && c < cols) tile[i / kCols][i % kCols] = a[r * cols + c];\n}\n"
        "__syncthreads();",
    },
    "the row first": _copy(corner="row, col"),
    "nobody waits": _copy(wait=""),
    "floats for bytes": _copy(size="kRows * kCols"),
    "the next tile's row": {
        2: _DESCRIBE.replace("PITCH", "kCols * sizeof(float)").replace("BOX", "kCols, kRows")
    },
}
