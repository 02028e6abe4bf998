"""Exercise 07/merge."""

import math

from exercise.api import Array, Case, Count, Right, drawn, float32, floats

TITLE = "Two halves of the keys"
KIND = "step"
MINUTES = 10
CALL = (
    "merge(float* o_a, float* lse_a, float* o_b, float* lse_b, float* o, float* lse, "
    "int rows, int d)"
)


def cases(random):
    for rows, d, spread, empty in (
        (4, 8, 1, ""),
        (33, 5, 1, ""),
        (40, 16, 200, ""),
        (1, 1, 200, ""),
        (7, 8, 2, "a"),
        (9, 4, 2, "b"),
        (5, 16, 2, "ab"),
        (drawn(random, 5, 32), drawn(random, 2, 16), 1, ""),
        (drawn(random, 10, 39), drawn(random, 1, 16), 200, ""),
        (drawn(random, 70, 90), 16, 1, ""),
    ):
        arrays = []
        for half in "ab":
            is_empty = half in empty
            o = [0.0] * (rows * d) if is_empty else floats(random, rows * d)
            lse = [-math.inf] * rows if is_empty else floats(random, rows, -spread, spread)
            if half == "b" and spread == 200:  # the logarithm of the smaller share is 1e-4
                lse[0] = arrays[1].values[0] - 9
            arrays += [Array(f"o_{half}", o), Array(f"lse_{half}", lse)]
        arrays.append(Array("o", role="output", count=rows * d, shape=(rows, d)))
        arrays.append(Array("lse", role="output", count=rows))
        name = f"{rows} rows of {d}, lse up to {spread}"
        if empty:
            name += f", no keys in {' and '.join(empty)}"
        yield Case(name, {"rows": rows, "d": d, "empty": len(empty)}, arrays)


def expected(case):
    o, lse, d = [], [], case.sizes["d"]
    for row, (a, b) in enumerate(zip(case["lse_a"].values, case["lse_b"].values)):
        if max(a, b) == -math.inf:
            o += [0.0] * d
            lse.append(-math.inf)
            continue
        of_a, of_b = math.exp(a - max(a, b)), math.exp(b - max(a, b))
        for i in range(row * d, row * d + d):
            mean = (of_a * case["o_a"].values[i] + of_b * case["o_b"].values[i]) / (of_a + of_b)
            o.append(float32(mean))
        lse.append(max(a, b) + math.log(of_a + of_b))
    return {"o": o, "lse": lse}


def bound(case, name, i):
    """Exponents are exact to 2^-24 of up to 400."""
    return 400 * 2**-23


def _is_small(case):
    return not case.sizes["empty"] and "200" not in case.name


