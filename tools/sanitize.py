#!/usr/bin/env python3
"""Runs the kernels of every rung under checkers and keeps what these say about each.

On a GPU they are the four tools of compute-sanitizer: memcheck (stray accesses), racecheck (races
in shared memory), synccheck (wrong barriers), initcheck (reads of what nobody wrote). Without one,
or with --simt, they are simt's own checks, which look for all of these; the programs must then be
built with SIMT_CHECK=1. simt stands in for two GPUs, unless SIMT_DEVICES says for how many.

The sizes are those of the line `sanitize:` in a chapter's bench.args, or else of `counters:`. Rungs
that skip these are run again with those of the lines `sanitize_...:`, one after the other. The
rungs of a problem share one run, which is clean only if each of them is. One that is not is halved
until every finding has its rung. The rungs of the ladder wrong_on_purpose must be flagged as races;
for them a clean verdict is a failure.

Ends with a table; what was found stands in results/sanitizer/<device>.json, stamped with commit and
date. Entries of chapters that were not asked for stay. Sources that differ from their commit are
checked, and nothing is kept, unless --allow-dirty is given: then the entry says so. Exits 1 if
anything was found, or not found that should be.
"""

import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import bench
import bench_args
import cli
import results
import sanitizer_report as report
from result_table import slug

WRONG_ON_PURPOSE = "wrong_on_purpose"  # the problem whose rungs race
FIND_RACES = {"racecheck", "simt"}

# compute-sanitizer prints a summary at the end, and before it two lines a finding: what, and where.
SUMMARY = re.compile(
    r"^=+ (?:ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard)", re.MULTILINE
)
FINDING = re.compile(r"^=+ (?!COMPUTE-SANITIZER|Target application)(\S.*)$", re.MULTILINE)
PLACE = re.compile(r"^=+ +at (?:0x[0-9a-f]+ in )?(\S.*)$", re.MULTILINE)
OFFSET = re.compile(r"\+0x[0-9a-f]+")
FOLDERS = re.compile(r"/\S*/")
TIMED_OUT = 124  # the status of a program that took too long, as `timeout` has it


class SanitizeError(Exception):
    """A chapter could not be checked; the message is ready to print."""


class Run(NamedTuple):
    """What one run of a program left behind."""

    status: int
    output: str
    rows: dict  # {problem/name: its row in the JSON}
    checks: dict  # what simt's checks wrote, or None


def finding_of_compute_sanitizer(run):
    """The first finding in one line; '' if there is none, and None if there is no summary: then the
    tool did not come to its end."""
    summaries = [int(errors or hazards) for errors, hazards in SUMMARY.findall(run.output)]
    if not summaries:
        return None
    if not any(summaries):
        return ""
    found = FINDING.search(run.output)
    if not found:
        return "a finding without words"
    what, place = found.group(1), PLACE.search(run.output, found.end())
    if place and " at " not in what:
        what += f" at {place.group(1)}"
    return FOLDERS.sub("", OFFSET.sub("", what))


def finding_of_simt(run):
    """The same of simt's checks. A program that was built without them, or that ended before them,
    has checked no kernel."""
    if not run.checks or not run.checks["errors"] and not run.checks["kernels_checked"]:
        return None
    if not run.checks["errors"]:
        return ""
    first = next(r for r in run.checks["reports"] if r["check"] != "unsupported")
    return f"{first['check']} in {first['kernel']} at {Path(first['file']).name}:{first['line']}"


FINDING_OF = {False: finding_of_compute_sanitizer, True: finding_of_simt}


def json_of(path):
    """The value in a file that a program may have left unwritten or half written, or None."""
    try:
        return results.parse(cli.read_text(path))
    except (OSError, results.ResultsError):
        return None


