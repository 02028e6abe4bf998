"""Exercise 06/aggregate."""

from exercise.api import Array, Case, Count, Right, drawn

TITLE = "One request for 32 lanes"
KIND = "step"
MINUTES = 10
CALL = "sum(unsigned char* x, int n, unsigned long long* total)"


def cases(random):
    fixed = (128, 4096, 1, 31, 33, 127, 129, 1021)
    whole = drawn(random, 1024, 6016, 128, fixed)
    for n in (*fixed, whole, drawn(random, 2, 999, 1, (*fixed, *range(0, 999, 32)))):
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
        lambda case: case.sizes["n"] % 32 == 0,
        lambda counts, case: _asked(counts) <= case.sizes["n"] // 32,
        lambda counts: f"{_asked(counts)} of {counts['threads']} lanes asked for the cell",
    ),
]

_ADD = "if (threadIdx.x % 32 == 0) {} static_cast<unsigned long long>(sum){};"
_SUM = "const unsigned sum = warp_sum(i < n ? x[i] : 0u);\n"

RIGHTS = {
    "by an instruction": {
        1: "unsigned own = 0;\nif (i < n) own = *(x + i);\n"
        "const unsigned sum = __reduce_add_sync(0xffffffffu, own);\n"
        "if (threadIdx.x % 32 == 31) atomicAdd(total, 1ull * sum);"
    },
    "who has nothing does not ask": {
        1: "const unsigned own = i < n ? x[i] : 0u;\n"
        "if (const unsigned sum = warp_sum(own); (threadIdx.x & 31) == 0 && sum > 0) {\n"
        "  atomicAdd(total, (unsigned long long)sum);\n}"
    },
    "one request a block": {
        1: "__shared__ unsigned all;\nif (threadIdx.x == 0) all = 0;\n__syncthreads();\n"
        "const unsigned sum = warp_sum(i < n ? x[i] : 0u);\n"
        "if (threadIdx.x % 32 == 0) atomicAdd(&all, sum);\n__syncthreads();\n"
        "if (threadIdx.x == 0) atomicAdd(total, static_cast<unsigned long long>(all));"
    },
}

MUTANTS = {
    "a byte for the sum": {
        1: _SUM.replace("const unsigned sum", "const unsigned char sum")
        + _ADD.format("atomicAdd(total,", ")")
    },
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
