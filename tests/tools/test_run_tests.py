"""run_tests.sh adds up what test programs say, and lets nothing pass that did not."""

import os
import subprocess
import time
import unittest

from tool_case import TOOLS, ToolCase


class RunTests(ToolCase):
    def program(self, name, *lines, status=0):
        script = "".join(f"echo '{line}'\n" for line in lines) + f"exit {status}\n"
        return self.executable(self.root / name, script)

    def module(self, name, *tests):
        body = "".join(f"  def test_{i}(self): {test}\n" for i, test in enumerate(tests))
        text = (
            f"import unittest\nclass T(unittest.TestCase):\n{body or '  pass'}\nunittest.main()\n"
        )
        (self.root / name).write_text(text, encoding="utf-8")
        return self.root / name

    def test_output_that_cannot_be_written_is_no_success(self):
        good = self.program("good", "2 passed, 0 failed, 0 skipped")
        with open("/dev/full", "w") as full:
            command = ["/bin/bash", TOOLS / "run_tests.sh", good]
            result = subprocess.run(command, stdout=full, stderr=subprocess.DEVNULL)
        self.assertEqual(result.returncode, 1)

    def last_line(self, *programs, status=0):
        return self.run_tool("run_tests.sh", *programs, status=status).stdout.splitlines()[-1]

    def test_counts_are_added_up(self):
        a = self.program("a", "noise", "2 passed, 0 failed, 1 skipped")
        b = self.program("b", "3 passed, 0 failed, 0 skipped")
        self.assertEqual(self.last_line(a, b), "5 passed, 0 failed, 1 skipped")

    def test_only_a_failing_program_shows_its_output(self):
        good = self.program(
            "good", "quiet", "skipped 1: needs a GPU", "1 passed, 0 failed, 1 skipped"
        )
        bad = self.program("bad", "the reason", "1 passed, 2 failed, 0 skipped", status=1)
        out = self.run_tool("run_tests.sh", good, bad, status=1).stdout
        self.assertIn("the reason", out)
        self.assertNotIn("quiet", out)
        self.assertIn("    skipped 1: needs a GPU", out)
        self.assertTrue(out.endswith("2 passed, 2 failed, 1 skipped\n"))

    def test_a_crash_is_a_failure(self):
        before = self.program("before", "starting", status=139)
        after = self.program("after", "4 passed, 0 failed, 0 skipped", status=1)
        self.assertEqual(self.last_line(before, status=1), "0 passed, 1 failed, 0 skipped")
        self.assertEqual(self.last_line(after, status=1), "4 passed, 1 failed, 0 skipped")

    def test_a_program_that_says_nothing_or_is_not_there(self):
        good = self.program("good", "1 passed, 0 failed, 0 skipped")
        for mute in (self.program("mute"), self.program("empty", "0 passed, 0 failed, 0 skipped")):
            self.assertEqual(self.last_line(good, mute, status=1), "1 passed, 1 failed, 0 skipped")
        self.assertEqual(
            self.last_line(self.root / "gone", status=1), "0 passed, 1 failed, 0 skipped"
        )

    def test_nothing_to_run_is_no_success(self):
        self.assertEqual(self.last_line(status=1), "0 passed, 0 failed, 0 skipped")

    def test_python_modules(self):
        good = self.module("good.py", "pass", "self.skipTest('no')")
        bad = self.module("bad.py", "pass", "self.fail()", "1 / 0")
        self.assertEqual(self.last_line(good), "1 passed, 0 failed, 1 skipped")
        self.assertEqual(self.last_line(good, bad, status=1), "2 passed, 2 failed, 1 skipped")
        broken = self.root / "broken.py"
        broken.write_text("import nothing_of_that_name\n", encoding="utf-8")
        self.assertEqual(self.last_line(broken, status=1), "0 passed, 1 failed, 0 skipped")

    def test_programs_and_modules_run_side_by_side(self):
        program = self.executable(
            self.root / "program",
            f"until [ -e {self.root}/module_is_here ]; do sleep 0.01; done\n"
            f"touch {self.root}/program_is_here\necho '2 passed, 0 failed, 0 skipped'\n",
        )
        module = self.root / "module.py"
        module.write_text(
            "import pathlib, time, unittest\n"
            f"root = pathlib.Path({str(self.root)!r})\n"
            "class T(unittest.TestCase):\n"
            "  def test(self):\n"
            "    (root / 'module_is_here').touch()\n"
            "    while not (root / 'program_is_here').exists(): time.sleep(0.01)\n"
            "unittest.main()\n",
            encoding="utf-8",
        )
        self.assertEqual(self.last_line(program, module), "3 passed, 0 failed, 0 skipped")

    def test_lost_counts_are_failures(self):
        good = self.program("good", "1 passed, 0 failed, 0 skipped")
        thief = self.executable(
            self.root / "thief", "rm $TMPDIR/*/*.counts\necho '4 passed, 0 failed, 0 skipped'\n"
        )
        out = self.run_tool("run_tests.sh", good, thief, status=1, TMPDIR=str(self.root)).stdout
        self.assertTrue(out.endswith("4 passed, 1 failed, 0 skipped\n"), out)

    def test_the_end_of_all_is_the_end_of_modules(self):
        module = self.root / "sleeper.py"
        pid = self.root / "pid"
        module.write_text(
            f"import os, time\nopen({str(pid)!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)\n",
            encoding="utf-8",
        )
        tests = subprocess.Popen(
            ["/bin/bash", TOOLS / "run_tests.sh", module],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while not (pid.exists() and pid.read_text()):
            time.sleep(0.01)
        tests.terminate()
        tests.wait(20)
        sleeper = int(pid.read_text())
        for _ in range(500):
            try:
                os.kill(sleeper, 0)
            except ProcessLookupError:
                return
            time.sleep(0.01)
        self.fail("a module goes on")


if __name__ == "__main__":
    unittest.main()
