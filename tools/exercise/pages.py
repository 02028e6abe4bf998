"""The tables and lines in which pages name the exercises; `make lessons` fills them.

    <!-- exercises -->        a table of the chapter's, or on a page of no chapter of all
    <!-- end exercises -->

    <!-- exercise 01/guard -->        one line, where the lesson has just shown what it takes
    <!-- end exercise -->
"""

import os
import re

import cli

from . import catalog

# What an exercise includes, and the first GPU that has it.
CHIPS = {
    "ptx/wgmma.cuh": "sm_90a",
    "ptx/tma.cuh": "sm_90",
    "ptx/roles.cuh": "sm_90",
    "ptx/cluster.cuh": "sm_90",
    "tensor_map.cuh": "sm_90",
    "ptx/mma.cuh": "sm_80",
}


def table(root, page, chapter):
    """Lines of a table of a chapter's exercises, or of all if chapter is None."""
    lines = ["| exercise | task | kind | minutes | points | GPU |", "|---|---|---|---:|---:|---|"]
    for exercise in catalog.all_exercises(root):
        if chapter in (None, exercise.chapter):
            module = exercise.judge()
            points = sum(part.points for part in module.POINTS)
            lines.append(
                f"| {_link(exercise, page)} | {module.TITLE} | {module.KIND} | {module.MINUTES} "
                f"| {points} | {chip(exercise)} |"
            )
    return lines


def line(root, page, name):
    """The line that sends a reader to one exercise."""
    exercise = catalog.find(root, name)
    module = exercise.judge()
    link = _link(exercise, page)
    start = f"`./exercise start {exercise.id}`"
    return [f"> Your turn: {link}, *{module.TITLE}*, {module.MINUTES} minutes. {start} begins."]


def words(root):
    """The words of the judge that exercises.md explains, a row each."""
    page = root / "exercises.md"
    text = cli.read_text(page) if page.is_file() else ""
    rows = text.partition("\n## The judge's words\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| `([^`]+)` \|", rows, re.M)


def missing(root):
    """What a page should say and does not: that each chapter, and exercises.md, has a table, that
    exercises.md names only what there is, and a task only sections that its chapter has."""
    exercises = catalog.all_exercises(root)
    if not exercises:
        return
    pages = [root / chapter / "README.md" for chapter in sorted({e.chapter for e in exercises})]
    for page in [*pages, root / "exercises.md"]:
        text = cli.read_text(page) if page.is_file() else ""
        if "<!-- exercises -->" not in text:
            yield f"{page.relative_to(root)}: has no table of its exercises: <!-- exercises -->"
    names = {exercise.id for exercise in exercises}
    for name in sorted(set(re.findall(r"`(\d\d/\w+)`", text)) - names):
        yield f"exercises.md: there is no exercise {name}"
    for exercise in exercises:
        pages = "".join(map(cli.read_text, sorted((root / exercise.chapter).glob("*.md"))))
        task = " ".join(exercise.task.split())
        for named in re.findall(r'\bsections? ("[^"]+"(?: and "[^"]+")*)', task):
            for section in re.findall(r'"([^"]+)"', named):
                if not re.search(rf"^#+ {re.escape(section)}$", pages, re.M):
                    path = (exercise.folder / "task.md").relative_to(root)
                    yield f'{path}: its chapter has no section "{section}"'


def chip(exercise):
    """The oldest GPU that can run it; without a GPU simt runs every one."""
    text = cli.read_text(exercise.author_file) + exercise.frame
    return next((name for header, name in CHIPS.items() if header in text), "any")


def _link(exercise, page):
    return f"[`{exercise.id}`]({os.path.relpath(exercise.folder / 'task.md', page.parent)})"
