"""Exercise 02/both."""

import math

from exercise.api import Array, Case, Count, Right, drawn, floats

TITLE = "Both, by every thread"
KIND = "step"
MINUTES = 10
CALL = "to_cartesian(float* phi, float* z, int n)"


def cases(random):
    fixed = (128, 1, 2, 31, 33, 127, 129, 1000, 4096)
    odd = drawn(random, 2, 999, besides=(*fixed, *range(0, 999, 128)))
    for n in (*fixed, odd, drawn(random, 1024, 9999, 128, fixed)):
        phi = Array("phi", floats(random, n, -10, 10))
        yield Case(
            f"n = {n}", {"n": n}, [phi, Array("z", role="output", count=2 * n, shape=(n, 2))]
        )


def expected(case):
    return {"z": [f(angle) for angle in case["phi"].values for f in (math.cos, math.sin)]}


def bound(case, name, i):
    """2 units in the last place of a number below 1, and what is lost near 0."""
    return 2.5e-7


POINTS = [
    Right(2, "one full block", lambda case: case.sizes["n"] == 128),
    Right(2, "any other size", lambda case: case.sizes["n"] != 128),
    Count(
        2,
        "no branch at which the lanes of a warp part",
        lambda case: case.sizes["n"] >= 1024 and case.sizes["n"] % 128 == 0,
        lambda counts, case: counts["divergent_branches"] == 0
        and counts["threads"] >= case.sizes["n"],
        lambda counts: f"lanes parted at {counts['divergent_branches']} branches of "
        f"{counts['threads']} threads",
        busy=0.51,
    ),
]

_TWO_BRANCHES = """
const int i = blockIdx.x * blockDim.x + threadIdx.x;
for (int j = i; j < 2 * n; j += gridDim.x * blockDim.x) {
  if (j % 2 == 0) {
    z[j] = cosf(phi[j / 2]);
  } else {
    z[j] = sinf(phi[j / 2]);
  }
}"""

RIGHTS = {
    "sincosf": {
        1: "const int i = blockIdx.x * blockDim.x + threadIdx.x;\nif (i >= n) return;\n"
        "float s, c;\nsincosf(phi[i], &s, &c);\nz[2 * i] = c;\nz[2 * i + 1] = s;"
    },
    "a float2 put together in memory": {
        1: "const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "if (i < n) reinterpret_cast<float2*>(z)[i] = {cosf(phi[i]), sinf(phi[i])};"
    },
    "pointers": {
        1: "float* point = z + 2 * (blockIdx.x * blockDim.x + threadIdx.x);\n"
        "if (point < z + 2 * n) {\n  const float angle = phi[(point - z) / 2];\n"
        "  *point++ = cosf(angle);\n  *point = sinf(angle);\n}"
    },
}

MUTANTS = {
    "before: half of the threads take two angles": {
        1: "const int first = blockIdx.x * blockDim.x + 2 * threadIdx.x;\n"
        "for (int i = first; 2 * threadIdx.x < blockDim.x && i < min(n, first + 2); ++i) {\n"
        "  z[2 * i] = cosf(phi[i]);\n  z[2 * i + 1] = sinf(phi[i]);\n}"
    },
    "to degrees and back": {
        1: "const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "if (i < n) {\n  const float angle = phi[i] * 57.29578f / 57.29578f;\n"
        "  z[2 * i] = cosf(angle);\n  z[2 * i + 1] = sinf(angle);\n}"
    },
    "sine and cosine have changed places": {
        1: "const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "if (i < n) {\n  z[2 * i] = sinf(phi[i]);\n  z[2 * i + 1] = cosf(phi[i]);\n}"
    },
    "degrees": {
        1: "const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "if (i < n) {\n  z[2 * i] = cosf(phi[i] / 57.29578f);\n"
        "  z[2 * i + 1] = sinf(phi[i] / 57.29578f);\n}"
    },
    "no guard": {
        1: "const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "z[2 * i] = cosf(phi[i]);\nz[2 * i + 1] = sinf(phi[i]);"
    },
    "all cosines first": {
        1: "const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "if (i < n) {\n  z[i] = cosf(phi[i]);\n  z[n + i] = sinf(phi[i]);\n}"
    },
    "before: even threads cosines, odd threads sines": {1: _TWO_BRANCHES},
}
