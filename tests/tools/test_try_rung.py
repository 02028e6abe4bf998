"""`make try`: the program made for one rung, with a compiler and programs that are played."""

import unittest

from tool_case import ToolCase

LADDER = """#pragma once
namespace add {
inline bench::Ladder<Sum> ladder() { return {}; }
template <class T>
bench::Ladder<Of<T>> typed_ladder() { return {}; }
bench::Ladder<Sum> unused_ladder();
}  // namespace add
"""
MAIN = """int main() {
  // program.add(add::unused_ladder());
  program.add(add::ladder());
  program.add(add::typed_ladder<float>());
  program.add(add::typed_ladder<double>());
}
"""


class TryRung(ToolCase):
    """The played compiler makes a program that prints its arguments and ends as `ends` says."""

    def setUp(self):
        super().setUp()
        self.write("01_add/sum/01_naive.cuh", "#pragma once\n")
        self.write("01_add/sum/02_tiled.cuh", "#pragma once\n")
        self.write("01_add/sum/ladder.cuh", LADDER)
        self.write("01_add/add.cu", MAIN)
        self.write("01_add/bench.args", "large: --n 9\ncounters: --only naive --n 5 --other 6\n")
        self.compiler(0)

    def compiler(self, ends, has="naive tiled", of_double=""):
        """The program lists what it `has`, and, if it is that of double, what is `of_double`."""
        self.fake(
            "fakecc",
            f"""
            echo "$@" >{self.root}/words
            has="{has}"
            grep -q 'ladder<double>' "$2" && has+=" {of_double}"
            while [[ $1 != -o ]]; do shift; done
            printf '%s\\n' '#!/bin/bash' '[[ $1 == --help ]] && echo "--n elements" && exit' \\
              '[[ $1 == --list ]] && printf "sum/%s  what it is\\n" '"$has"' && exit' \\
              'echo "$@"; exit {ends}' >"$2"
            chmod +x "$2"
            """,
        )

    def attempt(self, *arguments, status=0):
        words = ["--root", self.root, "--build", self.root / "build", *arguments]
        return self.run_tool("try_rung.py", *words, "--", "fakecc", "-O0", status=status)

    def test_the_program_has_the_ladders_that_the_chapter_has(self):
        self.attempt("--rung", "tiled")
        text = self.read("build/01_add/sum/tiled.cu")
        self.assertIn('#include "01_add/sum/ladder.cuh"\n', text)
        self.assertEqual(text.count("program.add("), 2, text)
        self.assertIn("program.add(add::ladder());", text)
        self.assertIn("program.add(add::typed_ladder<float>());", text)
        self.assertTrue(self.read("words").startswith("-O0 "))

    def test_a_rung_that_only_another_type_has(self):
        self.compiler(0, has="naive", of_double="tiled")
        self.attempt("--rung", "tiled")
        text = self.read("build/01_add/sum/tiled.cu")
        self.assertEqual(text.count("program.add("), 1, text)
        self.assertIn("program.add(add::typed_ladder<double>());", text)

    def test_it_runs_the_rung_small_or_as_asked(self):
        self.assertEqual(self.attempt("--rung", "01/tiled").stdout, "--verify --only tiled --n 5\n")
        asked = self.attempt("--rung", "01/tiled", "--arguments=--n 7 --seed 3").stdout
        self.assertEqual(asked, "--verify --only tiled --n 7 --seed 3\n")

    def test_its_exit_status_is_that_of_the_program(self):
        self.compiler(1)
        self.attempt("--rung", "tiled", status=1)

    def test_what_does_not_compile_is_not_run(self):
        self.fake("fakecc", "echo 'tiled.cuh:1: error' >&2; exit 1")
        result = self.attempt("--rung", "tiled", status=1)
        self.assertEqual((result.stdout, result.stderr), ("", "tiled.cuh:1: error\n"))

    def test_bad_names_are_one_line(self):
        self.assert_one_line(self.attempt("--rung", "", status=2).stderr, "expected a rung")
        self.assert_one_line(self.attempt("--rung", "nosuch", status=2).stderr, "no rung 'nosuch'")
        self.write("01_add/other/01_tiled.cuh", "#pragma once\n")
        self.assert_one_line(self.attempt("--rung", "tiled", status=2).stderr, "tiled")

    def test_a_rung_that_no_ladder_lists_is_one_line(self):
        self.compiler(0, has="naive")
        said = self.attempt("--rung", "tiled", status=1).stderr
        self.assert_one_line(said, "01_add/sum/ladder.cuh does not list 'tiled'")

    def test_a_rung_without_a_ladder_is_one_line(self):
        self.write("01_add/other/01_lonely.cuh", "#pragma once\n")
        error = self.attempt("--rung", "lonely", status=1).stderr
        self.assert_one_line(error, "01_add/other/01_lonely.cuh", "no ladder.cuh")
        self.write("01_add/add.cu", "int main() {}\n")
        self.assert_one_line(self.attempt("--rung", "naive", status=1).stderr, "has no ladder")


if __name__ == "__main__":
    unittest.main()
