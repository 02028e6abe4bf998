"""Exercise 04/split_k."""

from exercise.api import Array, Case, Count, Right, drawn, eighths, product

TITLE = "Share the sum: split-K"
KIND = "step"
MINUTES = 10
CALL = "multiply(float* a, float* b, float* c, float* sums, int m, int n, int k, int parts)"


def cases(random):
    drew = drawn(random, 2, 8)
    share = drew * drawn(random, 16, 24)
    for m, n, k, parts in (
        (32, 32, 64, 4),
        (4, 32, 64, 1),
        (1, 1, 1, 1),
        (5, 33, 10, 4),
        (3, 7, 50, 7),
        (9, 2, 3, 8),
        (drawn(random, 1, 8), drawn(random, 1, 40), share, drew),
        (drawn(random, 1, 8), drawn(random, 1, 40), share + drawn(random, 1, drew - 1), drew),
    ):
        yield Case(
            f"{m} x {n} x {k} in {parts} part{'s' * (parts > 1)}",
            {"m": m, "n": n, "k": k, "parts": parts},
            [
                Array("a", eighths(random, m * k), shape=(m, k)),
                Array("b", eighths(random, k * n), shape=(k, n)),
                Array("c", role="output", count=m * n, shape=(m, n)),
                Array("sums", role="output", count=parts * m * n),
            ],
        )


def expected(case):
    m, n, k = (case.sizes[name] for name in "mnk")
    return {"c": product(case["a"].values, case["b"].values, m, n, k)}


def _even(case):
    return case.sizes["k"] % case.sizes["parts"] == 0


def _bytes_needed(case):
    m, n, k, parts = (case.sizes[name] for name in ("m", "n", "k", "parts"))
    return 8 * m * n * k + 4 * m * n * parts


POINTS = [
    Right(2, "equal shares", _even),
    Right(2, "shares that differ, and empty ones", lambda case: not _even(case)),
    Count(
        1,
        "every product is computed once, and every part by threads of its own",
        _even,
        lambda counts, case: counts["global"]["load_bytes"] <= _bytes_needed(case)
        and counts["threads"] >= len(case["sums"]),
        lambda counts: f"{counts['threads']} threads loaded {counts['global']['load_bytes']} bytes",
        threads=lambda case: {"work": len(case["sums"]) // 3},
    ),
]

_SHARE = "const int share = (k + parts - 1) / parts;\n"

RIGHTS = {
    "a share is not in one piece": {
        0: [("for (int p = begin; p < end; ++p)", "for (int p = z; p < k; p += parts)")],
        1: "",
    },
    "four elements a thread add up": {
        0: [("const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  //@ task 2",
             "const int wide = length % 4 ? 1 : 4;\n"
             "  const int i = (blockIdx.x * blockDim.x + threadIdx.x) * wide;\n  //@ task 2")],
        2: "if (i >= length) return;\nfloat4 all = make_float4(0, 0, 0, 0);\n"
        "for (int z = 0; z < parts; ++z) {\n  const float* from = sums + z * length + i;\n"
        "  if (wide == 1) {\n    all.x += *from;\n    continue;\n  }\n"
        "  const float4 part = *reinterpret_cast<const float4*>(from);\n"
        "  all = make_float4(all.x + part.x, all.y + part.y, all.z + part.z, all.w + part.w);\n}\n"
        "if (wide == 1) {\n  c[i] = all.x;\n} else {\n"
        "  *reinterpret_cast<float4*>(c + i) = all;\n}"
    },
    "shares that differ by one at most": {
        1: "const int begin = 1ll * z * k / parts, end = 1ll * (z + 1) * k / parts;"
    },
    "ifs, and a pointer": {
        1: "const int share = (k - 1) / parts + 1;\nint begin = z * share, end = begin + share;\n"
        "if (end > k) end = k;\nif (begin > k) begin = k;",
        2: "if (i < length) {\n  const float* from = sums + i;\n  float sum = *from;\n"
        "  while (--parts > 0) sum += *(from += length);\n  c[i] = sum;\n}",
    },
    "a lambda": {
        1: "const auto start = [=](int part) { return min(k, part * ((k + parts - 1) / parts)); "
        "};\n"
        "const int begin = start(z), end = start(z + 1);"
    },
}

MUTANTS = {
    "before: the first part does it all": {1: "const int begin = 0, end = z == 0 ? k : 0;"},
    "before: one thread of a block adds the parts": {
        2: "for (int e = i; threadIdx.x == 0 && e < min(length, i + 128); ++e) {\n"
        "  float sum = 0;\n  for (int z = 0; z < parts; ++z) sum += sums[z * length + e];\n"
        "  c[e] = sum;\n}"
    },
    "shares are rounded down": {
        1: "const int share = k / parts;\nconst int begin = z * share, end = begin + share;"
    },
    "the last share goes past k": {
        1: _SHARE + "const int begin = z * share, end = begin + share;"
    },
    "the last value of a share is left out": {
        1: _SHARE + "const int begin = min(k, z * share), end = min(k, begin + share - 1);"
    },
    "the last part wins": {2: "if (i < length) c[i] = sums[(parts - 1) * length + i];"},
    "before: the first part does it all, and the others again": {
        1: "const int begin = 0, end = k;",
        2: "if (i < length) c[i] = sums[i];",
    },
}
