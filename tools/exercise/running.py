"""Runs a program on one case, in a process of its own: what went wrong, what came back, and what
simt counted."""

import json
import re
import secrets
import signal
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from .comparing import GUARD, GUARD_BYTE
from .handing_in import plain_bytes
from .processes import Limits, NoSandbox, View, execute, writable

LIMITS = Limits(
    cpu_seconds=6,  # for one case: an endless loop ends here, however busy the machine is
    seconds=30,
    file_bytes=64 << 20,
    memory_bytes=1 << 30,
    addresses=(4 << 30) + (3 << 29),  # simt sets 4 GB of them aside for device memory
    processes=4,  # simt's threads are three
)

NO_TROUBLE = re.compile(r"\bkernels? checked, ")  # what simt says at the end of every program
MOST_REPORT = 16 << 20  # bytes of reports or counts that are looked at
MOST_COUNT = 1 << 62
# Of one kernel: those of two do not add up.
MEANS = {"active_lanes_per_instruction", "load_sectors_per_request", "store_sectors_per_request"}
MEANS |= {"load_conflict_degree", "store_conflict_degree", "serialization", "stages_found"}
MEANS |= {"reads_per_thread", "writes_per_thread"}
MOST_PRINTED = 8  # lines
FREE_COPIES = 64  # bytes that host code may copy each way: a count of elements, say

# What reading a report may raise that simt has not written, or not to its end.
NOT_SIMTS = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError)


@dataclass
class Run:
    """What came of one case."""

    trouble: str = ""  # why there are no results
    arrays: dict = field(default_factory=dict)  # bytes by name, guards included
    counts: dict = field(default_factory=dict)  # simt's, summed over all kernels
    aliens: dict = field(default_factory=dict)  # (bytes, the first) by name: by no kernel
    printed: str = ""  # of a file of one's own
    copies: tuple = (0, 0)  # bytes that the student's host code copied to the device, and back


def run_case(program, case, box=NoSandbox(), settings=None):
    """Runs a program on a case. What it leaves counts only with the seal, a word that the engine
    alone reads before anything else of the program runs."""
    seal = secrets.token_hex(32)
    with tempfile.TemporaryDirectory(prefix="exercise-") as folder:
        Path(folder).chmod(0o755)
        paths = {name: Path(folder, name) for name in ("case", "result", "checks", "counts")}
        write_case(case, paths["case"])
        paths["case"].chmod(0o644)  # whatever the umask says
        writes = [writable(paths[name]) for name in ("result", "checks", "counts")]
        environment = {
            "SIMT_SEAL": "1",
            "SIMT_CHECK_JSON": str(paths["checks"]),
            "SIMT_PROFILE_JSON": str(paths["counts"]),
            "SIMT_TIMEOUT": "5",
            "SIMT_THREADS": "1",
            "SIMT_MEMORY": "512M",
            **(settings or {}),
        }
        words = [str(program), str(paths["case"]), str(paths["result"])]
        view = View(folder, [program, paths["case"]], writes)
        limits = LIMITS if box.is_boxed else LIMITS.own()
        done = execute(
            words, view, limits, environment, box, with_stdout=not box.is_boxed, stdin=seal.encode()
        )
        if done.is_endless():
            spent = f"{LIMITS.cpu_seconds} s of work"
            if done.status is None:
                spent = f"{LIMITS.seconds} s"
            return Run(f"no end after {spent}: an endless loop?")
        trouble = read_report(paths["checks"], seal)
        if not trouble and done.status != 0:
            trouble = _failure(done)
        printed = _printed(done.said) if not box.is_boxed else ""
        if trouble:
            return Run(trouble, printed=printed)
        run = read_result(paths["result"], case, seal)
        if run is None:
            return Run("it ended before its results were written", printed=printed)
        run.counts, run.printed = read_counts(paths["counts"], seal), printed
        return run


def _printed(said):
    """What a kernel of one's own has printed, its beginning."""
    lines = [line for line in said.splitlines() if not line.startswith(("simt: ", "exercise: "))]
    more = ["..."] if len(lines) > MOST_PRINTED else []
    return "\n".join(f"it printed: {line}" for line in [*lines[:MOST_PRINTED], *more])


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


