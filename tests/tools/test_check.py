"""What make check finds."""

import contextlib
import io
import json
import os
import re
import sys
import unittest
from pathlib import Path
from unittest import mock

from tool_case import ToolCase  # (puts tools/ on the path)

import check
import cpp_names
from include_graph import LICENCE

OPENING = "// one\n// two\n// three\n"


def rung(lines, opening=OPENING):
    return opening + "".join(f"int v{i};\n" for i in lines)


def includes(*names):
    return "".join(f'#include "{name}"\n' for name in names)


def kernel(lines, comments=0, name="k"):
    """A rung with a kernel of so many lines of code and lines of comment."""
    body = "  // why\n" * comments + "  go();\n" * lines
    return f"{OPENING}__global__ void {name}(int n) {{\n{body}}}\n"


class CheckCase(ToolCase):
    def setUp(self):
        super().setUp()
        self.clang_format()
        self.index("01_sequential.hpp", "02_naive.cuh")
        self.write("01_add/01_sequential.hpp", rung(range(10)))
        self.write("01_add/02_naive.cuh", rung(range(5, 20)))

    def write(self, path, text, licence=True):
        """What must open with its licence does."""
        needs_it = path.startswith("common/kit/") or path in ("01_add/add.cu", "02_polar/polar.cu")
        return super().write(path, f"{LICENCE}\n" * (needs_it and licence) + text)

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
        self.write(f"{folder}/ladder.cu", includes(*names))

    def check(self, *arguments, status=None, only_fakes=False, not_yet=None):
        """What check.py prints, without the time that a process of its own would take. Its status
        must say whether there are errors."""
        path = str(self.bin) if only_fakes else f"{self.bin}:{os.environ['PATH']}"
        words = ["check.py", "--root", str(self.root), *arguments]
        out = io.StringIO()
        with mock.patch.object(sys, "argv", words), mock.patch.dict(os.environ, PATH=path):
            known = mock.patch.object(check, "NOT_YET", not_yet or {})
            with contextlib.redirect_stdout(out), known:
                found = check.main()
        errors = re.search(r"^([1-9]\d*) errors", out.getvalue(), re.MULTILINE)
        self.assertEqual(found, 1 if errors else 0, out.getvalue())
        if status is not None:
            self.assertEqual(found, status, out.getvalue())
        return out.getvalue()

    def found(self, **options):
        """The same without how steps, rungs and pages lie where nothing is above its aim."""
        aims = r"^(?:steps|to read|to open|pages).*\n(?:  .*\n)*"
        return re.sub(aims, "", self.check(**options), flags=re.MULTILINE)

    def row(self, name):
        """The words of one line of the report."""
        words = [line.split() for line in self.check("--rungs").splitlines()]
        first = "" if words[0][0] == "rung" else words[0][0]
        return next(line for line in words if first + line[0] == name)


