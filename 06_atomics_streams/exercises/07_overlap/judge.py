"""Exercise 06/overlap."""

from itertools import accumulate

from exercise.api import Array, Case, Right

TITLE = "Make it fast: a pipeline with a running total"
KIND = "speed"
COPIES = True
MINUTES = 25


def cases(random):
    for chunks, chunk in ((1, 1), (2, 5), (4, 32), (6, 33), (12, 8), (17, 3)):
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
    results = {"y": list(accumulate(3 * value for value in case["x"].values))}
    if case.sizes["chunks"] > 6:
        results["longest"] = [case.sizes["chunks"] + 3]
    return results


POINTS = [
    Right(2, "right, and in order", lambda case: case.sizes["chunks"] <= 6),
    Right(4, "a chain of n + 3 stages is the longest", lambda case: case.sizes["chunks"] > 6),
]

_LOOP = """
cudaEvent_t carried = nullptr;
cudaEventCreateWithFlags(&carried, cudaEventDisableTiming);
for (int c = 0; c < chunks; ++c) {{
  const int slot = c % kSlots;
  const cudaStream_t stream = streams[{stream}];
  {first}batch.copy_in(c, slot, stream);
  batch.scale(c, slot, stream);
  {wait}batch.carry(c, slot, stream);
  {record}batch.copy_out(c, slot, stream);
}}
cudaEventDestroy(carried);"""
_RIGHT = {
    "stream": "slot",
    "first": "",
    "wait": "if (c > 0) cudaStreamWaitEvent(stream, carried, 0);\n  ",
    "record": "cudaEventRecord(carried, stream);\n  ",
}

MUTANTS = {
    "a carry does not wait for the one before": {1: _LOOP.format(**{**_RIGHT, "wait": ""})},
    "the event is recorded before the carry": {
        1: _LOOP.format(
            **{**_RIGHT, "wait": _RIGHT["wait"] + _RIGHT["record"], "record": ""}
        )
    },
    "two chunks a slot are under way": {1: _LOOP.format(**{**_RIGHT, "stream": "c % 3"})},
    "a chunk waits as a whole": {
        1: _LOOP.format(**{**_RIGHT, "first": _RIGHT["wait"], "wait": ""})
    },
    "two streams": {1: _LOOP.format(**{**_RIGHT, "stream": "slot % 2"})},
}
