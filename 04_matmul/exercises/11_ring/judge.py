"""Exercise 04/ring."""

from exercise.api import Array, Case, Count, Right, drawn, float32, floats

TITLE = "Round the ring: full, empty, and their parity"
KIND = "step"
MINUTES = 15
CALL = "square(float* x, float* y, int n)"

CHUNK = 128


def cases(random):
    fixed = (3 * CHUNK, CHUNK, 4, 7 * CHUNK, 500, 9 * CHUNK + 4)
    drew = (drawn(random, 8, 380, 4, fixed), drawn(random, 900, 1200, 4, fixed))
    for n in (*fixed, *drew):
        yield Case(
            f"n = {n}",
            {"n": n},
            [Array("x", floats(random, n)), Array("y", role="output", count=n)],
            tile=CHUNK,
        )


def expected(case):
    return {"y": [float32(value * value) for value in case["x"].values]}


def _one_trip(case):
    return case.sizes["n"] <= 3 * CHUNK


POINTS = [
    Right(1, "one trip", _one_trip),
    Right(3, "more trips", lambda case: not _one_trip(case)),
    Count(
        1,
        "TMA brings all of it, and no thread loads any",
        lambda case: not _one_trip(case),
        lambda counts, case: counts["beside"]["tma_load_bytes"] == 4 * case.sizes["n"]
        and counts["global"]["load_requests"] == 0,
        lambda counts: f"TMA brought {counts['beside']['tma_load_bytes']} bytes, and the warps "
        f"loaded {counts['global']['load_requests']} times",
    ),
]

RIGHTS = {
    "trip 0 does not ask": {1: "if (trip > 0) wait(&empty[stage], (trip - 1) & 1);"},
    "pointers": {
        1: "wait(empty + stage, trip % 2 == 0);",
        2: "const int left = n - i * kChunk;\n"
        "const std::uint32_t bytes = 4u * (left < kChunk ? left : kChunk);\n"
        "ptx::mbarrier_arrive_expect_tx(full + stage, bytes);\n"
        "ptx::cp_async_bulk(&ring[stage][0], &x[i * kChunk], bytes, full + stage);",
        3: "wait(full + stage, trip & 1);",
    },
    "the last lane releases": {
        4: "__syncwarp();\nif (threadIdx.x % 32 == 31) ptx::mbarrier_arrive(empty + stage);"
    },
}

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
