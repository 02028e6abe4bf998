"""Exercise 06/events."""

from exercise.api import Array, Case, Right

TITLE = "Streams that wait for each other"
KIND = "step"
COPIES = True
MINUTES = 15


def cases(random):
    for chunks, chunk in ((1, 1), (3, 4), (4, 32), (7, 33), (9, 5)):
        yield Case(
            f"{chunks} chunk{'s' * (chunks > 1)} of {chunk}",
            {"chunks": chunks, "chunk": chunk},
            [
                Array("x", [random.randrange(-99, 99) for _ in range(chunks * chunk)], type="int"),
                Array("y", role="output", count=chunks * chunk, type="int"),
                Array("longest", role="output", count=1, type="int", by_host=True),
            ],
            tile=chunk,
        )


def expected(case):
    results = {"y": [3 * value + 1 for value in case["x"].values]}
    if case.sizes["chunks"] > 7:
        results["longest"] = [case.sizes["chunks"] + 2]
    return results


POINTS = [
    Right(2, "as many chunks as slots", lambda case: case.sizes["chunks"] <= 3),
    Right(3, "slots are used again", lambda case: 3 < case.sizes["chunks"] <= 7),
    Right(2, "and nobody waits without need", lambda case: case.sizes["chunks"] > 7),
]

MUTANTS = {
    "the next input comes too early": {1: ""},
    "the kernel does not wait for its input": {
        2: "if (before >= 0) cudaStreamWaitEvent(middle, left[before], 0);"
    },
    "the kernel overwrites a result": {2: "cudaStreamWaitEvent(middle, arrived[c], 0);"},
    "the result leaves before it is there": {3: "cudaStreamWaitEvent(out, arrived[c], 0);"},
    "one chunk after the other": {1: "if (c > 0) cudaStreamWaitEvent(in, left[c - 1], 0);"},
}
