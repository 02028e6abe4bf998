#!/usr/bin/env python3
"""Checks what a machine can check about the sources and the lessons.

  format    every C++ and CUDA file is as clang-format 14 leaves it; another version formats some
            lines differently, so what it finds is only a warning, and without one this is skipped
  lessons   quoted code, numbers, tables and links are up to date, and no measured number is typed
            beside a rung (tools/lessons.py --check)
  pages     how long the pages of chapters are (see AIMS)
  arrows    no file includes what it must not know (see ARROWS)
  toolkit   one header alone asks which version of CUDA compiles it (see TOOLKIT)
  indices   a kernel multiplies a block's number in 64 bits (see FEW_BLOCKS)
  formulas  none that a code host shows in another way than the book
  licence   what is meant to be copied out opens with its licence: the chapters in one file, the
            headers of common/kit
  bench     every name in a bench.args is one that a ladder of the chapter knows
  mutants   every mistake that tests/mutants plants still fits its source
  sanitizer each report (results/sanitizer) knows the rungs that there are, and no others
  counts    which rungs have changed since simt's counts of them were kept (results/counters)
  rungs     numbered 01, 02, ... without gaps, each included by the ladder, each opening with a
            comment of 3 to 8 lines; their numbers stand in file names alone, all else says names;
            how long steps are, and how much has to be read for a rung (see AIMS)

--rungs prints what is counted about every rung, or those of one problem (--rungs 04/sgemm): lines
changed from the rung before (own) and lines of the kit's definitions that are new with it (kit),
together its step; what a reader opens to understand it wholly, the rung and every definition that
it uses of other files, transitively: lines (read) in so many files; lines of its longest kernel,
and of comment in it (why); lines of the file. What is above its aim has a !, or in beyond/ a ?.

A definition is new if no main road before has used it, chapter by chapter, and in a chapter in the
order in which its program adds the ladders; a chapter's side roads come after all its main roads.
"""

import re
import shutil
import subprocess
from typing import NamedTuple, Optional

import bench_args
import cli
import counts
import lessons
import markdown_links
import mutate
import results
import sanitizer_report
from check_rungs import (
    check_headings,
    check_kit,
    check_numbers,
    check_order,
    check_rung,
    distribution,
    report,
)
from include_graph import LICENCE, RUNG, TOOLKIT, Graph, source_files
from result_table import slug
from rungs import Counter, ladders, short_name
from exercise import pages as exercise_pages

CLANG_FORMAT_MAJOR = 14  # Debian 12's; Ubuntu 24.04 offers it as clang-format-14

OFF, WARNING, ERROR = "off", "warning", "error"


class Bound(NamedTuple):
    main: Optional[int]  # at most this much on the main road
    on_main: str  # what a breach there is
    beyond: Optional[int]  # and for the rungs in beyond/
    on_beyond: str


# Every number a rung must keep, and what happens if it does not.
BOUNDS = {
    "rungs": Bound(14, ERROR, None, OFF),
    "step": Bound(250, ERROR, 500, ERROR),
    "unsaid": Bound(0, ERROR, 0, ERROR),
    "silent": Bound(0, ERROR, 0, ERROR),
    "lines": Bound(300, ERROR, 300, ERROR),
    "columns": Bound(100, ERROR, None, OFF),  # of Python
    "letters": Bound(400, ERROR, None, OFF),  # of a line of Markdown
    "page": Bound(1500, ERROR, None, OFF),  # of a chapter, in lines
    "gap": Bound(0, ERROR, 0, ERROR),
    "unlisted": Bound(0, ERROR, 0, ERROR),
    "opening": Bound(0, ERROR, 0, ERROR),
    "head": Bound(0, ERROR, 0, ERROR),
}

# What most should keep to. Nothing is bent to these numbers: what is above them is told, no more.
AIMS = {"step": 80, "read": 450, "files": 8, "page": 800}

MUTANTS = ERROR  # a planted mistake (tests/mutants) that no longer fits its source
COUNTS = WARNING  # a rung that has changed since it was counted
SANITIZER = WARNING  # a rung that no checker has looked at since it is there

