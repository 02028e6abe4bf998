"""Exercise 04/repair_ring."""

from exercise.api import Array, Case, Right, drawn, eighths

TITLE = "Repair: a ring that hangs"
KIND = "repair"
MINUTES = 25
CALL = "column_sums(float* x, float* sums, int rows, int cols)"


def cases(random):
    fixed = ((16, 32), (8, 64), (48, 32), (80, 96), (5, 4), (33, 36), (100, 20))
    few, many = 8 * drawn(random, 1, 2), 8 * drawn(random, 7, 9)
    odd = (8 * drawn(random, 4, 9) + drawn(random, 2, 7), 4 * drawn(random, 9, 15))
    for rows, cols in (*fixed, (few, 96), (many, 32 * drawn(random, 1, 3)), odd):
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


def _sticks_out(case):
    return case.sizes["rows"] % 8 > 0


POINTS = [
    Right(
        2,
        "one trip around the ring",
        lambda case: case.sizes["rows"] <= 16 and not _sticks_out(case),
    ),
    Right(2, "more trips", lambda case: case.sizes["rows"] > 16 and not _sticks_out(case)),
    Right(2, "boxes that stick out over an edge", _sticks_out),
]

_READ = (
    "for (int r = warp; r < kRows; r += kWarps) sum += ring[stage][r][lane];\n"
    "ptx::fence_proxy_async();\n"
)
_ARRIVE = "if (lane == 0) ptx::mbarrier_arrive(&empty[stage]);\n"
_COPY = "ptx::mbarrier_arrive_expect_tx(&full[stage], {size});\n"
_LOAD = "ptx::tensor_load(ring[stage], &map, {corner}, &full[stage]);"

RIGHTS = {
    "an arrival of each lane": {
        1: "ptx::mbarrier_init(&empty[s], 32 * kWarps);",
        4: "for (int r = warp; r < kRows; r += kWarps) sum += ring[stage][r][lane];\n"
        "ptx::fence_proxy_async();\nptx::mbarrier_arrive(&empty[stage]);",
    },
    "bits": {
        2: "phase ^= stage == kStages - 1;\nstage = (stage + 1) % kStages;",
        3: "ptx::mbarrier_arrive_expect_tx(full + stage, 4 * kRows * kCols);\n"
        "ptx::tensor_load(&ring[stage][0][0], &map, blockIdx.x * 32, row, full + stage);",
    },
    "pointers": {
        1: "ptx::mbarrier_init(empty + s, blockDim.x / 32 - 1);",
        4: "const float* from = &ring[stage][warp][lane];\n"
        "for (int r = 0; r < kRows / kWarps; ++r, from += kWarps * kCols) sum += *from;\n"
        "ptx::fence_proxy_async();\n__syncwarp();\n"
        "if (lane == 5) ptx::mbarrier_arrive(empty + stage);",
    },
}

MUTANTS = {
    "no guard at the store": {
        0: [("if (warp == 0 && col + lane < cols) sums", "if (warp == 0) sums")]
    },
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
