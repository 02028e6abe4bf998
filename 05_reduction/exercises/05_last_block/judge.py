"""Exercise 05/last_block."""

from exercise.api import Array, Case, Count, Right, eighths

TITLE = "The last block's duty"
KIND = "step"
MINUTES = 15


def cases(random):
    for n, blocks in ((128, 1), (1000, 1), (1024, 8), (1, 2), (300, 3), (2049, 7), (25_000, 200)):
        yield Case(
            f"n = {n} by {blocks} block{'s' * (blocks > 1)}",
            {"n": n, "blocks": blocks},
            [
                Array("x", eighths(random, n)),
                Array("y", eighths(random, n)),
                Array("results", role="output", count=2),
            ],
        )


def expected(case):
    return {"results": [sum(case["x"].values), sum(case["y"].values)]}


def _atomics(counts):
    return counts["atomics"]["global_executions"]


POINTS = [
    Right(2, "one block, which is always the last", lambda case: case.sizes["blocks"] == 1),
    Right(3, "several blocks", lambda case: 1 < case.sizes["blocks"] <= 128),
    Right(1, "more blocks than a block has threads", lambda case: case.sizes["blocks"] > 128),
    Count(
        1,
        "one atomic a block",
        "n = 1024 by 8 blocks",
        lambda counts, case: _atomics(counts) == 2 * case.sizes["blocks"],
        lambda counts: f"{_atomics(counts)} atomics in two launches of 8 blocks, 16 are enough",
    ),
]

_DRAW = "  is_last = atomicInc(counter, gridDim.x - 1) == gridDim.x - 1;\n}"

MUTANTS = {
    "no fence before the number is drawn": {
        1: "if (threadIdx.x == 0) {\n  partials[blockIdx.x] = sum;\n" + _DRAW
    },
    "no fence after it": {2: "__syncthreads();\nif (!is_last) return;"},
    "the counter is not reset": {
        1: "if (threadIdx.x == 0) {\n  partials[blockIdx.x] = sum;\n  __threadfence();\n"
        "  is_last = atomicAdd(counter, 1u) == gridDim.x - 1;\n}"
    },
    "nobody waits for what thread 0 finds out": {2: "if (!is_last) return;\n__threadfence();"},
    "a partial sum a thread, and no loop": {
        3: "sum = block_sum(threadIdx.x < gridDim.x ? partials[threadIdx.x] : 0.0f);\n"
        "if (threadIdx.x == 0) *result = sum;"
    },
    "before: a second atomic resets the counter": {
        1: "if (threadIdx.x == 0) {\n  partials[blockIdx.x] = sum;\n  __threadfence();\n"
        "  is_last = atomicAdd(counter, 1u) == gridDim.x - 1;\n"
        "  if (is_last) atomicExch(counter, 0u);\n}"
    },
}