class Checker:
    """Runs a chapter's program, alone or under a tool."""

    def __init__(self, program, arguments, tools, timeout):
        self.program = str(program)
        self.arguments = arguments
        self.tools = tools
        self.timeout = timeout

    def listed(self):
        """problem/name of everything the program knows, in reading order."""
        command = [self.program, "--list"]
        result = subprocess.run(command, capture_output=True, text=True, errors="replace")
        words = [line.split()[0] for line in result.stdout.splitlines() if line.strip()]
        names = [word for word in words if "/" in word]
        if result.returncode != 0 or not names:
            raise SanitizeError(f"{self.program} --list: exit code {result.returncode}, no list")
        return names

    def run(self, tool=None, rungs=()):
        """Runs these rungs, or all, under a tool, or alone."""
        with tempfile.TemporaryDirectory() as folder:
            rows, checks, log = (Path(folder) / name for name in ("rows", "checks", "log"))
            before = ["compute-sanitizer", "--tool", tool] if tool not in (None, "simt") else []
            only = ["--only", ",".join(rungs)] if rungs else []
            what = [self.program, "--json", str(rows), "--verify", *only, *self.arguments]
            environment = {
                **os.environ,
                "SIMT_CHECK": "1" if tool == "simt" else "0",
                "SIMT_CHECK_JSON": str(checks),
            }
            with open(log, "w", encoding="utf-8") as output:
                status = self._status_of([*before, *what], output, environment)
            text = log.read_text(encoding="utf-8", errors="replace")
            data = json_of(rows) or {"rows": []}
            results.check_run(data)
            found = {f"{row['problem']}/{row['name']}": row for row in data["rows"]}
            return Run(status, text, found, json_of(checks))

    def _status_of(self, command, output, environment):
        try:
            return subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                timeout=self.timeout,
            ).returncode
        except subprocess.TimeoutExpired:
            return TIMED_OUT

    def verdict(self, tool, run):
        """What the tool says about all that ran."""
        finding = FINDING_OF[tool == "simt"](run)
        wrong = [row for row in run.rows.values() if row.get("status") == "wrong"]
        if finding:
            return f"{report.FLAGGED}: {finding}"
        if wrong:
            return f"{report.FAILED}: {wrong[0].get('reason')}"
        if run.status == TIMED_OUT:
            return f"{report.FAILED}: not ready after {self.timeout} s"
        if run.status != 0:
            return f"{report.FAILED}: exit code {run.status}, {last_line(run.output)}"
        if finding is None:
            return f"{report.FAILED}: the tool did not say what it found"
        return report.CLEAN

    def verdicts(self, tool, names):
        """{rung: what the tool says about it}"""
        run = self.run(tool, names)
        rungs = [name for name in names if is_rung_with_kernels(run.rows.get(name))]
        verdict = self.verdict(tool, run)
        if verdict == report.CLEAN:
            return {rung: not_run(run.rows.get(rung)) or verdict for rung in rungs}
        if len(names) == 1:
            if rungs and not races_on_purpose(tool, names[0]):
                print(f"--- {tool}: {names[0]}\n{run.output}", file=sys.stderr, flush=True)
            return {rung: verdict for rung in rungs}
        half = len(names) // 2
        found = {**self.verdicts(tool, names[:half]), **self.verdicts(tool, names[half:])}
        if all(report.is_good(said) for said in found.values()):
            # Each half alone is clean: a rung leaves something behind that another stumbles over.
            return {rung: f"{verdict}, in one run with {names[0]}" for rung in rungs}
        return found


def last_line(output):
    said = [line.strip(" =") for line in output.splitlines() if line.strip(" =")]
    return said[-1] if said else "and not a word"


def not_run(row):
    """The verdict on a rung whose row says that it was skipped, or None."""
    if row and row.get("status") == "skipped":
        return f"{report.NOT_RUN}: {row.get('reason')}"
    return None


def races_on_purpose(tool, rung):
    return tool in FIND_RACES and rung.partition("/")[0] == WRONG_ON_PURPOSE


def judged(tool, rung, verdict):
    """The verdict, in the light of what this rung is for."""
    if races_on_purpose(tool, rung):
        if verdict == report.CLEAN:
            return report.MISSED
        if report.kind_of(verdict) == report.FLAGGED:
            return verdict.replace(report.FLAGGED, report.ON_PURPOSE, 1)
    return verdict


def is_rung_with_kernels(row):
    """A ladder that is not judged has no row, and a program that crashed has none."""
    return not row or row.get("kind") in ("rung", "chooser") and row.get("place") != "cpu"


def check_chapter(checker, jobs, rungs=()):
    """{rung: {tool: verdict}} of one chapter, or of these rungs of it."""
    # Everything once: what is a rung, and what can run here. simt's checks cost little enough to
    # have them on at once.
    is_simt = checker.tools == ["simt"]
    first = checker.run("simt" if is_simt else None, rungs)
    said, problems = {}, {}
    for name in rungs or checker.listed():
        row = first.rows.get(name)
        if is_rung_with_kernels(row):
            said[name] = dict.fromkeys(checker.tools, not_run(row) or report.CLEAN)
            if not not_run(row):
                problems.setdefault(name.partition("/")[0], []).append(name)
    if is_simt and checker.verdict("simt", first) == report.CLEAN:
        problems = {name: rungs for name, rungs in problems.items() if name == WRONG_ON_PURPOSE}
    units = [(tool, rungs) for rungs in problems.values() for tool in checker.tools]
    found = {rung: {} for rungs in problems.values() for rung in rungs}
    with ThreadPoolExecutor(jobs) as pool:
        for (tool, _), verdicts in zip(units, pool.map(lambda u: checker.verdicts(*u), units)):
            for rung, verdict in verdicts.items():
                found[rung][tool] = judged(tool, rung, verdict)
    said = {rung: found.get(rung, verdicts) for rung, verdicts in said.items()}
    return {rung: verdicts for rung, verdicts in said.items() if verdicts}


