"""Which definitions a rung uses of other files, transitively, and in which order they stand.

    book = Definitions(graph)
    pieces = book.used_by("04_matmul/sgemm/05_tiled.cuh")   # of all files but its own
    text = as_text(pieces)                                  # C++ that can stand before the rung
    includes = book.system_includes(pieces, "04_matmul/sgemm/05_tiled.cuh")
    lines, files = lines_of(pieces), files_of(pieces)       # what a reader has to open for it

A Piece is what a file says at namespace scope between two others: a function, a type with its
members, constants, a using declaration, a macro; with its template line and the comment above it.
Pieces come in the order in which the preprocessor meets them.

Not a C++ parser (see cpp_source.py). Where it cannot know, it takes a definition too many:
overloads go together, with a template go its specializations, with a type its operators and what is
defined outside of it. Names are looked up as C++ does: from the innermost namespace outwards, then
(an argument's namespace, a using directive) in all that the file includes. A static_assert goes
with what it speaks of, a using directive with its file.
"""

import re
from typing import NamedTuple

import cpp_names
import cpp_source

DEFINITION, MACRO, INVOCATION = "definition", "macro", "invocation"
# What nobody names goes with what it speaks of, or with its file.
ASSERTION, OPERATOR = "assertion", "operator"
DIRECTIVE, INCLUDE = "using directive", "include"  # of a system header that may be missing
WITH_WHAT_THEY_SPEAK_OF, WITH_THEIR_FILE = (ASSERTION, OPERATOR), (DIRECTIVE, INCLUDE)

_PREPROCESSOR = re.compile(r"^[ \t]*#[ \t]*(\w+)((?:[^\n]*\\\n)*[^\n]*)", re.MULTILINE)
_SYSTEM = re.compile(r"^[ \t]*#[ \t]*include[ \t]*<[^>\n]+>", re.MULTILINE)
_NAMESPACE = re.compile(r"(?:\binline\s+)?\bnamespace\b([^;{}()=]*)\{|\bextern\s*\{")
_OUTSIDE = re.compile(r"\b([A-Za-z_]\w*)\s*(?:<[^;()]*>)?\s*::\s*(?:~?\w+|operator\W+)\s*(?:\(|$)")
_ALIAS = re.compile(r"\bnamespace\s+(\w+)\s*=\s*[\w:]*?(\w+)\s*;")


class Piece(NamedTuple):
    """Equal to another one that stands at the same place."""

    path: str
    first: int  # its lines, counted from 0
    last: int
    kind: str
    scope: tuple  # the names of the namespaces around it, the outermost first
    opens: tuple  # what opens them: "namespace matmul::sgemm {"
    guards: tuple  # the #if, #elif and #else lines under which it stands
    names: frozenset  # what it defines
    prefixes: frozenset  # how names begin that a macro pastes together here
    code: str  # what the compiler sees of it, strings blanked
    text: str  # as it stands in the file, with the comment above it

    @property
    def lines(self):
        return sum(1 for line in self.text.split("\n") if line.strip())


class Macro(NamedTuple):
    body: str
    takes_arguments: bool


def _macros(text):
    """{name: Macro} of what a text defines."""
    found = {}
    for match in _PREPROCESSOR.finditer(cpp_source.without_comments(text)):
        if match.group(1) == "define":
            name, body = re.match(r"\s*(\w+)(.*)", match.group(2), re.DOTALL).groups()
            found[name] = Macro(body, body.startswith("("))
    return found