POINTS = [
    Right(2, "small numbers", _is_small),
    Right(2, "numbers whose exponential overflows", lambda case: "200" in case.name),
    Right(1, "halves without keys", lambda case: case.sizes["empty"]),
    Count(
        1,
        "a thread for four elements of o at most",
        lambda case: case.sizes["rows"] >= 70,
        # Each element is stored once: twice, and few threads look like many.
        lambda counts, case: 4 * counts["threads"] >= len(case["o"])
        and counts["global"]["store_bytes"] <= 4 * (len(case["o"]) + len(case["lse"])),
        lambda counts: f"{counts['threads']} threads stored "
        f"{counts['global']['store_bytes'] // 4} numbers",
        # A thread that stores four has the row's lse, too.
        threads=lambda case: {"stores": len(case["o"]) // 5},
        busy=0.3,
    ),
]

_MERGE = """
const float larger = fmaxf(a, b);
const float shift = larger == -INFINITY ? 0.0f : larger;
const float of_a = expf(a - shift), of_b = expf(b - shift), sum = of_a + of_b;
o[i] = sum > 0 ? (of_a * o_a[i] + of_b * o_b[i]) / sum : 0.0f;
if (i % d == 0) lse[row] = shift + logf(sum);"""

RIGHTS = {
    "float4, where rows allow it": {
        0: [("i = blockIdx.x * blockDim.x + threadIdx.x;  // an element of o\n",
             "wide = d % 4 ? 1 : 4, i = (blockIdx.x * blockDim.x + threadIdx.x) * wide;\n"),
            ("merge_kernel<<<(rows * d + 127) / 128, 128>>>",
             "merge_kernel<<<(rows * d / (d % 4 ? 1 : 4) + 127) / 128, 128>>>")],
        1: "const float larger = fmaxf(a, b), shift = larger == -INFINITY ? 0.0f : larger;\n"
        "const float sum = expf(a - shift) + expf(b - shift), part = sum > 0 ? 1 / sum : 0.0f;\n"
        "const float of_a = expf(a - shift) * part, of_b = expf(b - shift) * part;\n"
        "if (wide == 4) {\n  const float4 u = *reinterpret_cast<const float4*>(o_a + i);\n"
        "  const float4 v = *reinterpret_cast<const float4*>(o_b + i);\n"
        "  *reinterpret_cast<float4*>(o + i) =\n"
        "      make_float4(of_a * u.x + of_b * v.x, of_a * u.y + of_b * v.y,\n"
        "                  of_a * u.z + of_b * v.z, of_a * u.w + of_b * v.w);\n} else {\n"
        "  o[i] = of_a * o_a[i] + of_b * o_b[i];\n}\n"
        "if (i % d == 0) lse[row] = shift + logf(sum);"
    },
    "shares that add up to 1": {
        1: "const float top = a > b ? a : b, base = isinf(top) ? 0.0f : top;\n"
        "const float of_a = expf(a - base), sum = of_a + expf(b - base);\n"
        "const float share = sum > 0 ? 1 / sum : 0.0f;\n"
        "o[i] = of_a * share * o_a[i] + expf(b - base) * share * o_b[i];\n"
        "if (i == row * d) lse[row] = logf(sum) + base;"
    },
    "nothing at all comes first": {
        1: "float& out = o[i];\nif (a == -INFINITY && b == -INFINITY) {\n  out = 0;\n"
        "  if (i % d == 0) lse[row] = -INFINITY;\n  return;\n}\nconst float most = fmaxf(a, b);\n"
        "const float all = most + logf(expf(a - most) + expf(b - most));\n"
        "out = expf(a - all) * o_a[i] + expf(b - all) * o_b[i];\nif (i % d == 0) lse[row] = all;"
    },
    "from the larger half, by log1pf": {
        1: "const bool swap = b > a;\nconst float more = swap ? b : a, less = swap ? a : b;\n"
        "const float *of_more = swap ? o_b : o_a, *of_less = swap ? o_a : o_b;\n"
        "const float w = less == -INFINITY ? 0.0f : expf(less - more);\n"
        "o[i] = (of_more[i] + w * of_less[i]) / (1 + w);\n"
        "if (i % d == 0) lse[row] = more + log1pf(w);"
    },
}

MUTANTS = {
    "before: two threads for each element": {
        0: [("i = blockIdx.x * blockDim.x + threadIdx.x;",
             "i = (blockIdx.x * blockDim.x + threadIdx.x) / 2;"),
            ("<<<(rows * d + 127) / 128, 128>>>", "<<<(rows * d + 63) / 64, 128>>>")],
    },
    "before: one thread": {
        0: [("  const int i = blockIdx.x * blockDim.x + threadIdx.x;  // an element of o\n"
             "  if (i >= rows * d) return;\n",
             "  for (int i = 0; i < rows * d; ++i) {\n"),
            ("<<<(rows * d + 127) / 128, 128>>>", "<<<1, 1>>>")],
        1: _MERGE + "\n}",
    },
    "the shift is that of a": {
        1: _MERGE.replace("larger == -INFINITY ? 0.0f : larger", "larger == -INFINITY ? 0.0f : a")
    },
    "the shift is that of b": {
        1: _MERGE.replace("larger == -INFINITY ? 0.0f : larger", "larger == -INFINITY ? 0.0f : b")
    },
    "the lowest 11 bits of the sum are cut off": {
        1: _MERGE.replace(
            "sum = of_a + of_b", "sum = __uint_as_float(__float_as_uint(of_a + of_b) & 0xFFFFF800u)"
        )
    },
    "the mean of the two": {1: "o[i] = (o_a[i] + o_b[i]) / 2;\nif (i % d == 0) lse[row] = a + b;"},
    "nothing is subtracted": {
        1: _MERGE.replace("larger == -INFINITY ? 0.0f : larger", "0.0f * (larger > 0)")
    },
    "two halves without keys give NaN": {
        1: _MERGE.replace("larger == -INFINITY ? 0.0f : larger", "larger")
    },
    "0 / 0": {1: _MERGE.replace("sum > 0 ? ", "").replace(" : 0.0f;\nif", ";\nif")},
    "the shift is not added again": {1: _MERGE.replace("shift + logf(sum)", "logf(sum)")},
}
