"""What make check finds."""

import unittest

from tool_case import ToolCase

OPENING = "// one\n// two\n// three\n"


def rung(lines, opening=OPENING):
    return opening + "".join(f"int v{i};\n" for i in lines)


class Check(ToolCase):
    def setUp(self):
        super().setUp()
        self.clang_format()
        self.index("01_sequential.hpp", "02_naive.cuh")
        self.write("01_add/01_sequential.hpp", rung(range(10)))
        self.write("01_add/02_naive.cuh", rung(range(5, 20)))

    def clang_format(self, major=14, complains=False):
        message = (
            '[[ $1 == --dry-run ]] && for file in "${@:3}"; do [[ $file == *naive* ]] && '
            '{ echo "$file:7:1: error: bad"; echo "$file:9:1: error: bad"; }; done >&2; exit 1'
        )
        self.fake(
            f"clang-format-{major}" if major == 14 else "clang-format",
            f'[[ $1 == --version ]] && {{ echo "clang-format version {major}.0.6"; exit; }}\n'
            + (message if complains else "exit 0")
            + "\n",
        )

    def index(self, *names, folder="01_add"):
        self.write(f"{folder}/variants.cuh", "".join(f'#include "{name}"\n' for name in names))

    def check(self, status=0, **options):
        return self.run_tool("check.py", "--root", self.root, status=status, **options).stdout

    def test_a_sound_repository(self):
        self.write("01_add/add.cu", '#include "common/report.hpp"\n#include "01_add/variants.cuh"\n')
        self.write("common/report.hpp", "#pragma once\n")
        self.assertEqual(self.check(), "0 errors, 0 warnings\n")

    def test_format_by_the_right_version_is_an_error(self):
        self.clang_format(complains=True)
        out = self.check(status=1)
        self.assertIn("error: 01_add/02_naive.cuh: not as clang-format 14 leaves it (line 7,", out)
        self.assertIn("1 errors", out)

    def test_a_failing_clang_format_does_not_pass(self):
        self.fake(
            "clang-format-14",
            '[[ $1 == --version ]] && { echo "clang-format version 14.0.6"; exit; }\n'
            "echo no such option >&2; exit 1\n",
        )
        self.assertIn("clang-format failed: no such option", self.check(status=1))

    def test_format_by_another_version_is_a_warning(self):
        (self.bin / "clang-format-14").unlink()
        self.clang_format(major=18, complains=True)
        self.assertIn("warning: 01_add/02_naive.cuh: not as clang-format 18", self.check(only_fakes=True))

    def test_without_clang_format_the_rest_is_checked(self):
        (self.bin / "clang-format-14").unlink()
        self.assertIn("format: skipped, clang-format is not installed", self.check(only_fakes=True))

    def test_stale_lessons(self):
        self.write("01_add/README.md", "```cpp file=02_naive.cuh\nold\n```\n[x](gone)\n")
        out = self.check(status=1)
        self.assertIn("error: 01_add/README.md:1: stale", out)
        self.assertIn("error: 01_add/README.md:4: dead link gone", out)
        self.assertIn("2 errors", out)

    def test_gap_in_the_numbers(self):
        self.index("01_sequential.hpp", "02_naive.cuh", "04_tiled.cuh")
        self.write("01_add/04_tiled.cuh", rung(range(5, 20)))
        self.assertIn("04_tiled.cuh: should be number 03", self.check(status=1))

    def test_rung_that_variants_forgot(self):
        self.index("01_sequential.hpp")
        self.assertIn("02_naive.cuh: is not included by variants.cuh", self.check(status=1))
        (self.root / "01_add/variants.cuh").unlink()
        self.assertIn("01_add: has rungs but no variants.cuh", self.check(status=1))

    def test_opening_comment(self):
        for count in (0, 2, 9):
            self.write("01_add/02_naive.cuh", rung(range(10), "// x\n" * count))
            self.assertIn(f"opens with {count} lines of comment", self.check(status=1))
        for count in (3, 8):
            self.write("01_add/02_naive.cuh", rung(range(10), "// x\n" * count))
            self.check()
        self.write("01_add/02_naive.cuh", rung(range(10), "/* a\n   b\n   c */\n"))
        self.check()

    def test_step_size(self):
        self.write("01_add/02_naive.cuh", rung(range(10, 95)))
        self.assertIn("warning: 01_add/02_naive.cuh: 85 lines changed", self.check())
        self.write("01_add/02_naive.cuh", rung(range(10, 215)))
        self.assertIn("error: 01_add/02_naive.cuh: 205 lines changed", self.check(status=1))

    def test_opening_and_indent_are_no_step(self):
        text = "".join(f"  int v{i};\n" for i in range(100))
        self.write("01_add/01_sequential.hpp", rung(range(100)))
        self.write("01_add/02_naive.cuh", "// A\n// B\n// C\n// D\n" + text)
        self.assertEqual(self.check(), "0 errors, 0 warnings\n")

    def test_length(self):
        self.write("01_add/01_sequential.hpp", rung(range(160)))
        self.write("01_add/02_naive.cuh", rung(range(170)))
        out = self.check()
        self.assertIn("warning: 01_add/01_sequential.hpp: 163 lines long", out)
        self.write("01_add/01_sequential.hpp", rung(range(300)))
        self.write("01_add/02_naive.cuh", rung(range(300)))
        self.assertIn("error: 01_add/01_sequential.hpp: 303 lines long", self.check(status=1))

    def test_problems_in_subfolders(self):
        self.write("03_coalescing/transpose/02_naive.cuh", rung(range(5)))
        self.index("02_naive.cuh", folder="03_coalescing/transpose")
        self.assertIn("03_coalescing/transpose/02_naive.cuh: should be number 01", self.check(status=1))

    def test_includes_across_the_house(self):
        self.write("02_polar/polar.cu", '#include "01_add/variants.cuh"\n#include "../01_add/02_naive.cuh"\n')
        self.write("01_add/add.cu", '#include "simt/fibre.h"\n')
        self.write("common/report.hpp", '#include "01_add/variants.cuh"\n')
        out = self.check(status=1)
        self.assertIn("02_polar/polar.cu: includes 01_add/variants.cuh", out)
        self.assertIn("02_polar/polar.cu: includes ../01_add/02_naive.cuh", out)
        self.assertIn("01_add/add.cu: includes simt/fibre.h: only the build knows simt", out)
        self.assertIn("common/report.hpp: includes 01_add/variants.cuh", out)
        self.assertIn("4 errors", out)

    def test_bad_arguments(self):
        for arguments in (["--nosuch"], ["extra"], ["--root", "nosuch"]):
            self.assert_one_line(self.run_tool("check.py", *arguments, status=2).stderr, "check.py:")


if __name__ == "__main__":
    unittest.main()
