"""Exercise 06/columns."""

from exercise.api import Array, Case, Count, Right, drawn, many

TITLE = "A bank for every lane"
KIND = "step"
MINUTES = 15
CALL = "histogram(unsigned char* x, unsigned* bins, int n)"

BINS = 64


def cases(random):
    inputs = {
        "512 random values": [random.randrange(BINS) for _ in range(512)],
        "1 value": [random.randrange(BINS)],
        "127 values": [random.randrange(BINS) for _ in range(127)],
        "16000 equal values": [random.randrange(BINS)] * 16_000,
        "3001 random values": [random.randrange(BINS) for _ in range(3001)],
    }
    few, equal, many = drawn(random, 2, 511), drawn(random, 1000, 1999), drawn(random, 2500, 3000)
    for n in (few, many):
        inputs[f"{n} random values"] = [random.randrange(BINS) for _ in range(n)]
    inputs[f"{equal} equal values"] = [random.randrange(BINS)] * equal
    for name, values in inputs.items():
        bins = Array("bins", [random.randrange(9) for _ in range(BINS)], "in_out", "uint")
        yield Case(name, {"n": len(values)}, [Array("x", values, type="byte"), bins])


def expected(case):
    bins = list(case["bins"].values)
    for value in case["x"].values:
        bins[value] += 1
    return {"bins": bins}


def _passes(counts):
    return counts["shared"]["load_wavefronts"]


POINTS = [
    Right(2, "up to one round of the loop", lambda case: case.sizes["n"] <= 512),
    Right(2, "more values than threads", lambda case: case.sizes["n"] > 512),
    Count(
        2,
        "no two lanes meet in an atomic",
        lambda case: "equal" in case.name,
        lambda counts, case: counts["atomics"]["max_serialization"] <= 1
        and counts["atomics"]["shared_executions"] >= case.sizes["n"],
        lambda counts: f"up to {counts['atomics']['max_serialization']} lanes wanted one word, in "
        f"{counts['atomics']['shared_executions']} atomics in shared memory",
        blocks=lambda case: 2,
        threads=lambda case: {"loads": min(256, case.sizes["n"] // 20)},
    ),
    Count(
        1,
        "the sums at the end have no bank conflicts",
        lambda case: 2000 < case.sizes["n"] < 9999,
        # 64 x 32 words a block, 32 in a pass, whatever the width of a load.
        lambda counts, case: _passes(counts) <= 64 * counts["blocks"],
        lambda counts: f"{_passes(counts)} passes through shared memory for the sums of "
        f"{many(counts['blocks'], 'block')}; 64 a block are enough",
    ),
]

RIGHTS = {
    "uint4 for the sums": {
        0: [("__shared__ unsigned columns", "__shared__ alignas(16) unsigned columns")],
        2: "for (int c = 0; c < 8; ++c) {\n"
        "  const uint4 four = reinterpret_cast<const uint4*>(columns)[8 * v + ((c + v) & 7)];\n"
        "  sum += four.x + four.y + four.z + four.w;\n}"
    },
    "a reference, shifts": {
        1: "const int column = threadIdx.x & 31;\n"
        "unsigned& counter = columns[(x[i] << 5) + column];\natomicAdd(&counter, 1u);"
    },
    "pointers": {
        1: "atomicInc(columns + 32 * x[i] + threadIdx.x % 32, 0xffffffffu);",
        2: "const unsigned* const row = columns + 32 * v;\n"
        "for (unsigned k = threadIdx.x; k < threadIdx.x + 32; ++k) sum += row[k % 32];",
    },
    "by xor": {2: "for (int k = 0; k < 32; ++k) sum += columns[v << 5 | ((v ^ k) & 31)];"},
}

MUTANTS = {
    "before: one warp of each block counts": {
        1: "for (int j = i; threadIdx.x < 32 && j < min(n, i + kBlock); j += 32) {\n"
        "  atomicAdd(&columns[32 * x[j] + threadIdx.x], 1);\n}"
    },
    "before: no columns, a thread looks at all of x": {
        1: ";",
        2: "for (int i = 0; i < n && blockIdx.x == 0; ++i) sum += x[i] == v;",
    },
    "no loop": {
        0: [("for (int i = blockIdx.x * kBlock + threadIdx.x; i < n; i += gridDim.x * kBlock)",
             "if (const int i = blockIdx.x * kBlock + threadIdx.x; i < n)")],
    },
    "no atomic": {1: "columns[32 * x[i] + threadIdx.x % 32] += 1;"},
    "a column a thread, of which there are only 32": {
        1: "atomicAdd(&columns[32 * x[i] + threadIdx.x], 1u);"
    },
    "one column is left out": {
        2: "for (int k = 1; k < 32; ++k) sum += columns[32 * v + (k + threadIdx.x) % 32];"
    },
    "before: a column a warp": {1: "atomicAdd(&columns[32 * x[i] + threadIdx.x / 32], 1u);"},
    "before: all lanes read the same column": {
        2: "for (int k = 0; k < 32; ++k) sum += columns[32 * v + k];"
    },
}
