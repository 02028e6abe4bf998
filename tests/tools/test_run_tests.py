"""run_tests.sh adds up what test programs say, and lets nothing pass that did not."""

import subprocess
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


if __name__ == "__main__":
    unittest.main()
