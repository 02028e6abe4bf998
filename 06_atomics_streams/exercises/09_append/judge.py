"""Exercise 06/append."""

from exercise.api import Array, Case, Count, Right, drawn, float32, floats

TITLE = "Append to a list"
KIND = "step"
MINUTES = 25


def cases(random):
    small, large = drawn(random, 2, 31), drawn(random, 2048, 4000)
    inputs = {
        "n = 4096": (floats(random, 4096), 0.0),
        "n = 1, appended": ([0.5], 0.25),
        "n = 1, not appended": ([-0.5], 0.25),
        "n = 33": (floats(random, 33), -0.5),
        "n = 1021": (floats(random, 1021), 0.9),
        f"n = {small}": (floats(random, small), -0.5),
        f"n = {large}": (floats(random, large), 0.0),
        "n = 300, all appended": (floats(random, 300), -2.0),
        "n = 640, one of 64": ([float(i % 64 == 40) for i in range(640)], 0.5),
        "n = 129, the limit itself": (floats(random, 128) + [0.125], 0.125),
    }
    for name, (x, limit) in inputs.items():
        kept = sum(value > limit for value in x)
        yield Case(
            name,
            {"n": len(x), "kept": kept},
            [
                Array("x", x),
                Array("limit", [float32(limit)]),
                Array("list", role="output", count=kept),
                Array("count", [0], "in_out", "int"),
            ],
        )


def expected(case):
    limit = case["limit"].values[0]
    kept = sorted(value for value in case["x"].values if value > limit)
    return {"count": [len(kept)], "list": kept}


def _asked(counts):
    return counts["atomics"]["global_executions"]


POINTS = [
    Right(2, "less than two warps", lambda case: case.sizes["n"] <= 33),
    Right(3, "more", lambda case: case.sizes["n"] > 33),
    Count(
        2,
        "one atomic a warp",
        lambda case: case.sizes["n"] > 1000,
        lambda counts, case: _asked(counts) <= -(-case.sizes["n"] // 32),
        lambda counts: f"{_asked(counts)} of {counts['threads']} lanes asked for places",
        blocks=lambda case: case.sizes["n"] // 2048,
        threads=lambda case: {
            "loads": case.sizes["n"] * 13 // 25,
            "stores": case.sizes["kept"] // 10,
        },
        busy=0.3,
    ),
    Count(
        1,
        "none by a warp that has nothing",
        "n = 640, one of 64",
        lambda counts, case: _asked(counts) <= 10,
        lambda counts: f"{_asked(counts)} atomics, though ten warps of twenty have something",
    ),
]

_APPEND = """
const float value = i < n ? x[i] : limit;
const unsigned wanting = __ballot_sync(0xffffffffu, value > limit);
{leave}int first = 0;
if (lane == {leader}) first = atomicAdd(count, __popc(wanting));
first = __shfl_sync(0xffffffffu, first, {source});
if (value > limit) list[first + __popc(wanting & {before})] = value;"""
_RIGHT = {
    "leave": "if (wanting == 0) return;\n",
    "leader": "0",
    "source": "0",
    "before": "((1u << lane) - 1)",
}

RIGHTS = {
    "the lowest lane that wants draws": {
        1: "const bool wants = i < n && x[i] > limit;\n"
        "const unsigned all = __ballot_sync(~0u, wants);\nint first = 0;\n"
        "const int leader = __ffs(all) - 1;\n"
        "if (lane == leader) first = atomicAdd(count, __popc(all));\n"
        "first = __shfl_sync(~0u, first, max(leader, 0));\n"
        "if (wants) list[first + __popc(all & ~(~0u << lane))] = x[i];"
    },
    "one draw for a block": {
        1: "__shared__ int end, begin;\nif (threadIdx.x == 0) end = 0;\n__syncthreads();\n"
        "const float value = i < n ? x[i] : limit;\nint place = 0;\n"
        "if (value > limit) place = atomicAdd(&end, 1);\n__syncthreads();\n"
        "if (threadIdx.x == 0 && end > 0) begin = atomicAdd(count, end);\n__syncthreads();\n"
        "if (value > limit) list[begin + place] = value;"
    },
    "shifts, and a pointer": {
        1: "const float value = i < n ? *(x + i) : limit;\n"
        "const unsigned wanting = __ballot_sync(0xffffffffu, value > limit);\n"
        "if (!wanting) return;\nint first = lane == 31 ? atomicAdd(count, __popc(wanting)) : 0;\n"
        "first = __shfl_sync(0xffffffffu, first, 31);\nfloat* const to = list + first - 1;\n"
        "if (value > limit) to[__popc(wanting << (31 - lane))] = value;"
    },
}

MUTANTS = {
    "the limit itself is appended": {1: _APPEND.format(**_RIGHT).replace("value > limit", "value "
    ">= limit")},
    "only lane 0 knows the first place": {1: _APPEND.format(**{**_RIGHT, "source": "lane"})},
    "a lane counts itself as before it": {
        1: _APPEND.format(**{**_RIGHT, "before": "((2u << lane) - 1)"})
    },
    "only the lanes that want draw": {
        1: "if (i < n && x[i] > limit) {\n"
        "  const unsigned wanting = __ballot_sync(0xffffffffu, true);\n  int first = 0;\n"
        "  if (lane == 0) first = atomicAdd(count, __popc(wanting));\n"
        "  first = __shfl_sync(0xffffffffu, first, 0);\n"
        "  list[first + __popc(wanting & ((1u << lane) - 1))] = x[i];\n}"
    },
    "before: every thread draws": {
        1: "if (i < n && x[i] > limit) list[atomicAdd(count, 1)] = x[i];"
    },
    "before: lane 0 works for its warp": {
        1: "if (lane != 0) return;\nint all = 0;\n"
        "for (int j = i; j < min(n, i + 32); ++j) all += x[j] > limit;\nif (all == 0) return;\n"
        "float* to = list + atomicAdd(count, all);\n"
        "for (int j = i; j < min(n, i + 32); ++j) {\n  if (x[j] > limit) *to++ = x[j];\n}"
    },
    "before: lane 0 stores what its warp has loaded": {
        1: "const float value = i < n ? x[i] : limit;\n"
        "const unsigned wanting = __ballot_sync(~0u, value > limit);\nif (wanting == 0) return;\n"
        "float* to = list;\nif (lane == 0) to += atomicAdd(count, __popc(wanting));\n"
        "for (int k = 0; k < 32; ++k) {\n  const float of_lane = __shfl_sync(~0u, value, k);\n"
        "  if (lane == 0 && of_lane > limit) *to++ = of_lane;\n}"
    },
    "before: four times as many blocks as needed": {
        0: [("<<<(n + kBlock - 1) / kBlock,", "<<<4 * ((n + kBlock - 1) / kBlock),")]
    },
    "before: one thread, in a grid for all": {
        1: "if (i > 0) return;\nint all = 0;\nfor (int j = 0; j < n; ++j) {\n"
        "  if (x[j] > limit) list[all++] = x[j];\n}\n*count = all;"
    },
    "before: warps that have nothing draw 0 places": {1: _APPEND.format(**{**_RIGHT, "leave": ""})},
}
