"""What whoever sits at a terminal sees: lines that end at a word, colours, and how far it is."""

import contextlib
import re
import sys
import textwrap
import threading
import time

import cli

COLUMNS = 80
COLOURS = {"red": 31, "green": 32, "yellow": 33}


def painted(text, colour):
    return f"\033[{COLOURS[colour]}m{text}\033[0m" if cli.sees(sys.stdout) else text


def wrapped(text, indent=""):
    """Each line of a text within so many columns; what goes on begins as its line does."""
    lines = []
    for line in text.splitlines():
        more = indent + re.match(r"\s*", line)[0]
        lines += textwrap.wrap(
            line, COLUMNS, initial_indent=indent, subsequent_indent=more + "  ",
            drop_whitespace=True, break_long_words=False, break_on_hyphens=False,
        ) or [""]  # fmt: skip
    return "\n".join(lines)


def page(markdown):
    """A task as it is read on a terminal: paragraphs are set anew, code and tables are not."""
    lines, open_lines, is_fenced = [], [], False
    for line in [*markdown.strip().splitlines(), ""]:
        is_fenced ^= line.startswith("```")
        is_set = is_fenced or line.startswith(("    ", "```", "|", "#")) or not line
        if open_lines and (is_set or re.match(r"[-*] |\d+\. ", line)):
            text = " ".join(each.strip() for each in open_lines)
            more = re.match(r"([-*] |\d+\. )?", text)[0]
            lines += textwrap.wrap(
                text, COLUMNS, subsequent_indent=" " * len(more), break_long_words=False,
                break_on_hyphens=False,
            )  # fmt: skip
            open_lines = []
        if is_set:
            lines.append(line)
        else:
            open_lines.append(line)
    return "\n".join(lines[:-1])


@contextlib.contextmanager
def working(what):
    """Shows on a terminal what takes long, and for how many seconds already. Yields a function that
    takes how far it is. Elsewhere one line on stderr."""
    begin, far, over = time.monotonic(), [""], threading.Event()
    stream = sys.stderr
    if not cli.sees(stream):
        print(f"{what} ...", file=stream, flush=True)
        yield lambda text: None
        return

    def show():
        while not over.wait(0.5):
            line = f"{what}{far[0]}, {time.monotonic() - begin:.0f} s"
            print(f"\r\033[K{line[: COLUMNS - 1]}", end="", file=stream, flush=True)

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield lambda text: far.__setitem__(0, f": {text}")
    finally:
        over.set()
        thread.join()
        clear()


def clear():
    """Takes away what working() shows, for a line that stays."""
    if cli.sees(sys.stderr):
        print("\r\033[K", end="", file=sys.stderr, flush=True)
