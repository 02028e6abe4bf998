"""Rungs side by side."""

import json
import re
import subprocess
import sys
import unittest

from tool_case import TOOLS, ToolCase  # (puts tools/ on the path)

import counts
from include_graph import Graph, source_files

KERNEL = """// one
// two
// three
#include "x.cuh"
template <int kTile>
__global__ void __launch_bounds__(256) sgemm_{name}_kernel(const float* a, const float* b,
{indent}float* c{more}) {{
  {body}
}}

inline void sgemm_{name}() {{ host(); }}
"""


def kernel(name, body="go();", more=""):
    return KERNEL.format(name=name, body=body, more=more, indent=" " * (30 + len(name)))


class CompareCase(ToolCase):
    def setUp(self):
        super().setUp()
        self.write("04_matmul/sgemm/03_naive.cuh", "// naive\nint same;\nint last;\n")
        self.write("04_matmul/sgemm/05_tiled.cuh", "// tiled\nint same;\nint tile;\nint last;\n")
        self.write("04_matmul/sgemm/beyond/01_wide.cuh", kernel("wide", more=", int further_on"))
        self.write("04_matmul/bf16/01_ring.cuh", kernel("ring"))
        self.write("04_matmul/bf16/02_tma.cuh", kernel("tma"))
        self.write("03_coalescing/transpose/01_sequential.hpp", "// loop\n")
        self.write("03_coalescing/copy/01_sequential.hpp", "// copy\n")

    def compare(self, *arguments, status=0, width=60):
        command = ["compare.py", "--root", self.root, *arguments]
        return self.run_tool(*command, status=status, COLUMNS=str(width))

    def code(self, *arguments, **options):
        """The lines of the whole files, under the rule."""
        return self.kernels("--whole", *arguments, **options)

    def kernels(self, *arguments, **options):
        lines = self.compare(*arguments, **options).stdout.splitlines()
        return lines[next(i for i, line in enumerate(lines) if line.startswith("---")) + 1 :]


