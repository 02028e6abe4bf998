"""Exercise 07/topk."""

import math

from exercise.api import Array, Case, Count, Right, drawn, floats

TITLE = "A new problem: softmax and the four best, in one pass"
KIND = "problem"
MINUTES = 30
CALL = "topk(float* x, float* weights, int* places, int rows, int n)"

BEST = 4


def _case(name, rows, n, x):
    arrays = [Array("x", x, shape=(rows, n))]
    arrays += [Array("weights", role="output", count=rows * BEST, shape=(rows, BEST))]
    arrays += [Array("places", role="output", type="int", count=rows * BEST, shape=(rows, BEST))]
    return Case(name, {"rows": rows, "n": n}, arrays)


def cases(random):
    fixed = ((1, 32), (1, 4), (1, 128), (3, 31), (5, 33), (20, 300))
    drew = ((1, drawn(random, 33, 127)), (drawn(random, 2, 9), drawn(random, 5, 200)))
    for rows, n in (*fixed, *drew):
        yield _case(f"rows = {rows}, n = {n}", rows, n, floats(random, rows * n, -4, 4))
    ties = [float(random.randrange(-3, 3)) for _ in range(4 * 70)]
    yield _case("equal scores", 4, 70, ties)
    zeros = [random.choice((0.0, -0.0, -1.0)) for _ in range(3 * 40)]
    yield _case("0 and -0 are equal scores", 3, 40, zeros)
    yield _case("large scores", 4, 65, floats(random, 4 * 65, -100, 100))
    yield _case("scores near -100", 2, 50, floats(random, 100, -100, -99))
    yield _case("one score for all", 2, 100, [random.uniform(-4, 4)] * 200)
    column = floats(random, 2 * 140, -4, 0)
    # A lane that takes every 32nd score has all four, of the second row four equal ones.
    column[5:102:32] = random.sample((1.0, 2.0, 3.0, 4.0), 4)
    column[145:242:32] = [4.0] * 4
    yield _case("the best 32 places apart", 2, 140, column)


def expected(case):
    rows, n, x = case.sizes["rows"], case.sizes["n"], case["x"].values
    weights, places = [], []
    for r in range(rows):
        row = x[r * n : r * n + n]
        exponentials = [math.exp(score - max(row)) for score in row]
        order = sorted(range(n), key=lambda i: (-row[i], i))[:BEST]
        places += order
        weights += [exponentials[i] / sum(exponentials) for i in order]
    return {"weights": weights, "places": places}


def bound(case, name, i):
    """Of a weight, which is at most 1: roundings of exponents up to 200, and of a sum of n."""
    return 0 if name == "places" else (400 + case.sizes["n"]) * 2**-24


POINTS = [
    Right(2, "one row", lambda case: case.sizes["rows"] == 1),
    Right(3, "several rows, equal and large scores", lambda case: case.sizes["rows"] > 1),
    Count(
        2,
        "each score is loaded once, by lanes together",
        "rows = 20, n = 300",
        # Ten loads of a warp for 300 scores; a thread alone makes 300.
        lambda counts, case: counts["global"]["load_bytes"] <= 4 * len(case["x"])
        and counts["global"]["load_requests"] <= 10 * case.sizes["rows"]
        and counts["threads"] >= 8 * case.sizes["rows"]
        # A lane looks at its own scores: three times as many steps as that takes.
        and counts["executions"] <= 200 * len(case["x"]),
        lambda counts: f"{counts['global']['load_bytes']} bytes were loaded, of 24000, by "
        f"{counts['global']['load_requests']} loads, of which 200 are enough, of "
        f"{counts['threads']} threads for 20 rows; they made {counts['executions']} steps, "
        "400000 are usual when each lane looks at its own scores",
    ),
    Count(
        1,
        "nothing but the results is stored",
        "rows = 20, n = 300",
        lambda counts, case: counts["global"]["store_bytes"] <= 8 * BEST * case.sizes["rows"],
        lambda counts: f"{counts['global']['store_bytes']} bytes were stored, 640 are enough",
    ),
]

