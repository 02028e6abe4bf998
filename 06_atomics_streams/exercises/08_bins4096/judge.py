"""Exercise 06/bins4096."""

from exercise.api import Array, Case, Count, Right, drawn

TITLE = "A new problem: 4096 bins"
KIND = "problem"
MINUTES = 25
CALL = "histogram(int* x, unsigned* bins, int n)"

BINS = 4096


def cases(random):
    few = random.sample(range(BINS), 300)
    small, large = drawn(random, 2, 254), drawn(random, 18_000, 19_999)
    inputs = {
        "20000 numbers, 300 different": [random.choice(few) for _ in range(20_000)],
        "1 number": [random.randrange(BINS)],
        "255 numbers": [random.randrange(BINS) for _ in range(255)],
        "the smallest and the largest": [0, BINS - 1, 0],
        "3001 numbers, half of them outside": [
            random.randrange(-BINS, BINS) for _ in range(3000)
        ]
        + [BINS],
        f"{small} numbers": [random.randrange(BINS) for _ in range(small)],
        f"{large} numbers, 300 different": [random.choice(few) for _ in range(large)],
        "3000 equal numbers": [random.randrange(BINS)] * 3000,
        "530000 equal numbers": [random.randrange(BINS)] * 530_000,  # 16 bits are not enough
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


def _is_large(case):
    return "different" in case.name


POINTS = [
    Right(2, "up to 256 numbers", lambda case: case.sizes["n"] <= 256),
    Right(3, "more of them, some outside", lambda case: case.sizes["n"] > 256),
    Count(
        2,
        "at most 4096 atomics in global memory",
        _is_large,
        lambda counts, case: _asked(counts) <= 4096,
        lambda counts: f"{_asked(counts)} atomics in global memory, 2400 are enough",
    ),
    Count(
        1,
        "work for four SMs",
        _is_large,
        lambda counts, case: True,
        blocks=lambda case: 4,
        threads=lambda case: {"loads": 512},
        busy=0.6,
    ),
]

_KERNEL = """
__shared__ unsigned mine[kBins];
for (int v = threadIdx.x; v < kBins; v += kBlock) mine[v] = 0;
__syncthreads();
for (int i = blockIdx.x * kBlock + threadIdx.x; i < n; i += gridDim.x * kBlock) {{
  const int value = x[i];
  if ({inside}) atomicAdd(&mine[value], 1u);
}}
__syncthreads();
for (int v = threadIdx.x; v < kBins; v += kBlock) {{
  const unsigned count = mine[v];
  {some}atomicAdd(&bins[v], count);
}}"""
_INSIDE = "value >= 0 && value < kBins"
_SOME = "if (count > 0) "

RIGHTS = {
    "a part of the bins for each block": {
        1: "__shared__ unsigned mine[kBins / 4];\nconst int first = blockIdx.x * kBins / 4;\n"
        "for (int v = threadIdx.x; v < kBins / 4; v += kBlock) mine[v] = 0;\n__syncthreads();\n"
        "for (int i = threadIdx.x; i < n; i += kBlock) {\n"
        "  const unsigned v = static_cast<unsigned>(x[i]) - first;\n"
        "  if (v < kBins / 4) atomicAdd(&mine[v], 1u);\n}\n__syncthreads();\n"
        "for (int v = threadIdx.x; v < kBins / 4; v += kBlock) {\n"
        "  if (mine[v] > 0) atomicAdd(&bins[first + v], mine[v]);\n}",
        2: "histogram_kernel<<<4, kBlock>>>(x, bins, n);",
    },
    "unsigned numbers": {
        1: "__shared__ unsigned mine[kBins];\n"
        "for (int v = kBins - 1 - threadIdx.x; v >= 0; v -= kBlock) "
        "mine[v] = 0;\n__syncthreads();\n"
        "for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += blockDim.x * gridDim.x) "
        "{\n"
        "  const unsigned value = static_cast<unsigned>(x[i]);\n"
        "  if (value < kBins) atomicAdd(mine + value, 1u);\n}\n__syncthreads();\n"
        "for (int v = threadIdx.x; v < kBins; v += kBlock) {\n  const unsigned count = mine[v];\n"
        "  if (count != 0) atomicAdd(bins + v, count);\n}"
    },
    "memset, and pointers": {
        1: "__shared__ unsigned mine[kBins];\n"
        "memset(mine + 16 * threadIdx.x, 0, 16 * sizeof(unsigned));\n__syncthreads();\n"
        "const int* from = x + blockIdx.x * kBlock + threadIdx.x;\n"
        "for (; from < x + n; from += gridDim.x * kBlock) {\n"
        "  if (0 <= *from && *from <= 4095) atomicAdd(&mine[*from], 1u);\n}\n__syncthreads();\n"
        "for (unsigned* v = mine + threadIdx.x; v < mine + kBins; v += kBlock) {\n"
        "  if (*v) atomicAdd(&bins[v - mine], *v);\n}",
        2: "histogram_kernel<<<min(8, (n + 255) / 256), 256>>>(x, bins, n);",
    },
}

MUTANTS = {
    "two counters in a word, of 16 bits": {
        1: "__shared__ unsigned pairs[kBins / 2];\n"
        "for (int v = threadIdx.x; v < kBins / 2; v += kBlock) pairs[v] = 0;\n__syncthreads();\n"
        "for (int i = blockIdx.x * kBlock + threadIdx.x; i < n; i += gridDim.x * kBlock) {\n"
        "  const int value = x[i];\n  if (value < 0 || value >= kBins) continue;\n"
        "  atomicAdd(&pairs[value / 2], value % 2 ? 1u << 16 : 1u);\n}\n__syncthreads();\n"
        "for (int v = threadIdx.x; v < kBins; v += kBlock) {\n"
        "  const unsigned count = pairs[v / 2] >> v % 2 * 16 & 0xffffu;\n"
        "  if (count > 0) atomicAdd(&bins[v], count);\n}",
        2: "histogram_kernel<<<4, kBlock>>>(x, bins, n);",
    },
    "before: three blocks of four return at once": {
        1: _KERNEL.format(inside=_INSIDE, some=_SOME).replace(
            "\n__shared__", "\nif (blockIdx.x > 0) return;\n__shared__", 1
        ).replace("blockIdx.x * kBlock + threadIdx.x", "threadIdx.x").replace("gridDim.x * ", ""),
        2: "histogram_kernel<<<4, kBlock>>>(x, bins, n);",
    },
    "before: thread 0 counts for its block": {
        1: _KERNEL.format(inside=_INSIDE, some=_SOME).replace(
            "for (int i = blockIdx.x * kBlock + threadIdx.x; i < n; i += gridDim.x * kBlock)",
            "for (int i = blockIdx.x; threadIdx.x == 0 && i < n; i += gridDim.x)",
        ),
        2: "histogram_kernel<<<4, kBlock>>>(x, bins, n);",
    },
    "nobody waits until all have counted": {
        1: _KERNEL.format(inside=_INSIDE, some=_SOME).replace("}\n__syncthreads();\n", "}\n")
    },
    "a thread clears one counter": {
        1: _KERNEL.format(inside=_INSIDE, some=_SOME).replace(
            "for (int v = threadIdx.x; v < kBins; v += kBlock) mine[v] = 0;",
            "mine[threadIdx.x] = 0;",
        )
    },
    "4096 counts as inside": {
        1: _KERNEL.format(inside="value >= 0 && value <= kBins", some=_SOME)
    },
    "before: counters that are 0 are handed in": {1: _KERNEL.format(inside=_INSIDE, some="")},
    "before: one block of 256": {2: "histogram_kernel<<<1, kBlock>>>(x, bins, n);"},
}
