"""Builds a file for an exercise, runs it on every case, and gives it points."""

import os
import random
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from . import api, building, running
from .catalog import ExerciseError
from .comparing import compare

PATIENCE = 4  # seconds: when a case has failed after so long, those not yet begun are left out


@dataclass
class Outcome:
    """What came of one part of the points."""

    title: str
    points: int
    most: int
    says: str = ""


@dataclass
class Verdict:
    """What came of a whole file."""

    outcomes: list = field(default_factory=list)
    trouble: str = ""  # does not compile, for instance; then there are no outcomes

    @property
    def points(self):
        return sum(outcome.points for outcome in self.outcomes)

    @property
    def most(self):
        return sum(outcome.most for outcome in self.outcomes)

    @property
    def passed(self):
        return bool(self.outcomes) and self.points == self.most


class Questions:
    """The cases of an exercise for one seed, and what is right for each."""

    def __init__(self, module, seed=None):
        self.module = module
        self.cases = list(module.cases(random.Random(seed)))
        self.bound = getattr(module, "bound", lambda case, name, index: 0.0)
        self._expected = {}

    def says(self, case, arrays):
        """What is wrong with the arrays of a run; empty if all is right."""
        if case.name not in self._expected:
            self._expected[case.name] = self.module.expected(case)
        return compare(case, arrays, self._expected[case.name], self.bound)


def judge(root, exercise, source):
    """Builds and runs `source` and gives it points."""
    try:
        program = building.program(root, exercise, source)
    except ExerciseError as error:
        return Verdict(trouble=str(error))
    questions = Questions(exercise.judge())
    return mark(questions, lambda case: running.run_case(program, case))


def mark(questions, run, workers=os.cpu_count() or 1, patience=None):
    """The verdict on what run(case) brings for each case. With no patience the first that fails
    is the last."""
    patience = PATIENCE if patience is None else patience
    stuck = []  # the case that failed, and took too long

    def one(case):
        if stuck:
            return f"not run, for {stuck[0]} had failed", {}
        begin = time.monotonic()
        done = run(case)
        says = done.trouble or questions.says(case, done.arrays)
        if says and time.monotonic() - begin > patience:
            stuck.append(case.name)
        return says, done.counts

    with ThreadPoolExecutor(workers) as pool:
        found = dict(zip((case.name for case in questions.cases), pool.map(one, questions.cases)))
    return Verdict([_outcome(part, questions.cases, found) for part in questions.module.POINTS])


def _outcome(part, cases, found):
    """found: what is wrong, and the counts, by the case's name."""
    if isinstance(part, api.Right):
        mine = [case for case in cases if part.when(case)]
        if not mine:
            raise ExerciseError(f"no case belongs to '{part.title}'")
        for case in mine:
            says = found[case.name][0]
            if says:
                return Outcome(part.title, 0, part.points, f"{case.name}: {says}")
        return Outcome(part.title, part.points, part.points)
    # Counts of wrong code mean nothing.
    if any(says for says, _ in found.values()):
        return Outcome(part.title, 0, part.points, "counts once all results are right")
    case = next(case for case in cases if case.name == part.case)
    counts = found[case.name][1]
    try:
        if part.holds(counts, case):
            return Outcome(part.title, part.points, part.points)
        says = part.says(counts)
    except (KeyError, TypeError, AttributeError, ZeroDivisionError):
        says = "no kernel did what is counted here"
    return Outcome(part.title, 0, part.points, f"{case.name}: {says}".rstrip(": "))
