"""What the book's pages say of four answers to each exercise: all of it was judged as it stands."""

import sys
import unittest
import unittest.mock

from tool_case import REPOSITORY  # (puts tools/ on the path)

sys.path.insert(0, str(REPOSITORY / "book"))

import outcomes
from exercise import catalog

GUARD = catalog.find(REPOSITORY, "01/guard")


class Kept(unittest.TestCase):
    def test_nothing_has_changed_since_it_was_judged(self):
        kept = outcomes.load()
        exercises = [catalog.find(REPOSITORY, name) for name in kept]
        fresh = lambda exercise: outcomes.is_fresh(outcomes.Answers(exercise), kept[exercise.id])
        old = [exercise.id for exercise in exercises if not fresh(exercise)]
        self.assertEqual(old, [], "book/outcomes.py judges them anew, and keeps it")

    def test_of_four_answers_the_authors_alone_earns_all_points(self):
        kept = outcomes.load()
        self.assertGreaterEqual(len([name for name in kept if name < "07"]), 30)
        for name, entry in kept.items():
            parts = catalog.find(REPOSITORY, name).judge().POINTS
            most = [part.points for part in parts]
            best = [title for title, one in entry["answers"].items() if one["points"] == most]
            self.assertEqual((len(entry["answers"]), best), (4, [outcomes.AUTHORS]), name)
            self.assertIn("counts", entry["answers"][outcomes.AUTHORS], name)


class Digests(unittest.TestCase):
    def setUp(self):
        self.answers = outcomes.Answers(GUARD)
        self.titles = [outcomes.AUTHORS, "no guard"]
        self.before = self.answers.digest(self.titles)

    def with_judge(self, old, new):
        """The digest if the judge were another one."""
        read = outcomes.cli.read_text
        changed = lambda path: read(path).replace(old, new)
        with unittest.mock.patch.object(outcomes.cli, "read_text", changed):
            return self.answers.digest(self.titles)

    def test_what_is_asked_changes_it_and_other_answers_do_not(self):
        self.assertEqual(self.with_judge("guard one too far", "another"), self.before)
        self.assertNotEqual(self.with_judge("5 * BLOCK + 1", "5 * BLOCK + 2"), self.before)

    def test_an_answer_changes_it(self):
        self.answers.wrong = {**self.answers.wrong, "no guard": {1: "return;"}}
        self.assertNotEqual(self.answers.digest(self.titles), self.before)

    def test_an_answer_that_is_gone_is_not_fresh(self):
        kept = outcomes.load()["01/guard"]
        self.assertTrue(outcomes.is_fresh(self.answers, kept))
        gone = list(kept["answers"])[-1]
        self.answers.wrong = {t: c for t, c in self.answers.wrong.items() if t != gone}
        self.assertFalse(outcomes.is_fresh(self.answers, kept))
        self.answers.wrong = {}  # as in a copy for students
        self.assertIsNone(self.answers.gap())
        self.assertFalse(outcomes.is_fresh(self.answers, kept))


class Choice(unittest.TestCase):
    def test_one_that_misses_a_count_and_then_one_of_each_kind(self):
        titles = ["a", "b", "before: c", "d", "e"]
        says = {"a": "1 of 2 wrong", "b": "y was never written", "before: c": ""}
        says |= {"d": "race: two", "e": "deadlock: all"}
        one = lambda title: outcomes.Judged(None, {}, {"n = 1": says[title]})
        asked = []
        judge = lambda title: asked.append(title) or one(title)
        answers = outcomes.Answers(GUARD)
        answers.wrong = {title: {1: "return;"} for title in titles}
        self.assertEqual(outcomes.chosen(answers, [1], judge), ["before: c", "a", "d"])
        self.assertNotIn("e", asked)  # three kinds were found before

    def test_kinds_of_mistakes(self):
        for says, kind in (
            ("out-of-bounds: out-of-bounds read of 4 bytes\nat a.cuh:9", "out-of-bounds"),
            ("wrote past the end of y, 4 bytes beyond its 9 elements", "stray write"),
            ("no end after 6 s of work: an endless loop?", "endless loop"),
            ("no end within 1024 MB of memory: an endless loop?", "endless loop"),
            ("it crashed (Segmentation fault)", "stopped"),
            ("1 of 9 wrong, the first is y[8]: expected 1, got 2", "wrong result"),
        ):
            self.assertEqual(outcomes.kind(says), kind)


if __name__ == "__main__":
    unittest.main()
