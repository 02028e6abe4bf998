"""`make standalone`: the files that hold a rung, what it uses and a main."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from tool_case import REPOSITORY, ToolCase

import standalone
from definitions import Definitions
from include_graph import Graph, source_files
from rungs import Ladder

COMPILER = [str(REPOSITORY / "simt/nvcc"), "-std=c++17", "-O0", "-Xcompiler=-fopenmp"]
# Sizes at which simt needs a tenth of the time that it needs at the default ones: several tiles of
# each rung, and edges.
PRODUCT = ["70", "77", "135"]


def written(folder, **what):
    """The path of the file that the tool wrote."""
    arguments = [word for key, value in what.items() for word in (f"--{key}", value)]
    tool = [str(REPOSITORY / "tools/standalone.py"), "--out", folder, *arguments]
    said = subprocess.run(tool, check=True, stdout=subprocess.PIPE, text=True).stdout
    return Path(said.partition(":")[0])


class EveryRung(unittest.TestCase):
    def test_of_18_ladders_each_rung_can_be_written(self):
        known = Definitions(Graph(REPOSITORY, source_files(REPOSITORY)))
        self.assertEqual(len(standalone.PROBLEMS), 18)
        for problem in standalone.PROBLEMS:
            ladder = Ladder(known.graph, problem)
            for rungs in [ladder.main, *([rung] for rung in ladder.main + ladder.beyond)]:
                why = standalone.NOT_ALONE.get(standalone.rung_name(rungs[0]))
                if why is not None:
                    with self.assertRaisesRegex(standalone.StandaloneError, why):
                        standalone.standalone(known, problem, rungs)
                    continue
                text = standalone.standalone(known, problem, rungs)
                others = r'#include "|\bVARIANTS\b|\bELEMENT\b|// (end)?region\b'
                self.assertNotRegex(text, others, rungs)
                self.assertEqual(text.count("int main("), 1, rungs)
                self.assertEqual(text.split("\n")[0], "// SPDX-License-Identifier: MIT", rungs)


class Call(unittest.TestCase):
    MAIN = "Array<float> x(n), y(n); const Tensors<T> h_t{}, d_t{}; cudaStream_t stream;"

    def call(self, head, on_host=False, values=None):
        entry = standalone.entry_of(f"namespace a::b {{ {head} {{}} }}", "rung")
        main = standalone.Main("m.cu", values or {}, "y[0]")
        return standalone.call_of(entry, main, self.MAIN, on_host)

    def test_an_array_is_given_by_the_side_on_which_it_is_used(self):
        head = "inline void x_rung(const float* x, float* y, std::int64_t n)"
        self.assertEqual(self.call(head), "a::b::x_rung(x.d(), y.d(), n)")
        self.assertEqual(self.call(head, on_host=True), "a::b::x_rung(x.h(), y.h(), n)")
        self.assertEqual(self.call("void rung(const float* h_x)"), "a::b::rung(x.h())")
        self.assertEqual(self.call("void rung(const Tensors<T>& t)"), "a::b::rung(d_t)")
        self.assertEqual(self.call("void rung(const Tensors<T>& t)", True), "a::b::rung(h_t)")

    def test_template_arguments_and_results(self):
        head = "template <class T, int kD, bool kFast = true> void rung(cudaStream_t stream)"
        self.assertEqual(self.call(head, values={"T": "float", "kD": "64"}),
                         "a::b::rung<float, 64>(stream)")  # fmt: skip
        self.assertEqual(self.call("inline float rung(float* x)"), "y[0] = a::b::rung(x.d())")

    def test_what_a_main_does_not_have_is_said(self):
        for head in ("void rung(int* z)", "template <class T> void rung()", "void other()"):
            with self.assertRaises(standalone.StandaloneError):
                self.call(head)


class BadArguments(ToolCase):
    def test_one_line(self):
        for words, said in (
            ([], "expected a rung or a ladder"),
            (["--rung", "04/sgemm/tiled", "--road", "01"], "expected a rung or a ladder"),
            (["--rung", "04/sgemm/tilde"], "no rung '04/sgemm/tilde'; near:"),
            (["--rung", "06/lock/packed"], "has no main"),
            (["--road", "04"], "no ladder '04'; there are: 01, 02/polar"),
        ):
            where = ("--root", str(REPOSITORY), "--out", str(self.root))
            result = self.run_tool("standalone.py", *where, *words, status=2)
            self.assertIn(said, result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1)
        self.assertEqual(list(self.root.iterdir()), [])


class Built(unittest.TestCase):
    """In a folder that has nothing but the file; on any machine through simt."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_of(self, path, *sizes):
        program = str(path.with_suffix(""))
        # Of simt the headers are compiled once for all.
        environment = {**os.environ, "SIMT_PRECOMPILE": "1"}
        words = [*COMPILER, path.name, "-o", program]
        subprocess.run(words, check=True, cwd=self.folder, env=environment)
        return subprocess.run([program, *sizes], stdout=subprocess.PIPE, text=True)

    def check(self, *sizes, **what):
        path = written(self.folder, **what)
        result = self.run_of(path, *sizes)
        rows = re.findall(r"^(\w+) .* (right|WRONG|skipped)", result.stdout, re.MULTILINE)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertEqual({verdict for _, verdict in rows}, {"right"}, result.stdout)
        return [name for name, _ in rows]

    def test_roads_of_01_to_05(self):
        self.assertIn("coarsened", self.check("100003", road="01"))
        few = {"02/branch": ["10007"], "03/transpose": ["100", "76"], "05/scan": ["10007"]}
        for ladder, sizes in few.items():
            self.assertGreaterEqual(len(self.check(*sizes, road=ladder)), 4, ladder)
        self.assertEqual(self.check(*PRODUCT, rung="04/sgemm/async_copy"), ["async_copy"])

    def test_what_is_wrong_is_called_wrong(self):
        path = written(self.folder, rung="04/sgemm/tiled")
        right = path.read_text(encoding="utf-8")
        for before, after, sizes, element in (
            ("tile_b[q][x]", "tile_b[x][q]", [], "0"),  # another product
            ("if (row < m && col < n) c[", "if (row < m && col + 1 < n) c[", PRODUCT, "76"),  # NaN
        ):
            self.assertEqual(right.count(before), 1)
            path.write_text(right.replace(before, after), encoding="utf-8")
            result = self.run_of(path, *sizes)
            self.assertEqual(result.returncode, 1)
            self.assertIn(f"WRONG from element {element} on", result.stdout)


if __name__ == "__main__":
    unittest.main()
