"""mutate.py tells a mistake that a test notices from one that it does not, and spoils no source."""

import subprocess
import unittest

from tool_case import ToolCase

ADD = "def add(a, b):\n    return a + b\n"
TEST = """
    import pathlib
    import sys
    sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
    from add import add
    sys.exit(0 if add(2, 2) == 4 else 1)
"""


class Mutate(ToolCase):
    def setUp(self):
        super().setUp()
        self.write("add.py", ADD)
        self.write("tests/check_add.py", TEST)
        subprocess.run(["git", "init", "-q", self.root], check=True)

    def mutants(self, *entries):
        text = "What this list is for.\n"
        for title, old, new in entries:
            text += f"\n== {title}\nfile add.py\ntest tests/check_add.py\n---\n{old}\n+++\n{new}\n"
        self.write("tests/mutants/sums.txt", text)

    def mutate(self, *arguments, status):
        return self.run_tool(
            "mutate.py", "--root", self.root, "--jobs", "1", *arguments, status=status
        )

    def test_a_mistake_that_the_test_notices_is_killed(self):
        self.mutants(("subtracts", "    return a + b", "    return a - b"))
        out = self.mutate(status=0).stdout
        self.assertIn("killed       sums: subtracts (tests/check_add.py)", out)
        self.assertTrue(out.endswith("1 killed\n"))
        self.assertEqual(self.read("add.py"), ADD)

    def test_one_that_it_does_not_notice_is_a_failure(self):
        self.mutants(
            ("subtracts", "    return a + b", "    return a - b"),
            ("multiplies", "    return a + b", "    return a * b"),
        )
        out = self.mutate(status=1).stdout
        self.assertIn("not noticed  sums: multiplies", out)
        self.assertTrue(out.endswith("1 killed, 1 not noticed\n"))

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

    def test_a_tenth_is_every_tenth(self):
        entries = [(f"number {i}", "    return a + b", f"    return a - {i}") for i in range(25)]
        self.mutants(*entries)
        lines = self.mutate("--list", "--tenth", "13", status=0).stdout.splitlines()
        self.assertEqual(
            [line.split(" (")[0] for line in lines],
            ["sums: number 3", "sums: number 13", "sums: number 23"],
        )
        self.assertIn("no such mutants", self.mutate("--only", "nothing", status=2).stderr)


if __name__ == "__main__":
    unittest.main()
