"""Exercise 07/gradient."""

import math

from exercise.api import Array, Case, Count, Right, drawn, float32, floats

TITLE = "The gradient of a score"
KIND = "step"
MINUTES = 15
CALL = (
    "gradient(float* q, float* k, float* v, float* o, float* d_o, float* lse, "
    "float* mean, float* d_s, int n_q, int n_k)"
)

D = 16


def _dot(a, i, b, j):
    return sum(x * y for x, y in zip(a[i * D : i * D + D], b[j * D : j * D + D]))


def _forward(q, k, v, n_q, n_k):
    """Weights, log-sum-exp and outputs, of all rows."""
    p, lse, o = [], [], []
    for i in range(n_q):
        scores = [_dot(q, i, k, j) / math.sqrt(D) for j in range(n_k)]
        total = math.fsum(math.exp(score - max(scores)) for score in scores)
        lse.append(max(scores) + math.log(total))
        p.append([math.exp(score - lse[-1]) for score in scores])
        o += [sum(w * v[j * D + c] for j, w in enumerate(p[-1])) for c in range(D)]
    return p, lse, o


def cases(random):
    fixed = ((8, 64, 1), (1, 1, 1), (65, 3, 1), (5, 70, 1), (7, 20, 5))
    small = (drawn(random, 9, 20), drawn(random, 20, 63), 1)
    large, long = (drawn(random, 3, 6), drawn(random, 10, 20), 5), (12, drawn(random, 200, 256), 1)
    for n_q, n_k, spread in (*fixed, small, large, long):
        q, k = floats(random, n_q * D, -spread, spread), floats(random, n_k * D, -spread, spread)
        if spread > 1:  # every query has a score of 95, as the task promises: e^95 is no float
            for i in range(n_q):
                most = max(_dot(q, i, k, j) / math.sqrt(D) for j in range(n_k))
                q[i * D : i * D + D] = [float32(x * 95 / most) for x in q[i * D : i * D + D]]
        sizes = [
            _dot(list(map(abs, q)), i, list(map(abs, k)), j) for i in range(n_q) for j in range(n_k)
        ]
        v, d_o = floats(random, n_k * D), floats(random, n_q * D)
        _, lse, o = _forward(q, k, v, n_q, n_k)
        inputs = {"q": q, "k": k, "v": v, "o": o, "d_o": d_o, "lse": lse}
        arrays = [Array(name, [float32(x) for x in values]) for name, values in inputs.items()]
        arrays.append(Array("mean", role="output", count=n_q))
        arrays.append(Array("d_s", role="output", count=n_q * n_k, shape=(n_q, n_k)))
        name = f"{n_q} queries, {n_k} keys" + (", large scores" if spread > 1 else "")
        most = int(max(sizes) / math.sqrt(D)) + 1
        yield Case(name, {"n_q": n_q, "n_k": n_k, "spread": spread, "most": most}, arrays)


def expected(case):
    q, k, v, d_o = (case[name].values for name in ("q", "k", "v", "d_o"))
    n_q, n_k = case.sizes["n_q"], case.sizes["n_k"]
    p, _, o = _forward(q, k, v, n_q, n_k)
    mean = [_dot(o, i, d_o, i) for i in range(n_q)]
    d_s = [p[i][j] * (_dot(d_o, i, v, j) - mean[i]) for i in range(n_q) for j in range(n_k)]
    return {"mean": mean, "d_s": d_s}


def bound(case, name, i):
    """Scores whose products add up to `most`, and products of rows of up to 16, each with 17
    roundings."""
    return 40 * (case.sizes["most"] + 16) * 2**-24


def _loaded(counts):
    return counts["global"]["load_bytes"] // 4


def _is_small(case):
    return case.sizes["spread"] == 1


