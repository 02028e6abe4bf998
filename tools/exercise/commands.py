"""What a student types: ./exercise list|next|start|check|hint|solution|reset|progress|watch."""

import contextlib
import difflib
import os
import re
import sys
import time

import cli

from . import catalog, judging, pages, screen, skeleton, speed
from .catalog import ExerciseError
from .progress import Progress


def _relative(path, root):
    return path.relative_to(root)


def list_all(root):
    progress = Progress(root)
    print(f"{'':3} {'exercise':<24} {'kind':<8} {'min':>4}  title")
    for exercise in catalog.all_exercises(root):
        module, mark = exercise.judge(), "[x]" if progress.of(exercise)["passed"] else "[ ]"
        print(f"{mark} {exercise.id:<24} {module.KIND:<8} {module.MINUTES:>4}  {module.TITLE}")
    print(_how_many(root, progress))
    return 0


def _how_many(root, progress):
    exercises = catalog.all_exercises(root)
    passed = sum(progress.of(exercise)["passed"] for exercise in exercises)
    return f"{passed} of {len(exercises)} passed"


def show_progress(root):
    progress = Progress(root)
    for exercise in catalog.all_exercises(root):
        entry = progress.of(exercise)
        if not entry["checks"] and not exercise.student_file(root).exists():
            continue
        mark = "[x]" if entry["passed"] else "[ ]"
        points = f"{entry['points']}/{entry['most']}" if entry["checks"] else "started"
        print(
            f"{mark} {exercise.id:<24} {points:<8} checks {entry['checks']}, hints {entry['hints']}"
        )
    how_many = _how_many(root, progress)
    print(how_many + ("; ./exercise next begins" if how_many.startswith("0 ") else ""))
    return 0


def next_exercise(root):
    """Names the first exercise that is not passed, and starts it."""
    exercise = _first_open(root)
    if exercise:
        return start(root, exercise)
    print("all passed: nothing is left to do here")
    return 0


def _first_open(root):
    progress, exercises = Progress(root), catalog.all_exercises(root)
    return next((one for one in exercises if not progress.of(one)["passed"]), None)


def start(root, exercise):
    """Writes the student's file, unless it is there already."""
    file = exercise.student_file(root)
    fresh = not file.exists()
    if fresh:
        author = exercise.author_file
        cli.write_text(file, skeleton.skeleton(cli.read_text(author), author.name))
    print(screen.page(exercise.task))
    print(f"\nedit   {_relative(file, root)}" + ("" if fresh else "  (yours, as you left it)"))
    print(f"check  ./exercise check {exercise.id}")
    return 0


def _started(root, exercise):
    """The student's file."""
    file = exercise.student_file(root)
    if not file.exists():
        raise ExerciseError(f"not started yet: ./exercise start {exercise.id}")
    if not file.is_file():
        raise ExerciseError(f"{_relative(file, root)} is not a plain file")
    return file


def check(root, exercise, seed=None):
    file = _started(root, exercise)
    verdict = judging.judge(root, exercise, file, seed)
    show(verdict, file)
    if not verdict.passed:
        _name_words(root, verdict)
    status = _say_what_next(root, exercise, file, verdict)
    try:  # what went before is not lost if this fails
        progress = Progress(root)
        before = progress.of(exercise)
        progress.set(
            exercise,
            checks=before["checks"] + 1,
            points=max(verdict.points, before["points"]),
            most=verdict.most or before["most"],
            passed=verdict.passed or before["passed"],
            failing=_failing_task(exercise, verdict),
        )
        if verdict.passed:
            print(_how_many(root, progress))
    except (OSError, ExerciseError) as error:
        print(f"exercise: your progress is not recorded: {error}", file=sys.stderr)
    return status


def _failing_task(exercise, verdict):
    """The number of the task that what fails is about; 0 if the author named none."""
    wrong = next((i for i, o in enumerate(verdict.outcomes) if o.points < o.most), None)
    return exercise.judge().POINTS[wrong].task if wrong is not None else 0


def _say_what_next(root, exercise, file, verdict):
    if verdict.passed:
        print(screen.painted(f"passed: {verdict.points}/{verdict.most} points", "green"))
        author = exercise.author_file
        for task in skeleton.tasks(cli.read_text(author), author.name):
            for answer in task.answers:
                print(screen.wrapped(f"you were to think about it: {answer}"))
        print(f"next: ./exercise solution {exercise.id} compares with the author's;")
        print("      ./exercise next goes on")
        return 0
    if verdict.outcomes:
        print(screen.painted(f"not yet: {verdict.points}/{verdict.most} points", "red"))
    print(f"next: ./exercise hint {exercise.id}, or change")
    print(f"      {_relative(file, root)} and check again")
    return 1


