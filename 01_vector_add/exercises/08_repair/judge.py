"""Exercise 01/repair."""

from exercise.api import Array, Case, Count, Right, drawn, float32, floats

TITLE = "Repair: the sum of neighbours"
KIND = "repair"
COPIES = True
MINUTES = 15

BLOCK = 256


def cases(random):
    fixed = (256, 1, 2, 100, 255, 257, 1024, 1025, 5000)
    whole = drawn(random, 5 * BLOCK, 9 * BLOCK, BLOCK, fixed)
    for n in (*fixed, whole, drawn(random, 300, 9999, 1, (*fixed, whole))):
        x = Array("x", floats(random, n + 1))
        z = Array("z", role="output", count=n)
        yield Case(f"n = {n}", {"n": n, "fails": 0}, [x, z], tile=BLOCK)
    failed = Array("failed", role="output", count=1, type="int", by_host=True)
    x = Array("x", floats(random, 101))
    yield Case("z is no memory", {"n": 100, "fails": 1}, [x, failed])


def expected(case):
    if case.sizes["fails"]:
        return {"failed": [1]}
    x = case["x"].values
    return {"z": [float32(x[i] + x[i + 1]) for i in range(case.sizes["n"])]}


def _is_whole(case):
    return case.sizes["n"] % BLOCK == 0


def _is_short(case):
    return case.sizes["n"] < BLOCK and not case.sizes["fails"]


POINTS = [
    Right(2, "blocks that are full", _is_whole),
    Right(2, "a block that is not full", _is_short, task=1),
    Right(
        2,
        "more than one block",
        lambda case: case.sizes["n"] > BLOCK and not _is_whole(case),
        task=3,
    ),
    Count(
        1,
        "a thread for each element",
        lambda case: _is_whole(case) and case.sizes["n"] >= 1024,
        lambda counts, case: counts["threads"] >= case.sizes["n"],
        lambda counts: f"{counts['threads']} threads were started",
        task=3,
        busy=0.51,
    ),
    Right(1, "a copy that fails is told", lambda case: case.sizes["fails"], task=4),
]

_ALLOCATE = """
cudaMalloc(&d_x, {x});
cudaMalloc(&d_z, {z});
cudaMemcpy(d_x, x, {copied}, cudaMemcpyHostToDevice);"""
_WHOLE = {
    "x": "(n + 1) * sizeof(float)",
    "z": "n * sizeof(float)",
    "copied": "(n + 1) * sizeof(float)",
}

RIGHTS = {
    "an early return, and values in variables": {
        1: "const int i = threadIdx.x + blockDim.x * blockIdx.x;\nif (i >= n) return;\n"
        "const float left = x[i], right = x[i + 1];\nz[i] = left + right;"
    },
    "sizes in bytes by name, and blocks of 1024": {
        2: "const size_t bytes = sizeof(*d_z) * n;\n"
        "cudaMalloc((void**)&d_x, bytes + sizeof(float));\n"
        "cudaMalloc((void**)&d_z, bytes);\n"
        "cudaMemcpy(d_x, x, bytes + sizeof *x, cudaMemcpyDefault);",
        3: "const int grid = n / 1024 + (n % 1024 > 0);\n"
        "neighbours_kernel<<<grid, 1024>>>(d_x, d_z, n);",
    },
    "waits, then copies": {
        4: "cudaError_t copied = cudaDeviceSynchronize();\nif (copied == cudaSuccess) {\n"
        "  copied = cudaMemcpy(z, d_z, n * sizeof(*z), cudaMemcpyDeviceToHost);\n}"
    },
    "a grid-stride loop": {
        1: "for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * "
        "gridDim.x) {\n"
        "  z[i] = *(x + i) + *(x + i + 1);\n}"
    },
}

MUTANTS = {
    "before: one thread": {
        1: "for (int i = 0; i < n; ++i) z[i] = x[i] + x[i + 1];",
        3: "neighbours_kernel<<<1, 1>>>(d_x, d_z, n);",
    },
    "no guard": {
        1: "const int i = blockIdx.x * blockDim.x + threadIdx.x;\nz[i] = x[i] + x[i + 1];"
    },
    "x is one element short": {2: _ALLOCATE.format(**{**_WHOLE, "x": "n * sizeof(float)"})},
    "the last element of x is not copied": {
        2: _ALLOCATE.format(**{**_WHOLE, "copied": "n * sizeof(float)"})
    },
    "z is counted in elements": {2: _ALLOCATE.format(**{**_WHOLE, "z": "n"})},
    "one block of n threads": {3: "neighbours_kernel<<<1, n>>>(d_x, d_z, n);"},
    "rounds down": {3: "neighbours_kernel<<<n / 256 + 1 - (n < 256), 256>>>(d_x, d_z, n);"},
    "nobody looks at what the copy returns": {
        4: "cudaMemcpy(z, d_z, n * sizeof(float), cudaMemcpyDeviceToHost);\n"
        "const cudaError_t copied = cudaSuccess;"
    },
    "copies x back": {
        4: "const cudaError_t copied = cudaMemcpy("
        "z, d_x, n * sizeof(float), cudaMemcpyDeviceToHost);"
    },
}
