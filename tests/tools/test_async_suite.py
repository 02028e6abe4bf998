"""simt/suites/async: faulty kernels are named at their lines, mended ones are right and silent."""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

from tool_case import REPOSITORY, ToolCase

SUITE = REPOSITORY / "simt/suites/async"
PROGRAMS = ("copies", "products")


def labels():
    with open(SUITE / "labels.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


class AsyncSuite(ToolCase):
    def test_labels_are_the_marks_in_the_source(self):
        marks = {}
        for program in PROGRAMS:
            text = (SUITE / f"{program}.cu").read_text(encoding="utf-8")
            for number, line in enumerate(text.split("\n"), 1):
                if mark := re.search(r"// fault: (\w+)$", line):
                    marks.setdefault((program, mark[1]), []).append(number)
            for pair in re.findall(r"PAIR\((\w+)", text):
                self.assertIn((program, pair), marks)
        rows = labels()
        self.assertGreaterEqual(len(rows), 24)
        self.assertEqual(
            {(row["program"], row["pair"]): [int(n) for n in row["lines"].split()] for row in rows},
            marks,
        )

    def test_the_table_is_what_was_recorded_on_a_gpu(self):
        record = json.loads((SUITE / "on_gpu.json").read_text(encoding="utf-8"))
        self.assertEqual(list(record["pairs"]), [row["pair"] for row in labels()])
        readme = self.root / "simt/suites/async/README.md"
        shutil.copytree(SUITE, readme.parent)
        subprocess.run(
            [sys.executable, readme.parent / "on_gpu.py", "--table"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        committed = (SUITE / "README.md").read_text(encoding="utf-8")
        self.assertEqual(readme.read_text(encoding="utf-8"), committed)

    def reports(self, program, order):
        """What is reported, by kernel, and the results of all its kernels."""
        path = self.root / "reports.json"
        ran = subprocess.run(
            [self.root / program, "all"],
            capture_output=True,
            text=True,
            timeout=120,
            # One worker: which block comes first is always the same.
            env={
                **os.environ,
                "SIMT_ASYNC": order,
                "SIMT_THREADS": "1",
                "SIMT_CHECK_JSON": str(path),
            },
        )
        self.assertEqual(ran.returncode, 1, ran.stderr)
        found = {}
        for report in json.loads(path.read_text(encoding="utf-8"))["reports"]:
            # A deadlock has the lines where threads wait.
            lines = re.findall(rf"{program}\.cu:(\d+)", report["message"])
            for line in {report["line"], *map(int, lines)} - {0}:
                found.setdefault(report["kernel"], []).append((report["check"], line))
        return found, dict(line.split(": ") for line in ran.stdout.splitlines())

    def test_faulty_kernels_are_named_and_mended_ones_are_silent(self):
        building = []
        for program in PROGRAMS:
            source = f"simt/suites/async/{program}.cu"
            building.append(
                subprocess.Popen(
                    ["simt/nvcc", "-O1", "-std=c++17", source, "-o", self.root / program],
                    cwd=REPOSITORY,
                    env={**os.environ, "SIMT_CHECK": "1"},
                )
            )
        self.assertEqual([one.wait() for one in building], [0, 0])
        for order in ("late", "early", "random:7"):
            for program in PROGRAMS:
                found, results = self.reports(program, order)
                for row in labels():
                    if row["program"] != program:
                        continue
                    pair = row["pair"]
                    with self.subTest(order=order, pair=pair):
                        self.assertNotIn(f"{pair}<false>", found)
                        self.assertEqual(results[f"{pair} mended"], "right")
                        named = found.get(f"{pair}<true>", [])
                        lines = [int(n) for n in row["lines"].split()]
                        if order == "late":
                            self.assertTrue(
                                any(c == row["check"] and n in lines for c, n in named), named
                            )
                        elif row["early"] == "yes":
                            self.assertTrue(any(n in lines for _, n in named), named)
                        elif order == "early":  # or the table in its README is to be mended
                            self.assertEqual(named, [])


if __name__ == "__main__":
    unittest.main()
