"""Exercise 04/repair_scales."""

from exercise.api import Array, Case, Count, Right, drawn, e4m3, eighths, product

TITLE = "Repair: scales of blocks"
KIND = "repair"
MINUTES = 20
CALL = (
    "multiply(__nv_fp8_e4m3* a, __nv_fp8_e4m3* b, float* scales_a, float* scales_b, float* c, "
    "int m, int n, int k)"
)

SHARE = 128
BYTES = {e4m3(byte): byte for byte in range(256)}
NEITHER, OF_A, OF_B, BOTH = "all scales are 1", "those of B are 1", "those of A are 1", "any scales"


def _blocks(size):
    return -(-size // SHARE)


def _scales(random, count, used):
    """Powers of two, of both signs: sums of eighths stay exact. Neighbours differ."""
    scales = [1.0]
    while len(scales) <= count:
        others = [scale for scale in (0.5, 1.0, -2.0, 4.0) if scale != scales[-1]]
        scales.append(random.choice(others))
    return scales[1:] if used else [1.0] * count


def cases(random):
    whole = (drawn(random, 3, 9), drawn(random, 132, 150), 256)
    odd = (drawn(random, 3, 9), drawn(random, 132, 150), drawn(random, 270, 380))
    # Where only one of A and B has scales, a mistake in the other's cannot hide.
    for (m, n, k), which in (
        ((4, 5, 128), NEITHER),
        ((4, 5, 256), NEITHER),
        ((17, 5, 384), OF_A),
        ((1, 20, 256), OF_A),
        ((3, 140, 128), OF_B),
        ((3, 20, 384), OF_B),
        (whole, OF_B),
        ((2, 270, 128), OF_B),
        ((17, 140, 128), OF_B),
        ((2, 3, 600), BOTH),
        ((4, 5, 200), BOTH),
        ((5, 3, 7), BOTH),
        (odd, BOTH),
    ):
        yield Case(
            f"{m} x {n} x {k}, {which}",
            {"m": m, "n": n, "k": k},
            [
                Array("a", [BYTES[x] for x in eighths(random, m * k)], type="byte", shape=(m, k)),
                Array("b", [BYTES[x] for x in eighths(random, n * k)], type="byte", shape=(n, k)),
                Array(
                    "scales_a",
                    _scales(random, m * _blocks(k), which in (OF_A, BOTH)),
                    shape=(m, _blocks(k)),
                ),
                Array(
                    "scales_b",
                    _scales(random, _blocks(n) * _blocks(k), which in (OF_B, BOTH)),
                    shape=(_blocks(n), _blocks(k)),
                ),
                Array("c", role="output", count=m * n, shape=(m, n)),
            ],
        )


def expected(case):
    m, n, k = (case.sizes[name] for name in "mnk")

    def real(name, rows):
        """The elements of A or B, of whose rows so many share a scale, times their scales."""
        scales = case["scales_" + name].values
        return [
            e4m3(byte) * scales[i // k // rows * _blocks(k) + i % k // SHARE]
            for i, byte in enumerate(case[name].values)
        ]

    b = real("b", SHARE)
    return {"c": product(real("a", 1), [value for p in range(k) for value in b[p::k]], m, n, k)}


POINTS = [
    Right(2, "scales of A", lambda case: case.name.endswith((NEITHER, OF_A))),
    Right(2, "scales of B", lambda case: case.name.endswith((NEITHER, OF_B))),
    Right(2, "both, and a last block that is shorter", lambda case: case.name.endswith(BOTH)),
    Count(
        1,
        "a thread for two elements of C at most",
        lambda case: case.sizes["n"] > SHARE and case.sizes["m"] > 16,
        lambda counts, case: 2 * counts["threads"] >= len(case["c"]),
        lambda counts: f"{counts['threads']} threads were started",
        threads=lambda case: {"stores": len(case["c"]) // 3},
    ),
]

_OF_A, _OF_B = "scales_a[row * k_blocks + block]", "scales_b[col / kShare * k_blocks + block]"


def _scale(value):
    return {2: f"const float scale = {value};"}


RIGHTS = {
    "two columns a thread": {
        0: [("col = blockIdx.x * kTile + threadIdx.x;\n  if (row >= m || col >= n) return;\n",
             "first = 2 * (blockIdx.x * kTile + threadIdx.x);\n  if (row >= m) return;\n"),
            ("  float sum = 0, part = 0;",
             "  for (int col = first; col < min(n, first + 2); ++col) {\n"
             "  float sum = 0, part = 0;"),
            ("  c[row * n + col] = sum;\n", "  c[row * n + col] = sum;\n  }\n"),
            ("grid((n + kTile - 1) / kTile,", "grid((n + 2 * kTile - 1) / (2 * kTile),")],
    },
    "how much is left": {
        1: "const int left = k - 1 - p;\nif (left > 0 && p % kShare < kShare - 1) continue;",
        3: "sum = fmaf(part, scale, sum), part = 0;",
    },
    "pointers": {
        0: [("  float sum = 0, part = 0;",
             "  const float* of_a = scales_a + row * k_blocks;\n"
             "  const float* of_b = &scales_b[col / 128 * k_blocks];\n  float sum = 0, part = 0;")],
        2: "const float scale = *of_a++ * *of_b++;",
        3: "const float before = sum;\nsum = before + scale * part;\npart = 0.0f;",
    },
    "each product is scaled": {
        0: [("    part += static_cast<float>(a[row * k + p]) * static_cast<float>(b[col * k + p]);",
             "    const float x(a[row * k + p]), y(b[col * k + p]);")],
        1: "",
        2: "const float in_a = x * " + _OF_A + ", in_b = y * " + _OF_B + ";",
        3: "sum += in_a * in_b;",
    },
    "the part is begun anew in front": {
        1: "const bool is_last = p == k - 1 || p % 128 == 127;\nif (!is_last) continue;",
        2: "const auto at = [=](const float* of, int r) { return of[r * k_blocks + block]; };\n"
        "const float with_a = part * at(scales_a, row);",
        3: "part = 0;\nsum += with_a * at(scales_b, col >> 7);",
    },
}

MUTANTS = {
    "the last block is left out": {1: "if ((p + 1) % kShare != 0) continue;"},
    "the scales of A's first block": _scale("scales_a[row * k_blocks] * " + _OF_B),
    "the scales of B's first columns": _scale(_OF_A + " * scales_b[block]"),
    "no scale of B": _scale(_OF_A),
    "no scale of A": _scale(_OF_B),
    "A's scales, column by column": _scale("scales_a[block * m + row] * " + _OF_B),
    "B's scales, a row for each column of C": _scale(
        _OF_A + " * scales_b[min(col, (n - 1) / kShare) * k_blocks + block]"
    ),
    "a column too late": _scale(_OF_A + " * scales_b[max(col - 1, 0) / kShare * k_blocks + block]"),
    "a block too late": {
        0: [("const int block = p / kShare;",
             "const int block = min((p + 1) / kShare, k_blocks - 1);")]
    },
    "scales that are added": _scale(_OF_A + " + " + _OF_B),
    "divided by the scales": {3: "sum += part / scale;\npart = 0;"},
    "the sum is scaled again": {3: "sum = (sum + part) * scale;\npart = 0;"},
    "the part goes on": {3: "sum += part * scale;"},
    "the last scale for all": {3: "sum += part;\npart = 0;\nif (p + 1 == k) sum *= scale;"},
}
