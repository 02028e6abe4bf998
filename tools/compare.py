#!/usr/bin/env python3
"""Shows two rungs side by side in the terminal: their kernels, or with --whole their files.

A and B name rungs by as much as is needed to tell them apart: 04/tiled, sgemm/05_tiled, warp_tile,
04_matmul/sgemm/05_tiled.cuh. Under each stands what results/ has measured for it, in the run that
its lesson quotes, and the counts that differ. A kernel that a rung launches and another file holds
is shown under the name of that file; of a rung without device code its functions are shown. Lines
that differ carry a mark between the columns (| changed, < only in A, > only in B) and a colour on a
terminal; a line that differs in the rung's own name alone counts as the same. The width is that of
the terminal, or COLUMNS.
"""

import difflib
import os
import re
import shutil
import sys
from pathlib import Path

import cli
import cpp_names
import counts
import cpp_source
import results
from definitions import DEFINITION, Definitions
from include_graph import RUNG, Graph, source_files
from result_table import counters_of_one_run, counters_of_row, significant, slug
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


def is_kernel(piece):
    return re.search(r"\b__global__\b", piece.code) is not None


def is_device_code(piece):
    return re.search(r"\b__(?:global|device)__\b", piece.code) is not None


def shown_parts(book, path, with_host):
    """What is shown of a rung, as (file, first line, last line), lines counted from 0: its device
    code, its functions too if they are asked for or it has no device code, and the kernels of
    other files that it launches."""
    kernels = cpp_names.kernels(book.graph.text[path])
    own = [(k.first_line, k.first_line + k.text.count("\n")) for k in kernels]
    if with_host or not own:
        own = [(p.first, p.last) for p in book.of_file[path] if p.kind == DEFINITION]
    launched = [(p.path, p.first, p.last) for p in book.used_by(path) if is_kernel(p)]
    return [(path, first, last) for first, last in own] + launched


def lines_of(text):
    text = cpp_source.whole_text(text)  # without region marks
    return joined_comments([line.rstrip() for line in joined_heads(text)])


def shown_lines(book, path, with_host):
    """The lines of shown_parts(), those of another file under its name."""
    found = []
    for file, first, last in shown_parts(book, path, with_host):
        text = "\n".join(book.graph.text[file].split("\n")[first : last + 1])
        found += [""] if found else []
        found += [] if file == path else [f"[{file}]"]
        found += lines_of(text)
    return found


def only_here(book, path, other):
    """'uses NAME of FILE' for the device code of other files that one rung uses and the other does
    not, PTX instructions apart."""
    others, files = set(book.used_by(other)), {}
    for piece in book.used_by(path):
        if is_device_code(piece) and not is_kernel(piece) and "/ptx/" not in piece.path:
            if piece not in others:
                files.setdefault(piece.path, {}).update(dict.fromkeys(sorted(piece.names)))
    return [f"uses {', '.join(names)} of {file}" for file, names in files.items()]


def keys_of(lines, path, text):
    """What of each line is compared: without gaps, and with the rung's own name taken out. Of a
    line of brackets the gap counts: the end of a function is not the end of a loop."""
    own = RUNG.match(path.rpartition("/")[2]).group(2)
    named = [name for _, name, _ in cpp_names.definitions(text) if own in name]
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, named))})\b") if named else None
    take_out = lambda match: match.group(0).replace(own, "\0")
    key = lambda line: " ".join((pattern.sub(take_out, line) if pattern else line).split())
    return [key(line) if re.search(r"\w", line) else line for line in lines]


def code_of(keys):
    return [code for key in keys if (code := cpp_source.without_comments(key).strip())]


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


# Where a line is broken: at a gap, else behind one of these; none of them is lost to the front.
_GAP = re.compile(r"(?<!//) (?=\S)")
_BREAKS = (re.compile(r"::|[(,/]"), re.compile(r"\."))
# A comment behind code, after strings and characters, in which // is none.
_BEFORE_COMMENT = re.compile(r"""(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])'|(?!//).)*?(?=//)""")


