"""mutate.py tells a mistake that a test notices from one that it does not, and spoils no source."""

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from tool_case import TOOLS, ToolCase

ADD = "def add(a, b):\n    return a + b\n"
TEST = """
    import os
    import pathlib
    import subprocess
    import sys
    import tempfile
    import time
    sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
    from add import add
    if "-f" not in sys.argv:
        sys.exit("without -f a test goes on after its first failure")
    if "Slow" in sys.argv and add(2, 3) != 5:
        tempfile.mkstemp()
        sleeper = subprocess.Popen(["sleep", "60"])
        pathlib.Path(os.environ["TRIED"]).write_text(str(sleeper.pid))
        pathlib.Path(__file__).with_name("began").touch()
        time.sleep(60)
    sys.exit(0 if "Other" in sys.argv or add(2, 2) == 4 else 1)
"""


class Mutate(ToolCase):
    def setUp(self):
        super().setUp()
        self.write("add.py", ADD)
        self.write("tests/check_add.py", TEST)
        subprocess.run(["git", "init", "-q", self.root], check=True)

    def mutants(self, *entries, case=""):
        text = "What this list is for.\n"
        for title, old, new in entries:
            text += f"\n== {title}\nfile add.py\ntest tests/check_add.py{case}\n"
            text += f"---\n{old}\n+++\n{new}\n"
        self.write("tests/mutants/sums.txt", text)

    def mutate(self, *arguments, status):
        return self.run_tool(
            "mutate.py", "--root", self.root, "--jobs", "1", *arguments, status=status
        )

    def test_a_mistake_that_the_test_notices_is_killed(self):
        self.mutants(("subtracts", "    return a + b", "    return a - b"))
        out = self.mutate(status=0).stdout
        self.assertIn("killed       sums: subtracts (tests/check_add.py)", out)
        self.assertEqual(out.splitlines()[-1].split(), ["all", "1"])
        self.assertEqual(self.read("add.py"), ADD)

    def test_one_that_it_does_not_notice_is_a_failure(self):
        self.mutants(
            ("subtracts", "    return a + b", "    return a - b"),
            ("multiplies", "    return a + b", "    return a * b"),
        )
        out = self.mutate(status=1).stdout
        self.assertIn("not noticed  sums: multiplies", out)
        table = [line.split() for line in out.splitlines()[-3:]]
        self.assertEqual(table[0], ["killed", "not", "noticed"])
        self.assertEqual(table[1:], [["sums", "1", "1"], ["all", "1", "1"]])

    def test_one_that_does_not_build_is_not_killed(self):
        self.fake("make", "grep -q 'a + b' add.py\n")
        self.executable(self.root / "build/checks/add", "exit 0\n")
        entry = "== subtracts\nfile add.py\ntest checks/add\n---\na + b\n+++\na - b\n"
        self.write("tests/mutants/sums.txt", entry)
        self.assertIn("does not build sums: subtracts", self.mutate(status=1).stdout)

    def test_only_the_case_that_is_named_counts(self):
        subtracts = ("subtracts", "    return a + b", "    return a - b")
        self.mutants(subtracts, case=" Sums.test_two")
        out = self.mutate(status=0).stdout
        self.assertIn("sums: subtracts (tests/check_add.py, Sums.test_two)", out)
        self.mutants(subtracts, case=" Other")
        self.assertIn("not noticed  sums: subtracts", self.mutate(status=1).stdout)

    def test_a_test_that_fails_anyway_proves_nothing(self):
        self.write("add.py", ADD.replace("+", "-"))
        self.mutants(("divides", "    return a - b", "    return a / b"))
        self.assertIn("its test fails without it", self.mutate(status=1).stdout)

    def test_a_list_that_no_longer_fits_is_refused(self):
        self.mutants(("old news", "    return a+b", "    return a - b"))
        error = self.mutate(status=2).stderr
        self.assertIn("'old news': its old text is 0 times in add.py, not once", error)
        self.write("tests/mutants/sums.txt", "== no file\n---\na\n+++\nb\n")
        self.assertIn("cannot read the entry 'no file'", self.mutate(status=2).stderr)

    def test_a_section_of_a_case_is_handed_to_catch(self):
        self.fake("make", "exit 0\n")
        given = r'[[ "$*" == "-a every sum\\, of ints* -c of two" ]]'
        self.executable(self.root / "build/checks/add", f'{given} && grep -q "a + b" add.py\n')
        entry = "== subtracts\nfile add.py\ntest checks/add every sum, of ints* > of two\n"
        self.write("tests/mutants/sums.txt", entry + "---\na + b\n+++\na - b\n")
        self.assertIn("killed       sums: subtracts", self.mutate(status=0).stdout)

    def test_parts_are_all_there_is_and_do_not_overlap(self):
        entries = [(f"number {i}", "    return a + b", f"    return a - {i}") for i in range(25)]
        self.mutants(*entries)
        names = []
        for k in range(10, 20):
            lines = self.mutate("--list", "--part", f"{k}/10", status=0).stdout.splitlines()
            names += [line.split(" (")[0] for line in lines if "number" in line]
            self.assertIn(lines[-1].split(), (["all", "2"], ["all", "3"]))
        self.assertEqual(names, [f"sums: number {i}" for i in range(25)])
        listed = self.mutate("--list", "--only", "number 1,r 20", status=0).stdout
        self.assertEqual(listed.splitlines()[-1].split(), ["all", "12"])
        for part in ("3", "3/0", "x/10"):
            self.assertIn("expected K/N", self.mutate("--part", part, status=2).stderr)
        self.assertIn("no such mutants", self.mutate("--only", "nothing", status=2).stderr)

    def end_it_once_it_began(self, number, status):
        """Ends a run by a signal when a file `began` is in its copies, and sees that nothing of it
        is left; self.root/tried names a process that must have ended with it."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        run = subprocess.Popen(
            [sys.executable, TOOLS / "mutate.py", "--root", self.root, "--jobs", "1"],
            env={**os.environ, "TMPDIR": folder.name, "TRIED": str(self.root / "tried")},
            # As from a terminal, whatever these tests run under.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
            stderr=subprocess.DEVNULL,
        )
        began = lambda: any("began" in names for _, _, names in os.walk(folder.name))
        while run.poll() is None and not began():
            time.sleep(0.02)
        run.send_signal(number)
        self.assertEqual(run.wait(timeout=20), status)
        self.assertEqual(os.listdir(folder.name), [])
        self.assert_ends(self.read("tried"))

    def test_ended_it_ends_all_that_was_started_and_leaves_nothing(self):
        self.mutants(("sleeps", "    return a + b", "    return a * b"), case=" Slow")
        for number, status in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
            self.end_it_once_it_began(number, status)


if __name__ == "__main__":
    unittest.main()
