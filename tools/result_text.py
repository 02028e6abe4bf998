"""Turns the measured numbers of results/<gpu>.json into words of a lesson: numbers in running prose
and the line of proof under a rung.

A number is asked for by two words or three, `RUNG METRIC [OTHER]`, or by one about the whole run:

    ms us s              median time
    GB/s TB/s            rate, of bytes
    GFLOP/s TFLOP/s      rate, of operations
    %                    share of peak, in percent
    library              the library's time over this one's: above 1 this one is faster
    x                    how many times as fast as OTHER, or as the rung before
    %more %less          how many percent more or less time than OTHER, or than the rung before
    any column           of a table: max_ms, phase:copy_in, counter:barriers, sizes.n, ...
    device toolkit date  of the run, without a rung

and chosen by run=, problem= (or PROBLEM/RUNG), results=, and for a point of a sweep by sweep= and
at=, the value in the column of the same name: `sweep=stride at=8 gbps`; or in others:
`sweep=pieces at=pieces:1,bytes_each:16 gbps`. `nccl over chosen` is a quotient of two columns.
digits=2 rounds to two significant digits, 30 or 1,500; without it a number has three at least, and
all before the point, as in the tables.
"""

import math
import re

import result_table
from result_table import TableError, significant, text_cell

TIMES = {"ms": 1, "us": 1e3, "s": 1e-3}
RATES = {
    "GB/s": ("gbps", 1),
    "TB/s": ("gbps", 1e-3),
    "GFLOP/s": ("gflops", 1),
    "TFLOP/s": ("gflops", 1e-3),
    "%": ("percent_of_roof", 1),
    "library": ("ratio_to_peer", 1),
}
# Of two times, that of the other row and the own one.
COMPARISONS = {
    "x": lambda other, own: other / own,
    "%more": lambda other, own: (own / other - 1) * 100,
    "%less": lambda other, own: (1 - own / other) * 100,
}


def rounded(value, digits=None):
    """A number for prose: 4,303 or 0.0350; with `digits`, that many significant ones."""
    if digits and value:
        places = digits - 1 - math.floor(math.log10(abs(value)))
        value = round(value, places)
    text = significant(value, digits or 3)
    whole, point, rest = text.partition(".")
    return re.sub(r"\B(?=(\d{3})+$)", ",", whole) + point + rest


def _rows_of(run, problem):
    return [row for row in run["rows"] if problem in (None, row["problem"])]


def _find_row(run_name, run, name, problem):
    """The row of `name`, or None; `name` may be PROBLEM/RUNG."""
    *folder, name = name.split("/")
    found = [r for r in _rows_of(run, folder[0] if folder else problem) if r["name"] == name]
    if len(found) > 1:
        problems = ", ".join(row["problem"] for row in found)
        raise TableError(f"'{name}' stands in '{run_name}' for {problems}: say problem=")
    return found[0] if found else None


def _row_named(run_name, run, name, problem):
    row = _find_row(run_name, run, name, problem)
    if row is None:
        raise TableError(f"no row '{name}' in '{run_name}'")
    return row


def _time(row):
    if row.get("median_ms") is None:
        raise TableError(f"'{row['name']}' was not timed: {row.get('reason') or row['status']}")
    return row["median_ms"]


def _rung_before(run, row):
    """The timed rung that stands before this one in the run, or None."""
    before = None
    for other in _rows_of(run, row["problem"]):
        if other is row:
            return before
        if other.get("kind", "rung") == "rung" and other.get("median_ms") is not None:
            before = other
    return None


def _other(run_name, run, row, name):
    if name is not None:
        return _row_named(run_name, run, name, row["problem"])
    other = _rung_before(run, row)
    if other is None:
        raise TableError(f"nothing stands before '{row['name']}' in '{run_name}'")
    return other


def _of_row(results, run_name, run, row, metric, other):
    if metric in COMPARISONS:
        return COMPARISONS[metric](_time(_other(run_name, run, row, other)), _time(row))
    if other is not None:
        raise TableError(f"'{metric}' compares with nothing: what is '{other}'?")
    if metric in TIMES:
        return _time(row) * TIMES[metric]
    key, factor = RATES.get(metric, (metric, 1))
    counters = result_table.counters_of(results, run_name, [key])
    value = result_table.value_of(row, key, counters)
    return value * factor if isinstance(value, (int, float)) else value


