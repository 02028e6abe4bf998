"""Exercise 06/aggregate."""

from exercise.api import Array, Case, Count, Right, drawn

TITLE = "One addition for 32 lanes"
KIND = "step"
MINUTES = 10
CALL = "sum(unsigned char* x, int n, unsigned long long* total)"


def cases(random):
    fixed = (128, 4096, 1, 31, 33, 127, 129, 1021)
    whole = drawn(random, 1024, 6016, 128, fixed)
    for n in (*fixed, whole, drawn(random, 2, 999, 1, (*fixed, *range(0, 999, 32)))):
        x = Array("x", [random.randrange(256) for _ in range(n)], type="byte")
        begin = random.randrange(1, 2**8) * 2**32  # one byte more carries into the upper word
        total = Array("total", [begin - 1 if n > 32 else begin], "in_out", "long")
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
        lambda case: case.sizes["n"] >= 1024 and case.sizes["n"] % 32 == 0,
        lambda counts, case: _asked(counts) <= case.sizes["n"] // 32
        and counts["atomics"]["shared_executions"] <= case.sizes["n"] // 32
        and counts["global"]["load_executions"] <= case.sizes["n"] + _asked(counts),
        lambda counts: f"{_asked(counts)} of {counts['threads']} lanes asked for the cell, "
        f"{counts['atomics']['shared_executions']} for one in shared memory, and "
        f"{counts['global']['load_executions']} bytes were loaded",
        blocks=lambda case: case.sizes["n"] // 2048,
        busy=0.3,
    ),
]

_ADD = "if (threadIdx.x % 32 == 0) {} static_cast<unsigned long long>(sum){};"
_SUM = "const unsigned sum = warp_sum(i < n ? x[i] : 0u);\n"

RIGHTS = {
    "a few blocks, a function that is not inlined": {
        0: [("__global__", "__device__ __noinline__ unsigned all_of(unsigned sum) {\n"
             "  for (int s = 1; s < 32; s <<= 1) sum += __shfl_xor_sync(~0u, sum, s);\n"
             "  return sum;\n}\n__global__")],
        1: "unsigned own = 0;\nfor (int k = i; k < n; k += gridDim.x * blockDim.x) own += x[k];\n"
        "own = all_of(own);\n"
        "if (threadIdx.x % 32 == 31) atomicAdd(total, static_cast<unsigned long long>(own));",
    },
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
    "before: each lane of one warp adds up all": {
        1: "unsigned long long own = 0;\n"
        "for (int k = 0; k < n && blockIdx.x == 0; ++k) own += x[k];\n"
        "if (i == 0) atomicAdd(total, own);"
    },
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
    "before: every thread asks, in shared memory": {
        1: "__shared__ unsigned all;\nif (threadIdx.x == 0) all = 0;\n__syncthreads();\n"
        "if (i < n) atomicAdd(&all, unsigned(x[i]));\n__syncthreads();\n"
        "if (threadIdx.x == 0) atomicAdd(total, static_cast<unsigned long long>(all));"
    },
    "32 bits of the cell": {
        1: _SUM + "if (threadIdx.x % 32 == 0) atomicAdd(reinterpret_cast<unsigned*>(total), sum);"
    },
}
