"""Exercise 07/window."""

import math

from exercise.api import Array, Case, Count, Right, drawn, float32, floats

TITLE = "A new problem: a sliding window"
KIND = "problem"
MINUTES = 35
CALL = "attention(float* q, float* k, float* v, float* o, int n, int window)"

D = 16


def cases(random):
    fixed = ((32, 32), (32, 5), (1, 1), (31, 1), (33, 40), (100, 20), (97, 33), (160, 8))
    small = (drawn(random, 20, 30), drawn(random, 3, 19))
    for n, window in (*fixed, small, (drawn(random, 65, 96), drawn(random, 33, 64))):
        arrays = [Array(name, floats(random, n * D, -2, 2)) for name in "qkv"]
        arrays += [Array("o", role="output", count=n * D, shape=(n, D))]
        yield Case(f"n = {n}, window = {window}", {"n": n, "window": window, "most": 1}, arrays)
    n, window = 40, 9  # every query has a score of 95 with its own key: e^95 is no float
    k, v, q = floats(random, n * D, -2, 2), floats(random, n * D, -2, 2), []
    for i in range(n):
        own = k[i * D : i * D + D]
        factor = 95 * math.sqrt(D) / sum(x * x for x in own)
        q += [float32(factor * x) for x in own]
    most = max(
        sum(abs(x * y) for x, y in zip(q[i * D : i * D + D], k[j * D : j * D + D])) / math.sqrt(D)
        for i in range(n)
        for j in range(max(0, i - window + 1), i + 1)
    )
    arrays = [Array("q", q), Array("k", k), Array("v", v)]
    arrays += [Array("o", role="output", count=n * D, shape=(n, D))]
    yield Case("large scores", {"n": n, "window": window, "most": int(most) + 1}, arrays)


def expected(case):
    q, k, v = (case[name].values for name in "qkv")
    n, window, o = case.sizes["n"], case.sizes["window"], []
    for i in range(n):
        own, keys = q[i * D : i * D + D], range(max(0, i - window + 1), i + 1)
        scores = [
            sum(a * b for a, b in zip(own, k[j * D : j * D + D])) / math.sqrt(D) for j in keys
        ]
        weights = [math.exp(score - max(scores)) for score in scores]
        for c in range(D):
            o.append(sum(w * v[j * D + c] for j, w in zip(keys, weights)) / sum(weights))
    return {"o": o}


def bound(case, name, i):
    """Roundings of scores, whose products add up to 16 or `most`, and of sums of the window."""
    return (40 * max(16, case.sizes["most"]) + 4 * case.sizes["window"]) * 2**-24


def _loaded(counts):
    return counts["global"]["load_bytes"] // 4