class Check(CheckCase):
    def test_a_sound_repository(self):
        self.write("01_add/add.cu", '#include "common/report.hpp"\n#include "01_add/ladder.cu"\n')
        self.write("common/report.hpp", "#pragma once\n")
        self.assertEqual(self.found(), "0 errors, 0 warnings\n")

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
        self.assertIn(
            "warning: 01_add/02_naive.cuh: not as clang-format 18", self.check(only_fakes=True)
        )

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

    def test_a_rung_may_come_between(self):
        files = ["02b_wide.cuh", "02c_wider.cuh", "03_tiled.cuh"]
        self.index("01_sequential.hpp", "02_naive.cuh", *files)
        for file in files:
            self.write(f"01_add/{file}", rung(range(5, 20)))
        self.assertEqual(self.found(), "0 errors, 0 warnings\n")
        self.assertEqual(self.row("01/wide")[1:4], ["0", "0", "0"])
        (self.root / "01_add/02b_wide.cuh").rename(self.root / "01_add/02d_wide.cuh")
        out = self.check(status=1)
        self.assertIn("02c_wider.cuh: should be number 03", out)
        self.assertIn("02d_wide.cuh: ", out)

    def test_rung_that_the_ladder_forgot(self):
        self.index("01_sequential.hpp")
        self.assertIn("02_naive.cuh: is not included by ladder.cu", self.check(status=1))
        (self.root / "01_add/ladder.cu").unlink()
        self.assertIn("01_add: has rungs but no ladder.cu", self.check(status=1))

    def test_a_ladder_that_is_compiled_for_each_type_by_itself(self):
        self.write("01_add/ladder.cuh", includes("01_sequential.hpp"))
        self.write("01_add/ladder_bf16.cu", includes("01_add/ladder.cuh"))
        (self.root / "01_add/ladder.cu").unlink()
        self.assertIn("02_naive.cuh: is not included by ladder.cuh", self.check(status=1))
        self.write("01_add/ladder.cuh", includes("01_sequential.hpp", "02_naive.cuh"))
        self.check()

    def test_an_index_in_parts(self):
        self.index("01_sequential.hpp", "more.cuh")
        self.write("01_add/more.cuh", includes("02_naive.cuh"))
        self.check()
        # What a rung stands on is no index: the rung would be listed by chance.
        self.write("01_add/01_sequential.hpp", rung(range(10)) + includes("more.cuh"))
        self.assertIn("02_naive.cuh: is not included by ladder.cu", self.check(status=1))

    def test_beyond_has_numbers_of_its_own(self):
        self.index("01_sequential.hpp", "02_naive.cuh", "beyond/01_wide.cuh")
        self.write("01_add/beyond/01_wide.cuh", rung(range(12)))
        self.assertEqual(self.found(), "0 errors, 0 warnings\n")
        self.write("01_add/beyond/03_far.cuh", rung(range(12)))
        out = self.check(status=1)
        self.assertIn("beyond/03_far.cuh: should be number 02", out)
        self.assertIn("beyond/03_far.cuh: is not included by ladder.cu", out)

    def test_length_of_the_main_road(self):
        names = [f"{i:02}_rung.cuh" for i in range(1, 16)]
        for name in names:
            self.write(f"02_polar/polar/{name}", rung(range(5)))
        self.index(*names, folder="02_polar/polar")
        self.assertIn("02_polar/polar: 15 rungs on the main road (at most 14)", self.check())

    def test_opening_comment(self):
        for count in (0, 2, 9):
            self.write("01_add/02_naive.cuh", rung(range(10), "// x\n" * count))
            self.assertIn(f"opens with {count} lines of comment", self.check(status=1))
        for count in (3, 8):
            self.write("01_add/02_naive.cuh", rung(range(10), "// x\n" * count))
            self.check()
        self.write("01_add/02_naive.cuh", rung(range(10), "/* a\n   b\n   c */\n"))
        self.check()

    def test_a_rung_says_the_name_of_its_file(self):
        for head, is_right in (
            ("// naive: a", True),
            ("// Adds: a", False),
            ("// a", True),
            ("// Rung 2, naive: a", False),
            ("// Beyond 2, naive: a", False),
        ):
            self.write("01_add/02_naive.cuh", rung(range(5, 20), head + "\n// b\n// c\n"))
            out = self.check(status=0 if is_right else 1)
            message = "error: 01_add/02_naive.cuh: does not open with '// naive:'"
            (self.assertNotIn if is_right else self.assertIn)(message, out)

    def test_nobody_says_a_number(self):
        self.write("01_add/README.md", "# The 2 rungs\n\nOf 14 rungs, 2 are left. Rung by rung.\n")
        self.assertEqual(self.found(), "0 errors, 0 warnings\n")
        self.write("01_add/README.md", "# A\n\nAs in rung\n5.\n")
        message = "error: 01_add/README.md:3: says 'rung 5': its name is enough"
        self.assertIn(message, self.check(status=1))
        self.write("01_add/README.md", "# A\n")
        self.write("tests/add.cpp", "int a;\n// Rungs 3 and 4.\n")
        message = "error: tests/add.cpp:2: says 'Rungs 3': its name is enough"
        self.assertIn(message, self.check(status=1))

    def test_a_heading_says_names_alone(self):
        page = "# Chapter 01\n### sequential, naive\n## 9 lives\n"
        self.write("01_add/README.md", page + "3 naive\n")
        self.assertEqual(self.found(), "0 errors, 0 warnings\n")
        for heading in ("2 naive", "1 sequential, 2 naive", "02: naive"):
            self.write("01_add/beyond.md", f"\n### {heading}\n")
            said = heading.split(", ")[-1].replace(":", "")
            message = f"error: 01_add/beyond.md:1: heads a section '{said}': the name is enough"
            self.assertIn(message, self.check(status=1))

    def test_opening_and_indent_are_no_step(self):
        text = "".join(f"  int v{i};\n" for i in range(100))
        self.write("01_add/01_sequential.hpp", rung(range(100)))
        self.write("01_add/02_naive.cuh", "// A\n// B\n// C\n// D\n" + text)
        self.assertEqual(self.found(), "0 errors, 0 warnings\n")

    def test_length(self):
        self.write("01_add/01_sequential.hpp", rung(range(297)))
        self.write("01_add/02_naive.cuh", rung(range(297)))
        self.check()
        self.write("01_add/02_naive.cuh", rung(range(298)))
        self.assertIn(
            "error: 01_add/02_naive.cuh: 301 lines long (at most 300)", self.check(status=1)
        )

    def test_problems_in_subfolders(self):
        self.write("03_coalescing/transpose/02_naive.cuh", rung(range(5)))
        self.index("02_naive.cuh", folder="03_coalescing/transpose")
        self.assertIn(
            "03_coalescing/transpose/02_naive.cuh: should be number 01", self.check(status=1)
        )


