"""Exercise 06/replay."""

from exercise.api import Array, Case, Right, drawn

TITLE = "Record once, replay often"
KIND = "step"
MINUTES = 10
TOLD = ("calls", "executables_too_many", "launches_elsewhere")


def cases(random):
    fixed = ((1, 1, 1), (100, 3, 1), (65, 4, 2), (70, 5, 7), (33, 10, 20))
    drew = [(drawn(random, 2, 99), drawn(random, 6, 9), n) for n in (1, drawn(random, 3, 9))]
    for n, kernels, times in (*fixed, *drew):
        yield Case(
            f"{kernels} kernel{'s' * (kernels > 1)}, {times} time{'s' * (times > 1)}",
            {"n": n, "kernels": kernels, "times": times},
            [
                Array("x", [random.randrange(2**32) for _ in range(n)], "in_out", "uint"),
                *(Array(name, role="output", count=1, type="int", by_host=True) for name in TOLD),
            ],
        )


def expected(case):
    x = list(case["x"].values)
    for k in list(range(case.sizes["kernels"])) * case.sizes["times"]:
        x = [((value ^ k) * 5 + k) % 2**32 for value in x]
    told = dict(zip(TOLD, ([case.sizes["kernels"]], [0], [0])))
    return {"x": x, **told}


POINTS = [
    Right(2, "one run", lambda case: case.sizes["times"] == 1),
    Right(3, "several runs, one recording", lambda case: case.sizes["times"] > 1),
]

_RECORD = """
cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
for (int k = 0; k < kernels; ++k) step(k, stream);
cudaStreamEndCapture(stream, &graph);
cudaGraphInstantiateWithFlags(&executable, graph, 0);"""

RIGHTS = {
    "recorded in a stream of its own": {
        1: "cudaStream_t own = nullptr;\ncudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);\n"
        "cudaStreamBeginCapture(own, cudaStreamCaptureModeThreadLocal);\n"
        "for (int k = 0; k < kernels; ++k) step(k, own);\ncudaStreamEndCapture(own, &graph);\n"
        "cudaStreamDestroy(own);\ncudaGraphInstantiate(&executable, graph, nullptr, nullptr, 0);"
    },
    "one graph of graphs": {
        1: "cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);\n"
        "for (int k = 0; k < kernels; ++k) step(k, stream);\ncudaStreamEndCapture(stream, &graph);",
        2: "cudaGraph_t all = nullptr;\ncudaGraphCreate(&all, 0);\ncudaGraphNode_t last{};\n"
        "for (int i = 0; i < times; ++i) {\n  const cudaGraphNode_t before = last;\n"
        "  cudaGraphAddChildGraphNode(&last, all, &before, i > 0, graph);\n}\n"
        "cudaGraphInstantiateWithFlags(&executable, all, 0);\n"
        "cudaGraphLaunch(executable, stream);\ncudaGraphDestroy(all);"
    },
    "while": {
        1: "cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);\nint k = 0;\n"
        "while (k < kernels) step(k++, stream);\ncudaStreamEndCapture(stream, &graph);\n"
        "cudaGraphInstantiate(&executable, graph, 0);",
        2: "while (times-- > 0) cudaGraphLaunch(executable, stream);",
    },
    "a lambda records": {
        1: "const auto record = [&] {\n  for (int k = 0; k != kernels; ++k) step(k, stream);\n};\n"
        "if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed) == cudaSuccess) {\n"
        "  record();\n  cudaStreamEndCapture(stream, &graph);\n}\n"
        "cudaGraphInstantiate(&executable, graph, 0);"
    },
    "uploaded first": {
        2: "cudaGraphUpload(executable, stream);\n"
        "for (int left = times; left > 0; --left) cudaGraphLaunch(executable, stream);"
    },
}

MUTANTS = {
    "one run too many": {
        2: "for (int i = 0; i <= times; ++i) cudaGraphLaunch(executable, stream);"
    },
    "the last kernel first": {
        1: _RECORD.replace("step(k, stream)", "step(kernels - 1 - k, stream)")
    },
    "the recording counts as a run": {
        2: "for (int i = 1; i < times; ++i) cudaGraphLaunch(executable, stream);"
    },
    "all runs are recorded": {
        1: _RECORD.replace("kernels;", "kernels * times;").replace("(k,", "(k % kernels,"),
        2: "cudaGraphLaunch(executable, stream);",
    },
    "replayed in the default stream": {
        2: "for (int i = 0; i < times; ++i) cudaGraphLaunch(executable, nullptr);"
    },
    "replayed in a stream of its own": {
        2: "cudaStream_t own = nullptr;\ncudaStreamCreate(&own);\n"
        "for (int i = 0; i < times; ++i) cudaGraphLaunch(executable, own);\n"
        "cudaStreamSynchronize(own);\ncudaStreamDestroy(own);"
    },
    "every second kernel in a branch of the graph": {
        1: "cudaEvent_t begin, end;\ncudaEventCreate(&begin), cudaEventCreate(&end);\n"
        "cudaStream_t side;\ncudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);\n"
        "cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);\n"
        "cudaEventRecord(begin, stream);\ncudaStreamWaitEvent(side, begin, 0);\n"
        "for (int k = 0; k < kernels; ++k) step(k, k % 2 ? side : stream);\n"
        "cudaEventRecord(end, side);\ncudaStreamWaitEvent(stream, end, 0);\n"
        "cudaStreamEndCapture(stream, &graph);\ncudaStreamDestroy(side);\n"
        "cudaEventDestroy(begin), cudaEventDestroy(end);\n"
        "cudaGraphInstantiateWithFlags(&executable, graph, 0);"
    },
    "an executable for each run": {
        2: "for (int i = 0; i < times; ++i) {\n  cudaGraphExecDestroy(executable);\n"
        "  cudaGraphInstantiateWithFlags(&executable, graph, 0);\n"
        "  cudaGraphLaunch(executable, stream);\n}"
    },
    "an executable for each run, by a name in brackets": {
        2: "for (int i = 0; i < times; ++i) {\n  cudaGraphExecDestroy(executable);\n"
        "  (cudaGraphInstantiateWithFlags)(&executable, graph, 0);\n"
        "  (cudaGraphLaunch)(executable, stream);\n}"
    },
    "recorded into the default stream": {1: _RECORD.replace("step(k, stream)", "step(k, nullptr)")},
    "no graph: every kernel is launched": {
        2: "cudaGraphLaunch(executable, stream);\n"
        "for (int k = kernels; k < kernels * times; ++k) step(k % kernels, stream);"
    },
}
