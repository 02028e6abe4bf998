"""Exercise 07/alibi."""

import math

from exercise.api import Array, Case, Count, Right, floats

TITLE = "A new problem: attention that prefers what is near"
KIND = "problem"
MINUTES = 20
CALL = (
    "attention(float* q, float* k, float* v, float* slope, float* o, int heads, "
    "int n_q, int n_k)"
)

D = 16


def cases(random):
    for heads, n_q, n_k, spread in (
        (1, 40, 40, 1),
        (1, 1, 1, 1),
        (3, 33, 33, 1),
        (2, 1, 50, 1),
        (2, 10, 45, 2),
        (2, 45, 10, 1),
        (2, 20, 20, 20),
    ):
        arrays = [Array("q", floats(random, heads * n_q * D, -spread, spread))]
        arrays += [Array("k", floats(random, heads * n_k * D, -spread, spread))]
        arrays += [Array("v", floats(random, heads * n_k * D))]
        arrays += [Array("slope", floats(random, heads, 0, 0.3 if spread < 20 else 8))]
        arrays += [Array("o", role="output", count=heads * n_q * D, shape=(heads * n_q, D))]
        name = f"{heads} x {n_q} queries, {n_k} keys" + (", large scores" if spread > 2 else "")
        sizes = {"heads": heads, "n_q": n_q, "n_k": n_k, "spread": spread}
        yield Case(name, sizes, arrays)


def expected(case):
    q, k, v = (case[name].values for name in "qkv")
    heads, n_q, n_k, o = *(case.sizes[name] for name in ("heads", "n_q", "n_k")), []
    for head in range(heads):
        for i in range(n_q):
            place, own = i + n_k - n_q, (head * n_q + i) * D
            keys = [(head * n_k + j) * D for j in range(place + 1)]
            scores = [
                sum(a * b for a, b in zip(q[own : own + D], k[at : at + D])) / math.sqrt(D)
                - case["slope"].values[head] * (place - j)
                for j, at in enumerate(keys)
            ]
            weights = [math.exp(score - max(scores)) for score in scores]
            for c in range(D):
                mean = sum(weight * v[at + c] for weight, at in zip(weights, keys))
                o.append(mean / (sum(weights) or 1))
    return {"o": o}


def bound(case, name, i):
    spread, n_k = case.sizes["spread"], case.sizes["n_k"]
    return (20 * 4 * spread**2 + 32 * n_k + 64) * 2**-24


def _loaded(counts):
    return counts["global"]["load_bytes"] // 4


def _square(case):
    return case.sizes["n_q"] == case.sizes["n_k"]


POINTS = [
    Right(2, "as many keys as queries", lambda case: _square(case) and case.sizes["spread"] == 1),
    Right(2, "more of one than of the other", lambda case: not _square(case)),
    Right(1, "large scores", lambda case: case.sizes["spread"] == 20),
    Count(
        1,
        "nothing beyond the diagonal is loaded",
        "1 x 40 queries, 40 keys",
        # 820 pairs: a query, a key, a value and the slope each, if nothing is kept.
        lambda counts, case: _loaded(counts) <= 820 * (3 * D + 1),
        lambda counts: f"{_loaded(counts)} floats were loaded, 40180 are enough",
    ),
]

_LOOP = """
const int place = i + n_k - n_q;
for (int j = 0; j <= place; ++j) {
  float score = 0;
  for (int c = 0; c < kD; ++c) score += q[c] * k[j * kD + c];
  score = score / sqrtf(kD) - slope[head] * (place - j);
  const float larger = fmaxf(largest, score);
  const float correction = expf(largest - larger), weight = expf(score - larger);
  largest = larger;
  sum = sum * correction + weight;
  for (int c = 0; c < kD; ++c) mean[c] = mean[c] * correction + weight * v[j * kD + c];
}"""
_MASKED = (
    _LOOP.replace("j <= place", "j < n_k")
    .replace("(place - j);", "(place - j);\n  if (j > place) score = -INFINITY;")
    .replace("  const float corr", "  if (larger == -INFINITY) continue;\n  const float corr")
)

MUTANTS = {
    "the bias is scaled, too": {
        1: _LOOP.replace(
            "score / sqrtf(kD) - slope[head] * (place - j)",
            "(score - slope[head] * (place - j)) / sqrtf(kD)",
        )
    },
    "all heads have the first slope": {1: _LOOP.replace("slope[head]", "slope[0]")},
    "the query stands at place i": {1: _LOOP.replace("i + n_k - n_q", "min(i, n_k - 1)")},
    "what is far is preferred": {1: _LOOP.replace("- slope[head]", "+ slope[head]")},
    "before: masked, but loaded": {1: _MASKED},
}
