"""Rungs side by side."""

import unittest

from tool_case import ToolCase


class Compare(ToolCase):
    def setUp(self):
        super().setUp()
        self.write("04_matmul/03_naive.cuh", "// naive\nint same;\nint last;\n")
        self.write("04_matmul/05_tiled.cuh", "// tiled\nint same;\nint tile;\nint last;\n")
        self.write("03_coalescing/transpose/01_sequential.hpp", "// loop\n")
        self.write("03_coalescing/copy/01_sequential.hpp", "// copy\n")

    def compare(self, *arguments, status=0, width=60):
        command = ["compare.sh", "--root", self.root, *arguments]
        return self.run_tool(*command, status=status, COLUMNS=str(width))

    def test_columns_and_marks(self):
        lines = self.compare("04/naive", "04/tiled").stdout.splitlines()
        half = (60 - 3) // 2
        self.assertEqual(lines[0].split(), ["04_matmul/03_naive.cuh", "04_matmul/05_tiled.cuh"])
        self.assertEqual(lines[2], "// naive".ljust(half) + " | // tiled")
        self.assertEqual(lines[3], "int same;".ljust(half) + "   int same;")
        self.assertEqual(lines[4], " " * half + " > int tile;")
        self.assertIn("int tile;".ljust(half) + " < ", self.compare("04/tiled", "04/naive").stdout)
        self.assertNotIn("\033", "".join(lines))

    def test_long_lines_are_wrapped_not_cut(self):
        self.write("04_matmul/06_wide.cuh", "x" * 45 + "END\n")
        out = self.compare("04/wide", "04/wide", width=43).stdout
        self.assertEqual(out.count("END"), 2)
        self.assertTrue(all(len(line) <= 43 for line in out.splitlines()))

    def test_lines_are_wrapped_at_a_gap_and_set_in(self):
        self.write("04_matmul/06_wide.cuh", "{\n  int number = first + second;\n}\n")
        lines = self.compare("04/wide", "04/wide", width=57).stdout.splitlines()
        self.assertEqual(lines[3][:27].rstrip(), "  int number = first +")
        self.assertEqual(lines[4][:27].rstrip(), "      second;")

    def test_ways_to_name_a_rung(self):
        wanted = self.compare("04/naive", "04/tiled").stdout
        for a in ("04/03_naive", "04_matmul/naive", "04_matmul/03_naive.cuh"):
            self.assertEqual(self.compare(a, "04/tiled").stdout, wanted)
        out = self.compare("03/transpose/sequential", "03/copy/sequential").stdout
        self.assertIn("// loop", out)

    def test_unknown_names_list_near_ones(self):
        error = self.compare("04/naive", "04/tield", status=2).stderr
        self.assert_one_line(error, "no rung '04/tield'", "04/tiled")
        self.assertLess(error.index("04/tiled"), error.index("04/naive"))

    def test_bad_arguments(self):
        for arguments in ([], ["04/naive"], ["04/naive", "04/tiled", "04/tiled"], ["--nosuch"]):
            self.assert_one_line(self.compare(*arguments, status=2).stderr, "compare.sh:")


if __name__ == "__main__":
    unittest.main()