class BenchArguments(CheckCase):
    def setUp(self):
        super().setUp()
        self.index("01_loop.cuh", folder="04_matmul/bf16")
        self.write("04_matmul/bf16/01_loop.cuh", rung(range(5)))
        self.write("04_matmul/bf16/problem.cuh", 'auto name = nt ? "bf16_gemm_nt" : "bf16_gemm";\n')
        self.write("04_matmul/bf16/peers.cuh", 'auto peer = "cublas";\n')
        self.index("01_tiled.cuh", folder="04_matmul/sgemm")
        self.write("04_matmul/sgemm/01_tiled.cuh", rung(range(5)))
        self.write("04_matmul/sgemm/problem.cuh", 'auto name = "sgemm"; auto tag = "end";\n')

    def test_names_of_the_ladders(self):
        self.write(
            "04_matmul/bench.args",
            """
            default: --only loop,tiled,sgemm,bf16_gemm
            best: --size 8192 --only bf16_gemm_nt/loop,sgemm/tiled,bf16_gemm/cublas,@end,sgemm/@end
            plain: --only=cublas
            """,
        )
        self.assertEqual(self.found(), "0 errors, 0 warnings\n")

    def test_names_that_no_ladder_has(self):
        for name in ("lopp", "sgemm/loop", "sgemm/cublas", "bf16/loop", "nosuch/tiled", "@begin"):
            self.write("04_matmul/bench.args", f"default: --only tiled,{name} --n 3\n")
            message = f"04_matmul/bench.args: default: no ladder of this chapter has '{name}'"
            self.assertIn(f"error: {message}", self.check(status=1))

    def test_files_that_cannot_be_read(self):
        self.write("04_matmul/bench.args", "default: --only 'a\n")
        self.assertIn("error: 04_matmul/bench.args:1: No closing quotation", self.check(status=1))


class SanitizerReports(CheckCase):
    def report(self, *rungs, device="simt"):
        entry = {"arguments": "", "commit": "", "date": ""}
        entry["rungs"] = {rung: {"simt": "clean"} for rung in rungs}
        problems = {"01_add/add": entry} if rungs else {}
        report = {"device": device, "tools": ["simt"], "problems": problems}
        self.write(f"results/sanitizer/{device}.json", json.dumps(report))

    def test_every_rung_with_a_kernel_was_checked(self):
        self.write("01_add/kernels.cuh", 'auto name = "add";\n')
        self.report("naive")
        self.assertEqual(self.found(), "0 errors, 0 warnings\n")

    def test_a_rung_that_is_newer_than_the_report(self):
        self.index("01_sequential.hpp", "02_naive.cuh", "03_tiled.cuh")
        self.write("01_add/03_tiled.cuh", rung(range(5, 20)))
        self.write("01_add/kernels.cuh", 'auto name = "add";\n')
        self.report("naive")
        message = "results/sanitizer/simt.json: 01_add: not checked: tiled (make sanitize-01)"
        self.assertIn(f"warning: {message}", self.check())

    def test_reports_of_the_same_tools_complete_each_other(self):
        self.write("01_add/kernels.cuh", 'auto name = "add";\n')
        self.report("naive")
        self.report(device="another")
        self.assertEqual(self.found(), "0 errors, 0 warnings\n")
        self.report()
        message = "results/sanitizer/another.json: 01_add: not checked: naive (make sanitize-01)"
        self.assertIn(f"warning: {message}", self.check())

    def test_a_rung_that_is_gone(self):
        self.write("01_add/kernels.cuh", 'auto name = "add";\n')
        self.report("naive", "tiled")
        message = "results/sanitizer/simt.json: 01_add: no rung: add/tiled (make sanitize-01)"
        self.assertIn(f"warning: {message}", self.check())


class KeptCounts(CheckCase):
    def keep(self, sources):
        row = {"sources": sources, "counts": {"active_lanes": 32}}
        sizes = {"add": {"n": 1000}}
        entry = {"commit": "", "date": "", "sizes": sizes, "rows": {"add/naive": row}}
        self.write(check.counts.FILE, json.dumps({"chapters": {"01_add": entry}}))

    def test_rungs_that_changed_since_they_were_counted(self):
        graph = check.Graph(self.root, check.source_files(self.root))
        self.keep(check.counts.Digests(graph).of_row("01_add", "add/naive"))
        self.assertEqual(self.found(), "0 errors, 0 warnings\n")
        self.write("01_add/02_naive.cuh", rung(range(5, 21)))
        message = f"{check.counts.FILE}: 01_add: 1 of 1 rows changed since counted (make counts-01)"
        self.assertIn(f"warning: {message}", self.check())

    def test_a_damaged_file(self):
        self.keep(None)
        self.assertIn(f"error: {check.counts.FILE}: a text is missing", self.check(status=1))


