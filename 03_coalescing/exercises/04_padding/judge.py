"""Exercise 03/padding."""

from exercise.api import Array, Case, Count, Right, Speed, drawn, floats

TITLE = "A column more than needed"
KIND = "speed"
MINUTES = 5
CALL = "transpose(float* a, float* b, int rows, int cols)"


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


def expected(case):
    a, rows, cols = case["a"].values, case.sizes["rows"], case.sizes["cols"]
    return {"b": [a[r * cols + c] for c in range(cols) for r in range(rows)]}


def _rounds(counts, op):
    return counts["shared"][f"{op}_wavefronts"] / max(1, counts["shared"][f"{op}_requests"])


POINTS = [
    Right(1, "still right"),
    Count(
        3,
        "one round an access to shared memory",
        lambda case: case.sizes["rows"] % 32 == case.sizes["cols"] % 32 == 0,
        lambda counts, case: _rounds(counts, "load") == 1 and _rounds(counts, "store") == 1,
        lambda counts: f"{_rounds(counts, 'load'):.0f} rounds a load, "
        f"{_rounds(counts, 'store'):.0f} a store",
        blocks=lambda case: case.sizes["rows"] * case.sizes["cols"] // 3072,
        busy=0.51,
    ),
]

# Reads and writes a matrix of 8192 x 8192.
SPEED = Speed({"rows": 1 << 13, "cols": 1 << 13}, {"a": 1 << 26, "b": 1 << 26}, bytes=8 << 26)

RIGHTS = {
    "three columns more": {1: "__shared__ float tile[kTile][kTile + 3];"},
    "one array": {
        1: "__shared__ float words[kTile * 33];\n"
        "float(*tile)[33] = reinterpret_cast<float(*)[33]>(words);"
    },
    "a structure for a row": {
        1: "struct Row {\n  float of[kTile], unused;\n"
        "  __device__ float& operator[](int x) { return of[x]; }\n};\n"
        "__shared__ Row tile[kTile];"
    },
}

MUTANTS = {
    "before: one warp of each block": {
        0: [(f"y = threadIdx.y; y < min(kTile, {edge})",
             f"y = threadIdx.y * kTile; y < min(kTile, {edge})")
            for edge in ("rows - row", "cols - col")] + [("y += kRows", "y += 1")],
        1: "__shared__ float tile[kTile][kTile + 1];",
    },
    "the edge below is forgotten": {0: [("y < min(kTile, cols - col)", "y < kTile")]},
    "a row less": {1: "__shared__ float tile[kTile - 1][kTile + 1];"},
    "before: a row more": {1: "__shared__ float tile[kTile + 1][kTile];"},
    "before: two columns more": {1: "__shared__ float tile[kTile][kTile + 2];"},
    "before: as it was": {1: "__shared__ float tile[kTile][kTile];"},
}
