"""For authors: every exercise must be as it says it is."""

import os
import re
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import cli

from . import api, building, judging, rules, running, skeleton, wrong_ways
from .catalog import ExerciseError

PARTS = ("TITLE", "KIND", "MINUTES", "POINTS", "RIGHTS", "MUTANTS", "cases", "expected")
FEWEST_RIGHTS, FEWEST_WRONG = 3, 6
SLACK = 10  # times as much as a bound allows: then a wrong answer must pass
MOVED = "sectors$|bytes_moved$"  # grow together where less of a sector is used
SLOW = 4  # seconds: who fails after so long has no end, and is not run again


def selftest(root, exercises, seed=None):
    """Prints what is wrong with the exercises; returns how many are faulty. An author's file earns
    full points, and so do other right answers; a skeleton compiles and earns none for right
    results (where speed is the task it is right already, and earns no full points); every wrong
    answer is caught, those too that wrong_ways.py makes; one that is called "before: ..." is right
    and misses only counts. No part of the points and no bound is for nothing (_needless); what each
    single case is for is not asked. No count lets twice as much pass as right answers need
    (_lenient). The inputs are those of `seed`, without one always the same."""
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
    if seed is not None:
        print(f"inputs of seed {seed}")
    print(f"{len(exercises) - faulty} passed, {faulty} failed, 0 skipped")
    return faulty


@dataclass
class Version:
    """A student's file, and how it does."""

    kind: str  # author, right, skeleton, wrong
    title: str
    text: str
    trouble: str = ""
    found: dict = field(default_factory=dict)  # what is wrong, and the counts, by the case's name
    with_slack: dict = field(default_factory=dict)  # the same, were the bound wider


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
    solved = skeleton.solution(text, name)
    versions = [Version("author", "", solved)]
    versions.append(Version("skeleton", "", skeleton.skeleton(text, name)))
    for kind, changes in (("right", module.RIGHTS), ("wrong", module.MUTANTS)):
        for title, change in changes.items():
            versions.append(Version(kind, title, skeleton.mutant(text, name, change)))
    blocks = any(getattr(part, "blocks", None) for part in module.POINTS)
    for title, version in wrong_ways.of(solved, blocks):
        versions.append(Version("wrong", title, version))
    for kind, fewest in (("right", FEWEST_RIGHTS), ("wrong", FEWEST_WRONG)):
        count = sum(version.kind == kind for version in versions)
        if count < fewest:
            yield f"{count} {kind} answers, at least {fewest} are wanted"
    questions = judging.Questions(module, seed)
    with tempfile.TemporaryDirectory(prefix="selftest-") as folder:
        for version, program in _build(root, exercise, versions, Path(folder)):
            _run(questions, version, program)
    yield from _findings_of_versions(module, questions.cases, versions)
    wrong = [version for version in versions if version.kind == "wrong"]
    yield from _needless(module, questions.cases, wrong)
    good = [version for version in versions if version.kind in ("author", "right")]
    yield from _lenient(module, questions.cases, good)


def _build(root, exercise, versions, folder):
    """Those that compile, each with its program."""
    for version in versions:
        file = folder / exercise.author_file.name
        file.write_text(version.text, encoding="utf-8")
        try:
            rules.look_at(file, exercise)
        except ExerciseError as error:
            version.trouble = str(error)
    good = [version for version in versions if not version.trouble]
    try:
        return zip(good, building.together(root, exercise, [v.text for v in good], folder))
    except ExerciseError as error:
        if len(versions) == 1:
            versions[0].trouble = str(error)
            return []
    # Somebody is to blame for it.
    built = []
    for number, version in enumerate(good):
        alone = folder / str(number)
        alone.mkdir()
        built += _build(root, exercise, [version], alone)
    return built


def _run(questions, version, program):
    """Runs it on the cases, but for those that are of parts of the points that it has lost."""
    settings = getattr(questions.module, "SETTINGS", {})
    rights = [part for part in questions.module.POINTS if isinstance(part, api.Right)]
    lost, enough = set(), False
    for case in questions.cases:
        parts = {part.title for part in rights if part.when(case)}
        if enough or parts and parts <= lost:
            version.found[case.name] = version.with_slack[case.name] = "not run", {}
            continue
        begin = time.monotonic()
        run = running.run_case(program, case, settings=settings)
        says = questions.says(case, run)
        with_slack = questions.says(case, run, SLACK) if says and not run.trouble else says
        version.found[case.name] = says, run.counts
        version.with_slack[case.name] = with_slack, run.counts
        if with_slack:
            lost |= parts
            enough = version.kind == "wrong" and time.monotonic() - begin > SLOW


