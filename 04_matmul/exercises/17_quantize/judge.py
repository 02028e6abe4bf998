"""Exercise 04/quantize."""

from bisect import bisect
from math import ldexp

from exercise.api import Array, Case, Count, Right, drawn, e4m3, float32

TITLE = "A scale for 128 values"
KIND = "step"
MINUTES = 15
CALL = "quantize(float* x, __nv_fp8_e4m3* q, float* scales, int n)"

SHARE = 128
NUMBERS = [e4m3(byte) for byte in range(127)]  # from 0 to 448
MIDDLES = [(low + high) / 2 for low, high in zip(NUMBERS, NUMBERS[1:])]


def _group(random, count, scale):
    """Numbers whose largest is 448 times the scale, either way. None lies near the middle of two
    numbers of E4M3, and none below 0 is rounded to it: all ways to divide have one result."""
    values = []
    for _ in range(count):
        low = random.randrange(126)
        part = random.choice((random.uniform(0, 0.4), random.uniform(0.6, 1)))
        size = NUMBERS[low] + part * (NUMBERS[low + 1] - NUMBERS[low])
        values.append(float32(size * scale * (random.choice((-1, 1)) if low else 1)))
    values[random.randrange(count)] = float32(random.choice((-448, 448)) * scale)
    return values


