"""Exercise 02/vote."""

from exercise.api import Array, Case, Count, Right, drawn, floats

TITLE = "Ask the other lanes first"
KIND = "step"
MINUTES = 10
CALL = "activate(float* x, float* coefficients, float* y, int n)"

TERMS = 16
# Every lane must come to the vote; a mask of who happens to be there is no promise.
REFUSED = {"__activemask": "guesses who comes along; all lanes of the warp must vote"}


def cases(random):
    def case(name, x):
        n = len(x)
        return Case(
            name,
            {"n": n},
            [
                Array("x", x),
                Array("coefficients", floats(random, TERMS)),
                Array("y", role="output", count=n),
            ],
        )

    for n, negative in ((2048, (5, 37, 38, 2047)), (drawn(random, 256, 1920, 128), (70, 80, 131))):
        sparse = floats(random, n, 0, 1)
        for i in negative:
            sparse[i] = -sparse[i] - 0.125
        # Not negative, though one has a sign; and the polynomial of the third is infinite.
        sparse[negative[0] + 1 : negative[0] + 4] = 0.0, -0.0, 1e10
        sparse[negative[-1]] = -(2.0**-100)
        yield case(f"n = {n}, negative in {_warps(sparse)} warps", sparse)
    # The last warp is not full, and nothing in it is negative.
    n = 32 * drawn(random, 5, 31) + drawn(random, 1, 28)
    sparse = floats(random, n, 0, 1)
    sparse[3] = -0.5
    yield case(f"n = {n}, negative in 1 warp", sparse)
    odd = 32 * drawn(random, 4, 31) + drawn(random, 1, 28)
    for n in (128, 1, 31, 33, 127, 1021, odd):
        yield case(f"n = {n}", floats(random, n))


def _warps(x):
    """Those with something negative in them."""
    return sum(any(v < 0 for v in x[i : i + 32]) for i in range(0, len(x), 32))


def _lanes(counts):
    """That load something, from global or shared memory."""
    return counts["global"]["load_executions"] + counts["shared"]["load_executions"]


def _requests(counts):
    return counts["global"]["load_requests"] + counts["shared"]["load_requests"]


def _is_counted(case):
    return "negative" in case.name