# Every arrow that must not be, and what one is.
ARROWS = {
    "chapter -> chapter": ERROR,
    "chapter -> simt": ERROR,
    "simt -> chapter": ERROR,
    "common -> chapter": ERROR,
    "rung -> rung": ERROR,
    "kit -> rung": ERROR,
    "rung -> common/bench": ERROR,
    "kit -> common/bench": ERROR,
    "problem -> another problem": ERROR,
    "common/kit -> common/bench": ERROR,
    "bench/harness -> bench/program": ERROR,
}

# Folders and rungs, and the rules that they do not keep yet: there a breach is a warning.
NOT_YET = {"01_vector_add/03_cuda.cuh": {"step"}}  # its timers and checks have grown


# Where a product with a block's number has 32 bits, for there are few blocks.
FEW_BLOCKS = {
    "01_vector_add/first_kernel.cu",
    "02_warp_divergence/study/barrier.cuh",
    "05_reduction/scan/07_registers.cuh",
    "05_reduction/sum/beyond/01_cooperative_groups.cuh",
    "05_reduction/sum/beyond/02_early_ticket.cuh",
    "06_atomics_streams/small_kernels/01_launches.cuh",
    "06_atomics_streams/small_kernels/02_graph.cuh",
    "06_atomics_streams/study/host_threads.cuh",
}


class Findings:
    """Prints findings as they come and counts them."""

    def __init__(self):
        self.count = {ERROR: 0, WARNING: 0}

    def add(self, severity, path, message):
        if severity != OFF:
            self.count[severity] += 1
            print(f"{severity}: {path}: {message}" if path else f"{severity}: {message}")

    @staticmethod
    def most(rule, is_beyond=False):
        return BOUNDS[rule].beyond if is_beyond else BOUNDS[rule].main

    def breach(self, rule, is_beyond, path, message):
        bound = BOUNDS[rule]
        self.against(rule, bound.on_beyond if is_beyond else bound.on_main, path, message)

    def aim(self, what, values, most, unit, severity=WARNING):
        """Prints how these values lie, a warning if some are above the aim."""
        if values:
            is_above = max(values.values()) > most
            self.count[severity] = self.count.get(severity, 0) + is_above
            said = f"{severity}: " if is_above and severity != OFF else ""
            print(said + distribution(what, values, most, unit))

    def against(self, rule, severity, path, message):
        is_known = any(f"{path}/".startswith(f) and rule in of for f, of in NOT_YET.items())
        self.add(WARNING if is_known and severity == ERROR else severity, path, message)


def find_clang_format():
    """(command, major version) of the version the sources go by, else of any, else None."""
    for name in (f"clang-format-{CLANG_FORMAT_MAJOR}", "clang-format"):
        command = shutil.which(name)
        if command:
            text = subprocess.run([command, "--version"], capture_output=True, text=True).stdout
            version = re.search(r"version (\d+)", text)
            return command, int(version.group(1)) if version else 0
    return None


def check_format(root, files, findings):
    found = find_clang_format()
    if found is None:
        print("format: skipped, clang-format is not installed (./setup.sh --dev installs it)")
        return
    command, major = found
    severity = ERROR if major == CLANG_FORMAT_MAJOR else WARNING
    if not files:
        return
    result = subprocess.run(
        [command, "--dry-run", "--Werror", *map(str, files)],
        cwd=root,
        capture_output=True,
        text=True,
    )
    first_lines = {}
    for name, line in re.findall(r"^(.+?):(\d+):\d+: ", result.stderr, re.MULTILINE):
        first_lines.setdefault(name, line)
    if result.returncode != 0 and not first_lines:
        reason = result.stderr.strip() or result.returncode
        findings.add(ERROR, "", f"clang-format failed: {reason}")
    for path in files:
        if str(path) in first_lines:
            line = f"line {first_lines[str(path)]}, "
            message = f"not as clang-format {major} leaves it ({line}`make format` mends it)"
            findings.add(severity, path.relative_to(root), message)


def check_lessons(root, findings):
    for line in (*lessons.findings(root), *exercise_pages.missing(root)):
        findings.add(ERROR, "", line)


