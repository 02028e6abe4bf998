"""Cuts one definition, one region or the whole text out of a C++ or CUDA source file.

Not a C++ parser: comments, strings and preprocessor lines are blanked out, the rest is split into
statements by its brackets, and the statement that defines the wanted name is returned as it stands
in the file, with its template line and the comment directly above it.
"""

import functools
import re
import textwrap


class SourceError(Exception):
    """The file does not hold what was asked for; the message is ready to print."""


# One alternative per thing in which brackets and quotes do not count. A quote between two digits
# is a digit separator (1'000'000), so a number is matched as a whole and left alone.
_SKIP = re.compile(
    r"""(?P<line>//[^\n]*)
      | (?P<block>/\*.*?\*/)
      | (?P<raw>\bR"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)")
      | (?P<string>"(?:[^"\\\n]|\\.)*")
      | (?P<number>\b\d[\w.]*(?:'[\w.]+)*)
      | (?P<char>'(?:[^'\\\n]|\\.)+')""",
    re.VERBOSE | re.DOTALL,
)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
_MARK = re.compile(r"^\s*//\s*(region|endregion)\b[ \t]*(\S*)\s*$")
_RULE = re.compile(r"\s*// -{4}")  # the heading of a part of a file
TYPE = re.compile(r"^(?:typedef\s+)?(?:struct|class|union|enum(?:\s+(?:class|struct))?)\b")
_SCOPE = re.compile(r"^(?:inline\s+)?namespace\b|^extern\s*$")
_OPEN = {"(": ")", "[": "]", "{": "}"}


def _blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


@functools.lru_cache(maxsize=4096)
def without_comments(text):
    keep_code = lambda m: m.group(0) if m.group("number") else _blank(m)
    return _SKIP.sub(keep_code, text)


@functools.lru_cache(maxsize=4096)
def code_of(text):
    """`text` with comments, strings and preprocessor lines blanked: brackets count, lines stay."""
    return DIRECTIVE.sub(_blank, without_comments(text))


def closing(code, start):
    """Index of the bracket that closes the one at `start`."""
    stack = []
    for i in range(start, len(code)):
        c = code[i]
        if c in _OPEN:
            stack.append(_OPEN[c])
        elif c in ")]}":
            if c != stack.pop():
                break
            if not stack:
                return i
    raise SourceError(f"line {code.count(chr(10), 0, start) + 1}: '{code[start]}' is never closed")


def skip_template(head):
    """`head` without its leading `template <...>` clauses."""
    while (m := re.match(r"\s*template\s*<", head)) is not None:
        depth, i = 1, m.end()
        while depth and i < len(head):
            if head[i] == "(":  # a > inside parentheses compares
                i = closing(head, i)
            depth += {"<": 1, ">": -1}.get(head[i], 0)
            i += 1
        head = head[i:]
    return head.strip()


def flat(head):
    """`head` with everything inside round and square brackets blanked out."""
    out, i = [], 0
    while i < len(head):
        if head[i] in "([":
            end = closing(head, i)
            out.append(head[i] + " " * (end - i - 1) + head[end])
            i = end + 1
        else:
            out.append(head[i])
            i += 1
    return "".join(out)


def statements(code, begin, end, scope=()):
    """Yields (start, stop, head, has_body, scope) of each statement; namespaces are entered, and
    `scope` holds their names."""
    i = start = begin
    has_body = False
    while i < end:
        c = code[i]
        if c.isspace() and code[start:i].strip() == "":
            start = i + 1
        elif c == ";":
            yield start, i + 1, code[start:i], has_body, scope
            start, has_body = i + 1, False
        elif c in "([":
            i = closing(code, i)
        elif c == "{":
            close = closing(code, i)
            head = code[start:i]
            plain = skip_template(head)
            if _SCOPE.match(plain):
                inner = scope + tuple(re.findall(r"\w+", _SCOPE.sub("", plain)))
                yield from statements(code, i + 1, close, inner)
                start, has_body = close + 1, False
            else:
                following = code[close + 1 : end].lstrip()[:1]
                # What goes on after a closing brace is a list: `int a{1}, b{2};` or the member
                # initialisers of a constructor. The semicolon after a type is on the same line.
                has_body = True
                if following not in (",", "{"):
                    yield start, close + 1, head, True, scope
                    start, has_body = close + 1, False
            i = close
        elif c in ")]}":
            raise SourceError(f"line {code.count(chr(10), 0, i) + 1}: '{c}' closes nothing")
        i += 1


