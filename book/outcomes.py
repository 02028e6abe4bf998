#!/usr/bin/env python3
"""Keeps what the judge says of four answers to each exercise, from which a reader of its page picks
one: the author's, and three of the wrong ones that judge.py names. To judge them all takes many
minutes, so outcomes.json keeps it, with a digest of the answers and of what the judge asks. What
has another digest by now is not shown. Its counts are simt's.

  book/outcomes.py                    judges what has changed since it was kept, and keeps it
  book/outcomes.py 03/coalesced ...   judges these anew, and keeps it
  book/outcomes.py --prove [ID...]    judges these, or all, anew: is it what is kept?
"""

import ast
import collections
import hashlib
import itertools
import json
import math
import re
import sys
import tempfile
import textwrap
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import cli  # noqa: E402
import json_lines  # noqa: E402
from exercise import api, building, catalog, judging, rules, running, skeleton  # noqa: E402
from exercise.catalog import ExerciseError  # noqa: E402

FILE = "book/outcomes.json"
LAYOUT = {"exercises": {"answers": {}}}
AUTHORS = "the author's"
HANGS = ("deadlock", "endless loop")
WRONG = 3  # answers beside the author's
MOST_LINES = 14  # of an answer that is read at a glance
MOST_JUDGED = 5  # wrong answers of an exercise, from which three are chosen
# Of simt's counters those that a page shows: of global and of shared memory, and of all.
COUNTERS = {
    "global": ("load_requests", "load_sectors", "store_requests", "store_sectors"),
    "shared": ("load_requests", "load_wavefronts", "store_requests", "store_wavefronts"),
}
ALL = ("blocks", "threads", "barriers", "divergent_branches")


class Answers:
    """All answers to one gap of an exercise: a task, or a few, of which each changes some."""

    def __init__(self, exercise):
        self.exercise, self.module = exercise, exercise.judge()
        self.name, self.text = exercise.author_file.name, cli.read_text(exercise.author_file)
        self.tasks = {task.number: task for task in skeleton.tasks(self.text, self.name)}
        self.wrong = getattr(self.module, "MUTANTS", {})  # a copy for students has none

    def gap(self):
        """The numbers of its tasks: as few as there can be, with enough wrong answers that change
        no other. None if there is no gap, or none that is short."""
        numbers = sorted(self.tasks)
        for count in (1, 2):
            gaps = list(itertools.combinations(numbers, count))
            wrong = {gap: len(self.inside(gap)) for gap in gaps}
            best = max(gaps, key=wrong.get, default=None)
            if best and wrong[best] >= WRONG and self.lines(best, AUTHORS) <= MOST_LINES:
                return best
        return None

    def inside(self, gap):
        """The titles of the wrong answers that change this gap alone, and are short there."""
        return [
            title
            for title, change in self.wrong.items()
            if set(change) <= set(gap) and self.lines(gap, title) <= MOST_LINES
        ]

    def lines(self, gap, title):
        return sum(len(code.splitlines()) for _, code in self.code(gap, title))

    def code(self, gap, title):
        """[task, code] of an answer, for each task of the gap."""
        change = {} if title == AUTHORS else self.wrong[title]
        said = lambda number: change.get(number, "\n".join(self.tasks[number].solution))
        return [[number, textwrap.dedent(said(number)).strip("\n")] for number in gap]

    def file(self, title):
        """The whole of a student's file with that answer."""
        change = {} if title == AUTHORS else self.wrong[title]
        return skeleton.mutant(self.text, self.name, change)

    def digest(self, titles):
        """Changes with these answers, and with what the judge asks; no other wrong answer."""
        judge = cli.read_text(self.exercise.folder / "judge.py")
        lines = judge.splitlines()
        for node in reversed(ast.parse(judge).body):
            names = [getattr(target, "id", "") for target in getattr(node, "targets", [])]
            if {"MUTANTS", "RIGHTS"} & set(names):
                del lines[node.lineno - 1 : node.end_lineno]
        asked = [line for line in lines if line.strip()]
        words = [asked, self.exercise.frame, *map(self.file, titles)]
        return hashlib.sha256(repr(words).encode()).hexdigest()[:16]