class Mutants(CheckCase):
    def test_mistakes_that_cannot_be_planted(self):
        entry = "== {}\nfile {}\ntest tests/x\n---\n{}\n+++\nint other;\n"
        self.write("tests/mutants/add.txt", entry.format("fits", "01_add/02_naive.cuh", "int v7;"))
        self.assertEqual(self.found(), "0 errors, 0 warnings\n")
        for file, old, count in (
            ("01_add/02_naive.cuh", "int old;", 0),
            ("01_add/02_naive.cuh", "int ", 15),
            ("01_add/gone.cuh", "int v7;", 0),
        ):
            self.write("tests/mutants/add.txt", entry.format("stale", file, old))
            message = f"tests/mutants/add.txt: 'stale' fits {file} {count} times, not once"
            self.assertIn(f"error: {message}", self.check(status=1))
        self.write("tests/mutants/add.txt", "== no file\n")
        self.assertIn("error: tests/mutants/add.txt: ", self.check(status=1))


class Toolkit(CheckCase):
    def test_one_header_alone_asks_which_toolkit_it_is(self):
        asks = "// one\n#if CUDART_VERSION >= 12010\n#endif\n"
        self.write("common/kit/toolkit.cuh", asks)
        self.write("simt/frontend/keywords.h", "#define CUDART_VERSION 13000\n")
        self.assertEqual(self.found(), "0 errors, 0 warnings\n")
        self.write("01_add/02_naive.cuh", rung(range(5, 20)) + asks)
        out = self.check(status=1)
        self.assertIn("error: 01_add/02_naive.cuh:20: CUDART_VERSION: only common/kit/", out)
        self.write("01_add/02_naive.cuh", rung(range(5, 20)))
        self.write("common/bench/report.hpp", "static_assert(CUDA_VERSION >= 12000);\n")
        self.assertIn("common/bench/report.hpp:1: CUDA_VERSION: only", self.check(status=1))


class Indices(CheckCase):
    def test_a_blocks_number_is_multiplied_in_64_bits(self):
        head = rung(range(5, 20))
        wide = "std::int64_t i = std::int64_t{blockIdx.x} * 256;  // not blockIdx.x * 256\n"
        self.write("01_add/02_naive.cuh", head + wide)
        self.assertEqual(self.found(), "0 errors, 0 warnings\n")
        for narrow in ("blockIdx.x * blockDim.x", "kTile * blockIdx.y", "blockIdx.x * 256"):
            self.write("01_add/02_naive.cuh", head + f"std::int64_t i = {narrow};\n")
            self.assertIn("error: 01_add/02_naive.cuh:19: '", self.check(status=1))
        with mock.patch.object(check, "FEW_BLOCKS", {"01_add/02_naive.cuh"}):
            self.assertEqual(self.found(), "0 errors, 0 warnings\n")


class Formulas(CheckCase):
    def test_what_a_code_host_would_spoil(self):
        fine = "It is $a b$, [d = 4](#it), `$a\\,b$`, $5 and $6, $\\sum_i x$ and a cell | $n$ |."
        self.write("README.md", f"# It\n\n{fine}\n\n```math\na\\, b\n```\n")
        self.assertEqual(self.found(), "0 errors, 0 warnings\n")
        for text, message in (
            ("It is $a\\,b$.", "$a\\,b$: Markdown eats the backslash of \\,"),
            ("| x $0.5 = 50\\%$ |", "eats the backslash of \\%"),
            ("See [with $d = 4$](#it).", "$d = 4$: a link's text holds no formula"),
        ):
            self.write("README.md", f"# It\n\n{fine}\n{text}\n")
            out = self.check(status=1)
            self.assertIn("error: README.md:4: ", out)
            self.assertIn(message, out)


class Licence(CheckCase):
    def test_what_is_meant_to_be_copied_out_opens_with_its_licence(self):
        for path in ("01_add/add.cu", "common/kit/launch.cuh", "common/kit/ptx/mma.cuh"):
            file = self.write(path, "// one\n")
            self.assertEqual(self.found(), "0 errors, 0 warnings\n", path)
            for text in ("// one\n", f"// one\n{LICENCE}\n"):
                self.write(path, text, licence=False)
                self.assertIn(f"error: {path}: does not open with '// SPDX-", self.check(status=1))
            file.unlink()


