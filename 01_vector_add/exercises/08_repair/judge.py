"""Exercise 01/repair."""

from exercise.api import Array, Case, Right, drawn, float32, floats

TITLE = "Repair: the sum of neighbours"
KIND = "repair"
COPIES = True
MINUTES = 15


def cases(random):
    fixed = (256, 1, 2, 100, 255, 257, 1024, 1025, 5000)
    for n in (*fixed, drawn(random, 300, 9999, 1, fixed)):
        x = Array("x", floats(random, n + 1))
        z = Array("z", role="output", count=n)
        yield Case(f"n = {n}", {"n": n, "fails": 0}, [x, z], tile=256)
    failed = Array("failed", role="output", count=1, type="int", by_host=True)
    x = Array("x", floats(random, 101))
    yield Case("z is no memory", {"n": 100, "fails": 1}, [x, failed])


def expected(case):
    if case.sizes["fails"]:
        return {"failed": [1]}
    x = case["x"].values
    return {"z": [float32(x[i] + x[i + 1]) for i in range(case.sizes["n"])]}


def _is_short(case):
    return case.sizes["n"] < 256 and not case.sizes["fails"]


POINTS = [
    Right(2, "one full block", lambda case: case.sizes["n"] == 256),
    Right(2, "blocks that are not full", _is_short, task=1),
    Right(3, "more than one block", lambda case: case.sizes["n"] > 256, task=3),
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

MUTANTS = {
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
