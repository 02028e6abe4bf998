#!/usr/bin/env python3
"""Runs the chapters' programs and keeps what they measured in results/<gpu>.json, and what two or
more GPUs have shared in results/<gpu>_x2.json and so on.

A chapter says in its bench.args what to run, one `label: arguments` a line:
    # 2^28 floats do not fit into the L2
    large: --n 268435456
    counters: --n 1048576
Each label becomes one entry "<chapter>/<label>". Two labels are no runs: `counters` are the
arguments with which tools/profile.py counts, `sanitize` those of tools/sanitize.py. Entries of
chapters that were not asked for stay as they are.

Every entry is stamped with the commit of the sources: COMMIT from the environment, or git's word.
With changes that no commit holds (results/ and lessons aside) nothing is measured; --allow-dirty
measures all the same, and the entries, the file and the tables that quote them say so.
"""

import os
import shlex
import subprocess
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path

import bench_args
import cli
import results
from result_table import slug

COUNTERS = bench_args.COUNTERS
DIRTY = "-dirty"  # how the commit of sources ends that differ from it


class BenchError(Exception):
    """A run gave nothing that can be kept; the message is ready to print."""


def commit_of(root):
    """The commit of the sources under `root`, with DIRTY behind it if they differ from it; empty
    if nobody knows."""
    if os.environ.get("COMMIT"):
        return os.environ["COMMIT"]

    def git(*arguments):
        try:
            command = ["git", "-C", str(root), *arguments]
            result = subprocess.run(command, capture_output=True, text=True, errors="replace")
        except OSError:
            return None
        return result.stdout if result.returncode == 0 else None

    top, commit = git("rev-parse", "--show-toplevel"), git("rev-parse", "--short=12", "HEAD")
    # A repository around the sources, say that of a home folder, does not speak of them.
    if top is None or commit is None or Path(top.rstrip("\n")).resolve() != root.resolve():
        return ""
    changed = git("status", "--porcelain", "--", ".", ":!results", ":!*.md")
    return commit.strip() + (DIRTY if changed is None or changed.strip() else "")


def chapters_named(root, names):
    """The chapter folders called `names` ('01' or '01_vector_add'); all with bench.args if none."""
    having = sorted(path.parent for path in root.glob(f"{cli.CHAPTERS}/bench.args"))
    if not names:
        return having
    chosen = []
    for name in names:
        fits = [path for path in having if name.strip("/") in (path.name, path.name[:2])]
        if len(fits) != 1:
            known = ", ".join(path.name for path in having) or "none"
            raise BenchError(f"no chapter '{name}' with a bench.args (there: {known})")
        chosen += fits
    return chosen


def program_of(chapter, build):
    """The chapter's program of all rungs."""
    program = build / chapter.name / "ladders"
    if not os.access(program, os.X_OK):
        raise BenchError(f"no program of {chapter.name} in {program.parent}; run `make` first")
    return program


def why_dirty(commit):
    """Why this commit does not say what the sources are; empty if it does."""
    if not commit:
        return "no commit is known"
    return "these sources differ from their commit" if commit.endswith(DIRTY) else ""


def is_dirty(commit):
    return why_dirty(commit) != ""


def stamp(commit):
    """What an entry says of its sources, and of the time, in UTC."""
    date = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"commit": commit or f"unknown{DIRTY}", "date": date}


def commit_to_measure(root, allow_dirty):
    """The commit to stamp entries with. BenchError if the sources are those of none, unless that is
    allowed."""
    commit = commit_of(root)
    if not allow_dirty and is_dirty(commit):
        raise BenchError(f"{why_dirty(commit)}; commit first, or measure with --allow-dirty")
    return commit


def run_with_json(command, what, commit):
    """Runs `command --json FILE`, its output going to the terminal, and returns the JSON."""
    environment = {**os.environ, "COMMIT": stamp(commit)["commit"]}
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "run.json"
        print(f"{what}: {shlex.join(command)}", flush=True)
        words = [*command[:1], "--json", str(output), *command[1:]]
        status = subprocess.run(words, env=environment).returncode
        if status != 0:
            raise BenchError(f"{what}: {command[0]} failed with exit code {status}")
        try:
            run = results.parse(cli.read_text(output))
            results.check_run(run)
        except (OSError, results.ResultsError) as error:
            raise BenchError(f"{what}: {command[0]} wrote no valid results: {error}") from error
    # Without the --json of this script: a reader types the command without it.
    run["arguments"] = shlex.join(command[1:])
    if is_dirty(commit):
        run["dirty"] = True
    return run


def device_name(run):
    """Name of the GPU that ran, or None if there was none."""
    device = run.get("device")
    name = device and device.get("name")
    return (
        None if not isinstance(name, str) or not name or name.lower().startswith("simt") else name
    )


def ran_on_gpu(run):
    """Whether it ran here. What several GPUs share is skipped on one: then only loops are left. A
    run that asks for nothing but loops is whole."""
    if run.get("sweeps"):
        return True
    on_gpu = [row for row in run["rows"] if row.get("place") != "cpu"]
    if not on_gpu:
        return bool(run["rows"])
    return any(row.get("status") != "skipped" for row in on_gpu)


def gpus_of(run):
    """How many GPUs shared its work, as its rows and points say. The loops of a problem for several
    GPUs run without any, and its yardsticks on one."""
    on_gpu = (row for row in run["rows"]
              if row.get("place") != "cpu" and row.get("kind") != "yardstick")
    rows = (row.get("sizes") or {} for row in on_gpu if row.get("status") != "skipped")
    points = (point for sweep in run.get("sweeps") or [] for point in sweep["points"])
    return int(max((of.get("devices") or 1 for of in (*rows, *points)), default=1))