_KERNEL = """
const int lane = threadIdx.x;
const float* row = x + blockIdx.x * n;
float largest = -INFINITY, sum = 0, best[kBest];
int at[kBest];
for (int b = 0; b < kBest; ++b) best[b] = -INFINITY, at[b] = n;
for (int i = lane; i < n; i += 32) {
  const float score = row[i], larger = fmaxf(largest, score);
  sum = sum * expf(largest - larger) + expf(score - larger);
  largest = larger;
  insert(score, i, best, at);
}
for (int s = 16; s > 0; s /= 2) {
  const float other = __shfl_xor_sync(0xffffffffu, largest, s);
  const float other_sum = __shfl_xor_sync(0xffffffffu, sum, s);
  const float larger = fmaxf(largest, other);
  sum = (sum > 0 ? sum * expf(largest - larger) : 0.0f) +
        (other_sum > 0 ? other_sum * expf(other - larger) : 0.0f);
  largest = larger;
  float theirs[kBest];
  int their_places[kBest];
  for (int b = 0; b < kBest; ++b) {
    theirs[b] = __shfl_xor_sync(0xffffffffu, best[b], s);
    their_places[b] = __shfl_xor_sync(0xffffffffu, at[b], s);
  }
  for (int b = 0; b < kBest; ++b) insert(theirs[b], their_places[b], best, at);
}
if (lane != 0) return;
for (int b = 0; b < kBest; ++b) {
  weights[blockIdx.x * kBest + b] = expf(best[b] - largest) / sum;
  places[blockIdx.x * kBest + b] = at[b];
}"""
_SERIAL = """
if (threadIdx.x != 0) return;
const float* row = x + blockIdx.x * n;
float largest = -INFINITY, sum = 0, best[kBest];
int at[kBest];
for (int b = 0; b < kBest; ++b) best[b] = -INFINITY, at[b] = n;
for (int i = 0; i < n; ++i) largest = fmaxf(largest, row[i]);
for (int i = 0; i < n; ++i) sum += expf(row[i] - largest);
for (int i = 0; i < n; ++i) insert(row[i], i, best, at);
for (int b = 0; b < kBest; ++b) {
  weights[blockIdx.x * kBest + b] = expf(best[b] - largest) / sum;
  places[blockIdx.x * kBest + b] = at[b];
}"""

_ONE_PASS = """for (int i = 0; i < n; ++i) {
  const float score = row[i], larger = fmaxf(largest, score);
  sum = sum * expf(largest - larger) + expf(score - larger);
  largest = larger;
  insert(score, i, best, at);
}"""
_THREE_PASSES = """for (int i = 0; i < n; ++i) largest = fmaxf(largest, row[i]);
for (int i = 0; i < n; ++i) sum += expf(row[i] - largest);
for (int i = 0; i < n; ++i) insert(row[i], i, best, at);"""

_SHARED = """
__shared__ float larges[32], sums[32], all_best[32 * kBest];
__shared__ int all_at[32 * kBest];
larges[lane] = largest;
sums[lane] = sum;
for (int b = 0; b < kBest; ++b) {
  all_best[lane * kBest + b] = best[b];
  all_at[lane * kBest + b] = at[b];
}
__syncthreads();
if (lane > 0) return;
for (int l = 1; l < min(32, n); ++l) {
  const float larger = fmaxf(largest, larges[l]);
  sum = sum * expf(largest - larger) + sums[l] * expf(larges[l] - larger);
  largest = larger;
  for (int e = l * kBest; e < l * kBest + kBest; ++e) insert(all_best[e], all_at[e], best, at);
}
"""

