"""Exercise 01/copies."""

from exercise.api import Array, Case, Count, Right, drawn, float32, floats

TITLE = "There and back through a stream"
KIND = "step"
SETTINGS = {"SIMT_STREAMS": "deferred"}  # what nobody waits for has not happened
COPIES = True
MINUTES = 10


def cases(random):
    for n in (256, 1, 3, 255, 1021, drawn(random, 2100, 9999)):
        x, y = floats(random, n), floats(random, n)
        yield Case(f"n = {n}", {"n": n}, [Array("x", x), Array("y", y, "in_out")])


def expected(case):
    return {"y": [float32(a + b) for a, b in zip(case["x"].values, case["y"].values)]}


POINTS = [
    Right(2, "one full block", lambda case: case.sizes["n"] == 256),
    Right(2, "any other size", lambda case: case.sizes["n"] != 256),
    Count(
        1,
        "a thread for each element",
        lambda case: case.sizes["n"] > 2048,
        lambda counts, case: counts["threads"] >= case.sizes["n"],
        lambda counts: f"{counts['threads']} threads were started",
        task=2,
        blocks=lambda case: 2,
        busy=0.51,
    ),
]

_BACK = "cudaMemcpyAsync(h_y, d_y, bytes, cudaMemcpyDeviceToHost, stream);\n"

RIGHTS = {
    "large blocks": {
        2: "vector_add_kernel<<<(n + 1023) / 1024, 1024, 0, stream>>>(d_x, d_y, n);"
    },
    "by the default direction": {
        1: "cudaMemcpyAsync(d_y, h_y, bytes, cudaMemcpyDefault, stream);\n"
        "cudaMemcpyAsync(d_x, h_x, bytes, cudaMemcpyDefault, stream);"
    },
    "launched by a call": {
        2: "void* arguments[] = {&d_x, &d_y, &n};\n"
        "const dim3 grid((n - 1) / 128 + 1), block(128);\n"
        "cudaLaunchKernel(vector_add_kernel, grid, block, arguments, 0, stream);"
    },
    "waits for an event": {
        3: _BACK + "cudaEvent_t done;\ncudaEventCreate(&done);\ncudaEventRecord(done, stream);\n"
        "const cudaError_t error = cudaEventSynchronize(done);\ncudaEventDestroy(done);\n"
        "return error;"
    },
}

MUTANTS = {
    "before: one thread": {
        0: [("  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n", ""),
            ("if (i >= n) return;\n  ", "for (int i = 0; i < n; ++i) ")],
        2: "vector_add_kernel<<<1, 1, 0, stream>>>(d_x, d_y, n);",
    },
    "only whole blocks": {
        2: "vector_add_kernel<<<max(1, n / 256), 256, 0, stream>>>(d_x, d_y, n);"
    },
    "y stays behind": {1: "cudaMemcpyAsync(d_x, h_x, bytes, cudaMemcpyHostToDevice, stream);"},
    "a kernel in the default stream": {
        2: "vector_add_kernel<<<(n + 255) / 256, 256>>>(d_x, d_y, n);"
    },
    "nobody waits": {3: _BACK + "return cudaSuccess;"},
    "waits before the copy back": {
        3: "const cudaError_t done = cudaStreamSynchronize(stream);\n" + _BACK + "return done;"
    },
    "x and y have changed places": {
        1: "cudaMemcpyAsync(d_x, h_y, bytes, cudaMemcpyHostToDevice, stream);\n"
        "cudaMemcpyAsync(d_y, h_x, bytes - 4, cudaMemcpyHostToDevice, stream);"
    },
    "the host does it": {
        3: "for (int i = 0; i < n; ++i) h_y[i] += h_x[i];\nreturn cudaStreamSynchronize(stream);"
    },
    "waits for the default stream": {3: _BACK + "return cudaStreamSynchronize(nullptr);"},
}
