"""Exercise 05/look_back."""

import struct
from itertools import accumulate

from exercise.api import Array, Case, Right, eighths

TITLE = "What a tile tells the others"
KIND = "step"
MINUTES = 15

OF_TILE, UP_TO_END = 1, 2


def _state(flag, value):
    return flag << 32 | struct.unpack("<I", struct.pack("<f", value))[0]


def cases(random):
    for n in (1, 128, 129, 1000, 1024, 3001):
        arrays = [Array("x", eighths(random, n)), Array("y", role="output", count=n)]
        yield Case(f"n = {n}", {"n": n, "tile": 0}, arrays, tile=128)
    # A tile that looks back to `known`, which knows the sum up to its end; tiles before that one
    # hold what nobody may add.
    for tile, known, is_late in ((0, 0, 0), (1, 0, 0), (6, 5, 0), (9, 3, 0), (5, 4, 1)):
        sums = eighths(random, tile + 1)
        flags = [UP_TO_END if k <= known else OF_TILE for k in range(tile)]
        told = [_state(flag, value) for flag, value in zip(flags, sums)] + [0]
        late = told[tile - 1] if is_late else 0
        if is_late:
            told[tile - 1] = 0
        what = "the one before is late" if is_late else f"looks back to tile {known}"
        yield Case(
            f"tile {tile}, " + (what if tile else "with none before it"),
            {"n": 0, "tile": tile, "known": known},
            [
                Array("states", told, "in_out", "long"),
                Array("sum", sums[tile:]),
                Array("late", [late], type="long"),
                Array("before", role="output", count=1),
            ],
        )


def expected(case):
    if case.sizes["n"]:
        return {"y": list(accumulate(case["x"].values))}
    tile, states = case.sizes["tile"], list(case["states"].values)
    if case["late"].values[0]:
        states[tile - 1] = case["late"].values[0]
    told = [struct.unpack("<f", struct.pack("<I", s & 0xFFFFFFFF))[0] for s in states]
    before = sum(told[case.sizes["known"] : tile])
    states[tile] = _state(UP_TO_END, before + case["sum"].values[0])
    return {"before": [before], "states": states}


POINTS = [
    Right(2, "whole scans", lambda case: case.sizes["n"]),
    Right(
        3, "a tile between others", lambda case: not case.sizes["n"] and not case["late"].values[0]
    ),
    Right(2, "a tile that others wait for", lambda case: "late" in case.name),
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

MUTANTS = {
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