class _Cutter:
    """Cuts one file into pieces."""

    def __init__(self, path, text, macros):
        self.path, self.text, self.macros = path, text, macros
        self.visible, self.code = cpp_source.without_comments(text), cpp_source.code_of(text)
        self.lines, self.visible_lines = text.split("\n"), self.visible.split("\n")
        self.namespaces = [
            (match.end(), cpp_source.closing(self.code, match.end() - 1), match)
            for match in _NAMESPACE.finditer(self.code)
        ]
        self.guards = self._guards()

    def _line(self, position):
        return self.text.count("\n", 0, position)

    def _guards(self):
        """For each line the directives under which it stands."""
        stack, of_line = [], []
        for match in _PREPROCESSOR.finditer(self.visible):
            kind, line = match.group(1), self._line(match.start())
            if kind not in ("if", "ifdef", "ifndef", "elif", "else", "endif"):
                continue
            now = tuple(words for branch in stack for words in branch)
            of_line += [now] * (line - len(of_line))
            if kind.startswith("if"):
                stack.append([match.group().strip()])
            elif kind == "endif":
                stack.pop()
            else:
                stack[-1].append(match.group().strip())
        return of_line + [()] * (len(self.lines) - len(of_line))

    def pieces(self):
        found, code = [*self._directives()], self.code
        for start, stop, name in self._invocations():
            found.append((start, stop, INVOCATION, {name}))
            code = code[:start] + re.sub(r"[^\n]", " ", code[start:stop]) + code[stop:]
        for start, stop, head, _, _ in cpp_source.statements(code, 0, len(code)):
            if code[start:stop].strip(" \n;"):
                found.append((start, stop, *self._kind_and_names(code[start:stop], head)))
        return [self._piece(group) for group in self._by_lines(sorted(found, key=lambda f: f[:2]))]

    def _directives(self):
        for match in _PREPROCESSOR.finditer(self.visible):
            if match.group(1) in ("define", "undef"):
                yield match.start(), match.end(), MACRO, {re.search(r"\w+", match.group(2)).group()}
        for match in _SYSTEM.finditer(self.visible):
            if self.guards[self._line(match.start())]:
                yield match.start(), match.end(), INCLUDE, set()

    def _invocations(self):
        """(start, stop, macro) of macros that stand like a statement, but without a semicolon."""
        for match in re.finditer(r"^[ \t]*(\w+)[ \t]*\(", self.code, re.MULTILINE):
            known = self.macros.get(match.group(1))
            if known and known.takes_arguments:
                stop = cpp_source.closing(self.code, match.end() - 1) + 1
                if self.code[stop:].partition("\n")[0].strip() == "":
                    yield match.start(1), stop, match.group(1)

    def _kind_and_names(self, code, head):
        plain = cpp_source.skip_template(head)
        if plain.startswith("static_assert"):
            return ASSERTION, set()
        if re.match(r"using\s+namespace\b", plain):
            return DIRECTIVE, set()
        if re.match(r"using\b[^=]*$", plain):
            return DEFINITION, {re.findall(r"\w+", plain)[-1]}
        called = re.match(r"(\w+)\s*\(", plain)
        if called and called.group(1) in self.macros:
            return INVOCATION, {called.group(1)}
        declared = cpp_source.flat(plain).split("{")[0]
        if not cpp_source.TYPE.match(plain):
            if owner := _OUTSIDE.search(declared.partition("=")[0]):
                return DEFINITION, {owner.group(1)}
            if re.search(r"\boperator\b", declared):
                return OPERATOR, set()
        return DEFINITION, set(cpp_names.names_of(code if plain.startswith("enum") else head))

    def _by_lines(self, found):
        """Groups of what shares a line: only whole lines can be taken."""
        group, last = [], -1
        for start, stop, kind, names in found:
            if group and self._line(start) > last:
                yield group
                group = []
            group.append((start, stop, kind, names))
            last = max(last, self._line(stop - 1))
        if group:
            yield group

    def _piece(self, group):
        starts = self._line(group[0][0])
        last = max(self._line(stop - 1) for _, stop, _, _ in group)
        kinds, names = {kind for _, _, kind, _ in group}, set().union(*(f[3] for f in group))
        kind = kinds.pop() if len(kinds) == 1 else DEFINITION
        around = [match for begin, end, match in self.namespaces if begin <= group[0][0] < end]
        opens = (self.text[m.start() : m.end()] for m in around)
        first = cpp_source.with_comment(self.lines, self.visible_lines, starts)
        return Piece(
            path=self.path,
            first=first,
            last=last,
            kind=kind,
            scope=tuple(word for m in around for word in re.findall(r"\w+", m.group(1) or "")),
            opens=tuple(" ".join(words.split()) for words in opens),
            guards=self.guards[starts],
            names=frozenset(() if kind == INVOCATION else names),
            prefixes=frozenset(self._pasted(names) if kind == INVOCATION else ()),
            code=self._seen(group, starts, last),
            text="\n".join(self.lines[first : last + 1]),
        )

    def _seen(self, group, first, last):
        """The code of a piece, with what its conditions and macros say."""
        lines = self.visible_lines[first : last + 1]
        parts = [self.code[start:stop] for start, stop, kind, _ in group if kind != MACRO]
        parts += self.guards[first]
        for match in _PREPROCESSOR.finditer("\n".join(lines)):
            if match.group(1) in ("if", "ifdef", "ifndef", "elif"):
                parts.append(match.group(2))
            elif match.group(1) == "define":
                parts.append(match.group(2))
        return "\n".join(parts)

    def _pasted(self, names):
        """How the names begin that these macros paste together, `wgmma_##type`; the whole names
        where another macro says the type."""
        seen, todo = {}, list(names)
        while todo:
            name = todo.pop()
            if name in self.macros and name not in seen:
                seen[name] = self.macros[name].body
                todo += re.findall(r"\w+", seen[name])
        found = set()
        for name, body in seen.items():
            for prefix, parameter in re.findall(r"(\w+)\s*##\s*(\w+)", body):
                said = set(self._said(name, _arguments(body).index(parameter), seen))
                found.update(prefix + word for word in said or {""})
        return found

    def _said(self, name, at, macros):
        """Which words other macros give to this one as argument `at`."""
        for body in macros.values():
            for call in re.findall(rf"\b{name}\s*(\(.*)", body):
                word = _arguments(call)[at]
                yield "" if word in _arguments(body) else word


