"""Exercise 01/vectorize."""

from exercise.api import Array, Case, Count, Right, drawn, float32, floats

TITLE = "Sixteen bytes at a time"
KIND = "step"
MINUTES = 15
CALL = "vector_add(float* x, float* y, int n)"


def cases(random):
    fixed = (4, 128, 8192, 1, 2, 3, 5, 127, 1001, 4099)
    for n in (*fixed, drawn(random, 8320, 12_000, 128), drawn(random, 131, 4999, 1, fixed)):
        x, y = floats(random, n), floats(random, n)
        yield Case(f"n = {n}", {"n": n}, [Array("x", x), Array("y", y, "in_out")], tile=4)


def expected(case):
    return {"y": [float32(a + b) for a, b in zip(case["x"].values, case["y"].values)]}


def _is_wide(counts, case):
    """A warp moves 128 floats with one instruction: two loads and a store. (Where a float4 is put
    together in memory, number by number, simt sees four stores, or loads, and nvcc makes one: who
    has wide loads of x or wide stores of y has no narrow version of both.)"""
    warps, found = case.sizes["n"] // 128, counts["global"]
    loads, stores = found["load_requests"], found["store_requests"]
    bytes_moved = (found["load_bytes"], found["store_bytes"]) == (1024 * warps, 512 * warps)
    return bytes_moved and loads <= 5 * warps and stores <= 4 * warps


POINTS = [
    Right(2, "multiples of four", lambda case: case.sizes["n"] % 4 == 0),
    Right(2, "one, two or three elements left over", lambda case: case.sizes["n"] % 4),
    Count(
        2,
        "a quarter of the memory instructions",
        lambda case: case.sizes["n"] >= 8192 and case.sizes["n"] % 128 == 0,
        _is_wide,
        lambda counts: (
            f"the warps made {counts['global']['load_requests']} loads and "
            f"{counts['global']['store_requests']} stores; two loads and a store for 128 elements "
            "are enough"
        ),
        task=1,
        blocks=lambda case: 3,
        busy=0.51,  # a thread for each float4, or whole rounds of all threads but for the last one
    ),
]

_ONE_BY_ONE = "if (i < whole) {\n  for (int k = 0; k < 4; ++k) y[4 * i + k] += x[4 * i + k];\n}"
_NO_W = """
if (i < whole) {
  const float4 a = reinterpret_cast<const float4*>(x)[i];
  float4 b = reinterpret_cast<float4*>(y)[i];
  b.x += a.x;
  b.y += a.y;
  b.z += a.z;
  reinterpret_cast<float4*>(y)[i] = b;
}"""

RIGHTS = {
    "a sum put together in memory": {
        1: "const float4* x4 = reinterpret_cast<const float4*>(x);\n"
        "float4* y4 = reinterpret_cast<float4*>(y);\n"
        "if (i < whole) {\n  const float4 a = x4[i], b = y4[i];\n"
        "  y4[i] = float4{a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};\n}"
    },
    "a reference": {
        1: "if (i < whole) {\n  const float4 a = ((const float4*)x)[i];\n"
        "  float4& b = ((float4*)y)[i];\n"
        "  b = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);\n}",
        2: "for (int k = 4 * whole + i; k < n; k += gridDim.x * blockDim.x) y[k] += x[k];",
    },
    "one thread does what is left": {
        2: "if (i == 0) {\n  for (int k = 4 * whole; k < n; ++k) y[k] = x[k] + y[k];\n}"
    },
}

MUTANTS = {
    "two are left over at most": {
        2: "if (i < min(2, n - 4 * whole)) y[4 * whole + i] += x[4 * whole + i];"
    },
    "nothing is left over if nothing is whole": {
        2: "if (whole > 0 && i < n - 4 * whole) y[4 * whole + i] += x[4 * whole + i];"
    },
    "nothing is left over": {2: ""},
    "one is left over": {2: "if (i == 0 && 4 * whole < n) y[n - 1] += x[n - 1];"},
    "what is left over begins one too early": {
        2: "if (whole > 0 && i < n - 4 * whole) y[4 * whole - 1 + i] += x[4 * whole - 1 + i];"
    },
    "four times what is left over": {2: "if (i < n - 4 * whole) {\n  y[4 * whole + i] += x[i];\n}"},
    "whole is one too far": {1: _NO_W.replace("i < whole", "i <= whole")},
    "w is forgotten": {1: _NO_W},
    "before: one float after the other": {1: _ONE_BY_ONE},
}
