#!/usr/bin/env python3
"""Shows two rungs side by side in the terminal.

A and B name rungs by as much as is needed to tell them apart: 04/tiled, sgemm/05_tiled, warp_tile,
04_matmul/sgemm/05_tiled.cuh. Under each stands what results/ has measured for it. Lines that differ
carry a mark between the columns (| changed, < only in A, > only in B) and a colour on a terminal; a
line that differs in the rung's own name alone counts as the same. The width is that of the
terminal, or COLUMNS.
"""

import difflib
import os
import re
import shutil
import sys
from pathlib import Path

import cli
import cpp_names
import cpp_source
import results
from include_graph import RUNG, Graph, source_files
from result_table import significant, slug
from rungs import short_name

COLOURS = {"|": "\033[33m", "<": "\033[31m", ">": "\033[32m"}
RESET = "\033[0m"
NARROWEST = 40
# Two lines are one line changed if they share this much of their words.
ALIKE = 0.5


def parts_of(path):
    """What each folder of a rung, and its file, may be called in a name."""
    *folders, file = path.split("/")
    number, name = RUNG.match(file).groups()
    stem = file.rpartition(".")[0]
    chapter = {folders[0], folders[0][:2], folders[0][3:]}
    return [chapter, *({folder} for folder in folders[1:]), {file, stem, name, number}]


def fits(wanted, path):
    """Whether the words of a name are parts of `path`, in this order and with its file last."""
    parts = parts_of(path)
    if wanted[-1] not in parts.pop():
        return False
    left = iter(parts)
    return all(any(word in part for part in left) for word in wanted[:-1])


def find_rung(root, paths, name, parser):
    """The one rung that `name` fits."""
    if Path(name).is_absolute() and Path(name).is_relative_to(root):
        name = str(Path(name).relative_to(root))
    words = [word for word in Path(os.path.normpath(name)).parts if word not in ("/", ".")]
    found = [path for path in paths if words and fits(words, path)]
    # 04/sgemm/tiled is that rung, though 04/sgemm/beyond/tiled has these words too.
    exact = [path for path in found if len(parts_of(path)) == len(words)]
    if len(found) > 1 and len(exact) == 1:
        found = exact
    if len(found) > 1:
        parser.error(f"'{name}' names several rungs: {', '.join(map(short_name, found))}")
    if not found:
        alike = lambda path: difflib.SequenceMatcher(None, name, short_name(path)).ratio()
        near = sorted(paths, key=alike, reverse=True)[:3]
        parser.error(f"no rung '{name}'; near: {' '.join(map(short_name, near)) or 'none'}")
    return found[0]


def joined_heads(text):
    """The lines of `text`, each function's head in one: names of different lengths break it at
    different places."""
    code, lines = cpp_source.code_of(text), text.expandtabs(2).split("\n")
    line_of = lambda position: text.count("\n", 0, position)
    for start, _, head, has_body, _ in cpp_source.statements(code, 0, len(code)):
        first, last = line_of(start), line_of(start + len(head))
        if not has_body or "(" not in head or last == first or "=" in head.partition("(")[0]:
            continue
        # The template line stays a line of its own.
        while first < last and re.match(r"\s*template\s*<.*>\s*$", lines[first]):
            first += 1
        lines[first] = " ".join(
            [lines[first], *(line.strip() for line in lines[first + 1 : last + 1])]
        )
        lines[first + 1 : last + 1] = [None] * (last - first)
    return [line for line in lines if line is not None]


def joined_comments(lines):
    """`lines` with each paragraph of comment in one: it is wrapped anew to the column's width."""
    out = []
    for line in lines:
        goes_on = re.match(r"(\s*//) (?=\S)", line)
        before = re.match(r"(\s*//) (?=\S)", out[-1]) if out else None
        if goes_on and before and goes_on.group(1) == before.group(1):
            out[-1] += line[goes_on.end() - 1 :]
        else:
            out.append(line)
    return out


def lines_of(text, kernels_only):
    if kernels_only:
        text = "\n\n".join(kernel.text for kernel in cpp_names.kernels(text))
    return joined_comments([line.rstrip() for line in joined_heads(text.rstrip("\n"))])


