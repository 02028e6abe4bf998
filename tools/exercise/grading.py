"""Grades what students have handed in. Each file is built and run in a sandbox; the judge, who
knows what is right, stays outside and looks at what comes out."""

import hashlib
import os
import re
import secrets
import stat
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import cli

from . import building, judging, reports, running, skeleton
from .catalog import ExerciseError
from .processes import NoSandbox, Sandbox

MOST_BYTES = 1 << 20  # of a file that is handed in
# What the file of an exercise has no need of. The counts come out of the student's own process: who
# forges them needs one of these, and the instructor should look.
ODD = re.compile(
    r"\b(getenv|environ|fopen|open|ifstream|ofstream|fork|exec\w+|system|popen|dlopen|ptrace"
    r"|syscall|_exit|_Exit|quick_exit|atexit|kill|signal|mmap|mprotect|thread|simt::\w+|SIMT_\w+"
    r"|incbin|__FILE__)\b|/proc\b|/etc\b|\.\./"
)


@dataclass
class Grade:
    """What one file has earned."""

    student: str
    exercise: str
    title: str
    most: int
    status: str = "missing"  # or passed, wrong, refused
    says: str = ""
    parts: list = field(default_factory=list)
    sha256: str = ""
    odd: list = field(default_factory=list)

    @property
    def points(self):
        return sum(part.points for part in self.parts)


@dataclass
class Paper:
    """An exercise with the questions that all students are asked."""

    root: Path
    exercise: object
    questions: judging.Questions
    is_only_name: bool  # no other exercise has a file of this name

    def grade(self, folder, box):
        """The grade of a student, whose folder this is."""
        exercise, module = self.exercise, self.questions.module
        most = sum(part.points for part in module.POINTS)
        grade = Grade(folder.name, exercise.id, module.TITLE, most)
        file = self._handed_in(folder)
        if file is None:
            grade.says = f"there is no {exercise.chapter}/{exercise.author_file.name}"
            return grade
        try:
            data = _read(file, folder)
        except OSError as error:
            grade.status, grade.says = "refused", str(error)
            return grade
        text = data.decode(errors="replace")
        grade.sha256 = hashlib.sha256(data).hexdigest()
        usual = {match.group() for match in ODD.finditer(self.author_text)}
        grade.odd = sorted({match.group() for match in ODD.finditer(text)} - usual)
        verdict = self.verdict(data, box)
        grade.parts, grade.says = verdict.outcomes, reports.plain(verdict.trouble)
        for part in grade.parts:
            part.says = reports.plain(part.says)
        grade.status = "passed" if verdict.passed else "wrong"
        return grade

    @property
    def author_text(self):
        return cli.read_text(self.exercise.author_file)

    def verdict(self, data, box):
        with tempfile.TemporaryDirectory(prefix="exercise-") as folder:
            Path(folder).chmod(0o755)
            file, program = Path(folder, self.exercise.author_file.name), Path(folder, "program")
            file.write_bytes(data)
            try:
                building.build(self.root, self.exercise, file, program, box)
            except ExerciseError as error:
                return judging.Verdict(trouble=str(error))
            run = lambda case: running.run_case(program, case, box)  # noqa: E731
            return judging.mark(self.questions, run, workers=1)

    def _handed_in(self, folder):
        name = Path(self.exercise.chapter, self.exercise.author_file.name)
        places = [folder / name, folder / "work" / name]
        places += [folder / name.name] if self.is_only_name else []
        return next((place for place in places if os.path.lexists(place)), None)


def _read(file, folder):
    """The bytes of a file, which must be a plain one in this folder."""
    if not file.resolve().is_relative_to(folder.resolve()):
        raise OSError("a link that leads out of the folder")
    handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as stream:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError("not a plain file")
        data = stream.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise OSError(f"more than {MOST_BYTES} bytes")
    return data


def sandbox(root, goes_without):
    """Where submissions run; raises ExerciseError if this machine has no such place."""
    if goes_without:
        return NoSandbox()
    missing = Sandbox().missing(root)
    if missing:
        raise ExerciseError(
            f"no sandbox here: {missing}; --no-sandbox runs without one, for files that you trust"
        )
    return Sandbox()


def grade_all(root, exercises, submissions, out, box, seed=None):
    """Grades DIR/STUDENT/CHAPTER/FILE (or DIR/STUDENT/work/CHAPTER/FILE, or DIR/STUDENT/FILE) and
    writes the grades into a new folder."""
    students = sorted(path for path in submissions.iterdir() if path.is_dir())
    if not students:
        raise ExerciseError(f"{submissions} holds no folders: one for each student is expected")
    if out.exists() and any(out.iterdir()):
        raise ExerciseError(f"{out} is not empty, and grades are not written over others")
    seed = secrets.randbelow(2**32) if seed is None else seed
    names = [exercise.author_file.name for exercise in exercises]
    building.runner(root)  # not by several threads at once
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        make = lambda exercise, name: _paper(root, exercise, seed, names.count(name) == 1)
        papers = list(pool.map(make, exercises, names))
        jobs = [(paper, student) for student in students for paper in papers]
        grades = []
        for grade in pool.map(lambda job: job[0].grade(job[1], box), jobs):
            grades.append(grade)
            if grade.status != "missing":
                odd = f"  look: {', '.join(grade.odd)}" if grade.odd else ""
                points = f"{grade.points}/{grade.most}"
                line = f"{grade.student:<20} {grade.exercise:<24} {points:>6}  {grade.status}{odd}"
                print(line, flush=True)
    reports.write_all(out, grades, {"seed": seed, "commit": _commit(root)})
    print(f"graded {len(students)} students with seed {seed}: see {out}/grades.csv")
    return 0


def _paper(root, exercise, seed, is_only_name):
    """What is asked, once it is shown that the author's file earns full points for it here. (This
    also builds simt, which no sandbox could.)"""
    questions = judging.Questions(exercise.judge(), f"{seed} {exercise.id}")
    paper = Paper(root, exercise, questions, is_only_name)
    solution = skeleton.solution(paper.author_text, exercise.author_file.name)
    verdict = paper.verdict(solution.encode(), NoSandbox())
    if not verdict.passed:
        why = verdict.trouble or next(p.says for p in verdict.outcomes if p.points < p.most)
        raise ExerciseError(f"{exercise.id}, seed {seed}: the author's own file fails: {why}")
    return paper


def _commit(root):
    done = subprocess.run(
        ["git", "-C", str(root), "rev-parse", "HEAD"], capture_output=True, text=True
    )
    return done.stdout.strip()
