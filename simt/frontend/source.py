"""The preprocessed text as tokens, with the few questions that the rewrites ask about it.

The front end works on the output of `g++ -E`: headers, macros and comments are resolved, and line
markers (`# 12 "vadd.cu"`) say where each line came from. Text from system headers holds nothing of
interest and is not even tokenized. A rewrite never changes the number of lines, so that the
compiler's messages and the debugger name the user's own lines.
"""

import re

TOKEN = re.compile(r"""
    (?P<space>[ \t\f\v\n\\]+)
  | (?P<marker>^[ \t]*\#[^\n]*)
  | (?P<string>(?:u8|u|U|L)?R"(?P<fence>[^\s()\\"]{0,16})\((?:.|\n)*?\)(?P=fence)"
            | (?:u8|u|U|L)?"(?:\\.|[^"\\\n])*")
  | (?P<char>(?:u8|u|U|L)?'(?:\\.|[^'\\\n])+')
  | (?P<number>\.?\d(?:[eEpP][+-]|'\w|[\w.])*)
  | (?P<name>[A-Za-z_$][\w$]*)
  | (?P<launch><<[ \t\n]*<)
  | (?P<mark>::|->|\+\+|--|&&|\|\||[<>=!]=|.)
""", re.X | re.M | re.S)

LINE_MARKER = re.compile(r'[ \t]*#[ \t]*(?:line[ \t]+)?(\d+)[ \t]+"((?:[^"\\]|\\.)*)"([ \d]*)')
NEXT_MARKER = re.compile(r'^[ \t]*#[ \t]*\d+[ \t]+"', re.M)

OPENING = {")": "(", "]": "[", "}": "{"}
CLOSING = {"(": ")", "[": "]", "{": "}"}
ACCESS_WORDS = ("public", "protected", "private")


class Refused(Exception):
    """Something that cannot be built for the CPU, with the place in the user's source."""


class Token:
    __slots__ = ("kind", "text", "start", "end", "partner", "scope")

    def __init__(self, kind, text, start, end):
        self.kind = kind
        self.text = text
        self.start = start  # in the preprocessed text
        self.end = end
        self.partner = None  # index of the matching bracket
        self.scope = None    # the innermost Scope around the token

    def __repr__(self):
        return self.text


class Scope:
    """A pair of braces. kind: "namespace", "class" or "function" (braces that hold statements)."""

    def __init__(self, kind, parent, device, template, unnamed=False, name=""):
        self.kind = kind
        self.name = name          # of a namespace
        self.parent = parent
        self.unnamed = unnamed    # a namespace without a name, or inside one
        self.device = device      # the body of a __device__ or __global__ function, or inside one
        self.template = template  # inside a template


