#!/usr/bin/env python3
"""Prints as JSON what the book is made from: the pages, the ladders with their rungs, and what
results/ holds about each rung. The scripts in tools/ know the house; this one only asks them."""

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import cli  # noqa: E402
import outcomes  # noqa: E402
import compare  # noqa: E402
import counts  # noqa: E402
import cpp_names  # noqa: E402
import cpp_source  # noqa: E402
import lessons  # noqa: E402
import results  # noqa: E402
import result_table  # noqa: E402
import standalone  # noqa: E402
from definitions import DEFINITION, Definitions  # noqa: E402
from exercise import catalog, skeleton  # noqa: E402
from exercise import pages as exercise_pages  # noqa: E402
from include_graph import RUNG, Graph, source_files  # noqa: E402
from rungs import ladders  # noqa: E402

NOT_OF_A_ROW = ("run", "phases", "samples")
NOT_OF_A_RUN = ("rows", "sweeps", "timelines")


def pages():
    """The repository's Markdown files, those of the book itself apart."""
    names = [path.relative_to(ROOT).as_posix() for path in lessons.markdown_files(ROOT)]
    return [name for name in names if not name.startswith("book/")]


def code_of(book, path):
    """What make compare shows of a rung, as [first, last] of its own lines, counted from 1, and
    [file, first, last] of the kernels of other files that it launches."""
    try:
        parts = compare.shown_parts(book, path, with_host=False)
    except cpp_source.SourceError:
        return [], []
    own = [[first + 1, last + 1] for file, first, last in parts if file == path]
    return own, [[file, first + 1, last + 1] for file, first, last in parts if file != path]


# By which instructions a kernel does what: CUDA's own functions, and those of common/kit/ptx/.
PTX = "common/kit/ptx/"
DOES = {
    title: re.compile("|".join(names))
    for title, names in {
        "Copies by": [
            r"tensor_(?:load|store)\w*", r"cp_async(?!_(?:wait|commit))\w*", r"bulk_copy\w*",
            r"ldmatrix\w*", r"stmatrix\w*", r"(?:load|store)_matrix_sync", r"cp_reduce\w+",
            r"__pipeline_memcpy_async",
        ],
        "Waits by": [
            r"__sync\w+", r"mbarrier_\w*(?:wait|arrive|expect)\w*", r"\w+_wait_group\w*",
            r"(?:cp_async|griddepcontrol|cluster)_wait\w*", r"cluster_arrive\w*",
            r"__pipeline_wait_prior", r"named_barrier_\w+", r"grid_?sync",
        ],
        "Multiplies by": [r"wgmma(?!_(?:fence|commit|wait))\w*", r"mma_\w+", r"fmaf"],
        "Exchanges by": [
            r"__shfl\w+", r"__ballot\w*", r"__(?:any|all)_sync", r"__match\w+", r"__reduce\w+",
            r"atomic[A-Z]\w*",
        ],
    }.items()
}
# What else tells two rungs apart, as their own files say it.
_VECTOR = r"\b(?:float[24]|double2|u?int[24]|uchar4|half2|__half2|__nv_bfloat162)\b"
_TYPE = r"[A-Za-z_][\w:]*(?:<[^<>;=]*>)?"
_ARRAY = r"\w+(?:\[[^\[\];]*\])+"
_SIDES = rf"{_ARRAY}(?:, {_ARRAY})*"
HOLDS = {
    "In shared memory": re.compile(
        rf"__shared__ (?:(?:alignas|__align__)\([^)]*\) )*(?:typename )?({_TYPE} {_SIDES})"
    ),
    "Arrays of a thread": re.compile(
        rf"^ *(?:const )?((?!return\b|delete\b){_TYPE} {_SIDES})(?= =|;|\{{)"
    ),
    "Words of more than one number": re.compile(f"({_VECTOR})"),
    "Constants": re.compile(r"\b(?!(k\w+) = \w+::\1)(k[A-Z]\w* = [^,;=<?]+)(?=[,;>])"),
    "Work is shared out by": re.compile(r"(<<<.*?>>>|#pragma omp [\w ]*)"),
    "Asks the runtime by": re.compile(
        r"\b((?:cuda|curand|nccl)(?!Get(?:Last)?Error|\w+_t\b)[A-Z]\w+)(?=\()"
    ),
}
OF_KERNELS = ("In shared memory", "Arrays of a thread", "Words of more than one number")


