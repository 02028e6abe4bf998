"""What ./exercise says, and that it goes on, or ends, as whoever typed it expects."""

import contextlib
import io
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest
from unittest import mock

from tool_case import REPOSITORY, ToolCase

from exercise import catalog, commands, judging, pages, running, screen, skeleton
from exercise.catalog import ExerciseError
from exercise.judging import Outcome, Verdict
from exercise.processes import Done

PASSED = Verdict([Outcome("all", 6, 6)])
WRONG = Verdict([Outcome("all", 0, 6, "n = 1: race: two threads at guard.cuh:3")])


class Screens(unittest.TestCase):
    def test_lines_end_at_a_word(self):
        text = screen.wrapped("  one " + "word " * 30 + "x" * 90, "    ")
        first, *others = text.splitlines()
        self.assertTrue(first.startswith("      one word"))
        self.assertTrue(all(line.startswith("        ") for line in others), text)
        self.assertEqual([line for line in text.splitlines() if len(line) > 80], [others[-1]])

    def test_a_task_is_set_anew_but_for_its_code(self):
        code = "    x = 1 2 3   ->   " + "y" * 90
        text = "# Title\n\nOne line\nand another.\n\n"
        text += f"- {'item ' * 20}\n  goes on\n- next\n\n{code}\n"
        lines = screen.page(text).splitlines()
        self.assertEqual(lines[:4], ["# Title", "", "One line and another.", ""])
        self.assertTrue(lines[5].startswith("  item") and lines[5].endswith("goes on"), lines[5])
        self.assertEqual(lines[6:], ["- next", "", code])

    def test_colour_is_for_terminals_that_know_it(self):
        for is_terminal, term, shown in ((1, "xterm", 1), (1, "dumb", 0), (0, "xterm", 0)):
            out = io.StringIO()
            out.isatty = lambda: bool(is_terminal)
            with mock.patch.dict(os.environ, TERM=term), contextlib.redirect_stdout(out):
                self.assertEqual("\033" in screen.painted("ok", "green"), bool(shown))

    def test_what_takes_long_shows_seconds_and_how_far_on_a_terminal_only(self):
        err = io.StringIO()
        with contextlib.redirect_stderr(err), screen.working("Building") as tell:
            tell("1 of 3")
        self.assertEqual(err.getvalue(), "Building ...\n")
        err = io.StringIO()
        err.isatty = lambda: True
        with mock.patch.dict(os.environ, TERM="xterm"), contextlib.redirect_stderr(err):
            with screen.working("Building") as tell:
                tell("1 of 3")
                time.sleep(0.7)
        self.assertIn("\r\033[KBuilding: 1 of 3, 1 s\r\033[K", err.getvalue())


