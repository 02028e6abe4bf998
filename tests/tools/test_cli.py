"""What every tool does where its output cannot be written: one line, and no success."""

import os
import subprocess
import sys
import unittest

from tool_case import REPOSITORY, TOOLS, ToolCase

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


if __name__ == "__main__":
    unittest.main()
