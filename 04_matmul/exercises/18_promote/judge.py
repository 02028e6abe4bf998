"""Exercise 04/promote."""

from exercise.api import Array, Case, Count, Right, drawn, e4m3, product

TITLE = "Promote the sums"
KIND = "step"
MINUTES = 15
CALL = "multiply(unsigned char* a, unsigned char* b, float* c, int m, int k)"

BYTES = {e4m3(byte): byte for byte in range(256)}


def _rows(random, rows, k):
    """Whole numbers from 7 to 11, of one sign in a row: 128 products stay below 2^14, and 256 do
    not."""
    numbers = []
    for _ in range(rows):
        sign = random.choice((-1, 1))
        numbers += [BYTES[sign * random.randrange(7, 12)] for _ in range(k)]
    return numbers


def cases(random):
    whole = (64, 128 * drawn(random, 5, 9))
    inside = (64, 16 * drawn(random, 65, 71))
    for m, k in ((64, 128), (64, 256), (128, 512), (64, 2048), whole, (64, 272), (64, 48), inside):
        yield Case(
            f"m = {m}, k = {k}",
            {"m": m, "k": k},
            [
                Array("a", _rows(random, m, k), type="byte", shape=(m, k)),
                Array("b", _rows(random, 8, k), type="byte", shape=(8, k)),
                Array("c", role="output", count=8 * m, shape=(m, 8)),
            ],
        )


def expected(case):
    m, k = case.sizes["m"], case.sizes["k"]
    a, b = ([e4m3(byte) for byte in case[name].values] for name in "ab")
    return {"c": product(a, [value for p in range(k) for value in b[p::k]], m, 8, k)}


def _whole(case):
    return case.sizes["k"] % 128 == 0


def _operations(counts):
    return counts["beside"]["tensor_operations"]


def _loads(counts):
    """Of all threads. Who multiplies beside the tensor cores has two for each product."""
    return counts["global"]["load_executions"] + counts["shared"]["load_executions"]


POINTS = [
    Right(2, "k of whole tiles", _whole),
    Right(2, "k that ends inside of a tile", lambda case: not _whole(case)),
    Count(
        2,
        "tensor cores do all products, once",
        _whole,
        lambda counts, case: _operations(counts) == 2 * 8 * case.sizes["m"] * case.sizes["k"]
        and _loads(counts) <= case.sizes["m"] * case.sizes["k"],
        lambda counts: f"tensor cores did {_operations(counts)} operations, and threads "
        f"{_loads(counts)} loads (they are to load tiles, and no factors)",
        blocks=lambda case: case.sizes["m"] // 64,
    ),
]

_FENCE = "ptx::fence_registers(ACC);\nptx::wgmma_fence();\n"
_ISSUE = "issue_products(ACC, tile_a, tile_b, MORE);\nptx::wgmma_commit_group();\n"
_WAIT = "ptx::wgmma_wait_group<0>();\nptx::fence_registers(ACC);\n"
_ADD = "for (int i = 0; i < 4; ++i) sums[i] += acc[i];\n"


def _products(more, acc="acc"):
    return (_FENCE + _ISSUE + _WAIT).replace("ACC", acc).replace("MORE", more)


def _every(values):
    """Promoted when so many values of k are complete."""
    return {
        0: [("  float sums[4] = {};\n", "  float sums[4] = {}, acc[4] = {};\n")],
        1: _products(f"p % {values} > 0")
        + f"if ((p + kTileK) % {values} == 0 || p + kTileK >= k) {{\n  {_ADD}}}",
    }


_BY_HAND = """
for (int i = 0; i < 4; ++i) {
  const int row = 16 * warp + lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
  for (int q = p; q < min(k, p + kTileK); ++q) {
    __nv_fp8_e4m3 x, y;
    x.__x = a[row * k + q], y.__x = b[column * k + q];
    sums[i] = fmaf(static_cast<float>(x), static_cast<float>(y), sums[i]);
  }
}"""

