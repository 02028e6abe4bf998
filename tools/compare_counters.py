#!/usr/bin/env python3
"""Compares the counters of a GPU (Nsight Compute) with those of simt, kernel by kernel.

  export SIMT_THREADS=1
  tools/profile.py --backend simt --json counts.json build/checked/05_reduction/ladders --n 262144
  tools/compare_counters.py results/nvidia_h200.json counts.json

The GPU's are in a results file, where `make bench` put them; simt's in one file a program, which
must have run with the same arguments. Prints a line for each counter: how many values, how many of
them equal; the same for the values that the GPU found twice, since a thread that waits looks as
often as it has time to; then each value that differs. Equal is what differs by at most 2 %. With
one worker simt counts the same in every run. Numbers of barriers and atomics are for 1,000 threads,
because a grid of as many blocks as fit has other sizes in the two.
Divergent branches are left out: nvcc turns short branches into predicated instructions, g++ does
not.
"""

import json
import sys
from pathlib import Path
from typing import NamedTuple

import cli
import profile as profiles

TOLERANCE = 0.02
FOR_1000_THREADS = ("barriers", "atomics")
COUNTERS = (
    "load_sectors_per_request",
    "store_sectors_per_request",
    "shared_load_conflict",
    "shared_store_conflict",
    *FOR_1000_THREADS,
    "lanes_per_access",
    "active_lanes",
)
# Over all instructions, nvcc's and g++'s are not the same ones.
NOT_ALIKE = "active_lanes"


class Pair(NamedTuple):
    """A value of a kernel, as the GPU counts it and as simt does; no counter: simt ran it not."""

    chapter: str
    kernel: str
    counter: str = ""
    gpu: float | None = None
    simt: float | None = None
    varies: bool = False  # on the GPU, from one run to the next

    def equal(self):
        if self.gpu is None or self.simt is None:
            return self.gpu == self.simt
        return abs(self.gpu - self.simt) <= TOLERANCE * max(abs(self.gpu), abs(self.simt))


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
    if value is not None and counter in FOR_1000_THREADS:
        return 1000 * value / kernel["threads"] or None
    return value


def pairs_of(chip, simt, where):
    """A Pair for every value that one of the two has."""
    chapters = {name.partition("_")[2]: name for name in chip.get("counters", {})}
    chapter = chapters.get(simt.get("program"))
    if chapter is None:
        raise CompareError(f"{where}: the results hold no counters of {simt.get('program')}")
    measured = chip["counters"][chapter]
    if measured["arguments"] != simt["arguments"]:
        ran, wanted = simt["arguments"], measured["arguments"]
        raise CompareError(f"{where}: ran with `{ran}`, not `{wanted}`")
    if any("threads" not in kernel for kernel in measured["kernels"]):
        raise CompareError(f"{chapter}: an older tools/profile.py counted it, without its threads")
    of_simt = {kernel["kernel"].rpartition("::")[2]: kernel for kernel in simt["kernels"]}
    for kernel in measured["kernels"]:
        name = kernel["kernel"].rpartition("::")[2]
        if name not in of_simt:
            yield Pair(chapter, name)
            continue
        for counter in COUNTERS:
            values = value_of(kernel, counter), value_of(of_simt[name], counter)
            if values != (None, None):
                yield Pair(chapter, name, counter, *values, counter in kernel["varying"])


def share_equal(pairs):
    good = sum(pair.equal() for pair in pairs)
    return f"{good:4} of {len(pairs):4} equal, {100 * good / max(len(pairs), 1):5.1f} %"


def print_comparison(pairs):
    def line(title, counters):
        chosen = [pair for pair in pairs if pair.counter in counters]
        found_twice = [pair for pair in chosen if not pair.varies]
        print(f"{title:24} {share_equal(chosen)}; found twice: {share_equal(found_twice)}")

    for counter in COUNTERS:
        line(profiles.COLUMNS[counter], (counter,))
    line("all but active lanes", [counter for counter in COUNTERS if counter != NOT_ALIKE])
    line("all", COUNTERS)
    print(f"\n{'what differs':50} {'counter':24} {'GPU':>10} {'simt':>10}")
    for pair in pairs:
        if pair.counter and not pair.equal():
            gpu, simt = (profiles.format_cell(value) for value in (pair.gpu, pair.simt))
            where = f"{pair.chapter[:2]} {pair.kernel:47} {profiles.COLUMNS[pair.counter]:24}"
            print(f"{where} {gpu:>10} {simt:>10}{'  varies' * pair.varies}")
    for pair in pairs:
        if not pair.counter:
            print(f"{pair.chapter[:2]} {pair.kernel:47} not run by simt")


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