def file_of(name, gpus):
    """Where the runs of so many GPUs of this name are kept."""
    return slug(name) + (f"_x{gpus}" if gpus > 1 else "") + ".json"


def merge(path, chapter, labels, runs, counters):
    """Puts the new entries of one chapter into the file and drops those no longer asked for."""
    with cli.alone_in(path.parent):
        _merge(path, chapter, labels, runs, counters)


def _merge(path, chapter, labels, runs, counters):
    data = {"schema": 1, "runs": {}, COUNTERS: {}}
    if path.exists():
        try:
            data = results.load(path)
        except results.ResultsError as error:
            raise BenchError(f"{path} is damaged and stays as it is: {error}") from error
    wanted = {f"{chapter}/{label}" for label in labels}
    data["runs"] = {
        name: run
        for name, run in data["runs"].items()
        if name.partition("/")[0] != chapter or name in wanted
    }
    data["runs"].update(runs)
    if counters is not None:
        data.setdefault(COUNTERS, {})[chapter] = counters
    data.pop("dirty", None)
    if dirty := sorted(name for name, run in data["runs"].items() if run.get("dirty")):
        data["dirty"] = dirty
    results.save(path, data)


def profile(program, arguments, what, commit):
    """The counters of one chapter, or None with a line that says why there are none."""
    if cli.cuda_tool("ncu") is None:
        print(f"{what}: not measured, ncu (Nsight Compute) is not installed")
        return None
    tool = Path(__file__).resolve().parent / "profile.py"
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "profile.json"
        command = [sys.executable, str(tool), "--backend", "ncu", "--json", str(output)]
        print(f"{what}: {shlex.join([str(program), *arguments])}", flush=True)
        if subprocess.run([*command, str(program), *arguments]).returncode != 0:
            raise BenchError(f"{what}: no counters of {program} (--no-counters leaves them out)")
        return {**results.parse(cli.read_text(output)), **stamp(commit)}


def bench_chapter(chapter, args):
    """Runs one chapter; returns the messages of what failed."""
    try:
        wanted = bench_args.parse(chapter / "bench.args")
    except bench_args.ArgumentsError as error:
        raise BenchError(str(error)) from error
    program = program_of(chapter, args.build)
    failures, by_file, counters = [], {}, None
    counter_arguments = wanted.pop(COUNTERS, None)
    for label, arguments in wanted.items():
        if bench_args.is_for_checkers(label) or (args.labels and label not in args.labels):
            continue
        what = f"{chapter.name}/{label}"
        try:
            run = run_with_json([str(program), *arguments], what, args.commit)
        except BenchError as error:
            failures.append(str(error))
            continue
        run.pop("timelines", None)  # tools/timelines.py keeps them, in a file of their own
        name = device_name(run)
        if name is None and not args.allow_no_gpu:
            raise BenchError(f"{what}: no GPU took part, results not kept (see --allow-no-gpu)")
        if name is not None and not ran_on_gpu(run):
            print(f"{what}: nothing of it runs on this machine; what was kept stays")
            continue
        path = args.results / (file_of(name, gpus_of(run)) if name else "cpu.json")
        by_file.setdefault(path, {})[what] = run
    if counter_arguments is not None and args.counters and not (args.labels or args.allow_no_gpu):
        try:
            what = f"{chapter.name}/{COUNTERS}"
            counters = profile(program, counter_arguments, what, args.commit)
        except BenchError as error:
            failures.append(str(error))
    for path, runs in by_file.items():
        gpus = max(map(gpus_of, runs.values()))
        merge(path, chapter.name, wanted, runs, counters if gpus == 1 else None)
        print(f"{chapter.name}: {len(runs)} runs kept in {path}")
    return failures


def main():
    parser = cli.Parser(__doc__)
    parser.add_root()
    parser.add_argument("--build", type=Path, required=True, help="folder with the built programs")
    parser.add_argument(
        "--results", type=Path, help="folder of the results files (default: results)"
    )
    parser.add_argument(
        "--allow-no-gpu", action="store_true", help="keep results without a GPU too (in cpu.json)"
    )
    parser.add_argument(
        "--no-counters", dest="counters", action="store_false", help="leave hardware counters out"
    )
    parser.add_argument(
        "--allow-dirty",
        action="store_true",
        help="measure sources that no commit holds, and say so",
    )
    parser.add_argument(
        "--label",
        action="append",
        dest="labels",
        default=[],
        metavar="LABEL",
        help="only this line of bench.args, without counters (may be given again)",
    )
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER", help="01 or 01_vector_add")
    args = parser.parse_args()
    args.results = args.results or args.root / "results"
    try:
        chapters = chapters_named(args.root, args.chapters)
        for label in args.labels:
            if not any(label in bench_args.parse(path / "bench.args") for path in chapters):
                parser.error(f"no label '{label}' in the bench.args of these chapters")
    except (BenchError, bench_args.ArgumentsError) as error:
        parser.error(str(error))
    try:
        args.commit = commit_to_measure(args.root, args.allow_dirty)
    except BenchError as error:
        print(f"bench.py: {error}", file=sys.stderr)
        return 1
    failures = []
    for chapter in chapters:
        try:
            failures += bench_chapter(chapter, args)
        except BenchError as error:
            failures.append(str(error))
    if not chapters:
        failures.append("no chapter has a bench.args")
    for failure in failures:
        print(f"bench.py: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    cli.run(main)