class Steps(CheckCase):
    """What counts as one step."""

    USE = OPENING + includes("02_polar/shape.hpp") + "int x = tile();\n"

    def test_changed_lines(self):
        for last, severity in ((90, ""), (91, "warning: "), (260, "warning: "), (261, "error: ")):
            self.write("01_add/02_naive.cuh", rung(range(10, last)))
            out, step = self.check(), last - 10
            parts = f"{step} lines changed from the rung before, 0 of kit"
            message = f"error: 01_add/02_naive.cuh: a step of {step}: {parts}"
            (self.assertIn if severity == "error: " else self.assertNotIn)(message, out)
            above = f"{int(step > 80)} of 2 above 80; longest: 01/naive {step}, 01/sequential 0\n"
            said = f"steps: median 0 lines, nine of ten at most {step}, {above}"
            said = "warning: " * (step > 80) + said
            self.assertIn(said, re.sub(r"\n  ", " ", out))
            self.assertIn("errors, 1 warnings" if step > 80 else "errors, 0 warnings", out)

    def test_a_distribution(self):
        values = {f"r{i}": i for i in range(1, 21)}
        self.assertEqual(
            check.distribution("steps", values, 17, "lines").replace("\n  ", " "),
            "steps: median 10 lines, nine of ten at most 18, 3 of 20 above 17; longest: r20 20, "
            "r19 19, r18 18, r17 17, r16 16, r15 15, r14 14, r13 13, r12 12, r11 11",
        )
        self.assertIn("nine of ten at most 7,", check.distribution("a", {"b": 7}, 9, "lines"))

    def test_lines_that_went_count_too(self):
        self.write("01_add/01_sequential.hpp", rung(range(40)))
        self.write("01_add/02_naive.cuh", rung(range(5)))
        self.assertEqual(self.row("01/naive")[1], "35")

    def test_opening_indent_comments_and_includes_are_no_step(self):
        text = "".join(f"  int v{i};  // {i}\n\n  // why\n" for i in range(100))
        self.write("01_add/01_sequential.hpp", rung(range(100)))
        self.write("01_add/02_naive.cuh", "// A\n// B\n// C\n" + includes("<vector>") + text)
        self.assertEqual(self.row("01/naive")[1:4], ["0", "0", "0"])

    def kit(self, path, lines, name="tile"):
        """A header with one function of so many lines of code, and another one."""
        body = "  // why\n" + "  go();\n" * (lines - 2)
        self.write(path, f"void {name}() {{\n{body}}}\nvoid not_{name}() {{}}\n")

    def test_kit_counts_where_it_is_used_first(self):
        self.index("01_sequential.hpp", "02_naive.cuh", "03_tiled.cuh")
        self.kit("01_add/kit/copy.cuh", 30, "copy")
        self.kit("common/kit/ptx/mma.cuh", 5, "mma")
        below = includes("01_add/kit/copy.cuh", "common/kit/ptx/mma.cuh")
        self.write("01_add/kit/tile.cuh", f"{below}void tile() {{ copy(), mma(); }}\nint no;\n")
        for name in ("02_naive", "03_tiled"):
            text = includes("01_add/kit/tile.cuh") + "void own() { tile(); }\n"
            self.write(f"01_add/{name}.cuh", rung(range(10)) + text)
        self.assertEqual(self.row("01/naive")[1:4], ["1", "36", "37"])
        self.assertEqual(self.row("01/tiled")[1:4], ["0", "0", "0"])
        # What the problem says is no kit; what a macro writes again and again counts once.
        self.write("01_add/problem.cuh", "int asked();\n")
        self.write("01_add/kit/get.cuh", "#define GET(n) int get_##n();\nGET(1)\nGET(2)\nGET(3)\n")
        text = includes("problem.cuh", "kit/get.cuh") + "int x = asked() + get_1();\n"
        self.write("01_add/02_naive.cuh", rung(range(10)) + text)
        self.assertEqual(self.row("01/naive")[1:4], ["1", "2", "3"])

    def test_what_chapters_before_have_shown_is_not_new(self):
        self.kit("common/kit/check.cuh", 7)
        use = includes("common/kit/check.cuh") + "int x = tile();\n"
        self.write("01_add/02_naive.cuh", rung(range(10)) + use)
        self.index("01_first.cuh", folder="02_polar/polar")
        self.write("02_polar/polar/01_first.cuh", OPENING + use)
        self.assertEqual(self.row("01/naive")[2], "7")
        self.assertEqual(self.row("02/polar/first")[2], "0")

    def test_what_the_chapters_ladders_before_have_shown_is_not_new(self):
        self.kit("02_polar/shape.hpp", 30)
        for problem in ("branch", "sum"):
            folder = f"02_polar/{problem}"
            self.write(f"{folder}/01_first.cuh", self.USE)
            self.write(f"{folder}/ladder.cu", includes("01_first.cuh"))

        def new_lines(first, then):
            adds = [f"program.add(ladders::{name}());\n" for name in (first, then)]
            self.write("02_polar/ladders.cu", "".join(adds))
            return [self.row(f"02/{problem}/first")[2] for problem in (first, then)]

        self.assertEqual(new_lines("branch", "sum"), ["30", "0"])
        self.assertEqual(new_lines("sum", "branch"), ["30", "0"])

    def test_what_any_main_road_of_the_chapter_has_shown_is_not_new_beyond(self):
        self.kit("02_polar/shape.hpp", 30)
        self.write("02_polar/branch/beyond/01_wide.cuh", self.USE)
        self.index("01_first.cuh", "beyond/01_wide.cuh", folder="02_polar/branch")
        self.write("02_polar/branch/01_first.cuh", OPENING)
        self.assertEqual(self.row("02/branch/beyond/wide")[2], "30")
        self.index("01_first.cuh", folder="02_polar/sum")
        self.write("02_polar/sum/01_first.cuh", self.USE)
        self.assertEqual(self.row("02/branch/beyond/wide")[2], "0")
        self.assertEqual(self.row("02/sum/first")[2], "30")

    def test_a_side_road_leaves_the_main_one_anywhere(self):
        self.index("01_sequential.hpp", "02_naive.cuh", "beyond/01_wide.cuh")
        self.write("01_add/02_naive.cuh", rung(range(50, 150)))
        self.write("01_add/beyond/01_wide.cuh", rung(range(12)))
        self.assertEqual(self.row("01/beyond/wide")[1], "2")


