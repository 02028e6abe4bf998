#!/usr/bin/env python3
"""Runs the suite on a GPU: what comes out, and what compute-sanitizer says.

Needs a Hopper GPU (sm_90), nvcc and compute-sanitizer. Run from anywhere:
  on_gpu.py           builds, runs, writes on_gpu.json and README.md's table
  on_gpu.py --table   writes the table again

Each kernel runs 10 times by itself, and once under each of memcheck, racecheck
and synccheck; a run that has not ended after 6 s hangs. A tool has found a
pair if it names one of its lines ("line"), or at least says that something is
wrong ("other": another line, or none).
"""

import concurrent.futures
import csv
import datetime
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

SUITE = pathlib.Path(__file__).resolve().parent
RECORD = SUITE / "on_gpu.json"
README = SUITE / "README.md"
TOOLS = ("memcheck", "racecheck", "synccheck")
RUNS = 10
SECONDS = 6  # after which a run hangs
BEGIN, END = "<!-- on_gpu.py -->\n", "<!-- end of on_gpu.py -->\n"


def labels():
    with open(SUITE / "labels.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def output_of(*command):
    """What it printed and its status; None instead of that if it hangs."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        start_new_session=True)
    try:
        return process.communicate(timeout=SECONDS)[0], process.returncode
    except subprocess.TimeoutExpired:
        # With what it started: a tool that is ended alone leaves the kernel running.
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()[0], None


def plain_result(program, pair, kind):
    """'right', 'hangs', the name of an error, or in how many of the runs results were wrong."""
    wrong = 0
    for _ in range(RUNS):
        text, status = output_of(program, pair, kind)
        if status is None:
            return "hangs"
        result = re.search(rf"^{pair} {kind}: (.*)$", text, re.M)
        if status != 0 or result is None:
            sys.exit(f"on_gpu.py: {pair} {kind}: {text}")
        if result[1].startswith("cudaError"):
            return result[1]
        wrong += result[1] != "right"
    return f"wrong in {wrong} of {RUNS}" if wrong else "right"


def verdict(tool, program, source, row, kind):
    text, status = output_of("compute-sanitizer", "--tool", tool, program, row["pair"], kind)
    named = {int(line) for line in re.findall(rf"{source}\.cu:(\d+)", text)}
    if named & {int(line) for line in row["lines"].split()} and "========= " in text:
        return "line"
    summary = re.search(r"SUMMARY: (\d+)", text)
    if summary and int(summary[1]) > 0:
        return "other"
    if status is None:
        return "hangs"
    if summary is None:
        sys.exit(f"on_gpu.py: {tool} did not finish: {text}")
    return "silent"


def measured():
    ask = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    device = subprocess.run(ask, capture_output=True, text=True, check=True).stdout.split("\n")[0]
    version = subprocess.run(["nvcc", "--version"], capture_output=True, text=True, check=True)
    toolkit = re.search(r"release ([\d.]+)", version.stdout)[1]
    with tempfile.TemporaryDirectory() as folder:
        builds = {}
        for source in sorted({row["program"] for row in labels()}):
            program = pathlib.Path(folder) / source
            command = ["nvcc", "-O1", "-std=c++17", "-lineinfo",
                       "-gencode=arch=compute_90a,code=sm_90a",
                       SUITE / f"{source}.cu", "-o", program]
            builds[source] = program, subprocess.Popen(command)
        if any(build.wait() != 0 for _, build in builds.values()):
            sys.exit("on_gpu.py: nvcc failed")

        def examine(row, kind):
            source = row["program"]
            program = builds[source][0]
            return {"result": plain_result(program, row["pair"], kind),
                    **{tool: verdict(tool, program, source, row, kind) for tool in TOOLS}}

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            jobs = {(row["pair"], kind): pool.submit(examine, row, kind)
                    for row in labels() for kind in ("faulty", "mended")}
            pairs = {pair: {} for pair, _ in jobs}
            for (pair, kind), job in jobs.items():
                pairs[pair][kind] = job.result()
                print(pair, kind, pairs[pair][kind], flush=True)
    return {"device": device, "toolkit": toolkit, "date": datetime.date.today().isoformat(),
            "runs": RUNS, "pairs": pairs}


def table(record):
    """The README's part, from what was recorded."""
    pairs = record["pairs"]
    lines = ["| pair | simt | on the GPU | memcheck | racecheck | synccheck |",
             "|---|---|---|---|---|---|"]
    for row in labels():
        one = pairs[row["pair"]]["faulty"]
        cells = [f"`{row['pair']}`", "line", one["result"], *(one[tool] for tool in TOOLS)]
        lines.append("| " + " | ".join(cells) + " |")
    count = lambda tool, *words: sum(pair["faulty"][tool] in words for pair in pairs.values())
    shown = sum(pair["faulty"]["result"] != "right" for pair in pairs.values())
    lines.append(f"| named at its line | {len(pairs)} of {len(pairs)} | shows in {shown} | "
                 + " | ".join(str(count(tool, "line")) for tool in TOOLS) + " |")
    false_alarms = [sum(pair["mended"][tool] != "silent" for pair in pairs.values())
                    for tool in TOOLS]
    wrong = sum(pair["mended"]["result"] != "right" for pair in pairs.values())
    lines.append(f"| mended kernels reported | 0 | not right: {wrong} | "
                 + " | ".join(map(str, false_alarms)) + " |")
    lines += ["", f"*{record['device']}, CUDA {record['toolkit']}, {record['date']}: "
              f"`on_gpu.py`, {record['runs']} runs of each kernel*"]
    return "\n".join(lines) + "\n"


def main():
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__.strip())
        return 0
    if sys.argv[1:] not in ([], ["--table"]):
        print("usage: on_gpu.py [--table]", file=sys.stderr)
        return 2
    if not sys.argv[1:]:
        missing = [name for name in ("nvidia-smi", "nvcc", "compute-sanitizer")
                   if shutil.which(name) is None]
        if missing:
            print(f"on_gpu.py: {missing[0]} is not on PATH", file=sys.stderr)
            return 1
        record = measured()
        RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    text = README.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    README.write_text(before + BEGIN + table(record) + END + rest.split(END)[1], encoding="utf-8")
    print(table(record))
    return 0


if __name__ == "__main__":
    sys.exit(main())
