"""What make check says about each rung, by the bounds of check.py, and the table of --rungs."""

import re
import statistics
import textwrap

import cli
from include_graph import RUNG
from rungs import LINES_A_COMMENT, LONG_KERNEL, OPENING_LINES, ladders, short_name


def check_order(graph, ladder, findings):
    """Whether the rungs are numbered without gaps and the ladder names them all."""
    if ladder.index is None:
        findings.breach("unlisted", False, ladder.folder, "has rungs but no ladder.cu")
    listed = ladder.listed(graph) if ladder.index else set(ladder.main + ladder.beyond)
    for road in (ladder.main, ladder.beyond):
        is_beyond = road is ladder.beyond
        before = "00"
        for rung in road:
            number = RUNG.match(rung.rpartition("/")[2]).group(1)
            following = f"{int(before[:2]) + 1:02}"
            if number not in (following, _between(before)):
                message = f"should be number {following}: rungs are numbered without gaps"
                findings.breach("gap", is_beyond, rung, message)
            before = number if number[2:] else following
            check_head(rung, graph.text[rung], is_beyond, findings)
            if rung not in listed:
                name = ladder.index.rpartition("/")[2]
                findings.breach("unlisted", is_beyond, rung, f"is not included by {name}")
    if len(ladder.main) > findings.most("rungs"):
        message = f"{len(ladder.main)} rungs on the main road (at most {findings.most('rungs')})"
        findings.breach("rungs", False, ladder.folder, message)


def _between(before):
    """The number of a rung that was inserted behind this one: 05 -> 05b -> 05c."""
    return before[:2] + chr(ord(before[2:] or "a") + 1)


def check_head(rung, text, is_beyond, findings):
    """Whether a rung that opens with a name says that of its file, and no number."""
    name = RUNG.match(rung.rpartition("/")[2]).group(2)
    said = re.match(r"// (\w+): |// (?:Rung|Beyond) \d", text)
    if said and said.group(1) != name:
        findings.breach("head", is_beyond, rung, f"does not open with '// {name}:'")


def check_numbers(root, graph, findings):
    """Whether nobody calls a rung by its number: another one has it when a rung comes between."""
    pages = {p.relative_to(root).as_posix(): p for p in root.glob(f"{cli.CHAPTERS}/**/*.md")}
    texts = {**graph.text, **{name: cli.read_text(path) for name, path in pages.items()}}
    for path, text in sorted(texts.items()):
        for match in re.finditer(r"\b[Rr]ungs?\s+\d+\b", text):
            line = text.count("\n", 0, match.start()) + 1
            said = " ".join(match.group().split())
            findings.breach("head", False, f"{path}:{line}", f"says '{said}': its name is enough")


def check_headings(root, graph, findings):
    """Whether lessons head their sections with names alone: a number is wrong when a rung comes
    between, and the links to the section with it."""
    names = {}
    for rung in graph.rungs():
        name = RUNG.match(rung.rpartition("/")[2]).group(2)
        names.setdefault(rung.split("/")[0], set()).add(name)
    for path in sorted(root.glob(f"{cli.CHAPTERS}/*.md")):
        page = path.relative_to(root)
        for line, text in enumerate(cli.read_text(path).splitlines(), 1):
            if not re.match(r"#+ ", text):
                continue
            for number, name in re.findall(r"(?<!\d, )\b(\d+):? (\w+)", text):
                if name in names.get(page.parts[0], ()):
                    message = f"heads a section '{number} {name}': the name is enough"
                    findings.breach("head", False, f"{page}:{line}", message)


def check_rung(path, facts, is_beyond, findings):
    def above(rule, value, message):
        most = findings.most(rule, is_beyond)
        if value > most:
            findings.breach(rule, is_beyond, path, f"{message} (at most {most})")

    if facts.opening not in OPENING_LINES:
        message = f"opens with {facts.opening} lines of comment instead of 3 to 8"
        findings.breach("opening", is_beyond, path, message)
    above("lines", facts.lines, f"{facts.lines} lines long")
    parts = f"{facts.own} lines changed from the rung before, {facts.kit} of kit new with it"
    above("step", facts.step, f"a step of {facts.step}: {parts}")
    for file in sorted({file for _, file in facts.unsaid}):
        names = ", ".join(name for name, of in facts.unsaid if of == file)
        findings.breach(
            "unsaid", is_beyond, path, f"takes {names} from {file} without including it"
        )
    check_comments(path, facts.silent, is_beyond, findings)


def check_comments(path, silent, is_beyond, findings):
    for name, lines, comments in silent:
        wanted = f"one for {LINES_A_COMMENT} lines from {LONG_KERNEL} lines on"
        message = f"{name} has {lines} lines and {comments} lines of comment ({wanted})"
        findings.breach("silent", is_beyond, path, message)


def check_kit(graph, counter, findings):
    """What rungs stand on is read as they are."""
    for path in sorted(graph.stood_on()):
        if graph.place(path).role in ("kit", "other"):
            check_comments(path, counter.silent(path), False, findings)
            lines = len(graph.text[path].splitlines())
            if lines > findings.most("lines"):
                most = findings.most("lines")
                findings.breach("lines", False, path, f"{lines} lines long (at most {most})")


LONGEST = 10  # how many a distribution names


def distribution(what, values, most, unit):
    """How values lie: their median, what nine of ten keep to, how many are above the aim, the
    longest. values: {name: number}."""
    in_order = sorted(values.values())
    ninth = in_order[-(-9 * len(in_order) // 10) - 1]
    above = sum(value > most for value in in_order)
    longest = sorted(values, key=lambda name: -values[name])[:LONGEST]
    text = f"{what}: median {statistics.median_low(in_order)} {unit}, nine of ten at most {ninth}, "
    text += f"{above} of {len(in_order)} above {most}; longest: "
    text += ", ".join(f"{name} {values[name]}" for name in longest)
    return textwrap.fill(text, 90, subsequent_indent="  ", break_on_hyphens=False)


def report(counter, aims, wanted):
    """Prints the table of every rung whose name begins with `wanted`; whether there was one."""
    columns = ("own", "kit", "step", "read", "files", "kernel", "comments", "lines")
    lines, folders = [], set()
    for ladder in ladders(counter.graph):
        for path, facts in counter.facts(ladder).items():
            name, is_beyond = short_name(path), path in ladder.beyond
            if wanted not in ("", name) and not name.startswith(wanted.rstrip("/") + "/"):
                continue
            folders.add(re.sub(r"^(\d\d)_\w+", r"\1", ladder.folder) + "/")
            cells = [name]
            for column in columns:
                value = getattr(facts, column)
                is_above = column in aims and value > aims[column]
                is_above = is_above or column == "comments" and facts.silent
                mark = " " if not is_above else "?" if is_beyond else "!"
                cells.append(f"{value}{mark}")
            lines.append(cells)
    if not lines:
        return False
    first = "rung"
    if len(folders) == 1:  # what all names have in common stands above them once
        first = folders.pop()
        lines = [[name.removeprefix(first), *cells] for name, *cells in lines]
    titles = [first, *(f"{column} ".replace("comments", "why") for column in columns)]
    widths = [max(len(row[i]) for row in [titles, *lines]) for i in range(len(titles))]
    for row in [titles, *lines]:
        rest = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))
        print(" ".join([row[0].ljust(widths[0]), *rest]).rstrip())
    return True
