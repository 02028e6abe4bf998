"""Writes a copy for students: all that git tracks, without the authors' solutions, the wrong
answers and hidden cases of the judges, and the tests of these tools; and a handout a week."""

import ast
import re
import shutil
import subprocess

import cli

from . import catalog, skeleton
from .catalog import ExerciseError

LEFT_OUT = re.compile(r"tests/tools/test_exercise")
SHORT = 20  # characters: a barrier is nobody's secret
HIDDEN = re.compile(r"^[ \t]*#@ hidden\n.*?^[ \t]*#@ end\n", re.M | re.S)


def release(root, out):
    if out.exists() and any(out.iterdir()):
        raise ExerciseError(f"{out} is not empty: a release goes into a folder of its own")
    exercises = catalog.all_exercises(root)
    for name in tracked(root):
        if not LEFT_OUT.match(name):
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, out / name, follow_symlinks=False)
    for exercise in exercises:
        author = exercise.author_file
        copy = out / author.relative_to(root)
        cli.write_text(copy, skeleton.without_solutions(cli.read_text(author), author.name))
        judge = copy.with_name("judge.py")
        cli.write_text(judge, without_answers(cli.read_text(judge)))
    cli.write_text(out / "VERSION", _git(root, "log", "-1", "--format=students' copy of %H, %cs"))
    for number in range(1, 100):
        page = handout(root, number)
        if not page:
            break
        cli.write_text(out / f"handouts/week_{number:02}.md", page)
    found = list(leaks(out, exercises))
    for line in found:
        print(line)
    if found:
        raise ExerciseError(f"{out} is no release: it holds {len(found)} lines of solutions")
    print(f"{out}: {len(exercises)} exercises, no solution among them (VERSION names the commit)")
    return 0


def tracked(root):
    """What the last commit holds; a copy of anything else could not be made again."""
    if _git(root, "status", "--porcelain"):
        raise ExerciseError("a copy is made of a commit: commit your changes first")
    names = _git(root, "ls-files", "-z").split("\0")
    return [name for name in names if (root / name).is_file()]


def handout(root, number):
    """A page for a week of the plan in exercises.md: what to read, do and hand in, and what for.
    Empty if the plan has no such week, or there is no plan."""
    page = root / "exercises.md"
    text = cli.read_text(page) if page.is_file() else ""
    rows = [line.strip("| ").split(" | ") for line in text.splitlines()]
    week = next((row for row in rows if len(row) == 4 and row[0] == str(number)), None)
    if not week:
        return ""
    names = {"lab": week[2], "hand in": week[3]}
    goals = {row[0]: row[1] for row in rows if len(row) == 2 and row[0].isdecimal()}
    lines = [f"# Week {number}", "", f"Read {week[1].replace('](', '](../')}. After it you can", ""]
    chapters = sorted(set(re.findall(r"`(\d\d)/", f"{week[2]} {week[3]}")))
    lines += [f"- {goals[chapter]}" for chapter in chapters if chapter in goals]
    lines += ["", "| | exercise | task | minutes | points |", "|---|---|---|---:|---:|"]
    for what, text in names.items():
        for name in re.findall(r"`(\d\d/\w+)`", text):
            module = (one := catalog.find(root, name)).judge()
            task = (one.folder / "task.md").relative_to(root)
            points = sum(part.points for part in module.POINTS)
            lines.append(
                f"| {what} | [`{name}`](../{task}) | {module.TITLE} | {module.MINUTES} | {points} |"
            )
    return "\n".join(lines) + "\n"


def _git(root, *words):
    done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise ExerciseError(f"a copy is made of a git repository: {done.stderr.strip()}")
    return done.stdout


def without_answers(text):
    """A judge.py without its hidden cases and wrong answers, and without what only these used."""
    text = HIDDEN.sub("", text)
    while True:
        tree = ast.parse(text)
        names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
        used = {node.id for node in names if isinstance(node.ctx, ast.Load)}
        nodes = [node for node in tree.body if _is_answer(node, used)]
        if not nodes:
            return text.rstrip() + "\n"
        lines = text.splitlines()
        del lines[nodes[0].lineno - 1 : nodes[0].end_lineno]
        text = "\n".join(lines) + "\n"


def _is_answer(node, used):
    """Whether a statement of a module sets MUTANTS or RIGHTS, or makes a _name that nobody uses."""
    if isinstance(node, ast.FunctionDef):
        names = [node.name]
    elif isinstance(node, ast.Assign):
        names = [target.id for target in node.targets if isinstance(target, ast.Name)]
    else:
        return False
    return any(n in ("MUTANTS", "RIGHTS") or n.startswith("_") and n not in used for n in names)


def leaks(out, exercises):
    """Lines of a release that are somebody's solution. In an exercise's own folder each line counts
    that the student's file does not hold anyway; in judges, tests and tools all lines of a task
    together, and so they do in students' files of other exercises, blanks apart. What lessons and
    rungs show is for everybody."""
    elsewhere = [path for folder in ("tests", "tools") for path in (out / folder).rglob("*")]
    elsewhere += out.glob(f"{cli.CHAPTERS}/exercises/*/judge.py")
    texts = {path: _lines(path) for path in elsewhere if path.is_file()}
    files = {e.id: (e.author_file, cli.read_text(e.author_file)) for e in exercises}
    codes = {
        name: (file, _code(skeleton.skeleton(text, file.name).splitlines()))
        for name, (file, text) in files.items()
    }
    for exercise in exercises:
        author, text = files[exercise.id]
        given = skeleton.skeleton(text, author.name)
        own = out / author.parent.relative_to(author.parents[3])
        for task in skeleton.tasks(text, author.name):
            secret = [line.strip() for line in task.solution if _says_much(line.strip(), given)]
            held = [(path, line) for path in own.iterdir() for line in _held(secret, path)]
            if len(secret) > 1:
                together = [path for path, lines in texts.items() if set(secret) <= set(lines)]
                held += [(path, line) for path in together for line in secret]
            body = _code(task.solution)
            for name, (file, code) in codes.items():
                if len(body) > SHORT and name != exercise.id and body in code:
                    held.append((out / file.relative_to(file.parents[3]), task.solution[0].strip()))
            for path, line in held:
                yield f"{path.relative_to(out)}: {exercise.id}, task {task.number}: {line}"


def _code(lines):
    return re.sub(r"\s", "", "".join(re.sub(r"//.*", "", line) for line in lines))


def _held(secret, path):
    lines = _lines(path)
    return [line for line in secret if any(line in other for other in lines)]


def _lines(path):
    text = path.read_text(encoding="utf-8", errors="replace")
    return [line.strip() for line in text.splitlines() if "//@ hint:" not in line]


def _says_much(line, given):
    return len(line) > 11 and line not in given and not line.startswith("//")
