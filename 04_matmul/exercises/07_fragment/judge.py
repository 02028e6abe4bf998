"""Exercise 04/fragment."""

from exercise.api import Array, Case, Count, Right, drawn, eighths, product

TITLE = "Who holds what: fragments of mma.sync"
KIND = "step"
MINUTES = 15
CALL = "multiply(float* a, float* b, float* c, int k)"


def _case(name, k, a, b):
    arrays = [Array("a", a, shape=(16, k)), Array("b", b, shape=(k, 8))]
    arrays += [Array("c", role="output", count=128, shape=(16, 8))]
    return Case(name, {"k": k}, arrays)


def cases(random):
    # One 8 x 8 matrix of A alone: where its products arrive says where it went.
    for name, top, left in (("top right", 0, 8), ("bottom left", 8, 0)):
        a = [0.0] * (16 * 16)
        for row in range(top, top + 8):
            a[row * 16 + left : row * 16 + left + 8] = eighths(random, 8)
        b = eighths(random, 16 * 8)
        yield _case(f"k = 16, and A is 0 but for its {name} 8 x 8", 16, a, b)
    for k in (16, 32, 80, 16 * drawn(random, 3, 9, besides=(5,))):
        yield _case(f"k = {k}", k, eighths(random, 16 * k), eighths(random, k * 8))


def expected(case):
    return {"c": product(case["a"].values, case["b"].values, 16, 8, case.sizes["k"])}


def _operations(counts):
    return counts["beside"]["tensor_operations"]


POINTS = [
    Right(2, "16 values of k", lambda case: case.sizes["k"] == 16),
    Right(1, "more than that", lambda case: case.sizes["k"] > 16),
    Count(
        1,
        "tensor cores multiply, and each element is loaded once",
        lambda case: case.sizes["k"] > 16,
        # Who multiplies in another way loads an element of A for each of 8 columns, or of 4 lanes.
        lambda counts, case: _operations(counts) == 2 * 16 * 8 * case.sizes["k"]
        and counts["global"]["load_bytes"] <= 4 * 24 * case.sizes["k"],
        lambda counts: f"tensor cores did {_operations(counts)} operations, and "
        f"{counts['global']['load_bytes'] // 4} floats were loaded: 24 for each value of k are "
        "enough",
        busy=0.3,
    ),
]

_A = """
for (int i = 0; i < 4; ++i) {
  const float* from = a + (g + DOWN * 8) * k + p + two + ACROSS * 8;
  from_a[i] = ptx::pack_bf16(PAIR);
}"""
_PAIR = "from[0], from[1]"

RIGHTS = {
    "bits shifted by a function that is not inlined": {
        0: [("// C = A B by one warp",
             "__device__ __noinline__ std::uint32_t both(float low, float high) {\n"
             "  return __float_as_uint(low) >> 16 | (__float_as_uint(high) & 0xffff0000u);\n}\n"
             "// C = A B by one warp")],
        2: "for (int i = 0; i < 2; ++i) {\n  const float* from = b + (p + two + i * 8) * 8 + g;\n"
        "  from_b[i] = both(from[0], from[8]);\n}",
    },
    "one after the other": {
        1: "const float* upper = a + g * k + p + two;\nconst float* lower = upper + 8 * k;\n"
        "from_a[0] = ptx::pack_bf16(upper[0], upper[1]);\n"
        "from_a[1] = ptx::pack_bf16(lower[0], lower[1]);\n"
        "from_a[2] = ptx::pack_bf16(upper[8], upper[9]);\n"
        "from_a[3] = ptx::pack_bf16(lower[8], lower[9]);"
    },
    "a lambda for an element of B": {
        2: "const auto at = [&](int row) { return b[(p + two + row) * 8 + g]; };\n"
        "from_b[0] = ptx::pack_bf16(at(0), at(1));\nfrom_b[1] = ptx::pack_bf16(at(8), at(9));"
    },
    "two stores of a float2": {
        1: "for (int right = 0; right < 2; ++right) {\n  for (int down = 0; down < 2; ++down) {\n"
        "    const auto pair = *(const float2*)(a + (g + 8 * down) * k + p + two + 8 * right);\n"
        "    from_a[2 * right + down] = ptx::pack_bf16(pair.x, pair.y);\n  }\n}",
        3: "float2* to = reinterpret_cast<float2*>(c + g * 8 + two);\n"
        "to[0] = {d[0], d[1]};\nto[32] = float2{d[2], d[3]};",
    },
}

MUTANTS = {
    "before: tensor cores multiply zeros": {
        1: "for (int i = 0; i < 16; ++i) {\n  for (int j = 0; j < 4; ++j) {\n"
        "    d[j] += a[(g + j / 2 * 8) * k + p + i] * b[(p + i) * 8 + two + j % 2];\n  }\n}",
        2: "",
    },
    "before: tensor cores multiply zeros, and lane 0 computes all": {
        1: "",
        2: "",
        3: "for (int i = 0; i < 16 * 8 && lane == 0; ++i) {\n  float sum = d[0];\n"
        "  for (int p = 0; p < k; ++p) sum += a[i / 8 * k + p] * b[p * 8 + i % 8];\n"
        "  c[i] = sum;\n}",
    },
    "before: no tensor core": {
        0: [("    ptx::mma_m16n8k16(d, from_a, from_b[0], from_b[1]);\n", "")],
        3: "for (int i = 0; i < 4; ++i) {\n  const int row = g + i / 2 * 8, column = two + i % 2;\n"
        "  for (int p = 0; p < k; ++p) d[i] += a[row * k + p] * b[p * 8 + column];\n"
        "  c[row * 8 + column] = d[i];\n}",
    },
    "right half before the lower one": {
        1: _A.replace("DOWN", "i / 2").replace("ACROSS", "i % 2").replace("PAIR", _PAIR)
    },
    "the right one of two in the lower half": {
        1: _A.replace("DOWN", "i % 2")
        .replace("ACROSS", "i / 2")
        .replace("PAIR", "from[1], from[0]")
    },
    "B held by rows": {
        2: "for (int i = 0; i < 2; ++i) {\n"
        "  const float* from = b + (p + g + i * 8) * 8 + two;\n"
        "  from_b[i] = ptx::pack_bf16(from[0], from[1]);\n}"
    },
    "always the first 16 rows of B": {
        2: "for (int i = 0; i < 2; ++i) {\n"
        "  const float* from = b + (two + i * 8) * 8 + g;\n"
        "  from_b[i] = ptx::pack_bf16(from[0], from[8]);\n}"
    },
    "d[2] and d[3] two columns on": {
        3: "for (int i = 0; i < 4; ++i) c[(g + i % 2 * 8) * 8 + two + i / 2] = d[i];"
    },
}
