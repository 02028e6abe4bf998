"""Exercise 07/mask."""

import math

from exercise.api import Array, Case, Count, Right, drawn, floats

TITLE = "Repair: a mask at the wrong corner"
KIND = "repair"
MINUTES = 20
CALL = "attention(float* q, float* k, float* v, float* o, float* lse, int n_q, int n_k)"

D = 16


def cases(random):
    fixed = ((32, 32), (48, 48), (17, 17), (33, 40), (1, 50), (3, 35), (40, 33), (50, 16))
    side, more, less = drawn(random, 18, 47), drawn(random, 30, 49), drawn(random, 4, 29)
    long = drawn(random, 130, 150)
    for n_q, n_k in (*fixed, (side, side), (less, more), (more, less), (long, long)):
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
    Right(1, "as many keys as queries", lambda case: case.sizes["n_q"] == case.sizes["n_k"]),
    Right(2, "more keys than queries", lambda case: case.sizes["n_q"] < case.sizes["n_k"]),
    Right(2, "more queries than keys", lambda case: case.sizes["n_q"] > case.sizes["n_k"]),
    Count(
        1,
        "a thread for each query",
        lambda case: case.sizes["n_q"] >= 130,
        lambda counts, case: counts["threads"] >= case.sizes["n_q"],
        lambda counts: f"{counts['threads']} threads were started",
        threads=lambda case: {"stores": case.sizes["n_q"] * 3 // 4},
        busy=0.25,
    ),
]

RIGHTS = {
    "a key or not": {
        1: "const bool sees = key - n_k <= i - n_q;\nscore[j] = sees ? score[j] : -INFINITY;",
        2: "float shift = larger;\nif (shift == -INFINITY) shift = 0;",
    },
    "pointers": {
        1: "float* const own_score = score + j;\n"
        "if (n_q - 1 - i > n_k - 1 - key) *own_score = -INFINITY;",
        3: "sum = correction * sum;\nfor (float* m = mean; m < mean + kD; ++m) *m *= correction;",
    },
    "a range for, and isinf": {
        2: "const float shift = isinf(larger) ? 0.0f : larger;",
        3: "for (float& m : mean) m *= correction;\nsum *= correction;",
    },
}

MUTANTS = {
    "the lowest 12 bits of v are cut off": {
        0: [("weight * v[(first + j) * kD + c];",
             "weight * __uint_as_float(__float_as_uint(v[(first + j) * kD + c]) & ~4095u);")],
    },
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
