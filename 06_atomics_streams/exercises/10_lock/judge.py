"""Exercise 06/lock."""

from exercise.api import Array, Case, Right, drawn, floats

TITLE = "Repair: two words under a lock"
KIND = "repair"
MINUTES = 20


def cases(random):
    few, many = drawn(random, 2, 30), drawn(random, 700, 1000, besides=(777,))
    inputs = {
        "n = 32": floats(random, 32),
        "n = 1": floats(random, 1),
        "n = 31": floats(random, 31, -9, -1),
        "n = 1024": floats(random, 1024),
        "n = 777": floats(random, 777, -9, -1),
        f"n = {few}": floats(random, few, -9, -1),
        f"n = {many}": floats(random, many, -9, -1),
        "n = 640, equal elements": [float(random.randrange(-3, 3)) for _ in range(640)],
    }
    for name, x in inputs.items():
        outputs = [Array("value", role="output", count=1, by_host=True)]
        outputs += [Array("index", role="output", count=1, type="int", by_host=True)]
        yield Case(name, {"n": len(x)}, [Array("x", x), *outputs])


def expected(case):
    x = case["x"].values
    return {"value": [max(x)], "index": [x.index(max(x))]}


POINTS = [
    Right(3, "one warp", lambda case: case.sizes["n"] <= 32),
    Right(5, "many warps", lambda case: case.sizes["n"] > 32),
]

RIGHTS = {
    "another atomic": {2: "__threadfence();\natomicCAS(lock, 1u, 0u);"},
    "member by member": {
        1: "const Record own = mine;\nbool done = own.index < 0;",
        3: "Record mine;\nmine.value = i < n ? x[i] : -INFINITY;\nmine.index = min(i, n);",
    },
    "an if": {
        2: "__threadfence();\natomicAnd(lock, 0u);",
        3: "Record mine = {-INFINITY, n};\nif (i < n) mine = Record{*(x + i), i};",
    },
}

MUTANTS = {
    "the last of equal elements": {0: [("a.index < b.index", "a.index > b.index")]},
    "the record is read without the lock": {
        1: "if (!is_better(mine, *record)) return;\nbool done = false;"
    },
    "a plain store frees the lock": {2: "__threadfence();\n*lock = 0;"},
    "no fence before the lock is free": {2: "atomicExch(lock, 0u);"},
    "lanes past the end leave": {3: "if (i >= n) return;\nRecord mine = {x[i], i};"},
    "lanes past the end bring 0": {3: "Record mine = {i < n ? x[i] : 0.0f, i};"},
}