def _defines(head, has_body, symbol):
    """2: the statement defines `symbol`; 1: it only declares it; 0: neither."""
    plain = skip_template(head)
    name = re.escape(symbol)
    if TYPE.match(plain):
        before_brace = flat(plain).split("{")[0].split(":")[0]
        if re.search(rf"\b{name}\b(?:\s+final)?\s*$", before_brace):
            return 2 if has_body else 1
    declared = re.split(r"(?<![=!<>])=(?!=)|\{", flat(plain), maxsplit=1)[0]
    if re.search(rf"(?<!::)\b{name}\s*(?:<[^;]*>)?\s*\(", declared):
        return 2 if has_body else 1
    if re.search(rf"(?:^using\s+{name}|[\w>&*\]]\s*[\s&*]{name})\s*(?:\[.*\])?\s*$", declared):
        return 1 if plain.startswith("extern") else 2
    return 0


def _drop_marks(lines):
    return [line for line in lines if not _MARK.match(line)]


def _tidy(lines):
    return textwrap.dedent("\n".join(_drop_marks(lines))).strip("\n")


def with_comment(lines, visible_lines, first):
    """The line in which the comment directly above line `first` begins, or `first` itself."""
    while first and lines[first - 1].strip() and not visible_lines[first - 1].strip():
        if lines[first - 1].lstrip().startswith('"'):
            break  # the end of a macro that is a string
        if _MARK.match(lines[first - 1]) or _RULE.match(lines[first - 1]):
            break
        first -= 1
    return first


def symbol_text(text, symbol):
    """The definition of `symbol` with the comment directly above it. Where several namespaces have
    one of this name, `symbol` says which: bf16::store."""
    visible, code = without_comments(text), code_of(text)
    found = {1: [], 2: []}
    *namespaces, name = symbol.split("::")
    for start, stop, head, has_body, scope in statements(code, 0, len(code)):
        grade = _defines(head, has_body, symbol)  # Buffer::Buffer, a constructor outside its class
        if not grade and namespaces == list(scope[len(scope) - len(namespaces) :]):
            grade = _defines(head, has_body, name)
        if grade:
            found[grade].append((start, stop))
    matches = found[2] or found[1]
    if not matches:
        raise SourceError(f"no definition of '{symbol}'")
    line_of = lambda position: text.count("\n", 0, position)
    if len(matches) > 1:
        where = ", ".join(str(line_of(start) + 1) for start, _ in matches)
        times = f"{len(matches)} times (lines {where})"
        raise SourceError(f"'{symbol}' is defined {times}; use region=")
    lines, visible_lines = text.split("\n"), visible.split("\n")
    first, last = (line_of(position) for position in matches[0])
    first = with_comment(lines, visible_lines, first)
    return _tidy(lines[first : last + 1])


def region_text(text, name):
    """The lines between `// region NAME` and its `// endregion`, without marks of inner regions."""
    open_regions, found = [], []
    lines = text.split("\n")
    for number, line in enumerate(lines):
        mark = _MARK.match(line)
        if mark is None:
            continue
        if mark.group(1) == "region":
            open_regions.append((mark.group(2), number))
            continue
        if not open_regions:
            raise SourceError(f"line {number + 1}: endregion without region")
        opened, begin = open_regions.pop()
        if mark.group(2) not in ("", opened):
            raise SourceError(
                f"line {number + 1}: endregion {mark.group(2)} closes region {opened}"
            )
        if opened == name:
            found.append(lines[begin + 1 : number])
    if open_regions:
        raise SourceError(f"region '{open_regions[-1][0]}' is never closed")
    if len(found) != 1:
        raise SourceError(f"region '{name}' " + ("is not there" if not found else "appears twice"))
    return _tidy(found[0])


def whole_text(text):
    """The file without region marks."""
    return "\n".join(_drop_marks(text.split("\n"))).strip("\n")
