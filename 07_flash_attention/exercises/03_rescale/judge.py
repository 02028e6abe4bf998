"""Exercise 07/rescale."""

import math

from exercise.api import Array, Case, Right, floats

TITLE = "Attention without its matrix"
KIND = "step"
MINUTES = 15
CALL = "attention(float* q, float* k, float* v, float* o, float* lse, int n_q, int n)"

D = 32


def cases(random):
    for n_q, n, spread in ((8, 16, 1), (1, 1, 1), (3, 2, 1), (5, 33, 2), (6, 40, 30), (2, 70, 30)):
        arrays = [Array("q", floats(random, n_q * D, -spread, spread))]
        arrays += [Array("k", floats(random, n * D, -spread, spread))]
        arrays += [Array("v", floats(random, n * D))]
        arrays += [Array("o", role="output", count=n_q * D, shape=(n_q, D))]
        arrays += [Array("lse", role="output", count=n_q)]
        name = f"{n_q} queries, {n} keys" + (", large scores" if spread > 2 else "")
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
    Right(3, "scores whose exponential overflows", lambda case: case.sizes["spread"] > 2),
]

_STEP = """
const float larger = fmaxf(largest, score);
const float correction = expf(largest - larger), weight = expf(score - larger);
largest = larger;
sum = sum * correction + weight;
mean = mean * correction + weight * value;"""

MUTANTS = {
    "the values are not rescaled": {1: _STEP.replace("mean * correction", "mean")},
    "the sum is not rescaled": {1: _STEP.replace("sum * correction", "sum")},
    "no maximum": {1: "largest = 0;\nsum += expf(score);\nmean += expf(score) * value;"},
    "corrected the wrong way": {1: _STEP.replace("largest - larger", "larger - largest")},
    "lse without the maximum": {
        2: "o[row * kD + lane] = mean / sum;\nif (lane == 0) lse[row] = logf(sum);"
    },
}
