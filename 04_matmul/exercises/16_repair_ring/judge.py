"""Exercise 04/repair_ring."""

from exercise.api import Array, Case, Right, eighths

TITLE = "Repair: a ring that hangs"
KIND = "repair"
MINUTES = 25
CALL = "column_sums(float* x, float* sums, int rows, int cols)"


def cases(random):
    for rows, cols in ((16, 32), (8, 64), (48, 32), (80, 96), (5, 4), (33, 36), (100, 20)):
        yield Case(
            f"{rows} x {cols}",
            {"rows": rows, "cols": cols},
            [
                Array("x", eighths(random, rows * cols), shape=(rows, cols)),
                Array("sums", role="output", count=cols),
            ],
        )


def expected(case):
    x, cols = case["x"].values, case.sizes["cols"]
    return {"sums": [sum(x[c::cols]) for c in range(cols)]}


POINTS = [
    Right(2, "one trip around the ring", lambda case: case.sizes["rows"] in (8, 16)),
    Right(2, "more trips", lambda case: case.sizes["rows"] in (48, 80)),
    Right(2, "boxes that stick out over an edge", lambda case: case.sizes["rows"] % 8),
]

_READ = (
    "for (int r = warp; r < kRows; r += kWarps) sum += ring[stage][r][lane];\n"
    "ptx::fence_proxy_async();\n"
)
_ARRIVE = "if (lane == 0) ptx::mbarrier_arrive(&empty[stage]);\n"
_COPY = "ptx::mbarrier_arrive_expect_tx(&full[stage], {size});\n"
_LOAD = "ptx::tensor_load(ring[stage], &map, {corner}, &full[stage]);"

MUTANTS = {
    "one release is enough": {1: "ptx::mbarrier_init(&empty[s], 1);"},
    "a parity for each stage": {2: "stage = (stage + 1) % kStages;\nphase ^= 1;"},
    "floats for bytes": {
        3: _COPY.format(size="kRows * kCols") + _LOAD.format(corner="col, row"),
    },
    "the row first": {
        3: _COPY.format(size="sizeof ring[stage]") + _LOAD.format(corner="row, col"),
    },
    "released before it is read": {4: _ARRIVE + _READ},
    "released before all lanes have read it": {4: _READ + _ARRIVE},
}
