"""The rungs of every ladder and what can be counted about them."""

import difflib
import re
from typing import NamedTuple

import cpp_names
from definitions import Definitions, files_of, lines_of, to_read
from include_graph import INDEXES, RUNG

# One kernel of this many lines and more has paragraphs, each opened by a comment that says why.
LONG_KERNEL = 25
LINES_A_COMMENT = 12
OPENING_LINES = range(3, 9)  # of comment at the top of a rung


class Facts(NamedTuple):
    """What can be counted about one rung."""

    own: int  # lines changed from the rung before
    kit: int  # lines of the definitions that it uses of the kit, and no rung before has used
    read: int  # lines of the rung and of every definition that it uses of other files, transitively
    files: int  # in which they stand
    kernel: int  # lines of its longest kernel or device function
    comments: int  # lines of comment in that kernel
    lines: int  # of the file
    opening: int  # lines of comment it opens with
    unsaid: tuple  # (name, file): used here, and no file that defines it is included by name
    silent: tuple  # (kernel, lines, comments): long kernels with too few comments

    @property
    def step(self):
        return self.own + self.kit


class Ladder:
    """The rungs of one problem: the main road, and those beyond it."""

    def __init__(self, graph, folder):
        rungs = [path for path in graph.rungs() if graph.place(path).problem == folder]
        self.folder = folder
        self.main = sorted(path for path in rungs if graph.place(path).role == "rung")
        self.beyond = sorted(path for path in rungs if graph.place(path).role == "beyond")
        found = (f"{folder}/{name}" for name in INDEXES)
        self.index = next((path for path in found if path in graph.text), None)

    def listed(self, graph):
        """What the ladder names: its includes, and those of headers that are an index only."""
        stood_on, found, todo = graph.stood_on(), set(), [self.index]
        while todo:
            for target in graph.includes[todo.pop()].values():
                if target in found or target not in graph.text:
                    continue
                found.add(target)
                place = graph.place(target)
                is_here = place.problem == self.folder and not place.is_rung
                if is_here and target not in stood_on and "__global__" not in graph.text[target]:
                    todo.append(target)
        return found


def ladders(graph):
    return [Ladder(graph, folder) for folder in sorted(graph.problems)]


def short_name(path):
    """'04_matmul/sgemm/beyond/02_wide.cuh' -> '04/sgemm/beyond/wide'"""
    *folders, file = path.split("/")
    return "/".join([folders[0][:2], *folders[1:], RUNG.match(file).group(2)])


def opening_comment(lines):
    """Number of lines of the comment a file opens with."""
    if lines and lines[0].lstrip().startswith("/*"):
        return next((i + 1 for i, line in enumerate(lines) if "*/" in line), len(lines))
    return next((i for i, line in enumerate(lines) if not line.startswith("//")), len(lines))


def changed_lines(before, after):
    """Lines of `after` that are new or altered, and lines of `before` that have no successor."""
    blocks = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return sum(max(i2 - i1, j2 - j1) for tag, i1, i2, j1, j2 in blocks if tag != "equal")


class Counter:
    """Counts every rung of a repository."""

    def __init__(self, graph):
        self.graph = graph
        self.book = Definitions(graph)
        self.code = {path: cpp_names.code_lines(text) for path, text in graph.text.items()}
        self.used = {path: self.book.used_by(path) for path in graph.rungs()}
        self.shown = {}  # ladder's folder -> what the main roads before it have shown of the kit
        self.shown_by = {}  # chapter -> what its main roads and those before them have shown
        shown = set()
        for ladder in sorted(ladders(graph), key=self._place_in_the_book):
            self.shown[ladder.folder] = frozenset(shown)
            shown.update(piece for rung in ladder.main for piece in self._kit_of(rung))
            self.shown_by[ladder.folder.split("/")[0]] = frozenset(shown)

    def _place_in_the_book(self, ladder):
        """Chapter by chapter, and in a chapter as its program adds the ladders to itself."""
        chapter, problem = ladder.folder.split("/")[0], ladder.folder.split("/")[-1]
        text = self.graph.text.get(f"{chapter}/ladders.cu", "")
        call = re.search(rf"\bladders::{problem}(_[a-z]+\d+)?\(\)", text)
        return chapter, call.start() if call else len(text), ladder.folder

    def facts(self, ladder):
        """{rung: Facts} in reading order, the main road first."""
        found = {}
        seen = set(self.shown[ladder.folder])
        for road in (ladder.main, ladder.beyond):
            if road is ladder.beyond:  # beyond.md is read when the chapter's main roads have been
                seen |= self.shown_by[ladder.folder.split("/")[0]]
            for position, path in enumerate(road):
                # A side road leaves the main one anywhere: it is a step from the nearest rung.
                before = road[max(0, position - 1) : position]
                if road is ladder.beyond:
                    before = before + ladder.main
                fresh = self._kit_of(path) - seen
                seen |= fresh
                found[path] = self._facts_of(path, before, fresh)
        return found

    def _kit_of(self, path):
        """What a rung uses of what its chapter shares, and of common/kit."""
        wanted = ("kit", "other", "common/kit")
        return {piece for piece in self.used[path] if self.graph.place(piece.path).role in wanted}

    def _facts_of(self, path, before, fresh):
        text = self.graph.text[path]
        own = min((changed_lines(self.code[b], self.code[path]) for b in before), default=0)
        kernels = self._kernels(path)
        longest = max(kernels, key=lambda kernel: kernel.lines, default=None)
        return Facts(
            own=own,
            kit=sum(len(cpp_names.code_lines(piece.text)) for piece in to_read(fresh)),
            read=lines_of(self.used[path]) + sum(1 for line in text.splitlines() if line.strip()),
            files=len(files_of(self.used[path])) + 1,
            kernel=longest.lines if longest else 0,
            comments=longest.comments if longest else 0,
            lines=len(text.splitlines()),
            opening=opening_comment(text.splitlines()),
            unsaid=tuple(sorted(self._unsaid(path))),
            silent=self.silent(path),
        )

    def _kernels(self, path):
        return cpp_names.kernels(self.graph.text[path]) if path not in self.book.unread else []

    def silent(self, path):
        """(name, lines, comments) of every long kernel or device function that says too little."""
        too_few = lambda k: k.lines >= LONG_KERNEL and k.comments < k.lines // LINES_A_COMMENT
        return tuple((k.name, k.lines, k.comments) for k in self._kernels(path) if too_few(k))

    def _unsaid(self, path):
        """(name, file) of what it says itself, and comes from a file that it does not include."""
        direct = {path, *self.graph.includes[path].values()}
        for name, files in self.book.said_by(path).items():
            if not files & direct:
                yield name, sorted(files)[0]
