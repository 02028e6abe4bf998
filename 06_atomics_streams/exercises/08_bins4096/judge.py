"""Exercise 06/bins4096."""

from exercise.api import Array, Case, Count, Right

TITLE = "A new problem: 4096 bins"
KIND = "problem"
MINUTES = 25
CALL = "histogram(int* x, unsigned* bins, int n)"

BINS = 4096


def cases(random):
    few = random.sample(range(BINS), 300)
    inputs = {
        "20000 numbers, 300 different": [random.choice(few) for _ in range(20_000)],
        "1 number": [random.randrange(BINS)],
        "255 numbers": [random.randrange(BINS) for _ in range(255)],
        "the smallest and the largest": [0, BINS - 1, 0],
        "3001 numbers, half of them outside": [
            random.randrange(-BINS, BINS) for _ in range(3000)
        ]
        + [BINS],
        "3000 equal numbers": [random.randrange(BINS)] * 3000,
    }
    for name, values in inputs.items():
        bins = Array("bins", [random.randrange(9) for _ in range(BINS)], "in_out", "uint")
        yield Case(name, {"n": len(values)}, [Array("x", values, type="int"), bins])


def expected(case):
    bins = list(case["bins"].values)
    for value in case["x"].values:
        if 0 <= value < BINS:
            bins[value] += 1
    return {"bins": bins}


def _asked(counts):
    return counts["atomics"]["global_executions"]


LARGE = "20000 numbers, 300 different"
POINTS = [
    Right(2, "up to 256 numbers", lambda case: case.sizes["n"] <= 256),
    Right(3, "more of them, some outside", lambda case: case.sizes["n"] > 256),
    Count(
        2,
        "at most 4096 atomics in global memory",
        LARGE,
        lambda counts, case: _asked(counts) <= 4096,
        lambda counts: f"{_asked(counts)} atomics in global memory, 2400 are enough",
    ),
    Count(
        1,
        "work for four SMs",
        LARGE,
        lambda counts, case: counts["threads"] >= 4 * 256,
        lambda counts: f"{counts['threads']} threads were started, 4 blocks have 1024",
    ),
]

_KERNEL = """
__shared__ unsigned mine[kBins];
for (int v = threadIdx.x; v < kBins; v += kBlock) mine[v] = 0;
__syncthreads();
for (int i = blockIdx.x * kBlock + threadIdx.x; i < n; i += gridDim.x * kBlock) {{
  if ({inside}) atomicAdd(&mine[x[i]], 1u);
}}
__syncthreads();
for (int v = threadIdx.x; v < kBins; v += kBlock) {{
  {some}atomicAdd(&bins[v], mine[v]);
}}"""
_INSIDE = "x[i] >= 0 && x[i] < kBins"
_SOME = "if (mine[v] > 0) "

MUTANTS = {
    "a thread clears one counter": {
        1: _KERNEL.format(inside=_INSIDE, some=_SOME).replace(
            "for (int v = threadIdx.x; v < kBins; v += kBlock) mine[v] = 0;",
            "mine[threadIdx.x] = 0;",
        )
    },
    "4096 counts as inside": {
        1: _KERNEL.format(inside="x[i] >= 0 && x[i] <= kBins", some=_SOME)
    },
    "before: counters that are 0 are handed in": {1: _KERNEL.format(inside=_INSIDE, some="")},
    "before: one block of 256": {2: "histogram_kernel<<<1, kBlock>>>(x, bins, n);"},
}
