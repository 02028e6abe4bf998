"""Exercise 01/grid_stride."""

from exercise.api import Array, Case, Count, Right, drawn, float32, floats

TITLE = "One grid for any n"
KIND = "step"
MINUTES = 8

BLOCK = 128


def cases(random):
    fixed = ((2, 256), (3, 200), (1, 1), (1, 300), (2, 1021), (3, 385), (3, 4096), (4, 4096))
    short = (3, drawn(random, 300, 384))
    long = (drawn(random, 3, 9), drawn(random, 2048, 9999, 128))
    alone = (1, drawn(random, 8320, 9999, 128))  # more rounds than anybody counts on
    for grid, n in (*fixed, short, long, alone):
        x, y = floats(random, n), floats(random, n)
        yield Case(
            f"n = {n}, grid = {grid}",
            {"n": n, "grid": grid, "shift": 0},
            [Array("x", x), Array("y", y, "in_out")],
        )
    # Each block adds to the x of the block before.
    n, grid = 6 * BLOCK, 3
    yield Case(
        "x begins 128 elements behind y",
        {"n": n, "grid": grid, "shift": BLOCK},
        [Array("x_and_y", floats(random, n + BLOCK), "in_out")],
        meets="elements of different blocks were added by one thread: all blocks are to work",
    )


def expected(case):
    return {"y": [float32(a + b) for a, b in zip(case["x"].values, case["y"].values)]}


def _one_round(case):
    return case.sizes["n"] <= case.sizes["grid"] * BLOCK


def _is_used(counts):
    found = counts["global"]
    return found["load_bytes_used"] == found["load_bytes_moved"]


def _sectors(counts):
    return counts["global"]["load_sectors"] / counts["global"]["load_requests"]


POINTS = [
    Right(2, "a thread for each element", _one_round),
    Right(3, "more elements than threads", lambda case: not _one_round(case)),
    Count(
        2,
        "the caller's grid, and neighbours take neighbours: 4 sectors a load",
        lambda case: case.sizes["n"] >= 2048,
        lambda counts, case: _is_used(counts) and counts["blocks"] == case.sizes["grid"],
        lambda counts: f"{_sectors(counts):.1f} sectors a load; blocks: {counts['blocks']}, "
        f"launches: {counts['launches']}",
        # In the last round some blocks have nothing left.
        blocks=lambda case: (case.sizes["grid"] + 1) // 2,
        busy=0.51,
    ),
]

_STRIDE = "const int stride = gridDim.x * blockDim.x;\n"
_FIRST = "const int first = blockIdx.x * blockDim.x + threadIdx.x;\n"

RIGHTS = {
    "two elements a round, a function that is not inlined": {
        0: [("// y[i] = x[i] + y[i]", "__device__ __noinline__ float plus(const float& a, "
             "const float& b) { return a + b; }\n// y[i] = x[i] + y[i]")],
        1: "int i = blockIdx.x * blockDim.x + threadIdx.x;\nconst int all = gridDim.x * 128;\n"
        "for (; i + all < n; i += 2 * all) {\n"
        "  const float a = x[i], b = x[i + all], c = y[i], d = y[i + all];\n"
        "  y[i] = plus(a, c);\n  y[i + all] = plus(b, d);\n}\nif (i < n) y[i] = plus(x[i], y[i]);",
    },
    "pieces of 128, the last rounds first": {
        1: "const float* const end = x + n;\nint piece = (n + 127) / 128 - 1 - (int)blockIdx.x;\n"
        "for (; piece >= 0; piece -= (int)gridDim.x) {\n"
        "  const float* from = x + 128LL * piece + threadIdx.x;\n"
        "  if (from < end) y[from - x] = __fadd_rn(__ldg(from), y[from - x]);\n}"
    },
    "while": {
        1: "int i = threadIdx.x + blockIdx.x * blockDim.x;\nwhile (i < n) {\n"
        "  y[i] += x[i];\n  i += gridDim.x * blockDim.x;\n}"
    },
    "pointers": {
        1: "const float* from = x + blockIdx.x * 128 + threadIdx.x;\n"
        "for (float* to = y + (from - x); to < y + n; to += 128 * gridDim.x, "
        "from += 128 * gridDim.x)"
        " {\n  *to = *from + *to;\n}"
    },
    "rounds are counted": {
        1: "const unsigned all = gridDim.x * blockDim.x;\n"
        "for (unsigned round = 0; round * all < n; ++round) {\n"
        "  const unsigned i = round * all + blockIdx.x * blockDim.x + threadIdx.x;\n"
        "  if (i >= n) break;\n  y[i] = x[i] + y[i];\n}"
    },
}

MUTANTS = {
    "before: a piece of the array for each thread": {
        1: _STRIDE + _FIRST + "const int length = (n + stride - 1) / stride;\n"
        "for (int i = first * length; i < n && i < (first + 1) * length; ++i) y[i] += x[i];"
    },
    "rounds that are not full are left out": {
        1: _STRIDE + _FIRST + "y[first] += first < n ? x[first] : 0.0f;\n"
        "for (int i = first + stride; i < n / stride * stride; i += stride) y[i] += x[i];"
    },
    "before: half of a block's threads": {
        1: "if (threadIdx.x >= 64) return;\n"
        "for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) y[i] += x[i];"
    },
    "no loop": {1: _FIRST + "if (first < n) y[first] += x[first];"},
    "block 0 does all": {
        1: "if (blockIdx.x > 0) return;\n"
        "for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] += x[i];"
    },
    "before: a grid of its own": {
        0: [("<<<grid, 128>>>", "<<<(n + 127) / 128, 128>>>")],
        1: _FIRST + "if (first < n) y[first] += x[first];",
    },
    "the step is one block": {
        1: _FIRST + "for (int i = first; i < n; i += blockDim.x) y[i] += x[i];"
    },
    "every block begins at 0": {
        1: _STRIDE + "for (int i = threadIdx.x; i < n; i += stride) y[i] += x[i];"
    },
    "the last round is left out": {
        1: _STRIDE + _FIRST + "for (int i = first; i + stride < n; i += stride) y[i] += x[i];"
    },
    "before: a piece of the array for each block": {
        1: "const int length = (n + gridDim.x - 1) / gridDim.x, begin = blockIdx.x * length;\n"
        "const int end = min(n, begin + length);\n"
        "for (int i = begin + threadIdx.x; i < end; i += blockDim.x) y[i] += x[i];"
    },
    "before: the host loops": {
        0: [("  vector_add_kernel<<<grid, 128>>>(x, y, n);", "  for (int at = 0; at < n; "
             "at += 128 * grid) {\n    vector_add_kernel<<<grid, 128>>>(x + at, y + at, n - at);\n"
             "  }")],
        1: _FIRST + "if (first < n) y[first] += x[first];",
    },
}
