"""Builds a file for an exercise, runs it on every case in a process of its own, and says in the
reader's terms what is wrong with it."""

import hashlib
import json
import math
import os
import random
import re
import signal
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import array as arrays

from . import api
from .catalog import ExerciseError

GUARD = 1024  # bytes before and after each array; runner.hpp knows the same number
GUARD_BYTE = 0xA5
SECONDS = 10  # for one case


@dataclass
class Outcome:
    """What came of one part of the points."""

    title: str
    points: int
    most: int
    says: str = ""


@dataclass
class Verdict:
    """What came of a whole file."""

    outcomes: list = field(default_factory=list)
    trouble: str = ""  # does not compile, for instance; then there are no outcomes

    @property
    def points(self):
        return sum(outcome.points for outcome in self.outcomes)

    @property
    def most(self):
        return sum(outcome.most for outcome in self.outcomes)

    @property
    def passed(self):
        return bool(self.outcomes) and self.points == self.most


def build(root, exercise, source):
    """The program that runs `source` on a case, built if it is not there yet; raises ExerciseError
    with what the compiler said."""
    command = ["simt/nvcc", "-std=c++17", "-O1", "-g", "-I.", f'-DEXERCISE_FILE="{source}"']
    command += [str(exercise.folder.relative_to(root) / "run.cu")]
    key = hashlib.sha256()
    inputs = [source, exercise.folder / "run.cu", root / "tools/exercise/runner.hpp"]
    inputs += sorted((root / "simt").glob("**/*.py")) + sorted((root / "simt/src").glob("*"))
    for path in inputs:
        key.update(path.read_bytes())
    key.update(" ".join(command).encode())
    program = (
        root
        / "build/exercise"
        / exercise.chapter
        / f"{exercise.folder.name}-{key.hexdigest()[:16]}"
    )
    if program.exists():
        return program
    program.parent.mkdir(parents=True, exist_ok=True)
    for old in program.parent.glob(f"{exercise.folder.name}-*"):
        if old.stat().st_mtime < program.parent.stat().st_mtime - 3600:
            old.unlink(missing_ok=True)
    partial = f"{program}.{os.getpid()}"
    done = subprocess.run(
        [*command, "-o", partial],
        cwd=root,
        env={**os.environ, "SIMT_CHECK": "1"},
        capture_output=True,
        text=True,
        errors="replace",
        stdin=subprocess.DEVNULL,
    )
    if done.returncode != 0:
        raise ExerciseError(
            f"it does not compile:\n{_first_errors(done.stdout + done.stderr, root)}"
        )
    os.replace(partial, program)
    return program


def _first_errors(text, root):
    """The compiler's first few lines, paths relative to the repository."""
    lines = text.replace(f"{root}/", "").strip().splitlines()
    errors = [line for line in lines if "error" in line.lower()] or lines
    return "\n".join(f"    {line}" for line in errors[:5])


def write_case(case, file):
    with open(file, "wb") as stream:
        for name, value in case.sizes.items():
            stream.write(f"size {name} {value}\n".encode())
        for each in case.arrays:
            stream.write(f"array {each.name} {len(each.data())}\n".encode())
        stream.write(b"data\n")
        guard = bytes([GUARD_BYTE]) * GUARD
        for each in case.arrays:
            stream.write(guard + each.data() + guard)


def run_case(program, case, limits=None):
    """Runs the program on a case: (what went wrong in one text or "", arrays by name, counts).
    limits: called in the new process before the program starts (resource limits)."""
    with tempfile.TemporaryDirectory(prefix="exercise-") as folder:
        paths = {name: Path(folder, name) for name in ("case", "result", "checks", "counts")}
        write_case(case, paths["case"])
        environment = {
            **os.environ,
            "SIMT_CHECK_JSON": str(paths["checks"]),
            "SIMT_PROFILE_JSON": str(paths["counts"]),
            "SIMT_TIMEOUT": "5",
            "SIMT_THREADS": "1",
        }
        with subprocess.Popen(
            [program, paths["case"], paths["result"]],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=limits,
        ) as process:
            try:
                errors, in_time = process.communicate(timeout=SECONDS)[1], True
            except subprocess.TimeoutExpired:
                errors, in_time = b"", False
            _end_all(process)
        if not in_time:
            return f"no end after {SECONDS} s: an endless loop?", {}, {}
        reported = _simt_report(paths["checks"])
        if reported:
            return reported, {}, {}
        if process.returncode != 0:
            return _failure(process.returncode, errors.decode(errors="replace")), {}, {}
        return "", _read_result(paths["result"], case), _read_counts(paths["counts"])