def sizes_of(chapter):
    """Arguments, a list of them for each line of sizes."""
    try:
        runs = bench_args.parse(chapter / "bench.args")
    except bench_args.ArgumentsError as error:
        raise SanitizeError(str(error)) from error
    lines = [words for label, words in runs.items() if bench_args.is_for_checkers(label)]
    return lines or [runs.get(bench_args.COUNTERS, [])]


def gpu_name():
    """'' without a GPU: without a driver nvidia-smi complains and prints no such line."""
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True).stdout
    except OSError:
        return ""
    found = re.match(r"GPU \d+: (.*?)(?: \(UUID.*)?$", listed, re.MULTILINE)
    return found.group(1) if found else ""


def check_and_keep(chapter, args, device, tools):
    """Whether all is well with a chapter; its entry goes into the report."""
    sizes, said = sizes_of(chapter), {}
    for arguments in sizes:
        checker = Checker(bench.program_of(chapter, args.build), arguments, tools, args.timeout)
        left = [rung for rung, verdicts in said.items() if report.is_not_run(verdicts)]
        if left or not said:
            said.update(check_chapter(checker, args.jobs, left))
    print(f"{chapter.name}: {len(said)} rungs")
    for line in report.summary(said):
        print(f"  {line}", flush=True)
    if args.keep:
        entry = {
            "arguments": "; ".join(" ".join(arguments) for arguments in sizes),
            **bench.stamp(args.commit),
            "rungs": said,
        }
        path = args.root / report.FOLDER / f"{slug(device)}.json"
        try:
            report.merge(path, device, tools, chapter.name, entry)
        except results.ResultsError as error:
            raise SanitizeError(f"{path} is damaged and stays as it is: {error}") from error
    return all(report.is_good(v) for verdicts in said.values() for v in verdicts.values())


def main():
    parser = cli.Parser(__doc__)
    parser.add_root()
    parser.add_argument("--build", type=Path, required=True, help="folder with the built programs")
    parser.add_argument("--simt", action="store_true", help="simt's checks, even beside a GPU")
    parser.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="runs side by side (default: 1)"
    )
    parser.add_argument(
        "--timeout", type=int, default=1200, metavar="S", help="seconds for one run (default: 1200)"
    )
    parser.add_argument(
        "--allow-dirty", action="store_true", help="keep what no commit holds too, and say so"
    )
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER", help="01 or 01_vector_add")
    args = parser.parse_args()
    for name in ("jobs", "timeout"):
        if getattr(args, name) < 1:
            parser.error(f"--{name} is less than 1")
    try:
        chapters = bench.chapters_named(args.root, args.chapters)
    except bench.BenchError as error:
        parser.error(str(error))
    device = "" if args.simt else gpu_name()
    if not device:
        device, tools = "simt", ["simt"]
        os.environ.setdefault("SIMT_DEVICES", "2")  # some rungs share their work
    elif tool := cli.cuda_tool("compute-sanitizer"):
        os.environ["PATH"] += f"{os.pathsep}{Path(tool).parent}"
        tools = ["memcheck", "racecheck", "synccheck", "initcheck"]
    else:
        print(
            "sanitize.py: compute-sanitizer is not on PATH (it comes with the CUDA Toolkit)",
            file=sys.stderr,
        )
        return 1
    args.commit = bench.commit_of(args.root)
    args.keep = args.allow_dirty or not bench.is_dirty(args.commit)
    good = bool(chapters)
    for chapter in chapters:
        try:
            good = check_and_keep(chapter, args, device, tools) and good
        except (SanitizeError, bench.BenchError, results.ResultsError) as error:
            print(f"sanitize.py: {error}", file=sys.stderr)
            good = False
    if not args.keep:
        why = bench.why_dirty(args.commit)
        print(f"Nothing is kept in {report.FOLDER}: {why} (ALLOW_DIRTY=1 keeps it, and says so)")
    return 0 if good else 1


if __name__ == "__main__":
    cli.run(main)
