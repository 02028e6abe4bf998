"""Grades as files: grades.csv for all; for each student grade.json, junit.xml, and results.json in
Gradescope's form."""

import csv
import io
import json
from dataclasses import asdict
from itertools import groupby
from xml.etree import ElementTree

import cli

MOST_LETTERS = 2000


def plain(text):
    """What came out of a student's process, without letters that steer a terminal or that XML does
    not know."""
    letters = (c if c.isprintable() or c == "\n" else "?" for c in text[:MOST_LETTERS])
    return "".join(letters)


def write_all(out, grades, about):
    """about: what holds for all of them, such as the seed."""
    cli.write_text(out / "grades.csv", _csv(grades))
    for student, own in groupby(grades, lambda grade: grade.student):
        own, folder = list(own), out / student
        cli.write_text(folder / "grade.json", _json(student, own, about))
        cli.write_text(folder / "results.json", _gradescope(own))
        cli.write_text(folder / "junit.xml", _junit(student, own))


def _total(grades):
    return sum(grade.points for grade in grades), sum(grade.most for grade in grades)


def _csv(grades):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["student", "exercise", "points", "most", "status", "look at"])
    for student, own in groupby(grades, lambda grade: grade.student):
        own = list(own)
        for grade in own:
            row = [student, grade.exercise, grade.points, grade.most, grade.status]
            writer.writerow([*row, " ".join(grade.odd)])
        writer.writerow([student, "all", *_total(own), "", ""])
    return text.getvalue()


def _json(student, grades, about):
    points, most = _total(grades)
    record = {"schema": 1, "student": student, **about, "points": points, "most": most}
    record["exercises"] = [{**asdict(grade), "points": grade.points} for grade in grades]
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