class ReadAlone(CheckCase):
    """How much of other files somebody must know who reads one rung."""

    def naive(self, body, *files):
        self.write("01_add/02_naive.cuh", OPENING + includes(*files) + body)

    def test_what_a_reader_opens(self):
        self.write("common/kit/ptx/mma.cuh", "namespace ptx {\n// An instruction.\nint mma();\n}\n")
        launch = "namespace kit {\nint blocks();\n\nint unused();\n}\n"
        self.write("common/kit/launch.cuh", launch)
        self.write("common/kit/unused.cuh", "int never();\n")
        files = [f"common/kit/{name}.cuh" for name in ("ptx/mma", "launch", "unused")]
        code = "__global__ void k() { ptx::mma(); }\nvoid launch() { kit::blocks(); }\n"
        self.naive(code, *files)
        self.assertEqual(self.row("01/naive")[4:6], ["11", "3"])
        self.assertEqual(self.row("01/sequential")[4:6], ["13", "1"])

    def test_more_than_is_aimed_at_is_told(self):
        for i in range(9):
            self.write(f"01_add/kit/h{i}.cuh", f"int a{i}();\n" + "int more();\n" * 45)
        headers = [f"kit/h{i}.cuh" for i in range(9)]
        for count, files in ((7, "8"), (8, "9!")):
            calls = " + ".join(f"a{i}()" for i in range(count))
            self.naive(f"int x = {calls};\n", *headers)
            self.assertEqual(self.row("01/naive")[5], files)
            said = f"{int(count == 8)} of 2 above 8; longest: 01/naive {files[0]}"
            self.assertIn(said, self.check().replace("\n  ", " "))
        self.naive("int y;\n" * 447)
        self.assertEqual(self.row("01/naive")[4], "450")
        self.naive("int y;\n" * 448)
        self.assertEqual(self.row("01/naive")[4], "451!")
        self.assertIn("to read for a rung: median 13 lines, nine of ten at most 451", self.check())

    def test_every_name_comes_by_an_include_of_its_own(self):
        self.write("01_add/kit/tile.cuh", includes("origin.cuh") + "struct Tile {};\n")
        self.write("01_add/kit/origin.cuh", "struct Origin {};\nconstexpr int kSide = 32;\n")
        self.naive("void f() { Tile t; Origin o = g(kSide); }\n", "kit/tile.cuh")
        self.assertIn(
            "02_naive.cuh: takes Origin, kSide from 01_add/kit/origin.cuh without", self.check()
        )
        self.naive("void f() { Tile t; Origin o = g(kSide); }\n", "kit/tile.cuh", "kit/origin.cuh")
        self.assertEqual(self.found(), "0 errors, 0 warnings\n")

    def test_long_kernels_say_why(self):
        for lines, comments, is_silent in (
            (24, 0, False),
            (25, 1, True),
            (25, 2, False),
            (36, 2, True),
        ):
            self.write("01_add/02_naive.cuh", kernel(lines, comments))
            message = f"k has {lines} lines and {comments} lines of comment"
            (self.assertIn if is_silent else self.assertNotIn)(message, self.check())

    def test_device_functions_are_as_long_as_kernels(self):
        self.write("01_add/02_naive.cuh", kernel(30).replace("__global__", "__device__ inline"))
        self.assertIn("k has 30 lines and 0 lines of comment", self.check())

    def test_what_rungs_stand_on_says_why_too(self):
        self.write("01_add/kit/tile.cuh", kernel(30, name="load"))
        self.assertEqual(self.found(), "0 errors, 0 warnings\n")
        self.naive("int x;\n", "kit/tile.cuh")
        self.assertIn("01_add/kit/tile.cuh: load has 30 lines and 0 lines of", self.check())

    def test_columns_of_python(self):
        self.write("tools/a.py", "x" * 100 + "\n")
        self.write("build/b.py", "x" * 101 + "\n")
        self.assertEqual(self.found(), "0 errors, 0 warnings\n")
        self.write("simt/frontend/a.py", "x = 1\n" + "x" * 101 + "\n")
        self.assertIn("error: simt/frontend/a.py:2: 101 columns (at most 100)", self.check())

    def test_letters_of_markdown(self):
        self.write("01_add/a.md", "ä" * 400 + "\n")
        self.assertEqual(self.found(), "0 errors, 0 warnings\n")
        self.write("01_add/a.md", "short\n" + "x" * 401 + "\n")
        self.assertIn("error: 01_add/a.md:2: 401 letters (at most 400)", self.check(status=1))

    def test_lines_of_a_page(self):
        self.write("01_add/README.md", "line\n" * 800)
        self.assertEqual(self.found(), "0 errors, 0 warnings\n")
        self.write("01_add/beyond.md", "line\n" * 1500)
        out = self.check(status=0).replace("\n  ", " ")
        said = "warning: pages: median 800 lines, nine of ten at most 1500, 1 of 2 above 800; "
        self.assertIn(f"{said}longest: 01_add/beyond.md 1500, 01_add/README.md 800\n", out)
        self.write("01_add/beyond.md", "line\n" * 1501)
        self.assertIn("error: 01_add/beyond.md: 1501 lines (at most 1500)", self.check())


