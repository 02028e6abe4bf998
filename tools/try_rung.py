#!/usr/bin/env python3
"""Builds and checks one rung: `make try R=01/grid_stride`.

R names a rung by as much as is needed to tell it apart, as `make compare` takes it: 01/grid_stride,
sgemm/05_tiled, warp_tile. Its ladder alone is built, by the make that is given, and runs the rung
small, as the line `counters:` of the chapter's bench.args says, and then at sizes that no tile
divides. Its row stands in the table with what is wrong first. Exit status 0 if it is right, or if
this machine cannot run it, and then the row says why.
"""

import os
import subprocess
import sys
from pathlib import Path

import bench_args
import cli
from compare import find_rung
from include_graph import RUNG, Graph, source_files


def asked(program, option):
    """What it prints, without a word of simt, which would have nothing to check."""
    quiet = {**os.environ, "SIMT_CHECK": "0"}
    return subprocess.run([program, option], stdout=subprocess.PIPE, text=True, env=quiet).stdout


def has_rung(program, name):
    lines = asked(program, "--list").splitlines()
    return any(line.split()[0].endswith(f"/{name}") for line in lines)


def small_arguments(root, chapter, program):
    """Of the line `counters:` what a program with one ladder knows; each option has one value."""
    path = root / chapter / "bench.args"
    given = bench_args.parse(path).get("counters", []) if path.exists() else []
    known = asked(program, "--help").split()
    pairs = zip(given[::2], given[1::2])
    return [word for pair in pairs if pair[0] != "--only" and pair[0] in known for word in pair]


# Options that are sizes of a problem, which may be any number.
SIZES = "--size --m --n --k --nk --rows --cols --columns --particles --signal".split()


def awkward(arguments):
    """The same with sizes that no tile divides: three less, where they are even."""
    words = list(arguments)
    for place in range(1, len(words)):
        if words[place - 1] in SIZES and int(words[place]) > 4 and int(words[place]) % 2 == 0:
            words[place] = str(int(words[place]) - 3)
    return words


def main():
    parser = cli.Parser(__doc__)
    parser.add_root()
    parser.add_argument("--build", type=Path, required=True, help="folder of that make")
    parser.add_argument("--arguments", default="", help="for the program, instead of small sizes")
    parser.add_argument("--rung", default="", metavar="RUNG")
    parser.add_argument("make", nargs="+", metavar="WORD", help="with its arguments, behind --")
    args = parser.parse_args()
    root = args.root.resolve()
    graph = Graph(root, source_files(root))
    if not args.rung:
        parser.error("expected a rung, as in: make try R=01/grid_stride")
    path = find_rung(root, sorted(graph.rungs()), args.rung, parser)
    name, folder = RUNG.match(path.rpartition("/")[2]).group(2), graph.place(path).problem
    # bf16 before fp16 and fp32: it has every rung that they have.
    for ladder in sorted((root / folder).glob("ladder*.cu")):
        if ladder.name == "ladders.cu":
            continue
        program = args.build / folder / ladder.stem
        if subprocess.run([*args.make, program], cwd=root).returncode != 0:
            return 1
        program = (root / program).resolve()
        if has_rung(program, name):
            break
    else:
        print(f"try_rung.py: {path}: no ladder of its folder lists '{name}'", file=sys.stderr)
        return 1
    sizes = args.arguments.split() or small_arguments(root, folder.split("/")[0], program)
    runs = [sizes] if args.arguments or awkward(sizes) == sizes else [sizes, awkward(sizes)]
    for words in runs:
        status = subprocess.run([program, "--verify", "--only", name, *words], cwd=root).returncode
        if status != 0:
            return status
    return 0


if __name__ == "__main__":
    cli.run(main)
