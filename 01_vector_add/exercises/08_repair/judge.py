"""Exercise 01/repair."""

from exercise.api import Array, Case, Right, float32, floats

TITLE = "Repair: the sum of neighbours"
KIND = "repair"
MINUTES = 15


def cases(random):
    for n in (256, 1, 2, 100, 255, 257, 1024, 1025, 5000):
        x = Array("x", floats(random, n + 1))
        yield Case(f"n = {n}", {"n": n}, [x, Array("z", role="output", count=n)], tile=256)


def expected(case):
    x = case["x"].values
    return {"z": [float32(x[i] + x[i + 1]) for i in range(case.sizes["n"])]}


POINTS = [
    Right(2, "one full block", lambda case: case.sizes["n"] == 256),
    Right(3, "blocks that are not full", lambda case: case.sizes["n"] in (1, 2, 100, 255)),
    Right(3, "more than one block", lambda case: case.sizes["n"] > 256),
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
    "copies x back": {
        4: "const cudaError_t copied = cudaMemcpy("
        "z, d_x, n * sizeof(float), cudaMemcpyDeviceToHost);"
    },
}
