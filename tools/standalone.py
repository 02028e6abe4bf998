#!/usr/bin/env python3
"""Writes one .cu that holds a rung and all it needs: `make standalone R=04/tiled`, or the main road
of a ladder: `make standalone C=04/sgemm`.

The file has what the rung uses of other files, each definition by name and nothing more, and a main
that makes data, checks the result against one computed in double, and takes the time. It compiles
alone, with nvcc or simt/nvcc, and needs nothing of this repository. The mains are in
tools/standalone/, one a problem; below stands which problem has which.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import cli
import cpp_source
import definitions
from compare import find_rung
from include_graph import LICENCE, RUNG, Graph, source_files
from rungs import Ladder

MAINS = "tools/standalone"
PLACE = "VARIANTS"  # where the list of rungs goes in a main


class Main(NamedTuple):
    file: str  # in tools/standalone
    values: dict = {}  # of template parameters, and of words of the main in capitals
    returns: str = ""  # what a rung that returns its result is assigned to


SIXTEEN = {"T": "__nv_bfloat16", "kD": "64", "ELEMENT": "__nv_bfloat16", "HEAD_DIM": "64"}
PROBLEMS = {
    "01_vector_add": Main("vector_add.cu"),
    "02_warp_divergence/polar": Main("polar.cu"),
    "02_warp_divergence/branch": Main("branch.cu"),
    "03_coalescing/copy": Main("copy.cu"),
    "03_coalescing/transpose": Main("transpose.cu"),
    "04_matmul/sgemm": Main("sgemm.cu"),
    "04_matmul/bf16": Main("bf16_gemm.cu", {"kTransposedB": "false"}),
    "05_reduction/sum": Main("sum.cu", {"Op": "Op"}, "result[0]"),
    "05_reduction/affine": Main("affine.cu", {}, "result[0]"),
    "05_reduction/scan": Main("scan.cu"),
    "06_atomics_streams/one_cell": Main("one_cell.cu", {}, "total[0]"),
    "06_atomics_streams/float_max": Main("float_max.cu", {}, "largest[0]"),
    "06_atomics_streams/histogram": Main("histogram.cu"),
    "07_flash_attention/softmax": Main("softmax.cu"),
    "07_flash_attention/attention": Main("attention.cu", {"T": "float", "ELEMENT": "float"}),
    "07_flash_attention/attention_16bit": Main("attention.cu", SIXTEEN),
    "07_flash_attention/backward": Main("backward.cu", SIXTEEN),
    "07_flash_attention/decode": Main("decode.cu", SIXTEEN),
}


class StandaloneError(Exception):
    """There is no such file; the message is ready to print."""


# Rungs that no file of their own can hold.
NOT_ALONE = {"padded_copies": "copies matrices for other rungs, and multiplies by one of them"}


class Entry(NamedTuple):
    """The function that runs a rung."""

    namespace: str
    name: str
    result: str  # its type
    template: list  # names of its template parameters that have no default
    parameters: list  # (type, name)


def _split(text):
    """`text` cut at its outer commas."""
    parts, depth = [""], 0
    for c in text:
        depth += {"(": 1, "<": 1, "[": 1, "{": 1, ")": -1, ">": -1, "]": -1, "}": -1}.get(c, 0)
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [" ".join(part.split()) for part in parts if part.strip()]


def entry_of(text, rung):
    """The last host function of a file that is named after its rung."""
    if rung in NOT_ALONE:
        raise StandaloneError(f"'{rung}' {NOT_ALONE[rung]}")
    code, found = cpp_source.code_of(text), None
    for _, _, head, has_body, scope in cpp_source.statements(code, 0, len(code)):
        plain = cpp_source.skip_template(head)
        match = re.match(r"(?:inline\s+)?(.*?)\b(\w+)\s*\((.*)\)\s*$", plain, re.DOTALL)
        if not has_body or not match or re.search(r"\b__(?:global|device)__", plain):
            continue
        result, name, parameters = match.groups()
        if name != rung and not name.endswith(f"_{rung}"):
            continue
        template = re.match(r"\s*template\s*<(.*?)>\s*(?:inline|void|\w)", head, re.DOTALL)
        needed = [p for p in _split(template.group(1)) if "=" not in p] if template else []
        found = Entry(
            "::".join(scope),
            name,
            " ".join(result.split()),
            [p.split()[-1] for p in needed],
            [tuple(p.rsplit(" ", 1)) for p in _split(parameters)],
        )
    if found is None:
        raise StandaloneError(f"no function that runs '{rung}'")
    return found


def call_of(entry, main, text, on_host):
    """The call of a rung, with the variables of `text`, which is a main."""
    arguments = []
    for kind, name in entry.parameters:
        name = name.lstrip("*&")
        bare = name[2:] if name.startswith("h_") else name
        side = "h" if on_host or name.startswith("h_") else "d"
        if re.search(rf"\bArray<[^;]*[ ,]{bare}\(", text):
            array = f"{bare}.{side}()"
            # float2* where the main has floats
            element = re.sub(r"\bconst\b|[*&]", "", kind).strip()
            arguments.append(
                f"reinterpret_cast<{element}*>({array})" if element == "float2" else array
            )
        elif re.search(rf"\b{side}_{name}\b", text):
            arguments.append(f"{side}_{name}")
        elif re.search(rf"\b{name}\b", text):
            arguments.append(name)
        else:
            raise StandaloneError(f"{main.file} has no '{name}' for {entry.name}()")
    missing = [name for name in entry.template if name not in main.values]
    if missing:
        raise StandaloneError(f"no value for {', '.join(missing)} of {entry.name}()")
    values = ", ".join(main.values[name] for name in entry.template)
    call = f"{entry.namespace}::{entry.name}{f'<{values}>' if values else ''}"
    call += f"({', '.join(arguments)})"
    returns_it = entry.result != "void" and "Phases" not in entry.result
    return f"{main.returns} = {call}" if returns_it else call


def main_of(graph, main, rungs):
    """The text of main() for these rungs, which are of one problem."""
    text = graph.text[f"{MAINS}/{main.file}"]
    for word, value in main.values.items():
        if word.isupper() and len(word) > 1:
            text = re.sub(rf"\b{word}\b", value, text)
    lines = []
    for path in rungs:
        name = rung_name(path)
        entry = entry_of(graph.text[path], name)
        # A round trip takes and leaves host arrays, too.
        on_host = path.endswith(".hpp") or any(n[:2] == "h_" for _, n in entry.parameters)
        call = call_of(entry, main, text, on_host)
        lines.append(f'{{"{name}", {"true" if on_host else "false"}, [&] {{ {call}; }}}}')
    return text.replace(PLACE, ",\n                ".join(lines))


def without_includes(text):
    """A file without its includes, but for those under a condition, which stay where they are."""
    kept, depth = [], 0
    for line in text.split("\n"):
        depth += bool(re.match(r"#\s*if", line)) - bool(re.match(r"#\s*endif", line))
        is_include = re.match(r"#\s*(?:include\b|pragma\s+once)", line)
        if not is_include or depth and "<" in line:
            kept.append(line)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip("\n")


def standalone(known, problem, rungs):
    """The whole file: these rungs of a problem, what they use of the `known`, and a main."""
    graph = known.graph
    main = PROBLEMS[problem]
    mains = [f"{MAINS}/frame.cu", f"{MAINS}/{main.file}"]
    pieces = known.used_by(*rungs, *mains)
    parts = [
        LICENCE,
        "\n".join(known.system_includes(pieces, *rungs, *mains)),
        definitions.as_text(pieces).rstrip("\n"),
        *(without_includes(graph.text[path]) for path in rungs),
        without_includes(graph.text[mains[0]]),
        without_includes(main_of(graph, main, rungs)),
    ]
    return cpp_source.whole_text("\n\n".join(parts)) + "\n"


def formatted(text):
    """The text as clang-format sets it, where that is installed."""
    tool = next(filter(None, map(shutil.which, ("clang-format-14", "clang-format"))), None)
    if tool is None:
        return text
    style = f"--style=file:{cli.REPOSITORY}/.clang-format"
    done = subprocess.run([tool, style], input=text, stdout=subprocess.PIPE, text=True)
    return done.stdout if done.returncode == 0 else text


def rung_name(path):
    return RUNG.match(path.rpartition("/")[2]).group(2)


def find_problem(name, parser):
    """The one problem that `name` means: 04/sgemm, sgemm, or 01 where a chapter has one alone."""
    words = name.strip("/").split("/")
    found = []
    for folder in PROBLEMS:
        chapter, *problem = folder.split("/")
        of_chapter = {chapter, chapter[:2], chapter[3:]}
        alone = [word] if (word := words[0]) in (problem or of_chapter) else []
        if words == alone or len(words) == 2 and words[0] in of_chapter and words[1:] == problem:
            found.append(folder)
    if len(found) != 1:
        known = ", ".join(map(short_problem, PROBLEMS))
        near = cli.did_you_mean(name, map(short_problem, PROBLEMS))
        parser.error(f"no ladder '{name}'{near or f'; there are: {known}'}")
    return found[0]


def short_problem(folder):
    chapter, _, problem = folder.partition("/")
    return f"{chapter[:2]}/{problem}" if problem else chapter[:2]


def main():
    parser = cli.Parser(__doc__)
    parser.add_root()
    parser.add_argument("--out", type=Path, required=True, help="folder for the file")
    parser.add_argument("--rung", default="", help="04/tiled: this rung")
    parser.add_argument("--road", default="", help="04/sgemm: the main road of this ladder")
    args = parser.parse_args()
    if bool(args.rung) == bool(args.road):
        parser.error("expected a rung or a ladder: make standalone R=04/tiled, or C=04/sgemm")
    root = args.root.resolve()
    graph = Graph(root, source_files(root))
    if args.rung:
        rungs = [find_rung(root, sorted(graph.rungs()), args.rung, parser)]
        problem, name = graph.place(rungs[0]).problem, rung_name(rungs[0])
        if problem not in PROBLEMS:
            parser.error(f"{short_problem(problem)} has no main in {MAINS}, so '{name}' has none")
    else:
        problem = find_problem(args.road, parser)
        rungs = Ladder(graph, problem).main
        name = problem.rpartition("/")[2]
    path = args.out / f"{name}.cu"
    try:
        text = formatted(standalone(definitions.Definitions(graph), problem, rungs))
    except (StandaloneError, cpp_source.SourceError) as error:
        print(f"standalone.py: {error}", file=sys.stderr)
        return 1
    cli.write_text(path, text)
    lines = text.count("\n")
    print(f"{path}: {lines} lines; build it: nvcc -O3 -std=c++17 -arch=native, or simt/nvcc -O3")
    return 0


if __name__ == "__main__":
    cli.run(main)
