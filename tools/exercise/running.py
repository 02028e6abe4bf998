"""Runs a program on one case, in a process of its own: what went wrong, what came back, and what
simt counted."""

import json
import os
import re
import resource
import signal
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from .comparing import GUARD, GUARD_BYTE

CPU_SECONDS = 6  # for one case: an endless loop ends here, however busy the machine is
SECONDS = 30  # by the clock: for whoever sleeps


@dataclass
class Run:
    """What came of one case."""

    trouble: str = ""  # why there are no results
    arrays: dict = field(default_factory=dict)  # bytes by name, guards included
    counts: dict = field(default_factory=dict)  # simt's, summed over all kernels


def run_case(program, case):
    with tempfile.TemporaryDirectory(prefix="exercise-") as folder:
        paths = {name: Path(folder, name) for name in ("case", "result", "checks", "counts")}
        write_case(case, paths["case"])
        command = [str(program), str(paths["case"]), str(paths["result"])]
        with subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **environment(paths)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        ) as process:
            resource.prlimit(process.pid, resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
            try:
                errors, status = process.communicate(timeout=SECONDS)[1], process.returncode
            except subprocess.TimeoutExpired:
                errors, status = b"", None
            _end_all(process)
        return outcome(case, paths, status, errors)


def environment(paths):
    return {
        "SIMT_CHECK_JSON": str(paths["checks"]),
        "SIMT_PROFILE_JSON": str(paths["counts"]),
        "SIMT_TIMEOUT": "5",
        "SIMT_THREADS": "1",
    }


def outcome(case, paths, status, errors):
    """status: the exit status, or None if the time was up."""
    if status in (None, -signal.SIGXCPU, -signal.SIGKILL):
        spent = f"{CPU_SECONDS} s of work" if status is not None else f"{SECONDS} s"
        return Run(f"no end after {spent}: an endless loop?")
    reported = _simt_report(paths["checks"])
    if reported:
        return Run(reported)
    if status != 0:
        return Run(_failure(status, errors.decode(errors="replace")))
    return Run(arrays=_read_result(paths["result"], case), counts=_read_counts(paths["counts"]))


def _end_all(process):
    """Ends the process and whatever it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


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


def _simt_report(path):
    """The first mistake that simt's checks named."""
    try:
        reports = json.loads(path.read_text(encoding="utf-8"))["reports"]
        lines = reports[0]["message"].splitlines()
    except (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError):
        return ""
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
