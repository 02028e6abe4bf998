"""What every tool does where its output cannot be written: one line, and no success."""

import ast
import json
import os
import subprocess
import sys
import unittest

from tool_case import REPOSITORY, TOOLS, ToolCase  # (puts tools/ on the path)

import cli

# Everything behind which stands cli.run, and simt/nvcc.
COMMANDS = [
    [sys.executable, path, "--help"]
    for path in sorted(TOOLS.glob("*.py"))
    if "cli.run(main)" in path.read_text(encoding="utf-8")
] + [
    [REPOSITORY / "exercise", "--help"],
    [REPOSITORY / "exercise", "list"],
    [REPOSITORY / "simt/nvcc", "--help"],
    [REPOSITORY / "simt/nvcc", "--version"],
]


class Output(ToolCase):
    def run_into(self, redirection, command):
        words = ["bash", "-c", f'"$@" {redirection}', "bash", *map(str, command)]
        buffered = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
        return subprocess.run(words, capture_output=True, text=True, timeout=60, env=buffered)

    def test_a_full_disk_and_a_closed_output(self):
        self.assertGreater(len(COMMANDS), 10)
        for command in COMMANDS:
            for redirection in (">/dev/full", ">&-"):
                with self.subTest(command=command, redirection=redirection):
                    result = self.run_into(redirection, command)
                    self.assertEqual(result.returncode, 1, result.stderr)
                    self.assert_one_line(result.stderr)

    def test_a_reader_who_has_seen_enough(self):
        for command in COMMANDS:
            with self.subTest(command=command):
                self.assertEqual(self.run_into("| true", command).stderr, "")


# Adds ten entries of its own to a student's record.
ADDS = """
import sys, types
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from exercise.progress import Progress
for i in range(10):
    mine = types.SimpleNamespace(id=f"{sys.argv[3]}/{i}")
    Progress(Path(sys.argv[2])).set(mine, checks=1)
"""


class Help(unittest.TestCase):
    def test_what_is_nearly_right(self):
        self.assertEqual(cli.did_you_mean("rnu", ["run", "test"]), ": did you mean run?")
        self.assertEqual(cli.did_you_mean("zzz", ["run", "test"]), "")
        tool = subprocess.run(
            [TOOLS / "check.py", "--rugs"], capture_output=True, text=True, timeout=60
        )
        self.assertEqual(tool.returncode, 2)
        self.assertIn("--rugs: did you mean --rungs? (", tool.stderr)
        for word, says in (("strat", "did you mean start? ("), ("zzz", "(choose from ")):
            command = [REPOSITORY / "exercise", word, "01/guard"]
            wrong = subprocess.run(command, capture_output=True, text=True, timeout=60)
            self.assertEqual(wrong.returncode, 2)
            self.assertIn(says, wrong.stderr)

    def test_no_line_is_wider_than_a_screen(self):
        words = " ".join(["word"] * 20)  # 99 letters
        listed = f"  name  {words}\n        {words}\n  b     c\n"
        wide = f"{words}\n{words}\n\n{listed}    ex {words}\n    2"
        lines = cli.wrapped(wide).split("\n")
        self.assertLessEqual(max(map(len, lines)), 79)
        self.assertEqual(" ".join(wide.split()), " ".join(" ".join(lines).split()))
        self.assertIn("  b     c", lines)
        self.assertEqual(lines[-1], "    2")  # an example's lines stay apart
        self.assertEqual(lines[lines.index("") + 2][:9], "        w")
        fits = "a\n b\n\n  c   d\n      e"
        self.assertEqual(cli.wrapped(fits), fits)
        for path in sorted(TOOLS.glob("*.py")):
            text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
            for line in cli.wrapped(text).split("\n"):
                self.assertTrue(len(line) < 80 or " " not in line.strip(), f"{path.name}: {line}")

    def test_nor_is_what_is_no_tool_of_make(self):
        others = ["exercise", "setup.sh", "simt/suites/run.py", "tools/doctor.sh"]
        others += ["simt/suites/async/on_gpu.py", "book/outcomes.py", "simt/nvcc"]
        for name in others:
            words = [REPOSITORY / name, "--help"]
            environment = {**os.environ, "COLUMNS": "80"}
            said = subprocess.run(words, env=environment, stdout=subprocess.PIPE, text=True)
            self.assertEqual(said.returncode, 0, name)
            self.assertEqual([line for line in said.stdout.splitlines() if len(line) > 80], [])


class Several(ToolCase):
    def test_what_several_write_at_once_is_all_kept(self):
        words = [sys.executable, "-c", ADDS, str(TOOLS), str(self.root)]
        started = [subprocess.Popen([*words, str(i)]) for i in range(6)]
        self.assertEqual([process.wait() for process in started], [0] * 6)
        record = json.loads(self.read("work/progress.json"))
        self.assertEqual(len(record), 60)
        self.assertEqual([path.name for path in (self.root / "work").iterdir()], ["progress.json"])


class OldPython(unittest.TestCase):
    def test_it_is_told_in_one_line(self):
        nvcc = (REPOSITORY / "simt/nvcc").read_text(encoding="utf-8")
        tools = f"sys.path.insert(0, {str(TOOLS)!r}); import cli"
        for start in (tools, f"exec({nvcc!r})"):
            code = f"import sys; sys.version_info = (3, 9, 2); {start}"
            said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
            self.assertEqual(said.returncode, 1)
            self.assertEqual(len(said.stderr.splitlines()), 1, said.stderr)
            self.assertIn("needs Python 3.10 or newer", said.stderr)


if __name__ == "__main__":
    unittest.main()
