"""Exercise 01/vectorize."""

from exercise.api import Array, Case, Count, Right, float32, floats

TITLE = "Sixteen bytes at a time"
KIND = "step"
MINUTES = 15


def cases(random):
    for n in (4, 128, 4096, 1, 2, 3, 5, 127, 1001, 4099):
        x, y = floats(random, n), floats(random, n)
        yield Case(f"n = {n}", {"n": n}, [Array("x", x), Array("y", y, "in_out")], tile=4)


def expected(case):
    return {"y": [float32(a + b) for a, b in zip(case["x"].values, case["y"].values)]}


def _requests(case):
    """Of loads and of stores: a warp moves 128 floats with one instruction."""
    warps = case.sizes["n"] // 128
    return 2 * warps, warps


POINTS = [
    Right(2, "multiples of four", lambda case: case.sizes["n"] % 4 == 0),
    Right(2, "one, two or three elements left over", lambda case: case.sizes["n"] % 4),
    Count(
        2,
        "a quarter of the memory instructions",
        "n = 4096",
        lambda counts, case: (
            counts["global"]["load_requests"],
            counts["global"]["store_requests"],
        )
        == _requests(case),
        lambda counts: (
            f"the warps made {counts['global']['load_requests']} loads and "
            f"{counts['global']['store_requests']} stores; 64 and 32 are enough"
        ),
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

MUTANTS = {
    "nothing is left over": {2: ""},
    "one is left over": {2: "if (i == 0 && 4 * whole < n) y[n - 1] += x[n - 1];"},
    "what is left over begins one too early": {
        2: "if (whole > 0 && i < n - 4 * whole) y[4 * whole - 1 + i] += x[4 * whole - 1 + i];"
    },
    "w is forgotten": {1: _NO_W},
    "before: one float after the other": {1: _ONE_BY_ONE},
}
