"""Exercise 07/lazy."""

import math

from exercise.api import Array, Case, Count, Right, drawn, float32, floats

TITLE = "Rescale only when you must"
KIND = "step"
MINUTES = 10
CALL = "attention(float* q, float* k, float* v, float* o, int n_q, int n)"

D = 32
RISING = "4 queries, 100 keys whose scores rise"


def _case(name, random, n_q, n, spread, k=None, power=0):
    q = floats(random, n_q * D, -spread, spread)
    if k is not None:
        q = [abs(value) for value in q]
    arrays = [Array("q", q), Array("k", k or floats(random, n * D, -spread, spread))]
    arrays += [Array("v", floats(random, n * D, -(2.0**power), 2.0**power))]
    arrays += [Array("o", role="output", count=n_q * D, shape=(n_q, D))]
    return Case(name, {"n_q": n_q, "n": n, "spread": spread, "power": power}, arrays)


def cases(random):
    fixed = ((8, 16, 1), (1, 1, 1), (3, 2, 2), (6, 40, 30), (2, 70, 30))
    small = (drawn(random, 4, 7), drawn(random, 3, 20), 1)
    for n_q, n, spread in (*fixed, small, (drawn(random, 3, 5), drawn(random, 30, 69), 30)):
        name = f"{n_q} queries, {n} keys" + (", large scores" if spread > 2 else "")
        yield _case(name, random, n_q, n, spread)
    rising = [float32(j / 20 - 2.5) for j in range(100) for _ in range(D)]
    yield _case(RISING, random, 4, 100, 1, rising)
    # Scores from -30 to 30, and more: 2^8 times these values is a float, 2^30 times is none.
    rising = [float32(j / 8 - 6.25) for j in range(100) for _ in range(D)]
    for power in (100, -100):
        yield _case(f"values of 2^{power}, scores that rise", random, 4, 100, 6, rising, power)


def expected(case):
    q, k, v = (case[name].values for name in "qkv")
    o = []
    for i in range(0, len(q), D):
        scores = [
            sum(a * b for a, b in zip(q[i : i + D], k[j : j + D])) / math.sqrt(D)
            for j in range(0, len(k), D)
        ]
        weights = [math.exp(score - max(scores)) for score in scores]
        for c in range(D):
            o.append(sum(w * v[j * D + c] for j, w in enumerate(weights)) / sum(weights))
    return {"o": o}


def bound(case, name, i):
    largest = max(case.sizes["spread"] ** 2, 2.5)
    roundings = 40 * math.sqrt(D) * largest + 4 * case.sizes["n"] + 32
    return roundings * 2.0 ** (case.sizes["power"] - 24)


def _stores(counts):
    return counts["shared"]["store_requests"]


POINTS = [
    Right(2, "small scores", lambda case: case.sizes["spread"] <= 2),
    Right(2, "scores whose power of 2 overflows", lambda case: case.sizes["spread"] > 2),
    Count(
        2,
        "the sums are rescaled seldom",
        RISING,
        # 4 warps: the 0 at the start, one a key, and a few.
        lambda counts, case: _stores(counts) <= 4 * (1 + 100 + 20),
        lambda counts: f"the warps wrote them {_stores(counts)} times, 484 are more than enough",
    ),
]

_RESCALE = """
if (score > {limit}) {{
  const float correction = exp2f(shift - score);
  shift = score;
  sum *= correction;
  {mean}
}}"""

RIGHTS = {
    "what may stay comes first": {
        1: "const float most = shift + kSlack;\nif (!(score <= most)) {\n"
        "  const float correction = exp2f(shift - score);\n  sum = sum * correction;\n"
        "  means[warp][lane] = means[warp][lane] * correction;\n  shift = score;\n}"
    },
    "a difference, and a reference": {
        1: "const float above = score - shift;\nif (above > kSlack) {\n  float& own = *mean;\n"
        "  own *= exp2f(-above);\n  sum *= exp2f(-above);\n  shift += above;\n"
        "  if (isinf(above)) shift = score;\n}"
    },
    "a lambda, and the first key alone": {
        1: "const auto move_to = [&](float next) {\n  const float factor = exp2f(shift - next);\n"
        "  *mean *= factor;\n  sum *= factor;\n  shift = next;\n};\n"
        "if (j == 0) {\n  shift = score;\n} else if (score > shift + 8) {\n  move_to(score);\n}"
    },
}

MUTANTS = {
    "a slack of 60": {1: _RESCALE.format(limit="shift + 60", mean="*mean *= correction;")},
    "a shift 90 above the score": {
        1: "if (score > shift + kSlack) {\n  const float correction = exp2f(shift - score - 90);\n"
        "  shift = score + 90;\n  sum *= correction;\n  *mean *= correction;\n}"
    },
    "the lowest 12 bits of v are cut off": {
        0: [("weight * v[j * kD + lane];",
             "weight * __uint_as_float(__float_as_uint(v[j * kD + lane]) & 0xFFFFF000u);")],
    },
    "the shift is never changed": {1: "if (shift == -INFINITY) shift = score;"},
    "the sum of the values is forgotten": {1: _RESCALE.format(limit="shift + kSlack", mean="")},
    "the first score is compared with 0": {
        1: "if (shift == -INFINITY) shift = 0;"
        + _RESCALE.format(limit="shift + 100 * kSlack", mean="*mean *= correction;")
    },
    "before: at every new maximum": {
        1: _RESCALE.format(limit="shift", mean="*mean *= correction;")
    },
}
