"""Exercise 01/copies."""

from exercise.api import Array, Case, Count, Right, drawn, float32, floats

TITLE = "There and back through a stream"
KIND = "step"
SETTINGS = {"SIMT_STREAMS": "deferred"}  # what nobody waits for has not happened
COPIES = True
MINUTES = 10


RESULTS, STREAM, ERRORS = range(3)  # what run.cu looks at


def cases(random):
    def case(name, n, looks_at, role):
        x, y = floats(random, n), floats(random, n)
        return Case(name, {"n": n, "looks_at": looks_at}, [Array("x", x), Array("y", y, role)])

    for n in (256, 1, 3, 255, 1021, drawn(random, 2100, 9999)):
        yield case(f"n = {n}", n, RESULTS, "in_out")
    yield case("what the stream holds", 300, STREAM, "input")
    yield case("copies that fail", 300, ERRORS, "input")


def expected(case):
    if case.sizes["looks_at"] != RESULTS:
        return {}
    return {"y": [float32(a + b) for a, b in zip(case["x"].values, case["y"].values)]}


def _looks_at(what):
    return lambda case: case.sizes["looks_at"] == what


POINTS = [
    Right(1, "one full block", lambda case: case.sizes["n"] == 256),
    Right(1, "any other size", lambda case: _looks_at(RESULTS)(case) and case.sizes["n"] != 256),
    Right(1, "all of it in one stream, and no wait in between", _looks_at(STREAM)),
    Right(1, "an error is returned", _looks_at(ERRORS)),
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

_X = "cudaMemcpyAsync(d_x, h_x, bytes, cudaMemcpyHostToDevice, stream);\n"
_Y = "cudaMemcpyAsync(d_y, h_y, bytes, cudaMemcpyHostToDevice, stream);\n"
_KERNEL = "vector_add_kernel<<<(n + 255) / 256, 256, 0, stream>>>(d_x, d_y, n);\n"
_BACK = "cudaMemcpyAsync(h_y, d_y, bytes, cudaMemcpyDeviceToHost, stream);\n"
_EVENT = "cudaEvent_t done;\ncudaEventCreate(&done);\ncudaEventRecord(done, stream);\n"

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
        4: _EVENT + "const cudaError_t late = cudaEventSynchronize(done);\n"
        "cudaEventDestroy(done);\nreturn late;"
    },
    "asks an event": {
        4: _EVENT + "cudaError_t late;\n"
        "while ((late = cudaEventQuery(done)) == cudaErrorNotReady) {\n}\n"
        "cudaEventDestroy(done);\nreturn late;"
    },
    "each call is looked at, blocks of 192": {
        0: [("inline cudaError_t enqueue", "#define TRY(call) \\\n"
             "  if (const cudaError_t met = (call); met != cudaSuccess) return met\n\n"
             "inline cudaError_t enqueue")],
        1: f"TRY({_Y[:-2]});\nTRY({_X[:-2]});",
        2: "vector_add_kernel<<<(n + 191) / 192, 192, 0, stream>>>(d_x, d_y, n);\n"
        "TRY(cudaGetLastError());",
        3: f"TRY({_BACK[:-2]});",
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
    "y stays behind": {1: _X},
    "a kernel in the default stream": {
        2: "vector_add_kernel<<<(n + 255) / 256, 256>>>(d_x, d_y, n);"
    },
    "nobody waits": {4: "return cudaSuccess;"},
    "waits before the copy back": {
        3: "const cudaError_t done = cudaStreamSynchronize(stream);\n" + _BACK + "return done;",
        4: "return cudaSuccess;",
    },
    "x and y have changed places": {
        1: "cudaMemcpyAsync(d_x, h_y, bytes, cudaMemcpyHostToDevice, stream);\n"
        "cudaMemcpyAsync(d_y, h_x, bytes - 4, cudaMemcpyHostToDevice, stream);"
    },
    "the host does it": {
        3: "for (int i = 0; i < n; ++i) h_y[i] += h_x[i];\n",
    },
    "waits for the default stream": {4: "return cudaStreamSynchronize(nullptr);"},
    "three copies for which the host waits": {
        1: "cudaMemcpy(d_x, h_x, bytes, cudaMemcpyHostToDevice);\n"
        "cudaMemcpy(d_y, h_y, bytes, cudaMemcpyHostToDevice);",
        2: "vector_add_kernel<<<(n + 255) / 256, 256>>>(d_x, d_y, n);",
        3: "cudaMemcpy(h_y, d_y, bytes, cudaMemcpyDeviceToHost);",
    },
    "a stream of its own": {
        1: "cudaStream_t own;\ncudaStreamCreate(&own);\n" + (_X + _Y).replace("stream)", "own)"),
        2: _KERNEL.replace("stream>", "own>"),
        3: _BACK.replace("stream)", "own)")
        + "cudaStreamSynchronize(own);\ncudaStreamDestroy(own);",
    },
    "one copy for which the host waits": {
        1: "cudaMemcpy(d_x, h_x, bytes, cudaMemcpyHostToDevice);\n" + _Y
    },
    "a copy back for which the host waits": {
        3: "cudaStreamSynchronize(stream);\ncudaMemcpy(h_y, d_y, bytes, cudaMemcpyDeviceToHost);"
    },
    "a wait before the kernel": {2: "cudaStreamSynchronize(stream);\n" + _KERNEL},
    "all of the device is waited for": {2: "cudaDeviceSynchronize();\n" + _KERNEL},
    "no error is looked at": {
        0: [("return cudaGetLastError();", "return cudaSuccess;")],
        4: "cudaStreamSynchronize(stream);\nreturn cudaSuccess;",
    },
    "errors are taken, and forgotten": {
        0: [("return cudaGetLastError();", "cudaGetLastError();\n  return cudaSuccess;")],
    },
}
