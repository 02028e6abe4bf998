"""Exercise 04/ring."""

from exercise.api import Array, Case, Count, Right, float32, floats

TITLE = "Round the ring: full, empty, and their parity"
KIND = "step"
MINUTES = 15
CALL = "square(float* x, float* y, int n)"

CHUNK = 128
_ONE_TRIP = (4, CHUNK, 3 * CHUNK)


def cases(random):
    for n in (3 * CHUNK, CHUNK, 4, 7 * CHUNK, 500, 9 * CHUNK + 4):
        yield Case(
            f"n = {n}",
            {"n": n},
            [Array("x", floats(random, n)), Array("y", role="output", count=n)],
            tile=CHUNK,
        )


def expected(case):
    return {"y": [float32(value * value) for value in case["x"].values]}


POINTS = [
    Right(1, "one trip", lambda case: case.sizes["n"] in _ONE_TRIP),
    Right(3, "more trips", lambda case: case.sizes["n"] not in _ONE_TRIP),
    Count(
        1,
        "TMA brings all of it, and no thread loads any",
        lambda case: case.sizes["n"] not in _ONE_TRIP,
        lambda counts, case: counts["beside"]["tma_load_bytes"] == 4 * case.sizes["n"]
        and counts["global"]["load_requests"] == 0,
        lambda counts: f"TMA brought {counts['beside']['tma_load_bytes']} bytes, and the warps "
        f"loaded {counts['global']['load_requests']} times",
    ),
]

MUTANTS = {
    "the producer waits for the trip that is to come": {1: "wait(&empty[stage], trip % 2);"},
    "the producer does not wait": {1: ""},
    "before: a thread loads it": {
        2: "for (int j = 0; j < kChunk && i * kChunk + j < n; ++j) {\n"
        "  ring[stage][j] = x[i * kChunk + j];\n}\nptx::mbarrier_arrive(&full[stage]);"
    },
    "floats for bytes": {
        2: "const std::uint32_t count = min(kChunk, n - i * kChunk);\n"
        "ptx::mbarrier_arrive_expect_tx(&full[stage], count);\n"
        "ptx::cp_async_bulk(ring[stage], x + i * kChunk, 4 * count, &full[stage]);"
    },
    "the parity never changes": {3: "wait(&full[stage], 0);"},
    "released before all lanes have read it": {
        4: "if (lane == 0) ptx::mbarrier_arrive(&empty[stage]);"
    },
    "every lane releases": {4: "__syncwarp();\nptx::mbarrier_arrive(&empty[stage]);"},
}
