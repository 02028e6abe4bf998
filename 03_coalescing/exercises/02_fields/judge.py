"""Exercise 03/fields."""

from exercise.api import Array, Case, Count, Right, drawn, floats, is_wide

TITLE = "A field is an array"
KIND = "step"
MINUTES = 8
CALL = "advance(float* fields, int pitch, int n, float dt)"


def cases(random):
    n = drawn(random, 8192, 12288, 4096)
    whole = ((128, 128), (384, 384), (4096, 4096), (n, n))
    odd = drawn(random, 2, 900)
    some = ((1, 32), (31, 32), (33, 64), (1000, 1024), (odd, odd + drawn(random, 1, 99)))
    for n, pitch in (*whole, *some):
        yield Case(
            f"{n} particles, pitch {pitch}",
            {"n": n, "pitch": pitch},
            [
                Array("dt", floats(random, 1)),
                Array("fields", floats(random, 8 * pitch), "in_out", shape=(8, pitch)),
            ],
        )


def expected(case):
    fields, pitch, dt = list(case["fields"].values), case.sizes["pitch"], case["dt"].values[0]
    for axis in range(3):
        for i in range(case.sizes["n"]):
            fields[axis * pitch + i] += dt * fields[(3 + axis) * pitch + i]
    return {"fields": fields}


def bound(case, name, i):
    """A product and a sum of numbers up to 1, each rounded once; what does not move stays."""
    moves = i < 3 * case.sizes["pitch"] and i % case.sizes["pitch"] < case.sizes["n"]
    return 3 * 2**-24 if moves else 0.0


def _loaded(counts):
    return counts["global"]["load_bytes" if is_wide(counts) else "load_bytes_moved"]


POINTS = [
    Right(2, "arrays without a gap", lambda case: case.sizes["n"] == case.sizes["pitch"]),
    Right(2, "a pitch larger than n", lambda case: case.sizes["n"] != case.sizes["pitch"]),
    Count(
        2,
        "24 bytes loaded and 12 stored for a particle",
        lambda case: case.sizes["n"] == case.sizes["pitch"] >= 4096,
        lambda counts, case: _loaded(counts) <= 24 * case.sizes["n"]
        and counts["global"]["store_bytes_moved"] <= 12 * case.sizes["n"],
        lambda counts: f"the emulator saw {_loaded(counts)} bytes loaded and "
        f"{counts['global']['store_bytes_moved']} stored, whole sectors",
        blocks=lambda case: case.sizes["n"] // 2048,
        busy=0.6,
    ),
]

_ALL_FIELDS = """
float p[8];
for (int f = 0; f < 8; ++f) p[f] = fields[f * pitch + i];
for (int axis = 0; axis < 3; ++axis) p[axis] += dt * p[3 + axis];
for (int f = 0; f < 8; ++f) fields[f * pitch + i] = p[f];"""

_WIDE = """
  if (pitch % 4 == 0 && 4 * i + 3 < n) {
    for (int f = 0; f < 3; ++f) {
      float4* const p = reinterpret_cast<float4*>(fields + f * pitch) + i;
      *p = ahead(*p, *reinterpret_cast<const float4*>(fields + (f + 3) * pitch + 4 * i), dt);
    }
    return;
  }
  for (int j = 4 * i; j < min(n, 4 * i + 4); ++j) {
    for (int f = 0; f < 3; ++f) fields[f * pitch + j] += dt * fields[(f + 3) * pitch + j];
  }
"""


def _wide(kind):
    """Four particles a thread."""
    ahead = (
        f"__device__ float4 ahead({kind} p, {kind} v, float dt) {{\n"
        "  return make_float4(fmaf(dt, v.x, p.x), fmaf(dt, v.y, p.y), fmaf(dt, v.z, p.z), "
        "fmaf(dt, v.w, p.w));\n}\n__global__"
    )
    return [
        ("__global__", ahead),
        ("  if (i >= n) return;\n", _WIDE + "  if (i >= 0) return;\n"),
        ("<<<(n + 127) / 128, 128>>>", "<<<(n + 511) / 512, 128>>>"),
    ]


RIGHTS = {
    "rounded by hand": {
        1: "for (int f = 0; f < 3; ++f) {\n  float& at = fields[f * pitch + i];\n"
        "  at = __fadd_rn(at, __fmul_rn(dt, fields[(f + 3) * pitch + i]));\n}"
    },
    "float4 by reference": {0: _wide("const float4&")},
    "float4 by value": {0: _wide("float4")},
    "pointers": {
        1: "float* p = fields + i;\nconst float* v = p + 3 * pitch;\np[0] += dt * v[0];\n"
        "p[pitch] = fmaf(dt, v[pitch], p[pitch]);\np[2 * pitch] += v[2 * pitch] * dt;"
    },
    "a lambda that returns a reference": {
        1: "auto at = [&](int f) -> float& { return fields[f * pitch + i]; };\n"
        "for (int f = 0; f < 3; ++f) at(f) += dt * at(f + 3);"
    },
    "all loads first": {
        1: "float now[6];\nfor (int f = 0; f < 6; ++f) now[f] = fields[f * pitch + i];\n"
        "for (int f = 0; f < 3; ++f) fields[f * pitch + i] = now[f] + dt * now[f + 3];"
    },
}

MUTANTS = {
    "before: one warp for all": {
        0: [("  if (i >= n) return;\n",
             "  for (int j = i; j < n; j += 32) {\n    for (int f = 0; f < 3; ++f) {\n"
             "      fields[f * pitch + j] += dt * fields[(f + 3) * pitch + j];\n    }\n  }\n"
             "  if (i >= 0) return;\n"),
            ("<<<(n + 127) / 128, 128>>>", "<<<1, 32>>>")],
    },
    "before: every second thread has nothing to do": {
        0: [("  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= n) return;\n",
             "  const int t = blockIdx.x * blockDim.x + threadIdx.x, i = t / 2;\n"
             "  if (t % 2 == 1 || i >= n) return;\n"),
            ("<<<(n + 127) / 128, 128>>>", "<<<(n + 63) / 64, 128>>>")],
    },
    "in 16 small steps": {
        1: "for (int axis = 0; axis < 3; ++axis) {\n  float at = fields[axis * pitch + i];\n"
        "  const float velocity = fields[(3 + axis) * pitch + i];\n"
        "  for (int k = 0; k < 16; ++k) at += dt / 16 * velocity;\n"
        "  fields[axis * pitch + i] = at;\n}"
    },
    "an array of structures": {
        1: "for (int axis = 0; axis < 3; ++axis) {\n"
        "  fields[8 * i + axis] += dt * fields[8 * i + 3 + axis];\n}"
    },
    "the number of particles for the pitch": {
        1: "for (int axis = 0; axis < 3; ++axis) {\n"
        "  fields[axis * n + i] += dt * fields[(3 + axis) * n + i];\n}"
    },
    "the wrong velocity": {
        1: "for (int axis = 0; axis < 3; ++axis) {\n"
        "  fields[axis * pitch + i] += dt * fields[3 * pitch + i];\n}"
    },
    "before: the whole particle, as an object": {1: _ALL_FIELDS},
}
