"""Finds the exercises: <chapter>/exercises/<NN_name>/ with judge.py, task.md and one file of the
author's, which has the solution between marks; and run.cu, where the judge's CALL does not say all
that a case takes."""

import difflib
import importlib.util
import os
import re
from dataclasses import dataclass
from pathlib import Path

import cli

# A run.cu that does nothing but call the student's function.
FRAME = """\
#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) { CALL; });
}
"""


class ExerciseError(Exception):
    """Something a reader or an author can mend; the message is one line."""

    status = 2  # of the command that it ends


@dataclass
class Exercise:
    folder: Path

    @property
    def chapter(self):
        return self.folder.parent.parent.name

    @property
    def id(self):
        return f"{self.chapter[:2]}/{self.folder.name[3:]}"

    @property
    def author_file(self):
        known = {"judge.py", "run.cu", "task.md"}
        files = [p for p in self.folder.iterdir() if p.is_file() and p.name not in known]
        if len(files) != 1:
            names = ", ".join(sorted(p.name for p in files)) or "none"
            raise ExerciseError(f"{self.id}: expects one file with the solution, found {names}")
        return files[0]

    def student_file(self, root):
        """The file that a student edits; git ignores work/."""
        return root / "work" / self.chapter / self.author_file.name

    @property
    def task(self):
        return cli.read_text(self.folder / "task.md")

    @property
    def frame(self):
        """The text of the program around a student's file."""
        own = self.folder / "run.cu"
        if own.is_file():
            return cli.read_text(own)
        return FRAME.replace("CALL", call(self.judge().CALL))

    def judge(self):
        """The exercise's judge.py as a module."""
        spec = importlib.util.spec_from_file_location(
            f"judge_{self.chapter}_{self.folder.name}", self.folder / "judge.py"
        )
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module


def call(head):
    """The call of a function in C++: each argument is the case's array of that name on the device
    (a pointer), its size (an int), or the one value of its array (any other type)."""
    name, parameters = re.fullmatch(r"(\w+)\((.*)\)", head).groups()
    arguments = []
    for parameter in parameters.split(", "):
        kind, word = re.fullmatch(r"([\w ]+?\*?) (\w+)", parameter).groups()
        if kind.endswith("*"):
            arguments.append(f'c.device<{kind[:-1]}>("{word}")')
        elif kind == "int":
            arguments.append(f'static_cast<int>(c.size("{word}"))')
        else:
            arguments.append(f'*c.host<{kind}>("{word}")')
    return f"{name}({', '.join(arguments)})"


def all_exercises(root):
    """Every exercise, in the order of the chapters and of their numbers."""
    folders = sorted(root.glob(f"{cli.CHAPTERS}/exercises/[0-9][0-9]_*"))
    return [Exercise(folder) for folder in folders if (folder / "judge.py").is_file()]


def week(root, number):
    """The exercises of a week, as the plan in exercises.md has them."""
    text = cli.read_text(root / "exercises.md")
    for line in text.splitlines():
        if line.startswith(f"| {number} |"):
            return [find(root, name) for name in re.findall(r"`(\d\d/\w+)`", line)]
    raise ExerciseError(f"the plan in exercises.md has no week {number}")


def find_all(root, name):
    """The exercises called `name`: those of a chapter (02, or 02_warp_divergence), or one."""
    of_chapter = [e for e in all_exercises(root) if name in (e.chapter, e.chapter[:2])]
    return of_chapter or [find(root, name)]


def find(root, name):
    """The exercise called `name`: 01/guard, or guard if no other has that name; or the path of its
    folder, or of the student's file, as a shell completes it."""
    exercises = all_exercises(root)
    fits = [e for e in exercises if name in (e.id, e.id.split("/")[1])]
    if not fits and os.path.exists(name):
        is_here = lambda path: os.path.realpath(path) == os.path.realpath(name)
        fits = [e for e in exercises if is_here(e.folder) or is_here(e.student_file(root))]
    if len(fits) == 1:
        return fits[0]
    if fits:
        raise ExerciseError(f"'{name}' may be {' or '.join(e.id for e in fits)}")
    word = re.sub(r"\W", "", name)
    close = [e.id for e in exercises if word and word in re.sub(r"\W", "", e.id)]
    close += difflib.get_close_matches(name, [e.id for e in exercises], 1)
    hint = f" (did you mean {close[0]}?)" if close else " (./exercise list names them)"
    raise ExerciseError(f"there is no exercise '{name}'{hint}")