RIGHTS = {
    "accumulators that live longer": _every(128),
    "cleared by hand": {
        1: "float acc[4] = {0, 0, 0, 0};\n" + _products("true") + "sums[0] += acc[0];\n"
        "sums[1] += acc[1];\nsums[2] += acc[2];\nsums[3] += acc[3];"
    },
    "promoted every 64 values": {
        1: "for (int half = 0; half < 128; half += 64) {\n  float part[4];\n"
        "  ptx::wgmma_fence();\n  for (int q = half; q < half + 64; q += 32) {\n"
        "    wgmma_m64n8k32(part, ptx::advance(ptx::descriptor_128B(tile_a, 0, 1024), q),\n"
        "                   ptx::advance(ptx::descriptor_128B(tile_b, 0, 1024), q), q > half);\n"
        "  }\n  ptx::wgmma_commit_group();\n  ptx::wgmma_wait_group<0>();\n"
        "  for (int i = 0; i < 4; ++i) sums[i] += part[i];\n}"
    },
    "a function that adds": {
        0: [("// C = A B^T for 64 rows", "__device__ __noinline__ float plus(float sum, "
             "float part) {\n  return __fadd_rn(sum, part);\n}\n\n// C = A B^T for 64 rows")],
        1: "float acc[4];\n" + _products("false")
        + "#pragma unroll\nfor (int i = 0; i < 4; ++i) sums[i] = plus(sums[i], acc[i]);",
    },
    "a function that gives a float4": {
        0: [("// C = A B^T for 64 rows", """#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
__device__ inline float4 products_of(const unsigned char* tile_a, const unsigned char* tile_b) {
  float d[4] = {};
""" + _products("true", "d") + """  return make_float4(d[0], d[1], d[2], d[3]);
}
#endif

// C = A B^T for 64 rows""")],
        1: "const float4 more = products_of(tile_a, tile_b);\n"
        "sums[0] += more.x, sums[1] += more.y, sums[2] += more.z, sums[3] += more.w;"
    },
    "sums in double": {
        0: [("  float sums[4] = {};\n", "  double sums[4] = {};\n"),
            ("lane % 4 * 2 + i % 2] = sums[i];", "lane % 4 * 2 + i % 2] = float(sums[i]);")],
    },
}

MUTANTS = {
    "never promoted": {1: _products("p > 0", "sums")},
    "promoted every 256 values": _every(256),
    "promoted every 512 values": _every(512),
    "two accumulators in turn, promoted at the end": {
        0: [("  float sums[4] = {};\n",
             "  float sums[4] = {}, even[4] = {}, odd[4] = {};\n"),
            ("  for (int i = 0; i < 4; ++i) {\n    c[",
             "  for (int i = 0; i < 4; ++i) {\n    sums[i] = even[i] + odd[i];\n    c[")],
        1: "if (p / kTileK % 2 == 0) {\n" + _products("true", "even") + "} else {\n"
        + _products("true", "odd") + "}",
    },
    "added before the wait": {
        1: "float acc[4];\n" + (_FENCE + _ISSUE).replace("ACC", "acc").replace("MORE", "false")
        + _ADD + _WAIT.replace("ACC", "acc")
    },
    "added, and not begun anew": {
        0: [("  float sums[4] = {};\n", "  float sums[4] = {}, acc[4] = {};\n")],
        1: _products("p > 0") + _ADD,
    },
    "begun anew, and not added": {1: _products("false", "sums")},
    "only whole tiles are promoted": {
        1: "float acc[4];\n" + _products("false") + "if (p + kTileK <= k) {\n  " + _ADD + "}"
    },
    "no fence before the products": {
        1: "float acc[4];\n" + _ISSUE.replace("ACC", "acc").replace("MORE", "false")
        + _WAIT.replace("ACC", "acc") + _ADD
    },
    "sums in bf16": {
        0: [("#include <cuda_runtime.h>", "#include <cuda_bf16.h>\n#include <cuda_runtime.h>")],
        1: "float acc[4];\n" + _products("false") + "for (int i = 0; i < 4; ++i) {\n"
        "  sums[i] = __bfloat162float(__float2bfloat16(sums[i] + acc[i]));\n}",
    },
    "before: no tensor core": {
        0: [("#include <cuda_runtime.h>", "#include <cuda_fp8.h>\n#include <cuda_runtime.h>")],
        1: _BY_HAND,
    },
    "before: tensor cores multiply for nothing": {
        0: [("#include <cuda_runtime.h>", "#include <cuda_fp8.h>\n#include <cuda_runtime.h>")],
        1: "float acc[4];\n" + _products("false") + _BY_HAND.replace(
            "a[row * k + q]", "tile_a[ptx::swizzled_128B(row, (q - p) / 16) + q % 16]"
        ).replace("b[column * k + q]", "tile_b[ptx::swizzled_128B(column, (q - p) / 16) + q % 16]")
    },
    "before: all products twice": {
        1: "float acc[4];\n" + _products("false") + _products("false") + _ADD
    },
}