def _loads(case):
    warps = -(-case.sizes["n"] // 128) * 4  # of whole blocks
    return warps + TERMS * _warps(case["x"].values)


def expected(case):
    def path(x):
        total = 0.0
        for coefficient in case["coefficients"].values:
            total = total * x + coefficient
        return total

    return {"y": [path(x) if x < 0 else x for x in case["x"].values]}


def bound(case, name, i):
    """16 steps, each rounded once, of sums that stay below 16."""
    return 3e-5 if case["x"].values[i] < 0 else 0.0


POINTS = [
    Right(2, "whole warps", lambda case: case.sizes["n"] % 32 == 0),
    Right(2, "a warp that is not full", lambda case: case.sizes["n"] % 32),
    Count(
        2,
        "all lanes of a warp take the expensive path, or none",
        lambda case: _is_counted(case) and case.sizes["n"] % 32 == 0,
        # Who loads the coefficients once for many lanes has fewer loads, some by few of them.
        lambda counts, case: _lanes(counts) == 32 * _requests(counts)
        or _requests(counts) < _loads(case),
        lambda counts: f"{_lanes(counts) / _requests(counts):.1f} lanes of 32 load together, on "
        "average",
        blocks=lambda case: 2,
    ),
    Count(
        1,
        "only warps that need it load the coefficients",
        _is_counted,
        lambda counts, case: counts["global"]["load_requests"] <= _loads(case),
        lambda counts: f"{counts['global']['load_requests']} loads; one for 32 elements, and "
        "16 for a warp with a negative one, are enough",
    ),
]

_VALUE = "const float value = i < n ? x[i] : 0.0f;\n"

RIGHTS = {
    "a coefficient for each lane, the others get it by a shuffle": {
        1: "const float value = i < n ? x[i] : 0.0f;\nfloat sum = value;\n"
        "if (__any_sync(kAllLanes, value < 0)) {\n"
        "  const float own = coefficients[threadIdx.x % kTerms];\n  sum = 0;\n"
        "  for (int k = 0; k < kTerms; ++k) {\n"
        "    sum = fmaf(sum, value, __shfl_sync(kAllLanes, own, k));\n  }\n}\n"
        "if (i < n) y[i] = value < 0 ? sum : value;"
    },
    "a ballot": {
        1: "float value = 0;\nif (i < n) value = x[i];\n"
        "const unsigned negative = __ballot_sync(0xFFFFFFFFu, value < 0);\nfloat result = value;\n"
        "if (negative != 0) {\n  const float e = expensive_path(value, coefficients);\n"
        "  if (value < 0) result = e;\n}\nif (i < n) y[i] = result;"
    },
    "lanes past the end take the last element, a reduction in place of a vote": {
        1: "const float value = x[i < n ? i : n - 1];\nconst unsigned negative = value < 0;\n"
        "float result = value;\nif (__reduce_or_sync(kAllLanes, negative)) {\n"
        "  const float both[] = {value, expensive_path(value, coefficients)};\n"
        "  result = both[negative];\n}\nif (i < n) y[i] = result;"
    },
    "the other way round": {
        1: "const float value = i < n ? x[i] : 1.0f;\n"
        "const bool cheap = __all_sync(kAllLanes, value >= 0);\n"
        "const float e = cheap ? 0.0f : expensive_path(value, coefficients);\n"
        "if (i < n) y[i] = value < 0 ? e : value;"
    },
    "returns after the vote": {
        1: "const float value = i < n ? x[i] : 0.0f;\n"
        "if (!__any_sync(kAllLanes, value < 0)) {\n  if (i < n) y[i] = value;\n  return;\n}\n"
        "const float e = expensive_path(value, coefficients);\n"
        "if (i < n) y[i] = value < 0 ? e : value;"
    },
}

MUTANTS = {
    "the bit of the sign": {
        1: "const float value = i < n ? x[i] : 0.0f;\n"
        "const bool negative = __float_as_int(value) < 0;\nfloat result = value;\n"
        "if (__any_sync(kAllLanes, negative)) {\n"
        "  const float e = expensive_path(value, coefficients);\n  if (negative) result = e;\n}\n"
        "if (i < n) y[i] = result;"
    },
    "both, times 1 or 0": {
        1: "const float value = i < n ? x[i] : 0.0f;\nconst float share = value < 0;\n"
        "float result = value;\nif (__any_sync(kAllLanes, value < 0)) {\n  result = share * "
        "expensive_path(value, coefficients) + (1 - share) * value;\n}\nif (i < n) y[i] = result;"
    },
    "before: a plain branch": {
        1: "if (i >= n) return;\n"
        "if (x[i] < 0) {\n  y[i] = expensive_path(x[i], coefficients);\n"
        "} else {\n  y[i] = x[i];\n}"
    },
    "whoever comes along is taken for negative": {
        1: _VALUE + "float result = value;\n"
        "if (__any_sync(kAllLanes, value < 0)) result = expensive_path(value, coefficients);\n"
        "if (i < n) y[i] = result;"
    },
    "lanes past the end do not vote": {
        1: "if (i >= n) return;\nfloat result = x[i];\n"
        "if (__any_sync(kAllLanes, x[i] < 0)) {\n"
        "  const float expensive = expensive_path(x[i], coefficients);\n"
        "  result = x[i] < 0 ? expensive : x[i];\n}\ny[i] = result;"
    },
    "before: a plain branch, coefficients in shared memory": {
        1: "__shared__ float all[kTerms];\n"
        "if (threadIdx.x < kTerms) all[threadIdx.x] = coefficients[threadIdx.x];\n"
        "__syncthreads();\nif (i >= n) return;\n"
        "y[i] = x[i] < 0 ? expensive_path(x[i], all) : x[i];"
    },
    "the lowest 6 bits of x are cut off": {
        1: "const float own = i < n ? x[i] : 0.0f;\n"
        "const float value = __uint_as_float(__float_as_uint(own) & 0xFFFFFFC0u);\n"
        "const bool any = __any_sync(kAllLanes, value < 0);\n"
        "const float expensive = any ? expensive_path(value, coefficients) : 0.0f;\n"
        "if (i < n) y[i] = value < 0 ? expensive : own;"
    },
    "one lane votes for its warp": {
        1: _VALUE + "float result = value;\nif (__shfl_sync(kAllLanes, value, 0) < 0) {\n"
        "  const float expensive = expensive_path(value, coefficients);\n"
        "  result = value < 0 ? expensive : value;\n}\nif (i < n) y[i] = result;"
    },
    "all must be negative": {
        1: _VALUE + "float result = value;\n"
        "if (__all_sync(kAllLanes, value < 0)) result = expensive_path(value, coefficients);\n"
        "if (i < n) y[i] = result;"
    },
    "before: lanes past the end vote for the expensive path": {
        1: "const float value = i < n ? x[i] : -1.0f;\nfloat result = value;\n"
        "if (__any_sync(kAllLanes, value < 0)) {\n"
        "  const float expensive = expensive_path(value, coefficients);\n"
        "  result = value < 0 ? expensive : value;\n}\nif (i < n) y[i] = result;"
    },
    "0 is taken for negative": {
        1: "const float value = i < n ? x[i] : 1.0f;\nfloat result = value;\n"
        "if (__any_sync(kAllLanes, value < 0)) {\n"
        "  const float expensive = expensive_path(value, coefficients);\n"
        "  result = value <= 0 ? expensive : value;\n}\nif (i < n) y[i] = result;"
    },
    "before: everybody computes both": {
        1: _VALUE + "const float expensive = expensive_path(value, coefficients);\n"
        "if (i < n) y[i] = value < 0 ? expensive : value;"
    },
}