def show_speed(root, exercise):
    """How fast a file is that has passed; it changes no points."""
    file = exercise.student_file(root)
    if not file.exists() or not judging.judge(root, exercise, file).passed:
        raise ExerciseError(f"speed counts once ./exercise check {exercise.id} passes")
    print(speed.measure(root, exercise, file)[1])
    return 0


def show(verdict, file):
    if verdict.trouble:
        print(screen.wrapped(verdict.trouble))
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    for outcome in verdict.outcomes:
        is_full = outcome.points == outcome.most
        word = screen.painted("ok  ", "green") if is_full else screen.painted("FAIL", "red")
        print(f"  {word}  {outcome.points}/{outcome.most}  {outcome.title}")
        for line in outcome.says.splitlines():
            print(screen.wrapped(_with_source(line, file.name, lines), " " * 13))


def _name_words(root, verdict):
    """Where the words are explained that the judge has used."""
    says = "\n".join([verdict.trouble, *(outcome.says for outcome in verdict.outcomes)])
    used = [word for word in pages.words(root) if re.search(rf"\b{re.escape(word)}\b", says)]
    if used:
        print(screen.wrapped(f"exercises.md, The judge's words, explains: {', '.join(used)}"))


def _with_source(says, name, lines):
    """A line that names a place in the student's file, with what stands there."""
    place = re.search(rf"\b{re.escape(name)}:(\d+)\b", says)
    number = int(place.group(1)) if place else 0
    return f"{says}:\n    {lines[number - 1].strip()}" if 0 < number <= len(lines) else says


def hint(root, exercise, number=None):
    """The next hint, those for the task that failed first; the last one again when there are no
    more. number: that one, which counts as none."""
    author = exercise.author_file
    hints = [
        (task.number, text)
        for task in skeleton.tasks(cli.read_text(author), author.name)
        for text in task.hints
    ]
    progress = Progress(root)
    entry = progress.of(exercise)
    hints.sort(key=lambda hint: hint[0] != entry["failing"])  # stable: the others stay in order
    at = min(entry["hints"], len(hints) - 1)
    if number is not None:
        if not 0 < number <= len(hints):
            raise ExerciseError(f"{exercise.id} has hints 1 to {len(hints)}")
        at = number - 1
    else:
        progress.set(exercise, hints=at + 1)
    print(screen.wrapped(f"hint {at + 1} of {len(hints)} (task {hints[at][0]}): {hints[at][1]}"))
    if at + 1 < len(hints):
        print(f"next: ./exercise hint {exercise.id} shows one more")
    else:
        print("that was the last one")
    return 0


def solution(root, exercise, even_so):
    """The author's version: beside the student's after a pass, before that only if asked twice."""
    author = exercise.author_file
    text = skeleton.solution(cli.read_text(author), author.name)
    if not any(task.solution for task in skeleton.tasks(cli.read_text(author), author.name)):
        raise ExerciseError("this copy was given out without solutions: ask who gave it to you")
    file = exercise.student_file(root)
    if not Progress(root).of(exercise)["passed"]:
        if not even_so:
            raise ExerciseError(
                f"opens when ./exercise check {exercise.id} has passed "
                f"(./exercise solution {exercise.id} --even-so shows it now)"
            )
        print(text, end="")
        return 0
    mine = cli.read_text(file).splitlines() if file.exists() else []
    mine = [line for line in mine if not skeleton.TODO.match(line)]
    lines = difflib.unified_diff(mine, text.splitlines(), "yours", "the author's", lineterm="")
    print("\n".join(lines) or "yours is the author's, word for word")
    return 0


def reset(root, exercise):
    """A fresh skeleton; what was there is kept beside it."""
    file = exercise.student_file(root)
    if file.exists():
        kept = file.with_name(f"{file.name}.{int(file.stat().st_mtime)}")
        os.replace(file, kept)
        print(f"your file is kept as {_relative(kept, root)}")
    return start(root, exercise)


def watch(root, exercise):
    """Checks whenever the student's file changes, and goes on to the next one when it has passed.
    By looking: no events reach some mounts."""
    file, seen = _started(root, exercise), None
    while True:
        with contextlib.suppress(OSError):  # an editor puts a new file in its place
            stamp = file.stat().st_mtime_ns
            if stamp != seen:
                seen = stamp
                print(f"\n---- {time.strftime('%H:%M:%S')} {exercise.id}", flush=True)
                try:
                    if check(root, exercise) == 0:
                        exercise = _first_open(root)
                        if exercise is None:
                            return next_exercise(root)
                        print(f"\n---- {exercise.id}")
                        start(root, exercise)
                        file = exercise.student_file(root)
                        seen = file.stat().st_mtime_ns
                except (OSError, ExerciseError) as error:
                    print(f"exercise: {error}", flush=True)
        time.sleep(0.5)