def helpers_of(book, path):
    """{function or type that a rung's kernels may name: instructions that it comes to}, of the
    rung's own file and of those that it stands on."""
    used = book.used_by(path)
    words = {}
    for piece in [*book.of_file[path], *used]:
        is_plain = piece.kind == DEFINITION and not piece.path.startswith(PTX)
        if is_plain and compare.is_device_code(piece) and not compare.is_kernel(piece):
            for name in piece.names:
                words.setdefault(name, set()).update(re.findall(r"[A-Za-z_]\w*", piece.code))

    def under(name, seen):
        found = set()
        for word in words[name] - seen:
            seen.add(word)
            if any(names.fullmatch(word) for names in DOES.values()):
                found.add(word)
            elif word in words:
                found |= under(word, seen)
        return found

    found = {name: sorted(under(name, {name})) for name in sorted(words)}
    return {name: instructions for name, instructions in found.items() if instructions}


def without_comment(line):
    return line.partition("//")[0].rstrip()


def does_of(book, path, text, kernels, launched, graph):
    """{title: {instruction: the first line of the rung's own file where its kernels call it, or
    call what comes to it; 0 if another file does}}."""
    helpers = helpers_of(book, path)
    found = {title: {} for title in DOES}

    def add(name, line):
        for title, names in DOES.items():
            if names.fullmatch(name) and not found[title].get(name):
                found[title][name] = line

    lines = []
    for first, last in kernels:
        lines += enumerate(text.splitlines()[first - 1 : last], first)
    for file, first, last in launched:
        lines += [(0, line) for line in graph.text[file].splitlines()[first - 1 : last]]
    for number, line in lines:
        code = without_comment(line)
        for name in re.findall(r"\w+(?=[<(])", code):
            add(name, number)
        for name in re.findall(r"\w+", code):
            for instruction in helpers.get(name, []):
                add(instruction, number)
    for name in (name for instructions in helpers.values() for name in instructions):
        add(name, 0)
    return found


def holds_of(text, kernels):
    """{title: {what a rung declares, starts or asks for: its first line there}}."""
    found = {title: {} for title in HOLDS}
    inside = {n for first, last in kernels for n in range(first, last + 1)}
    for number, line in enumerate(text.splitlines(), 1):
        for title, pattern in HOLDS.items():
            if title in OF_KERNELS and number not in inside:
                continue
            if title == "Constants" and "constexpr" not in line and "template" not in line:
                continue
            for match in pattern.finditer(without_comment(line)):
                found[title].setdefault(" ".join(match[match.lastindex].split()), number)
    return found


def own_names(path, text):
    """The names in which a rung's file says its own name: they are no change to the next rung."""
    own = RUNG.match(path.rpartition("/")[2]).group(2)
    try:
        return sorted({name for _, name, _ in cpp_names.definitions(text) if own in name})
    except cpp_source.SourceError:
        return []


def kit_under(graph, path):
    """What a rung stands on, as tools/rungs.py counts it."""
    wanted = ("kit", "other", "common/kit")
    return sorted(p for p in graph.under(path) if graph.place(p).role in wanted)


def one_file(book, problem, path):
    """The rung and all that it needs in one text, as `make standalone` writes it; "" if none has
    been made for its ladder, or the rung needs what no single file has."""
    if problem not in standalone.PROBLEMS:
        return ""
    try:
        return standalone.standalone(book, problem, [path])
    except (standalone.StandaloneError, cpp_source.SourceError):
        return ""


def exercises():
    """What a page says of each exercise, by the page of its task."""
    found, kept = {}, outcomes.load()
    for exercise in catalog.all_exercises(ROOT):
        judge, file = exercise.judge(), exercise.author_file
        text = cli.read_text(file)
        tasks = skeleton.tasks(text, file.name)
        found[(exercise.folder / "task.md").relative_to(ROOT).as_posix()] = {
            "id": exercise.id,
            "kind": judge.KIND,
            "minutes": judge.MINUTES,
            "points": sum(part.points for part in judge.POINTS),
            "gpu": exercise_pages.chip(exercise),
            "file": file.name,
            "skeleton": skeleton.skeleton(text, file.name),
            "pick": outcomes.of(exercise, kept.get(exercise.id)),
            "tasks": [{"text": task.text, "hints": task.hints} for task in tasks],
        }
    return found


def as_row(row):
    return {key: value for key, value in row.items() if key not in NOT_OF_A_ROW}


