"""Which file of the house includes which, what each file is, and the arrows that must not be.

Paths are strings relative to the repository, as in '04_matmul/sgemm/05_tiled.cuh'.
"""

import posixpath
import re
from typing import NamedTuple

import cli

SUFFIXES = {".cu", ".cuh", ".hpp", ".h", ".cpp"}
CHAPTER = re.compile(r"^\d\d_\w+$")
# 05, and 05b: what came between without new numbers for all that follow.
RUNG = re.compile(r"^(\d\d[a-z]?)_(\w+)\.(?:hpp|cuh|cu)$")
# A problem's list: ladder.cuh where ladder_*.cu compile it for each type of element by itself.
INDEXES = ("ladder.cu", "ladder.cuh")
COUNTS = "common/bench/model_counts.cuh"  # asks simt what it has counted
TOOLKIT = "common/kit/toolkit.cuh"  # names what CUDA 12 and 13 write differently
LICENCE = "// SPDX-License-Identifier: MIT"  # the first line of what is meant to be copied out
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]', re.MULTILINE)


class Place(NamedTuple):
    """What a file is."""

    role: str  # rung, beyond, index, problem, kit, study, main, other; common/kit, common/bench
    chapter: str = ""
    problem: str = ""  # its folder, as 04_matmul/sgemm; empty for what the whole chapter shares

    @property
    def is_rung(self):
        return self.role in ("rung", "beyond")


class Arrow(NamedTuple):
    rule: str
    path: str
    message: str


def source_files(root):
    return cli.files_of(root, SUFFIXES)


def _problem_folder(path):
    """The folder of the problem whose ladder has this rung, or None."""
    parts = path.split("/")
    if not CHAPTER.match(parts[0]) or not RUNG.match(parts[-1]) or len(parts) > 4:
        return None
    folders = parts[:-1]
    if folders[-1] == "beyond":
        folders.pop()
    reserved = {"study", "exercises", "kit", "beyond"}
    return None if len(folders) > 2 or reserved & set(folders) else "/".join(folders)


class Graph:
    """The sources of one repository."""

    def __init__(self, root, files):
        self.root = root
        self.text = {}
        for path in files:
            self.text[path.relative_to(root).as_posix()] = path.read_text(
                encoding="utf-8", errors="replace"
            )
        self.includes = {path: self._direct(path) for path in self.text}
        self.problems = {folder for path in self.text if (folder := _problem_folder(path))}
        self._under = {}
        self._places = {}

    def _direct(self, path):
        """{what the file wrote: the path it means}, in the order of the file."""
        found = {}
        for name in _INCLUDE.findall(self.text[path]):
            near = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
            found[name] = near if near in self.text else posixpath.normpath(name)
        return found

    def under(self, path):
        """Every file of the house that `path` includes, directly or not."""
        if path not in self._under:
            seen, todo = set(), [path]
            while todo:
                for target in self.includes[todo.pop()].values():
                    if target in self.text and target not in seen:
                        seen.add(target)
                        todo.append(target)
            self._under[path] = seen - {path}
        return self._under[path]

    def place(self, path):
        if path not in self._places:
            self._places[path] = self._place(path)
        return self._places[path]

    def _place(self, path):
        parts = path.split("/")
        if not CHAPTER.match(parts[0]):
            top = "/".join(parts[:2]) if parts[0] == "common" and len(parts) > 2 else parts[0]
            return Place(
                top if top in ("common/kit", "common/bench", "common", "simt") else "other"
            )
        chapter, folders, name = parts[0], parts[1:-1], parts[-1]
        problem = next((f for f in ("/".join(parts[:2]), chapter) if f in self.problems), "")
        if _problem_folder(path):
            return Place("beyond" if "beyond" in folders else "rung", chapter, problem)
        if problem == chapter and folders and folders[0] not in ("beyond", "kit"):
            problem = ""  # a chapter with one ladder may have a study/ beside it
        if "study" in folders or "exercises" in folders:
            return Place("study", chapter)
        if "kit" in folders:
            return Place("kit", chapter, problem)
        if name in INDEXES:
            return Place("index", chapter, problem)
        if name.startswith("problem."):
            return Place("problem", chapter, problem)
        return Place("main" if name.endswith(".cu") else "other", chapter, problem)

    def rungs(self):
        return [path for path in self.text if self.place(path).is_rung]

    def stood_on(self):
        """Every file that some rung includes, directly or not."""
        return {path for rung in self.rungs() for path in self.under(rung)}

    def forbidden(self):
        """Every Arrow of the house that must not be."""
        stood_on = self.stood_on()
        for path in sorted(self.text):
            place = self.place(path)
            # What rungs stand on is their kit, wherever it lies.
            is_kit = place.role in ("kit", "problem") or place.role == "other" and path in stood_on
            for name, target in self.includes[path].items():
                there = self.place(target)
                arrow = lambda rule, why="": Arrow(
                    rule, path, f"includes {name}{why} ({rule}: never)"
                )
                if place.chapter and there.chapter and there.chapter != place.chapter:
                    yield arrow("chapter -> chapter", ", which belongs to another chapter")
                elif place.role == "simt" and there.chapter:
                    yield arrow("simt -> chapter")
                elif there.role == "simt" and self._knows_no_simt(path):
                    yield arrow("chapter -> simt", f": only the build and {COUNTS} know simt")
                elif place.role.startswith("common") and there.chapter:
                    yield arrow("common -> chapter")
                elif there.is_rung and place.is_rung:
                    yield arrow("rung -> rung")
                elif there.is_rung and is_kit and place.chapter:
                    yield arrow("kit -> rung")
                yield from self._indirect(path, place, name, target)

    def _knows_no_simt(self, path):
        place = self.place(path)
        return path != COUNTS and (place.chapter or place.role.startswith("common"))

    def _leads_to(self, target, test, has_own_finding):
        """What `target` is or leads to that fits `test`: the text for a message, or None."""
        if test(target):
            return ""
        if target not in self.text or has_own_finding(target):
            return None
        found = next((path for path in sorted(self.under(target)) if test(path)), None)
        return found and f", which leads to {found}"

    def _indirect(self, path, place, name, target):
        """Arrows that no file between hides."""
        rules = []
        is_rung = lambda p: self.place(p).is_rung
        if place.role in ("kit", "problem") and not is_rung(target):
            bound = lambda p: self.place(p).role in ("kit", "problem")
            rules.append(("kit -> rung", is_rung, bound))
        is_bench = lambda p: self.place(p).role == "common/bench"
        if place.is_rung or place.role in ("kit", "common/kit"):
            bound = lambda p: self.place(p).is_rung or self.place(p).role in ("kit", "common/kit")
            kind = "rung" if place.is_rung else place.role
            rules.append((f"{kind} -> common/bench", is_bench, bound))
        if re.match(r"common/(bench/)?harness\.", path):
            is_program = lambda p: re.match(r"common/(bench/)?program\.", p)
            rules.append(("bench/harness -> bench/program", is_program, lambda p: False))
        if place.problem and place.problem != place.chapter:
            is_neighbour = lambda p: self.place(p).problem not in ("", place.chapter, place.problem)
            # What all problems are measured against may know a rung of one of them.
            is_measured = place.role in ("index", "other")
            bound = lambda p: is_measured or self.place(p).problem == place.problem
            rules.append(("problem -> another problem", is_neighbour, bound))
        for rule, test, has_own_finding in rules:
            why = self._leads_to(target, test, has_own_finding)
            if why is not None:
                yield Arrow(rule, path, f"includes {name}{why} ({rule}: never)")