def _end_all(process):
    """Ends the process and whatever it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _simt_report(path):
    """The first mistake that simt's checks named."""
    try:
        reports = json.loads(path.read_text(encoding="utf-8"))["reports"]
    except (OSError, ValueError, KeyError):
        return ""
    if not reports:
        return ""
    lines = reports[0]["message"].splitlines()
    lines[0] = re.sub(r"^error \[(.*?)\]: ", r"\1: ", lines[0])
    where = re.compile(r"(?:/\S*/)?(\S+:\d+)$")
    return "\n".join(where.sub(r"\1", line.strip()) for line in lines[:6])


def _failure(status, errors):
    for line in errors.splitlines():
        if line.startswith("exercise: "):
            return line[len("exercise: ") :]
    if status < 0:
        return f"it crashed (signal {-status})"
    return f"it ended with status {status} before its results were written"


def _read_result(path, case):
    """Bytes of each array, guards included."""
    try:
        data = path.read_bytes()
    except OSError:
        return {}
    result, at = {}, 0
    for each in case.arrays:
        length = len(each.data()) + 2 * GUARD
        result[each.name] = data[at : at + length]
        at += length
    return result if at == len(data) else {}


def _read_counts(path):
    """Sums over the kernels of a run."""
    try:
        kernels = json.loads(path.read_text(encoding="utf-8"))["kernels"]
    except (OSError, ValueError, KeyError):
        return {}
    total = {}

    def add(into, what):
        for key, value in what.items():
            if isinstance(value, dict):
                add(into.setdefault(key, {}), value)
            elif isinstance(value, (int, float)):
                into[key] = into.get(key, 0) + value

    for kernel in kernels:
        add(total, kernel)
    total["kernels"] = len(kernels)
    return total


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
    poison = [i for i in wrong if each.role == "output" and _is_poison(got[i])]
    if len(poison) == len(values):
        return f"{each.name} was never written"
    first = wrong[0]
    have = "nothing, it was never written" if first in poison[:1] else f"{got[first]:.9g}"
    text = f"{len(wrong)} of {len(values)} wrong, the first is {each.where(first)}: "
    text += f"expected {values[first]:.9g}, got {have}"
    last_tile = (len(values) - 1) // case.tile * case.tile if case.tile else 0
    if last_tile and first >= last_tile:
        text += f"\nall that is wrong lies in the last {case.tile}-element tile"
    return text


def _is_poison(value):
    return (
        value == -1
        or (isinstance(value, float) and math.isnan(value))
        or value in (255, 2**32 - 1)
    )


def judge(root, exercise, source, seed=None, limits=None):
    """Builds and runs `source` and gives it points."""
    module = exercise.judge()
    try:
        program = build(root, exercise, source)
    except ExerciseError as error:
        return Verdict(trouble=str(error))
    cases = list(module.cases(random.Random(seed)))
    bound = getattr(module, "bound", lambda case, name, index: 0.0)

    def one(case):
        trouble, result, counts = run_case(program, case, limits)
        return trouble or compare(case, result, module.expected(case), bound), counts

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        found = dict(zip((case.name for case in cases), pool.map(one, cases)))
    verdict = Verdict()
    for part in module.POINTS:
        verdict.outcomes.append(_outcome(part, cases, found))
    return verdict


def _outcome(part, cases, found):
    if isinstance(part, api.Right):
        mine = [case for case in cases if part.when(case)]
        if not mine:
            raise ExerciseError(f"no case belongs to '{part.title}'")
        for case in mine:
            says = found[case.name][0]
            if says:
                return Outcome(part.title, 0, part.points, f"{case.name}: {says}")
        return Outcome(part.title, part.points, part.points)
    # Counts of wrong code mean nothing.
    case = next(case for case in cases if case.name == part.case)
    says, counts = found[case.name]
    if any(says for says, _ in found.values()):
        return Outcome(part.title, 0, part.points, "counts once all results are right")
    if part.holds(counts, case):
        return Outcome(part.title, part.points, part.points)
    return Outcome(part.title, 0, part.points, f"{case.name}: {part.says(counts)}".rstrip(": "))