def keys_of(lines, path, text):
    """What of each line is compared: without gaps, and with the rung's own name taken out."""
    own = RUNG.match(path.rpartition("/")[2]).group(2)
    named = [name for _, name, _ in cpp_names.definitions(text) if own in name]
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, named))})\b") if named else None
    take_out = lambda match: match.group(0).replace(own, "\0")
    return [" ".join((pattern.sub(take_out, line) if pattern else line).split()) for line in lines]


def likeness(a, b):
    """How much of two lines' words is the same, from 0 to 1; two comments are always alike."""
    if a.startswith("//") and b.startswith("//"):
        return 1
    a, b = (re.findall(r"\w+|[^\w\s]", line) for line in (a, b))
    if not a or not b:
        return 0
    common = sum(min(a.count(word), b.count(word)) for word in set(a))
    return 2 * common / (len(a) + len(b))


def paired(old, new):
    """Pairs (i, j) of changed lines that belong together, in order; the best by what is alike."""
    alike = [[likeness(a, b) for b in new] for a in old]
    best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i in range(len(old) - 1, -1, -1):
        for j in range(len(new) - 1, -1, -1):
            both = alike[i][j] + best[i + 1][j + 1] if alike[i][j] >= ALIKE else 0
            best[i][j] = max(both, best[i + 1][j], best[i][j + 1])
    i = j = 0
    while i < len(old) and j < len(new):
        if alike[i][j] >= ALIKE and best[i][j] == alike[i][j] + best[i + 1][j + 1]:
            yield i, j
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1


