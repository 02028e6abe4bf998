"""Grades what students have handed in. Each file is built and run in a sandbox; the judge, who
knows what is right, stays outside and looks at what comes out."""

import contextlib
import hashlib
import os
import random
import secrets
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import cli

from . import building, handing_in, judging, processes, reports, rules, running, screen, similar
from . import skeleton
from .catalog import ExerciseError
from .course import Course
from .processes import NoSandbox, Sandbox
from .reports import Grade

FILE_SECONDS = 60  # by the clock, for all cases of a file: whoever sleeps holds up all others


class NoSandboxHere(ExerciseError):
    """This machine has no place where submissions may run."""

    status = 3


@dataclass
class Paper:
    """An exercise with the questions that all students are asked."""

    root: Path
    exercise: object
    seed: int
    commit: str
    is_only_name: bool  # no other exercise has a file of this name
    course: Course
    questions: object = None  # once somebody has handed something in
    seconds: float = None  # for all cases of a file

    def __post_init__(self):
        module = self.exercise.judge()
        self.title, self.most = module.TITLE, sum(part.points for part in module.POINTS)
        self.name = self.exercise.author_file.name
        self.place = f"{self.exercise.chapter}/{self.name}"

    def open(self, box):
        """Makes the questions, once it is shown that the author's file earns full points here."""
        questions = judging.Questions(self.exercise.judge(), f"{self.seed} {self.exercise.id}")
        questions.cases += self._cases_of_course()
        names = [case.name for case in questions.cases]
        for name in set(names):
            if names.count(name) > 1:
                raise ExerciseError(f"{self.exercise.id}: two cases are called {name}")
        text = cli.read_text(self.exercise.author_file)
        begin = time.monotonic()
        verdict = self.verdict(questions, skeleton.solution(text, self.name).encode(), box)
        if not verdict.passed:
            why = verdict.trouble or next(p.says for p in verdict.outcomes if p.points < p.most)
            name = f"{self.exercise.id}, seed {self.seed}"
            raise ExerciseError(f"{name}: the author's own file fails: {why}")
        # On a busy machine the author's file is slow, too.
        self.seconds = max(FILE_SECONDS, 10 * (time.monotonic() - begin))
        self.questions = questions

    def _cases_of_course(self):
        """The course's own cases; raises ExerciseError if there is something wrong with one."""
        draw = random.Random(f"{self.seed} course {self.exercise.id}")
        module, cases, where = self.exercise.judge(), [], self.exercise.id
        try:
            for case in self.course.cases(self.exercise.id, draw):
                where = f"{self.exercise.id}, case '{case.name}'"
                cases.append(case)
                module.expected(case)
                for part in module.POINTS:
                    judging.cases_of(part, [case])
        except Exception as error:  # whatever a file may raise
            says = f"{type(error).__name__}: {error}"
            raise ExerciseError(f"{self.course.path}: {where}: {says}") from error
        return cases

    def handed_in(self, folder):
        return handing_in.place(folder, self.exercise.chapter, self.name, self.is_only_name)

    def grade(self, folder, box, before=None):
        """The grade of a student, whose folder this is. before: one that holds as long as the file
        is the same."""
        grade = Grade(self.exercise.id, self.title, self.most, seed=self.seed, commit=self.commit)
        try:
            grade = self._grade(grade, folder, box, before)
            if grade.status != "missing":
                changed = os.lstat(self.handed_in(folder)).st_mtime
                grade.late = self.course.late(self.exercise.id, changed)
            return grade
        except processes.Ended:
            raise
        except Exception as error:  # nobody's file stops the grading of others
            grade.status, grade.parts = "error", []
            grade.says = f"the judge failed: {type(error).__name__}: {reports.plain(str(error))}"
            return grade

    def _grade(self, grade, folder, box, before):
        file = self.handed_in(folder)
        if file is None:
            grade.says = f"there is no {self.place}"
            return grade
        try:
            data = handing_in.read(file, folder)
        except OSError as error:
            says = error.strerror or str(error)  # without the path, which is nobody's business
            grade.status, grade.says = "refused", reports.plain(says)
            return grade
        grade.sha256 = hashlib.sha256(data).hexdigest()
        if before and before.sha256 == grade.sha256 and before.status != "error":
            return before
        verdict = self.verdict(self.questions, data, box)
        grade.parts, grade.says = verdict.outcomes, reports.plain(verdict.trouble)
        for part in grade.parts:
            part.says = reports.plain(part.says)
        grade.status = "passed" if verdict.passed else "wrong"
        return grade

    def verdict(self, questions, data, box):
        with tempfile.TemporaryDirectory(prefix="exercise-") as folder:
            Path(folder).chmod(0o755)
            file, program = Path(folder, self.name), Path(folder, "program")
            file.write_bytes(data)
            file.chmod(0o644)  # whatever the umask says: the sandbox's user reads it
            try:
                rules.look_at(file, self.exercise)
                building.build(self.root, self.exercise, file, program, box)
            except ExerciseError as error:
                return judging.Verdict(trouble=str(error))
            run = partial(running.run_case, program, box=box)
            return judging.mark(questions, run, workers=1, seconds=self.seconds)