POINTS = [
    Right(3, "small scores", _is_small),
    Right(1, "large scores", lambda case: case.sizes["spread"] > 1),
    Count(
        2,
        "no look along a row, and four pairs a thread at most",
        lambda case: case.sizes["n_k"] >= 200,
        # Four rows of d and two floats a pair; two rows of d a query.
        lambda counts, case: _loaded(counts)
        <= len(case["d_s"]) * (4 * D + 2) + case.sizes["n_q"] * 2 * D
        and 4 * counts["threads"] >= len(case["d_s"]),
        lambda counts: f"{counts['threads']} threads loaded {_loaded(counts)} floats",
        threads=lambda case: {"loads": len(case["d_s"]) // 5},
        busy=0.25,
    ),
]

_ALONG = """
float sum = 0;
for (int j = 0; j < n_k; ++j) {
  const float weight = expf(dot(q + i * kD, k + j * kD) / sqrtf(kD) - lse[i]);
  sum += weight * dot(d_o + i * kD, v + j * kD);
}
mean[i] = sum;"""

RIGHTS = {
    "four queries a thread, the key and the value in registers": {
        0: [("x, i = blockIdx.y;\n  if (j >= n_k) return;\n  const float score",
             "x;\n  if (j >= n_k) return;\n  float key[kD], value[kD];\n"
             "  for (int c = 0; c < kD; ++c) key[c] = k[j * kD + c], value[c] = v[j * kD + c];\n"
             "  for (int i = 4 * blockIdx.y; i < min(n_q, 4 * blockIdx.y + 4); ++i) {\n"
             "  const float score"),
            ("k + j * kD) / sqrtf", "key) / sqrtf"), ("v + j * kD);\n  //@", "value);\n  //@"),
            ("\n}\n\n// mean: room", "\n  }\n}\n\n// mean: room"),
            ("grid((n_k + 63) / 64, n_q)", "grid((n_k + 63) / 64, (n_q + 3) / 4)")],
    },
    "by hand": {
        1: "float sum = 0;\nfor (int c = 0; c < kD; ++c) "
        "sum = fmaf(o[i * kD + c], d_o[i * kD + c], sum);\nmean[i] = sum;"
    },
    "exp2f": {
        2: "const float weight = exp2f((score - lse[i]) * 1.44269504f);\n"
        "float& out = d_s[i * n_k + j];\nout = weight * (d_p - mean[i]);"
    },
    "multiplied out": {
        2: "const float w = expf(score - lse[i]);\nd_s[i * n_k + j] = w * d_p - w * mean[i];"
    },
}

MUTANTS = {
    "the lowest 11 bits of the weight are cut off": {
        2: "const float weight = __uint_as_float(__float_as_uint(expf(score - lse[i])) & "
        "~0x7FFu);\n"
        "d_s[i * n_k + j] = weight * (d_p - mean[i]);"
    },
    "before: one thread for all means": {
        0: [("  if (i >= n_q) return;", "  if (i > 0) return;")],
        1: "for (int r = 0; r < n_q; ++r) mean[r] = dot(o + r * kD, d_o + r * kD);",
    },
    "before: one thread for a row of pairs": {
        0: [("  if (j >= n_k) return;\n",
             "  if (j > 0) return;\n  for (int j = 0; j < n_k; ++j) {\n"),
            ("\n}\n\n// mean: room", "\n  }\n}\n\n// mean: room")],
    },
    "the mean is not taken away": {2: "d_s[i * n_k + j] = expf(score - lse[i]) * d_p;"},
    "not weighted": {2: "d_s[i * n_k + j] = d_p - mean[i] + 0 * score;"},
    "the exponential of the score alone": {
        2: "d_s[i * n_k + j] = expf(score) * (d_p - mean[i]);"
    },
    "a quotient of exponentials": {
        2: "d_s[i * n_k + j] = expf(score) / expf(lse[i]) * (d_p - mean[i]);"
    },
    "the weight twice": {
        2: "const float w = expf(score - lse[i]);\nd_s[i * n_k + j] = w * (w * d_p - mean[i]);"
    },
    "o times o": {1: "mean[i] = dot(o + i * kD, o + i * kD);"},
    "before: along the row": {1: _ALONG},
}
