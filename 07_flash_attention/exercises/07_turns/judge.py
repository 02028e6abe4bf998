"""Exercise 07/turns."""

from exercise.api import Array, Case, Right

TITLE = "Whose turn is it?"
KIND = "step"
MINUTES = 15
CALL = "take_turns(float* tile, int* log, int rounds)"

GROUP = 64


def cases(random):
    for rounds in (1, 2, 5, 7):
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

MUTANTS = {
    "one barrier for both": {
        1: "ptx::named_barrier_sync(1, 2 * kGroup);",
        2: "ptx::named_barrier_arrive(1, 2 * kGroup);",
    },
    "only those who wait are counted": {1: "ptx::named_barrier_sync(1 + group, kGroup);"},
    "passed on to oneself": {2: "ptx::named_barrier_arrive(1 + group, 2 * kGroup);"},
    "nobody begins": {3: ""},
    "group 1 begins": {3: "if (group == 0) turn.pass_on();", 4: "if (group == 1) turn.wait();"},
}
