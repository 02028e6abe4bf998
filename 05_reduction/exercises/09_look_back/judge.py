"""Exercise 05/look_back."""

from itertools import accumulate

from exercise.api import Array, Case, Right, drawn, eighths

TITLE = "What a tile tells the others"
KIND = "step"
MINUTES = 15

OF_TILE, UP_TO_END = 1, 2


def cases(random):
    for n in (1, 128, 129, 1000, 1024, 3001, drawn(random, 500, 3000, besides=(1000, 1024))):
        arrays = [Array("x", eighths(random, n)), Array("y", role="output", count=n)]
        yield Case(f"n = {n}", {"n": n}, arrays, tile=128)
    # A tile that looks back to `known`, which knows the sum up to its end; so do those before that
    # one, whose sums nobody may add. All are positive: what is left out is never 0.
    last = drawn(random, 6, 9)
    drew = ((drawn(random, 10, 14), drawn(random, 2, 6), 0), (last, last - 1, 1))
    fixed = ((0, 0, 0), (1, 0, 0), (6, 5, 0), (9, 3, 0), (70, 2, 0), (5, 4, 1))
    for tile, known, is_late in (*fixed, *drew):
        sums = [abs(value) for value in eighths(random, tile)]
        flags = [UP_TO_END if k <= known else OF_TILE for k in range(tile)]
        late = sums[-1] if is_late else 0.0
        if is_late:
            flags[-1] = sums[-1] = 0
        name = f"tile {tile}, "
        if is_late:
            name += "which the one before waits for"
        else:
            name += f"looks back to tile {known}" if tile else "with none before it"
        yield Case(
            name,
            {"n": 0, "tile": tile, "known": known, "is_late": is_late},
            [
                Array("flags", [*flags, 0], "in_out", "int", by_host=True),
                Array("sums", [*sums, 0.0], "in_out", by_host=True),
                Array("sum", eighths(random, 1)),
                Array("late", [late]),
                Array("before", role="output", count=1),
            ],
        )


def expected(case):
    if case.sizes["n"]:
        return {"y": list(accumulate(case["x"].values))}
    tile = case.sizes["tile"]
    flags, sums = case["flags"].values[:tile], case["sums"].values[:tile]
    if case.sizes["is_late"]:
        flags[-1], sums[-1] = UP_TO_END, case["late"].values[0]
    before = sum(sums[case.sizes["known"] :])
    return {
        "before": [before],
        "flags": [*flags, UP_TO_END],
        "sums": [*sums, before + case["sum"].values[0]],
    }


def _is_late(case):
    return not case.sizes["n"] and case.sizes["is_late"]


POINTS = [
    Right(2, "whole scans", lambda case: case.sizes["n"]),
    Right(3, "a tile between others", lambda case: not case.sizes["n"] and not _is_late(case)),
    Right(2, "a tile that others wait for", _is_late),
]

_LOOP = """
for (int earlier = tile - 1; earlier >= 0; --earlier) {
  const State state = wait_for_state(states, earlier);
  before += sum_in(state);
  if (is_up_to_end(state)) break;
}
"""
_EARLY = "publish(states, tile, make_state(kSumOfTile, sum));"
_LATE = "publish(states, tile, make_state(kSumUpToEnd, before + sum));"

RIGHTS = {
    "while": {
        1: _EARLY + "\nint earlier = tile;\nwhile (earlier > 0) {\n"
        "  const State state = wait_for_state(states, --earlier);\n  before += sum_in(state);\n"
        "  if (state >= kSumUpToEnd) earlier = 0;\n}\n" + _LATE
    },
    "tile 0 knows it at once": {
        1: "if (tile == 0) {\n  publish(states, 0, make_state(kSumUpToEnd, sum));\n  return 0;\n}\n"
        + _EARLY + _LOOP + _LATE
    },
    "do, and a lambda": {
        1: "const auto tell = [=](State flag, float what) {\n"
        "  publish(states, tile, make_state(flag, what));\n};\ntell(kSumOfTile, sum);\n"
        "if (tile > 0) {\n  int at = tile;\n  State state;\n  do {\n"
        "    state = wait_for_state(states, --at);\n    before = sum_in(state) + before;\n"
        "  } while (!is_up_to_end(state) && at > 0);\n}\ntell(kSumUpToEnd, sum + before);"
    },
}

MUTANTS = {
    "looks at two tiles at least": {
        1: _EARLY + _LOOP.replace("(is_up_to_end(state))", "(is_up_to_end(state) && earlier < "
        "tile - 1)")
        + _LATE
    },
    "looks at 32 tiles at most": {
        1: _EARLY + _LOOP.replace("earlier >= 0", "earlier >= max(0, tile - 32)") + _LATE
    },
    "the own sum is told too late": {1: _LOOP + _LATE},
    "never stops": {1: _EARLY + _LOOP.replace("  if (is_up_to_end(state)) break;\n", "") + _LATE},
    "looks at one tile only": {
        1: _EARLY + "\nif (tile > 0) before = sum_in(wait_for_state(states, tile - 1));\n" + _LATE
    },
    "stops before it has added": {
        1: _EARLY
        + _LOOP.replace("  before += sum_in(state);\n", "").replace(
            "break;\n", "break;\n  before += sum_in(state);\n"
        )
        + _LATE
    },
    "the second sum is that of the tile": {
        1: _EARLY + _LOOP + "publish(states, tile, make_state(kSumUpToEnd, sum));"
    },
}
