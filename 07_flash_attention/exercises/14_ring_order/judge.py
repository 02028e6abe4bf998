"""Exercise 07/ring_order."""

from exercise.api import Array, Case, Right, drawn

TITLE = "The order of a ring"
KIND = "step"
MINUTES = 20


def cases(random):
    drew = [(ranks, drawn(random, 1, 40)) for ranks in (drawn(random, 4, 5), drawn(random, 6, 7))]
    for ranks, count in ((1, 3), (2, 32), (3, 33), (4, 5), (8, 7), *drew):
        yield Case(
            f"{ranks} rank{'s' * (ranks > 1)} with {count} numbers each",
            {"ranks": ranks, "count": count, "orders": _orders(ranks) if ranks > 5 else 0},
            [
                Array("x", [random.randrange(-99, 99) for _ in range(ranks * count)], type="int"),
                Array("y", role="output", count=ranks * ranks * count, type="int"),
                Array("longest_chain", role="output", count=1, type="int", by_host=True),
            ],
            tile=count,
        )


def _orders(ranks):
    """Of how many pairs one comes first for sure, if nothing waits without need."""
    after = {}
    for step in range(ranks):
        last = step - 1
        for rank in range(ranks):
            before, following = (rank - 1) % ranks, (rank + 1) % ranks
            waits = [("kernel", [("copy", before, last), ("kernel", rank, last)])]
            if step + 1 < ranks:
                slot = [("copy", following, last), ("kernel", following, last)]
                waits.append(("copy", [("copy", before, last), ("copy", rank, last), *slot]))
            for what, those in waits:
                sets = [{one, *after[one]} for one in those if one in after]
                after[what, rank, step] = set().union(*sets)
    return sum(map(len, after.values()))


def expected(case):
    ranks, x = case.sizes["ranks"], case["x"].values
    results = {"y": [3 * value + rank for rank in range(ranks) for value in x]}
    if ranks > 5:
        results["longest_chain"] = [ranks]
    return results


POINTS = [
    Right(2, "up to three ranks", lambda case: case.sizes["ranks"] <= 3),
    Right(2, "slots are used again", lambda case: 3 < case.sizes["ranks"] <= 5),
    Right(2, "and nobody waits without need", lambda case: case.sizes["ranks"] > 5),
]

_COPY = """
if (step > 0) {
  cudaStreamWaitEvent(copies[rank], sent[before][step - 1], 0);
  cudaStreamWaitEvent(copies[rank], computed[next][step - 1], 0);
  cudaStreamWaitEvent(copies[rank], sent[next][step - 1], 0);
}"""
_KERNEL = "if (step > 0) cudaStreamWaitEvent(computes[rank], sent[before][step - 1], 0);"
_OWNER = "owner = (rank - step + ranks) % ranks;"

RIGHTS = {
    "a loop over three events": {
        1: "if (step > 0) {\n"
        "  const int last = step - 1;\n"
        "  const cudaEvent_t of[] = {sent[next][last], sent[before][last], computed[next][last]};\n"
        "  for (cudaEvent_t event : of) cudaStreamWaitEvent(copies[rank], event);\n}"
    },
    "a slot has no reader before step 2": {
        1: "if (step >= 1) cudaStreamWaitEvent(copies[rank], sent[before][step - 1], 0);\n"
        "if (step >= 2) {\n  cudaStreamWaitEvent(copies[rank], computed[next][step - 1], 0);\n"
        "  cudaStreamWaitEvent(copies[rank], sent[next][step - 1], 0);\n}"
    },
    "the owner by a condition": {
        3: "owner = rank - step;\nif (owner < 0) owner += ranks;",
        2: "if (step != 0) cudaStreamWaitEvent(computes[rank], sent[before][step - 1], "
        "cudaEventWaitDefault);",
    },
}

MUTANTS = {
    "the kernel waits for its own rank's last copy, too": {
        2: _KERNEL + "\nif (step > 0) cudaStreamWaitEvent(computes[rank], sent[rank][step - 1], 0);"
    },
    "the copy waits for its own rank's last kernel, too": {
        1: _COPY + "\nif (step > 0) cudaStreamWaitEvent(copies[rank], computed[rank][step - 1], 0);"
    },
    "the copy does not wait for what it sends": {
        1: _COPY.replace("  cudaStreamWaitEvent(copies[rank], sent[before][step - 1], 0);\n", "")
    },
    "the copy does not wait for the next rank's kernel": {
        1: _COPY.replace("  cudaStreamWaitEvent(copies[rank], computed[next][step - 1], 0);\n", "")
    },
    "the copy does not wait for the next rank's copy": {
        1: _COPY.replace("  cudaStreamWaitEvent(copies[rank], sent[next][step - 1], 0);\n", "")
    },
    "the copy waits for its own rank's kernel": {
        1: _COPY.replace("computed[next]", "computed[rank]")
    },
    "the copy waits for all kernels before": {
        1: _COPY + "\nfor (int r = 0; r < rank; ++r) {\n"
        "  cudaStreamWaitEvent(copies[rank], computed[r][step], 0);\n}"
    },
    "the kernel waits for nothing": {2: ""},
    "the kernel waits for its own copy": {2: _KERNEL.replace("sent[before]", "sent[rank]")},
    "the kernel waits for the copy beside it, too": {
        2: _KERNEL + "\nif (step + 1 < ranks) cudaStreamWaitEvent(computes[rank], "
        "sent[rank][step], 0);"
    },
    "the ring turns the other way": {3: "owner = (rank + step) % ranks;"},
    "a negative owner": {3: "owner = (rank - step) % ranks;"},
    "the host waits": {1: "if (step > 0) cudaStreamSynchronize(copies[before]);"},
}
