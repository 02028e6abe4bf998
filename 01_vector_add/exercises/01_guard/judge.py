"""Exercise 01/guard."""

from exercise.api import Array, Case, Count, Right, drawn, float32, floats, many

TITLE = "Guard the last block"
KIND = "step"
MINUTES = 10
CALL = "vector_add(float* x, float* y, int n)"

BLOCK = 256


def cases(random):
    fixed = (BLOCK, 4 * BLOCK, 1, 2, 255, 257, 1000, 1021, 5 * BLOCK + 1)
    whole = drawn(random, 2 * BLOCK, 20 * BLOCK, BLOCK, fixed)
    # The largest takes more blocks than a block may have threads: <<<block, grid>>> shows.
    for n in (*fixed, whole, drawn(random, 2 * BLOCK, 9999, besides=fixed), 1024 * BLOCK + 300):
        x, y = floats(random, n), floats(random, n)
        yield Case(f"n = {n}", {"n": n}, [Array("x", x), Array("y", y, "in_out")], tile=BLOCK)


def expected(case):
    return {"y": [float32(a + b) for a, b in zip(case["x"].values, case["y"].values)]}


POINTS = [
    Right(2, "sizes that fill every block", lambda case: case.sizes["n"] % BLOCK == 0),
    Right(3, "sizes that leave the last block half empty", lambda case: case.sizes["n"] % BLOCK),
    Count(
        1,
        "as many blocks as it takes, all of their threads at work",
        lambda case: case.sizes["n"] % BLOCK == 0,
        lambda counts, case: (counts["blocks"], counts["threads"])
        == (case.sizes["n"] // BLOCK, case.sizes["n"])
        and counts["global"]["load_requests"] <= 2 * case.sizes["n"] // 32,
        lambda counts: f"{many(counts['blocks'], 'block')} of "
        f"{counts['threads'] // counts['blocks']} threads were started, whose warps loaded "
        f"{counts['global']['load_requests']} times",
        task=2,
        busy=0.9,
    ),
]

RIGHTS = {
    "an early return, a reference": {
        1: "const unsigned i = threadIdx.x + blockDim.x * blockIdx.x;\nif (i >= n) return;\n"
        "float& out = y[i];\nout += x[i];"
    },
    "pointers": {
        1: "const float* from = x + blockIdx.x * blockDim.x + threadIdx.x;\n"
        "if (from < x + n) {\n  float* to = y + (from - x);\n  *to = *from + *to;\n}",
        2: "const int grid = n / block + (n % block != 0);",
    },
    "a lambda": {
        1: "auto add = [&](int i) { y[i] = fmaf(1.0f, x[i], y[i]); };\n"
        "if (int i = blockIdx.x * 256 + threadIdx.x; i < n) add(i);",
        2: "const dim3 grid((n - 1) / 256 + 1);",
    },
}

MUTANTS = {
    "one element in the last block is too few": {
        2: "const int grid = max(1, (n + block - 2) / block);"
    },
    "no guard": {1: "const int i = blockIdx.x * blockDim.x + threadIdx.x;\ny[i] = x[i] + y[i];"},
    "guard one too far": {
        1: "const int i = blockIdx.x * blockDim.x + threadIdx.x;\nif (i <= n) y[i] = x[i] + y[i];"
    },
    "guard one too near": {
        1: "const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "if (i < n - 1) y[i] = x[i] + y[i];"
    },
    "forgets the block": {1: "const int i = threadIdx.x;\nif (i < n) y[i] = x[i] + y[i];"},
    "one thread does all": {
        1: "if (blockIdx.x + threadIdx.x == 0) {\n"
        "  for (int i = 0; i < n; ++i) y[i] = x[i] + y[i];\n}",
    },
    "block and grid have changed places": {
        2: "const int grid = 256, threads = (n + 255) / 256;\n"
        "vector_add_kernel<<<grid, threads>>>(x, y, n);\nif (n) return;"
    },
    "a fixed number of blocks": {2: "const int grid = 24;"},
    "rounds down": {2: "const int grid = n / block > 0 ? n / block : 1;"},
    "before: a block more than needed": {2: "const int grid = n / block + 1;"},
}
