#!/usr/bin/env python3
"""Measures simt's checks by a labelled suite: how many faulty kernels it names
(recall), and how many right ones (false alarms).

  simt/suites/run.py scopes              # the suite in simt/suites/scopes
  simt/suites/run.py async
  simt/suites/run.py scor FOLDER         # ScoR's microbenchmarks, in your copy
  simt/suites/run.py scor FOLDER --orders 1 --volatile relaxed
  simt/suites/run.py indigo FOLDER --orders 1   # Indigo, in HiRace's artifact
  simt/suites/run.py gpuverify FOLDER    # GPUVerify's CUDA cases
  simt/suites/run.py samples FOLDER      # NVIDIA's compute-sanitizer-samples

Of the suites here a kernel counts as named if a report names one of its marked
lines; of ScoR and Indigo, whose files say in their names whether they race, if
any report is a race; of GPUVerify's cases, if any report is not of memory that
nobody wrote, after which the verifier does not look; of NVIDIA's samples, if a
report is of the kind that the sample shows.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import gpuverify as verifier

SUITES = Path(__file__).resolve().parent
NVCC = SUITES.parent / "nvcc"
SECONDS = 120  # for one run of a program
THREADS_AND_BLOCKS = ("64", "256")  # of Indigo's: a warp for each of the 200 nodes of its graphs

# What each of NVIDIA's samples shows.
SAMPLES = {
    "Initcheck/memset_error": ("uninitialized",),
    "Memcheck/memcheck_demo": ("misaligned", "out-of-bounds"),  # an int across a variable's end
    "Racecheck/block_error": ("race",),
    "Racecheck/warp_error": ("race",),
    "Suppressions/suppressions_initcheck_demo": ("uninitialized",),
    "Synccheck/divergent_threads": ("barrier-divergence",),
    "Synccheck/illegal_syncwarp": ("warp-mask",),
}


class Missing(Exception):
    """What was to be run is not there."""


class NotBuilt(Exception):
    """simt does not build a program; what it said."""


def build(source, program, *more):
    command = [NVCC, "-O1", "-std=c++17", *more, source, "-o", program]
    environment = {**os.environ, "SIMT_CHECK": "1", "SIMT_PRECOMPILE": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise NotBuilt(f"{source} could not be built: {done.stderr.strip()}")


def reports(program, arguments, settings):
    """What simt said of a run, one dict a report. (A program with reports does not exit 0.)"""
    path = Path(f"{program}.json")
    path.unlink(missing_ok=True)
    environment = {**os.environ, **settings, "SIMT_THREADS": "1", "SIMT_CHECK_JSON": str(path)}
    command = [program, *arguments]
    try:
        subprocess.run(command, env=environment, capture_output=True, timeout=SECONDS)
        return json.loads(path.read_text(encoding="utf-8"))["reports"]
    except (OSError, ValueError, subprocess.TimeoutExpired):
        sys.exit(f"{Path(sys.argv[0]).name}: {program} ended without a report of its own")


def own(name, settings, folder):
    """(kernel, is faulty, is named) of each kernel of a suite here."""
    for source in sorted((SUITES / name).glob("*.cu")):
        text = source.read_text(encoding="utf-8")
        marks = {}
        for number, line in enumerate(text.split("\n"), 1):
            if mark := re.search(r"// fault: (\w+)$", line):
                marks.setdefault(mark[1], set()).add(number)
        program = folder / source.stem
        build(source, program)
        named = {}
        for report in reports(program, ["all"], settings):
            lines = re.findall(rf"{source.name}:(\d+)", report["message"])
            named.setdefault(report["kernel"], set()).update({report["line"], *map(int, lines)})
        for pair in re.findall(r"PAIR\((\w+),", text):
            yield pair, True, bool(named.get(f"{pair}<true>", set()) & marks[pair])
            yield f"{pair}, mended", False, f"{pair}<false>" in named


def scor(checkout, settings, folder):
    """The same of ScoR: race_*.cu and norace_*.cu."""
    sources = sorted(Path(checkout).glob("microbenchmarks/src/*race_*.cu"))
    if not sources:
        raise Missing(f"{checkout} has no microbenchmarks/src/race_*.cu")
    for source in sources:
        program = folder / source.stem
        build(source, program)
        found = any(report["check"] == "race" for report in reports(program, [], settings))
        yield source.stem, source.stem.startswith("race_"), found


def indigo(checkout, settings, folder):
    """The same of Indigo's kernels, on each graph of its folder `input`."""
    root = Path(checkout) / "indigo"
    sources = sorted(root.glob("indigo_sources/*/*.cu"))
    graphs = sorted(root.glob("input/*.egr"))
    if not sources or not graphs:
        raise Missing(f"{root} has no indigo_sources/*/*.cu, or no input/*.egr")
    for source in sources:
        program = folder / source.stem
        build(source, program, f"-I{root}/indigo_include")
        found = any(
            report["check"] == "race"
            for graph in graphs
            for report in reports(program, [graph, *THREADS_AND_BLOCKS], settings)
        )
        yield source.stem, bool(re.search("(atomic|guard|sync)Bug", source.stem)), found
        program.unlink()


