#!/usr/bin/env python3
"""Keeps what simt counts of every rung, and says which of it still holds.

To count, a chapter is built once more, with counters: too much for every `make run`. So
results/counters/simt.json keeps for each rung what one run counted, at the sizes that programs take
by themselves where the CPU runs the kernels, and a digest of the sources that were counted: the
rung and every file of the house that it includes, without comments and blank lines. A rung whose
digest is another one by now has changed since, and its counts are not shown. Nor are those of a
problem whose sizes are others now.

  tools/counts.py                              prints what `make run` shows (as
                                               common/bench/kept_counts.hpp reads it)
  tools/counts.py --record --build build/checked 01
                                               runs programs that count, and keeps what they say
"""

import hashlib
import os
import sys
from os.path import commonprefix
from pathlib import Path

import bench
import cli
import cpp_names
import json_lines
import results
from include_graph import RUNG, Graph, source_files

FILE = "results/counters/simt.json"
LAYOUT = {"chapters": {"sizes": {}, "rows": {}}}


class Digests:
    """Of the sources behind a row, by what a compiler sees of them."""

    def __init__(self, graph):
        self.graph = graph
        self.rungs = [path for path in graph.rungs() if path.endswith(".cuh")]
        self.of_file = {}

    def _file(self, path):
        if path not in self.of_file:
            code = "\n".join(cpp_names.code_lines(self.graph.text[path]))
            self.of_file[path] = hashlib.sha256(code.encode()).hexdigest()
        return self.of_file[path]

    def _rungs(self, chapter, row):
        """The rung of a row. One that serves several problems has the folder of one of them: of two
        rungs with the same name it is the one whose folder begins like the problem."""
        problem, _, name = row.rpartition("/")
        named = {}
        for path in self.rungs:
            place = self.graph.place(path)
            if place.chapter == chapter and RUNG.match(path.rpartition("/")[2])[2] == name:
                alike = len(commonprefix([place.problem.rpartition("/")[2], problem]))
                named.setdefault(alike, []).append(path)
        return named[max(named)] if named else []

    def of_row(self, chapter, row):
        """None if the row has no kernel of a rung."""
        rungs = self._rungs(chapter, row)
        files = set(rungs).union(*map(self.graph.under, rungs))
        every = "".join(sorted(map(self._file, files)))
        return hashlib.sha256(every.encode()).hexdigest()[:16] if rungs else None


def load(root):
    """{chapter: what was counted}; ResultsError if the file is damaged."""
    path = root / FILE
    if not path.exists():
        return {}
    try:
        chapters = results.parse(cli.read_text(path))["chapters"]
        for counted in chapters.values():
            words = [counted[key] for key in ("commit", "date")]
            words += [row["sources"] for row in counted["rows"].values()]
            groups = [row["counts"] for row in counted["rows"].values()]
            for group in [*groups, *counted["sizes"].values()]:
                if not all(isinstance(value, (int, float)) for value in group.values()):
                    raise results.ResultsError("a count or a size is no number")
            if not all(isinstance(word, str) for word in words):
                raise results.ResultsError("a text is missing")
    except (KeyError, TypeError, AttributeError) as error:
        raise results.ResultsError(f"{FILE} holds no counts ({error!r})") from error
    return chapters


def changed(digests, chapters):
    """{chapter: its rows that were counted before their sources changed}"""
    return {
        chapter: [
            row
            for row, kept in counted["rows"].items()
            if digests.of_row(chapter, row) != kept["sources"]
        ]
        for chapter, counted in chapters.items()
    }


def _line(name, figures):
    return " ".join([name, *(f"{key}={value}" for key, value in figures.items())])


def text_for_programs(digests, chapters):
    lines, old = [], changed(digests, chapters)
    for chapter, counted in chapters.items():
        lines.append(f"{chapter}: counted by simt at commit {counted['commit']}")
        lines += [_line(problem, sizes) for problem, sizes in counted["sizes"].items()]
        for row, kept in counted["rows"].items():
            lines.append(_line(row, {} if row in old[chapter] else kept["counts"]))
    return "".join(f"{line}\n" for line in lines)


def count(chapter, build, digests, commit):
    """The entry of one chapter."""
    program = bench.program_of(chapter, build)
    run = bench.run_with_json([str(program), "--verify"], chapter.name, commit)
    rows, sizes = {}, {}
    for row in run["rows"]:
        name = f"{row['problem']}/{row['name']}"
        counts = {key: value for key, value in row.get("counts", {}).items() if value is not None}
        if counts and (digest := digests.of_row(chapter.name, name)):
            rows[name] = {"sources": digest, "counts": counts}
            sizes[row["problem"]] = row["sizes"]
    if not rows:
        raise bench.BenchError(f"{program} counted nothing: no instrumented simt build")
    return {**bench.stamp(commit), "sizes": sizes, "rows": rows}


def record(args, digests):
    commit = bench.commit_of(args.root)
    if why := bench.why_dirty(commit):
        raise bench.BenchError(f"{why}; commit first")
    os.environ.update(SIMT_PROFILE="1", SIMT_PROFILE_JSON=os.devnull)
    for chapter in bench.chapters_named(args.root, args.chapters):
        counted = count(chapter, args.build, digests, commit)
        with cli.alone_in((args.root / FILE).parent):
            chapters = {**load(args.root), chapter.name: counted}
            data = {"schema": 1, "device": "simt", "chapters": dict(sorted(chapters.items()))}
            cli.write_text(args.root / FILE, json_lines.text(data, LAYOUT))
        print(f"{chapter.name}: {len(counted['rows'])} rows kept in {FILE}", flush=True)


def main():
    parser = cli.Parser(__doc__)
    parser.add_root()
    parser.add_argument("--record", action="store_true", help="count anew, and keep it")
    parser.add_argument("--build", type=Path, help="folder with programs that count")
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER", help="01 or 01_vector_add")
    args = parser.parse_args()
    if args.record != bool(args.build) or args.chapters and not args.record:
        parser.error("--record needs --build, and they and chapters go together")
    digests = Digests(Graph(args.root, source_files(args.root)))
    try:
        if args.record:
            record(args, digests)
        else:
            print(text_for_programs(digests, load(args.root)), end="")
    except (results.ResultsError, bench.BenchError) as error:
        print(f"counts.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    cli.run(main)