class Arrows(CheckCase):
    """Each arrow that must not be, seen to be found."""

    def arrow(self, path, target, found, **options):
        """Whether `path` including `target` is found as this rule."""
        self.write(path, OPENING + includes(target))
        out = self.check(status=1, **options)
        self.assertIn(f"error: {path}: includes {target}", out)
        self.assertIn(f"({found}: never)", out)
        self.write(path, OPENING)

    def setUp(self):
        super().setUp()
        for name in ("sgemm", "bf16"):
            self.index("01_loop.cuh", folder=f"04_matmul/{name}")
            self.write(f"04_matmul/{name}/01_loop.cuh", OPENING)
        for path in ("common/bench/program.cuh", "common/bench/report.hpp", "common/kit/check.cuh"):
            self.write(path, "#pragma once\n")

    def test_what_may_be(self):
        self.write("04_matmul/sgemm/01_loop.cuh", OPENING + includes("04_matmul/kit/tile.cuh"))
        self.write("04_matmul/kit/tile.cuh", includes("common/kit/check.cuh"))
        self.write(
            "04_matmul/sgemm/problem.cuh",
            includes("common/bench/report.hpp", "04_matmul/shape.hpp"),
        )
        self.write("04_matmul/shape.hpp", "#pragma once\n")
        self.write(
            "04_matmul/study/roofline.cuh",
            includes("04_matmul/sgemm/ladder.cu", "04_matmul/bf16/problem.cuh"),
        )
        self.write("04_matmul/bf16/problem.cuh", includes("common/bench/report.hpp"))
        self.write(
            "04_matmul/ladders.cu",
            includes("04_matmul/sgemm/ladder.cu", "04_matmul/study/roofline.cuh"),
        )
        self.write(
            "common/bench/harness.cuh", includes("common/bench/report.hpp", "common/kit/check.cuh")
        )
        self.assertEqual(self.found(), "0 errors, 0 warnings\n")

    def test_rung_to_rung(self):
        self.arrow("01_add/02_naive.cuh", "01_add/01_sequential.hpp", "rung -> rung")
        self.index("01_sequential.hpp", "02_naive.cuh", "beyond/01_wide.cuh")
        self.arrow("01_add/beyond/01_wide.cuh", "../02_naive.cuh", "rung -> rung")

    def test_kit_to_rung(self):
        self.arrow("01_add/kit/tile.cuh", "../02_naive.cuh", "kit -> rung")
        self.arrow("01_add/problem.cuh", "02_naive.cuh", "kit -> rung")
        self.write("01_add/chosen.cuh", includes("02_naive.cuh"))
        self.arrow("01_add/problem.cuh", "chosen.cuh", "kit -> rung")
        # What a rung stands on is kit, wherever it lies.
        self.write("01_add/02_naive.cuh", OPENING + includes("tiles.cuh"))
        self.arrow("01_add/tiles.cuh", "01_sequential.hpp", "kit -> rung")

    def test_rung_to_bench(self):
        self.arrow("01_add/02_naive.cuh", "common/bench/report.hpp", "rung -> common/bench")
        self.arrow("01_add/kit/tile.cuh", "common/bench/report.hpp", "kit -> common/bench")
        self.write("01_add/problem.cuh", includes("common/bench/report.hpp"))
        self.arrow("01_add/02_naive.cuh", "problem.cuh", "rung -> common/bench")

    def test_problem_to_another_problem(self):
        rule = "problem -> another problem"
        self.arrow("04_matmul/bf16/problem.cuh", "04_matmul/sgemm/ladder.cu", rule)
        self.arrow("04_matmul/bf16/kit/tile.cuh", "04_matmul/sgemm/kit/tile.cuh", rule)
        self.write("04_matmul/sgemm/kit/tile.cuh", "#pragma once\n")
        self.write("04_matmul/kit/shared.cuh", includes("04_matmul/sgemm/kit/tile.cuh"))
        self.arrow("04_matmul/bf16/01_loop.cuh", "04_matmul/kit/shared.cuh", rule)

    def test_common(self):
        self.arrow("common/kit/launch.cuh", "common/bench/report.hpp", "common/kit -> common/bench")
        self.arrow(
            "common/bench/harness.cuh", "common/bench/program.cuh", "bench/harness -> bench/program"
        )
        self.write("common/bench/report.hpp", includes("common/bench/program.cuh"))
        self.arrow(
            "common/bench/harness.cuh", "common/bench/report.hpp", "bench/harness -> bench/program"
        )
        self.arrow("common/bench/measure.hpp", "01_add/ladder.cu", "common -> chapter")

    def test_chapters_and_simt(self):
        self.arrow("02_polar/polar.cu", "01_add/ladder.cu", "chapter -> chapter")
        self.arrow("02_polar/polar.cu", "../01_add/02_naive.cuh", "chapter -> chapter")
        self.arrow("01_add/add.cu", "simt/src/fibre.h", "chapter -> simt")
        self.arrow("common/kit/launch.cuh", "simt/src/fibre.h", "chapter -> simt")
        self.arrow("common/bench/verify.cuh", "simt/profile.h", "chapter -> simt")
        self.write("common/bench/model_counts.cuh", includes("simt/profile.h"))
        self.check(status=0)
        self.arrow("simt/src/fibre.h", "01_add/ladder.cu", "simt -> chapter")

    def test_where_the_house_is_still_being_built(self):
        self.write("01_add/kit/h0.cuh", "")
        self.write("01_add/02_naive.cuh", includes("kit/h0.cuh"))
        breach = "01_add/02_naive.cuh: opens with 0 lines of comment"
        self.assertIn(f"error: {breach}", self.check(not_yet={"02_polar/": {"opening"}}))
        self.assertIn(f"error: {breach}", self.check(not_yet={"01_add/": {"step", "gap"}}))
        not_yet = {"01_add/": {"opening"}}
        self.assertIn(f"warning: {breach}", self.check(status=0, not_yet=not_yet))
        # The folder's other rules are errors.
        self.write("01_add/kit/h0.cuh", includes("01_add/01_sequential.hpp"))
        self.check(status=1, not_yet=not_yet)

    def test_no_rule_without_a_test(self):
        text = Path(__file__).read_text(encoding="utf-8")
        for rule in check.ARROWS:
            self.assertIn(f'"{rule}"', text)