def rows(a, b, keys_a, keys_b):
    """(line of a, mark, line of b) from top to bottom."""
    matcher = difflib.SequenceMatcher(None, keys_a, keys_b, autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            yield from ((a[i], " ", b[j]) for i, j in zip(range(i1, i2), range(j1, j2)))
            continue
        i, j = i1, j1
        pairs = [(i1 + p, j1 + q) for p, q in paired(keys_a[i1:i2], keys_b[j1:j2])]
        for to_i, to_j in [*pairs, (i2, j2)]:
            yield from ((line, "<", "") for line in a[i:to_i])
            yield from (("", ">", line) for line in b[j:to_j])
            if (to_i, to_j) != (i2, j2):
                yield a[to_i], "|", b[to_j]
            i, j = to_i + 1, to_j + 1


def wrapped(text, width):
    """`text` in pieces of at most `width`, cut at a gap where there is one; what follows is set in
    a little further or is comment too."""
    pieces, indent = [], len(text) - len(text.lstrip())
    is_comment = text.lstrip().startswith("// ")
    further = " " * min(indent, width // 2) + ("// " if is_comment else "    ")
    while len(text) > width:
        begin = len(text) - len(text.lstrip())
        cut = text.rfind(" ", begin + 8, width + 1)
        cut = cut if cut > 0 else text.rfind("/", begin + 8, width) + 1 or width
        pieces.append(text[:cut].rstrip())
        text = further + text[cut:].lstrip()
    return [*pieces, text]


class Screen:
    """Prints two columns."""

    def __init__(self, width, has_colour):
        self.half = (max(width, NARROWEST) - 3) // 2
        self.has_colour = has_colour

    def show(self, left, mark, right):
        left, right = wrapped(left, self.half), wrapped(right, self.half)
        for i in range(max(len(left), len(right))):
            at = lambda side: side[i] if i < len(side) else ""
            line = f"{at(left):<{self.half}} {mark} {at(right)}".rstrip()
            print(f"{COLOURS[mark]}{line}{RESET}" if self.has_colour and mark != " " else line)

    def rule(self):
        self.show("-" * self.half, " ", "-" * self.half)


def all_results(root):
    """{file: its runs} of results/."""
    found = {}
    for file in sorted((root / "results").glob("*.json")):
        try:
            found[file.stem] = results.load(file)["runs"]
        except (OSError, results.ResultsError) as error:
            print(f"compare.py: {file.name} is left out: {error}", file=sys.stderr)
    return found


def measured(files, path, graph):
    """{(file, run, problem): row} of everything results/ holds about this rung."""
    place, found = graph.place(path), {}
    name = slug(RUNG.match(path.rpartition("/")[2]).group(2))
    folder = place.problem.rpartition("/")[2]
    for stem, runs in files.items():
        for label, run in runs.items():
            for row in run["rows"] if label.partition("/")[0] == place.chapter else ():
                # One folder may hold several problems of the report: bf16_gemm and bf16_gemm_nt
                # in bf16, attention_bf16 and attention_fp16 in attention_16bit.
                same = row["problem"].partition("_")[0] == folder.partition("_")[0]
                if slug(row["name"]) == name and row.get("kind", "rung") == "rung":
                    if same or place.problem == place.chapter:
                        found[stem, label, row["problem"]] = {**row, "run": run}
    folders = [other.rpartition("/")[2] for other in graph.problems]
    of = lambda row: max((f for f in folders if row["problem"].startswith(f)), key=len, default="")
    near = {key: row for key, row in found.items() if of(row) == folder}
    return near or found


def choose_rows(a, b):
    """A row for each side: of one run and problem where there is one, default runs first."""
    order = lambda key: (not key[1].endswith("/default"), list(a).index(key) if key in a else 0)
    both = sorted(a.keys() & b.keys(), key=order)
    if both:
        return both[0], both[0]
    return tuple(
        min(rows, key=lambda k: not k[1].endswith("/default"), default=None) for rows in (a, b)
    )


def described(key, rows):
    """Two lines about one row."""
    if key is None:
        return "not measured in results/", ""
    row, (_, label, problem) = rows[key], key
    device = row["run"].get("device") or row["run"].get("cpu") or {}
    where = device.get("name") or device.get("model") or "unknown machine"
    sizes = ", ".join(f"{name} = {value:,}" for name, value in row.get("sizes", {}).items())
    if row.get("median_ms") is None:
        text = f"{row.get('status', 'not timed')}: {row.get('reason') or 'no time'}"
    else:
        units = [
            ("median_ms", "ms", 1),
            ("gbps", "GB/s", 1),
            ("gflops", "TFLOP/s", 1e-3),
            ("percent_of_roof", "% of peak", 1),
            ("ratio_to_peer", "of the library's speed", 1),
        ]
        known = [(row.get(name), unit, scale) for name, unit, scale in units]
        text = ", ".join(f"{significant(v * scale)} {unit}" for v, unit, scale in known if v)
    return f"{where}, {label}: {problem}, {sizes}", text


def main():
    parser = cli.Parser(__doc__)
    parser.add_root()
    parser.add_argument("--kernels", action="store_true", help="show the device code alone")
    parser.add_argument("rungs", nargs="*", metavar="RUNG", help="two of them, A and B")
    args = parser.parse_args()
    if len(args.rungs) != 2:
        parser.error("expected two rungs, as in: make compare A=04/tiled B=04/warp_tile")
    root = args.root.resolve()
    graph = Graph(root, source_files(root))
    paths = sorted(graph.rungs())
    a, b = (find_rung(root, paths, name, parser) for name in args.rungs)
    try:
        lines = [lines_of(graph.text[path], args.kernels) for path in (a, b)]
        keys = [keys_of(own, path, graph.text[path]) for own, path in zip(lines, (a, b))]
    except cpp_source.SourceError as error:
        parser.error(f"{a} or {b}: {error}")
    width = shutil.get_terminal_size((160, 24)).columns
    screen = Screen(width, sys.stdout.isatty() and not os.environ.get("NO_COLOR"))
    files = all_results(root)
    found = [measured(files, path, graph) for path in (a, b)]
    screen.show(a, " ", b)
    for left, right in zip(*(described(k, r) for k, r in zip(choose_rows(*found), found))):
        screen.show(left, " ", right)
    screen.rule()
    if args.kernels and not any(lines[0] + lines[1]):
        print("neither has device code")
    for row in rows(*lines, *keys):
        screen.show(*row)


if __name__ == "__main__":
    cli.run(main)