class Commands(ToolCase):
    """01/guard and 01/copies, judged by nobody: what is said of a file is made up."""

    def setUp(self):
        super().setUp()
        for name in ("01_guard", "02_copies"):
            folder = f"01_vector_add/exercises/{name}"
            shutil.copytree(REPOSITORY / folder, self.root / folder)
        (self.root / "exercises.md").symlink_to(REPOSITORY / "exercises.md")
        self.guard, self.copies = catalog.all_exercises(self.root)
        self.mine = self.write("work/01_vector_add/guard.cuh", "a\nb\n  y[0] += x[i];\n")

    def do(self, command, *arguments, verdict=WRONG):
        """(what it returns, what was printed)"""
        out = io.StringIO()
        judge = verdict if callable(verdict) else lambda *_: verdict
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(out),
            mock.patch.object(judging, "judge", judge),
        ):
            status = command(self.root, *arguments)
        return status, out.getvalue()

    def test_what_is_wrong_is_told_with_its_line_and_where_its_words_are_explained(self):
        status, out = self.do(commands.check, self.guard)
        self.assertEqual(status, 1)
        self.assertIn("guard.cuh:3:\n                 y[0] += x[i];\n", out)
        self.assertIn("exercises.md, The judge's words, explains: race\n", out)

    def test_who_has_passed_hears_how_many_and_what_there_was_to_think_about(self):
        author = self.guard.author_file
        text = author.read_text().replace("  //@ begin", "  //@ answer: because\n  //@ begin", 1)
        author.write_text(text)
        self.assertNotIn("because", skeleton.skeleton(text, "a") + skeleton.solution(text, "a"))
        out = self.do(commands.check, self.guard, verdict=PASSED)[1]
        self.assertIn("you were to think about it: because\n", out)
        self.assertIn("1 of 2 passed\n", out)
        self.assertIn("1 of 2 passed\n", self.do(commands.list_all)[1])

    def test_the_verdict_is_told_where_progress_cannot_be_written(self):
        for damage in (lambda p: p.write_text("{"), lambda p: (p.unlink(), p.mkdir())):
            damage(self.root / "work/progress.json")
            status, out = self.do(commands.check, self.guard, verdict=PASSED)
            self.assertEqual(status, 0)
            self.assertIn("passed: 6/6 points", out)
            self.assertIn("exercise: your progress is not recorded: ", out)

    def test_a_record_of_odd_numbers_is_damaged(self):
        record = self.root / "work/progress.json"
        for text in ('{"01/guard": {"hints": -7}}', "[" * 100_000):
            record.write_text(text)
            with self.assertRaisesRegex(ExerciseError, "is damaged"):
                commands.hint(self.root, self.guard)

    def test_a_students_file_is_a_name_too(self):
        found = catalog.find(self.root, str(self.mine))
        self.assertEqual(found.id, "01/guard")

    def test_nobody_waits_for_what_is_no_plain_file(self):
        self.mine.unlink()
        with self.assertRaisesRegex(ExerciseError, "not started yet"):
            commands.watch(self.root, self.guard)
        os.mkfifo(self.mine)
        with self.assertRaisesRegex(ExerciseError, "work/.*guard.cuh is not a plain file"):
            commands.check(self.root, self.guard)

    def test_watch_goes_on_whatever_an_editor_does_and_then_to_the_next(self):
        """Each sleep is a save: a file that is gone, one that cannot be read, one that passes."""
        steps = iter(
            [
                lambda: self.mine.unlink(),
                lambda: self.mine.write_bytes(b"\xff"),
                lambda: self.mine.write_text("right"),
                lambda: self.root.joinpath("work/01_vector_add/copies.cuh").write_text("right"),
            ]
        )
        stamps = iter(range(1, 9))

        def sleep(_):
            next(steps)()
            for path in self.mine.parent.glob("*.cuh"):
                os.utime(path, ns=(0, next(stamps)))

        def judge(root, exercise, file, seed):
            return PASSED if file.read_text(encoding="utf-8") == "right" else WRONG

        def unreadable(*arguments):
            try:
                return judge(*arguments)
            except UnicodeDecodeError as error:
                raise OSError("not UTF-8") from error

        with mock.patch.object(commands.time, "sleep", sleep):
            status, out = self.do(commands.watch, self.guard, verdict=unreadable)
        self.assertEqual(status, 0)
        self.assertIn("exercise: not UTF-8\n", out)
        self.assertIn("1 of 2 passed\n\n---- 01/copies\n# ", out)
        self.assertTrue(out.endswith("2 of 2 passed\nall passed: nothing is left to do here\n"))

    def test_every_word_of_the_checker_is_explained(self):
        found = pages.words(REPOSITORY)
        for word in ("race", "uninitialized", "never written", "past the end", "sectors", "launch"):
            self.assertIn(word, found)
        self.assertEqual(pages.words(self.root / "work"), [])

    def test_where_simt_cannot_begin_its_own_line_is_told(self):
        said = "simt: cannot reserve addresses for device memory\n"
        self.assertEqual(running._failure(Done(1, said)), f"it stopped: {said.strip()}")
        said = "simt: 0 kernels checked, no errors found\n"
        self.assertIn("ended with status 7 before", running._failure(Done(7, said)))


class CommandLine(ToolCase):
    def test_what_has_no_use_is_one_line_and_2(self):
        for words, says in (
            (["check", "--seed", "7", "01/nosuch"], "there is no exercise '01/nosuch'"),
            (["hint", ""], "there is no exercise ''"),
            (["next", "zzz"], "next has no use for 'zzz'"),
            (["list", "01/guard"], "list has no use for '01/guard'"),
            (["check", "01/guard", "--out", "/x"], "check has no use for --out"),
            (["hint", "01/guard", "zzz"], "'zzz' is no number of a hint"),
        ):
            done = subprocess.run(
                [sys.executable, REPOSITORY / "exercise", *words], capture_output=True, text=True
            )
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assert_one_line(done.stderr, says)

    def test_a_signal_ends_all_that_was_begun_and_leaves_no_folder(self):
        """Here while simt is built, by a compiler that has no end."""
        shutil.copy2(REPOSITORY / "exercise", self.root)
        (self.root / "tools").symlink_to(REPOSITORY / "tools")
        folder = "01_vector_add/exercises/01_guard"
        shutil.copytree(REPOSITORY / folder, self.root / folder)
        shutil.copy2(
            self.root / folder / "guard.cuh", self.write("work/01_vector_add/guard.cuh", "")
        )
        self.executable(self.root / "simt/nvcc", 'sleep 99 & echo $! $$ > "$PIDS"\nsleep 98')
        built = self.root / "simt_build"
        for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            pids = self.root / f"pids-{number}"
            process = subprocess.Popen(
                [sys.executable, self.root / "exercise", "check", "01/guard"],
                env={**os.environ, "PIDS": str(pids), "SIMT_BUILD": str(built)},
                stderr=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
                # Who is started in the background may have to ignore SIGINT.
                preexec_fn=lambda number=number: signal.signal(number, signal.SIG_DFL),
            )
            while not pids.exists() or not pids.read_text().endswith("\n"):
                self.assertIsNone(process.poll())
                time.sleep(0.02)
            process.send_signal(number)
            out, err = process.communicate(timeout=20)
            self.assertEqual(process.returncode, status)
            self.assertNotIn(b"Traceback", err)
            for pid in pids.read_text().split():
                self.assert_ends(pid)
            self.assertEqual(list(built.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