def load():
    path = ROOT / FILE
    return json.loads(cli.read_text(path))["exercises"] if path.exists() else {}


def is_fresh(answers, kept):
    titles = list(kept["answers"]) if kept else []
    known = {AUTHORS, *answers.wrong}
    return bool(titles) and known >= set(titles) and answers.digest(titles) == kept["digest"]


def of(exercise, kept):
    """What the exercise's page shows; None where nothing is kept, or something else was judged."""
    answers = Answers(exercise)
    if not is_fresh(answers, kept):
        return None
    gap = kept["gap"]
    shown = [
        {
            "title": title,
            "code": answers.code(gap, title),
            "lines": answers.file(title).splitlines(),
            **outcome,
        }
        for title, outcome in kept["answers"].items()
    ]
    # Which place the right one has is drawn, the same one in every build.
    shown.sort(key=lambda each: hashlib.sha256(str(each["code"]).encode()).digest())
    parts = [[part.title, part.points] for part in answers.module.POINTS]
    tasks = [[number, answers.tasks[number].text] for number in gap]
    return {"case": kept["case"], "tasks": tasks, "parts": parts, "answers": shown}


@dataclass
class Judged:
    """What came of one answer."""

    verdict: judging.Verdict
    runs: dict  # by the case's name
    says: dict  # what is wrong there, if anything is


def judged(answers, title, questions):
    with tempfile.TemporaryDirectory(prefix="outcomes-") as folder:
        file, program = Path(folder, answers.name), Path(folder, "program")
        file.write_text(answers.file(title), encoding="utf-8")
        rules.look_at(file, answers.exercise)
        building.build(ROOT, answers.exercise, file, program)
        runs, says = {}, {}

        def run(case, settings):
            # Which cases are run may not depend on how long they take.
            for name, mistake in says.items():
                if kind(mistake) in HANGS:
                    return running.Run(f"not run, for {name} had failed")
            runs[case.name] = running.run_case(program, case, settings=settings)
            says[case.name] = questions.says(case, runs[case.name])
            return runs[case.name]

        with mock.patch.object(judging, "PATIENCE", math.inf):
            return Judged(judging.mark(questions, run, workers=1), runs, says)


def kind(says):
    """What sort of mistake it is, in the judge's words."""
    named = re.match(r"([a-z]+(?:-[a-z]+)*): ", says)
    if named:
        return named[1]
    if says.startswith("no end "):
        return "endless loop"
    if re.match(r"it (crashed|stopped|ended)", says):
        return "stopped"
    if re.match(r"wrote .*\b(before the start|past the end) of|input ", says):
        return "stray write"
    return "wrong result"


def kinds(one):
    """{mistake: cases with it}"""
    return dict(collections.Counter(kind(says) for says in one.says.values() if says))


def chosen(answers, gap, judge):
    """The titles of three wrong answers that fail in as many ways as there are: one that is right
    and misses a count, if there is any, and then one of each kind, in judge.py's order."""
    ways = {}
    inside = sorted(answers.inside(gap), key=lambda title: not title.startswith("before: "))
    for title in inside[:MOST_JUDGED]:
        found = kinds(judge(title))
        ways[title] = max(found, key=found.get, default="")
        if len(set(ways.values())) == WRONG:
            break
    first = {way: title for title, way in reversed(ways.items())}
    picked = [title for title in ways if title in first.values()]
    return [*picked, *(title for title in ways if title not in picked)][:WRONG]


def counted_case(answers, cases, found):
    """The name of the case whose counts a page shows: of those that are counted for points the one
    in which as many of the answers as can be are right, and the author's moves most."""

    def most(name):
        right = sum(not one.says.get(name, "not run") for one in found.values())
        return right, sum(shown_counts(found[AUTHORS].runs[name].counts).values())

    parts = [part.case for part in answers.module.POINTS if isinstance(part, api.Count)]
    is_counted = lambda case, part: part(case) if callable(part) else part == case.name
    counted = [case.name for case in cases if any(is_counted(case, part) for part in parts)]
    return max(counted or [case.name for case in cases], key=most)


