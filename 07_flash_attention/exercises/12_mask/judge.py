"""Exercise 07/mask."""

import math

from exercise.api import Array, Case, Right, floats

TITLE = "Repair: a mask at the wrong corner"
KIND = "repair"
MINUTES = 20
CALL = "attention(float* q, float* k, float* v, float* o, float* lse, int n_q, int n_k)"

D = 16


def cases(random):
    for n_q, n_k in ((32, 32), (48, 48), (17, 17), (33, 40), (1, 50), (3, 35), (40, 33), (50, 16)):
        arrays = [Array("q", floats(random, n_q * D, -4, 4))]
        arrays += [Array("k", floats(random, n_k * D, -4, 4)), Array("v", floats(random, n_k * D))]
        arrays += [Array("o", role="output", count=n_q * D, shape=(n_q, D))]
        arrays += [Array("lse", role="output", count=n_q)]
        yield Case(f"{n_q} queries, {n_k} keys", {"n_q": n_q, "n_k": n_k}, arrays)


def expected(case):
    q, k, v = (case[name].values for name in "qkv")
    n_q, n_k, o, lse = case.sizes["n_q"], case.sizes["n_k"], [], []
    for i in range(n_q):
        own, keys = q[i * D : i * D + D], range(i + 1 + n_k - n_q)
        weights = [
            math.exp(sum(a * b for a, b in zip(own, k[j * D : j * D + D])) / math.sqrt(D))
            for j in keys
        ]
        total = math.fsum(weights)
        for c in range(D):
            o.append(sum(w * v[j * D + c] for j, w in zip(keys, weights)) / (total or 1))
        lse.append(math.log(total) if total else -math.inf)
    return {"o": o, "lse": lse}


def bound(case, name, i):
    """Scores are at most 64, sums of 16 products."""
    return (20 * 64 + 4 * case.sizes["n_k"]) * 2**-24


POINTS = [
    Right(2, "as many keys as queries", lambda case: case.sizes["n_q"] == case.sizes["n_k"]),
    Right(2, "more keys than queries", lambda case: case.sizes["n_q"] < case.sizes["n_k"]),
    Right(2, "more queries than keys", lambda case: case.sizes["n_q"] > case.sizes["n_k"]),
]

MUTANTS = {
    "aligned to the top left": {1: "if (key > i || key >= n_k) score[j] = -INFINITY;"},
    "keys that do not exist have score 0": {
        1: "if (key > i + n_k - n_q && key < n_k) score[j] = -INFINITY;"
    },
    "-infinity minus -infinity": {2: "const float shift = larger;"},
    "the old maximum is subtracted": {
        2: "const float shift = largest == -INFINITY ? 0.0f : largest;"
    },
    "the values are not rescaled": {3: "sum *= correction;"},
}