class Recorded:
    """What results/ holds."""

    def __init__(self, graph):
        self.graph = graph
        self.files = {p.stem: results.load(p) for p in sorted((ROOT / "results").glob("*.json"))}
        self.runs = {stem: data["runs"] for stem, data in self.files.items()}
        self.by_simt = counts.load(ROOT)
        self.old = counts.changed(counts.Digests(graph), self.by_simt)

    def rows(self, path):
        """{'file|run|problem': row} of one rung, counters with it."""
        found = {}
        for key, row in compare.measured(self.runs, path, self.graph).items():
            stem, label, _ = key
            chapter = label.partition("/")[0]
            of_chapter = self.files[stem].get("counters", {}).get(chapter, {})
            by_name = {kernel["kernel"]: kernel for kernel in of_chapter.get("kernels", [])}
            counters = result_table.counters_of_row(row, by_name)
            simt = self.counts_of_simt(chapter, f"{row['problem']}/{row['name']}")
            found["|".join(key)] = {**as_row(row), "counters": counters, "simt": simt}
        return found

    def counts_of_simt(self, chapter, row):
        """What simt counted of a row whose sources are still the same."""
        kept = self.by_simt.get(chapter, {}).get("rows", {}).get(row)
        return kept["counts"] if kept and row not in self.old[chapter] else None

    def described(self):
        """The runs without their rows, and every row that is no rung: peers, yardsticks."""
        for stem, runs in self.runs.items():
            for label, run in runs.items():
                facts = {key: value for key, value in run.items() if key not in NOT_OF_A_RUN}
                chapter = label.partition("/")[0]
                of_chapter = self.files[stem].get("counters", {}).get(chapter, {})
                facts["counted_with"] = of_chapter.get("arguments")
                facts["simt_counted_at"] = self.by_simt.get(chapter, {}).get("sizes", {})
                others = [as_row(row) for row in run["rows"] if row.get("kind") != "rung"]
                sweeps = run.get("sweeps") or []
                yield f"{stem}|{label}", {**facts, "others": others, "sweeps": sweeps}


def rung_of(graph, book, recorded, path):
    kernels, launched = code_of(book, path)
    text, place = graph.text[path], graph.place(path)
    number, name = RUNG.match(path.rpartition("/")[2]).groups()
    return {
        "path": path,
        "name": name,
        "number": number.lstrip("0"),
        "beyond": place.role == "beyond",
        "kernels": kernels,
        "launched": launched,
        "does": does_of(book, path, text, kernels, launched, graph),
        "holds": holds_of(text, kernels),
        "own": own_names(path, text),
        "kit": kit_under(graph, path),
        "rows": recorded.rows(path),
    }


_WORDS = r'(?P<words>(?:"[^"]*"\s*)+)'
# The ways in which a ladder says what a rung is: f("tiled", "idea"), name = "tiled"; x.idea =
# "idea", idea = "idea"; ... f("tiled", idea), kIdea = "idea"; ... f("tiled", kIdea).
IDEAS = [
    re.compile(r'"(?P<name>\w+)"(?:,|;\s*\w+\.idea =)\s*' + _WORDS),
    re.compile(r"\bidea = " + _WORDS + r';[^"]*"(?P<name>\w+)",\s*idea\b'),
    re.compile(
        r"\b(?P<at>k\w+) =\s*" + _WORDS + r';.*?"(?P<name>\w+)",\s*(?P=at)\b', re.DOTALL
    ),
]


def ideas(graph, ladder):
    """{rung: idea}, as the ladder says it in one line."""
    texts = [graph.text[p] for p in [ladder.index, *graph.under(ladder.index)] if p]
    found = {}
    for match in (m for text in texts for pattern in IDEAS for m in pattern.finditer(text)):
        idea = "".join(re.findall(r'"([^"]*)"', match["words"]))
        if " " in idea:  # other lists of words are no sentence
            found.setdefault(match["name"], idea)
    return found


def main():
    graph = Graph(ROOT, source_files(ROOT))
    recorded = Recorded(graph)
    book = Definitions(graph)
    problems = []
    for ladder in ladders(graph):
        said = ideas(graph, ladder)
        rungs = [rung_of(graph, book, recorded, path) for path in ladder.main + ladder.beyond]
        for rung in rungs:
            if rung["name"] not in said:
                sys.exit(f"book/model.py: {ladder.index} says no idea of the rung {rung['name']}")
            rung["idea"] = said[rung["name"]]
        chapter = ladder.folder.partition("/")[0]
        for rung in rungs:
            rung["one_file"] = one_file(book, ladder.folder, rung["path"])
        problems.append({"id": ladder.folder, "chapter": chapter, "rungs": rungs})
    # Rungs, what they stand on, and the indexes; what else a page links to, its link brings.
    shown = {p for path in graph.rungs() for p in [path, *graph.under(path)]}
    shown |= {ladder.index for ladder in ladders(graph) if ladder.index}
    model = {
        "pages": pages(),
        "sources": sorted(shown),
        "problems": problems,
        "exercises": exercises(),
        "runs": dict(recorded.described()),
    }
    json.dump(model, sys.stdout, ensure_ascii=False)


if __name__ == "__main__":
    cli.run(main)
