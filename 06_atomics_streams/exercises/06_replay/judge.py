"""Exercise 06/replay."""

from exercise.api import Array, Case, Right, drawn

TITLE = "Record once, replay often"
KIND = "step"
MINUTES = 10


def cases(random):
    fixed = ((1, 1, 1), (100, 3, 1), (65, 4, 2), (70, 5, 7), (33, 10, 20))
    drew = [(drawn(random, 2, 99), drawn(random, 6, 9), n) for n in (1, drawn(random, 3, 9))]
    for n, kernels, times in (*fixed, *drew):
        yield Case(
            f"{kernels} kernel{'s' * (kernels > 1)}, {times} time{'s' * (times > 1)}",
            {"n": n, "kernels": kernels, "times": times},
            [
                Array("x", [random.randrange(2**32) for _ in range(n)], "in_out", "uint"),
                Array("calls", role="output", count=1, type="int", by_host=True),
            ],
        )


def expected(case):
    x = list(case["x"].values)
    for k in list(range(case.sizes["kernels"])) * case.sizes["times"]:
        x = [((value ^ k) * 5 + k) % 2**32 for value in x]
    return {"x": x, "calls": [case.sizes["kernels"]]}


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
    "recorded into the default stream": {1: _RECORD.replace("step(k, stream)", "step(k, nullptr)")},
    "no graph: every kernel is launched": {
        2: "cudaGraphLaunch(executable, stream);\n"
        "for (int k = kernels; k < kernels * times; ++k) step(k % kernels, stream);"
    },
}
