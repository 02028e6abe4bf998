#!/usr/bin/env python3
"""Builds and checks one rung: `make try R=01/grid_stride`.

R names a rung by as much as is needed to tell it apart, as `make compare` takes it: 01/grid_stride,
sgemm/05_tiled, warp_tile. The smallest program that has the rung's ladder is built, without
optimizing it, and runs the rung twice, small, as the line `counters:` of the chapter's bench.args
says. Its row stands in the table with what is wrong first. Exit status 0 if it is right, or if this
machine cannot run it, and then the row says why.
"""

import os
import re
import subprocess
import sys
from itertools import zip_longest
from pathlib import Path

import bench_args
import cli
import cpp_source
from compare import find_rung
from include_graph import RUNG, Graph, source_files
from rungs import Ladder

LADDER = re.compile(r"\bbench::Ladder<.*>\s+(\w+)\(")
NAMESPACE = re.compile(r"^namespace ([\w:]+) \{", re.MULTILINE)


class TryError(Exception):
    """There is nothing to run; the message is ready to print."""


def ladder_calls(graph, index):
    """'sum::ladder', 'sum::extremum_ladder<sum::Max>': the functions of an index that its chapter's
    program calls, as lists with each function once: in the first list with the template arguments
    of its first call, in the next one with those of its second, for a ladder of another type may
    have rungs that the first one lacks."""
    text = graph.text[index]
    namespace = NAMESPACE.search(text)
    names = "|".join(LADDER.findall(text))
    if not namespace or not names:
        raise TryError(f"{index}: no ladder in it")
    call = re.compile(rf"\b{namespace.group(1)}::({names})(<[^()]*>)?\(")
    chapter, found = index.split("/")[0], {}
    for path in sorted(graph.text):
        if path.count("/") == 1 and path.startswith(f"{chapter}/") and path.endswith(".cu"):
            for name, arguments in call.findall(cpp_source.code_of(graph.text[path])):
                found.setdefault(name, []).append(f"{namespace.group(1)}::{name}{arguments}")
    if not found:
        raise TryError(f"{index}: the chapter's program has no ladder of it")
    return [list(filter(None, calls)) for calls in zip_longest(*found.values())]


def program_of(index, calls):
    """The source of a program with these ladders."""
    return "\n".join(
        [
            f'#include "{index}"',
            '#include "common/bench/program.cuh"',
            "int main(int argc, char** argv) {",
            f'  bench::Program program("{index.split("/")[0]}", "one rung");',
            *(f"  program.add({call}());" for call in calls),
            "  return program.main(argc, argv);",
            "}\n",
        ]
    )


def asked(program, option):
    """What it prints, without a word of simt, which would have nothing to check."""
    quiet = {**os.environ, "SIMT_CHECK": "0"}
    return subprocess.run([program, option], stdout=subprocess.PIPE, text=True, env=quiet).stdout


def has_rung(program, name):
    listed = asked(program, "--list")
    return re.search(rf"^\S+/{name}\s", listed, re.MULTILINE) is not None


def small_arguments(root, chapter, program):
    """Of the line `counters:` what a program with one ladder knows; each option has one value."""
    path = root / chapter / "bench.args"
    given = bench_args.parse(path).get("counters", []) if path.exists() else []
    known = asked(program, "--help")
    pairs = zip(given[::2], given[1::2])
    is_size = lambda option: option != "--only" and re.search(rf"{option}\b", known)
    return [word for pair in pairs if is_size(pair[0]) for word in pair]


def main():
    parser = cli.Parser(__doc__)
    parser.add_root()
    parser.add_argument("--build", type=Path, required=True, help="folder for the program")
    parser.add_argument("--arguments", default="", help="for the program, instead of small sizes")
    parser.add_argument("--rung", default="", metavar="RUNG")
    parser.add_argument("compiler", nargs="+", metavar="WORD", help="with its options, behind --")
    args = parser.parse_args()
    root = args.root.resolve()
    graph = Graph(root, source_files(root))
    if not args.rung:
        parser.error("expected a rung, as in: make try R=01/grid_stride")
    path = find_rung(root, sorted(graph.rungs()), args.rung, parser)
    chapter, name = path.split("/")[0], RUNG.match(path.rpartition("/")[2]).group(2)
    try:
        index = Ladder(graph, graph.place(path).problem).index
        if index is None:
            raise TryError(f"{path}: its folder has no ladder.cuh")
        source = args.build / Path(path).parent / f"{name}.cu"
        program = source.with_suffix("").resolve()
        for calls in ladder_calls(graph, index):
            cli.write_text(source, program_of(index, calls))
            if subprocess.run([*args.compiler, source, "-o", program], cwd=root).returncode != 0:
                return 1
            if has_rung(program, name):
                break
        else:
            raise TryError(f"{path}: {index} does not list '{name}'")
        sizes = args.arguments.split() or small_arguments(root, chapter, program)
    except (TryError, bench_args.ArgumentsError, cpp_source.SourceError) as error:
        print(f"try_rung.py: {error}", file=sys.stderr)
        return 1
    return subprocess.run([program, "--verify", "--only", name, *sizes], cwd=root).returncode


if __name__ == "__main__":
    cli.run(main)
