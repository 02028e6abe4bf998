"""Exercise 05/sweep."""

from itertools import accumulate

from exercise.api import Array, Case, Count, Right, drawn, eighths

TITLE = "Up the tree and down again"
KIND = "step"
MINUTES = 15
CALL = "scan_tiles(float* x, float* y, int n)"

TILE = 512


def cases(random):
    fixed = (TILE, 2 * TILE, 1, 2, 31, 33, 511, 513, 1300)
    odd = drawn(random, 3, 3 * TILE, besides=(*fixed, *range(0, 3 * TILE + 1, TILE)))
    for n in (*fixed, drawn(random, 3 * TILE, 4 * TILE, TILE), odd):
        x = Array("x", eighths(random, n))
        yield Case(f"n = {n}", {"n": n}, [x, Array("y", role="output", count=n)], tile=TILE)


def expected(case):
    x, y = case["x"].values, []
    for first in range(0, len(x), TILE):
        y += [0, *accumulate(x[first : first + TILE - 1])][: len(x) - first]
    return {"y": y}


def _loads(counts):
    return counts["shared"]["load_requests"]


POINTS = [
    Right(3, "whole tiles", lambda case: case.sizes["n"] % TILE == 0),
    Right(2, "a last tile that is not full", lambda case: case.sizes["n"] % TILE),
    Count(
        1,
        "the work of a tree",
        lambda case: case.sizes["n"] % TILE == 0,
        # A step with k pairs takes 2 loads of k / 32 warps, or of one; up and down alike.
        lambda counts, case: _loads(counts) <= counts["blocks"] * (2 * 2 * (8 + 4 + 2 + 6) + 16),
        lambda counts: f"the warps made {_loads(counts) / counts['blocks']:.0f} loads from shared "
        "memory a tile, 96 are enough",
    ),
]

_HILLIS_STEELE = """
for (int d = 1; d < kTile; d *= 2) {
  const float low = t >= d ? tile[t - d] : 0.0f;
  const float high = t + kBlock >= d ? tile[t + kBlock - d] : 0.0f;
  __syncthreads();
  tile[t] += low;
  tile[t + kBlock] += high;
  __syncthreads();
}"""

RIGHTS = {
    "while, and pointers": {
        1: "int s = 1;\nwhile (s < kTile) {\n  if ((t + 1) * 2 * s <= kTile) {\n"
        "    float* const right = tile + (t + 1) * 2 * s - 1;\n    *right += *(right - s);\n  }\n"
        "  s *= 2;\n  __syncthreads();\n}"
    },
    "pairs are counted, references": {
        1: "for (int s = 1, pairs = kBlock; pairs > 0; s *= 2, pairs /= 2) {\n"
        "  if (t < pairs) tile[(2 * t + 2) * s - 1] += tile[(2 * t + 1) * s - 1];\n"
        "  __syncthreads();\n}",
        2: "for (int s = kBlock, pairs = 1; s > 0; s /= 2, pairs *= 2) {\n  if (t < pairs) {\n"
        "    float &left = tile[(2 * t + 1) * s - 1], &right = tile[(2 * t + 2) * s - 1];\n"
        "    const float sum = left + right;\n    left = right;\n    right = sum;\n  }\n"
        "  __syncthreads();\n}",
    },
    "a lambda": {
        2: "const auto turn = [](float& left, float& right) {\n  const float of_left = left;\n"
        "  left = right;\n  right = of_left + right;\n};\n"
        "for (int log = 8; log >= 0; --log) {\n"
        "  const int s = 1 << log, right = (2 * t + 2) * s - 1;\n"
        "  if (right < kTile) turn(tile[right - s], tile[right]);\n  __syncthreads();\n}"
    },
}

MUTANTS = {
    "no guard at the load": {0: [("first + k < n ? x[first + k] : 0.0f", "x[first + k]")]},
    "no barrier on the way down": {
        2: "for (int s = kTile / 2; s > 0; s /= 2) {\n  const int right = (t + 1) * 2 * s - 1;\n"
        "  if (right < kTile) {\n    const float of_left = tile[right - s];\n"
        "    tile[right - s] = tile[right];\n    tile[right] += of_left;\n  }\n}\n__syncthreads();"
    },
    "no barrier on the way up": {
        1: "for (int s = 1; s < kTile; s *= 2) {\n  const int right = (t + 1) * 2 * s - 1;\n"
        "  if (right < kTile) tile[right] += tile[right - s];\n}\n__syncthreads();"
    },
    "the left half gets the sum, too": {
        2: "for (int s = kTile / 2; s > 0; s /= 2) {\n  const int right = (t + 1) * 2 * s - 1;\n"
        "  if (right < kTile) {\n    tile[right] += tile[right - s];\n"
        "    tile[right - s] = tile[right];\n  }\n  __syncthreads();\n}"
    },
    "the way down begins one step late": {
        2: "for (int s = kTile / 4; s > 0; s /= 2) {\n  const int right = (t + 1) * 2 * s - 1;\n"
        "  if (right < kTile) {\n    const float of_left = tile[right - s];\n"
        "    tile[right - s] = tile[right];\n    tile[right] += of_left;\n  }\n"
        "  __syncthreads();\n}"
    },
    "before: nine steps in which everybody adds": {
        1: _HILLIS_STEELE,
        2: "const float low = t > 0 ? tile[t - 1] : 0.0f, high = tile[t + kBlock - 1];\n"
        "__syncthreads();\ntile[t] = low;\ntile[t + kBlock] = high;\n__syncthreads();",
    },
}
