"""What a student types: ./exercise list|next|start|check|hint|solution|reset|progress|watch."""

import contextlib
import difflib
import os
import re
import sys
import time

import cli

from . import catalog, judging, skeleton, speed
from .catalog import ExerciseError
from .progress import Progress


def _relative(path, root):
    return path.relative_to(root)


def _title(exercise):
    return exercise.judge().TITLE


def list_all(root):
    progress = Progress(root)
    print(f"{'':3} {'exercise':<24} {'kind':<8} {'min':>4}  title")
    for exercise in catalog.all_exercises(root):
        module, mark = exercise.judge(), "[x]" if progress.of(exercise)["passed"] else "[ ]"
        print(f"{mark} {exercise.id:<24} {module.KIND:<8} {module.MINUTES:>4}  {module.TITLE}")
    return 0


def show_progress(root):
    progress, passed, exercises = Progress(root), 0, catalog.all_exercises(root)
    for exercise in exercises:
        entry = progress.of(exercise)
        if not entry["checks"] and not exercise.student_file(root).exists():
            continue
        mark = "[x]" if entry["passed"] else "[ ]"
        points = f"{entry['points']}/{entry['most']}" if entry["checks"] else "started"
        print(
            f"{mark} {exercise.id:<24} {points:<8} checks {entry['checks']}, hints {entry['hints']}"
        )
        passed += entry["passed"]
    print(f"{passed} of {len(exercises)} passed" + ("" if passed else "; ./exercise next begins"))
    return 0


def next_exercise(root):
    """Names the first exercise that is not passed, and starts it."""
    progress = Progress(root)
    for exercise in catalog.all_exercises(root):
        if not progress.of(exercise)["passed"]:
            return start(root, exercise)
    print("all passed: nothing is left to do here")
    return 0


def start(root, exercise):
    """Writes the student's file, unless it is there already."""
    file = exercise.student_file(root)
    fresh = not file.exists()
    if fresh:
        author = exercise.author_file
        cli.write_text(file, skeleton.skeleton(cli.read_text(author), author.name))
    print(exercise.task.strip())
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
    except (OSError, ExerciseError) as error:
        print(f"exercise: your progress is not recorded: {error}", file=sys.stderr)
    return status


def _failing_task(exercise, verdict):
    """The number of the task that what fails is about; 0 if the author named none."""
    wrong = next((i for i, o in enumerate(verdict.outcomes) if o.points < o.most), None)
    return exercise.judge().POINTS[wrong].task if wrong is not None else 0


def _say_what_next(root, exercise, file, verdict):
    if verdict.passed:
        print(f"passed: {verdict.points}/{verdict.most} points")
        print(
            f"next: ./exercise solution {exercise.id} compares with the author's; "
            "./exercise next goes on"
        )
        return 0
    if verdict.outcomes:
        print(f"not yet: {verdict.points}/{verdict.most} points")
    print(f"next: ./exercise hint {exercise.id}, or change {_relative(file, root)} and check again")
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
        print(verdict.trouble)
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    for outcome in verdict.outcomes:
        word = "ok  " if outcome.points == outcome.most else "FAIL"
        print(f"  {word}  {outcome.points}/{outcome.most}  {outcome.title}")
        for line in outcome.says.splitlines():
            print(f"             {_with_source(line, file.name, lines)}")


def _with_source(says, name, lines):
    """A line that names a place in the student's file, with what stands there."""
    place = re.search(rf"\b{re.escape(name)}:(\d+)\b", says)
    number = int(place.group(1)) if place else 0
    return f"{says}:  {lines[number - 1].strip()}" if 0 < number <= len(lines) else says


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
    print(f"hint {at + 1} of {len(hints)} (task {hints[at][0]}): {hints[at][1]}")
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
    """Checks whenever the student's file changes. By looking: no events reach some mounts."""
    file, seen = _started(root, exercise), None
    while True:
        with contextlib.suppress(OSError):  # an editor puts a new file in its place
            stamp = file.stat().st_mtime_ns
            if stamp != seen:
                seen = stamp
                print(f"\n---- {time.strftime('%H:%M:%S')} {exercise.id}", flush=True)
                try:
                    check(root, exercise)
                except (OSError, ExerciseError) as error:
                    print(f"exercise: {error}", flush=True)
        time.sleep(0.5)