def _cut(text, begin, width):
    """Where to break `text` so that its first piece is at most `width` long."""
    gaps = [m.start() for m in _GAP.finditer(text, begin, width + 1)]
    late = [at for at in gaps if at > width // 3]  # the column is not left empty
    if late:
        return late[-1]
    for pattern in _BREAKS:
        if found := [m.end() for m in pattern.finditer(text, begin, width)]:
            return found[-1]
    return width


def wrapped(text, width):
    """`text` in pieces of at most `width`; what follows is set in a little further, and what goes
    on in a comment is comment too."""
    before = _BEFORE_COMMENT.match(text)
    comment = before.end() if before else len(text)
    indent = len(text) - len(text.lstrip())
    further = " " * min(indent, width // 2) + ("" if comment == indent else "    ")
    pieces = []
    while len(text) > width:
        cut = _cut(text, len(text) - len(text.lstrip()) + 8, width)
        pieces.append(text[:cut].rstrip())
        rest = text[cut:].lstrip()
        if cut > comment:
            text, comment = f"{further}// {rest}", len(further)
        else:
            comment -= len(text) - len(rest) - len(further)
            text = further + rest
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
    """{file: its content} of results/."""
    found = {}
    for file in sorted((root / "results").glob("*.json")):
        try:
            found[file.stem] = results.load(file)
        except (OSError, results.ResultsError) as error:
            print(f"compare.py: {file.name} is left out: {error}", file=sys.stderr)
    return found


_MARK = re.compile(r"<!--\s*(numbers|proof)\s+(.*?)\s*-->")


def quoted_runs(root, chapter):
    """{rung: the run whose numbers stand under it in its lesson}"""
    found = {}
    for page in sorted((root / chapter).glob("*.md")):
        run = None
        for kind, words in _MARK.findall(cli.read_text(page)):
            own = re.search(r"\brun=(\S+)", words)
            if kind == "numbers":
                run = own[1] if own else run
            elif own or run:
                found.setdefault(words.split()[0].rpartition("/")[2], own[1] if own else run)
    return found


def measured(files, path, graph):
    """{(file, run, problem): row} of everything results/ holds about this rung."""
    place, found = graph.place(path), {}
    name_of = lambda rung: slug(RUNG.match(rung.rpartition("/")[2]).group(2))
    name, folder = name_of(path), place.problem.rpartition("/")[2]
    first = lambda words: words.partition("_")[0]
    of_chapter = [graph.place(rung) for rung in graph.rungs()]
    known = {first(p.problem.rpartition("/")[2]) for p in of_chapter if p.chapter == place.chapter}
    namesakes = {graph.place(rung).problem for rung in graph.rungs() if name_of(rung) == name}
    alone = [p for p in namesakes if p.partition("/")[0] == place.chapter] == [place.problem]
    for stem, runs in files.items():
        for label, run in runs.items():
            for row in run["rows"] if label.partition("/")[0] == place.chapter else ():
                # One folder may hold several problems of the report: bf16_gemm and bf16_gemm_nt
                # in bf16, attention_bf16 and attention_fp16 in attention_16bit.
                # A problem that sounds like no folder (gather_gemm, in sharded) is found by a rung
                # whose name no other ladder of the chapter has.
                of_problem = first(row["problem"])
                same = of_problem == first(folder) or (alone and of_problem not in known)
                # A ladder may have its library call as a rung.
                if slug(row["name"]) == name and row.get("kind", "rung") in ("rung", "peer"):
                    if same or place.problem == place.chapter:
                        found[stem, label, row["problem"]] = {**row, "run": run}
    folders = [other.rpartition("/")[2] for other in graph.problems]
    of = lambda row: max((f for f in folders if row["problem"].startswith(f)), key=len, default="")
    near = {key: row for key, row in found.items() if of(row) == folder}
    return near or found


def choose_rows(a, b, quoted=()):
    """A row for each side: of one run and problem where there is one; runs that a lesson quotes
    come first, then default runs."""
    place = lambda label: quoted.index(label) if label in quoted else len(quoted)
    order = lambda key: (place(key[1]), not key[1].endswith("/default"))
    both = sorted((key for key in a if key in b), key=order)
    if both:
        return both[0], both[0]
    return tuple(min(rows, key=order, default=None) for rows in (a, b))


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
        large = (row.get("gflops") or 0) >= 1000
        units = [
            ("median_ms", "ms", 1),
            ("gbps", "GB/s", 1),
            ("gflops", "TFLOP/s", 1e-3) if large else ("gflops", "GFLOP/s", 1),
            ("percent_of_roof", "% of peak", 1),
            ("ratio_to_peer", "of the library's speed", 1),
        ]
        known = [(row.get(name), unit, scale) for name, unit, scale in units]
        text = ", ".join(f"{significant(v * scale)} {unit}" for v, unit, scale in known if v)
    return f"{where}, {label}: {problem}, {sizes}", text


# Counts of tools/profile.py on a GPU, and of simt.
COUNTS = {
    "load_sectors_per_request": "sectors per load",
    "store_sectors_per_request": "sectors per store",
    "shared_load_conflict": "passes per shared load",
    "shared_store_conflict": "passes per shared store",
    "load_sectors": "sectors per load",
    "store_sectors": "sectors per store",
    "conflict": "passes per shared access",
    "active_lanes": "active lanes",
    "divergent_branches": "divergent branches",
    "barriers": "barriers",
    "atomics": "atomics",
    "moved_bytes": "bytes asked for",
    "tensor_operations": "tensor operations",
}


class Counted:
    """What is known of a row's counts."""

    def __init__(self, root, graph, files):
        self.files = files
        self.kept = counts.load(root)
        self.digests = counts.Digests(graph)

    def by_gpu(self, key, row):
        stem, label, _ = key
        of_chapter = self.files[stem].get("counters", {}).get(label.partition("/")[0])
        return counters_of_row(row, counters_of_one_run(of_chapter)) if of_chapter else {}

    def by_simt(self, key, row):
        """Nothing if the row's sources have changed since."""
        chapter, name = key[1].partition("/")[0], f"{row['problem']}/{row['name']}"
        kept = self.kept.get(chapter, {}).get("rows", {}).get(name)
        is_old = kept and self.digests.of_row(chapter, name) != kept["sources"]
        return {} if is_old or not kept else kept["counts"]

    def differing(self, keys, rows):
        """What one of them has counted for both rungs, as far as it differs: a text for each."""
        if None in keys:
            return "", ""
        for by, whose in ((self.by_gpu, ""), (self.by_simt, " by simt")):
            a, b = (by(key, of[key]) for key, of in zip(keys, rows))
            told = [name for name in COUNTS if a.get(name) and b.get(name)]
            differ = [name for name in told if _number(a[name]) != _number(b[name])]
            if told:
                text = lambda of: ", ".join(f"{COUNTS[n]} {_number(of[n])}" for n in differ)
                return tuple(f"counted{whose}: {text(of)}" if differ else "" for of in (a, b))
        return "", ""


def _number(value):
    return f"{value:,}" if float(value).is_integer() and value > 99 else significant(value)


def main():
    parser = cli.Parser(__doc__)
    parser.add_root()
    parser.add_argument("--whole", action="store_true", help="show the whole files")
    parser.add_argument("rungs", nargs="*", metavar="RUNG", help="two of them, A and B")
    args = parser.parse_args()
    if len(args.rungs) != 2:
        parser.error("expected two rungs, as in: make compare A=04/tiled B=04/warp_tile")
    root = args.root.resolve()
    graph = Graph(root, source_files(root))
    paths = sorted(graph.rungs())
    a, b = (find_rung(root, paths, name, parser) for name in args.rungs)
    book = Definitions(graph, a, b)
    whole = lambda path: lines_of(graph.text[path])
    kernels = lambda path: shown_lines(book, path, with_host=False)
    functions = lambda path: shown_lines(book, path, with_host=True)
    try:
        # Of rungs with the same kernels, the functions tell what differs.
        for view in (whole,) if args.whole else (kernels, functions):
            lines = [view(path) for path in (a, b)]
            keys = [keys_of(own, path, graph.text[path]) for own, path in zip(lines, (a, b))]
            if code_of(keys[0]) != code_of(keys[1]):
                break
    except cpp_source.SourceError as error:
        parser.error(f"{a} or {b}: {error}")
    width = shutil.get_terminal_size((160, 24)).columns
    screen = Screen(width, cli.sees(sys.stdout) and not os.environ.get("NO_COLOR"))
    files = all_results(root)
    runs = {stem: data["runs"] for stem, data in files.items()}
    found = [measured(runs, path, graph) for path in (a, b)]
    places = [graph.place(path) for path in (b, a)]
    names = [RUNG.match(path.rpartition("/")[2]).group(2) for path in (b, a)]
    quoted = [quoted_runs(root, p.chapter).get(name) for p, name in zip(places, names)]
    chosen = choose_rows(*found, [run for run in quoted if run])
    screen.show(a, " ", b)
    for left, right in zip(*(described(k, r) for k, r in zip(chosen, found))):
        screen.show(left, " ", right)
    told = Counted(root, graph, files).differing(chosen, found)
    if any(told):
        screen.show(told[0], " ", told[1])
    screen.rule()
    for row in rows(*lines, *keys):
        screen.show(*row)
    if not args.whole:
        for mark, at, path, other in (("<", 0, a, b), (">", 1, b, a)):
            for text in only_here(book, path, other):
                screen.show(*(("", mark, text) if at else (text, mark, "")))


if __name__ == "__main__":
    cli.run(main, when_cut_off=0)  # make compare ... | head
