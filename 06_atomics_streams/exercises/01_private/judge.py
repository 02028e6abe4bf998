"""Exercise 06/private."""

from exercise.api import Array, Case, Count, Right, drawn, many

TITLE = "A histogram of its own for every block"
KIND = "step"
MINUTES = 20
CALL = "histogram(unsigned char* bytes, unsigned* bins, int n)"


def cases(random):
    inputs = {
        "2048 random bytes": [random.randrange(256) for _ in range(2048)],
        "one byte": [random.randrange(256)],
        "255 bytes": [random.randrange(256) for _ in range(255)],
        "257 bytes": [random.randrange(256) for _ in range(257)],
        "5000 equal bytes": [random.randrange(256)] * 5000,
        "530000 equal bytes": [random.randrange(256)] * 530_000,  # 16 bits a block are not enough
        "10007 random bytes": [random.randrange(256) for _ in range(10_007)],
    }
    for n in (drawn(random, 2, 2000), drawn(random, 9000, 10_000)):
        inputs[f"{n} random bytes"] = [random.randrange(256) for _ in range(n)]
    for name, values in inputs.items():
        bins = Array("bins", [0] * 256, "in_out", "uint")
        yield Case(name, {"n": len(values)}, [Array("bytes", values, type="byte"), bins])


def expected(case):
    bins = [0] * 256
    for value in case["bytes"].values:
        bins[value] += 1
    return {"bins": bins}


POINTS = [
    Right(2, "up to one round of the loop", lambda case: case.sizes["n"] <= 2048),
    Right(2, "more bytes than threads", lambda case: case.sizes["n"] > 2048),
    Count(
        2,
        "at most 256 atomics in global memory a block",
        lambda case: 9000 <= case.sizes["n"] <= 10_007,
        lambda counts, case: counts["atomics"]["global_executions"] <= counts["blocks"] * 256
        and counts["global"]["load_bytes"] <= 2 * case.sizes["n"],
        lambda counts: f"{counts['atomics']['global_executions']} atomics in global memory by "
        f"{many(counts['blocks'], 'block')}, which loaded {counts['global']['load_bytes']} bytes",
        blocks=lambda case: 4,
        busy=0.2,  # with 16 bytes per load it is a third
    ),
]

RIGHTS = {
    "memset by one thread": {
        1: "if (threadIdx.x == 0) memset(mine, 0, sizeof mine);\n__syncthreads();"
    },
    "a loop that clears, pointers": {
        1: "for (int v = threadIdx.x; v < kBins; v += blockDim.x) mine[v] = 0u;\n__syncthreads();",
        2: "const unsigned char* from = bytes + blockIdx.x * kBlock + threadIdx.x;\n"
        "while (from < bytes + n) {\n  atomicAdd(mine + *from, 1u);\n"
        "  from += gridDim.x * blockDim.x;\n}",
    },
    "nobody asks whether there is something to add": {
        1: "unsigned& own = mine[threadIdx.x];\nown = 0;\n__syncthreads();",
        2: "for (int i = threadIdx.x + blockIdx.x * kBlock; i < n; i += kBlock * gridDim.x) {\n"
        "  const int v = bytes[i];\n  atomicInc(&mine[v], 0xffffffffu);\n}",
        3: "__syncthreads();\natomicAdd(bins + threadIdx.x, own);",
    },
}

MUTANTS = {
    "before: one warp of a block counts": {
        2: "for (int i = blockIdx.x * 32 + threadIdx.x; i < n && threadIdx.x < 32; "
        "i += gridDim.x * 32) {\n  atomicAdd(&mine[bytes[i]], 1u);\n}\n__syncthreads();"
    },
    "16 bits for a count": {
        3: "atomicAdd(&bins[threadIdx.x], mine[threadIdx.x] & 0xFFFFu);"
    },
    "no loop": {
        2: "const int i = blockIdx.x * kBlock + threadIdx.x;\n"
        "if (i < n) atomicAdd(&mine[bytes[i]], 1u);"
    },
    "the bins are not emptied": {1: ""},
    "nobody waits until they are empty": {1: "mine[threadIdx.x] = 0;"},
    "counts are lost: no atomic": {
        2: "for (int i = blockIdx.x * kBlock + threadIdx.x; i < n; i += gridDim.x * kBlock) {\n"
        "  mine[bytes[i]] += 1;\n}"
    },
    "nobody waits until all have counted": {
        3: "const unsigned count = mine[threadIdx.x];\n"
        "if (count > 0) atomicAdd(&bins[threadIdx.x], count);"
    },
    "the last block wins": {
        3: "__syncthreads();\nconst unsigned count = mine[threadIdx.x];\n"
        "if (count > 0) bins[threadIdx.x] = count;"
    },
    "before: every byte goes to global memory": {
        2: "for (int i = blockIdx.x * kBlock + threadIdx.x; i < n; i += gridDim.x * kBlock) {\n"
        "  atomicAdd(&bins[bytes[i]], 1u);\n}"
    },
}
