"""Exercise 02/queue."""

from exercise.api import Array, Case, Count, Right, drawn, floats

TITLE = "A place in the queue"
KIND = "step"
MINUTES = 12
TERMS = 16


def cases(random):
    def case(name, x):
        n = len(x)
        return Case(
            name,
            {"n": n, "lanes": 0},
            [
                Array("x", x),
                Array("coefficients", floats(random, TERMS)),
                Array("y", role="output", count=n),
            ],
        )

    # Each has two negative elements in one warp: with a wrong place one of them is lost.
    odd = 256 * drawn(random, 2, 4) + drawn(random, 33, 252, besides=range(0, 255, 32))
    for n in (512, 32, 33, 255, 257, 1021, odd):
        x = floats(random, n)
        x[3], x[30] = -0.5, -0.25
        yield case(f"n = {n}", x)
    for n in (1024, drawn(random, 256, 4096, 32, (1024,))):
        yield case(f"n = {n}, all negative", floats(random, n, -1, -0.125))
    x = floats(random, 1024, 0.125, 1)
    for first in range(0, 1024, 32):
        x[first + random.randrange(32)] = -0.5
    yield case("n = 1024, one of 32 negative", x)
    for lanes in (0b100110, 1, (1 << 32) - 1, random.randrange(1 << 31, 1 << 32)):
        end = Array("end", [drawn(random, 1, 99)], "in_out", "int")
        places = Array("places", role="output", count=32, type="int")
        yield Case(f"lanes = 0b{lanes:b}", {"n": 0, "lanes": lanes}, [end, places])


def expected(case):
    if lanes := case.sizes["lanes"]:
        first, wants = case["end"].values[0], [lanes >> lane & 1 for lane in range(32)]
        places = [first + sum(wants[:lane]) if wants[lane] else -1 for lane in range(32)]
        return {"places": places, "end": [first + sum(wants)]}

    def path(x):
        total = 0.0
        for coefficient in case["coefficients"].values:
            total = total * x + coefficient
        return total

    return {"y": [path(x) if x < 0 else x for x in case["x"].values]}


def bound(case, name, i):
    """16 steps, each rounded once, of sums that stay below 16."""
    return 3e-5 if not case.sizes["lanes"] and case["x"].values[i] < 0 else 0.0


POINTS = [
    Right(1, "whole warps", lambda case: case.sizes["n"] and case.sizes["n"] % 32 == 0),
    Right(1, "the lowest lane has the first place", lambda case: case.sizes["lanes"], task=2),
    Right(2, "a warp that is not full", lambda case: case.sizes["n"] % 32),
    Count(
        2,
        "one atomic addition a warp",
        lambda case: "negative" in case.name,
        # A queue of 8 elements is computed by one warp, with a load for each term.
        lambda counts, case: counts["atomics"]["shared_executions"] <= case.sizes["n"] // 32
        and ("all" in case.name or counts["global"]["load_requests"] <= 32 + 32 * TERMS // 4),
        lambda counts: f"{counts['atomics']['shared_executions']} atomic additions; one for "
        f"32 elements is enough ({counts['global']['load_requests']} loads by warps)",
        blocks=lambda case: case.sizes["n"] // 512,
        threads=lambda case: {"work": case.sizes["n"] // 2 if "all" in case.name else 1},
    ),
]

RIGHTS = {
    "a function that is not inlined counts": {
        0: [("// Called by a whole warp.", "template <class T>\n"
             "__device__ __noinline__ int below(T bits, int lane) {\n"
             "  int count = 0;\n  while (lane-- > 0) count += bits & 1, bits >>= 1;\n"
             "  return count;\n}\n// Called by a whole warp.")],
        2: "return begin + below(lanes, lane);",
    },
    "the lowest lane that wants a place adds": {
        1: "const int leader = __ffs(lanes) - 1;\nint begin = 0;\n"
        "if (lane == leader) begin = atomicAdd(end, __popc(lanes));\n"
        "begin = __shfl_sync(kAllLanes, begin, leader);"
    },
    "shifts": {2: "return begin + __popc(lanes << (31 - lane)) - (lanes >> lane & 1);"},
    "lane 31 adds": {
        1: "int begin = lane == 31 ? atomicAdd(end, __popc(lanes)) : 0;\n"
        "begin = __shfl_sync(0xFFFFFFFF, begin, 31);",
        2: "return begin + __popc(lanes & ~(~0u << lane));",
    },
}

MUTANTS = {
    "the highest lane comes first": {2: "return begin + __popc(lanes >> lane >> 1);"},
    "in a warp that is not full the other lanes are negative": {
        0: [("i < n ? x[i] : 0.0f", "i < n ? x[i] : i / 32 * 32 < n ? -1.0f : 0.0f")]
    },
    "the lowest 6 bits of x are cut off": {
        0: [("= expensive_path(queue[t]",
             "= expensive_path(__uint_as_float(__float_as_uint(queue[t]) & 0xFFFFFFC0u)")],
    },
    "before: nobody takes from the queue": {
        0: [("if (t < end) y[tile + owner[t]] = expensive_path(queue[t], coefficients);",
             "if (expensive) y[tile + t] = expensive_path(value, coefficients);")]
    },
    "before: the first warp takes all of the queue": {
        0: [("if (t < end) y[tile + owner[t]] = expensive_path(queue[t], coefficients);",
             "for (int e = t; t < 32 && e < end; e += 32) {\n"
             "    y[tile + owner[e]] = expensive_path(queue[e], coefficients);\n  }")]
    },
    "every lane adds for all": {1: "const int begin = atomicAdd(end, __popc(lanes));"},
    "nobody is told": {1: "int begin = 0;\nif (lane == 0) begin = atomicAdd(end, __popc(lanes));"},
    "a lane counts itself too": {2: "return begin + __popc(lanes & ((2u << lane) - 1));"},
    "the place is that of the bit": {2: "return begin + __ffs(lanes) - 1;"},
    "the number of the lane is its place": {2: "return begin + lane;"},
    "before: each lane adds for itself": {
        1: "const int begin = lanes >> lane & 1 ? atomicAdd(end, 1) : 0;",
        2: "return begin;",
    },
}
