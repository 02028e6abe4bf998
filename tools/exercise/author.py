"""For authors: every exercise must be as it says it is."""

import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import cli

from . import api, building, judging, rules, running, skeleton
from .catalog import ExerciseError

PARTS = ("TITLE", "KIND", "MINUTES", "POINTS", "MUTANTS", "cases", "expected")


def selftest(root, exercises, seed=None):
    """Prints what is wrong with the exercises; returns how many are faulty. An author's file earns
    full points, and so does every other right answer; a skeleton compiles and earns none for right
    results (where speed is the task it is right already, and earns no full points); every mutant is
    caught; one that is called "before: ..." is right and misses only counts, and each count is
    missed by one of them: the effect that the exercise promises is there to be had. The inputs are
    those of `seed`, without one always the same."""
    faulty = 0
    building.prepare(root)  # not by several threads at once

    def findings(exercise):
        begin, found = time.monotonic(), []
        try:
            found.extend(_findings(root, exercise, seed or 0))
        except Exception as error:  # whatever a judge.py may raise; the others go on
            found.append(f"judge.py raises {type(error).__name__}: {error}")
        return exercise, found, time.monotonic() - begin

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for exercise, found, seconds in pool.map(findings, exercises):
            faulty += bool(found)
            word = "FAIL" if found else "ok  "
            print(f"{word}  {exercise.id:<24} {seconds:5.1f} s", flush=True)
            for line in found:
                print(f"        {line}")
    print(f"{len(exercises) - faulty} passed, {faulty} failed, 0 skipped")
    return faulty


def _findings(root, exercise, seed):
    module, author = exercise.judge(), exercise.author_file
    text, name = cli.read_text(author), author.name
    for word in PARTS:
        if not hasattr(module, word):
            yield f"judge.py has no {word}"
            return
    for task in skeleton.tasks(text, name):
        if not task.hints:
            yield f"task {task.number} has no hint"
        if not task.solution:
            yield f"task {task.number} has no solution"
    with tempfile.TemporaryDirectory(prefix="selftest-") as folder:
        questions = judging.Questions(module, seed)

        def verdict_of(version, patience=None):
            file, program = Path(folder, name), Path(folder, "program")
            file.write_text(version, encoding="utf-8")
            try:
                rules.look_at(file, exercise)
                building.build(root, exercise, file, program)
            except ExerciseError as error:
                return judging.Verdict(trouble=str(error))
            return judging.mark(questions, partial(running.run_case, program), patience=patience)

        yield from _findings_of_versions(module, text, name, verdict_of)


def _findings_of_versions(module, text, name, verdict_of):
    verdict = verdict_of(skeleton.solution(text, name))
    if not verdict.passed:
        yield f"the author's file earns {verdict.points}/{verdict.most}: {_why(verdict)}"
        return
    for title, changes in getattr(module, "RIGHTS", {}).items():
        verdict = verdict_of(skeleton.mutant(text, name, changes))
        if not verdict.passed:
            yield f"right answer '{title}' earns {verdict.points}/{verdict.most}: {_why(verdict)}"
    verdict = verdict_of(skeleton.skeleton(text, name))
    if verdict.trouble:
        yield f"the skeleton does not run: {verdict.trouble}"
    elif verdict.passed:
        yield "the skeleton earns full points"
    elif module.KIND != "speed" and _right_points(module, verdict):
        yield f"the skeleton earns {verdict.points} points"
    # The effects that no "before: ..." has missed yet.
    effects = {part.title for part in module.POINTS if isinstance(part, api.Count)}
    most_right = sum(part.points for part in module.POINTS if isinstance(part, api.Right))
    for title, changes in module.MUTANTS.items():
        # One wrong case is enough to catch it.
        verdict = verdict_of(skeleton.mutant(text, name, changes), patience=0)
        if verdict.trouble:
            yield f"mutant '{title}' does not compile: {verdict.trouble}"
        elif verdict.passed:
            yield f"mutant '{title}' earns full points"
        elif title.startswith("before: "):
            if _right_points(module, verdict) != most_right:
                yield f"'{title}' should be right and miss a count: {_why(verdict)}"
            effects -= {outcome.title for outcome in verdict.outcomes if not outcome.points}
    for title in sorted(effects):
        yield f"no mutant 'before: ...' misses '{title}': where is the effect?"


def _right_points(module, verdict):
    parts = zip(module.POINTS, verdict.outcomes)
    return sum(outcome.points for part, outcome in parts if isinstance(part, api.Right))


def _why(verdict):
    if verdict.trouble:
        return verdict.trouble
    return "; ".join(f"{o.title}: {o.says or 'earned'}" for o in verdict.outcomes if not o.points)
