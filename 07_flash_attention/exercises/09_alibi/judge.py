"""Exercise 07/alibi."""

import math

from exercise.api import Array, Case, Count, Right, drawn, floats

TITLE = "A new problem: attention that prefers what is near"
KIND = "problem"
MINUTES = 20
CALL = (
    "attention(float* q, float* k, float* v, float* slope, float* o, int heads, "
    "int n_q, int n_k)"
)

D = 16


def cases(random):
    one, other, long = drawn(random, 2, 20), drawn(random, 25, 44), drawn(random, 110, 130)
    for heads, n_q, n_k, spread in (
        (1, 40, 40, 1),
        (1, 1, 1, 1),
        (3, 33, 33, 1),
        (2, 1, 50, 1),
        (2, 10, 45, 2),
        (2, 45, 10, 1),
        (2, 20, 20, 20),
        (2, *random.choice([(one, other), (other, one)]), 1),
        (1, long, long, 1),
    ):
        arrays = [Array("q", floats(random, heads * n_q * D, -spread, spread))]
        arrays += [Array("k", floats(random, heads * n_k * D, -spread, spread))]
        arrays += [Array("v", floats(random, heads * n_k * D))]
        arrays += [Array("slope", floats(random, heads, 0, 0.3 if spread < 20 else 8))]
        arrays += [Array("o", role="output", count=heads * n_q * D, shape=(heads * n_q, D))]
        name = f"{heads} x {n_q} queries, {n_k} keys" + (", large scores" if spread > 2 else "")
        sizes = {"heads": heads, "n_q": n_q, "n_k": n_k, "spread": spread}
        yield Case(name, sizes, arrays)


    # The last query has a product of 300 with the key that is farthest away, and a bias of 472.
    n, q, k = 60, [0.0] * (60 * D), [0.0] * (60 * D)
    q[(n - 1) * D], k[0] = 40.0, 30.0
    arrays = [Array("q", q), Array("k", k), Array("v", floats(random, n * D))]
    arrays += [Array("slope", [8.0]), Array("o", role="output", count=n * D, shape=(n, D))]
    sizes = {"heads": 1, "n_q": n, "n_k": n, "spread": 20}
    yield Case("a large product far away", sizes, arrays)


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


def _pairs(case):
    return case.sizes["n_q"] * (case.sizes["n_q"] + 1) // 2


def _square(case):
    return case.sizes["n_q"] == case.sizes["n_k"]


POINTS = [
    Right(2, "as many keys as queries", lambda case: _square(case) and case.sizes["spread"] == 1),
    Right(2, "more of one than of the other", lambda case: not _square(case)),
    Right(1, "large scores", lambda case: case.sizes["spread"] == 20),
    Count(
        1,
        "nothing beyond the diagonal is loaded",
        lambda case: case.sizes["heads"] == 1 and case.sizes["n_q"] > 100,
        # Of each pair a query, a key, a value and the slope, if nothing is kept.
        lambda counts, case: _loaded(counts) <= _pairs(case) * (3 * D + 1)
        and counts["threads"] >= case.sizes["n_q"],
        lambda counts: f"{counts['threads']} threads loaded {_loaded(counts)} floats",
        threads=lambda case: {"stores": case.sizes["n_q"] * 3 // 4},
        busy=0.12,  # the last query has twice as many keys as the average one
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

RIGHTS = {
    "pointers, and only a larger one rescales": {
        1: """
for (int far = i + n_k - n_q; far >= 0; --far, k += kD, v += kD) {
  float score = -slope[head] * far;
  for (int c = 0; c < kD; ++c) score += q[c] * k[c] / sqrtf(kD);
  if (score > largest) {
    const float correction = expf(largest - score);
    for (float& m : mean) m *= correction;
    sum *= correction;
    largest = score;
  }
  const float weight = expf(score - largest);
  sum += weight;
  for (int c = 0; c < kD; ++c) mean[c] += weight * v[c];
}"""
    },
    "from the query back": {
        1: _LOOP.replace("int j = 0; j <= place; ++j", "int j = i + n_k - n_q; j >= 0; --j")
    },
    "the query is kept, a lambda": {
        1: "float own[kD];\nfor (int c = 0; c < kD; ++c) own[c] = q[c] * (1 / sqrtf(kD));\n"
        "const float steep = slope[head];\nconst auto score_of = [&](int j, int far) {\n"
        "  float score = 0;\n"
        "  for (int c = 0; c < kD; ++c) score = fmaf(own[c], k[j * kD + c], score);\n"
        "  return score - steep * far;\n};\n"
        "for (int j = 0; j < i + 1 + n_k - n_q; ++j) {\n"
        "  const float score = score_of(j, i + n_k - n_q - j), larger = fmaxf(largest, score);\n"
        "  const float correction = expf(largest - larger), weight = expf(score - larger);\n"
        "  largest = larger;\n  sum = sum * correction + weight;\n"
        "  for (int c = 0; c < kD; ++c) mean[c] = mean[c] * correction + weight * v[j * kD + c];\n}"
    },
}

MUTANTS = {
    "the maximum without the bias": {
        1: _LOOP.replace(" - slope[head] * (place - j);", ";").replace(
            "expf(score - larger)", "expf(score - slope[head] * (place - j) - larger)"
        )
    },
    "the lowest 10 bits of v are cut off": {
        1: _LOOP.replace(
            "v[j * kD + c];", "__uint_as_float(__float_as_uint(v[j * kD + c]) & 0xFFFFFC00u);"
        )
    },
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
