"""Exercise 02/sparse."""

from exercise.api import Array, Case, Count, Right, drawn, floats

TITLE = "A new problem: a few expensive elements"
KIND = "problem"
MINUTES = 30
CALL = "activate(float* x, float* coefficients, float* y, int n)"

TERMS = 32
FEWEST_LANES = 16
MOST_LOADS = 2000 / 16384  # an element, with the loads of the tail


def cases(random):
    def case(name, n, share):
        x = [-v if random.random() < share else v for v in floats(random, n, 0.125, 1)]
        if share == 0.5:
            x[::5] = [0.0] * len(x[::5])  # which is not negative
            x[1::5] = [-0.0] * len(x[1::5])  # nor is this
        return Case(
            name,
            {"n": n},
            [
                Array("x", x),
                Array("coefficients", floats(random, TERMS)),
                Array("y", role="output", count=n),
            ],
        )

    yield case("n = 16384, 3 % negative", 16_384, 0.03)
    n = drawn(random, 8192, 14_000, 2048)
    yield case(f"n = {n}, 3 % negative", n, 0.03)
    yield case("n = 1, none negative", 1, 0)
    yield case("n = 1, negative", 1, 1)
    yield case("n = 33, half negative", 33, 0.5)
    yield case("n = 2049, none negative", 2049, 0)
    yield case("n = 5000, all negative", 5000, 1)
    yield case("n = 10007, 3 % negative", 10_007, 0.03)
    n = drawn(random, 34, 6000, besides=range(0, 6000, 32))
    yield case(f"n = {n}, half negative", n, 0.5)


def expected(case):
    def tail(x):
        total = 0.0
        for coefficient in case["coefficients"].values:
            total = total * x + coefficient
        return total

    return {"y": [tail(x) if x < 0 else x for x in case["x"].values]}


def bound(case, name, i):
    """32 steps, each rounded once, of sums that stay below 32."""
    return 2e-4 if case["x"].values[i] < 0 else 0.0


POINTS = [
    Right(2, "3 % of the elements are negative", lambda case: "3 %" in case.name),
    Right(3, "none, half or all of them are", lambda case: "3 %" not in case.name),
    Count(
        4,
        "at most 2000 loads for 16384 elements, and lanes that work together",
        lambda case: "3 %" in case.name and case.sizes["n"] % 2048 == 0,
        lambda counts, case: counts["global"]["load_requests"] <= MOST_LOADS * case.sizes["n"]
        and counts["active_lanes_per_instruction"] >= FEWEST_LANES
        and counts["threads"] >= case.sizes["n"] // 8,
        lambda counts: f"{counts['global']['load_requests']} loads by {counts['threads']} "
        f"threads; {counts['active_lanes_per_instruction']:.1f} lanes of a warp work together",
        blocks=lambda case: case.sizes["n"] // 4096,
    ),
]

_KERNEL = (
    "__global__ void activate_kernel("
    "const float* x, const float* coefficients, float* y, int n) {\n"
)
_PLAIN = (
    _KERNEL
    + """  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] < 0 ? tail(x[i], coefficients) : x[i];
}"""
)
_SHARED = _PLAIN.replace(
    "  const int i",
    "  __shared__ float all[kTerms];\n"
    "  if (threadIdx.x < kTerms) all[threadIdx.x] = coefficients[threadIdx.x];\n"
    "  __syncthreads();\n  const int i",
).replace("(x[i], coefficients)", "(x[i], all)")
_TWICE = (
    _KERNEL
    + """  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
  if (i < n && x[i] < 0) y[i] = tail(x[i], coefficients);
}"""
)
_QUEUE = (
    _KERNEL
    + """  __shared__ int owner[kQueue];
  __shared__ int end;
  if (threadIdx.x == 0) end = 0;
  __syncthreads();
  const int tile = blockIdx.x * 2048;
  for (int i = tile + threadIdx.x; i < min(tile + 2048, n); i += 256) {
    if (x[i] < 0) {
      PLACE
    } else {
      y[i] = x[i];
    }
  }
  __syncthreads();
  LAST
}"""
)
_ONE_BY_ONE = {2: "activate_kernel<<<(n + 255) / 256, 256>>>(x, coefficients, y, n);"}
_TILES = {2: "activate_kernel<<<(n + 2047) / 2048, 256>>>(x, coefficients, y, n);"}


def _queue(size, place, last):
    """A version with a queue, in which something is wrong."""
    return _QUEUE.replace("kQueue", str(size)).replace("PLACE", place).replace("LAST", last)


_PUT = "owner[atomicAdd(&end, 1)] = i;"
_ALL = "for (int t = threadIdx.x; t < end; t += 256) y[owner[t]] = tail(x[owner[t]], coefficients);"
_CUT = "__uint_as_float(__float_as_uint(x[owner[t]]) & 0xFFFFFF80u)"
_FEW = "if (threadIdx.x < end) y[owner[threadIdx.x]] = tail(x[owner[threadIdx.x]], coefficients);"

