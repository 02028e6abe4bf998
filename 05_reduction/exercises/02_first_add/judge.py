"""Exercise 05/first_add."""

from exercise.api import Array, Case, Count, Right, drawn, eighths

TITLE = "Add while you load"
KIND = "step"
MINUTES = 10
CALL = "block_sums(float* x, float* sums, int n)"

TILE = 512


def cases(random):
    fixed = (TILE, 4 * TILE, 1, 255, 256, 257, 511, 513, 1021)
    odd = drawn(random, 2, 4 * TILE, besides=(*fixed, *range(0, 4 * TILE + 1, TILE // 2)))
    for n in (*fixed, odd, drawn(random, 2 * TILE, 12 * TILE, TILE, fixed)):
        sums = Array("sums", role="output", count=-(-n // TILE))
        yield Case(f"n = {n}", {"n": n}, [Array("x", eighths(random, n)), sums])


def expected(case):
    x = case["x"].values
    return {"sums": [sum(x[i : i + TILE]) for i in range(0, len(x), TILE)]}


def _sectors(counts):
    return counts["global"]["load_sectors"] / max(1, counts["global"]["load_requests"])


POINTS = [
    Right(2, "whole blocks", lambda case: case.sizes["n"] % TILE == 0),
    Right(2, "blocks that are not full", lambda case: case.sizes["n"] % TILE),
    Count(
        1,
        "each warp loads 64 neighbours, in sectors used in full",
        lambda case: case.sizes["n"] % TILE == 0 and case.sizes["n"] > TILE,
        lambda counts, case: counts["global"]["load_bytes_moved"] <= 4 * case.sizes["n"]
        and counts["global"]["load_requests"] <= case.sizes["n"] // 32,
        lambda counts: f"{counts['global']['load_requests']} loads of {_sectors(counts):.1f} "
        "sectors",
        blocks=lambda case: case.sizes["n"] // (2 * TILE),
        threads=lambda case: {"loads": case.sizes["n"] // 2},
    ),
]

RIGHTS = {
    "float2": {
        1: "const int i = blockIdx.x * 512 + 2 * t;\nfloat2 both = {};\nif (i + 1 < n) {\n"
        "  both = *reinterpret_cast<const float2*>(x + i);\n} else if (i < n) {\n"
        "  both.x = x[i];\n}\npart[t] = both.x + both.y;"
    },
    "pointers": {
        1: "const float* from = x + blockIdx.x * (2 * kBlock) + t;\nfloat sum = 0;\n"
        "if (from < x + n) sum = *from;\nif (from + kBlock < x + n) sum += from[kBlock];\n"
        "part[t] = sum;"
    },
    "a loop, for any number of elements": {
        1: "const int begin = blockIdx.x * 512, end = min(n, begin + 512);\nfloat sum = 0;\n"
        "for (int i = begin + t; i < end; i += blockDim.x) sum += x[i];\npart[t] = sum;",
        2: "const int grid = n / 512 + (n % 512 != 0);",
    },
    "a lambda": {
        1: "const auto at = [=](int i) { return i < n ? x[i] : 0.0f; };\n"
        "const int tile = 2 * blockIdx.x;\n"
        "part[t] = at((tile + 1) * kBlock + t) + at(tile * kBlock + t);",
        2: "const dim3 grid((n - 1) / 512 + 1);",
    },
}

MUTANTS = {
    "one element a thread": {
        1: "const int i = blockIdx.x * 2 * kBlock + t;\npart[t] = i < n ? x[i] : 0.0f;"
    },
    "one bound for both elements": {
        1: "const int i = blockIdx.x * 2 * kBlock + t;\n"
        "part[t] = i + kBlock < n ? x[i] + x[i + kBlock] : 0.0f;"
    },
    "the block begins where it did before": {
        1: "const int i = blockIdx.x * kBlock + t;\n"
        "part[t] = (i < n ? x[i] : 0.0f) + (i + kBlock < n ? x[i + kBlock] : 0.0f);"
    },
    "as many blocks as before": {2: "const int grid = (n + kBlock - 1) / kBlock;"},
    "before: half of the block loads for all": {
        1: "part[t] = 0;\nfor (int i = blockIdx.x * 512 + t; t < 128 && i < min(n, "
        "int(blockIdx.x + 1) * 512); i += 128) {\n  part[t] += x[i];\n}"
    },
    "before: two neighbours a thread": {
        1: "const int i = (blockIdx.x * kBlock + t) * 2;\n"
        "part[t] = (i < n ? x[i] : 0.0f) + (i + 1 < n ? x[i + 1] : 0.0f);"
    },
}
