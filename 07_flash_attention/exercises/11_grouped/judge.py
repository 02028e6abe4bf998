"""Exercise 07/grouped."""

import math

from exercise.api import Array, Case, Count, Right, drawn, floats

TITLE = "Make it fast: one token, grouped queries"
KIND = "speed"
MINUTES = 45
CALL = "decode(float* q, float* k, float* v, float* o, int kv_heads, int n)"

D, GROUP = 32, 4


def cases(random):
    fixed = ((2, 128, 1), (1, 1, 1), (1, 3, 1), (2, 33, 2), (1, 70, 20))
    for heads, n, spread in (*fixed, (drawn(random, 2, 3), drawn(random, 2, 20), 1)):
        arrays = [Array("q", floats(random, heads * GROUP * D, -spread, spread))]
        arrays += [Array("k", floats(random, heads * n * D, -spread, spread))]
        arrays += [Array("v", floats(random, heads * n * D))]
        arrays += [Array("o", role="output", count=heads * GROUP * D, shape=(heads * GROUP, D))]
        name = f"{heads} kv head{'s' * (heads > 1)}, n = {n}"
        name += ", large scores" if spread > 2 else ""
        yield Case(name, {"kv_heads": heads, "n": n, "spread": spread}, arrays)


def expected(case):
    q, k, v = (case[name].values for name in "qkv")
    n, o = case.sizes["n"], []
    for head in range(case.sizes["kv_heads"] * GROUP):
        own, keys = q[head * D : head * D + D], range(head // GROUP * n, head // GROUP * n + n)
        scores = [
            sum(a * b for a, b in zip(own, k[j * D : j * D + D])) / math.sqrt(D) for j in keys
        ]
        weights = [math.exp(score - max(scores)) for score in scores]
        for c in range(D):
            o.append(sum(w * v[j * D + c] for j, w in zip(keys, weights)) / sum(weights))
    return {"o": o}


def bound(case, name, i):
    return (16 * math.sqrt(D) * case.sizes["spread"] ** 2 + 2 * case.sizes["n"] + 32) * 2**-24


def _loaded(counts):
    """Floats. One that several lanes of a warp load at once comes once."""
    return counts["global"]["load_bytes_used"] // 4


def _stored(counts, case):
    """Beside the results."""
    return max(0, counts["global"]["store_bytes"] // 4 - len(case["o"]))


LARGE = "2 kv heads, n = 128"
POINTS = [
    Right(2, "still right"),
    Count(
        4,
        "each key and value is loaded once",
        LARGE,
        # What a kernel has stored on the way may be loaded by all lanes of a warp, or twice.
        lambda counts, case: _loaded(counts) <= 18_000 + 8 * _stored(counts, case),
        lambda counts: f"{_loaded(counts)} floats were loaded; 18000 are more than enough, beside "
        "what the kernels themselves have stored",
    ),
    Count(
        1,
        "as many warps as query heads",
        LARGE,
        lambda counts, case: counts["threads"] >= 2 * GROUP * 32,
        lambda counts: f"{counts['threads'] // 32} warps for 8 query heads",
        threads=lambda case: {"steps": GROUP * 32},
    ),
]

_ONE_WARP = """
__global__ void decode_kernel(const float* q, const float* k, const float* v, float* o, int n) {
  const int head = blockIdx.x, lane = threadIdx.x;
  k += head * n * kD;
  v += head * n * kD;
  float largest[kGroup], sum[kGroup] = {}, mean[kGroup] = {}, own[kGroup];
  for (int g = 0; g < kGroup; ++g) {
    own[g] = q[(head * kGroup + g) * kD + lane] / sqrtf(kD);
    largest[g] = -INFINITY;
  }
  for (int j = 0; j < n; ++j) {
    const float key = k[j * kD + lane], value = v[j * kD + lane];
    for (int g = 0; g < kGroup; ++g) {
      const float score = over_warp(own[g] * key);
      const float larger = fmaxf(largest[g], score);
      const float correction = expf(largest[g] - larger), weight = expf(score - larger);
      largest[g] = larger;
      sum[g] = sum[g] * correction + weight;
      mean[g] = mean[g] * correction + weight * value;
    }
  }
  for (int g = 0; g < kGroup; ++g) o[(head * kGroup + g) * kD + lane] = mean[g] / sum[g];
}
inline void decode(const float* q, const float* k, const float* v, float* o, int kv_heads, int n) {
  decode_kernel<<<kv_heads, 32>>>(q, k, v, o, n);
}"""
_A_WARP_A_HEAD = """
__global__ void decode_kernel(const float* q, const float* k, const float* v, float* o, int n) {
  const int head = blockIdx.x, lane = threadIdx.x;
  k += KV_HEAD * n * kD;
  v += KV_HEAD * n * kD;
  const float own = q[head * kD + lane] / sqrtf(kD);
  float largest = -INFINITY, sum = 0, mean = 0;
  for (int j = 0; j < n; ++j) {
    const float score = over_warp(own * k[j * kD + lane]);
    const float larger = fmaxf(largest, score);
    const float correction = expf(largest - larger), weight = expf(score - larger);
    largest = larger;
    sum = sum * correction + weight;
    mean = mean * correction + weight * v[j * kD + lane];
  }
  o[head * kD + lane] = mean / sum;
}
inline void decode(const float* q, const float* k, const float* v, float* o, int kv_heads, int n) {
  decode_kernel<<<kv_heads * kGroup, 32>>>(q, k, v, o, n);
}"""

RIGHTS = {
    "four lanes load a float4 of the queries together": {
        0: [("    own[g] = q[(head * kGroup + g) * kD + lane] / sqrtf(kD);\n",
             "    const float* from = q + (head * kGroup + g) * kD;\n"
             "    const float4 four = reinterpret_cast<const float4*>(from)[lane / 4];\n"
             "    const float of[] = {four.x, four.y, four.z, four.w};\n"
             "    own[g] = of[lane % 4] / sqrtf(kD);\n")],
    },
    "four stretches of the keys, and a second kernel": {
        1: """
__global__ void part_kernel(const float* q, const float* k, const float* v, float* part, int n) {
  const int head = blockIdx.x, lane = threadIdx.x, each = (n + 3) / 4, chunk = blockIdx.y;
  float largest[kGroup], sum[kGroup] = {}, mean[kGroup] = {}, own[kGroup];
  for (int g = 0; g < kGroup; ++g) {
    own[g] = q[(head * kGroup + g) * kD + lane] / sqrtf(kD);
    largest[g] = -INFINITY;
  }
  for (int j = chunk * each; j < min(n, chunk * each + each); ++j) {
    const float key = k[(head * n + j) * kD + lane], value = v[(head * n + j) * kD + lane];
    for (int g = 0; g < kGroup; ++g) {
      const float score = over_warp(own[g] * key);
      const float larger = fmaxf(largest[g], score);
      const float correction = expf(largest[g] - larger), weight = expf(score - larger);
      largest[g] = larger;
      sum[g] = sum[g] * correction + weight;
      mean[g] = mean[g] * correction + weight * value;
    }
  }
  for (int g = 0; g < kGroup; ++g) {
    float* const to = part + ((head * kGroup + g) * 4 + chunk) * 34;
    to[lane] = mean[g];
    if (lane == 0) to[32] = largest[g], to[33] = sum[g];
  }
}
__global__ void join_kernel(const float* part, float* o) {
  const int head = blockIdx.x, lane = threadIdx.x;
  part += head * 4 * 34;
  float largest = -INFINITY, sum = 0, mean = 0;
  for (int c = 0; c < 4; ++c) largest = fmaxf(largest, part[c * 34 + 32]);
  for (int c = 0; c < 4; ++c) {
    const float factor = expf(part[c * 34 + 32] - largest);
    sum += factor * part[c * 34 + 33];
    mean += factor * part[c * 34 + lane];
  }
  o[head * kD + lane] = mean / sum;
}
inline void decode(const float* q, const float* k, const float* v, float* o, int kv_heads, int n) {
  float* part = nullptr;
  cudaMalloc(&part, sizeof(float) * kv_heads * kGroup * 4 * 34);
  part_kernel<<<dim3(kv_heads, 4), 32>>>(q, k, v, part, n);
  join_kernel<<<kv_heads * kGroup, 32>>>(part, o);
  cudaFree(part);
}"""
    },
    "the queries lie in shared memory, a template": {
        0: [("float own[kGroup], largest[kGroup]",
             "__shared__ float queries[kGroup][kD];\n"
             "  for (int e = threadIdx.x; e < kGroup * kD; e += 32 * kWarps) {\n"
             "    queries[e / kD][e % kD] = q[head * kGroup * kD + e] / sqrtf(kD);\n  }\n"
             "  __syncthreads();\n  float largest[kGroup]"),
            ("    own[g] = q[(head * kGroup + g) * kD + lane] / sqrtf(kD);\n", ""),
            ("over_warp(own[g] * key)", "over_warp(queries[g][lane] * key)")],
    },
    "only a larger one rescales": {
        0: [("""      const float larger = fmaxf(largest[g], score);
      const float correction = expf(largest[g] - larger), weight = expf(score - larger);
      largest[g] = larger;
      sum[g] = sum[g] * correction + weight;
      mean[g] = mean[g] * correction + weight * value;
""", """      float &top = largest[g], &all = sum[g];
      if (score > top) {
        const float correction = expf(top - score);
        all *= correction;
        mean[g] *= correction;
        top = score;
      }
      all += expf(score - top);
      mean[g] = fmaf(expf(score - top), value, mean[g]);
""")],
    },
    "pointers, each warp a stretch of the keys": {
        0: [("  for (int j = warp; j < n; j += kWarps) {\n"
             "    const float key = k[j * kD + lane], value = v[j * kD + lane];\n",
             "  const int share = (n + kWarps - 1) / kWarps;\n"
             "  const float *from = k + warp * share * kD + lane, *of_v = v + (from - k);\n"
             "  for (int j = warp * share; j < min(n, (warp + 1) * share); ++j) {\n"
             "    const float key = *from, value = *of_v;\n    from += kD, of_v += kD;\n")],
    },
}

MUTANTS = {
    "before: four warps load, and one of them computes": {
        1: """
__global__ void decode_kernel(const float* q, const float* k, const float* v, float* o, int n) {
  __shared__ float keys[16][kD], values[16][kD];
  const int head = blockIdx.x, lane = threadIdx.x % 32;
  float own[kGroup], largest[kGroup], sum[kGroup] = {}, mean[kGroup] = {};
  for (int g = 0; g < kGroup; ++g) {
    own[g] = q[(head * kGroup + g) * kD + lane] / sqrtf(kD);
    largest[g] = -INFINITY;
  }
  for (int first = 0; first < n; first += 16) {
    const int end = min(16, n - first);
    __syncthreads();
    for (int e = threadIdx.x; e < end * kD; e += 128) {
      keys[e / kD][e % kD] = k[(head * n + first) * kD + e];
      values[e / kD][e % kD] = v[(head * n + first) * kD + e];
    }
    __syncthreads();
    for (int j = 0; threadIdx.x < 32 && j < end; ++j) {
      for (int g = 0; g < kGroup; ++g) {
        const float score = over_warp(own[g] * keys[j][lane]), larger = fmaxf(largest[g], score);
        const float correction = expf(largest[g] - larger), weight = expf(score - larger);
        largest[g] = larger;
        sum[g] = sum[g] * correction + weight;
        mean[g] = mean[g] * correction + weight * values[j][lane];
      }
    }
  }
  if (threadIdx.x >= 32) return;
  for (int g = 0; g < kGroup; ++g) o[(head * kGroup + g) * kD + lane] = mean[g] / sum[g];
}
inline void decode(const float* q, const float* k, const float* v, float* o, int kv_heads, int n) {
  decode_kernel<<<kv_heads, 128>>>(q, k, v, o, n);
}"""
    },
    "before: three warps of four return at once": {
        1: _ONE_WARP.replace(
            "{\n  const int head", "{\n  if (threadIdx.x >= 32) return;\n  const int head"
        ).replace("kv_heads, 32>", "kv_heads, 128>")
    },
    "the lowest 9 bits of v are cut off": {
        0: [("value = v[j * kD + lane];",
             "value = __uint_as_float(__float_as_uint(v[j * kD + lane]) & ~511u);")],
    },
    "no maximum is taken away": {
        0: [("const float larger = fmaxf(largest[g], score);", "const float larger = 0;")],
    },
    "query heads are dealt out in turns": {
        1: _A_WARP_A_HEAD.replace("KV_HEAD", "(head % (gridDim.x / kGroup))")
    },
    "values are those of the first head": {1: _ONE_WARP.replace("  v += head * n * kD;\n", "")},
    "before: a warp for each query head": {1: _A_WARP_A_HEAD.replace("KV_HEAD", "(head / kGroup)")},
    "before: one warp for all queries of a group": {1: _ONE_WARP},
}