def gpuverify(checkout, settings, folder):
    """The same of GPUVerify's CUDA cases; of one that is left out (case, None, why)."""
    cases = list(verifier.cases(Path(checkout)))
    if not cases:
        raise Missing(f"{checkout} has no testsuite/CUDA/.../kernel.cu")
    settings = {"SIMT_TIMEOUT": "5", **settings}
    for number, (case, path) in enumerate(cases):
        source, binary = folder / f"{number}.cu", folder / str(number)
        try:
            is_faulty = verifier.label(case, path.read_text(encoding="utf-8"))
            source.write_text(verifier.program(case, path.resolve()), encoding="utf-8")
            build(source, binary)
        except verifier.LeftOut as reason:
            yield case, None, str(reason)
        except NotBuilt as error:
            yield case, None, f"simt does not build it: {str(error).splitlines()[0]}"
        else:
            found = any(r["check"] != "uninitialized" for r in reports(binary, [], settings))
            yield case, is_faulty, found
            binary.unlink()


def samples(checkout, settings, folder):
    """The same of NVIDIA's samples, each of which has a fault."""
    for name, checks in SAMPLES.items():
        source = Path(checkout) / f"{name}.cu"
        if not source.exists():
            raise Missing(f"{checkout} has no {name}.cu")
        program = folder / source.stem
        build(source, program)
        yield name, True, any(r["check"] in checks for r in reports(program, [], settings))


def summary(results):
    """The table's lines."""
    faulty = [(name, named) for name, is_faulty, named in results if is_faulty]
    right = [(name, named) for name, is_faulty, named in results if is_faulty is False]
    left_out = Counter(reason for _, is_faulty, reason in results if is_faulty is None)
    for reason, count in left_out.items():
        yield f"left out: {count}: {reason}"
    for name, named in faulty:
        if not named:
            yield f"not named: {name}"
    for name, named in right:
        if named:
            yield f"false alarm: {name}"
    found, alarms = (sum(named for _, named in kernels) for kernels in (faulty, right))
    yield f"{found} of {len(faulty)} faulty kernels named, {alarms} of {len(right)} right ones"


ELSEWHERE = {"scor": scor, "indigo": indigo, "gpuverify": gpuverify, "samples": samples}


def count(text):
    if not text.isdigit() or not 1 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError(f"{text}: expected a whole number from 1 to 1000")
    return text


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("suite", choices=["async", "scopes", *ELSEWHERE])
    parser.add_argument("folder", nargs="?", help="of a suite from elsewhere: where it lies")
    parser.add_argument("--orders", type=count, default="8", help="of blocks and warps; default 8")
    parser.add_argument("--volatile", choices=["plain", "relaxed"], help="default: of scor plain")
    args = parser.parse_args()
    if (args.folder is None) != (args.suite not in ELSEWHERE):
        parser.error(f"{', '.join(ELSEWHERE)} need their FOLDER, and no other suite has one")
    kind = args.volatile or ("plain" if args.suite == "scor" else "relaxed")
    settings = {"SIMT_ORDERS": args.orders, "SIMT_VOLATILE": kind}
    with tempfile.TemporaryDirectory() as folder:
        try:
            if args.suite in ELSEWHERE:
                results = list(ELSEWHERE[args.suite](args.folder, settings, Path(folder)))
            else:
                results = list(own(args.suite, settings, Path(folder)))
        except Missing as missing:
            parser.error(str(missing))
        except NotBuilt as error:
            sys.exit(f"{parser.prog}: {error}")
    print("\n".join(summary(results)))


if __name__ == "__main__":
    main()