RIGHTS = {
    "two kernels and a list in global memory": {
        1: "__device__ int found;\n__device__ int list[1 << 20];\n"
        "__global__ void cheap_kernel(const float* x, float* y, int n) {\n"
        "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= n) return;\n"
        "  const float value = x[i];\n  if (value < 0) {\n    list[atomicAdd(&found, 1)] = i;\n"
        "  } else {\n    y[i] = value;\n  }\n}\n"
        "__global__ void tail_kernel(const float* x, const float* coefficients, float* y) {\n"
        "  for (int t = blockIdx.x * blockDim.x + threadIdx.x; t < found; "
        "t += gridDim.x * blockDim.x) {\n    y[list[t]] = tail(x[list[t]], coefficients);\n  }\n}\n"
        "__global__ void reset_kernel() { found = 0; }",
        2: "reset_kernel<<<1, 1>>>();\ncheap_kernel<<<(n + 255) / 256, 256>>>(x, y, n);\n"
        "tail_kernel<<<4, 128>>>(x, coefficients, y);",
    },
    "a queue of places": {1: _queue(2048, _PUT, _ALL), **_TILES},
    "places by the warp": {
        1: _queue(2048, "const unsigned all = __activemask();\n      int at = 0;\n"
        "      const int lane = threadIdx.x % 32, leader = __ffs(all) - 1;\n"
        "      if (lane == leader) at = atomicAdd(&end, __popc(all));\n"
        "      at = __shfl_sync(all, at, leader);\n"
        "      owner[at + __popc(all & ((1u << lane) - 1))] = i;", _ALL), **_TILES
    },
}

MUTANTS = {
    "before: a plain branch, coefficients in shared memory": {
        1: _SHARED,
        2: "activate_kernel<<<(n + 1023) / 1024, 1024>>>(x, coefficients, y, n);",
    },
    "before: the same in two kernels, one for each half": {
        1: _SHARED + "\n" + _SHARED.replace("activate_kernel", "second_kernel"),
        2: "const int half = n / 2, rest = n - half;\nif (half > 0) {\n"
        "  activate_kernel<<<(half + 255) / 256, 256>>>(x, coefficients, y, half);\n}\n"
        "second_kernel<<<(rest + 255) / 256, 256>>>(x + half, coefficients, y + half, rest);",
    },
    "0 is taken for negative": {
        1: _queue(2048, _PUT, _ALL).replace("x[i] < 0", "x[i] <= 0"), **_TILES
    },
    "-0 counts as negative": {
        1: _queue(2048, _PUT, _ALL).replace("x[i] < 0", "signbit(x[i])"), **_TILES
    },
    "before: one block, coefficients in registers": {
        1: _KERNEL + """  float all[kTerms];
  for (int k = 0; k < kTerms; ++k) all[k] = coefficients[k];
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    float sum = 0;
    for (int k = 0; k < kTerms && x[i] < 0; ++k) sum = fmaf(sum, x[i], all[k]);
    y[i] = x[i] < 0 ? sum : x[i];
  }
}""",
        2: "activate_kernel<<<1, 256>>>(x, coefficients, y, n);",
    },
    "before: a plain branch, four coefficients at a time, by value": {
        1: "__device__ float four(float4 c, float s, float x) {\n"
        "  return fmaf(fmaf(fmaf(fmaf(s, x, c.x), x, c.y), x, c.z), x, c.w);\n}\n"
        + _PLAIN.replace("y[i] = x[i] < 0 ? tail(x[i], coefficients) : x[i];", """{
    float sum = 0;
    const float4* const all = reinterpret_cast<const float4*>(coefficients);
    if (x[i] < 0) {
      for (int k = 0; k < kTerms / 4; ++k) sum = four(all[k], sum, x[i]);
    }
    y[i] = x[i] < 0 ? sum : x[i];
  }"""),
        **_ONE_BY_ONE,
    },
    "the lowest 7 bits of x are cut off": {
        1: _queue(2048, _PUT, _ALL.replace("x[owner[t]]", _CUT)), **_TILES
    },
    "no barrier before the queue is read": {
        1: _queue(2048, _PUT, _ALL).replace("  __syncthreads();\n  for (int t", "  for (int t"),
        **_TILES,
    },
    "a queue for 256 elements": {1: _queue(256, _PUT, _ALL), **_TILES},
    "the first 256 of a queue are computed": {1: _queue(2048, _PUT, _FEW), **_TILES},
    "places are taken without an atomic": {1: _queue(2048, "owner[end++] = i;", _ALL), **_TILES},
    "before: a plain branch": {1: _PLAIN, **_ONE_BY_ONE},
    "before: stores all, then corrects some": {1: _TWICE, **_ONE_BY_ONE},
}
