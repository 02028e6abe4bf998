"""Exercise 04/fragment."""

from exercise.api import Array, Case, Count, Right, eighths, product

TITLE = "Who holds what: fragments of mma.sync"
KIND = "step"
MINUTES = 15
CALL = "multiply(float* a, float* b, float* c, int k)"


def cases(random):
    for k in (16, 32, 80):
        yield Case(
            f"k = {k}",
            {"k": k},
            [
                Array("a", eighths(random, 16 * k), shape=(16, k)),
                Array("b", eighths(random, k * 8), shape=(k, 8)),
                Array("c", role="output", count=128, shape=(16, 8)),
            ],
        )


def expected(case):
    return {"c": product(case["a"].values, case["b"].values, 16, 8, case.sizes["k"])}


def _operations(counts):
    return counts["beside"]["tensor_operations"]


POINTS = [
    Right(2, "16 values of k", lambda case: case.sizes["k"] == 16),
    Right(1, "more than that", lambda case: case.sizes["k"] > 16),
    Count(
        1,
        "tensor cores multiply",
        lambda case: case.sizes["k"] > 16,
        lambda counts, case: _operations(counts) == 2 * 16 * 8 * case.sizes["k"],
        lambda counts: f"tensor cores did {_operations(counts)} operations",
    ),
]

_A = """
for (int i = 0; i < 4; ++i) {
  const float* from = a + (g + DOWN * 8) * k + p + two + ACROSS * 8;
  from_a[i] = ptx::pack_bf16(PAIR);
}"""
_PAIR = "from[0], from[1]"

MUTANTS = {
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
