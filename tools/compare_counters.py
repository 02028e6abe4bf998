#!/usr/bin/env python3
"""Compares the counters of a GPU (Nsight Compute) with those of simt, kernel by kernel.

  tools/profile.py --backend simt --json counts.json build/checked/05_reduction/reduction --n 262144
  tools/compare_counters.py results/nvidia_h200.json counts.json

The GPU's are in a results file, where `make bench` put them; simt's in one file a program, which
must have run with the same arguments. Prints a line for each counter: how many values, how many of
them equal; then each value that differs. Equal is what differs by at most 2 %. Numbers of barriers
and atomics are for one launch. Divergent branches are left out: nvcc turns short branches into
predicated instructions, g++ does not.
"""

import json
import sys
from pathlib import Path

import cli
import profile as profiles

TOLERANCE = 0.02
FOR_ONE_LAUNCH = ("barriers", "atomics")
COUNTERS = (
    "load_sectors_per_request",
    "store_sectors_per_request",
    "shared_load_conflict",
    "shared_store_conflict",
    "active_lanes",
    *FOR_ONE_LAUNCH,
)


class CompareError(Exception):
    """Nothing to compare; the message is ready to print."""


def read(path):
    try:
        return json.loads(cli.read_text(path))
    except (OSError, ValueError) as error:
        raise CompareError(f"{path}: {error}") from error


def value_of(kernel, counter):
    """The value, or None where nothing was counted."""
    value = kernel.get(counter)
    if value is not None and counter in FOR_ONE_LAUNCH:
        return value / kernel["launches"] or None
    return value


def pairs_of(chip, simt, where):
    """(chapter, kernel, counter, GPU's value, simt's value) of every value that one of them has;
    without a counter, if simt ran no such kernel."""
    chapters = {name.partition("_")[2]: name for name in chip.get("counters", {})}
    chapter = chapters.get(simt.get("program"))
    if chapter is None:
        raise CompareError(f"{where}: the results hold no counters of {simt.get('program')}")
    measured = chip["counters"][chapter]
    if measured["arguments"] != simt["arguments"]:
        ran, wanted = simt["arguments"], measured["arguments"]
        raise CompareError(f"{where}: ran with `{ran}`, not `{wanted}`")
    of_simt = {kernel["kernel"].rpartition("::")[2]: kernel for kernel in simt["kernels"]}
    for kernel in measured["kernels"]:
        name = kernel["kernel"].rpartition("::")[2]
        if name not in of_simt:
            yield chapter, name, None, None, None
            continue
        for counter in COUNTERS:
            values = value_of(kernel, counter), value_of(of_simt[name], counter)
            if values != (None, None):
                yield chapter, name, counter, *values


def equal(one, other):
    if one is None or other is None:
        return one == other
    return abs(one - other) <= TOLERANCE * max(abs(one), abs(other))


def print_comparison(pairs):
    compared = [pair for pair in pairs if pair[2]]
    different = [pair for pair in compared if not equal(*pair[3:])]

    def line(title, counters):
        values = sum(pair[2] in counters for pair in compared)
        good = values - sum(pair[2] in counters for pair in different)
        print(f"{title:24} {good:4} of {values:4} equal, {100 * good / max(values, 1):3.0f} %")

    for counter in COUNTERS:
        line(profiles.COLUMNS[counter], (counter,))
    line("all", COUNTERS)
    print(f"\n{'what differs':50} {'counter':24} {'GPU':>10} {'simt':>10}")
    for chapter, kernel, counter, *values in different:
        gpu, simt = (profiles.format_cell(value) for value in values)
        print(f"{chapter[:2]} {kernel:47} {profiles.COLUMNS[counter]:24} {gpu:>10} {simt:>10}")
    for chapter, kernel, counter, *_ in pairs:
        if counter is None:
            print(f"{chapter[:2]} {kernel:47} not run by simt")


def main():
    parser = cli.Parser(__doc__)
    parser.add_argument("chip", type=Path, metavar="RESULTS", help="results/<gpu>.json")
    parser.add_argument("simt", type=Path, nargs="+", metavar="COUNTS", help="of profile.py --json")
    args = parser.parse_args()
    try:
        chip = read(args.chip)
        pairs = [pair for path in args.simt for pair in pairs_of(chip, read(path), path)]
    except (CompareError, KeyError, TypeError, AttributeError) as error:
        print(f"compare_counters.py: {error}", file=sys.stderr)
        return 1
    print_comparison(pairs)
    return 0


if __name__ == "__main__":
    cli.run(main)
