#!/usr/bin/env python3
"""Records on this GPU when each piece of work begins and ends, into results/<gpu>_timelines.json.

The programs of RUNS say it in their JSON, as `timelines`; the lessons' figures are drawn from that
file (tools/LESSONS.md). Entries are stamped with the commit as those of tools/bench.py are, which
measures how long everything takes and keeps no timelines.
"""

import os
import sys
from pathlib import Path

import bench
import cli
from result_table import slug

# Label of the entry: program in the build folder, and its arguments.
RUNS = {
    "06_atomics_streams/timelines": (
        "06_atomics_streams/ladders",
        ["--only", "pipeline,default_stream"],
    ),
    "07_flash_attention/turns": ("07_flash_attention/study/turns", []),
}


def record(label, args):
    program, arguments = RUNS[label]
    path = args.build / program
    if not os.access(path, os.X_OK):
        raise bench.BenchError(f"{label}: no program {path}; `make timelines` builds it")
    run = bench.run_with_json([str(path), *arguments], label, args.commit)
    if not run.get("timelines"):
        raise bench.BenchError(f"{label}: no GPU took part, nothing to keep")
    kept = args.results / f"{slug(bench.device_name(run))}_timelines.json"
    bench.merge(kept, label.partition("/")[0], [label.partition("/")[2]], {label: run}, None)
    print(f"{label}: {len(run['timelines'])} timelines kept in {kept}")


def main():
    parser = cli.Parser(__doc__)
    parser.add_root()
    parser.add_argument("--build", type=Path, required=True, help="folder with the built programs")
    parser.add_argument("--results", type=Path, help="folder of the files (default: results)")
    parser.add_argument(
        "--allow-dirty",
        action="store_true",
        help="measure sources that no commit holds, and say so",
    )
    args = parser.parse_args()
    args.results = args.results or args.root / "results"
    try:
        args.commit = bench.commit_to_measure(args.root, args.allow_dirty)
        for label in RUNS:
            record(label, args)
    except bench.BenchError as error:
        print(f"timelines.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    cli.run(main)
