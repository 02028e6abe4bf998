"""Exercise 04/small."""

from exercise.api import Array, Case, Count, Right, drawn, eighths, product

TITLE = "A new problem: thousands of small products"
KIND = "problem"
MINUTES = 30
CALL = "multiply_all(float* a, float* b, float* c, int count, int s)"

COUNTED = "512 of 4 x 4"


def cases(random):
    fixed = ((512, 4), (20, 16), (33, 8), (1, 1), (300, 1), (50, 3), (19, 7), (5, 15))
    even = (drawn(random, 9, 19), random.choice((8, 16)))
    odd = (drawn(random, 30, 49), random.choice((3, 5, 6, 7, 9, 15)))
    for count, s in (*fixed, even, odd):
        shape = (count * s, s)
        yield Case(
            f"{count} of {s} x {s}",
            {"count": count, "s": s},
            [
                Array("a", eighths(random, count * s * s), shape=shape),
                Array("b", eighths(random, count * s * s), shape=shape),
                Array("c", role="output", count=count * s * s, shape=shape),
            ],
        )


def expected(case):
    a, b, s = case["a"].values, case["b"].values, case.sizes["s"]
    return {
        "c": [
            value
            for at in range(0, len(a), s * s)
            for value in product(a[at : at + s * s], b[at : at + s * s], s, s, s)
        ]
    }


def _power(case):
    return case.sizes["s"] in (4, 8, 16)


def _sectors(counts):
    return counts["global"]["load_sectors"] / max(1, counts["global"]["load_requests"])


POINTS = [
    Right(2, "4 x 4, 8 x 8 and 16 x 16", _power),
    Right(3, "other sizes", lambda case: not _power(case)),
    Count(
        1,
        "one launch of at most 16384 threads",
        COUNTED,
        lambda counts, case: counts["launches"] == 1 and counts["threads"] <= 16_384,
        lambda counts: f"{counts['launches']} launches, {counts['threads']} threads",
        blocks=lambda case: 2,
    ),
    Count(
        1,
        "each element is loaded once",
        COUNTED,
        lambda counts, case: counts["global"]["load_bytes"] <= 65_536,
        lambda counts: f"{counts['global']['load_bytes']} bytes were loaded, 65536 are enough",
    ),
    Count(
        1,
        "loads of 4 sectors, or of more in full",
        COUNTED,
        lambda counts, case: _sectors(counts) == 4
        or counts["global"]["load_bytes_moved"] <= 65_536,
        lambda counts: f"{_sectors(counts):.1f} sectors a load",
    ),
]

_HEAD = (
    "__global__ void multiply_kernel("
    "const float* a, const float* b, float* c, int count, int s) {"
)
_DIRECT = (
    _HEAD
    + """
  const int i = blockIdx.x * blockDim.x + threadIdx.x, size = s * s;
  if (i >= count * size) return;
  const int matrix = i / size * size, row = i % size / s, col = i % s;
  float sum = 0;
  for (int p = 0; p < s; ++p) sum += a[matrix + row * s + p] * b[MATRIX + p * s + col];
  c[i] = sum;
}"""
)
_A_BLOCK_EACH = (
    _HEAD
    + """
  __shared__ float one_a[256], one_b[256];
  const int size = s * s, t = threadIdx.x, i = blockIdx.x * size + t;
  if (t < size) one_a[t] = a[i], one_b[t] = b[i];
  BARRIER
  if (t >= size) return;
  float sum = 0;
  for (int p = 0; p < s; ++p) sum += one_a[t / s * s + p] * one_b[p * s + t % s];
  c[i] = sum;
}"""
)
_ELEMENTS = {2: "multiply_kernel<<<(count * s * s + 255) / 256, 256>>>(a, b, c, count, s);"}
_EACH = {2: "multiply_kernel<<<count, 256>>>(a, b, c, count, s);"}

RIGHTS = {
    "pointers": {
        0: [("sum += mine_a[row * s + p] * mine_b[p * s + col]", "sum += *left++ * right[p * s]"),
            ("  float sum = 0;\n",
             "  const float *left = mine_a + row * s, *right = mine_b + col;\n  float sum = 0;\n")],
    },
    "a few blocks walk over all": {
        1: _HEAD + """
  __shared__ float2 both[256];
  const int size = s * s, group = 256 / size, t = threadIdx.x, own = t / size * size;
  for (int first = blockIdx.x * group; first < count; first += gridDim.x * group) {
    const int i = first * size + t;
    const bool works = t < group * size && i < count * size;
    if (works) both[t] = make_float2(a[i], b[i]);
    __syncthreads();
    float sum = 0;
    for (int p = 0; p < s && works; ++p) {
      sum += both[own + (t - own) / s * s + p].x * both[own + p * s + (t - own) % s].y;
    }
    if (works) c[i] = sum;
    __syncthreads();
  }
}""",
        2: "const int group = 256 / (s * s);\n"
        "multiply_kernel<<<min(6, (count + group - 1) / group), 256>>>(a, b, c, count, s);",
    },
    "B is turned in shared memory": {
        0: [("all_a[t] = a[i], all_b[t] = b[i];",
             "all_a[t] = a[i], all_b[matrix * size + t % s * s + t % size / s] = b[i];"),
            ("mine_b[p * s + col]", "mine_b[col * s + p]")],
    },
}

MUTANTS = {
    "threads that have no matrix take one": {
        0: [("matrix < per_block && first + matrix", "first + matrix")]
    },
    "all multiply the first B": {1: _DIRECT.replace("MATRIX", "0"), **_ELEMENTS},
    "no barrier": {1: _A_BLOCK_EACH.replace("BARRIER", ""), **_EACH},
    "the last matrices are left out": {
        2: "multiply_kernel<<<max(1, count / (kBlock / (s * s))), kBlock>>>(a, b, c, count, s);"
    },
    "before: one thread multiplies for its block": {
        1: _HEAD + """
  __shared__ float all_a[256], all_b[256], all_c[256];
  const int size = s * s, t = threadIdx.x, first = blockIdx.x * (256 / size);
  const int here = min(256 / size, count - first) * size, i = first * size + t;
  if (t < here) all_a[t] = a[i], all_b[t] = b[i];
  __syncthreads();
  for (int e = 0; e < here && t == 0; ++e) {
    const float *left = all_a + e / s * s, *right = all_b + e / size * size + e % s;
    all_c[e] = 0;
    for (int p = 0; p < s; ++p) all_c[e] += left[p] * right[p * s];
  }
  __syncthreads();
  if (t < here) c[i] = all_c[t];
}""",
        2: "const int group = 256 / (s * s);\n"
        "multiply_kernel<<<(count + group - 1) / group, 256>>>(a, b, c, count, s);",
    },
    "before: from global memory": {1: _DIRECT.replace("MATRIX", "matrix"), **_ELEMENTS},
    "before: a block for each product": {
        1: _A_BLOCK_EACH.replace("BARRIER", "__syncthreads();"),
        **_EACH,
    },
}
