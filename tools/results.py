"""Reads and writes results/<gpu>.json, and refuses what is damaged before anybody uses it.

In the file a row, a kernel and a point of a sweep have a line each (json_lines.py); what says
nothing is left out; and what many runs share, the machine and how their programs were built, stands
once, under "environments", where a run names its own. Who loads the file gets whole runs, and rows
with all their fields.
"""

import hashlib
import json
import math

import cli
import json_lines

NUMBERS = {
    "median_ms",
    "min_ms",
    "max_ms",
    "gbps",
    "gflops",
    "percent_of_roof",
    "speedup",
    "ratio_to_peer",
    "max_error",
    "extra_bytes",
}


LAYOUT = {
    "environments": {},
    "counters": {"kernels": {}},
    "runs": {"rows": {}, "sweeps": {"points": {}}, "timelines": {"bars": {}}},
}
# What an entry is of stands first in its line, all else in the order of the alphabet.
FIRST = ("environment", "problem", "name", "sweep", "kernel")
# The fields of a run that its environment keeps.
ENVIRONMENT = (
    "schema",
    "device",
    "cpu",
    "compiler",
    "driver",
    "flags",
    "toolkit",
    "mode",
    "seed",
    "torch",
    "cudnn",
    "triton",
)
# A row's fields that the file leaves out where they hold just this.
ROW = {**dict.fromkeys(sorted(NUMBERS)), "phases": [], "reason": ""}
OF_A_PHASE = dict.fromkeys(("median_ms", "gbps", "percent_of_roof"))


class ResultsError(Exception):
    """The file is not what a run writes; the message is ready to print."""


def _refuse_constant(text):
    raise ResultsError(f"{text} is no number")


