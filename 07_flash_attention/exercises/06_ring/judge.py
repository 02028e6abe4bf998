"""Exercise 07/ring."""

from exercise.api import Array, Case, Right, eighths

TITLE = "The parity of a ring"
KIND = "step"
MINUTES = 15
CALL = "ring(float* x, float* sums, int tiles)"

TILE = 64


def cases(random):
    for tiles in (1, 3, 4, 6, 7, 20):
        sums = Array("sums", role="output", count=tiles)
        name = f"{tiles} tile{'s' * (tiles > 1)}"
        yield Case(name, {"tiles": tiles}, [Array("x", eighths(random, tiles * TILE)), sums])


def expected(case):
    x = case["x"].values
    return {"sums": [sum(x[i : i + TILE]) for i in range(0, len(x), TILE)]}


POINTS = [
    Right(1, "the first trip around the ring", lambda case: case.sizes["tiles"] <= 3),
    Right(2, "the second trip", lambda case: 3 < case.sizes["tiles"] <= 6),
    Right(3, "more trips", lambda case: case.sizes["tiles"] > 6),
]

MUTANTS = {
    "the phase does not change": {1: "stage = (stage + 1) % kStages;"},
    "the phase changes with every stage": {1: "stage = (stage + 1) % kStages;\nphase ^= 1;"},
    "the producer waits for a release that nobody makes": {
        2: "wait(&empty[at.stage], at.phase);"
    },
    "the producer does not wait": {2: ""},
    "every lane releases the stage": {4: "ptx::mbarrier_arrive(&empty[at.stage]);"},
}
