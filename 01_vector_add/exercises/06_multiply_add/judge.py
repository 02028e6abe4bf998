"""Exercise 01/multiply_add."""

from exercise.api import Array, Case, Count, Right, drawn, floats, many

TITLE = "A new problem: z = a x + y, on every second element of y"
KIND = "problem"
MINUTES = 20
CALL = "multiply_add(float a, float* x, float* y, float* z, int n)"

MOST_BLOCKS, FEWEST_THREADS = 64, 2048


def cases(random):
    fixed = (256, 1, 2, 31, 33, 1000, 1021, 17_000, 70_001)
    for n in (*fixed, drawn(random, 70_002, 90_000)):
        yield Case(
            f"n = {n}",
            {"n": n},
            [
                Array("a", floats(random, 1)),
                Array("x", floats(random, n)),
                Array("y", floats(random, 2 * n)),
                Array("z", role="output", count=n),
            ],
        )


def expected(case):
    a, x, y = case["a"].values[0], case["x"].values, case["y"].values
    return {"z": [a * x[i] + y[2 * i] for i in range(case.sizes["n"])]}


def bound(case, name, i):
    """A product and a sum, each rounded once; a fused multiply-add is closer still."""
    return 2**-24 * (
        2 * abs(case["a"].values[0] * case["x"].values[i]) + abs(case["y"].values[2 * i])
    )


POINTS = [
    Right(2, "small sizes", lambda case: case.sizes["n"] <= 1021),
    Right(3, "more elements than the grid has threads", lambda case: case.sizes["n"] > 1021),
    Count(
        1,
        "at most 64 blocks, and threads enough for a GPU",
        lambda case: case.sizes["n"] > 70_000,
        lambda counts, case: counts["blocks"] <= MOST_BLOCKS
        and counts["threads"] >= FEWEST_THREADS,
        lambda counts: f"{many(counts['blocks'], 'block')} and {counts['threads']} threads were "
        f"started; {MOST_BLOCKS} blocks are the most, {FEWEST_THREADS} threads the fewest",
        task=2,
        threads=lambda case: {"stores": FEWEST_THREADS * 3 // 4},
        busy=0.51,
    ),
    Count(
        1,
        "each element is computed once, and neighbours take neighbours",
        lambda case: case.sizes["n"] > 70_000,
        lambda counts, case: counts["global"]["store_bytes"] <= 4 * case.sizes["n"]
        and counts["global"]["store_bytes_moved"] <= 8 * case.sizes["n"],
        lambda counts: f"{counts['global']['store_bytes'] // 4} elements were stored, in sectors "
        f"of {counts['global']['store_bytes_moved']} bytes",
    ),
]

_START = "const int step = gridDim.x * blockDim.x;\n"
_LOOP = "for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += {step}) {{\n  {body}\n}}"

RIGHTS = {
    "fmaf, and 1024 threads a block": {
        1: "for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += blockDim.x * gridDim.x)"
        " z[i] = fmaf(a, x[i], y[2 * i]);",
        2: "multiply_add_kernel<<<min(64, (n + 1023) / 1024), 1024>>>(a, x, y, z, n);",
    },
    "always 64 blocks of 128": {2: "multiply_add_kernel<<<64, 128>>>(a, x, y, z, n);"},
    "pairs": {
        1: "const float2* pairs = reinterpret_cast<const float2*>(y);\n"
        "int i = blockDim.x * blockIdx.x + threadIdx.x;\nwhile (i < n) {\n"
        "  z[i] = a * x[i] + pairs[i].x;\n  i += gridDim.x * blockDim.x;\n}"
    },
}

MUTANTS = {
    "before: neighbours for a thread": {
        1: "const int all = gridDim.x * blockDim.x, length = (n + all - 1) / all;\n"
        "const int first = (blockIdx.x * blockDim.x + threadIdx.x) * length;\n"
        "for (int i = first; i < min(n, first + length); ++i) z[i] = a * x[i] + y[2 * i];",
    },
    "before: four threads of a block": {
        1: "for (int i = 4 * blockIdx.x + threadIdx.x; i < n && threadIdx.x < 4; "
        "i += 4 * gridDim.x) {\n  z[i] = a * x[i] + y[2 * i];\n}",
    },
    "divided before it is multiplied": {
        1: _START + _LOOP.format(step="step", body="z[i] = a * (x[i] + y[2 * i] / a);")
    },
    "before: 1024 blocks of 64 threads": {2: "multiply_add_kernel<<<1024, 64>>>(a, x, y, z, n);"},
    "before: one thread": {2: "multiply_add_kernel<<<1, 1>>>(a, x, y, z, n);"},
    "no loop": {
        1: "const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "if (i < n) z[i] = a * x[i] + y[2 * i];"
    },
    "before: the step is one block": {
        1: _LOOP.format(step="blockDim.x", body="z[i] = a * x[i] + y[2 * i];")
    },
    "every element of y": {1: _START + _LOOP.format(step="step", body="z[i] = a * x[i] + y[i];")},
    "the number is left out": {
        1: _START + _LOOP.format(step="step", body="z[i] = x[i] + y[2 * i];")
    },
    "before: a thread for each element": {
        2: "multiply_add_kernel<<<(n + 255) / 256, 256>>>(a, x, y, z, n);"
    },
}