def shown_counts(counts):
    """Those counters of a run that a page shows."""
    found = {
        f"{memory}_{name}": counts[memory][name]
        for memory, names in COUNTERS.items()
        for name in names
        if counts.get(memory, {}).get(name)
    }
    return {**found, **{name: counts[name] for name in ALL if counts.get(name)}}


def outcome(one, case):
    """What is kept of one answer."""
    kept = {
        "points": [part.points for part in one.verdict.outcomes],
        "says": [part.says for part in one.verdict.outcomes],
        "cases": len(one.says),
        "wrong": kinds(one),
    }
    if not one.says.get(case, "not run"):
        kept["counts"] = shown_counts(one.runs[case].counts)
    return kept


def entry(answers, gap, titles=None):
    """The entry of an exercise: these answers, judged; without titles those that are chosen."""
    questions, found = judging.Questions(answers.module, 0), {}

    def judge(title):
        if title not in found:
            found[title] = judged(answers, title, questions)
        return found[title]

    if not judge(AUTHORS).verdict.passed:
        raise ExerciseError(f"{answers.exercise.id}: the author's answer does not pass")
    titles = titles or [AUTHORS, *chosen(answers, gap, judge)]
    found = {title: judge(title) for title in titles}
    case = counted_case(answers, questions.cases, found)
    return {
        "digest": answers.digest(titles),
        "gap": list(gap),
        "case": case,
        "answers": {title: outcome(one, case) for title, one in found.items()},
    }


def keep(exercises):
    """Judges these, and keeps each at once."""
    for exercise in exercises:
        answers = Answers(exercise)
        gap = answers.gap()
        if gap is None:
            print(f"{exercise.id:<20} no gap with {WRONG} short wrong answers", flush=True)
            continue
        made = entry(answers, gap)
        with cli.alone_in((ROOT / FILE).parent):
            kept = {**load(), exercise.id: made}
            known = [each.id for each in catalog.all_exercises(ROOT)]
            data = {"exercises": {name: kept[name] for name in known if name in kept}}
            cli.write_text(ROOT / FILE, json_lines.text(data, LAYOUT))
        print(f"{exercise.id:<20} {', '.join(list(made['answers'])[1:])}", flush=True)


def prove(exercises):
    """Judges these anew; returns how many are not as they are kept."""
    kept, bad = load(), 0
    for exercise in exercises:
        answers, before = Answers(exercise), kept.get(exercise.id)
        if before is None and answers.gap() is None:
            print(f"ok    {exercise.id}: no gap with {WRONG} short wrong answers, none is shown")
            continue
        if not is_fresh(answers, before):
            print(f"FAIL  {exercise.id}: changed since it was judged (book/outcomes.py)")
            bad += 1
            continue
        now = entry(answers, before["gap"], list(before["answers"]))
        bad += now != before
        print(f"{'ok  ' if now == before else 'FAIL'}  {exercise.id}", flush=True)
        if now["case"] != before["case"]:
            print(f"      counted at {before['case']}, and now at {now['case']}")
        for title in before["answers"]:
            if now["answers"][title] != before["answers"][title]:
                print(f"      '{title}' was kept as {before['answers'][title]}")
                print(f"      '{title}' is now     {now['answers'][title]}")
    return bad


def main():
    parser = cli.Parser(__doc__)
    parser.add_argument("--prove", action="store_true", help="judge anew, and keep nothing")
    parser.add_argument("exercises", nargs="*", metavar="ID", help="03/coalesced")
    args = parser.parse_args()
    kept = load()
    try:
        if args.exercises:
            named = [each for name in args.exercises for each in catalog.find_all(ROOT, name)]
        elif args.prove:
            named = [catalog.find(ROOT, name) for name in kept]
        else:
            every = catalog.all_exercises(ROOT)
            named = [e for e in every if not is_fresh(Answers(e), kept.get(e.id))]
        building.prepare(ROOT)
        return min(1, prove(named)) if args.prove else keep(named)
    except ExerciseError as error:
        print(f"outcomes.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    cli.run(main)