def sandbox(root, goes_without):
    """Where submissions run; raises NoSandboxHere if this machine has no such place."""
    if goes_without:
        return NoSandbox()
    missing = Sandbox().missing(root)
    if missing:
        raise NoSandboxHere(
            f"no sandbox here: {missing}; --no-sandbox runs without one, for files that you trust"
        )
    return Sandbox()


def grade_all(
    root, exercises, submissions, out, box, seed=None, students=(), again=False, course=Course()
):
    """Grades DIR/STUDENT/CHAPTER/FILE (or DIR/STUDENT/work/CHAPTER/FILE, or DIR/STUDENT/FILE) and
    writes the grades into a folder, a student at a time. Grades that the folder holds stay as long
    as the file is the same, unless `again`."""
    folders, others = handing_in.students(submissions)
    unknown = set(students) - {folder.name for folder in folders}
    if unknown:
        raise ExerciseError(f"{submissions} has no folder {reports.shown(sorted(unknown)[0])}")
    book = reports.Book(out, seed)
    seed = book.seed if book.seed is not None else secrets.randbelow(2**32)
    book.open(seed)
    everyone = folders
    folders = [folder for folder in folders if not students or folder.name in students]
    names = [exercise.author_file.name for exercise in exercises]
    commit = _commit(root)
    papers = [
        Paper(root, exercise, seed, commit, names.count(name) == 1, course)
        for exercise, name in zip(exercises, names)
    ]
    asked = [paper for paper in papers if any(map(paper.handed_in, folders))]
    if asked:
        building.prepare(root)  # not by several threads at once
    with screen.working("Grading") as tell, ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        tell("the authors' files first")
        list(pool.map(lambda paper: paper.open(box), asked))
        jobs = []
        for folder in folders:
            before = {} if again else {g.exercise: g for g in book.of(folder.name)}
            for paper in papers:
                old = before.get(paper.exercise.id)
                jobs.append(pool.submit(paper.grade, folder, box, old))
        try:
            for number, folder in enumerate(folders, 1):
                tell(f"{number} of {len(folders)}")
                grades = [jobs.pop(0).result() for _ in papers]
                book.enter(folder.name, grades)
                _tell(folder.name, grades)
        finally:
            for job in jobs:
                job.cancel()
    wanted = lambda folder: [paper.handed_in(folder) or folder / paper.place for paper in papers]
    astray = {f.name: handing_in.astray(f, wanted(f)) for f in folders}
    chosen = [folder.name for folder in folders]
    print(book.summary(chosen, [e.id for e in exercises], astray, others), end="")
    alike = list(_alike(asked, everyone))
    book.enter_alike(alike)
    if alike:
        print(f"{len(alike)} pairs of files are similar: see {out}/similar.csv")
    print(f"graded {len(folders)} students with seed {seed}: see {out}/grades.csv")
    return 1 if book.errors() else 0


def _alike(papers, folders):
    """(exercise, student, student, share) of files that should be looked at."""
    for paper in papers:
        texts = {}
        for folder in folders:
            file = paper.handed_in(folder)
            with contextlib.suppress(OSError):
                if file is not None:
                    data = handing_in.read(file, folder)
                    texts[folder.name] = data.decode("utf-8", errors="replace")
        author = cli.read_text(paper.exercise.author_file)
        given = skeleton.skeleton(author, paper.name)
        for pair in similar.pairs(texts, given):
            yield (paper.exercise.id, *pair)


def _tell(student, grades):
    for grade in grades:
        if grade.status != "missing":
            points = f"{grade.points}/{grade.most}"
            late = f", {grade.late} late" if grade.late else ""
            why = f"  {grade.why}" if grade.why else ""
            name = reports.shown(student)
            screen.clear()
            status = f"{grade.status}{late}{why}"
            print(f"{name:<20} {grade.exercise:<16} {points:>6}  {status}", flush=True)


def _commit(root):
    done = subprocess.run(
        ["git", "-C", str(root), "rev-parse", "HEAD"], capture_output=True, text=True
    )
    return done.stdout.strip()
