"""Grades as files: grades.csv, table.csv and similar.csv for all; for each student, under
students/, grade.json, junit.xml, and results.json in Gradescope's form."""

import csv
import io
import json
import os
from dataclasses import asdict, dataclass, field
from xml.etree import ElementTree

import cli

from . import judging
from .catalog import ExerciseError

MOST_LETTERS = 2000


def plain(text):
    """What came out of a student's process, without letters that steer a terminal or that XML does
    not know."""
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in text[:MOST_LETTERS])


def shown(name):
    """The name of a folder, whatever its bytes are: what cannot be shown is spelled, \\udcff."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in name)


@dataclass
class Grade:
    """What one file has earned."""

    exercise: str
    title: str
    most: int
    status: str = "missing"  # or passed, wrong, refused, error
    says: str = ""
    parts: list = field(default_factory=list)
    sha256: str = ""
    seed: int = 0
    commit: str = ""
    late: str = ""  # "3 h 5 min"

    @property
    def points(self):
        return sum(part.points for part in self.parts)

    @property
    def why(self):
        """What is wrong first, in a line."""
        says = next((part.says for part in self.parts if part.points < part.most), "")
        first, _, more = (self.says or says).partition("\n")
        return f"{first} {more.strip()}".partition("\n")[0] if first.endswith(":") else first

    @staticmethod
    def of(record):
        """From what record() made of it."""
        parts = [judging.Outcome(**part) for part in record["parts"]]
        names = ("exercise", "title", "most", "status", "says", "sha256", "seed", "commit", "late")
        return Grade(**{name: record[name] for name in names}, parts=parts)

    def record(self):
        return {**asdict(self), "points": self.points}


class Book:
    """The grades in a folder. What was entered is on disk."""

    def __init__(self, out, seed=None):
        self.out, self.about, self.seed = out, out / "grading.json", seed
        if out.exists() and not self.about.exists() and any(out.iterdir()):
            raise ExerciseError(f"{out} is not empty, and holds no grades to go on with")
        if self.about.exists():
            self.seed = json.loads(cli.read_text(self.about))["seed"]
            if seed not in (None, self.seed):
                raise ExerciseError(f"{out} was begun with seed {self.seed}, not {seed}")
        self.grades = {}  # by student, by exercise

    def open(self, seed):
        """Begins, or goes on. Whatever cannot be written is known before anything is graded."""
        cli.write_text(self.about, json.dumps({"schema": 2, "seed": seed}) + "\n")
        (self.out / "students").mkdir(exist_ok=True)
        for folder in sorted((self.out / "students").iterdir(), key=lambda p: os.fsencode(p.name)):
            try:
                records = json.loads(cli.read_text(folder / "grade.json"))["exercises"]
                grades = [Grade.of(record) for record in records]
            except (OSError, ValueError, LookupError, TypeError):
                continue  # it is graded anew
            self.grades[folder.name] = {grade.exercise: grade for grade in grades}

    def of(self, student):
        return list(self.grades.get(student, {}).values())

    def enter(self, student, grades):
        own = self.grades.setdefault(student, {})
        own.update({grade.exercise: grade for grade in grades})
        self.grades[student] = own = dict(sorted(own.items()))
        grades, folder = list(own.values()), self.out / "students" / student
        cli.write_text(folder / "results.json", _gradescope(grades))
        cli.write_text(folder / "junit.xml", _junit(shown(student), grades))
        cli.write_text(folder / "grade.json", _json(student, grades))
        cli.write_text(self.out / "grades.csv", _csv(self.grades))
        cli.write_text(self.out / "table.csv", _table(self.grades))

    def enter_alike(self, pairs):
        rows = [
            [name, _cell(shown(a)), _cell(shown(b)), f"{share:.0%}"] for name, a, b, share in pairs
        ]
        head = ["exercise", "student", "student", "share"]
        cli.write_text(self.out / "similar.csv", _rows([head, *rows]))

    def errors(self):
        return [g for own in self.grades.values() for g in own.values() if g.status == "error"]

    def summary(self, students, exercises, astray, others):
        """Lines about what was not found. astray: by student, files that lie in the wrong place;
        others: what lies beside the students' folders."""
        text = ""
        for student in students:
            own = self.grades[student]
            missing = [name for name in exercises if own[name].status == "missing"]
            which = " ".join(missing)
            if len(missing) == len(exercises) > 1:
                which = f"any of the {len(exercises)} exercises"
            if missing:
                text += f"{shown(student)}: no file found for {which}\n"
            for path in astray[student]:
                text += f"{shown(student)}: {shown(path)} is not where it should be\n"
        if others:
            text += f"no students: {', '.join(map(shown, others))}\n"
        return text


def _total(grades):
    return sum(grade.points for grade in grades), sum(grade.most for grade in grades)


def _cell(text):
    """Text that no spreadsheet takes for a formula."""
    return f"'{text}" if text[:1] in tuple("=+-@") else text


def _rows(rows):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _table(by_student):
    """A row a student, a column an exercise; empty where nothing was handed in."""
    names = sorted({name for own in by_student.values() for name in own})
    rows = [["student", *names, "sum"]]
    for student in sorted(by_student, key=os.fsencode):
        own = by_student[student]
        found = [own[n].points if n in own and own[n].status != "missing" else "" for n in names]
        rows.append([_cell(shown(student)), *found, sum(filter(None, found))])
    return _rows(rows)


def _csv(by_student):
    rows = [["student", "exercise", "points", "most", "status", "late", "why"]]
    for student in sorted(by_student, key=os.fsencode):
        name, own = _cell(shown(student)), by_student[student].values()
        for grade in own:
            row = [name, grade.exercise, grade.points, grade.most, grade.status]
            rows.append([*row, grade.late, _cell(grade.why)])
        rows.append([name, "all", *_total(own), "", "", ""])
    return _rows(rows)


def _json(student, grades):
    points, most = _total(grades)
    record = {"schema": 2, "student": student, "points": points, "most": most}
    record["exercises"] = [grade.record() for grade in grades]
    return json.dumps(record, indent=1) + "\n"


def _tests(grade):
    """(name, points, most, text) of each part, or of the whole if it was not run."""
    if not grade.parts:
        text = grade.says or grade.status
        return [(f"{grade.exercise} {grade.title}", 0, grade.most, text)]
    return [
        (f"{grade.exercise} {part.title}", part.points, part.most, part.says)
        for part in grade.parts
    ]


def _gradescope(grades):
    tests = [
        {"name": name, "score": points, "max_score": most, "output": text, "visibility": "visible"}
        for grade in grades
        for name, points, most, text in _tests(grade)
    ]
    return json.dumps({"score": _total(grades)[0], "tests": tests}, indent=1) + "\n"


def _junit(student, grades):
    suites = ElementTree.Element("testsuites", name=student)
    for grade in grades:
        tests = _tests(grade)
        failures = sum(points < most for _, points, most, _ in tests)
        suite = ElementTree.SubElement(suites, "testsuite", name=grade.exercise)
        suite.set("tests", str(len(tests)))
        suite.set("failures", str(failures))
        for name, points, most, text in tests:
            case = ElementTree.SubElement(suite, "testcase", classname=student, name=name)
            if points < most:
                message = f"{points} of {most} points"
                ElementTree.SubElement(case, "failure", message=message).text = text
    ElementTree.indent(suites, " ")
    return ElementTree.tostring(suites, encoding="unicode") + "\n"