def _sealed(path, seal):
    """What the engine wrote as JSON. ValueError if it was not the engine, or if it came to no end
    of it."""
    data = plain_bytes(path, MOST_REPORT)
    if seal.encode() not in data:  # nobody takes the trouble to read what anybody else has written
        raise ValueError("no seal")
    found = json.loads(data.decode())
    if not isinstance(found, dict) or found.get("seal") != seal:
        raise ValueError("no seal")
    return found


def read_report(path, seal):
    """The first mistake that simt's checks named."""
    try:
        reports = _sealed(path, seal)["reports"]
        lines = reports[0]["message"].splitlines()
        lines[0] = re.sub(r"^error \[(.*?)\]: ", r"\1: ", lines[0])
    except NOT_SIMTS:
        return ""
    if "cudaErrorCapturedEvent" in lines[0]:  # 06/events records what the student's code asks for
        lines[0] = f"the host waits for an event; a stream is to wait for it ({lines[0]})"
    # The student's file without its folder; and our own allocations are nobody's business.
    where = re.compile(r"(?<=\bat )/\S*/([^/\s]+:\d+)\b")
    lines[0] = re.sub(
        r"(of shared memory that was not written)$",
        r"\1 by this time: is there a barrier between?",
        lines[0],
    )
    says = (where.sub(r"\1", line.strip()) for line in lines[:8])
    return "\n".join(re.sub(r" allocated at \S*runner\.cpp:\d+$", "", line) for line in says)


def _failure(done):
    lines = done.said.splitlines()
    if any("bad_alloc" in line for line in lines):
        most = LIMITS.memory_bytes >> 20
        return f"no end within {most} MB of memory: an endless loop?"
    if done.status == -signal.SIGXFSZ:
        return f"no end within {LIMITS.file_bytes >> 20} MB that it wrote: an endless loop?"
    for line in lines:
        if line.startswith("exercise: "):
            return f"it stopped: {line[len('exercise: ') :]}"
    for line in lines:
        if line.startswith("simt: ") and not NO_TROUBLE.search(line):
            return f"it stopped: {line}"
    if done.status < 0:
        return f"it crashed ({signal.strsignal(-done.status)})"
    return f"it ended with status {done.status} before its results were written"


def read_result(path, case, seal):
    """A Run with bytes of each array, guards included, and what runner.cpp saw; None if there is
    no result."""
    try:
        lengths = {each.name: len(each.data()) + 2 * GUARD for each in case.arrays}
        data = plain_bytes(path, sum(lengths.values()) + 4096 + 128 * len(lengths))
        head, found, data = data.partition(b"\ndata\n")
        first, *lines = head.decode().split("\n")
        if first != seal or not found or len(data) != sum(lengths.values()):
            return None
        run, at = Run(), 0
        for line in lines:
            what, *words = line.split()
            if what == "copies":
                run.copies = tuple(map(int, words))
            else:
                run.aliens[words[0]] = tuple(map(int, words[1:]))
    except (OSError, ValueError, IndexError):
        return None
    for name, length in lengths.items():
        run.arrays[name] = data[at : at + length]
        at += length
    return run


def read_counts(path, seal):
    """Sums over the kernels of a run; and "sites", a list of the places that access memory."""
    try:
        kernels = _sealed(path, seal)["kernels"]
        total, sites = {}, []
        for kernel in kernels:
            _add(total, kernel)
            sites += [dict(site) for site in kernel["sites"]]
        lanes = total.get("executions", 0) / max(1, total.get("instructions", 0))
        total["active_lanes_per_instruction"] = lanes
        return {**total, "kernels": len(kernels), "sites": sites}
    except NOT_SIMTS:
        return {}


def _add(into, what):
    """Adds up all numbers in it that a count can be, but for means; of the largest the larger."""
    for key, value in what.items():
        if isinstance(value, dict):
            _add(into.setdefault(key, {}), value)
        elif key in MEANS:
            continue
        elif type(value) in (int, float) and 0 <= value < MOST_COUNT:
            before = into.get(key, 0)
            into[key] = max(before, value) if "max_" in key else before + value