class Compare(CompareCase):
    def test_colour_is_for_terminals_that_know_it(self):
        words = [sys.executable, TOOLS / "compare.py", "--root", self.root, "04/naive", "04/tiled"]
        for term, environment, shown in (
            ("xterm", {}, True),
            ("xterm", {"NO_COLOR": "1"}, False),
            ("dumb", {}, False),
            (None, {}, False),
        ):
            with self.subTest(term=term, **environment):
                seen = self.seen_on_terminal([*words, "--whole"], term, **environment)
                self.assertIn("int tile;", seen)
                self.assertEqual("\033[" in seen, shown, seen)

    def test_columns_and_marks(self):
        lines = self.compare("--whole", "04/naive", "04/tiled", width=63).stdout.splitlines()
        half = (63 - 3) // 2
        titles = ["04_matmul/sgemm/03_naive.cuh", "04_matmul/sgemm/05_tiled.cuh"]
        self.assertEqual(lines[0].split(), titles)
        lines = self.code("04/naive", "04/tiled", width=63)
        self.assertEqual(lines[0], "// naive".ljust(half) + " | // tiled")
        self.assertEqual(lines[1], "int same;".ljust(half) + "   int same;")
        self.assertEqual(lines[2], " " * half + " > int tile;")
        self.assertIn("int tile;".ljust(half) + " <", self.code("04/tiled", "04/naive", width=63))
        self.assertNotIn("\033", "".join(lines))

    def test_lines_that_changed_stand_side_by_side(self):
        self.write("04_matmul/sgemm/03_naive.cuh", "int a;\nfor (p < k) sum += x[p];\n")
        self.write(
            "04_matmul/sgemm/05_tiled.cuh", "int b0[3];\nT c;\nfor (p < kTile) sum += y[p];\n"
        )
        marks = [line[28:31].strip() for line in self.code("04/naive", "04/tiled", width=60)]
        self.assertEqual(sorted(marks[:-1]), ["<", ">", ">"])
        self.assertEqual(marks[-1], "|")

    def test_it_fits_every_width(self):
        long = "  const float v = first_operand[row] + second_operand[column];  // this is why\n"
        self.write("04_matmul/sgemm/03_naive.cuh", f"// {'word ' * 18}\n{long * 3}{'x' * 150}\n")
        self.write("04_matmul/sgemm/05_tiled.cuh", f"// {'term ' * 19}\n{long * 2}{'x' * 151}\n")
        for width in (40, 80, 160):
            out = self.compare("--whole", "04/naive", "04/tiled", width=width).stdout
            self.assertLessEqual(max(map(len, out.splitlines())), width)
            text = "".join(line[: (width - 3) // 2] for line in out.splitlines())
            self.assertEqual(text.count("word"), 18)  # wrapped, not cut off
            self.assertEqual(text.count("x"), 150)

    def test_a_paragraph_of_comment_is_wrapped_anew(self):
        self.write("04_matmul/sgemm/03_naive.cuh", "// one two\n// three four\n//\n// five\n")
        lines = self.code("04/naive", "04/naive", width=43)
        self.assertEqual(lines[0][:20].rstrip(), "// one two three")
        self.assertEqual(lines[1][:20].rstrip(), "// four")
        self.assertEqual(lines[3][:20].rstrip(), "// five")

    def test_heads_that_differ_in_the_name_alone_are_the_same(self):
        lines = self.kernels("bf16/ring", "bf16/tma", width=240)
        self.assertIn("sgemm_ring_kernel", "".join(lines))
        self.assertEqual({line[119] for line in lines if len(line) > 119}, {" "})

    def test_heads_that_differ_are_one_changed_line(self):
        lines = self.kernels("bf16/ring", "beyond/wide", width=320)
        self.assertEqual([line[159] for line in lines if len(line) > 159], [" ", "|", " ", " "])
        self.assertIn("float* c, int further_on) {", lines[1])

    def test_kernels_are_shown_or_whole_files(self):
        self.write("04_matmul/bf16/02_tma.cuh", kernel("tma", body="other();"))
        out = "\n".join(self.kernels("bf16/ring", "bf16/tma", width=200))
        self.assertIn("go();", out)
        self.assertNotIn("host", out)
        self.assertNotIn("#include", out)
        out = "\n".join(self.code("bf16/ring", "bf16/tma", width=200))
        self.assertIn("host", out)
        self.assertIn("#include", out)

    def test_of_the_same_kernels_the_functions_are_shown_too(self):
        out = "\n".join(self.kernels("bf16/ring", "bf16/tma", width=200))
        self.assertIn("sgemm_ring() { host(); }", out)
        self.assertNotIn("#include", out)

    def test_functions_of_a_rung_without_device_code(self):
        out = "\n".join(self.kernels("bf16/ring", "04/tiled", width=200))
        self.assertIn("int tile;", out)
        self.assertNotIn("host", out)

    def test_a_launch_is_followed_into_the_file_that_holds_the_kernel(self):
        kit = "__global__ void shared_kernel() { work(); }\n__global__ void other_kernel() {}\n"
        kit += "inline void launch() { shared_kernel<<<1, 1>>>(); }\n"
        self.write("04_matmul/bf16/kit/launch.cuh", kit)
        text = '#include "04_matmul/bf16/kit/launch.cuh"\nvoid bf16_tma() { launch(); }\n'
        self.write("04_matmul/bf16/02_tma.cuh", text)
        out = self.kernels("bf16/ring", "bf16/tma", width=200)
        right = [line[101:] for line in out]
        self.assertIn("[04_matmul/bf16/kit/launch.cuh]", right)
        self.assertIn("__global__ void shared_kernel() { work(); }", right)
        self.assertIn("void bf16_tma() { launch(); }", right)
        self.assertNotIn("other_kernel", "".join(out))

    def test_device_code_of_other_files_that_one_side_uses(self):
        kit = "__device__ int twice(int x) { return add(x, x); }\n"
        kit += "__device__ int add(int x, int y) { return x + y; }\n__device__ void unused() {}\n"
        self.write("04_matmul/bf16/kit/sums.cuh", kit)
        text = '#include "04_matmul/bf16/kit/sums.cuh"\n' + kernel("tma", body="x = twice(y);")
        self.write("04_matmul/bf16/02_tma.cuh", text)
        used = "uses twice, add of 04_matmul/bf16/kit/sums.cuh"
        self.assertEqual(self.kernels("bf16/ring", "bf16/tma", width=200)[-1][99:], f"> {used}")
        self.assertEqual(self.kernels("bf16/tma", "bf16/ring", width=200)[-1][:50].rstrip(), used)
        self.assertNotIn("uses", "".join(self.kernels("bf16/tma", "bf16/tma", width=200)))

    def test_the_end_of_a_function_is_not_the_end_of_a_loop(self):
        self.write("04_matmul/sgemm/03_naive.cuh", "void f() {\n  a();\n}\n")
        self.write("04_matmul/sgemm/05_tiled.cuh", "void f() {\n  for (;;) {\n  }\n  b();\n}\n")
        ends = [line for line in self.code("04/naive", "04/tiled", width=63) if line[:1] == "}"]
        self.assertEqual(ends, ["}".ljust(30) + "   }"])

    def test_no_word_is_broken(self):
        line = "  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + "
        line += "threadIdx.x;  // that of the first thread, and nobody else's"
        self.write("04_matmul/sgemm/03_naive.cuh", line + "\n")
        for width in range(50, 160, 7):
            half = (width - 3) // 2
            out = [row[:half].rstrip() for row in self.code("naive", "naive", width=width)]
            words = [word for row in out for word in re.findall(r"\w+", row)]
            self.assertEqual(words, re.findall(r"\w+", line))
            comment = [i for i, row in enumerate(out) if "//" in row]
            self.assertEqual(comment, list(range(comment[0], len(out))))
            self.assertFalse([row for row in out if row.endswith("//")])

    def test_whoever_has_seen_enough_is_no_error(self):
        self.write("04_matmul/sgemm/03_naive.cuh", "".join(f"int x{i};\n" for i in range(1500)))
        tool = f"{TOOLS}/compare.py --root {self.root} --whole 04/naive 04/naive"
        run = subprocess.run(
            ["bash", "-c", f"{tool} | head -n 1; echo ${{PIPESTATUS[0]}}"],
            capture_output=True,
            text=True,
        )
        self.assertEqual((run.stdout.splitlines()[-1], run.stderr), ("0", ""))

    def test_ways_to_name_a_rung(self):
        wanted = self.compare("04/naive", "04/tiled").stdout
        for a in (
            "naive",
            "03_naive",
            "04/03_naive",
            "04_matmul/naive",
            "sgemm/naive",
            "matmul/sgemm/03",
            "04/sgemm/naive",
            "04_matmul/sgemm/03_naive.cuh",
            "./04_matmul/sgemm/03_naive.cuh",
            self.root / "04_matmul/sgemm/03_naive.cuh",
        ):
            self.assertEqual(self.compare(a, "04/tiled").stdout, wanted)
        for b in ("wide", "04/wide", "beyond/wide", "04/sgemm/beyond/01_wide"):
            self.assertIn("  01_wide.cuh\n", self.compare("naive", b).stdout)
        out = self.compare("--whole", "03/transpose/sequential", "copy/sequential").stdout
        self.assertIn("// loop", out)

    def test_names_that_fit_several(self):
        error = self.compare("04/naive", "sequential", status=2).stderr
        self.assert_one_line(error, "03/copy/sequential, 03/transpose/sequential")
        # The whole name of one rung is part of another's.
        self.write("04_matmul/sgemm/beyond/02_tiled.cuh", "// beyond\n")
        self.assertIn("// tiled", self.compare("04/naive", "04/sgemm/tiled").stdout)

    def test_unknown_names_list_near_ones(self):
        error = self.compare("04/naive", "04/sgemm/tield", status=2).stderr
        self.assert_one_line(error, "no rung '04/sgemm/tield'", "04/sgemm/tiled")
        self.assertLess(error.index("sgemm/tiled"), error.index("sgemm/naive"))
        for name in ("", "/", "$(touch x)", "a b", "../../etc/passwd"):
            self.assert_one_line(self.compare("naive", name, status=2).stderr, "no rung")

    def test_bad_arguments(self):
        for arguments in ([], ["04/naive"], ["04/naive", "04/tiled", "04/tiled"], ["--nosuch"]):
            self.assert_one_line(self.compare(*arguments, status=2).stderr, "compare.py:")


class Results(CompareCase):
    def row(self, name, problem="sgemm", ms=2.0, **more):
        row = {"name": name, "problem": problem, "kind": "rung", "median_ms": ms, "gbps": 812.0}
        return {**row, "sizes": {"m": 4096}, "status": "right", "reason": "", **more}

    def results(self, **runs):
        device = {"name": "NVIDIA H200"}
        runs = {
            f"04_matmul/{label}": {"device": device, "rows": rows} for label, rows in runs.items()
        }
        self.write("results/h200.json", json.dumps({"schema": 1, "runs": runs}))

    def heads(self, a="04/naive", b="04/tiled"):
        return self.compare(a, b, width=240).stdout.splitlines()[1:3]

    def test_both_rows_are_shown(self):
        self.results(default=[self.row("naive", gflops=8120.0), self.row("tiled", ms=1.0)])
        where, what = self.heads()
        self.assertEqual(where.count("NVIDIA H200, 04_matmul/default: sgemm, m = 4,096"), 2)
        self.assertIn("2.00 ms, 812 GB/s, 8.12 TFLOP/s", what)
        self.assertIn("1.00 ms, 812 GB/s", what)

    def test_a_run_that_has_both_comes_first(self):
        slow = [self.row("naive", ms=20.0), self.row("tiled", ms=10.0)]
        self.results(default=[self.row("tiled")], slowest=slow)
        where, what = self.heads()
        self.assertEqual(where.count("04_matmul/slowest"), 2)
        self.assertIn("20.0 ms", what)

    def test_the_default_run_comes_before_others(self):
        both = [self.row("naive"), self.row("tiled")]
        self.results(afterwards=both, default=both)
        self.assertEqual(self.heads()[0].count("04_matmul/default"), 2)

    def test_the_run_that_the_lesson_quotes_comes_before_others(self):
        both = [self.row("naive"), self.row("tiled")]
        self.results(default=both, large=both, larger=both)
        page = "<!-- numbers run=04_matmul/large -->\n<!-- proof tiled -->\n<!-- end proof -->\n"
        self.write("04_matmul/README.md", page)
        self.assertEqual(self.heads()[0].count("04_matmul/large:"), 2)
        self.write("04_matmul/README.md", page.replace("tiled", "tiled run=04_matmul/larger"))
        self.assertEqual(self.heads()[0].count("04_matmul/larger:"), 2)

    def counted(self, **kernels):
        self.results(default=[self.row("naive"), self.row("tiled")])
        found = json.loads(self.read("results/h200.json"))
        kernels = [{"kernel": f"sgemm_{name}_kernel", **of} for name, of in kernels.items()]
        # As recorded: each kernel ran twice, and what adds up is the sum of both runs.
        found["counters"] = {"04_matmul": {"arguments": "", "runs": 2, "kernels": kernels}}
        self.write("results/h200.json", json.dumps(found))
        return self.compare("04/naive", "04/tiled", width=240).stdout.splitlines()[3]

    def test_counts_that_differ_are_shown(self):
        naive = {"load_sectors_per_request": 32.0, "barriers": 256, "active_lanes": 31.999}
        tiled = {"load_sectors_per_request": 4.0, "barriers": 2560, "active_lanes": 32.0}
        line = self.counted(naive=naive, tiled=tiled)
        self.assertIn("counted: sectors per load 32.0, barriers 128  ", line)
        self.assertIn("counted: sectors per load 4.00, barriers 1,280", line)
        self.assertNotIn("active", line)
        self.assertTrue(self.counted(naive=naive, tiled=naive).startswith("---"))
        self.assertTrue(self.counted(naive=naive).startswith("---"))

    def counted_by_simt(self, **rows):
        """The line of counts, where simt has counted the rungs as their files are now."""
        digests = counts.Digests(Graph(self.root, source_files(self.root)))
        rows = {
            f"sgemm/{name}": {"sources": digests.of_row("04_matmul", f"sgemm/{name}"), "counts": of}
            for name, of in rows.items()
        }
        chapter = {"commit": "0123", "date": "2026-11-21", "sizes": {"sgemm": {"m": 8}}}
        chapters = {"04_matmul": {**chapter, "rows": rows}}
        self.write(counts.FILE, json.dumps({"schema": 1, "chapters": chapters}))
        return self.line_of_counts()

    def line_of_counts(self):
        return self.compare("04/naive", "04/tiled", width=240).stdout.splitlines()[3]

    def test_counts_by_simt_are_shown_until_a_rung_changes(self):
        self.results(default=[self.row("naive"), self.row("tiled")])
        naive, tiled = {"load_sectors": 32.0, "barriers": 8}, {"load_sectors": 4.0, "barriers": 8}
        line = self.counted_by_simt(naive=naive, tiled=tiled)
        self.assertIn("counted by simt: sectors per load 32.0  ", line)
        self.assertIn("counted by simt: sectors per load 4.00", line)
        self.assertNotIn("barriers", line)
        path = "04_matmul/sgemm/03_naive.cuh"
        before = self.read(path)
        self.write(path, f"// of old\n{before}")  # no compiler sees that
        self.assertEqual(self.line_of_counts(), line)
        self.write(path, f"{before}int more;\n")
        self.assertTrue(self.line_of_counts().startswith("---"))
        self.assertTrue(self.counted_by_simt(tiled=tiled).startswith("---"))
        # What a GPU has counted comes first.
        self.counted_by_simt(naive=naive, tiled=tiled)
        line = self.counted(naive={"barriers": 256}, tiled={"barriers": 512})
        self.assertIn("counted: barriers 128  ", line)
        self.assertNotIn("simt", line)

    def test_rows_that_have_nothing_in_common(self):
        skipped = self.row("ring", "bf16_gemm", None, status="skipped", reason="needs sm_90a")
        self.results(default=[self.row("naive"), skipped])
        where, what = self.heads("naive", "ring")
        self.assertIn("sgemm, m = 4,096", where)
        self.assertIn("bf16_gemm, m = 4,096", where)
        self.assertIn("skipped: needs sm_90a", what)
        self.assertIn("not measured in results/", self.heads("naive", "tma")[0])

    def test_problems_of_a_folder(self):
        self.write("04_matmul/bf16_wide/01_ring.cuh", "// wide\n")
        rows = [self.row("ring", "bf16_gemm", 1.0), self.row("ring", "sgemm", 4.0)]
        self.results(default=rows)
        self.assertEqual(self.heads("bf16/ring", "bf16_wide/ring")[1].count("1.00 ms"), 2)
        self.results(default=[*rows, self.row("ring", "bf16_wide_nt", 2.0)])
        what = self.heads("bf16/ring", "bf16_wide/ring")[1]
        self.assertLess(what.index("1.00 ms"), what.index("2.00 ms"))

    def test_a_problem_that_sounds_like_no_folder(self):
        self.write("04_matmul/sharded/01_chunks.cuh", "// parts\n")
        self.write("04_matmul/sharded/02_ring.cuh", "// whose name another ladder has\n")
        rows = [self.row("chunks", "gather_gemm", 1.0), self.row("ring", "gather_gemm", 2.0)]
        self.results(default=[*rows, self.row("chunks", "bf16_gemm", 4.0)])
        where, what = self.heads("sharded/chunks", "sharded/ring")
        self.assertIn("gather_gemm", where)
        self.assertIn("1.00 ms", what)
        self.assertIn("not measured in results/", where)
        self.results(default=[self.row("chunks", "gather_gemm", 1.0, kind="peer"), rows[1]])
        self.assertIn("1.00 ms", self.heads("sharded/chunks", "sharded/ring")[1])

    def test_damaged_results_are_left_out(self):
        for text in ("[]", "{", '{"runs": {"04_matmul/default": 3}}', '{"runs": []}'):
            self.write("results/h200.json", text)
            result = self.compare("naive", "tiled", width=160)
            self.assertIn("not measured", result.stdout)
            self.assertIn("h200.json is left out: ", result.stderr)


if __name__ == "__main__":
    unittest.main()
