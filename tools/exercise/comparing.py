"""Says in the reader's terms what is wrong with the arrays that came back from a run."""

import array as arrays

from . import api
from .catalog import ExerciseError

GUARD = 1024  # bytes before and after each array; runner.cpp knows the same number
GUARD_BYTE = 0x7F


def compare(case, result, expected, bound):
    """What is wrong with the arrays of a run, in one text; empty if all is right."""
    if not result:
        return "nothing came back"
    for each in case.arrays:
        data = result[each.name]
        stray = _stray(each, data[:GUARD], True) or _stray(each, data[-GUARD:], False)
        if stray:
            return stray
        inner = data[GUARD:-GUARD]
        if each.role == "input" and inner != each.data():
            width = len(inner) // max(1, len(each))
            changed = next(i for i in range(len(inner)) if inner[i] != each.data()[i]) // width
            return f"input {each.name} was changed, first at {each.where(changed)}"
    for name, values in expected.items():
        each = case[name]
        got = arrays.array(api.TYPES[each.type])
        got.frombytes(result[name][GUARD:-GUARD])
        says = _compare_values(case, each, got, values, bound)
        if says:
            return says
    return ""


def _stray(each, guard, is_before):
    wrong = [i for i, byte in enumerate(guard) if byte != GUARD_BYTE]
    if not wrong:
        return ""
    if is_before:
        return f"wrote {GUARD - wrong[0]} bytes before the start of {each.name}"
    return (
        f"wrote past the end of {each.name}, {wrong[-1] + 1} bytes beyond its {len(each)} elements"
    )


def _compare_values(case, each, got, values, bound):
    if len(got) != len(values):
        raise ExerciseError(
            f"the judge expects {len(values)} elements of {each.name}, not {len(got)}"
        )
    wrong = []
    for i, (have, want) in enumerate(zip(got, values)):
        if have != want and not abs(have - want) <= bound(case, each.name, i):
            wrong.append(i)
    if not wrong:
        return ""
    unwritten = [i for i in wrong if each.role == "output" and _is_poison(got, i)]
    if len(unwritten) == len(values):
        return f"{each.name} was never written"
    if each.role == "in_out" and got.tobytes() == each.data():
        return f"{each.name} is as it was before: nothing was written"
    first = wrong[0]
    have = "nothing, it was never written" if first in unwritten[:1] else _shown(got[first])
    text = f"{len(wrong)} of {len(values)} wrong, the first is {each.where(first)}: "
    text += f"expected {_shown(values[first])}, got {have}"
    return text + _where_all_lie(each, wrong, case.tile)


def _where_all_lie(each, wrong, tile):
    """What all wrong elements share, if that is a hint."""
    last_tile = (len(each) - 1) // tile * tile if tile else 0
    if last_tile and wrong[0] >= last_tile:
        return f"\nall that is wrong lies in the last {tile}-element tile"
    if each.shape and len(wrong) > 1:
        rows, columns = zip(*(divmod(i, each.shape[1]) for i in wrong))
        spans = [_span("row", rows, each.shape[0]), _span("column", columns, each.shape[1])]
        spans = [span for span in spans if span]
        if spans:
            return f"\nall that is wrong lies in {' and '.join(spans)}"
    return ""


def _span(name, numbers, most):
    """Where these lie, unless they are spread over all."""
    first, last = min(numbers), max(numbers)
    if last - first + 1 == most:
        return ""
    return f"{name} {first}" if first == last else f"{name}s {first} to {last}"


def _is_poison(values, index):
    """Whether an element is as it was before the run. (A NaN that was computed has other bits.)"""
    return values[index : index + 1].tobytes() == b"\xff" * values.itemsize


def _shown(value):
    return str(value) if isinstance(value, int) else f"{value:.9g}"
