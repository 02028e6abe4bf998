"""Makes the student's file out of the author's, so that the two cannot drift.

    //@ task 1: find this thread's element, and leave the others alone
    //@ hint: how many threads does the launch start, and how many elements are there?
    //@ begin
      const int i = blockIdx.x * blockDim.x + threadIdx.x;
    //@ end

The student sees the task as a comment and `// your code here` in place of what stands between begin
and end. `//@ instead` lines stand in the skeleton where something must, so that it compiles.
`//@ answer` lines are told who has passed: they answer what the task asks to be thought about.
"""

import re
from dataclasses import dataclass, field

from .catalog import ExerciseError

MARK = re.compile(r"^(\s*)//@ (task (\d+): (.*)|hint: (.*)|instead: (.*)|answer: (.*)|begin|end)$")

# What the skeleton says in a task's place.
TODO = re.compile(r"\s*// (TODO \d+: |your code here(, instead of what stands above)?$)")


@dataclass
class Task:
    number: int
    text: str
    hints: list = field(default_factory=list)
    answers: list = field(default_factory=list)
    instead: list = field(default_factory=list)
    solution: list = field(default_factory=list)


def parse(text, name):
    """The file as a list of lines and Tasks."""
    parts, task, inside = [], None, False
    for number, line in enumerate(text.splitlines(), 1):
        mark = MARK.match(line)
        if "//@" in line and not mark:
            raise ExerciseError(f"{name}:{number}: cannot read this mark: {line.strip()}")
        if not mark:
            (task.solution if inside else parts).append(line)
            continue
        what = mark.group(2)
        if what.startswith("task"):
            task = Task(int(mark.group(3)), mark.group(4))
            parts.append((mark.group(1), task))
        elif task is None or inside != (what == "end"):
            raise ExerciseError(f"{name}:{number}: //@ {what} in the wrong place")
        elif what == "begin":
            inside = True
        elif what == "end":
            inside, task = False, None
        elif what.startswith("hint"):
            task.hints.append(mark.group(5))
        elif what.startswith("answer"):
            task.answers.append(mark.group(7))
        else:
            task.instead.append(mark.group(6))
    if inside or task is not None:
        raise ExerciseError(f"{name}: a task has no end")
    return parts


def tasks(text, name):
    return [part[1] for part in parse(text, name) if isinstance(part, tuple)]


def fill(text, name, body):
    """The file with body(indent, task), a list of lines, in place of each task."""
    lines = []
    for part in parse(text, name):
        lines += body(*part) if isinstance(part, tuple) else [part]
    return "\n".join(lines) + "\n"


def skeleton(text, name):
    """What a student starts with."""

    def todo(indent, task):
        stand_ins = [indent + line for line in task.instead]
        where = ", instead of what stands above" if stand_ins else ""
        return [
            f"{indent}// TODO {task.number}: {task.text}",
            *stand_ins,
            f"{indent}// your code here{where}",
        ]

    return fill(text, name, todo)


def without_solutions(text, name):
    """The author's file for a copy that students get: with its marks, but nothing between them."""
    kept, inside = [], False
    for line in text.splitlines():
        mark = MARK.match(line)
        what = mark.group(2) if mark else ""
        inside = inside and what != "end"
        if not inside:
            kept.append(line)
        inside = inside or what == "begin"
    return "\n".join(kept) + "\n"


def solution(text, name):
    """The author's version without its marks."""
    return fill(text, name, lambda _, task: task.solution)


def mutant(text, name, changes):
    """The author's version with other text for some tasks, {1: "y[i] = 0;"}, and for what stands
    around them: {0: [(text, another)]}."""

    def changed(indent, task):
        if task.number in changes:
            return [indent + line for line in changes[task.number].strip("\n").split("\n")]
        return task.solution

    for old, new in changes.get(0, ()):
        if old not in text:
            raise ExerciseError(f"{name}: holds no {old}")
        text = text.replace(old, new)
    return fill(text, name, changed)
