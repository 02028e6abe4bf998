"""Exercise 07/turns."""

from exercise.api import Array, Case, Right, drawn

TITLE = "Whose turn is it?"
KIND = "step"
MINUTES = 15
CALL = "take_turns(float* tile, int* log, int rounds)"

GROUP = 64


def cases(random):
    for rounds in (1, 2, 5, 7, drawn(random, 3, 6, besides=(5,))):
        tile = [float(random.randrange(-9, 9)) for _ in range(GROUP)]
        log = Array("log", role="output", type="int", count=2 * rounds)
        arrays = [Array("tile", tile, "in_out"), log]
        yield Case(f"{rounds} round{'s' * (rounds > 1)}", {"rounds": rounds}, arrays)


def expected(case):
    rounds, tile = case.sizes["rounds"], case["tile"].values
    for _ in range(rounds):
        tile = [2 * (2 * value) + 1 for value in tile]
    return {"tile": tile, "log": [0, 1] * rounds}


POINTS = [
    Right(2, "one round", lambda case: case.sizes["rounds"] == 1),
    Right(3, "several rounds", lambda case: case.sizes["rounds"] > 1),
]

RIGHTS = {
    "numbers": {
        1: "const int own = group + 1;\nptx::named_barrier_sync(own, 128);",
        2: "ptx::named_barrier_arrive(2 - group, 128);",
    },
    "a lambda": {
        1: "const auto barrier_of = [](int g) { return g == 0 ? 1 : 2; };\n"
        "ptx::named_barrier_sync(barrier_of(group), blockDim.x);",
        2: "const int other = group ^ 1;\nptx::named_barrier_arrive(other + 1, blockDim.x);",
    },
    "by the threads": {
        3: "if (threadIdx.x >= kGroup) ptx::named_barrier_arrive(1, 2 * kGroup);",
        4: "if (threadIdx.x < kGroup) turn.wait();",
    },
}

MUTANTS = {
    "waits in the first round alone": {
        0: [("    turn.wait();\n    shared[t]", "    if (r == 0) turn.wait();\n    shared[t]")]
    },
    "one barrier for both": {
        1: "ptx::named_barrier_sync(1, 2 * kGroup);",
        2: "ptx::named_barrier_arrive(1, 2 * kGroup);",
    },
    "only those who wait are counted": {1: "ptx::named_barrier_sync(1 + group, kGroup);"},
    "passed on to oneself": {2: "ptx::named_barrier_arrive(1 + group, 2 * kGroup);"},
    "nobody begins": {3: ""},
    "group 1 begins": {3: "if (group == 0) turn.pass_on();", 4: "if (group == 1) turn.wait();"},
}
