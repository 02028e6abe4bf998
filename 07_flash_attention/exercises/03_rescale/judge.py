"""Exercise 07/rescale."""

import math

from exercise.api import Array, Case, Count, Right, drawn, floats

TITLE = "Attention without its matrix"
KIND = "step"
MINUTES = 15
CALL = "attention(float* q, float* k, float* v, float* o, float* lse, int n_q, int n)"

D = 32


def cases(random):
    fixed = ((8, 16, 1), (1, 1, 1), (3, 2, 1), (5, 33, 2), (6, 40, 30), (2, 70, 30))
    small = (drawn(random, 4, 9), drawn(random, 5, 40), 2)
    large, many = (drawn(random, 3, 5), drawn(random, 20, 69), 30), drawn(random, 40, 79)
    for n_q, n, spread in (*fixed, small, large, (3, 9, 20), (64, many, 2)):
        least = 1 if spread == 20 else -spread  # where all scores are negative
        arrays = [Array("q", floats(random, n_q * D, least, spread))]
        arrays += [Array("k", floats(random, n * D, -spread, -least))]
        arrays += [Array("v", floats(random, n * D))]
        arrays += [Array("o", role="output", count=n_q * D, shape=(n_q, D))]
        arrays += [Array("lse", role="output", count=n_q)]
        name = f"{n_q} queries, {n} keys" + (", large scores" if spread > 2 else "")
        name += ", all negative" if least > 0 else ""
        yield Case(name, {"n_q": n_q, "n": n, "spread": spread}, arrays)


def expected(case):
    q, k, v = (case[name].values for name in "qkv")
    o, lse = [], []
    for i in range(0, len(q), D):
        scores = [
            sum(a * b for a, b in zip(q[i : i + D], k[j : j + D])) / math.sqrt(D)
            for j in range(0, len(k), D)
        ]
        weights = [math.exp(score - max(scores)) for score in scores]
        total = math.fsum(weights)
        lse.append(max(scores) + math.log(total))
        for c in range(D):
            o.append(sum(w * v[j * D + c] for j, w in enumerate(weights)) / total)
    return {"o": o, "lse": lse}


def bound(case, name, i):
    """A score errs by 8 roundings of at most sqrt(d) spread^2; a sum by one rounding a key."""
    return (16 * math.sqrt(D) * case.sizes["spread"] ** 2 + 2 * case.sizes["n"] + 16) * 2**-24


POINTS = [
    Right(3, "small scores", lambda case: case.sizes["spread"] <= 2),
    Right(2, "scores of several hundred", lambda case: case.sizes["spread"] > 2),
    Count(
        1,
        "a warp loads each key and each value once",
        lambda case: case.sizes["n_q"] == 64,
        lambda counts, case: counts["global"]["load_bytes"]
        <= 4 * D * case.sizes["n_q"] * (2 * case.sizes["n"] + 1),
        lambda counts: f"{counts['global']['load_bytes']} bytes were loaded",
        blocks=lambda case: 2,
        busy=0.6,
    ),
]

_STEP = """
const float larger = fmaxf(largest, score);
const float correction = expf(largest - larger), weight = expf(score - larger);
largest = larger;
sum = sum * correction + weight;
mean = mean * correction + weight * value;"""

RIGHTS = {
    "only a larger one rescales": {
        1: "if (score > largest) {\n  const float correction = expf(largest - score);\n"
        "  sum *= correction;\n  mean *= correction;\n  largest = score;\n}\n"
        "const float weight = expf(score - largest);\nsum += weight;\nmean += weight * value;"
    },
    "fmaf, and a lambda": {
        1: "const float before = largest;\nlargest = score > before ? score : before;\n"
        "const auto e = [&](float x) { return expf(x - largest); };\n"
        "const float weight = e(score), correction = e(before);\n"
        "sum = fmaf(sum, correction, weight);\nmean = fmaf(mean, correction, weight * value);"
    },
    "a reciprocal, and a pointer": {
        2: "const float scale = 1.0f / sum;\nfloat* const to = o + row * kD + lane;\n"
        "*to = mean * scale;\nif (lane == 31) *(lse + row) = logf(sum) + largest;"
    },
}

MUTANTS = {
    "the lowest 9 bits of q are cut off": {
        0: [("const float own = q[row * kD + lane] /",
             "const float own = __uint_as_float(__float_as_uint(q[row * kD + lane]) & "
             "0xFFFFFE00u) /")],
    },
    "the values are not rescaled": {1: _STEP.replace("mean * correction", "mean")},
    "the sum is not rescaled": {1: _STEP.replace("sum * correction", "sum")},
    "the maximum is at least 0": {0: [("largest = -INFINITY;", "largest = 0;")]},
    "before: one warp of each block works": {
        0: [("row = blockIdx.x * kWarps + threadIdx.x / 32;",
             "row = threadIdx.x < 32 ? blockIdx.x : n_q;"),
            ("<<<(n_q + kWarps - 1) / kWarps,", "<<<n_q,")]
    },
    "before: two passes": {
        0: [("for (int j = 0; j < n; ++j) {",
             "for (int i = 0; i < 2 * n; ++i) {\n    const int j = i % n;")],
        1: "if (i < n) {\n  largest = fmaxf(largest, score);\n  continue;\n}\n"
        "const float weight = expf(score - largest);\nsum += weight;\nmean += weight * value;",
    },
    "no maximum": {1: "largest = 0;\nsum += expf(score);\nmean += expf(score) * value;"},
    "corrected the wrong way": {1: _STEP.replace("largest - larger", "larger - largest")},
    "lse without the maximum": {
        2: "o[row * kD + lane] = mean / sum;\nif (lane == 0) lse[row] = logf(sum);"
    },
}
