"""Exercise 06/overlap."""

from itertools import accumulate

from exercise.api import Array, Case, Right, drawn

TITLE = "Make it fast: a pipeline with a running total"
KIND = "speed"
COPIES = True
MINUTES = 25


def cases(random):
    fixed = ((1, 1), (2, 5), (4, 32), (6, 33), (12, 8), (17, 3))
    drew = [(chunks, drawn(random, 1, 40)) for chunks in (5, drawn(random, 8, 11))]
    for chunks, chunk in (*fixed, *drew):
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

RIGHTS = {
    "an event for each slot": {
        1: """
cudaEvent_t carried[kSlots];
for (cudaEvent_t& event : carried) cudaEventCreate(&event);
for (int c = 0; c < chunks; ++c) {
  const int slot = c % kSlots;
  batch.copy_in(c, slot, streams[slot]);
  batch.scale(c, slot, streams[slot]);
  if (c > 0) cudaStreamWaitEvent(streams[slot], carried[(c - 1) % kSlots]);
  batch.carry(c, slot, streams[slot]);
  cudaEventRecord(carried[slot], streams[slot]);
  batch.copy_out(c, slot, streams[slot]);
}
for (cudaEvent_t event : carried) cudaEventDestroy(event);"""
    },
    "recorded just before it is waited for": {
        1: """
cudaEvent_t done;
cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
cudaStream_t before = nullptr;
for (int c = 0; c < chunks; ++c) {
  const cudaStream_t* const mine = streams + c % kSlots;
  batch.copy_in(c, c % kSlots, *mine);
  batch.scale(c, c % kSlots, *mine);
  if (before != nullptr) cudaStreamWaitEvent(*mine, done, 0);
  batch.carry(c, c % kSlots, *mine);
  cudaEventRecord(done, before = *mine);
  batch.copy_out(c, c % kSlots, *mine);
}
cudaEventDestroy(done);"""
    },
    "slot by slot, by a lambda": {
        1: """
cudaEvent_t carried = nullptr;
cudaEventCreateWithFlags(&carried, cudaEventDisableTiming);
const auto run = [&](int c, int slot, cudaStream_t stream) {
  batch.copy_in(c, slot, stream);
  batch.scale(c, slot, stream);
  if (c != 0) cudaStreamWaitEvent(stream, carried, cudaEventWaitDefault);
  batch.carry(c, slot, stream);
  cudaEventRecord(carried, stream);
  batch.copy_out(c, slot, stream);
};
for (int c = 0, slot = 0; c < chunks; ++c, slot = (slot + 1) % kSlots) run(c, slot, streams[slot]);
cudaEventDestroy(carried);"""
    },
}

MUTANTS = {
    "one stream": {1: _LOOP.format(**{**_RIGHT, "stream": "0"})},
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