def _arguments(text):
    """What stands between the first brackets."""
    return [word.strip() for word in text[1:].partition(")")[0].split(",")]


class Definitions:
    """The pieces of every chapter and of common/, and who uses which."""

    def __init__(self, graph, *paths):
        """Of the whole house, or of these paths and what they include."""
        self.graph = graph
        self.of_file, self.unread = {}, {}  # path -> pieces, path -> why it has none
        wanted = set(paths or graph.text).union(*map(graph.under, paths))
        texts = {p: text for p, text in graph.text.items() if p in wanted and self._is_house(p)}
        macros = {name: m for text in texts.values() for name, m in _macros(text).items()}
        for path, text in texts.items():
            try:
                self.of_file[path] = _Cutter(path, text, macros).pieces()
            except cpp_source.SourceError as error:
                self.of_file[path], self.unread[path] = [], str(error)
        every = [piece for pieces in self.of_file.values() for piece in pieces]
        self.named, self.pasted, self.uses, self.aliases = {}, {}, {}, {}
        for piece in every:
            for name in piece.names:
                self.named.setdefault(name, []).append(piece)
            for prefix in piece.prefixes:
                self.pasted.setdefault(prefix, []).append(piece)
            self.aliases.update(_ALIAS.findall(piece.code))
        self.namespaces = {word for piece in every for word in piece.scope}

    def _is_house(self, path):
        place = self.graph.place(path)
        is_main = path.startswith("tools/standalone/")  # of what standalone.py writes
        return bool(place.chapter) or place.role.startswith("common") or is_main

    def used_by(self, *paths):
        """The pieces of other files that these use, in the order in which they must stand."""
        order = self._include_order(paths)
        visible, own = set(order), set(paths)
        found = {piece for path in paths for piece in self.of_file[path]}
        todo = list(found)
        while todo:
            while todo:
                piece = todo.pop()
                fresh = self._used_by_piece(piece, visible) - found
                found |= fresh
                todo += fresh
            todo = [piece for piece in self._attached(order, found, visible) if piece not in found]
            found.update(todo)
        place = {path: number for number, path in enumerate(order)}
        return sorted(
            (piece for piece in found if piece.path not in own),
            key=lambda piece: (place[piece.path], piece.first),
        )

    def said_by(self, path):
        """{name: the files that define it} of what a file itself says of other files."""
        visible, found = set(self._include_order([path])), {}
        for piece in self.of_file[path]:
            for use in self._uses(piece):
                files = {one.path for one in self._meant(piece, use, visible)}
                if files - {path}:
                    found.setdefault(use.name, set()).update(files)
        return found

    def system_includes(self, pieces, *paths):
        """The #include <...> lines of these files and of those that the pieces come from. One under
        a condition is a piece."""
        found = set()
        for path in files_of(pieces) | set(paths):
            text = cpp_source.without_comments(self.graph.text[path])
            guarded = {piece.text.strip() for piece in self.of_file[path] if piece.kind == INCLUDE}
            found |= {line.strip() for line in _SYSTEM.findall(text)} - guarded
        return sorted(found)

    def _include_order(self, paths):
        """These files and all under them, as the preprocessor meets their ends."""
        order, begun = [], set()

        def visit(path):
            if path in begun or path not in self.of_file:
                return
            begun.add(path)
            for target in self.graph.includes[path].values():
                visit(target)
            order.append(path)

        for path in paths:
            visit(path)
        return order

    def _used_by_piece(self, piece, visible):
        return {one for use in self._uses(piece) for one in self._meant(piece, use, visible)}

    def _uses(self, piece):
        if piece not in self.uses:
            # In a macro's arguments `A B,` declares nothing.
            words = {cpp_names.Use("", word) for word in re.findall(r"[A-Za-z_]\w*", piece.code)}
            is_call = piece.kind == INVOCATION
            self.uses[piece] = words if is_call else cpp_names.uses(piece.code)
        return self.uses[piece]

    def _meant(self, piece, use, visible):
        """What a name means where `piece` says it."""
        known = list(self.named.get(use.name, ()))
        for prefix, pieces in self.pasted.items():
            known += pieces if use.name.startswith(prefix) else ()
        near = {piece.path} | self.graph.under(piece.path)
        for files in (near, visible):  # a file may take what another one has included before it
            there = [one for one in known if one.path in files]
            if found := self._in_scope(piece.scope, use.qualifier, there):
                return found
        return []

    def _in_scope(self, scope, qualifier, there):
        qualifier = self.aliases.get(qualifier, qualifier)
        if qualifier == "::":
            return [one for one in there if not one.scope]
        if qualifier:
            fits = qualifier in self.namespaces
            return [one for one in there if fits and one.scope[-1:] == (qualifier,)]
        for depth in range(len(scope), -1, -1):
            inner = [o for o in there if o.kind == MACRO or o.scope == scope[:depth]]
            if inner:
                return inner
        return there

    def _attached(self, order, found, visible):
        """What nobody names and yet belongs to what was found."""
        files = {piece.path for piece in found}
        for piece in (p for path in order for p in self.of_file[path] if p not in found):
            if piece.kind in WITH_THEIR_FILE and piece.path in files:
                yield piece
            elif piece.kind in WITH_WHAT_THEY_SPEAK_OF:
                spoken_of = self._used_by_piece(piece, visible) - {piece}
                if spoken_of and spoken_of <= found:
                    yield piece