def parse(text):
    """The value of a JSON text, without NaN and infinities."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ResultsError(f"no valid JSON ({error})") from error


def _expect(value, kind, what):
    if not isinstance(value, kind) or isinstance(value, bool):
        names = {dict: "an object", list: "a list", str: "a text", (int, float): "a number"}
        raise ResultsError(f"{what} is not {names[kind]}")
    if isinstance(value, float) and not math.isfinite(value):
        raise ResultsError(f"{what} is too large")
    return value


def _check_numbers(entry, what):
    for name, value in entry.items():
        if name in NUMBERS and value is not None or isinstance(value, float):
            _expect(value, (int, float), f"{what}: {name}")
            if name in NUMBERS and value < 0:
                raise ResultsError(f"{what}: {name} is {value}, below 0")


def check_run(run, what="the run"):
    """Refuses what is no run of a program."""
    _expect(run, dict, what)
    for name in ("device", "cpu"):
        if run.get(name) is not None:
            _expect(run[name], dict, f"{what}: {name}")
    for name in ("program", "arguments", "toolkit", "date"):
        if run.get(name) is not None:
            _expect(run[name], str, f"{what}: {name}")
    for number, row in enumerate(_expect(run.get("rows"), list, f"{what}: rows"), 1):
        where = f"{what}, row {number}"
        for name in ("problem", "name"):
            _expect(_expect(row, dict, where).get(name), str, f"{where}: {name}")
        _check_numbers(row, where)
        _check_numbers(_expect(row.get("sizes", {}), dict, f"{where}: sizes"), where)
        for phase in _expect(row.get("phases") or [], list, f"{where}: phases"):
            _expect(_expect(phase, dict, f"{where}: a phase").get("name"), str, f"{where}: a phase")
            _check_numbers(phase, where)
    for sweep in _expect(run.get("sweeps") or [], list, f"{what}: sweeps"):
        where = f"{what}, sweep {_expect(sweep, dict, f'{what}: a sweep').get('sweep')}"
        if not _expect(sweep.get("points"), list, f"{where}: points"):
            raise ResultsError(f"{where}: no points")
        for point in sweep["points"]:
            _check_numbers(_expect(point, dict, f"{where}: a point"), where)
    for timeline in _expect(run.get("timelines") or [], list, f"{what}: timelines"):
        _check_timeline(_expect(timeline, dict, f"{what}: a timeline"), what)


def _check_timeline(timeline, what):
    for name in ("problem", "name", "unit"):
        _expect(timeline.get(name), str, f"{what}, a timeline: {name}")
    where = f"{what}, timeline {timeline['name']}"
    for lane in _expect(timeline.get("lanes"), list, f"{where}: lanes"):
        _expect(lane, str, f"{where}: a lane")
    if not _expect(timeline.get("bars"), list, f"{where}: bars"):
        raise ResultsError(f"{where}: no bars")
    for bar in timeline["bars"]:
        if _expect(bar, dict, f"{where}: a bar").get("lane") not in timeline["lanes"]:
            raise ResultsError(f"{where}: a bar in none of its lanes")
        _expect(bar.get("what"), str, f"{where}: a bar's what")
        begin, end = (_expect(bar.get(k), (int, float), f"{where}: {k}") for k in ("begin", "end"))
        if not 0 <= begin <= end:
            raise ResultsError(f"{where}: a bar ends before it begins, or begins before 0")


def check(data):
    """Refuses what is no results file."""
    _expect(data, dict, "it")
    for name, environment in _expect(data.get("environments", {}), dict, "environments").items():
        _expect(environment, dict, f"environment {name}")
        check_run({**environment, "rows": []}, f"environment {name}")
    for label, run in _expect(data.get("runs"), dict, "runs").items():
        check_run(run, f"run {label}")
    for chapter, counted in _expect(data.get("counters", {}), dict, "counters").items():
        where = f"counters of {chapter}"
        _expect(_expect(counted, dict, where).get("kernels"), list, f"{where}: kernels")
        _expect(counted.get("arguments"), str, f"{where}: arguments")
        if _expect(counted.get("runs", 1), int, f"{where}: runs") < 1:
            raise ResultsError(f"{where}: runs: {counted['runs']}")
        for kernel in counted["kernels"]:
            _expect(_expect(kernel, dict, where).get("kernel"), str, f"{where}: a kernel's name")
            _check_numbers(kernel, where)


def _without_nulls(value):
    """`value` without what is null in an object: a key that is absent says the same."""
    if isinstance(value, dict):
        return {key: _without_nulls(of) for key, of in value.items() if of is not None}
    return [_without_nulls(of) for of in value] if isinstance(value, list) else value


def _ordered(value):
    if isinstance(value, dict):
        keys = [*(key for key in FIRST if key in value), *sorted(value.keys() - {*FIRST})]
        return {key: _ordered(value[key]) for key in keys}
    return [_ordered(of) for of in value] if isinstance(value, list) else value


def _whole_run(run, environments):
    """A run as its program wrote it, from what the file keeps of it."""
    run = dict(run)
    name = run.pop("environment", None)
    if name is not None and name not in environments:
        raise ResultsError(f"no environment '{name}'")
    run = {"device": None, "cpu": None, **environments.get(name, {}), **run}
    for row in run["rows"]:
        row.update({key: value for key, value in ROW.items() if key not in row})
        row["phases"] = [{**OF_A_PHASE, **phase} for phase in row["phases"]]
    for sweep in run.get("sweeps") or []:
        columns = dict.fromkeys(key for point in sweep["points"] for key in point)
        sweep["points"] = [{**columns, **point} for point in sweep["points"]]
    return run


def _lean_run(run, environments):
    """What the file keeps of a run. Adds its environment to the others."""
    run = _without_nulls(run)
    shared = {key: run.pop(key) for key in ENVIRONMENT if key in run}
    said = json.dumps(shared, sort_keys=True)
    run["environment"] = hashlib.sha256(said.encode()).hexdigest()[:8]
    environments[run["environment"]] = shared
    kept = lambda row: {key: row[key] for key in row if row[key] != ROW.get(key)}
    return {**run, "rows": [kept(row) for row in run["rows"]]}


def load(path):
    """A results file; ResultsError, or OSError if there is none."""
    data = parse(cli.read_text(path))
    check(data)
    environments = data.pop("environments", {})
    data["runs"] = {label: _whole_run(run, environments) for label, run in data["runs"].items()}
    return data


def save(path, data):
    environments = {}
    runs = {label: _lean_run(run, environments) for label, run in data["runs"].items()}
    kept = {**_without_nulls(data), "runs": runs, "environments": environments}
    cli.write_text(path, json_lines.text(_ordered(kept), LAYOUT))