POINTS = [
    Right(2, "one block", lambda case: case.sizes["n"] <= 32),
    Right(3, "several blocks", lambda case: case.sizes["n"] > 32),
    Count(
        2,
        "the queries of a block share the keys",
        "n = 100, window = 20",
        # For each of four blocks 32 + 19 keys, and up to 15 that fill a tile on either side.
        lambda counts, case: _loaded(counts) <= 12_000,
        lambda counts: f"{_loaded(counts)} floats were loaded, 12000 are more than enough",
    ),
    Count(
        2,
        "nothing outside the window is loaded",
        "n = 160, window = 8",
        # For each of five blocks 32 + 7 keys, and up to 15 that fill a tile on either side.
        lambda counts, case: _loaded(counts) <= 160 * D + 5 * 2 * (32 + 7 + 15 + 15) * D,
        lambda counts: f"{_loaded(counts)} floats were loaded, 13600 are more than enough",
        blocks=lambda case: 2,
        threads=lambda case: {"steps": case.sizes["n"] // 4},
    ),
]

_TILED = """
__shared__ float tile_k[kTileN][kD], tile_v[kTileN][kD];
const int first_row = blockIdx.x * kTileM, row = first_row + threadIdx.x;
const int from = max(0, first_row - window + 1), to = min(n, first_row + kTileM);
float own[kD], mean[kD] = {}, largest = -INFINITY, sum = 0;
for (int c = 0; c < kD; ++c) own[c] = row < n ? q[row * kD + c] / sqrtf(kD) : 0.0f;
for (int first = from; first < to; first += kTileN) {
  for (int e = threadIdx.x; e < kTileN * kD; e += kTileM) {
    const bool inside = first + e / kD < to;
    tile_k[e / kD][e % kD] = inside ? k[first * kD + e] : 0.0f;
    tile_v[e / kD][e % kD] = inside ? v[first * kD + e] : 0.0f;
  }
  __syncthreads();
  const int begin = max(0, row - window + 1 - first), end = min(kTileN, row + 1 - first);
  for (int j = begin; j < end; ++j) {
    float score = 0;
    for (int c = 0; c < kD; ++c) score += own[c] * tile_k[j][c];
    const float larger = fmaxf(largest, score);
    const float correction = expf(largest - larger), weight = expf(score - larger);
    largest = larger;
    sum = sum * correction + weight;
    for (int c = 0; c < kD; ++c) mean[c] = mean[c] * correction + weight * tile_v[j][c];
  }
  __syncthreads();
}
if (row >= n) return;
for (int c = 0; c < kD; ++c) o[row * kD + c] = mean[c] / sum;"""
_ALONE = """
const int row = blockIdx.x * kTileM + threadIdx.x;
if (row >= n) return;
float mean[kD] = {}, largest = -INFINITY, sum = 0;
for (int j = max(0, row - window + 1); j <= row; ++j) {
  float score = 0;
  for (int c = 0; c < kD; ++c) score += q[row * kD + c] * k[j * kD + c] / sqrtf(kD);
  const float larger = fmaxf(largest, score);
  const float correction = expf(largest - larger), weight = expf(score - larger);
  largest = larger;
  sum = sum * correction + weight;
  for (int c = 0; c < kD; ++c) mean[c] = mean[c] * correction + weight * v[j * kD + c];
}
for (int c = 0; c < kD; ++c) o[row * kD + c] = mean[c] / sum;"""

RIGHTS = {
    "only a larger one rescales, pointers": {
        1: _TILED.replace(
            """    const float larger = fmaxf(largest, score);
    const float correction = expf(largest - larger), weight = expf(score - larger);
    largest = larger;
    sum = sum * correction + weight;
    for (int c = 0; c < kD; ++c) mean[c] = mean[c] * correction + weight * tile_v[j][c];
""",
            """    if (score > largest) {
      const float correction = expf(largest - score);
      sum *= correction;
      for (float& m : mean) m *= correction;
      largest = score;
    }
    const float weight = expf(score - largest), *value = tile_v[j];
    sum += weight;
    for (float& m : mean) m = fmaf(weight, *value++, m);
""",
        )
    },
    "masked in the tile": {
        1: _TILED.replace("int j = begin; j < end; ++j) {", "int j = 0; j < kTileN; ++j) {\n"
        "    if (j < begin || j >= end) continue;")
    },
    "two indices for the load": {
        1: _TILED.replace(
            """  for (int e = threadIdx.x; e < kTileN * kD; e += kTileM) {
    const bool inside = first + e / kD < to;
    tile_k[e / kD][e % kD] = inside ? k[first * kD + e] : 0.0f;
    tile_v[e / kD][e % kD] = inside ? v[first * kD + e] : 0.0f;
  }
""",
            """  const int c = threadIdx.x % kD;
  for (int r = threadIdx.x / kD; r < kTileN; r += kTileM / kD) {
    tile_k[r][c] = tile_v[r][c] = 0;
    if (first + r >= to) continue;
    tile_k[r][c] = *(k + (first + r) * kD + c);
    tile_v[r][c] = *(v + (first + r) * kD + c);
  }
""",
        )
    },
}

MUTANTS = {
    "the lowest 10 bits of v are cut off": {
        1: _TILED.replace(
            "? v[first * kD + e]", "? __uint_as_float(__float_as_uint(v[first * kD + e]) & ~1023u)"
        )
    },
    "the window is one key too long": {
        1: _TILED.replace("row - window + 1 - first", "row - window - first").replace(
            "first_row - window + 1", "first_row - window"
        )
    },
    "the block begins where its last query does": {
        1: _TILED.replace("max(0, first_row - window + 1)", "max(0, to - window)").replace(
            "const int from = max(0, to - window), to = min(n, first_row + kTileM);",
            "const int to = min(n, first_row + kTileM), from = max(0, to - window);",
        )
    },
    "no maximum is taken away": {
        1: _TILED.replace("fmaxf(largest, score)", "0.0f").replace("-INFINITY", "0")
    },
    "the window ends one key early": {
        1: _TILED.replace("min(kTileN, row + 1 - first)", "min(kTileN, row - first)")
    },
    "no barrier before the next tile": {
        1: _TILED.replace("  }\n  __syncthreads();\n}\nif (row", "  }\n}\nif (row")
    },
    "before: every query loads for itself": {1: _ALONE},
    "before: everything up to the diagonal is loaded": {
        1: _TILED.replace("const int from = max(0, first_row - window + 1)", "const int from = 0")
    },
}
