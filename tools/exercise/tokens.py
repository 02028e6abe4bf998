"""Reads a file as g++ does, token by token, in a time that grows with its length and no faster.

A backslash at the end of a line joins it with the next one; comments are blanks. Where compilers
may differ, or where a rest of a line could be a quote or not, nothing is guessed: such a place is
a token of the kind "odd", and the last one that is read."""

import bisect
import itertools
import re
from dataclasses import dataclass

SPLICE = re.compile(r"\\[ \t\v\f]*\n")
BLANK = r"(?P<blank>[ \t\v\f]+|//[^\n]*|/\*[\s\S]*?\*/)|(?P<end>\n)"
TOKEN = re.compile(
    BLANK
    + r"""
      | (?P<raw>(?:u8|[uUL])?R")
      | (?P<word>[A-Za-z_]\w*)
      | (?P<number>\.?\d(?:[eEpP][+-]|[\w.]|(?<=\w)'\w)*)
      | (?P<quoted>"[^"\\\n]*(?:\\[^\n][^"\\\n]*)*"|'[^'\\\n]*(?:\\[^\n][^'\\\n]*)*')
      | (?P<sign>\#\#|%:|/(?!\*)|[!\#%&()*+,.:;<=>?[\]^{|}~-])""",
    re.ASCII | re.VERBOSE,
)
# Behind #include a quote is none, and /* may be part of a name.
INCLUDES = (["#", "include"], ["#", "include_next"], ["#", "import"])
NAME = re.compile(BLANK + r'|(?P<header><[^>\n]*>|"[^"\n]*")')
NO_MORE = re.compile(BLANK)
ODD = {'"': "a quote without its end", "'": "a quote without its end"}
ODD |= {"/": "a comment without its end", "\0": "bytes that are 0: it must be UTF-8"}
ODD |= {"\r": "the end of a line that is CR alone"}


@dataclass
class Token:
    kind: str  # "blank", "word", "number", "quoted", "raw", "header", "sign", "odd"
    text: str
    line: int  # where it begins


def lines(text):
    """The tokens of each line; a line may go on behind its end, by a backslash or a comment."""
    text = text.replace("\r\n", "\n")
    parts = SPLICE.split(text)
    joins = list(itertools.accumulate(map(len, parts[:-1])))
    text = "".join(parts)
    ends = [found.start() for found in re.finditer("\n", text)]
    line_of = lambda at: 1 + bisect.bisect_left(ends, at) + bisect.bisect_right(joins, at)
    stray = re.search("[\0\r]", text)  # in a comment, too, they may end lines and join them
    if stray:
        yield [Token("odd", ODD[stray[0]], line_of(stray.start()))]
        return
    at, line, plain = 0, [], []  # plain: the first tokens that are no blanks
    while at < len(text):
        is_include = plain[:2] in INCLUDES
        pattern = (NO_MORE if len(plain) > 2 else NAME) if is_include else TOKEN
        found = pattern.match(text, at)
        if not found or found.lastgroup == "number" and text.startswith("'", found.end()):
            says = "more than one name behind #include" if is_include else _odd(text, at)
            yield [*line, Token("odd", says, line_of(at))]
            return
        kind = found.lastgroup
        if kind == "end":
            yield line
            line, plain = [], []
        else:
            line.append(Token(kind, found[0], line_of(at)))
            if kind != "blank" and len(plain) < 3:
                plain.append(found[0])
        at = found.end()
    yield line


def _odd(text, at):
    """What is odd about a place where no token begins."""
    if text[at] in ODD:
        return ODD[text[at]]
    if text[at] in ".0123456789":
        return "a quote right behind a number"
    return f"{ascii(text[at])[1:-1] if not text[at].isprintable() else text[at]} outside of quotes"
