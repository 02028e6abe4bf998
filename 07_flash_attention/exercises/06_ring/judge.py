"""Exercise 07/ring."""

from exercise.api import Array, Case, Right, drawn, eighths

TITLE = "The parity of a ring"
KIND = "step"
MINUTES = 15
CALL = "ring(float* x, float* sums, int tiles)"

TILE = 64


def cases(random):
    for tiles in (1, 2, 3, 4, 5, 6, 7, drawn(random, 8, 19), 20):
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

RIGHTS = {
    "?:": {1: "stage = stage == kStages - 1 ? 0 : stage + 1;\nphase ^= stage == 0;"},
    "the phase first": {
        1: "phase ^= stage / (kStages - 1);\nstage = (stage + 1) % kStages;",
        2: "while (!ptx::mbarrier_try_wait_parity(empty + at.stage, 1 - at.phase)) {\n}",
    },
    "another lane releases": {
        3: "bool done = false;\nwhile (!done) {\n"
        "  done = ptx::mbarrier_try_wait_parity(full + at.stage, at.phase);\n}",
        4: "__syncwarp();\nif (lane == 7) ptx::mbarrier_arrive(empty + at.stage);",
    },
}

MUTANTS = {
    "the phase changes once": {1: "if (++stage == kStages) {\n  stage = 0;\n  phase = 1;\n}"},
    "the phase does not change": {1: "stage = (stage + 1) % kStages;"},
    "the phase changes with every stage": {1: "stage = (stage + 1) % kStages;\nphase ^= 1;"},
    "the producer waits for a release that nobody makes": {
        2: "wait(&empty[at.stage], at.phase);"
    },
    "the producer does not wait": {2: ""},
    "every lane releases the stage": {4: "ptx::mbarrier_arrive(&empty[at.stage]);"},
}
