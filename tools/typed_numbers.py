"""Finds measured numbers that were typed into a lesson beside a rung's name, and typed commits.

Looked at is every paragraph under a heading that names a rung (a page's title does not), and every
other one that names a rung in backticks. A comment on the line above a paragraph excuses it, with
the reason:

    <!-- typed: Harris's own numbers, of 2007 -->
"""

import re

import cli

# A number of prose that the results give, <!--= RUNG METRIC -->text<!--/-->.
NUMBER = re.compile(r"<!--=\s*(?P<words>.*?)\s*-->(?P<text>.*?)<!--/-->")
EXCUSE = re.compile(r"^\s*<!--\s*typed:\s*\S.*-->\s*$")
HEADING = re.compile(r"^#{1,6} ")
RUNG_FILE = re.compile(r"^\d\d[a-z]?_(\w+)\.(?:cuh|hpp)$")
ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s")
BLOCK = re.compile(r"^\s*<!--\s+(?P<end>end )?(?:table|grid|proof)\b")
FENCE = re.compile(r"^\s*(`{3,}|~{3,})")
TYPED = re.compile(
    r"(?<![\w.])\d[\d,.]*\s*(?:"
    r"(?:ms|µs|us|[GT]B/s|[GT]FLOP/s)(?![\w/])"
    r"|%\s+(?:of\s+(?:the\s+)?(?:peak|roof|time)|more|less|longer|shorter|faster|slower|behind)"
    r"|times\s+(?:as\s+(?:fast|long|slow)|faster|slower|longer))"
)


# Of 12 digits, as the tools stamp what they record.
COMMIT = re.compile(r"(?<![\w/])(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{12}(?!\w)")


def rung_names(root, chapter=cli.CHAPTERS):
    """The names of all rungs of a chapter, or of every one."""
    found = (RUNG_FILE.match(path.name) for path in root.glob(f"{chapter}/**/[0-9][0-9]*_*"))
    return {match.group(1) for match in found if match}


def _paragraphs(lines):
    """(first line, text, heading, whether excused) of every paragraph and item of prose."""
    heading, start, held, excused = "", 0, [], False
    fence, in_block = None, False
    for number, line in enumerate([*lines, ""], 1):
        mark, block = FENCE.match(line), BLOCK.match(line)
        is_text = not (fence or mark or in_block or block) and line.strip()
        ends = not is_text or HEADING.match(line) or ITEM.match(line) or EXCUSE.match(line)
        if held and ends:
            yield start, "\n".join(held), heading, excused
            held, excused = [], False
        if mark and fence is None:
            fence = mark.group(1)
        elif mark and mark.group(1).startswith(fence) and line.strip() == mark.group(1):
            fence = None
        elif not fence and block:
            in_block = not block.group("end")
        elif is_text and HEADING.match(line):
            heading, excused = line, False
        elif is_text and EXCUSE.match(line):
            excused = True
        elif is_text and not line.lstrip().startswith("|"):
            start = start if held else number
            held.append(line)


def typed_commits(lines):
    """(line, commit) for every commit in prose: it gets old unseen."""
    for first, text, _, excused in _paragraphs(lines):
        for match in COMMIT.finditer("" if excused else text):
            yield first + text[: match.start()].count("\n"), match.group()


def _names_a_rung(text, names):
    return any(span in names for span in re.findall(r"`(?:\w+/)*(\w+)`", text))


def typed_numbers(lines, names):
    """(line, number) for every typed number beside a rung of `names`."""
    for first, text, heading, excused in _paragraphs(lines):
        if excused:
            continue
        words = set() if heading.startswith("# ") else set(re.findall(r"\w+", heading))
        if not (words & names or _names_a_rung(text, names)):
            continue
        prose = NUMBER.sub("#", re.sub(r"`[^`\n]*`", "", text))
        for match in TYPED.finditer(prose):
            yield first + prose[: match.start()].count("\n"), " ".join(match.group().split())