RIGHTS = {
    "a lambda brings the other's": {
        1: _KERNEL.replace(
            "for (int s = 16; s > 0; s /= 2) {",
            "#pragma unroll\nfor (int s = 1; s < 32; s *= 2) {\n"
            "  const auto of = [=](auto own) { return __shfl_xor_sync(0xffffffffu, own, s); };",
        )
        .replace("__shfl_xor_sync(0xffffffffu, best[b], s)", "of(best[b])")
        .replace("__shfl_xor_sync(0xffffffffu, largest, s)", "of(largest)")
    },
    "a branch, and a pointer": {
        1: _KERNEL.replace(
            "for (int i = lane; i < n; i += 32) {\n  const float score = row[i], larger = "
            "fmaxf(largest, score);\n"
            "  sum = sum * expf(largest - larger) + expf(score - larger);\n"
            "  largest = larger;\n  insert(score, i, best, at);",
            "for (const float* from = row + lane; from < row + n; from += 32) {\n"
            "  const float score = *from;\n  if (score > largest) {\n"
            "    sum *= expf(largest - score);\n    largest = score;\n  }\n"
            "  sum += expf(score - largest);\n  insert(score, int(from - row), best, at);",
        )
    },
    "joined in shared memory by one lane": {
        1: _KERNEL[: _KERNEL.index("for (int s = 16")].rstrip()
        + _SHARED
        + _KERNEL[_KERNEL.index("if (lane != 0) return;") :]
    },
}

MUTANTS = {
    "the maximum begins at 0": {1: _KERNEL.replace("largest = -INFINITY", "largest = 0")},
    "-0 is less than 0": {
        1: _KERNEL.replace(
            "insert(score, i", "insert(score == 0 && signbit(score) ? -1e-30f : score, i"
        )
    },
    "a lane keeps three": {
        1: _KERNEL.replace(
            "  insert(score, i, best, at);\n",
            "  insert(score, i, best, at);\n  best[3] = -INFINITY, at[3] = n;\n", 1
        )
    },
    "the lowest 10 bits of the sum are cut off": {
        1: _KERNEL.replace(
            "- largest) / sum", "- largest) / __uint_as_float(__float_as_uint(sum) & 0xFFFFFC00u)"
        )
    },
    "no maximum is taken away": {
        1: _KERNEL.replace("fmaxf(largest, score)", "0.0f").replace("= -INFINITY, sum", "= 0, sum")
    },
    "only lane 0's best": {
        1: _KERNEL.replace(
            "  for (int b = 0; b < kBest; ++b) insert(theirs[b], their_places[b], best, at);\n", ""
        )
    },
    "lanes without a score make NaN": {
        1: _KERNEL.replace(
            "(sum > 0 ? sum * expf(largest - larger) : 0.0f)", "sum * expf(largest - larger)"
        ).replace(
            "(other_sum > 0 ? other_sum * expf(other - larger) : 0.0f)",
            "other_sum * expf(other - larger)",
        )
    },
    "the other's best change while they are read": {
        1: _KERNEL.replace(
            "    their_places[b] = __shfl_xor_sync(0xffffffffu, at[b], s);\n  }\n"
            "  for (int b = 0; b < kBest; ++b) insert(theirs[b], their_places[b], best, at);",
            "    their_places[b] = __shfl_xor_sync(0xffffffffu, at[b], s);\n"
            "    insert(theirs[b], their_places[b], best, at);\n  }",
        )
    },
    "the weights of the four alone sum to 1": {
        1: _KERNEL.replace(
            "if (lane != 0) return;",
            "if (lane != 0) return;\nsum = 0;\n"
            "for (int b = 0; b < kBest; ++b) sum += expf(best[b] - largest);",
        )
    },
    "before: one thread, one pass": {1: _SERIAL.replace(_THREE_PASSES, _ONE_PASS)},
    "before: three passes": {1: _SERIAL},
    "before: all weights are stored": {
        1: _KERNEL.replace(
            "if (lane != 0) return;",
            "for (int i = lane; i < kBest; i += 32) weights[blockIdx.x * kBest + i] = 0;\n"
            "__syncwarp();\nif (lane != 0) return;",
        )
    },
}
