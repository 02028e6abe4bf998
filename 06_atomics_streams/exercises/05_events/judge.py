"""Exercise 06/events."""

from exercise.api import Array, Case, Right, drawn

TITLE = "Streams that wait for each other"
KIND = "step"
COPIES = True
MINUTES = 15


def cases(random):
    fixed = ((1, 1), (3, 4), (4, 32), (7, 33), (9, 5))
    counts = (2, drawn(random, 5, 6), drawn(random, 10, 12))
    drew = [(chunks, drawn(random, 1, 40)) for chunks in counts]
    for chunks, chunk in (*fixed, *drew):
        yield Case(
            f"{chunks} chunk{'s' * (chunks > 1)} of {chunk}",
            {"chunks": chunks, "chunk": chunk},
            [
                Array("x", [random.randrange(-99, 99) for _ in range(chunks * chunk)], type="int"),
                Array("y", role="output", count=chunks * chunk, type="int"),
                Array("longest_chain_of_stages", role="output", count=1, type="int", by_host=True),
            ],
            tile=chunk,
        )


def expected(case):
    results = {"y": [3 * value + 1 for value in case["x"].values]}
    if case.sizes["chunks"] > 7:
        results["longest_chain_of_stages"] = [case.sizes["chunks"] + 2]
    return results


POINTS = [
    Right(2, "as many chunks as slots", lambda case: case.sizes["chunks"] <= 3),
    Right(3, "slots are used again", lambda case: 3 < case.sizes["chunks"] <= 7),
    Right(2, "and nobody waits without need", lambda case: case.sizes["chunks"] > 7),
]

RIGHTS = {
    "chunks are counted": {
        1: "if (c >= kSlots) cudaStreamWaitEvent(in, *(computed + c - kSlots));",
        3: "cudaStreamWaitEvent(out, computed[c]);",
    },
    "the other order": {
        2: "if (before >= 0) cudaStreamWaitEvent(middle, left[before], cudaEventWaitDefault);\n"
        "cudaStreamWaitEvent(middle, arrived[c], cudaEventWaitDefault);"
    },
    "a lambda": {
        1: "const auto wait = [&](cudaStream_t stream, cudaEvent_t* of, int chunk) {\n"
        "  if (chunk >= 0) cudaStreamWaitEvent(stream, of[chunk], 0);\n};\n"
        "wait(in, computed, before);",
        2: "wait(middle, arrived, c);\nwait(middle, left, c - 3);",
        3: "wait(out, computed, c);",
    },
}

MUTANTS = {
    "the host waits": {1: "if (before >= 0) cudaStreamSynchronize(middle);"},
    "chunk 0 is nobody": {1: "if (before > 0) cudaStreamWaitEvent(in, computed[before], 0);"},
    "the next input comes too early": {1: ""},
    "the kernel does not wait for its input": {
        2: "if (before >= 0) cudaStreamWaitEvent(middle, left[before], 0);"
    },
    "the kernel overwrites a result": {2: "cudaStreamWaitEvent(middle, arrived[c], 0);"},
    "the result leaves before it is there": {3: "cudaStreamWaitEvent(out, arrived[c], 0);"},
    "one chunk after the other": {1: "if (c > 0) cudaStreamWaitEvent(in, left[c - 1], 0);"},
}
