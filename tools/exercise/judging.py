"""Builds a file for an exercise, runs it on every case, and gives it points."""

import os
import random
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

from . import api, building, rules, running
from .catalog import ExerciseError
from .comparing import compare

FEWEST_LANES = 8  # of a warp that are to work together on average, where blocks count
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
        # What is drawn may be a case that there is anyway.
        self.cases = list({c.name: c for c in module.cases(random.Random(seed))}.values())
        self.bound = getattr(module, "bound", lambda case, name, index: 0.0)
        self._expected = {}

    def says(self, case, run, slack=1):
        """What is wrong with a run; empty if all is right. slack: times what may be off."""
        if case.meets:
            return "" if run.trouble.startswith("race") else run.trouble or case.meets
        if run.trouble:
            return run.trouble
        if case.name not in self._expected:
            self._expected[case.name] = self.module.expected(case)
        bound = lambda *element: slack * self.bound(*element)
        says = compare(case, run.arrays, self._expected[case.name], bound)
        return says or self._not_by_kernels(case, run)

    def _not_by_kernels(self, case, run):
        """Where right results come from that no kernel has made."""
        to_device, to_host = run.copies
        if max(run.copies) > running.FREE_COPIES and not getattr(self.module, "COPIES", False):
            return (
                f"the host code copied {to_device} bytes to the device and {to_host} back; the "
                "kernel is to do the work, where the data is"
            )
        for each in case.arrays:
            found, first = run.aliens.get(each.name, (0, 0))
            if found and not each.by_host:
                place = each.where(first // each.itemsize)
                return f"{place} was written, but by no kernel ({found} bytes of {each.name})"
        return ""


def judge(root, exercise, source, seed=None):
    """Builds and runs `source` and gives it points."""
    try:
        rules.look_at(source, exercise)
        program = building.program(root, exercise, source)
    except ExerciseError as error:
        return Verdict(trouble=str(error))
    questions = Questions(exercise.judge(), seed)
    return mark(questions, partial(running.run_case, program))


def mark(questions, run, workers=os.cpu_count() or 1, seconds=None):
    """The verdict on what run(case, settings=...) brings for each case. seconds: for all cases
    together."""
    settings = getattr(questions.module, "SETTINGS", {})
    until = time.monotonic() + (seconds or 1e9)
    stuck = []  # the case that failed, and took too long

    def one(case):
        if stuck:
            return f"not run, for {stuck[0]} had failed", {}
        begin = time.monotonic()
        if begin > until:
            return f"not run: the {seconds:.0f} s for all cases together were over", {}
        done = run(case, settings=settings)
        says = questions.says(case, done)
        if says and done.printed:
            says += f"\n{done.printed}"
        if says and time.monotonic() - begin > PATIENCE:
            stuck.append(case.name)
        return says, done.counts

    with ThreadPoolExecutor(workers) as pool:
        found = dict(zip((case.name for case in questions.cases), pool.map(one, questions.cases)))
    return Verdict([outcome(part, questions.cases, found) for part in questions.module.POINTS])


def cases_of(part, cases):
    """Those that a part of the points looks at."""
    if isinstance(part, api.Right):
        return [case for case in cases if part.when(case)]
    counted = part.case if callable(part.case) else lambda case: case.name == part.case
    return [case for case in cases if counted(case)]


def _too_few(part, counts, case):
    """Why blocks or threads do not share the work as a part asks; empty if they do."""
    asked = [("block", "work", part.blocks(case))] if part.blocks else []
    if part.threads:
        asked += [("thread", what, fewest) for what, fewest in part.threads(case).items()]
    for kind, what, fewest in asked:
        started = counts[f"{kind}s"]
        if started < fewest:
            return f"{api.many(started, kind)} for {what} that {fewest} can share"
        found = _sharing(counts, kind, what)
        if found < fewest:
            return (
                f"{api.many(started, kind)} were started, but share the {what} as if {found} did "
                f"all; at least {fewest} are to share alike"
            )
    if part.busy:
        started, found = counts["threads"], _sharing(counts, "thread", "work")
        if found < part.busy * started:
            return (
                f"{started} threads were started, but share the work as if {found} did all: "
                "the others are idle"
            )
    lanes = counts["active_lanes_per_instruction"] if part.blocks else FEWEST_LANES
    if lanes < FEWEST_LANES:
        return f"{lanes:.1f} lanes of a warp work together on average, {FEWEST_LANES} are to"
    return ""


def _sharing(counts, kind, what):
    """By how many blocks or threads it is shared, if all were as busy as the busiest."""
    if what == "steps":
        done, busiest = counts["executions"], counts["busiest"][f"{kind}_steps"]
    else:
        keys = [f"{each}_bytes" for each in ("load", "store") if what in ("work", f"{each}s")]
        done = sum(counts["global"][key] for key in keys)
        busiest = sum(counts["busiest"][f"{kind}_{key}"] for key in keys)
    return -(-done // max(1, busiest))


def outcome(part, cases, found):
    """found: what is wrong, and the counts, by the case's name."""
    mine = cases_of(part, cases)
    if not mine:
        raise ExerciseError(f"no case belongs to '{part.title}'")
    if isinstance(part, api.Right):
        for case in mine:
            says = found[case.name][0]
            if says:
                return Outcome(part.title, 0, part.points, f"{case.name}: {says}")
        return Outcome(part.title, part.points, part.points)
    # Counts of wrong code mean nothing.
    if any(says for says, _ in found.values()):
        return Outcome(part.title, 0, part.points, "judged once all results are right")
    for case in mine:
        counts = found[case.name][1]
        try:
            says = _too_few(part, counts, case)
            if not says and part.holds(counts, case):
                continue
            says = says or part.says(counts)
        except Exception:  # whatever the counts are, they are not those of the task
            says = "no kernel did what is counted here"
        return Outcome(part.title, 0, part.points, f"{case.name}: {says}".rstrip(": "))
    return Outcome(part.title, part.points, part.points)
