#!/usr/bin/env python3
"""Runs the kernels of every rung under checkers and keeps what these say about each.

On a GPU they are the four tools of compute-sanitizer: memcheck (stray accesses), racecheck (races
in shared memory), synccheck (wrong barriers), initcheck (reads of what nobody wrote). Without one,
or with --simt, they are simt's own checks, which look for all of these; the programs must then be
built with SIMT_CHECK=1. simt stands in for two GPUs, unless SIMT_DEVICES says for how many.

The sizes are those of the line `sanitize:` in a chapter's bench.args, or else of `counters:`. Rungs
that skip these are run with those of the lines `sanitize_...:`, one after the other. Some rungs of
a problem share one run, which is clean only if each of them is. One that is not is halved until
every finding has its rung; one that does not end is taken apart at once. The rungs of the ladder
wrong_on_purpose must be flagged as races; for them a clean verdict is a failure.

Problems of which a rung was never checked come first. With --within nothing begins after so many
seconds, and what still runs then is ended: a problem that was not finished is named, and nothing
is kept of it.

Prints a line for each problem; what was found stands in results/sanitizer/<device>.json, stamped
with commit and date. Entries of problems that were not asked for stay. Sources that differ from
their commit are checked, and nothing is kept, unless --allow-dirty is given: then the entry says
so. Exits 1 if anything was found, or not found that should be, or not finished.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
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
TOGETHER = 8  # rungs that share a run, at most

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


class OutOfTime(Exception):
    """--within is over."""


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


class Programs:
    """Runs programs for a limited time each, and all of them."""

    def __init__(self, each, within):
        self.each = each  # seconds
        self.end = time.monotonic() + within
        self.running = set()

    def status_of(self, command, output, environment):
        """The exit code, or TIMED_OUT. OutOfTime if all time is over before."""
        left = self.end - time.monotonic()
        if left <= 0:
            raise OutOfTime
        # In a session of its own: a tool that is ended does not end the program that it runs.
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
        self.running.add(process.pid)
        try:
            return process.wait(min(left, self.each))
        except subprocess.TimeoutExpired:
            if left < self.each:
                raise OutOfTime from None
            return TIMED_OUT
        finally:
            self.running.discard(process.pid)
            end(process.pid)
            process.wait()

    def stop(self):
        """Ends all that runs; nothing begins any more."""
        self.end = time.monotonic()
        for session in tuple(self.running):
            end(session)


def end(session):
    try:
        os.killpg(session, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Checker:
    """Runs a chapter's program at some sizes, alone or under a tool."""

    def __init__(self, program, arguments, tools, programs, jobs):
        self.program = str(program)
        self.arguments = arguments
        self.tools = tools
        self.programs = programs
        self.cores = max(1, (os.cpu_count() or 1) // jobs)  # of a run, where several run at a time

    def listed(self):
        """problem/name of everything the program knows, in reading order."""
        command = [self.program, "--list"]
        result = subprocess.run(command, capture_output=True, text=True, errors="replace")
        words = [line.split()[0] for line in result.stdout.splitlines() if line.strip()]
        names = [word for word in words if "/" in word]
        if result.returncode != 0 or not names:
            raise SanitizeError(f"{self.program} --list: exit code {result.returncode}, no list")
        return names

    def run(self, tool=None, rungs=(), gpu=""):
        """Runs these rungs, or all, under a tool, or alone; on this GPU, or on those there are."""
        with tempfile.TemporaryDirectory() as folder:
            rows, checks, log = (Path(folder) / name for name in ("rows", "checks", "log"))
            before = ["compute-sanitizer", "--tool", tool] if tool not in (None, "simt") else []
            if tool == "racecheck" and self.cores < (os.cpu_count() or 1):
                before += ["--racecheck-num-workers", str(self.cores)]
            only = ["--only", ",".join(rungs)] if rungs else []
            what = [self.program, "--json", str(rows), "--verify", *only, *self.arguments]
            environment = {
                "OMP_NUM_THREADS": str(self.cores),
                **os.environ,
                "SIMT_CHECK": "1" if tool == "simt" else "0",
                "SIMT_CHECK_JSON": str(checks),
                **({"CUDA_VISIBLE_DEVICES": gpu} if gpu else {}),
            }
            with open(log, "w", encoding="utf-8") as output:
                status = self.programs.status_of([*before, *what], output, environment)
            text = log.read_text(encoding="utf-8", errors="replace")
            data = json_of(rows) or {"rows": []}
            results.check_run(data)
            found = {f"{row['problem']}/{row['name']}": row for row in data["rows"]}
            return Run(status, text, found, json_of(checks))

    def verdict(self, tool, run):
        """What the tool says about all that ran."""
        finding = FINDING_OF[tool == "simt"](run)
        wrong = [row for row in run.rows.values() if row.get("status") == "wrong"]
        if finding:
            return f"{report.FLAGGED}: {finding}"
        if wrong:
            return f"{report.FAILED}: {wrong[0].get('reason')}"
        if run.status == TIMED_OUT:
            return f"{report.FAILED}: did not end within {self.programs.each} s"
        if run.status != 0:
            return f"{report.FAILED}: exit code {run.status}, {last_line(run.output)}"
        if finding is None:
            return f"{report.FAILED}: the tool did not say what it found"
        return report.CLEAN

    def verdicts(self, tool, names, gpu=""):
        """{rung: what the tool says about it}"""
        run = self.run(tool, names, gpu)
        rungs = [name for name in names if is_rung_with_kernels(run.rows.get(name))]
        verdict = self.verdict(tool, run)
        if verdict == report.CLEAN:
            return {rung: not_run(run.rows.get(rung)) or verdict for rung in rungs}
        if len(names) == 1:
            if rungs and not races_on_purpose(tool, names[0]):
                print(f"--- {tool}: {names[0]}\n{run.output}", file=sys.stderr, flush=True)
            return {rung: verdict for rung in rungs}
        found = {}
        for part in parts(names, 1 if run.status == TIMED_OUT else (len(names) + 1) // 2):
            found.update(self.verdicts(tool, part, gpu))
        if all(report.is_good(said) for said in found.values()):
            # Each part alone is clean: a rung leaves something behind that another stumbles over.
            return {rung: f"{verdict}, in one run with {names[0]}" for rung in rungs}
        return found


def parts(names, size):
    return [names[first : first + size] for first in range(0, len(names), size)]


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


def problem_of(rung):
    return rung.partition("/")[0]


def devices_of(row):
    """How many GPUs share the work of a rung."""
    return (row and row.get("sizes") or {}).get("devices") or 1


class Unit(NamedTuple):
    """Rungs of a problem that share a run."""

    checker: Checker
    tool: str
    rungs: list
    gpu: str

    def verdicts(self):
        found = self.checker.verdicts(self.tool, self.rungs, self.gpu)
        return {rung: judged(self.tool, rung, verdict) for rung, verdict in found.items()}


class Problem:
    """What is known of the rungs of a problem, and what must be run for the rest."""

    def __init__(self, chapter, name, listed, tools):
        self.chapter = chapter
        self.name = name
        self.listed = listed  # the problems of the chapter
        self.tools = tools
        self.arguments = []  # at which sizes
        self.said = {}  # {problem/name: {tool: verdict}}
        self.units = []
        self.left = 0  # units that have not ended
        self.cut_off = set()  # tools that had no time for all rungs

    def rungs(self):
        """{name: {tool: verdict}}; what turned out to be no rung has no verdict."""
        return {
            rung.partition("/")[2]: {
                tool: said.get(tool, f"{report.FAILED}: no word of it") for tool in self.tools
            }
            for rung, said in self.said.items()
            if said
        }

    def entry(self, commit):
        sizes = "; ".join(" ".join(words) for words in self.arguments)
        return {"arguments": sizes, **bench.stamp(commit), "rungs": self.rungs()}


def look(chapter, args, tools, programs, gpus):
    """The problems of a chapter. Everything runs once: what is a rung, and what can run here, at
    which sizes. simt's checks cost little enough to have them on at once."""
    program, problems, left = bench.program_of(chapter, args.build), {}, []
    is_simt = tools == ["simt"]
    for arguments in sizes_of(chapter):
        checker = Checker(program, arguments, tools, programs, args.jobs)
        if not problems:
            known = checker.listed()
            listed = list(dict.fromkeys(problem_of(rung) for rung in known))
            left = [rung for rung in known if problem_of(rung) in args.only]
            if args.only and not left:
                return []
        run = checker.run("simt" if is_simt else None, left)
        is_clean = is_simt and checker.verdict("simt", run) == report.CLEAN
        to_run, skipped = {}, []
        for rung in left or known:
            row, name = run.rows.get(rung), problem_of(rung)
            if not is_rung_with_kernels(row):
                continue
            problem = problems.setdefault(name, Problem(chapter.name, name, listed, tools))
            if arguments not in problem.arguments:
                problem.arguments.append(arguments)
            if not_run(row):
                skipped.append(rung)
            if not_run(row) or is_clean and name != WRONG_ON_PURPOSE:
                problem.said[rung] = dict.fromkeys(tools, not_run(row) or report.CLEAN)
            else:
                problem.said[rung] = {}
                to_run.setdefault(name, []).append(rung)
        for name, rungs in to_run.items():
            units = problems[name].units
            # What one GPU runs is spread over those there are. Kernels that wait for one another
            # on several run by themselves: one that does not end keeps no others from it.
            is_shared = any(devices_of(run.rows.get(rung)) > 1 for rung in rungs)
            for together in parts(rungs, 1 if is_shared else TOGETHER):
                for tool in tools:
                    gpu = "" if is_shared or not gpus else gpus[len(units) % len(gpus)]
                    units.append(Unit(checker, tool, together, gpu))
        left = skipped
        if not left:
            break
    return list(problems.values())


def finished(problems, jobs, programs):
    """Each problem when all of its runs have ended, or none of them begins any more."""
    yield from (problem for problem in problems if not problem.units)
    with ThreadPoolExecutor(jobs) as pool:
        try:
            running = {}
            for problem in problems:
                problem.left = len(problem.units)
                for unit in problem.units:
                    running[pool.submit(unit.verdicts)] = problem, unit
            for future in as_completed(running):
                problem, unit = running[future]
                try:
                    for rung, verdict in future.result().items():
                        problem.said[rung][unit.tool] = verdict
                except OutOfTime:
                    problem.cut_off.add(unit.tool)
                problem.left -= 1
                if problem.left == 0:
                    yield problem
        except BaseException:
            programs.stop()
            raise


def sizes_of(chapter):
    """Arguments, a list of them for each line of sizes."""
    try:
        runs = bench_args.parse(chapter / "bench.args")
    except bench_args.ArgumentsError as error:
        raise SanitizeError(str(error)) from error
    lines = [words for label, words in runs.items() if bench_args.is_for_checkers(label)]
    return lines or [runs.get(bench_args.COUNTERS, [])]


def gpus_here():
    """The names; none without a GPU: without a driver nvidia-smi complains and prints no such
    line."""
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True).stdout
    except OSError:
        return []
    return re.findall(r"^GPU \d+: (.*?)(?: \(UUID.*)?$", listed, re.MULTILINE)


def is_known(problem, kept):
    """Whether all its rungs with kernels were checked once."""
    entry = kept.get(f"{problem.chapter}/{problem.name}", {"rungs": {}})
    return all(rung.partition("/")[2] in entry["rungs"] for rung in problem.said)


def check_and_keep(chapters, args, device, tools, gpus):
    """Whether all is well with these chapters; what was found goes into the report."""
    path = args.root / report.FOLDER / f"{slug(device)}.json"
    try:
        kept = report.load(path)["problems"] if path.exists() else {}
    except results.ResultsError as error:
        print(f"sanitize.py: {path} is damaged and stays as it is: {error}", file=sys.stderr)
        return False
    programs, problems, good = Programs(args.timeout, args.within), [], bool(chapters)
    for chapter in chapters:
        try:
            of_chapter = look(chapter, args, tools, programs, gpus)
        except OutOfTime:
            print(f"sanitize.py: {chapter.name}: not finished", file=sys.stderr)
            good = False
        except (SanitizeError, bench.BenchError, results.ResultsError) as error:
            print(f"sanitize.py: {error}", file=sys.stderr)
            good = False
        else:
            count = sum(len(problem.said) for problem in of_chapter)
            print(f"{chapter.name}: {count} rungs", flush=True)
            problems += of_chapter
    if unknown := sorted(set(args.only) - {problem.name for problem in problems}):
        print(f"sanitize.py: no problem {', '.join(unknown)}", file=sys.stderr)
        good = False
    problems.sort(key=lambda problem: is_known(problem, kept))
    for problem in finished(problems, args.jobs, programs):
        name, rungs = f"{problem.chapter}/{problem.name}", problem.rungs()
        if problem.cut_off:
            cut_off = [tool for tool in tools if tool in problem.cut_off]
            print(f"{name}: not finished: {', '.join(cut_off)}", flush=True)
            good = False
        elif rungs:
            print("\n".join(report.summary(name, rungs)), flush=True)
            good = good and all(report.is_good(v) for of in rungs.values() for v in of.values())
            if args.keep:
                entries = {problem.name: problem.entry(args.commit)}
                report.merge(path, device, tools, problem.chapter, problem.listed, entries)
    return good


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
        "--within", type=int, default=10**6, metavar="S", help="seconds for all of them"
    )
    parser.add_argument(
        "--only", metavar="A,B", default="", help="these problems alone: sgemm,bf16_gemm"
    )
    parser.add_argument(
        "--allow-dirty", action="store_true", help="keep what no commit holds too, and say so"
    )
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER", help="01 or 01_vector_add")
    args = parser.parse_args()
    for name in ("jobs", "timeout", "within"):
        if getattr(args, name) < 1:
            parser.error(f"--{name} is less than 1")
    args.only = args.only.split(",") if args.only else []
    try:
        chapters = bench.chapters_named(args.root, args.chapters)
    except bench.BenchError as error:
        parser.error(str(error))
    names = [] if args.simt else gpus_here()
    gpus = []  # to choose from, unless somebody has chosen
    if not names:
        device, tools = "simt", ["simt"]
        os.environ.setdefault("SIMT_DEVICES", "2")  # some rungs share their work
    elif tool := cli.cuda_tool("compute-sanitizer"):
        os.environ["PATH"] += f"{os.pathsep}{Path(tool).parent}"
        device, tools = names[0], ["memcheck", "racecheck", "synccheck", "initcheck"]
        if "CUDA_VISIBLE_DEVICES" not in os.environ:
            gpus = [str(i) for i, name in enumerate(names) if name == device]
    else:
        print(
            "sanitize.py: compute-sanitizer is not on PATH (it comes with the CUDA Toolkit)",
            file=sys.stderr,
        )
        return 1
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # and what was started ends, too
    args.commit = bench.commit_of(args.root)
    args.keep = args.allow_dirty or not bench.is_dirty(args.commit)
    good = check_and_keep(chapters, args, device, tools, gpus)
    if not args.keep:
        why = bench.why_dirty(args.commit)
        print(f"Nothing is kept in {report.FOLDER}: {why} (ALLOW_DIRTY=1 keeps it, and says so)")
    return 0 if good else 1


if __name__ == "__main__":
    cli.run(main)
