"""A release holds the exercises and none of their solutions."""

import contextlib
import io
import json
import os
import shutil
import subprocess
import unittest
import zipfile

from tool_case import REPOSITORY, ToolCase

from exercise import catalog, gradescope, release, skeleton
from exercise.catalog import ExerciseError

JUDGE = '''\
"""A judge."""

TITLE = "t"
#@ hidden
_HARD = [1 << 20]
#@ end


def cases(random):
    yield _size()
    #@ hidden
    yield from _HARD
    #@ end


def _size():
    return 1


_BODY = _part() + "x"


def _part():
    return "y[i] = x[i] + y[i];"


MUTANTS = {
    "wrong": {1: _BODY},
}
'''


class Judges(unittest.TestCase):
    def test_hidden_cases_and_wrong_answers_go_with_what_only_they_used(self):
        text = release.without_answers(JUDGE)
        for word in ("hidden", "_HARD", "MUTANTS", "_BODY", "_part"):
            self.assertNotIn(word, text)
        for word in ("TITLE", "def cases", "def _size", "yield _size()"):
            self.assertIn(word, text)


class Releases(ToolCase):
    def setUp(self):
        super().setUp()
        for chapter, name in (("01_vector_add", "01_guard"), ("05_reduction", "01_tree")):
            folder = f"{chapter}/exercises/{name}"
            compiled = shutil.ignore_patterns("__pycache__")
            shutil.copytree(REPOSITORY / folder, self.root / folder, ignore=compiled)
        self.write("tools/some.py", "pass\n")
        self.write("tests/tools/test_exercise.py", "pass\n")
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"]):
            who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
            subprocess.run(["git", "-C", str(self.root), *who, *words], check=True)
        self.out = self.root.parent / "out"

    def release(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            status = release.release(self.root, self.out)
        return status, out.getvalue()

    def commit(self):
        who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        for words in (["add", "-A"], ["commit", "-qm", "more"]):
            subprocess.run(["git", "-C", str(self.root), *who, *words], check=True)

    def test_students_get_tasks_hints_and_skeletons_and_no_solutions(self):
        self.assertIn("2 exercises, no solution among them", self.release()[1])
        self.assertFalse((self.out / "tests/tools/test_exercise.py").exists())
        for ours, theirs in zip(
            catalog.all_exercises(self.root), catalog.all_exercises(self.out), strict=True
        ):
            ours, theirs = (e.author_file.read_text(encoding="utf-8") for e in (ours, theirs))
            self.assertEqual(skeleton.skeleton(ours, "a"), skeleton.skeleton(theirs, "a"))
            self.assertFalse(any(task.solution for task in skeleton.tasks(theirs, "a")))
            self.assertTrue(all(task.hints for task in skeleton.tasks(theirs, "a")))

    def test_it_says_of_which_commit_it_is(self):
        self.release()
        self.assertRegex((self.out / "VERSION").read_text(), r"^students' copy of \w{40}, \d{4}-")

    def test_a_week_has_a_handout(self):
        self.write(
            "exercises.md",
            """
            | week | read | lab | hand in |
            |---|---|---|---|
            | 1 | [01](01_vector_add/README.md) | `01/guard` | `05/tree` |

            | chapter | you can |
            |---|---|
            | 01 | add |
            | 05 | reduce |
            """,
        )
        self.commit()
        self.release()
        text = (self.out / "handouts/week_01.md").read_text()
        self.assertIn("Read [01](../01_vector_add/README.md). After it you can\n\n- add\n", text)
        self.assertIn("| lab | [`01/guard`](../01_vector_add/exercises/01_guard/task.md) |", text)
        self.assertIn("| hand in | [`05/tree`]", text)
        self.assertEqual(len(list((self.out / "handouts").iterdir())), 1)

    def test_a_zip_for_gradescope_grades_what_its_folder_holds(self):
        """As their image would: unpacked, set up, and called for a submission. simt is
        this repository's, so that it is built already; and there is no bwrap."""
        shutil.copy2(REPOSITORY / "exercise", self.root)
        self.commit()
        course = self.root.parent / "course.py"
        course.write_text('DUE = {"01/guard": "2001-01-01 00:00"}\n')
        guard, out = catalog.find(self.root, "guard"), self.root.parent / "autograder.zip"
        (self.root / "new").touch()
        with self.assertRaisesRegex(ExerciseError, "commit your changes"):
            gradescope.make(self.root, [guard], out, course)
        (self.root / "new").unlink()
        with contextlib.redirect_stdout(io.StringIO()):  # nothing was left behind
            gradescope.make(self.root, [guard], out, course)
        with self.assertRaisesRegex(ExerciseError, "is there already"):
            gradescope.make(self.root, [guard], out)
        home = self.root.parent / "autograder"
        with zipfile.ZipFile(out) as archive:
            for each in archive.infolist():
                path = archive.extract(each, home / "source")
                os.chmod(path, each.external_attr >> 16)
        shutil.rmtree(home / "source/course/tools")
        for name in ("simt", "common"):
            (home / "source/course" / name).symlink_to(REPOSITORY / name)
        shutil.copytree(REPOSITORY / "tools", home / "source/course/tools")
        processes = home / "source/course/tools/exercise/processes.py"
        text = processes.read_text().replace('("bwrap", ', '("no-bwrap", ')
        processes.write_text(text)
        (home / "submission").mkdir()
        text = skeleton.solution(guard.author_file.read_text(), "a").replace("i < n", "i < n - 1")
        (home / "submission/guard.cuh").write_text(text)
        self.root.parent.chmod(0o755)
        simt = os.environ.get("SIMT_BUILD", REPOSITORY / "build/simt")
        env = {**os.environ, "AUTOGRADER": str(home), "SIMT_BUILD": str(simt)}
        for script in ("setup.sh", "run_autograder"):
            words = [home / "source" / script]
            done = subprocess.run(words, env=env, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        result = json.loads((home / "results/results.json").read_text())
        self.assertEqual([test["max_score"] for test in result["tests"]], [2, 3, 1])
        self.assertEqual(result["score"], 0)
        self.assertIn("is as it was before", result["tests"][1]["output"])
        self.assertIn("late", done.stdout)

    def test_of_an_autograder_nothing_runs_without_walls_unless_none_are_to_be_had(self):
        home, script = self.root / "autograder", self.root / "run_autograder"
        (home / "submission").mkdir(parents=True)
        self.executable(script, gradescope.RUN.partition("\n")[2].replace("@IDS@", "01/guard"))
        exercise = """
            echo "$@" >> "$AUTOGRADER/asked"
            [[ $* == *--no-sandbox ]] || exit @STATUS@
            mkdir -p "${4%/in}/out/students/student"
            touch "${4%/in}/out/students/student/results.json"
        """
        for status, asked in ((1, 1), (2, 1), (3, 2), (137, 1)):
            (home / "asked").unlink(missing_ok=True)
            course = home / "source/course/exercise"
            self.executable(course, exercise.replace("@STATUS@", str(status)))
            words = ["bash", script]
            env = {**os.environ, "AUTOGRADER": str(home)}
            done = subprocess.run(words, env=env, capture_output=True)
            lines = (home / "asked").read_text().splitlines()
            self.assertEqual((len(lines), done.returncode == 0), (asked, status == 3), status)

    def test_a_solution_that_stands_somewhere_else_is_found(self):
        with (self.root / "05_reduction/exercises/01_tree/task.md").open("a") as file:
            file.write("Write `if (t < half) part[t] += part[t + half];` in a loop.\n")
        self.commit()
        with self.assertRaisesRegex(ExerciseError, "is no release: it holds 1 lines"):
            self.release()

    def test_a_whole_task_in_the_students_file_of_another_exercise_is_found(self):
        text = catalog.find(self.root, "guard").author_file.read_text(encoding="utf-8")
        body = skeleton.tasks(text, "a")[0].solution
        with catalog.find(self.root, "tree").author_file.open("a") as file:
            file.write("".join(f"{line}  // as it is\n\n" for line in body))
        self.commit()
        with self.assertRaisesRegex(ExerciseError, "is no release: it holds 1 lines"):
            self.release()

    def test_a_whole_task_in_a_tool_is_found(self):
        text = catalog.find(self.root, "tree").author_file.read_text(encoding="utf-8")
        solution = skeleton.tasks(text, "a")[0].solution
        (self.root / "tools/some.py").write_text("\n".join(solution), encoding="utf-8")
        self.commit()
        with self.assertRaisesRegex(ExerciseError, "it holds [23] lines"):
            self.release()

    def test_nothing_is_written_over_and_nothing_uncommitted_is_given_out(self):
        self.out.mkdir()
        (self.out / "mine").touch()
        with self.assertRaisesRegex(ExerciseError, "is not empty"):
            self.release()
        (self.out / "mine").unlink()
        (self.root / "tools/some.py").write_text("changed\n", encoding="utf-8")
        with self.assertRaisesRegex(ExerciseError, "commit your changes first"):
            self.release()


if __name__ == "__main__":
    unittest.main()