def cases(random):
    few = drawn(random, 1, 127)
    odd = drawn(random, 1500, 2500, besides=range(0, 2500, SHARE))
    sizes = (128, 256, 4096, 128 * drawn(random, 17, 30), 1, 100, 129, 1000, few, odd)
    for n, zeros in (*((n, False) for n in sizes), (384, True), (128 * drawn(random, 4, 9), True)):
        x = []
        while len(x) < n:
            scale = ldexp(random.uniform(1, 2), random.choice((-88, random.randrange(-60, 60), 70)))
            x += _group(random, min(SHARE, n - len(x)), scale)
        if zeros:
            first = SHARE * random.randrange(n // SHARE)
            x[first : first + SHARE] = [0.0] * SHARE
        yield Case(
            f"n = {n}" + ", a group of zeros" * zeros,
            {"n": n, "zeros": int(zeros)},
            [
                Array("x", x),
                Array("q", role="output", type="byte", count=n),
                Array("scales", role="output", count=-(-n // SHARE)),
            ],
        )


def _scale(case, group):
    largest = max(map(abs, case["x"].values[group * SHARE : (group + 1) * SHARE]))
    return largest / 448 if largest else 1.0


def expected(case):
    scales = [_scale(case, group) for group in range(len(case["scales"]))]
    q = []
    for i, value in enumerate(case["x"].values):
        q.append(bisect(MIDDLES, abs(value) / scales[i // SHARE]) + 128 * (value < 0))
    return {"scales": scales, "q": q}


def bound(case, name, i):
    """A division, or a product with 1 / 448, rounds twice."""
    return ldexp(_scale(case, i), -22) if name == "scales" else 0.0


def _whole(case):
    return not case.sizes["zeros"] and case.sizes["n"] % SHARE == 0


def _moved(counts):
    return counts["global"]["load_bytes_moved"]


def _lanes(counts):
    return counts["global"]["load_executions"] / max(1, counts["global"]["load_requests"])


POINTS = [
    Right(2, "whole groups of 128", _whole),
    Right(2, "a last group that is shorter", lambda case: case.sizes["n"] % SHARE > 0),
    Right(1, "groups of zeros", lambda case: case.sizes["zeros"]),
    Count(
        2,
        "each element is loaded once, neighbours by neighbours",
        lambda case: _whole(case) and case.sizes["n"] > 2000,
        # A float4 behind a reference is seen as four loads.
        lambda counts, case: counts["global"]["load_bytes"] <= 4 * case.sizes["n"]
        and _moved(counts) <= 16 * case.sizes["n"]
        and _lanes(counts) >= 24,
        lambda counts: f"{counts['global']['load_bytes']} bytes were loaded, in sectors of "
        f"{_moved(counts)} bytes, by {_lanes(counts):.0f} lanes of a warp at a time",
        blocks=lambda case: case.sizes["n"] // 1024,
        busy=0.3,
    ),
]

_LOAD = """
for (int i = 0; i < kMine; ++i) {
  const int at = group * kShare + kMine * lane + i;
  if (at < n) mine[i] = x[at];
}"""
_OWN = "for (const float each : mine) largest = fmaxf(largest, fabsf(each));\n"
_ALL = (
    "for (int s = 16; s > 0; s /= 2) "
    "largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, s));\n"
)
_LARGEST = "float largest = 0;\n" + _OWN + _ALL
_KEEP = "if (lane == 0 && group * kShare < n) scales[group] = scale;"
_STORE = """
for (int i = 0; i < kMine; ++i) {
  const int at = group * kShare + 32 * i + lane;
  if (at < n) q[at] = VALUE;
}"""


def _scaled(scale):
    return {2: f"{_LARGEST}{scale}\n{_KEEP}"}


def _stored(value):
    return {3: _STORE.replace("VALUE", value)}


RIGHTS = {
    "four neighbours a lane, by float4": {
        1: "const int first = group * kShare + kMine * lane;\n"
        "if (first + 3 < n) {\n"
        "  const float4& four = *reinterpret_cast<const float4*>(x + first);\n"
        "  mine[0] = four.x, mine[1] = four.y, mine[2] = four.z, mine[3] = four.w;\n} else {\n"
        "  for (int i = 0; first + i < n; ++i) mine[i] = x[first + i];\n}",
        3: "for (int i = 0; i < kMine && first + i < n; ++i) {\n"
        "  q[first + i] = __nv_fp8_e4m3(mine[i] / scale);\n}",
    },
    "times the inverse, by an intrinsic": {
        2: _LARGEST + "scale = largest == 0 ? 1.0f : largest * (1 / 448.0f);\n" + _KEEP,
        3: "const float inverse = 1 / scale;\n"
        + _STORE.replace(
            "q[at] = VALUE",
            "q[at].__x = __nv_cvt_float_to_fp8(mine[i] * inverse, __NV_SATFINITE, __NV_E4M3)",
        ),
    },
    "the bits are compared": {
        2: "unsigned bits = 0;\n"
        "for (int i = 0; i < 4; ++i) bits = max(bits, __float_as_uint(mine[i]) & 0x7fffffffu);\n"
        "bits = __reduce_max_sync(0xffffffff, bits);\n"
        "if (bits != 0) scale = __uint_as_float(bits) / 448.0f;\n"
        "if (lane == 31 && kShare * group < n) scales[group] = scale;",
    },
    "down, and lane 0 tells the others": {
        2: "float largest = fmaxf(fmaxf(fabsf(mine[0]), fabsf(mine[1])),\n"
        "                      fmaxf(fabsf(mine[2]), fabsf(mine[3])));\n"
        "for (int s = 16; s > 0; s >>= 1) {\n"
        "  largest = fmaxf(largest, __shfl_down_sync(0xffffffffu, largest, s));\n}\n"
        "largest = __shfl_sync(0xffffffffu, largest, 0);\n"
        "scale = largest > 0 ? __fdividef(largest, 448) : 1;\n" + _KEEP
    },
    "pairs, by a grid-stride loop over groups": {
        0: [("  const int group = blockIdx.x * kWarps + threadIdx.x / 32;  // of 128 neighbours: "
             "this warp's\n  const int lane = threadIdx.x % 32;\n",
             "  const int lane = threadIdx.x;\n  for (int group = threadIdx.y + blockDim.y * "
             "blockIdx.x; kShare * group < n; group += blockDim.y * gridDim.x) {\n"),
            ("<<<(n + kPerBlock - 1) / kPerBlock, 32 * kWarps>>>",
             "<<<min(7, (n + kPerBlock - 1) / kPerBlock), dim3(32, kWarps)>>>")],
        1: "const float2* const pairs = reinterpret_cast<const float2*>(x + kShare * group);\n"
        "for (int h = 0; h < 2; ++h) {\n"
        "  const int left = n - kShare * group - 64 * h - 2 * lane;\n"
        "  if (left > 1) {\n    const float2 pair = __ldg(pairs + 32 * h + lane);\n"
        "    mine[2 * h] = pair.x, mine[2 * h + 1] = pair.y;\n"
        "  } else if (left == 1) {\n    mine[2 * h] = x[n - 1];\n  }\n}",
        3: "for (int h = 0; h < 2; ++h) {\n  const int at = kShare * group + 64 * h + 2 * lane;\n"
        "  const __nv_fp8x2_e4m3 two(make_float2(mine[2 * h] / scale, mine[2 * h + 1] / scale));\n"
        "  if (at + 1 < n) {\n    *reinterpret_cast<__nv_fp8x2_e4m3*>(q + at) = two;\n"
        "  } else if (at < n) {\n    q[at] = __nv_fp8_e4m3(mine[2 * h] / scale);\n  }\n}\n}",
    },
    "through shared memory": {
        2: "__shared__ float sizes[32 * kWarps];\nfloat largest = 0;\n" + _OWN
        + "sizes[threadIdx.x] = largest;\n__syncthreads();\n"
        "for (int i = 0; i < 32; ++i) largest = fmaxf(largest, sizes[threadIdx.x / 32 * 32 + i]);\n"
        "if (largest != 0) scale = largest / 448;\n" + _KEEP
    },
    "bytes made by hand": {
        0: [("// Every 128 neighbours",
             "__device__ unsigned byte_of(float v) {\n"
             "  const unsigned sign = __float_as_uint(v) >> 24 & 128u;\n"
             "  const float size = fminf(fabsf(v), 448);\n"
             "  if (size < 0.015625f) return sign | static_cast<unsigned>(rintf(size * 512));\n"
             "  const unsigned bits = __float_as_uint(size);\n"
             "  return sign | (((bits + 0x7ffffu + (bits >> 20 & 1u)) >> 20) - 960u);\n}\n\n"
             "// Every 128 neighbours")],
        3: _STORE.replace("q[at] = VALUE", "reinterpret_cast<unsigned char*>(q)[at] = "
                          "byte_of(mine[i] / scale)"),
    },
}

MUTANTS = {
    "each lane has a scale of its own": {
        2: "float largest = 0;\n" + _OWN + "if (largest > 0) scale = largest / 448;\n" + _KEEP
    },
    "the largest number, not the largest size": {
        2: "float largest = 0;\nfor (const float each : mine) largest = fmaxf(largest, each);\n"
        + _ALL + "if (largest > 0) scale = largest / 448;\n" + _KEEP
    },
    "zeros over zero": _scaled("scale = largest / 448;"),
    "half a warp agrees": {
        2: "float largest = 0;\n" + _OWN + _ALL.replace("s = 16", "s = 8")
        + "if (largest > 0) scale = largest / 448;\n" + _KEEP
    },
    "the scale is a power of two": _scaled(
        "if (largest > 0) scale = exp2f(ceilf(log2f(largest / 448)));"
    ),
    "the largest becomes 256": _scaled("if (largest > 0) scale = largest / 256;"),
    "the inverse is stored": {
        2: _LARGEST + "if (largest > 0) scale = largest / 448;\n"
        + _KEEP.replace("= scale;", "= 1 / scale;")
    },
    "1 / 448 with six digits": _scaled("if (largest > 0) scale = largest * 0.00223214f;"),
    "the other type of 8 bits": {
        3: "for (int i = 0; i < kMine; ++i) {\n  const int at = group * kShare + 32 * i + lane;\n"
        "  if (at < n) q[at].__x = __nv_fp8_e5m2(mine[i] / scale).__x;\n}"
    },
    "bits cut off": _stored(
        "__nv_fp8_e4m3(__uint_as_float(__float_as_uint(mine[i] / scale) & 0xfff00000u))"
    ),
    "times the scale": _stored("__nv_fp8_e4m3(mine[i] * scale)"),
    "not scaled": _stored("__nv_fp8_e4m3(mine[i])"),
    "the last group is always whole": {
        1: "for (int i = 0; i < kMine; ++i) {\n"
        "  if (group * kShare < n) mine[i] = x[group * kShare + 32 * i + lane];\n}",
        3: "for (int i = 0; i < kMine; ++i) {\n"
        "  const int at = group * kShare + 32 * i + lane;\n"
        "  if (group * kShare < n) q[at] = __nv_fp8_e4m3(mine[i] / scale);\n}",
    },
    "who has nothing has left": {
        1: "if (group * kShare + lane >= n) return;\n" + _LOAD.replace("kMine * lane + i",
                                                                       "32 * i + lane"),
    },
    "before: half of the lanes": {
        0: [("kMine = kShare / 32;", "kMine = kShare / 16;")],
        1: _LOAD.replace("kMine * lane + i", "16 * i + lane").replace(
            "at < n", "lane < 16 && at < n"
        ),
        3: _STORE.replace("32 * i", "16 * i").replace("at < n", "lane < 16 && at < n").replace(
            "VALUE", "__nv_fp8_e4m3(mine[i] / scale)"
        ),
    },
    "before: x is loaded again": _stored("__nv_fp8_e4m3(x[at] / scale)"),
    "before: one lane finds the scale": {
        2: "float largest = 0;\nfor (int i = group * kShare; lane == 0 && i < group * kShare + "
        "kShare; ++i) {\n  if (i < n) largest = fmaxf(largest, fabsf(x[i]));\n}\n"
        "largest = __shfl_sync(~0u, largest, 0);\nif (largest > 0) scale = largest / 448;\n" + _KEEP
    },
    "before: one lane does the rest": {
        1: _LOAD + "\n__shared__ float all[kWarps][kShare];\n"
        "for (int i = 0; i < kMine; ++i) all[threadIdx.x / 32][kMine * lane + i] = mine[i];\n"
        "__syncwarp();",
        2: "if (lane > 0 || group * kShare >= n) return;\nfloat largest = 0;\n"
        "for (float each : all[threadIdx.x / 32]) largest = fmaxf(largest, fabsf(each));\n"
        "if (largest > 0) scale = largest / 448;\nscales[group] = scale;",
        3: "for (int i = 0; i < kShare && group * kShare + i < n; ++i) {\n"
        "  q[group * kShare + i] = __nv_fp8_e4m3(all[threadIdx.x / 32][i] / scale);\n}",
    },
    "before: a thread for each group": {
        0: [("  //@ task 2", "  const int t = threadIdx.x + blockIdx.x * blockDim.x;\n"
             "  const int to = min(n, t * kShare + kShare);\n  //@ task 2"),
            ("<<<(n + kPerBlock - 1) / kPerBlock, 32 * kWarps>>>",
             "<<<(n + kPerBlock - 1) / kPerBlock, kWarps>>>")],
        1: "",
        2: "float largest = 0;\nfloat kept[kShare];\n"
        "for (int i = t * kShare; i < to; ++i) {\n"
        "  kept[i % kShare] = x[i];\n  largest = fmaxf(largest, fabsf(x[i]));\n}\n"
        "if (largest > 0) scale = largest / 448;\nif (t * kShare < n) scales[t] = scale;",
        3: "for (int i = t * kShare; i < to; ++i) {\n"
        "  q[i] = __nv_fp8_e4m3(kept[i % kShare] / scale);\n}",
    },
}
