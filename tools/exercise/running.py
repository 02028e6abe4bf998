"""Runs a program on one case, in a process of its own: what went wrong, what came back, and what
simt counted."""

import json
import re
import signal
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from .comparing import GUARD, GUARD_BYTE
from .processes import Limits, NoSandbox, View, execute, writable

LIMITS = Limits(
    cpu_seconds=6,  # for one case: an endless loop ends here, however busy the machine is
    seconds=30,
    file_bytes=64 << 20,
    memory_bytes=1 << 30,
    addresses=(4 << 30) + (3 << 29),  # simt sets 4 GB of them aside for device memory
    processes=4,  # simt's threads are three
)

# What reading a report may raise that simt has not written, or not to its end.
NOT_SIMTS = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError)


@dataclass
class Run:
    """What came of one case."""

    trouble: str = ""  # why there are no results
    arrays: dict = field(default_factory=dict)  # bytes by name, guards included
    counts: dict = field(default_factory=dict)  # simt's, summed over all kernels


def run_case(program, case, box=NoSandbox()):
    with tempfile.TemporaryDirectory(prefix="exercise-") as folder:
        Path(folder).chmod(0o755)
        paths = {name: Path(folder, name) for name in ("case", "result", "checks", "counts")}
        write_case(case, paths["case"])
        writes = [writable(paths[name]) for name in ("result", "checks", "counts")]
        environment = {
            "SIMT_CHECK_JSON": str(paths["checks"]),
            "SIMT_PROFILE_JSON": str(paths["counts"]),
            "SIMT_TIMEOUT": "5",
            "SIMT_THREADS": "1",
            "SIMT_MEMORY": "512M",
        }
        words = [str(program), str(paths["case"]), str(paths["result"])]
        view = View(folder, [program, paths["case"]], writes)
        limits = LIMITS if box.is_boxed else LIMITS.own()
        done = execute(words, view, limits, environment, box)
        if done.is_endless():
            spent = f"{LIMITS.cpu_seconds} s of work"
            if done.status is None:
                spent = f"{LIMITS.seconds} s"
            return Run(f"no end after {spent}: an endless loop?")
        trouble = _simt_report(paths["checks"])
        if not trouble and done.status != 0:
            trouble = _failure(done)
        if trouble:
            return Run(trouble)
        return Run(
            arrays=_read_result(paths["result"], case), counts=_read_counts(paths["counts"])
        )


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
    except NOT_SIMTS:
        return ""
    lines[0] = re.sub(r"^error \[(.*?)\]: ", r"\1: ", lines[0])
    # The student's file without its folder; and our own allocations are nobody's business.
    where = re.compile(r"(?<=\bat )/\S*/([^/\s]+:\d+)\b")
    says = (where.sub(r"\1", line.strip()) for line in lines[:6])
    return "\n".join(re.sub(r" allocated at \S*runner\.cpp:\d+$", "", line) for line in says)


def _failure(done):
    for line in done.said.splitlines():
        if line.startswith("exercise: "):
            return f"it stopped: {line[len('exercise: ') :]}"
    if done.status < 0:
        return f"it crashed ({signal.strsignal(-done.status)})"
    return f"it ended with status {done.status} before its results were written"


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
    except NOT_SIMTS:
        return {}
    total = {}

    def add(into, what):
        for key, value in what.items():
            if isinstance(value, dict):
                add(into.setdefault(key, {}), value)
            elif isinstance(value, (int, float)):
                into[key] = into.get(key, 0) + value

    try:
        for kernel in kernels:
            add(total, kernel)
    except NOT_SIMTS:
        return {}
    return {**total, "kernels": len(kernels)}
