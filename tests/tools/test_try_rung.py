"""`make try`: which ladder is built for a rung, and how it runs; make and programs are played."""

import unittest

from tool_case import ToolCase


class TryRung(ToolCase):
    """The played make writes a program that prints its arguments and ends as `ends` says."""

    def setUp(self):
        super().setUp()
        for name in ("01_naive.cuh", "02_tiled.cuh", "ladder.cu"):
            self.write(f"01_add/sum/{name}", "#pragma once\n")
        self.write("01_add/ladders.cu", "int main() {}\n")
        self.write("01_add/bench.args", "large: --n 9\ncounters: --only naive --n 5 --other 6\n")
        self.maker(0)

    def maker(self, ends, of_bf16="naive tiled", of_fp16=""):
        """Each program lists what it has: that of ladder_fp16.cu what is `of_fp16`."""
        self.fake(
            "fakemake",
            f"""
            echo "$@" >>{self.root}/made
            has="{of_bf16}"
            case $2 in (*_fp16) has="{of_fp16}" ;; esac
            mkdir -p "$(dirname "$2")"
            printf '%s\\n' '#!/bin/bash' '[[ $1 == --help ]] && echo "--n N  elements" && exit' \\
              '[[ $1 == --list ]] && printf "sum/%s  what it is\\n" '"$has"' && exit' \\
              'echo "$@"; exit {ends}' >"$2"
            chmod +x "$2"
            """,
        )

    def attempt(self, *arguments, status=0):
        words = ["--root", self.root, "--build", self.root / "build", *arguments]
        return self.run_tool("try_rung.py", *words, "--", "fakemake", "-s", status=status)

    def made(self):
        return [line.rpartition("/build/")[2] for line in self.read("made").splitlines()]

    def test_the_ladder_of_the_rung_alone_is_built(self):
        self.write("01_add/other/01_one.cuh", "#pragma once\n")
        self.write("01_add/other/ladder.cu", "")
        self.attempt("--rung", "tiled")
        self.assertEqual(self.made(), ["01_add/sum/ladder"])

    def test_the_chapters_program_is_no_ladder(self):
        self.write("02_one/01_simple.cuh", "#pragma once\n")
        self.write("02_one/ladder.cu", "")
        self.write("02_one/ladders.cu", "int main() {}\n")
        self.maker(0, of_bf16="simple")
        self.attempt("--rung", "simple")
        self.assertEqual(self.made(), ["02_one/ladder"])

    def test_a_rung_that_only_another_type_has(self):
        (self.root / "01_add/sum/ladder.cu").unlink()
        self.write("01_add/sum/ladder_bf16.cu", "")
        self.write("01_add/sum/ladder_fp16.cu", "")
        self.maker(0, of_bf16="naive tiled_not", of_fp16="tiled")
        self.attempt("--rung", "tiled")
        self.assertEqual(self.made(), ["01_add/sum/ladder_bf16", "01_add/sum/ladder_fp16"])
        self.attempt("--rung", "naive")
        self.assertEqual(self.made()[2:], ["01_add/sum/ladder_bf16"])

    def test_it_runs_the_rung_small_or_as_asked(self):
        self.assertEqual(self.attempt("--rung", "01/tiled").stdout, "--verify --only tiled --n 5\n")
        asked = self.attempt("--rung", "01/tiled", "--arguments=--n 7 --seed 3").stdout
        self.assertEqual(asked, "--verify --only tiled --n 7 --seed 3\n")

    def test_it_runs_at_a_size_that_no_tile_divides_too(self):
        self.write("01_add/bench.args", "counters: --n 256 --other 64\n")
        self.assertEqual(
            self.attempt("--rung", "tiled").stdout,
            "--verify --only tiled --n 256\n--verify --only tiled --n 253\n",
        )
        asked = self.attempt("--rung", "tiled", "--arguments=--n 8").stdout
        self.assertEqual(asked, "--verify --only tiled --n 8\n")
        self.maker('$([[ "$*" == *253 ]] && echo 1 || echo 0)')
        self.attempt("--rung", "tiled", status=1)

    def test_its_exit_status_is_that_of_the_program(self):
        self.maker(1)
        self.attempt("--rung", "tiled", status=1)

    def test_what_does_not_compile_is_not_run(self):
        self.fake("fakemake", "echo 'tiled.cuh:1: error' >&2; exit 1")
        result = self.attempt("--rung", "tiled", status=1)
        self.assertEqual((result.stdout, result.stderr), ("", "tiled.cuh:1: error\n"))

    def test_bad_names_are_one_line(self):
        self.assert_one_line(self.attempt("--rung", "", status=2).stderr, "expected a rung")
        self.assert_one_line(self.attempt("--rung", "nosuch", status=2).stderr, "no rung 'nosuch'")
        self.write("01_add/other/01_tiled.cuh", "#pragma once\n")
        self.assert_one_line(self.attempt("--rung", "tiled", status=2).stderr, "tiled")

    def test_a_rung_that_no_ladder_lists_is_one_line(self):
        self.maker(0, of_bf16="naive")
        said = self.attempt("--rung", "tiled", status=1).stderr
        self.assert_one_line(said, "01_add/sum/02_tiled.cuh: no ladder of its folder lists 'tiled'")
        self.write("01_add/other/01_lonely.cuh", "#pragma once\n")
        error = self.attempt("--rung", "lonely", status=1).stderr
        self.assert_one_line(error, "01_add/other/01_lonely.cuh", "no ladder")


if __name__ == "__main__":
    unittest.main()