class Names(unittest.TestCase):
    """The names that a file defines, and those that a kernel uses."""

    def test_defined(self):
        text = """
            #define CHECK(x) x
            namespace a { namespace b {
            template <int N> struct Tile { using Row = int; struct Part {}; int member; };
            enum Colour { red, green = 3 };  enum class Way { up, down };
            constexpr int kA[] = {1, 2}, kB = f(kA);
            template <class T, int kN = (1 > 0)>
            __global__ void __launch_bounds__(kN) kernel(const T* in, int n) { int local = 0; }
            std::pair<Left, Right> pair_of(int x);
            using std::min;  using Short = Tile<3>;
            } }
            void Owner::method(int) {}
            inline auto operator+(Tile x, Tile y) { return x; }
            """
        found = {(d.namespace, d.name) for d in cpp_names.definitions(text) if not d.is_member}
        names = "Tile Colour red green Way kA kB kernel pair_of Short".split()
        self.assertEqual(found, {("", "CHECK"), *(("b", name) for name in names)})
        members = {d.name for d in cpp_names.definitions(text) if d.is_member}
        self.assertEqual(members, {"Row", "Part"})

    def test_used(self):
        code = """int n = kit::count(tile); Tile<T> place(n); place.next(); T::kRows;
            return wait(n);
            place.template pack<T>(n); place->template unpack<T>(n);"""
        found = {(use.qualifier, use.name) for use in cpp_names.uses(code)}
        expected = {("", "kit"), ("kit", "count"), ("", "tile"), ("", "Tile"), ("T", "kRows")}
        self.assertEqual(found - {("", "T")}, expected | {("", "wait")})


class Arguments(CheckCase):
    def test_report_of_one_problem(self):
        out = self.check("--rungs", "01").splitlines()
        self.assertEqual(out[0].split(), "01/ own kit step read files kernel why lines".split())
        self.assertEqual([line.split()[0] for line in out[1:]], ["sequential", "naive"])
        self.assertEqual(self.check("--rungs", "01_add").splitlines(), out)
        self.assertTrue(all(len(line) <= 80 for line in out))
        self.write("01_add/02_naive.cuh", rung(range(10, 131)))
        self.assertEqual(self.row("01/naive")[3], "121!")

    def test_report_of_several_problems(self):
        self.index("01_loop.cuh", folder="02_polar/polar")
        self.write("02_polar/polar/01_loop.cuh", rung(range(5)))
        out = self.check("--rungs").splitlines()
        self.assertEqual(out[0].split()[0], "rung")
        self.assertEqual(
            [line.split()[0] for line in out[1:]], ["01/sequential", "01/naive", "02/polar/loop"]
        )

    def test_bad_arguments(self):
        for arguments in (["--nosuch"], ["extra"], ["--root", "nosuch"], ["--rungs", "09"]):
            self.assert_one_line(
                self.run_tool("check.py", *arguments, status=2).stderr, "check.py:"
            )


if __name__ == "__main__":
    unittest.main()
