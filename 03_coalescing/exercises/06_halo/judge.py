"""Exercise 03/halo."""

import math

from exercise.api import Array, Case, Count, Right, drawn, floats

TITLE = "A tile with its halo"
KIND = "step"
MINUTES = 15
CALL = "window(float* x, float* y, int n, int radius)"

BLOCK = 128


def cases(random):
    fixed = ((128, 3), (1024, 8), (1, 1), (5, 16), (127, 2), (129, 16), (1000, 5))
    whole = drawn(random, 2 * BLOCK, 9 * BLOCK, BLOCK, (1024,)), drawn(random, 6, 16)
    odd = drawn(random, 6, 999, besides=range(0, 999, BLOCK)), drawn(random, 6, 15)
    for n, radius in (*fixed, whole, odd):
        yield Case(
            f"n = {n}, radius {radius}",
            {"n": n, "radius": radius},
            [Array("x", floats(random, n)), Array("y", role="output", count=n)],
            tile=BLOCK,
        )


def expected(case):
    x, n, radius = case["x"].values, case.sizes["n"], case.sizes["radius"]
    return {"y": [math.fsum(x[max(0, i - radius) : i + radius + 1]) for i in range(n)]}


def bound(case, name, i):
    """Each of 2 radius + 1 additions rounds a sum of numbers up to 1."""
    taps = 2 * case.sizes["radius"] + 1
    return taps * taps * 2**-24


def _most_bytes(case):
    """As blocks of 128 outputs need them, with halos of whole float4; larger blocks need less. At
    the ends of x a lane may load some element in place of one that is not there."""
    n, halo = case.sizes["n"], -(-case.sizes["radius"] // 4) * 4
    return 4 * (n // BLOCK * (BLOCK + 2 * halo))


POINTS = [
    Right(2, "whole blocks", lambda case: case.sizes["n"] % BLOCK == 0),
    Right(2, "any other size", lambda case: case.sizes["n"] % BLOCK),
    Count(
        2,
        "a block loads each input once",
        lambda case: case.sizes["n"] % BLOCK == 0,
        lambda counts, case: counts["global"]["load_bytes"] <= _most_bytes(case),
        lambda counts: f"{counts['global']['load_bytes'] // 4} floats were loaded (128 outputs "
        f"need 128 + 2 radius, each once); blocks: {counts['blocks']}",
        blocks=lambda case: case.sizes["n"] // 512,
    ),
]

_FROM_MEMORY = """
const int i = first + threadIdx.x;
if (i >= n) return;
float sum = 0;
for (int k = -radius; k <= radius; ++k) {
  if (i + k >= 0 && i + k < n) sum += x[i + k];
}
y[i] = sum;"""
_SUM = """
const int i = first + threadIdx.x;
if (i >= n) return;
BARRIER
float sum = 0;
for (int k = 0; k <= 2 * radius; ++k) sum += tile[threadIdx.x + k];
y[i] = sum;"""

RIGHTS = {
    "blocks of 256": {0: [("kBlock = 128", "kBlock = 256")]},
    "two loads a thread, by a lambda": {
        1: "const auto load = [&](int j) {\n  const int i = first - radius + j;\n"
        "  tile[j] = i < 0 || i >= n ? 0.0f : x[i];\n};\n"
        "const int t = threadIdx.x;\nload(t);\nif (t < 2 * radius) load(t + kBlock);"
    },
    "float4, from a multiple of 4 on": {
        1: "const int before = (radius + 3) / 4 * 4, begin = first - before;\n"
        "for (int q = threadIdx.x; q < (kBlock + 2 * before) / 4; q += kBlock) {\n"
        "  float4 four = make_float4(0, 0, 0, 0);\n  const int i = begin + 4 * q;\n"
        "  if (i >= 0 && i + 4 <= n) {\n    four = *reinterpret_cast<const float4*>(x + i);\n"
        "  } else if (i >= 0) {\n    if (i < n) four.x = x[i];\n"
        "    if (i + 1 < n) four.y = x[i + 1];\n    if (i + 2 < n) four.z = x[i + 2];\n  }\n"
        "  const int j = 4 * q - (before - radius);\n"
        "  if (j >= 0) tile[j] = four.x;\n  if (j + 1 >= 0) tile[j + 1] = four.y;\n"
        "  if (j + 2 >= 0) tile[j + 2] = four.z;\n"
        "  if (j + 3 < kBlock + 2 * kMaxRadius) tile[j + 3] = four.w;\n}"
    },
    "lanes past an end load the element there, and store 0": {
        1: "for (int j = threadIdx.x; j < kBlock + 2 * radius; j += kBlock) {\n"
        "  const int i = first - radius + j, there = min(max(i, 0), n - 1);\n"
        "  const float value = x[there];\n  tile[j] = i == there ? value : 0.0f;\n}"
    },
    "while, and an if for the load": {
        1: "int j = threadIdx.x;\nwhile (j < kBlock + 2 * radius) {\n  float value = 0;\n"
        "  const int i = first + j - radius;\n  if (0 <= i && i < n) value = *(x + i);\n"
        "  tile[j] = value;\n  j += blockDim.x;\n}"
    },
    "from the far end, and the guard comes last": {
        2: "float sum = 0;\n__syncthreads();\nconst float* const window = tile + threadIdx.x;\n"
        "for (int k = 2 * radius; k >= 0; --k) sum += window[k];\n"
        "if (first + (int)threadIdx.x < n) y[first + threadIdx.x] = sum;"
    },
}

MUTANTS = {
    "before: thread 0 does it all": {
        1: "for (int j = 0; j < kBlock + 2 * radius && threadIdx.x == 0; ++j) {\n"
        "  const int i = first - radius + j;\n  tile[j] = i >= 0 && i < n ? x[i] : 0.0f;\n}",
        2: "for (int t = 0; t < kBlock && first + t < n && threadIdx.x == 0; ++t) {\n"
        "  float sum = 0;\n  for (int k = 0; k <= 2 * radius; ++k) sum += tile[t + k];\n"
        "  y[first + t] = sum;\n}",
    },
    "the lowest 5 bits of x are cut off": {
        1: "for (int j = threadIdx.x; j < kBlock + 2 * radius; j += kBlock) {\n"
        "  const int i = first - radius + j;\n"
        "  const float value = i >= 0 && i < n ? x[i] : 0.0f;\n"
        "  tile[j] = __uint_as_float(__float_as_uint(value) & 0xFFFFFFE0u);\n}"
    },
    "one input a thread": {
        1: "const int at = first - radius + threadIdx.x;\n"
        "tile[threadIdx.x] = at >= 0 && at < n ? x[at] : 0.0f;"
    },
    "nothing is zero": {
        1: "for (int j = threadIdx.x; j < kBlock + 2 * radius; j += kBlock) {\n"
        "  tile[j] = x[min(max(first - radius + j, 0), n - 1)];\n}"
    },
    "no barrier": {2: _SUM.replace("BARRIER", "")},
    "the barrier behind the exit": {2: _SUM.replace("BARRIER", "__syncthreads();")},
    "before: each window from memory": {1: "", 2: _FROM_MEMORY},
}