def _earned(module, cases, found):
    """The parts of the points that it earns, if these are all the cases."""
    found = {case.name: found[case.name] for case in cases}

    def earns(part):
        return not judging.cases_of(part, cases) or judging.outcome(part, cases, found).points

    return {part.title for part in module.POINTS if earns(part)}


def _findings_of_versions(module, cases, versions):
    most_right = sum(part.points for part in module.POINTS if isinstance(part, api.Right))
    for version in versions:
        kind, title = version.kind, version.title
        if version.trouble:
            verdict = judging.Verdict(trouble=version.trouble)
        else:
            parts = [judging.outcome(part, cases, version.found) for part in module.POINTS]
            verdict = judging.Verdict(parts)
        if kind == "author" and not verdict.passed:
            yield f"the author's file earns {verdict.points}/{verdict.most}: {_why(verdict)}"
        if kind == "right" and not verdict.passed:
            yield f"right answer '{title}' earns {verdict.points}/{verdict.most}: {_why(verdict)}"
        if kind == "skeleton":
            if verdict.trouble:
                yield f"the skeleton does not run: {verdict.trouble}"
            elif verdict.passed:
                yield "the skeleton earns full points"
            elif module.KIND != "speed" and _right_points(module, verdict):
                yield f"the skeleton earns {verdict.points} points"
        if kind == "wrong":
            if verdict.trouble:
                yield f"wrong answer '{title}' does not compile: {verdict.trouble}"
            elif verdict.passed:
                yield f"wrong answer '{title}' earns full points"
            elif title.startswith("before: ") and _right_points(module, verdict) != most_right:
                yield f"'{title}' should be right and miss a count: {_why(verdict)}"


def _needless(module, cases, wrong):
    """The parts of the points that tell no wrong answer from another, and the bound if it does not.
    A part for right results does if one misses it alone, or earns it though it is wrong elsewhere;
    a count if one misses it whose results are right: there the promised effect can be seen."""
    wrong = [version for version in wrong if version.found]
    most = {part.title for part in module.POINTS}
    rights = {part.title for part in module.POINTS if isinstance(part, api.Right)}
    all_earned = [_earned(module, cases, version.found) for version in wrong]
    for title in (part.title for part in module.POINTS):
        if title not in rights:
            if not any(rights <= earned and title not in earned for earned in all_earned):
                yield f"'{title}' proves nothing: no wrong answer has right results and misses it"
        elif not any(
            rights - earned == {title} or title in earned and rights - earned
            for earned in all_earned
        ):
            yield f"'{title}' proves nothing: no wrong answer misses it, or earns it, alone"
    if hasattr(module, "bound"):
        caught = [v for v, earned in zip(wrong, all_earned) if earned != most]
        if all(_earned(module, cases, v.with_slack) != most for v in caught):
            yield f"the bound proves nothing: no wrong answer would pass with {SLACK} times as much"


def _lenient(module, cases, good):
    """The counts that would hold for much worse answers than those that are right: none of these
    misses one if any figure of its counts is twice or half as large, or 0. What looks at no figure
    asks for blocks or threads alone."""
    for part in (part for part in module.POINTS if isinstance(part, api.Count)):
        if part.loose:
            continue
        counted = [
            (version.found[case.name][1], case)
            for version in good
            for case in judging.cases_of(part, cases)
            if case.name in version.found and not _holds(part, {}, case)
        ]
        changed = ((other, case) for counts, case in counted for other in _changed(counts))
        if counted and all(_holds(part, *each) for each in changed):
            yield f"'{part.title}' is too lenient: whoever needs twice as much earns it"


def _holds(part, counts, case):
    try:
        return part.holds(counts, case)
    except Exception:  # as in judging.outcome()
        return False


def _changed(counts):
    """These counts with one figure, or that of all places, twice or half as large, or 0."""
    for factor in (2, 0.5, 0):
        for key, value in counts.items():
            if isinstance(value, dict):
                for changed in _changed(value):
                    yield {**counts, key: changed}
            elif isinstance(value, (int, float)):
                yield {**counts, key: factor * value if value else 1}
        moved = {key: factor * counts[key] for key in counts if re.search(MOVED, key)}
        yield {**counts, **moved}
        for names in (("wavefronts", "conflict_degree"), ("requests",), ("lanes",)):
            scaled = lambda site: {k: factor * site[k] for k in names if k in site}
            yield {**counts, "sites": [{**s, **scaled(s)} for s in counts.get("sites", [])]}


def _right_points(module, verdict):
    parts = zip(module.POINTS, verdict.outcomes)
    return sum(outcome.points for part, outcome in parts if isinstance(part, api.Right))


def _why(verdict):
    if verdict.trouble:
        return verdict.trouble
    return "; ".join(f"{o.title}: {o.says or 'earned'}" for o in verdict.outcomes if not o.points)
