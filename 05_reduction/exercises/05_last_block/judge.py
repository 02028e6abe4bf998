"""Exercise 05/last_block."""

from exercise.api import Array, Case, Count, Right, drawn, eighths

TITLE = "The last block's duty"
KIND = "step"
MINUTES = 15


def cases(random):
    fixed = ((128, 1), (1000, 1), (1024, 8), (1, 2), (300, 3), (2049, 7), (25_000, 200))
    many = drawn(random, 129, 199)
    one = (drawn(random, 2, 999, besides=(128,)), 1)
    drew = (one, (drawn(random, 2, 4000), drawn(random, 9, 32)))
    for n, blocks in (*fixed, *drew, (128 * many - drawn(random, 0, 400), many)):
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


def _left(counts):
    """Words that were stored: a partial sum a block, and the result."""
    return counts["global"]["store_bytes"] // 4


def _loaded(counts):
    return counts["global"]["load_bytes"] // 4


def _several(case):
    return 1 < case.sizes["blocks"] <= 128


POINTS = [
    Right(2, "one block, which is always the last", lambda case: case.sizes["blocks"] == 1),
    Right(3, "several blocks", _several),
    Right(1, "more blocks than a block has threads", lambda case: case.sizes["blocks"] > 128),
    Count(
        1,
        "one launch, and one atomic a block",
        _several,
        lambda counts, case: counts["launches"] <= 2
        and _atomics(counts) == 2 * case.sizes["blocks"]
        and _left(counts) >= 2 * case.sizes["blocks"]
        # Two sums: all elements, and a partial sum a block; who waits for others loads more.
        and _loaded(counts) <= 2 * case.sizes["n"] + 4 * case.sizes["blocks"],
        lambda counts: f"two sums took {counts['launches']} launches, of {counts['blocks']} blocks "
        f"together, and {_atomics(counts)} atomics in global memory; blocks stored {_left(counts)} "
        f"words and loaded {_loaded(counts)}",
        # Some may have nothing to add, others a stretch more.
        blocks=lambda case: min(-(-case.sizes["n"] // 128), case.sizes["blocks"] // 2),
    ),
]

_DRAW = "  is_last = atomicInc(counter, gridDim.x - 1) == gridDim.x - 1;\n}"

RIGHTS = {
    "a plain store resets the counter": {
        1: "if (threadIdx.x == 0) {\n  *(partials + blockIdx.x) = sum;\n  __threadfence();\n"
        "  is_last = atomicAdd(counter, 1u) + 1 == gridDim.x;\n}",
        3: "sum = 0;\nfor (unsigned b = threadIdx.x; b < gridDim.x; b += kBlock) {\n"
        "  sum += partials[b];\n}\nsum = block_sum(sum);\n"
        "if (threadIdx.x == 0) {\n  *result = sum;\n  *counter = 0;\n}",
    },
    "pointers": {
        3: "float all = 0;\nconst float* from = partials + threadIdx.x;\n"
        "for (; from < partials + gridDim.x; from += blockDim.x) all += *from;\n"
        "all = block_sum(all);\nif (threadIdx.x == 0) result[0] = all;"
    },
    "all in one block of code": {
        2: "__syncthreads();\nif (is_last) {\n  __threadfence();",
        3: "  float own = 0;\n"
        "  for (int b = threadIdx.x; b < (int)gridDim.x; b += kBlock) own += partials[b];\n"
        "  own = block_sum(own);\n  if (threadIdx.x == 0) *result = own;\n}",
    },
}

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
    "before: the last block adds up all elements": {
        0: [("  for (int i = blockIdx.x * kBlock + threadIdx.x; i < n; i += gridDim.x * kBlock) "
             "sum += x[i];\n  sum = block_sum(sum);\n", "")],
        3: "sum = 0;\nfor (int i = threadIdx.x; i < n; i += kBlock) sum += x[i];\n"
        "sum = block_sum(sum);\nif (threadIdx.x == 0) *result = sum;"
    },
    "before: a first launch clears the result, and all blocks add to it": {
        0: [("__global__ void sum_kernel(",
             "__global__ void clear(float* result) { *result = 0; }\n\n"
             "__global__ void sum_kernel("),
            ("  sum_kernel<<<", "  clear<<<1, 1>>>(result);\n  sum_kernel<<<")],
        1: "if (threadIdx.x == 0) atomicAdd(result, sum);",
        2: "return;",
        3: "",
    },
    "before: block 0 waits for all others": {
        1: "if (threadIdx.x == 0) {\n  partials[blockIdx.x] = sum;\n  __threadfence();\n"
        "  atomicAdd(counter, 1u);\n  is_last = blockIdx.x == 0;\n"
        "  while (is_last && *(volatile unsigned*)counter < gridDim.x) {\n  }\n}",
        3: "sum = 0;\nfor (int b = threadIdx.x; b < gridDim.x; b += kBlock) sum += partials[b];\n"
        "sum = block_sum(sum);\nif (threadIdx.x == 0) {\n  *result = sum;\n  *counter = 0;\n}",
    },
    "before: a copy clears the result, and all blocks add to it": {
        0: [("  sum_kernel<<<", "  cudaMemset(result, 0, sizeof(float));\n  sum_kernel<<<")],
        1: "if (threadIdx.x == 0) atomicAdd(result, sum);",
        2: "return;",
        3: "",
    },
    "before: a second atomic resets the counter": {
        1: "if (threadIdx.x == 0) {\n  partials[blockIdx.x] = sum;\n  __threadfence();\n"
        "  is_last = atomicAdd(counter, 1u) == gridDim.x - 1;\n"
        "  if (is_last) atomicExch(counter, 0u);\n}"
    },
}
