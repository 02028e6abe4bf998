"""Keeping counts of rungs, and noticing which of them changed since."""

import json
import unittest

from tool_case import ToolCase  # (puts tools/ on the path)

import counts

KIT, PROBLEM, RUNG = "common/kit/launch.cuh", "01_add/problem.cuh", "01_add/02_naive.cuh"

# Counts, if it is asked to, one row that ran in a kernel, one of the CPU and one of no rung.
PROGRAM = """
[[ $# == 3 && $3 == --verify && $SIMT_PROFILE == 1 ]] || exit 9
counts='{"load_sectors": 4, "active_lanes": 31.5, "barriers": null}'
cat >"$2" <<JSON
{"rows": [{"problem": "add", "name": "naive", "sizes": {"n": 33, "m": 2}, "counts": $counts},
          {"problem": "add", "name": "sequential", "sizes": {"n": 33, "m": 2}},
          {"problem": "add", "name": "copy", "sizes": {"n": 33, "m": 2}, "counts": $counts}]}
JSON
"""


class CountsCase(ToolCase):
    def setUp(self):
        super().setUp()
        self.write("01_add/bench.args", "default:\n")
        self.write("01_add/ladders.cu", '#include "01_add/ladder.cu"\n')
        self.write("01_add/ladder.cu", '#include "02_naive.cuh"\n')
        self.write("01_add/01_sequential.hpp", "void add();\n")
        self.write(RUNG, '#include "problem.cuh"\nconstexpr int kThreads = 256;\n')
        self.write(PROBLEM, '#include "common/kit/launch.cuh"\nstruct Add {};\n')
        self.write(KIT, "int divide_up(int n, int by);\n")
        self.executable(self.root / "build/01_add/ladders", PROGRAM)

    def counts(self, *arguments, status=0, commit="0123456789ab"):
        command = ["counts.py", "--root", self.root, *arguments]
        return self.run_tool(*command, status=status, COMMIT=commit)

    def record(self, *arguments, **options):
        return self.counts("--record", "--build", self.root / "build", *arguments, **options)

    def change(self, path, old, new):
        text = self.read(path)
        self.assertIn(old, text)
        (self.root / path).write_text(text.replace(old, new))

    def kept(self):
        """The rows that are printed, without the time that a process of its own would take."""
        # Above them stand a line for the chapter and one for the problem.
        digests = counts.Digests(counts.Graph(self.root, counts.source_files(self.root)))
        return counts.text_for_programs(digests, counts.load(self.root)).splitlines()[2:]


class Counts(CountsCase):
    def test_what_programs_show(self):
        self.assertEqual(self.counts().stdout, "")
        self.record()
        lines = ["01_add: counted by simt at commit 0123456789ab", "add n=33 m=2"]
        lines.append("add/naive load_sectors=4 active_lanes=31.5")
        self.assertEqual(self.counts().stdout.splitlines(), lines)

    def test_chapters_that_were_not_asked_for_stay(self):
        self.record()
        kept = json.loads(self.read("results/counters/simt.json"))
        kept["chapters"]["02_polar"] = kept["chapters"]["01_add"]
        self.write("results/counters/simt.json", json.dumps(kept))
        self.record("01", commit="another")
        chapters = json.loads(self.read("results/counters/simt.json"))["chapters"]
        self.assertEqual(chapters["02_polar"], kept["chapters"]["02_polar"])
        self.assertEqual(chapters["01_add"]["commit"], "another")

    def test_a_change_clears_the_row(self):
        self.record()
        for path, old, new in (
            (RUNG, "256", "128"),
            (PROBLEM, "struct Add {}", "struct Add { int n; }"),
            (KIT, "int by", "long by"),
        ):
            text = self.read(path)
            self.change(path, old, new)
            self.assertEqual(self.kept(), ["add/naive"], path)
            (self.root / path).write_text(text)
            self.assertEqual(len(self.kept()[0].split()), 3)
        (self.root / RUNG).unlink()
        self.assertEqual(self.kept(), ["add/naive"])

    def test_what_no_compiler_sees_clears_nothing(self):
        self.record()
        self.change(RUNG, "constexpr", "// Of a block:\n\n  constexpr")
        self.change(RUNG, "256;", "256;  // threads")
        self.change(KIT, "int divide_up", "// rounds up\nint divide_up")
        self.write("01_add/01_sequential.hpp", "void other();\n")  # another rung
        (self.root / RUNG).rename(self.root / "01_add/03_naive.cuh")  # a new number
        self.assertEqual(len(self.kept()[0].split()), 3)

    def test_of_two_rungs_of_one_name_it_is_that_of_the_problem(self):
        for folder in ("add_16bit", "other"):
            self.write(f"01_add/{folder}/01_naive.cuh", f"int {folder};\n")
        self.change("build/01_add/ladders", '"add"', '"add_bf16"')
        self.record()
        self.write("01_add/other/01_naive.cuh", "int changed;\n")
        self.assertEqual(len(self.kept()[0].split()), 3)
        self.write("01_add/add_16bit/01_naive.cuh", "int changed;\n")
        self.assertEqual(self.kept(), ["add_bf16/naive"])

    def test_what_cannot_be_kept(self):
        self.assert_one_line(self.record(status=1, commit="0-dirty").stderr, "commit first")
        for program, message in (
            ("exit 3", "exit code 3"),
            (PROGRAM.replace("'{", "'{}'; : '{"), "counted nothing"),
        ):
            self.executable(self.root / "build/01_add/ladders", program)
            self.assert_one_line(self.record(status=1).stderr, message)
        self.assertFalse((self.root / "results").exists())

    def test_a_damaged_file(self):
        for text in ("{", "[]", '{"chapters": {"01_add": {}}}'):
            self.write("results/counters/simt.json", text)
            self.assert_one_line(self.counts(status=1).stderr, "counts.py: ")

    def test_mistakes_in_the_command_line(self):
        for arguments in (["--record"], ["--build", "build"], ["01"]):
            self.assert_one_line(self.counts(*arguments, status=2).stderr, "--record needs")


if __name__ == "__main__":
    unittest.main()