def check_bench_args(root, graph, findings):
    for file in sorted(root.glob(f"{cli.CHAPTERS}/bench.args")):
        path = file.relative_to(root)
        try:
            runs = bench_args.parse(file)
        except (OSError, bench_args.ArgumentsError) as error:
            findings.add(ERROR, "", str(error).replace(f"{root}/", ""))
            continue
        for label, arguments in runs.items():
            for name in bench_args.unknown(graph, path.parts[0], arguments):
                findings.add(ERROR, path, f"{label}: no ladder of this chapter has '{name}'")


def check_mutants(root, findings):
    """Whether each planted mistake still fits its source: tools/mutate.py could not plant it."""
    for file in sorted(root.glob("tests/mutants/*.txt")):
        path = file.relative_to(root)
        try:
            for mutant in mutate.read_list(file):
                source = root / mutant.file
                count = cli.read_text(source).count(mutant.old) if source.is_file() else 0
                if count != 1:
                    message = f"'{mutant.title}' fits {mutant.file} {count} times, not once"
                    findings.add(MUTANTS, path, message)
        except mutate.BadList as error:
            findings.add(MUTANTS, path, str(error))


def check_sanitizer(root, graph, findings):
    """Whether the reports of each set of tools know, together, the rungs with kernels that there
    are, and no others. (A damaged one: lessons.)"""
    kernels = {}
    for path in graph.rungs():
        if path.endswith(".cuh"):
            name = RUNG.match(path.rpartition("/")[2]).group(2)
            kernels.setdefault(graph.place(path).chapter, []).append(name)
    by_tools = {}  # several GPUs may have checked a part of the rungs each
    for file in sanitizer_report.paths(root):
        try:
            report = sanitizer_report.load(file)
        except (OSError, results.ResultsError):
            continue
        chapters = {}
        for name, entry in report["problems"].items():
            chapter, _, problem = name.partition("/")
            checked = chapters.setdefault(chapter, [])
            checked += [f"{problem}/{rung}" for rung in entry["rungs"]]
        by_tools.setdefault(tuple(report["tools"]), []).append((file.relative_to(root), chapters))

    def add(path, chapter, what, rungs):
        if rungs:
            message = f"{chapter}: {what}: {', '.join(rungs)} (make sanitize-{chapter[:2]})"
            findings.add(SANITIZER, path, message)

    for reports in by_tools.values():
        for chapter, names in kernels.items():
            having = [(path, of[chapter]) for path, of in reports if chapter in of]
            known = {slug(rung.rpartition("/")[2]) for _, checked in having for rung in checked}
            path = having[0][0] if having else reports[0][0]
            add(path, chapter, "not checked", sorted(set(names) - known))
            for path, checked in having:
                gone = list(bench_args.unknown(graph, chapter, ["--only", ",".join(checked)]))
                add(path, chapter, "no rung", checked and gone)


def check_counts(root, graph, findings):
    """Whether what `make run` shows without a GPU is still counted of these sources."""
    try:
        chapters = counts.load(root)
    except (OSError, results.ResultsError) as error:
        findings.add(ERROR, counts.FILE, str(error))
        return
    for chapter, rows in counts.changed(counts.Digests(graph), chapters).items():
        if rows:
            all_rows, make = len(chapters[chapter]["rows"]), f"make counts-{chapter[:2]}"
            message = f"{chapter}: {len(rows)} of {all_rows} rows changed since counted ({make})"
            findings.add(COUNTS, counts.FILE, message)


def check_toolkit(graph, findings):
    for path, text in sorted(graph.text.items()):
        asked = re.search(r"\b(?:CUDART|CUDA)_VERSION\b", text)
        if asked and path != TOOLKIT and graph.place(path).role != "simt":
            line = text.count("\n", 0, asked.start()) + 1
            message = f"{asked.group()}: only {TOOLKIT} asks which toolkit compiles it"
            findings.add(ERROR, f"{path}:{line}", message)


def check_indices(graph, findings):
    product = re.compile(r"\bblockIdx\.[xyz] \*|\* blockIdx\.[xyz]\b")
    for path, text in sorted(graph.text.items()):
        if path in FEW_BLOCKS or not re.match(r"\d\d_\w+/(?!.*\bexercises/)", path):
            continue
        for line, code in enumerate(text.splitlines(), 1):
            if found := product.search(code.partition("//")[0]):
                message = f"'{found.group()}' has 32 bits: write std::int64_t{{blockIdx.x}}"
                findings.add(ERROR, f"{path}:{line}", message)


