"""Exercise 07/diagonal."""

import math

from exercise.api import Array, Case, Count, Right, drawn, floats

TITLE = "Stop at the diagonal"
KIND = "step"
MINUTES = 10

D, TILE_M, TILE_N = 16, 32, 16


def _visible(i, n_q, n_k):
    return max(0, i + 1 + n_k - n_q)


def cases(random):
    fixed = ((32, 32), (96, 96), (1, 1), (33, 33), (1, 50), (40, 70), (70, 40))
    n_q, side = drawn(random, 34, 60, besides=(40,)), drawn(random, 65, 90)
    for n_q, n_k in (*fixed, (side, side), (n_q, n_q + drawn(random, 9, 30))):
        arrays = [Array("q", floats(random, n_q * D))]
        arrays += [Array(name, floats(random, n_k * D)) for name in "kv"]
        arrays += [Array("o", role="output", count=n_q * D, shape=(n_q, D))]
        yield Case(f"{n_q} queries, {n_k} keys", {"n_q": n_q, "n_k": n_k, "only": 0}, arrays)
    for n_q, n_k in ((70, 40), (40, 70)):
        counts = [Array("counts", role="output", count=n_q, type="int")]
        sizes = {"n_q": n_q, "n_k": n_k, "only": 1}
        yield Case(f"the counts of {n_q} queries, {n_k} keys", sizes, counts)


def expected(case):
    n_q, n_k, o = case.sizes["n_q"], case.sizes["n_k"], []
    if case.sizes["only"]:
        return {"counts": [_visible(i, n_q, n_k) for i in range(n_q)]}
    q, k, v = (case[name].values for name in "qkv")
    for i in range(n_q):
        keys, own = _visible(i, n_q, n_k), q[i * D : i * D + D]
        weights = [
            math.exp(sum(a * b for a, b in zip(own, k[j * D : j * D + D])) / math.sqrt(D))
            for j in range(keys)
        ]
        for c in range(D):
            o.append(sum(w * v[j * D + c] for j, w in enumerate(weights)) / (sum(weights) or 1))
    return {"o": o}


def bound(case, name, i):
    return (case.sizes["n_k"] + 64) * 2**-23


def _least(case):
    """Floats that must be loaded: all queries, and for each block the tiles that it sees."""
    n_q, n_k = case.sizes["n_q"], case.sizes["n_k"]
    keys = 0
    for first in range(0, n_q, TILE_M):
        seen = _visible(min(n_q, first + TILE_M) - 1, n_q, n_k)
        keys += min(n_k, -(-seen // TILE_N) * TILE_N)
    return n_q * D + 2 * keys * D


def _loaded(counts):
    return counts["global"]["load_bytes"] // 4


POINTS = [
    Right(2, "as many keys as queries", lambda case: case.sizes["n_q"] == case.sizes["n_k"]),
    Right(2, "more of one than of the other", lambda case: case.sizes["n_q"] != case.sizes["n_k"]),
    Count(
        2,
        "nothing beyond the diagonal is loaded",
        "96 queries, 96 keys",
        lambda counts, case: _loaded(counts) <= _least(case),
        lambda counts: f"{_loaded(counts)} floats were loaded, 7680 are enough",
    ),
]

RIGHTS = {
    "an if": {1: "const int last = i + n_k - n_q;\nif (last < 0) return 0;\nreturn last + 1;"},
    "?:": {1: "return i < n_q - n_k ? 0 : i - n_q + n_k + 1;"},
    "of the last query, by hand": {
        2: "const int last = first_row + kTileM < n_q ? first_row + kTileM - 1 : n_q - 1;\n"
        "const int keys = max(0, last + 1 + n_k - n_q);"
    },
}

MUTANTS = {
    "the lowest 9 bits of v are cut off": {
        0: [("? v[first * kD + e]",
             "? __uint_as_float(__float_as_uint(v[first * kD + e]) & ~511u)")],
    },
    "aligned to the top left": {1: "return 0 * n_q * n_k + i + 1;"},
    "fewer than no keys": {1: "return i + 1 + n_k - n_q;"},
    "never more keys than queries": {1: "return max(0, min(i + 1, i + 1 + n_k - n_q));"},
    "a query does not see its own place": {1: "return max(0, i + n_k - n_q);"},
    "the block loads what its first query sees": {
        2: "const int keys = visible_keys(first_row, n_q, n_k);"
    },
    "the last query is forgotten": {
        2: "const int keys = visible_keys(min(n_q, first_row + kTileM) - 2, n_q, n_k);"
    },
    "before: masked, but loaded": {2: "const int keys = n_k;"},
}
