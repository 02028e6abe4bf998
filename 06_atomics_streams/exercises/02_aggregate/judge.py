"""Exercise 06/aggregate."""

from exercise.api import Array, Case, Count, Right

TITLE = "One request for 32 lanes"
KIND = "step"
MINUTES = 10
CALL = "sum(unsigned char* x, int n, unsigned long long* total)"


def cases(random):
    for n in (128, 4096, 1, 31, 33, 127, 129, 1021):
        x = Array("x", [random.randrange(256) for _ in range(n)], type="byte")
        total = Array("total", [random.randrange(2**40)], "in_out", "long")
        yield Case(f"n = {n}", {"n": n}, [x, total])


def expected(case):
    return {"total": [case["total"].values[0] + sum(case["x"].values)]}


def _asked(counts):
    return counts["atomics"]["global_executions"]


POINTS = [
    Right(2, "whole warps", lambda case: case.sizes["n"] % 32 == 0),
    Right(2, "a last warp that is not full", lambda case: case.sizes["n"] % 32),
    Count(
        2,
        "one atomic a warp",
        "n = 4096",
        lambda counts, case: _asked(counts) <= 128,
        lambda counts: f"{_asked(counts)} lanes asked for the cell, 128 warps are enough",
    ),
]

_ADD = "if (threadIdx.x % 32 == 0) {} static_cast<unsigned long long>(sum){};"
_SUM = "const unsigned sum = warp_sum(i < n ? x[i] : 0u);\n"

MUTANTS = {
    "threads past the end leave": {
        1: "if (i >= n) return;\nconst unsigned sum = warp_sum(x[i]);\n"
        + _ADD.format("atomicAdd(total,", ")")
    },
    "every lane adds what it holds": {
        1: _SUM + "atomicAdd(total, static_cast<unsigned long long>(sum));"
    },
    "no atomic": {1: _SUM + _ADD.format("*total +=", "")},
    "before: every thread asks": {
        1: "if (i < n) atomicAdd(total, static_cast<unsigned long long>(x[i]));"
    },
}
