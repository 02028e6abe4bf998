"""Exercise 04/descriptor."""

from exercise.api import Array, Case, Count, Right, drawn, eighths, product

TITLE = "A descriptor for wgmma"
KIND = "step"
MINUTES = 15
CALL = "multiply(float* a, float* b, float* c, int m)"


def cases(random):
    for m, k in ((64, 16), (64, 64), (192, 64), (64 * random.choice((2, 4)), 64)):
        a, b = (
            [value if i % 64 < k else 0.0 for i, value in enumerate(eighths(random, rows * 64))]
            for rows in (m, 8)
        )
        yield Case(
            f"m = {m}, {k} values of k",
            {"m": m, "k": k},
            [
                Array("a", a, shape=(m, 64)),
                Array("b", b, shape=(8, 64)),
                Array("c", role="output", count=8 * m, shape=(m, 8)),
            ],
        )


def expected(case):
    b = case["b"].values
    transposed = [value for p in range(64) for value in b[p::64]]
    return {"c": product(case["a"].values, transposed, case.sizes["m"], 8, 64)}


def _operations(counts):
    return counts["beside"]["tensor_operations"]


POINTS = [
    Right(2, "the first 16 values of k", lambda case: case.sizes["k"] == 16),
    Right(2, "all 64", lambda case: case.sizes["k"] == 64),
    Count(
        1,
        "tensor cores multiply",
        lambda case: case.sizes["k"] == 64,
        lambda counts, case: _operations(counts) == 2 * case.sizes["m"] * 8 * 64,
        lambda counts: f"tensor cores did {_operations(counts)} operations",
        blocks=lambda case: case.sizes["m"] // 96,
    ),
]

_STEP = """
const std::uint64_t from_a = descriptor(ptx::shared_address(tile_a) + STEP, 1024);
const std::uint64_t from_b = descriptor(ptx::shared_address(tile_b) + STEP, 1024);"""

RIGHTS = {
    "field by field": {
        1: "std::uint64_t fields = address / 16;\n"
        "fields |= static_cast<std::uint64_t>(stride_bytes / 16) << 32;\n"
        "fields |= 1ull << 62;\nreturn fields;"
    },
    "a sum": {
        1: "return (address >> 4) + (std::uint64_t(stride_bytes) << 28) + (std::uint64_t{1} << 62);"
    },
    "a lambda": {
        2: "const auto of = [&](const unsigned char* tile) {\n"
        "  return descriptor(ptx::shared_address(tile + 32 * q), 8 * 128);\n};\n"
        "const auto from_a = of(tile_a), from_b = of(tile_b);"
    },
    "steps are added to a descriptor": {
        2: "const std::uint64_t from_a = descriptor(ptx::shared_address(tile_a), 1024) + 2 * q;\n"
        "const std::uint64_t from_b = descriptor(ptx::shared_address(tile_b), 1024) + 2 * q;"
    },
}

MUTANTS = {
    "only the first 16 values of k": {0: [("q < kTileK / 16", "q < 1")]},
    "before: no tensor core": {
        0: [
            ("    wgmma_m64n8k16(d, from_a, from_b);\n", ""),
            ("  for (int i = 0; i < 4; ++i) {\n", "  for (int i = 0; i < 4; ++i) {\n"
             "    for (int p = 0; p < kTileK; ++p) {\n"
             "      d[i] += a[(16 * warp + lane / 4 + i / 2 * 8) * kTileK + p] *\n"
             "              b[(lane % 4 * 2 + i % 2) * kTileK + p];\n    }\n"),
        ],
    },
    "the address in bytes": {
        1: "return std::uint64_t{address} | std::uint64_t{stride_bytes >> 4} << 32 |\n"
        "       std::uint64_t{1} << 62;"
    },
    "no swizzle": {
        1: "return std::uint64_t{address >> 4} | std::uint64_t{stride_bytes >> 4} << 32;"
    },
    "the stride of one row": {2: _STEP.replace("STEP", "32 * q").replace("1024", "128")},
    "always the first 16": {2: _STEP.replace("STEP", "0")},
    "a step of 16 bytes": {2: _STEP.replace("STEP", "16 * q")},
}