def check_formulas(root, findings):
    for path in cli.files_of(root, {".md"}):
        for line, formula, why in markdown_links.spoiled_formulas(cli.read_text(path)):
            findings.add(ERROR, f"{path.relative_to(root)}:{line}", f"{formula}: {why}")


def check_licence(graph, findings):
    for path, text in sorted(graph.text.items()):
        copied = re.match(r"common/kit/|\d\d_\w+/(?!ladders?\b)\w+\.cu$", path)
        if copied and not text.startswith(LICENCE + "\n"):
            findings.add(ERROR, path, f"does not open with '{LICENCE}'")


def check_columns(root, findings):
    for rule, suffix in (("columns", ".py"), ("letters", ".md")):
        most = BOUNDS[rule].main
        for path in cli.files_of(root, {suffix}):
            for number, line in enumerate(cli.read_text(path).splitlines(), 1):
                if len(line) > most:
                    where = f"{path.relative_to(root)}:{number}"
                    findings.breach(rule, False, where, f"{len(line)} {rule} (at most {most})")


def check_pages(root, findings):
    found = {}
    for path in sorted(root.glob(f"{cli.CHAPTERS}/*.md")):
        page = path.relative_to(root)
        lines = found[str(page)] = len(cli.read_text(path).splitlines())
        if lines > BOUNDS["page"].main:
            most = BOUNDS["page"].main
            findings.breach("page", False, page, f"{lines} lines (at most {most})")
    findings.aim("pages", found, AIMS["page"], "lines")


def check_steps(facts, findings):
    """How long the steps of main roads are, and how much is read for a rung there."""
    findings.aim("steps", {name: f.step for name, f in facts.items()}, AIMS["step"], "lines")
    read = {name: f.read for name, f in facts.items()}
    findings.aim("to read for a rung", read, AIMS["read"], "lines", OFF)
    files = {name: f.files for name, f in facts.items()}
    findings.aim("to open for a rung", files, AIMS["files"], "files", OFF)


def main():
    parser = cli.Parser(__doc__)
    parser.add_root()
    parser.add_argument(
        "--rungs",
        nargs="?",
        const="",
        metavar="PROBLEM",
        help="print what is counted, check nothing",
    )
    args = parser.parse_args()
    root = args.root.resolve()
    if not root.is_dir():
        parser.error(f"no folder {root}")
    files = source_files(root)
    graph = Graph(root, files)
    counter = Counter(graph)
    if args.rungs is not None:
        wanted = re.sub(r"^(\d\d)_\w+", r"\1", args.rungs)
        if not report(counter, AIMS, wanted):
            parser.error(f"no problem '{args.rungs}'")
        return 0
    findings = Findings()
    check_format(root, files, findings)
    check_lessons(root, findings)
    for path, why in counter.book.unread.items():
        findings.add(ERROR, path, f"cannot be cut into statements: {why}")
    on_main = {}
    for ladder in ladders(graph):
        check_order(graph, ladder, findings)
        for path, facts in counter.facts(ladder).items():
            check_rung(path, facts, path in ladder.beyond, findings)
            if path in ladder.main:
                on_main[short_name(path)] = facts
    check_steps(on_main, findings)
    check_kit(graph, counter, findings)
    check_headings(root, graph, findings)
    check_numbers(root, graph, findings)
    check_toolkit(graph, findings)
    check_indices(graph, findings)
    check_formulas(root, findings)
    check_licence(graph, findings)
    check_columns(root, findings)
    check_pages(root, findings)
    check_mutants(root, findings)
    check_sanitizer(root, graph, findings)
    check_counts(root, graph, findings)
    check_bench_args(root, graph, findings)
    for rule, path, message in graph.forbidden():
        findings.against(rule, ARROWS[rule], path, message)
    print(f"{findings.count[ERROR]} errors, {findings.count[WARNING]} warnings")
    return 1 if findings.count[ERROR] else 0


if __name__ == "__main__":
    cli.run(main)
