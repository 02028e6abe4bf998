#!/usr/bin/env python3
"""Runs the chapters' programs and keeps what they measured in results/<gpu>.json.

A chapter says in its bench.args what to run, one `label: arguments` a line:
    # 2^28 floats do not fit into the L2
    large: --n 268435456
    counters: --n 1048576
Each label becomes one entry "<chapter>/<label>". The label `counters` is kept for hardware
counters: tools/profile.py runs the program with these arguments. Entries of chapters that were
not asked for stay as they are.
"""

import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import cli
from result_table import slug

COUNTERS = "counters"


class BenchError(Exception):
    """A run gave nothing that can be kept; the message is ready to print."""


def parse_bench_args(path):
    """{label: [argument, ...]} in the order of the file."""
    runs = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        line = line.partition("#")[0].strip()
        if not line:
            continue
        label, colon, arguments = line.partition(":")
        if not colon or not label.strip() or label.strip() in runs:
            raise BenchError(f"{path}:{number}: expected one `label: arguments` for each label")
        runs[label.strip()] = shlex.split(arguments)
    return runs


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
    """The one executable that is named after a .cu of the chapter."""
    candidates = [build / chapter.name / source.stem for source in sorted(chapter.glob("*.cu"))]
    programs = [path for path in candidates if os.access(path, os.X_OK)]
    if len(programs) != 1:
        found = f"{len(programs)} programs" if programs else "no program"
        raise BenchError(f"{found} of {chapter.name} in {build / chapter.name}; run `make` first")
    return programs[0]


def run_with_json(command, what):
    """Runs `command --json FILE`, its output going to the terminal, and returns the JSON."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "run.json"
        print(f"{what}: {shlex.join(command)}", flush=True)
        status = subprocess.run([*command[:1], "--json", str(output), *command[1:]]).returncode
        if status != 0:
            raise BenchError(f"{what}: {command[0]} failed with exit code {status}")
        try:
            run = json.loads(output.read_text(encoding="utf-8"))
        except (OSError, json.JSONDecodeError) as error:
            raise BenchError(f"{what}: {command[0]} wrote no valid JSON ({error})") from error
    # Without the --json of this script: a reader types the command without it.
    run["arguments"] = shlex.join(command[1:])
    return run


def device_name(run):
    """Name of the GPU that ran, or None if there was none."""
    device = run.get("device")
    name = device and device.get("name")
    return None if not name or name.lower().startswith("simt") else name


def write_atomically(path, data):
    """Never leaves a half-written results file: the new text replaces the old in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_text(
        json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    partial.replace(path)


def merge(path, chapter, labels, runs, counters):
    """Puts the new entries of one chapter into the file and drops those no longer asked for."""
    data = {"schema": 1, "runs": {}, COUNTERS: {}}
    if path.exists():
        data = json.loads(path.read_text(encoding="utf-8"))
    wanted = {f"{chapter}/{label}" for label in labels}
    data["runs"] = {
        name: run
        for name, run in data["runs"].items()
        if name.partition("/")[0] != chapter or name in wanted
    }
    data["runs"].update(runs)
    if counters is not None:
        data.setdefault(COUNTERS, {})[chapter] = counters
    write_atomically(path, data)


def profile(program, arguments, what):
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
        return json.loads(output.read_text(encoding="utf-8"))


def bench_chapter(chapter, args):
    """Runs one chapter; returns the messages of what failed."""
    wanted = parse_bench_args(chapter / "bench.args")
    program = program_of(chapter, args.build)
    failures, by_file, counters = [], {}, None
    counter_arguments = wanted.pop(COUNTERS, None)
    for label, arguments in wanted.items():
        what = f"{chapter.name}/{label}"
        try:
            run = run_with_json([str(program), *arguments], what)
        except BenchError as error:
            failures.append(str(error))
            continue
        name = device_name(run)
        if name is None and not args.allow_no_gpu:
            raise BenchError(f"{what}: no GPU took part, results not kept (see --allow-no-gpu)")
        path = args.results / f"{slug(name or 'cpu')}.json"
        by_file.setdefault(path, {})[what] = run
    if counter_arguments is not None and args.counters and not args.allow_no_gpu:
        try:
            counters = profile(program, counter_arguments, f"{chapter.name}/{COUNTERS}")
        except BenchError as error:
            failures.append(str(error))
    for path, runs in by_file.items():
        merge(path, chapter.name, wanted, runs, counters)
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
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER", help="01 or 01_vector_add")
    args = parser.parse_args()
    args.results = args.results or args.root / "results"
    try:
        chapters = chapters_named(args.root, args.chapters)
    except BenchError as error:
        parser.error(str(error))
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
    sys.exit(main())