class Source:
    def __init__(self, text, name):
        self.text = text
        self.name = name
        self.tokens = []
        self.markers = []  # (offset behind the marker, line, file)
        self.edits = []    # (start, end, replacement)
        self._tokenize()
        self._match_brackets()
        self._find_scopes()

    # ---- building -------------------------------------------------------------------------------

    def _tokenize(self):
        # Flag 3 marks system headers, but also a system header's macro where a user's file uses it.
        user_files = set()
        text, at, n = self.text, 0, len(self.text)
        while at < n:
            match = TOKEN.match(text, at)
            kind = match.lastgroup
            if kind == "fence":
                kind = "string"
            at = match.end()
            if kind == "space":
                continue
            if kind == "marker":
                line = LINE_MARKER.match(match.group())
                if line:
                    self.markers.append((at, int(line.group(1)), line.group(2)))
                    flags, file = line.group(3).split(), line.group(2)
                    if "3" not in flags:
                        user_files.add(file)
                    elif file not in user_files:  # a system header: on to the next marker
                        following = NEXT_MARKER.search(text, at)
                        at = following.start() if following else n
                continue
            word = "<<<" if kind == "launch" else match.group()
            self.tokens.append(Token(kind, word, match.start(), at))

    def _match_brackets(self):
        stack = []
        for i, token in enumerate(self.tokens):
            if token.kind != "mark":
                continue
            if token.text in CLOSING:
                stack.append(i)
            elif token.text in OPENING:
                if stack and self.tokens[stack[-1]].text == OPENING[token.text]:
                    token.partner = stack.pop()
                    self.tokens[token.partner].partner = i

    def _find_scopes(self):
        current, pending = None, []
        for i, token in enumerate(self.tokens):
            if token.text == "}" and token.kind == "mark" and pending:
                current = pending.pop()
            token.scope = current
            if token.text == "{" and token.kind == "mark":
                pending.append(current)
                current = self._scope_of_brace(i, current)
                self._include_members(i, current)

    def _scope_of_brace(self, brace, parent):
        start = self.statement_start(brace)
        # `: a{1}, b{2} {`: a constructor's body behind its members.
        inside = parent is not None and parent.kind == "function"
        while not inside and start > 0 and self.tokens[start - 1].text == "}" and (
                start == brace or self.tokens[start].text == ","):
            opening = self.tokens[start - 1].partner
            if opening is None:
                break
            start = self.statement_start(opening)
        header = self.tokens[start:brace]
        words = {t.text for t in header if t.kind == "name"}
        has_parameters = any(t.text == "(" for t in header)
        device = parent is not None and parent.device
        template = "template" in words or (parent is not None and parent.template)
        outside = parent is None or parent.kind != "function"
        if outside and not has_parameters and words & {"namespace", "extern"}:
            unnamed = header[-1].text == "namespace" or (parent is not None and parent.unnamed)
            texts = [t.text for t in header]
            name = "".join(texts[texts.index("namespace") + 1:]) if "namespace" in words else ""
            return Scope("namespace", parent, device, template, unnamed, name)
        if words & {"class", "struct", "union", "enum"} and not has_parameters:
            return Scope("class", parent, device, template)
        device = device or bool(words & {"__simt_device__", "__simt_global__"})
        return Scope("function", parent, device, template)

    def _include_members(self, brace, scope):
        """What a constructor makes its members of, `: a(new int[n])`, belongs to its body."""
        if scope.kind != "function" or (scope.parent and scope.parent.kind == "function"):
            return
        j = brace
        while j > 0 and self.tokens[j - 1].text not in (";", ":", *CLOSING):
            before = self.tokens[j - 1]
            if before.text == "}" and j < brace and self.tokens[j].text != ",":
                return
            j = j - 1 if before.partner is None else before.partner
        if self.tokens[j - 1].text == ":" and self.tokens[j - 2].text not in ACCESS_WORDS:
            for token in self.tokens[j:brace]:
                if token.scope is scope.parent:
                    token.scope = scope

    # ---- asking ---------------------------------------------------------------------------------

    def statement_start(self, i):
        """Index of the first token of the statement or declaration that token i belongs to."""
        j = i
        while j > 0:
            before = self.tokens[j - 1]
            if before.kind == "mark":
                if before.text in ")]" and before.partner is not None:
                    j = before.partner
                    continue
                if before.text in ";{}([":
                    break
            j -= 1
        return j

    def statement_end(self, i):
        """Index of the ; that ends the declaration of token i, braces skipped."""
        j = i
        while j < len(self.tokens):
            token = self.tokens[j]
            if token.kind == "mark":
                if token.text == ";":
                    return j
                if token.text in CLOSING and token.partner is not None:
                    j = token.partner
            j += 1
        raise Refused(self.place(i) + ": a declaration without an end")

    def behind_angle(self, i, otherwise=None):
        """tokens[i] is the < of template arguments: the index behind the matching >. If it only
        compares: `otherwise`, or an error if that is None."""
        depth, j = 0, i
        while j < len(self.tokens):
            text = self.tokens[j].text
            if self.tokens[j].kind == "mark":
                if text == "<":
                    depth += 1
                elif text == ">":
                    depth -= 1
                    if depth == 0:
                        return j + 1
                elif text in CLOSING and self.tokens[j].partner is not None:
                    j = self.tokens[j].partner
                elif text in ";{}" or (text == "?" and otherwise is not None):
                    break
            j += 1
        if otherwise is not None:
            return otherwise
        raise Refused(self.place(i) + ": < without >")

    def before_angle(self, i):
        """tokens[i] is the > of template arguments: the index of the matching <."""
        depth, j = 0, i
        while j >= 0:
            token = self.tokens[j]
            if token.kind == "mark":
                if token.text == ">":
                    depth += 1
                elif token.text == "<":
                    depth -= 1
                    if depth == 0:
                        return j
                elif token.text in OPENING and token.partner is not None:
                    j = token.partner
                elif token.text in ";{}":
                    break
            j -= 1
        raise Refused(self.place(i) + ": > without <")

    def split(self, first, last, separator=","):
        """Ranges [a, b) of tokens between separators that stand outside of all brackets."""
        parts, start, j = [], first, first
        while j < last:
            token = self.tokens[j]
            if token.kind == "mark":
                if token.text in CLOSING and token.partner is not None and token.partner < last:
                    j = token.partner
                elif token.text == "<" and j > first and self.tokens[j - 1].kind == "name":
                    # `a < b ? a : b, c` compares: no > follows, or one behind a question mark.
                    behind = self.behind_angle(j, otherwise=last + 1)
                    if behind <= last:
                        j = behind - 1
                elif token.text == separator:
                    parts.append((start, j))
                    start = j + 1
            j += 1
        if start < last or parts:
            parts.append((start, last))
        return parts

    def words(self, first, last):
        """The tokens' text on one line."""
        pieces = []
        for i in range(first, last):
            token = self.tokens[i]
            if pieces and self.tokens[i - 1].end != token.start:
                pieces.append(" ")
            pieces.append(token.text)
        return "".join(pieces).replace("\n", " ")

    def line_and_file(self, i):
        return self.line_and_file_at(self.tokens[i].start)

    def line_and_file_at(self, offset):
        line, file, behind = 1, self.name, 0
        low, high = 0, len(self.markers)
        while low < high:
            middle = (low + high) // 2
            if self.markers[middle][0] <= offset:
                low = middle + 1
            else:
                high = middle
        if low:
            behind, line, file = self.markers[low - 1]
            return line + self.text.count("\n", behind, offset) - 1, file
        return line + self.text.count("\n", 0, offset), file

    def place(self, i):
        line, file = self.line_and_file(i)
        return f"{file}:{line}"

    # ---- changing -------------------------------------------------------------------------------

    def replace(self, first, last, text):
        """Tokens [first, last) become `text`; what follows keeps its line number."""
        start, end = self.tokens[first].start, self.tokens[last - 1].end
        if "\n#" in self.text[start:end]:  # line markers of macros from system headers
            line, file = self.line_and_file(last - 1)
            text += f'\n# {line} "{file}"\n'
        else:
            text += "\n" * self.text.count("\n", start, end)
        self.edits.append((start, end, text))

    def insert_before(self, i, text):
        self.edits.append((self.tokens[i].start, self.tokens[i].start, text))

    def insert_behind(self, i, text):
        self.edits.append((self.tokens[i].end, self.tokens[i].end, text))

    def changed_lines(self):
        changed = set()
        for start, end, text in self.edits:
            if text != self.text[start:end]:
                line, file = self.line_and_file_at(start)
                changed |= {(file, line + k) for k in range(self.text.count("\n", start, end) + 1)}
        return changed

    def result(self):
        pieces, at = [], 0
        # At one place, insertions come before a replacement, in the order in which they were made.
        order = sorted(range(len(self.edits)),
                       key=lambda e: (self.edits[e][0], self.edits[e][1] > self.edits[e][0], e))
        for e in order:
            start, end, text = self.edits[e]
            if start < at:
                continue  # inside something that was replaced as a whole
            pieces.append(self.text[at:start])
            pieces.append(text)
            at = end
        pieces.append(self.text[at:])
        return "".join(pieces)