def _of_sweep(run_name, run, options, words):
    wanted = ("sweep", "problem", "name")
    fits = lambda s: all(s.get(key) == options[key] for key in wanted if key in options)
    sweeps = [sweep for sweep in run.get("sweeps") or [] if fits(sweep)]
    if len(sweeps) != 1:
        raise TableError(f"'{run_name}' holds {len(sweeps)} sweeps '{options['sweep']}' that fit")
    if "at" not in options or len(words) != 1 and words[1:2] + words[3:] != ["over"]:
        raise TableError("a number of a sweep needs at= and one column, or COLUMN over OTHER")
    conditions = [part.rpartition(":")[::2] for part in options["at"].split(",")]
    for point in sweeps[0]["points"]:
        columns = {result_table.slug(key): value for key, value in point.items()}
        has = lambda column: str(columns.get(column or options["sweep"])).removesuffix(".0")
        if all(has(column) == value for column, value in conditions):
            for word in words[::2]:
                if word not in columns:
                    raise TableError(f"no column '{word}' (there: {', '.join(columns)})")
            value, *over = (columns[word] for word in words[::2])
            return None if None in (value, *over) else value / over[0] if over else value
    raise TableError(f"no point {options['at']} in the sweep '{options['sweep']}'")


def _of_run(run, word):
    facts = {
        "device": (run.get("device") or {}).get("name"),
        "toolkit": run.get("toolkit"),
        "date": run["date"][:10],
    }
    if facts.get(word) is None:
        raise TableError(f"'{word}' is neither a rung and what to say of it nor {', '.join(facts)}")
    return facts[word]


def _only(options, *known):
    wrong = sorted(set(options) - {"results", "run", "problem", *known})
    if wrong:
        raise TableError(f"nobody knows what {wrong[0]}= means")


def number(results, options, words):
    """The text that the words of a number stand for."""
    _only(options, "sweep", "at", "name", "digits")
    if "run" not in options:
        raise TableError("the number names no run=, nor does a `numbers` mark above it")
    run_name = options["run"]
    run = result_table.run_named(results, run_name)
    if "sweep" in options:
        value = _of_sweep(run_name, run, options, words)
    elif len(words) == 1:
        value = _of_run(run, words[0])
    elif len(words) in (2, 3):
        row = _row_named(run_name, run, words[0], options.get("problem"))
        other = words[2] if len(words) == 3 else None
        value = _of_row(results, run_name, run, row, words[1], other)
    else:
        raise TableError("a number is RUNG METRIC [OTHER]")
    if value is None:
        raise TableError(f"the results say nothing about '{' '.join(words)}'")
    if not isinstance(value, (int, float)):
        return text_cell(value)
    digits = options.get("digits")
    if digits is not None and not (digits.isdigit() and int(digits) > 0):
        raise TableError(f"digits={digits} is no count")
    if isinstance(value, int) and not digits:
        return f"{value:,}"
    return rounded(value, int(digits) if digits else None)


def _factor(row, other):
    factor = other["median_ms"] / row["median_ms"]
    name = f"`{result_table.code_cell(other['name'])}`"
    if f"{factor:.2f}" == "1.00":
        return f"as fast as {name}"
    if factor > 1:
        return f"{rounded(factor)} times as fast as {name}"
    return f"{rounded(1 / factor)} times as long as {name}"


def _count(counter, row, before, counters):
    """'barriers 74,088 → 36,936': what `counter` was for the rung before and is for this one."""
    column = f"counter:{counter}"
    title = result_table.title_of(column).lower()
    values = [result_table.value_of(r, column, counters) for r in (before, row) if r is not None]
    if values[-1] is None:
        raise TableError(f"no kernel of '{row['name']}' has the counter '{counter}'")
    texts = [rounded(v) if isinstance(v, float) else f"{v:,}" for v in values if v is not None]
    if len(texts) == 2 and texts[0] == texts[1]:
        return f"{title} {texts[0]} as before"
    return f"{title} {' → '.join(texts)}"


def proof(results, options, name, is_rung):
    """The line under a rung: its time, its share of peak, its gain over the rung before (or over
    another one, over=NAME, or over none), and the counts that moved (count=). is_rung: whether a
    name is that of a rung of this chapter."""
    _only(options, "over", "count")
    if "run" not in options:
        raise TableError("the proof names no run=, nor does a `numbers` mark above it")
    run_name = options["run"]
    run = result_table.run_named(results, run_name)
    row = _find_row(run_name, run, name, options.get("problem"))
    if row is None:
        if not is_rung(name.rpartition("/")[2]):
            raise TableError(f"no row '{name}' in '{run_name}', and no rung of this name")
        return "Not measured yet: these results have no run of this rung."
    if row.get("median_ms") is None:
        return f"Not measured: {text_cell(row.get('reason') or row['status'])}."
    parts = [f"**{rounded(row['median_ms'])} ms**"]
    share = result_table.value_of(row, "percent_of_roof", {})
    if share is not None and share >= 0.05:  # less is no share of a peak but another limit
        parts.append(f"{share:.1f} % of peak")
    over = options.get("over")
    before = _other(run_name, run, row, over) if over not in (None, "none") else None
    if over is None:
        before = _rung_before(run, row)
    if before is not None:
        _time(before)
        parts.append(_factor(row, before))
    if "count" in options:
        wanted = options["count"].split(",")
        columns = [f"counter:{counter}" for counter in wanted]
        counters = result_table.counters_of(results, run_name, columns)
        parts += [_count(counter, row, before, counters) for counter in wanted]
    return ", ".join(parts) + "."