def to_read(pieces):
    """What a reader has to open of them: of what one macro writes many times, once; not that a
    macro ends."""
    found = {}
    for piece in pieces:
        if not re.match(r"\s*#\s*undef\b", piece.text):
            found.setdefault((piece.path, piece.prefixes) if piece.prefixes else piece, piece)
    return list(found.values())


def lines_of(pieces):
    return sum(piece.lines for piece in to_read(pieces))


def files_of(pieces):
    return {piece.path for piece in pieces}


def as_text(pieces):
    """The pieces as C++, in their namespaces and under their conditions."""
    out, opened = [], ((), ())

    def turn_to(opens, guards):
        nonlocal opened
        if opened == (opens, guards):
            return
        out.extend(["#endif"] * sum(words.startswith("#if") for words in opened[1]))
        if opened[0] != opens:
            out.extend(["", *(f"}}  // {words.rstrip(' {')}" for words in reversed(opened[0]))])
            out.extend(["", *opens])
        out.extend(["", *guards])
        opened = opens, guards

    before = None
    for piece in pieces:
        follows = before and (before.path, before.last + 1) == (piece.path, piece.first)
        if opened == (piece.opens, piece.guards) and not follows:
            out.append("")
        turn_to(piece.opens, piece.guards)
        out += piece.text.split("\n")
        before = piece
    turn_to((), ())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip("\n") + "\n"
