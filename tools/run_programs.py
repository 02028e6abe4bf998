#!/usr/bin/env python3
"""Runs programs of chapters one after the other, and ends with one line over all of them: how many
rows were right, skipped or wrong, and which were wrong. As `make run` does:

  tools/run_programs.py --quick build/01_vector_add/vector_add build/01_vector_add/ladders

A program of ladders tells of each row how it ended. A chapter in one file tells it to the reader,
and here by its exit status alone. Exit status 0 only if nothing was wrong.
"""

import collections
import os
import subprocess
import tempfile
from pathlib import Path

import cli
import results


def rows_of(file):
    """What a program of ladders wrote about its rows; none if it did not come to that."""
    try:
        rows = results.parse(cli.read_text(file))["rows"]
        return [(row["problem"], row["name"], row["status"], row["sizes"]) for row in rows]
    except (OSError, results.ResultsError, KeyError, TypeError):
        return []


class Kept:
    """The counts that programs show beside rows (common/bench/kept_counts.hpp)."""

    def __init__(self, file):
        """file: what KEPT_COUNTS names; none: no counts."""
        lines = cli.read_text(Path(file)).splitlines() if file else []
        named = [line.split() for line in lines if ": " not in line]
        self.figures = {name: figures for name, *figures in named}

    def is_old(self, problem, name, sizes):
        counts = self.figures.get(f"{problem}/{name}")
        at = [f"{key}={size}" for key, size in sizes.items()]
        return counts is not None and (not counts or self.figures.get(problem) != at)


class Summary:
    def __init__(self, kept):
        self.kept = kept
        self.of = collections.Counter()  # rows by status
        self.wrong = []  # their names, and those of programs
        self.old = 0  # rows whose counts are no longer shown
        self.single = collections.Counter()  # chapters in one file, by whether they were right

    def add(self, program, status, rows):
        chapter = program.parent.name
        for problem, name, verdict, sizes in rows:
            self.of[verdict] += 1
            self.old += self.kept.is_old(problem, name, sizes)
            if verdict == "wrong":
                self.wrong.append(f"{chapter}/{problem}/{name}")
        if program.name != "ladders":
            self.single[status == 0] += 1
        told = rows and (status == 0 or any(verdict == "wrong" for _, _, verdict, _ in rows))
        if not told and (status != 0 or program.name == "ladders"):
            self.wrong.append(f"{chapter}/{program.name} (exit status {status})")

    def line(self):
        statuses = ["right", "outside the bound", "skipped", "wrong"]
        shown = [f"{self.of[s]} {s}" for s in statuses if self.of[s] or s != statuses[1]]
        text = f"rows: {', '.join(shown)}"
        if self.single:
            text += f"; chapters in one file: {self.single[True]} of {self.single.total()} right"
        if self.old:
            which = "1 row has" if self.old == 1 else f"{self.old} rows have"
            text += f"; {which} changed since counted (make counts)"
        return text + (f"; wrong: {', '.join(self.wrong)}" if self.wrong else "")


def run(program, quick, folder):
    """The exit status, and what the program said of its rows."""
    command, file = [str(program)], Path(folder, "rows.json")
    file.unlink(missing_ok=True)
    if program.name == "ladders":
        command += [*(["--quick"] if quick else []), "--json", str(file)]
    status = subprocess.run(command).returncode
    return status, rows_of(file)


def main():
    parser = cli.Parser(__doc__)
    parser.add_argument("--quick", action="store_true", help="of ladders, a short look")
    parser.add_argument("programs", nargs="+", type=Path, metavar="PROGRAM")
    args = parser.parse_args()
    summary = Summary(Kept(os.environ.get("KEPT_COUNTS")))
    with tempfile.TemporaryDirectory() as folder:
        for program in args.programs:
            status, rows = run(program, args.quick, folder)
            summary.add(program, status, rows)
    print(f"\n{summary.line()}")
    return 1 if summary.wrong else 0


if __name__ == "__main__":
    cli.run(main)
