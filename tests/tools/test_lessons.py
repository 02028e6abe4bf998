"""Filling and checking the lessons."""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import textwrap
import unittest
from unittest import mock

from tool_case import REPOSITORY, TOOLS, ToolCase

import lessons

RUN = {
    "schema": 1,
    "program": "01_vector_add",
    "arguments": "--n 268435456",
    "device": {"name": "NVIDIA H200"},
    "toolkit": "13.0",
    "date": "2026-11-21T08:00:00Z",
    "rows": [
        {
            "problem": "vector_add",
            "name": "grid-stride",
            "sizes": {"n": 268435456},
            "median_ms": 0.7334,
            "gbps": 4392.1,
            "gflops": 36600.0,
            "percent_of_roof": 89.31,
            "ratio_to_peer": 1.004,
            "max_error": 1.2e-7,
            "status": "right",
            "reason": "",
            "phases": [{"name": "copy in", "median_ms": 12.345, "gbps": 21.5}],
        },
        {
            "problem": "vector_add",
            "name": "tma",
            "sizes": {"n": 268435456},
            "median_ms": None,
            "gbps": None,
            "gflops": None,
            "percent_of_roof": None,
            "ratio_to_peer": None,
            "max_error": None,
            "status": "skipped",
            "reason": "needs sm_90a",
        },
    ],
    "sweeps": [
        {
            "problem": "vector_add",
            "sweep": "block",
            "points": [
                {"gbps": 2100.0, "block": 32.0, "median_ms": 1.5, "occupancy %": 50},
                {"block": 256, "gbps": 4390.0, "median_ms": 0.73, "occupancy %": 93.75},
            ],
        }
    ],
}
COUNTERS = {
    "schema": 1,
    "arguments": "--n 1003",
    "kernels": [{"kernel": "vector_add_grid_stride_kernel", "load_sectors_per_request": 4.0}],
}


class LessonCase(ToolCase):
    def setUp(self):
        super().setUp()
        results = {
            "schema": 1,
            "runs": {"01_vector_add/large": RUN},
            "counters": {"01_vector_add": COUNTERS},
        }
        self.write("results/h200.json", json.dumps(results))
        self.write("01_vector_add/03_naive.cuh", "// naive\n\n// Adds.\nvoid add() {\n  go();\n}\n")

    def results(self, run):
        self.write("results/h200.json", json.dumps({"runs": {"01_vector_add/large": run}}))

    def lesson(self, text):
        return self.write("01_vector_add/README.md", text)

    def fill(self, *arguments, status=0):
        """What lessons.py prints, without the time that a process of its own would take."""
        lessons.forget()
        words, out = ["lessons.py", "--root", str(self.root), *arguments], io.StringIO()
        with mock.patch.object(sys, "argv", words), contextlib.redirect_stdout(out):
            found = lessons.main()
        self.assertEqual(found, status, out.getvalue())
        return out.getvalue()

    def check(self, status=0):
        return self.fill("--check", status=status)

    def table(self, words, status=0):
        """The lines a table mark with `words` is filled with."""
        mark = f"table run=01_vector_add/large results=results/h200.json {words}"
        self.lesson(f"<!-- {mark} -->\n<!-- end table -->\n")
        out = self.fill(status=status)
        return out if status else self.read("01_vector_add/README.md").split("\n")[1:-2]


class Fences(LessonCase):
    STALE = """
        # Lesson

        ```cpp file=03_naive.cuh symbol=add
        old
        ```
        ```cpp file=/01_vector_add/03_naive.cuh
        ```
        ```cpp
        typed by hand
        ```
        """

    def test_filled_once_and_then_left_alone(self):
        self.lesson(self.STALE)
        self.assertIn("2 blocks filled", self.fill())
        text = self.read("01_vector_add/README.md")
        self.assertIn("symbol=add\n// Adds.\nvoid add() {\n  go();\n}\n```\n", text)
        self.assertIn("03_naive.cuh\n// naive\n\n// Adds.", text)
        self.assertIn("typed by hand", text)
        self.assertEqual(self.fill(), "")
        self.assertEqual(self.read("01_vector_add/README.md"), text)
        self.assertEqual(self.check(), "")

    def test_check_names_stale_fences_and_changes_nothing(self):
        path = self.lesson(self.STALE)
        before = path.read_text()
        out = self.check(status=1)
        self.assertIn("01_vector_add/README.md:3: stale", out)
        self.assertIn("symbol=add", out)
        self.assertEqual(path.read_text(), before)

    def test_the_checklist_quotes_too(self):
        self.write("CHECKLIST.md", "```cpp file=01_vector_add/03_naive.cuh symbol=add\nold\n```\n")
        self.assertIn("CHECKLIST.md:1: stale", self.check(status=1))
        self.fill()
        self.assertIn("void add() {", self.read("CHECKLIST.md"))

    def test_missing_sources_are_findings(self):
        self.lesson(
            "```cpp file=04_gone.cuh\nkept\n```\n```cpp file=03_naive.cuh symbol=gone\n```\n"
        )
        out = self.fill(status=1)
        self.assertIn(":1: no file 04_gone.cuh", out)
        self.assertIn(":4: 03_naive.cuh: no definition of 'gone'", out)
        self.assertIn("kept", self.read("01_vector_add/README.md"))

    def left_alone(self, text):
        """`text` is refused with one line, and no byte of it changes."""
        self.lesson(text)
        before = self.read("01_vector_add/README.md")
        self.assert_one_line(self.fill(status=1), "never closed; nothing is filled here")
        self.assertEqual(self.read("01_vector_add/README.md"), before)

    def test_an_unclosed_fence_loses_nothing(self):
        fence = "```cpp file=03_naive.cuh symbol=add\n"
        self.left_alone(fence)
        self.left_alone(f"{fence}old\n```\n{fence}old\nprose\n")
        # The end of the next fence would end this one.
        self.left_alone(f"{fence}prose\n{fence}old\n```\n")
        self.left_alone(f"{fence}old\n\n## Heading\n```\n")
        self.left_alone(f"{fence}<!-- table run=a results=b -->\n<!-- end table -->\n```\n")

    def test_a_missing_end_mark_loses_nothing(self):
        mark = "<!-- table run=01_vector_add/large results=results/h200.json -->\n"
        self.left_alone(f"{mark}| old |\n\nprose\n")
        self.left_alone(f"{mark}| old |\n\nprose\n{mark}<!-- end table -->\n")
        self.left_alone(f"{mark}| old |\n\n```\ncode\n```\n<!-- end table -->\n")

    def test_a_lesson_is_replaced_in_one_step(self):
        path = self.lesson(self.STALE)
        before = path.read_text()
        path.chmod(0o640)
        os.link(path, self.root / "seen_before")  # whoever has the old file open keeps it whole
        self.fill()
        self.assertEqual(self.read("seen_before"), before)
        self.assertNotEqual(path.read_text(), before)
        self.assertEqual(path.stat().st_mode & 0o777, 0o640)
        self.assertEqual(
            sorted(p.name for p in path.parent.iterdir()), ["03_naive.cuh", "README.md"]
        )

    def test_a_full_disk_leaves_the_lesson(self):
        path = self.lesson("```cpp file=03_naive.cuh\n```\n" + "word\n" * 2000)
        before = path.read_text()
        command = f"ulimit -f 1; exec {sys.executable} {TOOLS}/lessons.py --root {self.root}"
        result = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
        self.assertNotEqual(result.returncode, 0)
        self.assert_one_line(result.stderr, "lessons.py: ", "File too large")
        self.assertEqual(path.read_text(), before)
        self.assertEqual(
            sorted(p.name for p in path.parent.iterdir()), ["03_naive.cuh", "README.md"]
        )

    def test_files_of_beyond_and_of_the_kit(self):
        self.write(
            "01_vector_add/beyond/01_wide.cuh", "namespace a {\nint wide() { return 1; }\n}\n"
        )
        self.write("01_vector_add/kit/tile.cuh", "// region tile\nint kTile;\n// endregion\n")
        path = self.write(
            "01_vector_add/beyond.md",
            "```cpp file=beyond/01_wide.cuh symbol=wide\n```\n"
            "```cpp file=/01_vector_add/kit/tile.cuh region=tile\n```\n",
        )
        self.fill()
        self.assertIn("symbol=wide\nint wide() { return 1; }\n```", path.read_text())
        self.assertIn("region=tile\nint kTile;\n```", path.read_text())

    def test_files_outside_the_repository_are_refused(self):
        (self.root.parent / "secret").write_text("password\n")
        (self.root / "01_vector_add/link").symlink_to(self.root.parent / "secret")
        for name in ("../../secret", "/../secret", "//etc/hostname", "link", "kit/../../../secret"):
            self.lesson(f"```text file={name}\n```\n")
            self.assert_one_line(self.fill(status=1), "README.md:1: ", name)
            self.assertNotIn("password", self.read("01_vector_add/README.md"))
        self.lesson("<!-- table run=a results=../secret -->\n<!-- end table -->\n")
        self.assert_one_line(self.fill(status=1), "../secret: lies outside the repository")

    def test_files_that_cannot_be_read(self):
        (self.root / "01_vector_add/latin.cuh").write_bytes(b"// caf\xe9\n")
        self.lesson("```cpp file=latin.cuh\n```\n```cpp file=../01_vector_add\n```\n")
        out = self.fill(status=1).splitlines()
        self.assertIn("not UTF-8 from byte 6 on", out[0])
        self.assertIn("Is a directory", out[1])
        (self.root / "01_vector_add/README.md").write_bytes(b"caf\xe9\n")
        (self.root / "01_vector_add/gone.md").symlink_to("nowhere.md")
        for out in (self.fill(status=1), self.check(status=1)):
            self.assertIn("01_vector_add/README.md:1: cannot be read: ", out)
            self.assertIn("01_vector_add/gone.md:1: cannot be read: No such file", out)
        self.write("CHECKLIST.md", "[x](01_vector_add/README.md#y)\n")
        self.assertIn("CHECKLIST.md:1: dead link 01_vector_add/README.md#y: ", self.check(status=1))

    def test_a_fence_shown_inside_a_longer_fence_is_text(self):
        text = "````\n```cpp file=03_naive.cuh\n```\n````\n"
        self.lesson(text)
        self.fill()
        self.assertEqual(self.read("01_vector_add/README.md"), text)

    def test_indented_fence_keeps_its_indent(self):
        self.lesson("- item\n\n  ```cpp file=03_naive.cuh symbol=add\n  ```\n")
        self.fill()
        self.assertIn(
            "\n  void add() {\n    go();\n  }\n  ```", self.read("01_vector_add/README.md")
        )


class Tables(LessonCase):
    def test_rows(self):
        lines = self.table(
            "problem=vector_add "
            "columns=name,median_ms,gbps,percent_of_roof,ratio_to_peer,max_error"
        )
        self.assertEqual(
            lines,
            textwrap.dedent(
                """\
                | Variant     | Time, ms | GB/s | % of peak | × library | Largest error |
                | ----------- | -------: | ---: | --------: | --------: | ------------: |
                | grid-stride |    0.733 | 4392 |      89.3 |      1.00 |       1.2e-07 |
                | tma         |        – |    – |         – |         – |             – |

                *NVIDIA H200, CUDA 13.0, 2026-11-21: `01_vector_add --n 268435456`*

                `tma`: skipped, needs sm_90a."""
            ).split("\n"),
        )
        self.assertEqual(self.check(), "")

    def test_operations_in_10_to_the_9_and_12(self):
        lines = self.table("columns=name,gflops,tflops")
        self.assertEqual(lines[0].split("|")[2:4], [" GFLOP/s ", " TFLOP/s "])
        self.assertEqual([cell.strip() for cell in lines[2].split("|")[2:4]], ["36600", "36.6"])
        self.assertEqual([cell.strip() for cell in lines[3].split("|")[2:4]], ["–", "–"])

    def test_counters_phases_and_sizes(self):
        lines = self.table(
            "columns=name,sizes.n,phase:copy_in,phase:copy_in:gbps,"
            "counter:load_sectors_per_request only=grid-stride"
        )
        self.assertEqual(
            lines[0],
            "| Variant     |           n | Copy in, ms | Copy in, GB/s | Sectors per load |",
        )
        self.assertEqual(
            lines[2],
            "| grid-stride | 268,435,456 |        12.3 |          21.5 |             4.00 |",
        )
        self.assertTrue(
            lines[-1].endswith("`01_vector_add --n 268435456`; counted with `--n 1003`*"), lines
        )

    def test_sums_are_those_of_one_run(self):
        kernel = {"kernel": "vector_add_grid_stride_kernel", "barriers": 8, "active_lanes": 31.5}
        kernel.update(atomics=None)
        counters = {"01_vector_add": {"arguments": "", "runs": 2, "kernels": [kernel]}}
        results = {"runs": {"01_vector_add/large": RUN}, "counters": counters}
        self.write("results/h200.json", json.dumps(results))
        columns = "columns=name,counter:barriers,counter:active_lanes,counter:atomics"
        cells = self.table(f"{columns} only=grid-stride")[2].split("|")
        self.assertEqual([cell.strip() for cell in cells[2:5]], ["4", "31.5", "–"])
        counters["01_vector_add"]["runs"] = 0
        self.write("results/h200.json", json.dumps(results))
        self.assertIn("runs: 0", self.table(f"{columns} only=grid-stride", status=1))

    def test_the_kernel_of_a_row(self):
        def counted(*kernels):
            entries = [{"kernel": name, "barriers": i} for i, name in enumerate(kernels)]
            counters = {"01_vector_add": {"arguments": "", "kernels": entries}}
            results = {"runs": {"01_vector_add/large": RUN}, "counters": counters}
            self.write("results/h200.json", json.dumps(results))
            lines = self.table("columns=name,counter:barriers only=grid-stride")
            return lines[2].split("|")[2].strip()

        other = "sum::grid_stride_kernel"
        self.assertEqual(counted(other, "vector_add_grid_stride_kernel"), "1")
        self.assertEqual(counted(other, "vector_add::grid_stride_kernel"), "1")
        self.assertEqual(counted(other, "vector::grid_stride_kernel"), "1")
        self.assertEqual(counted(other, "kit::x", "house::vector_add_grid_stride_kernel"), "2")

    def test_sweep(self):
        lines = self.table("sweep=block")
        self.assertEqual(lines[0], "| Threads per block | Time, ms | GB/s | Occupancy, % |")
        self.assertEqual(lines[2], "|                32 |     1.50 | 2100 |         50.0 |")
        self.assertEqual(lines[3], "|               256 |    0.730 | 4390 |         93.8 |")

    def test_a_rate_in_a_sweep_has_its_unit_in_the_title(self):
        points = [{"n": 128, "best_rung_tflops": 1.125, "cublas_tflops": 0.5}]
        sweep = {"problem": "vector_add", "sweep": "size", "points": points}
        self.results({**RUN, "sweeps": [sweep]})
        lines = self.table("sweep=size columns=n,best_rung_tflops,cublas_tflops")
        self.assertEqual(lines[0], "|   n | Best rung, TFLOP/s | cuBLAS, TFLOP/s |")
        self.assertEqual(lines[2], "| 128 |               1.12 |           0.500 |")

    def test_a_long_list_of_rungs_is_left_out_of_the_caption(self):
        rungs = ",".join(f"rung_{i}" for i in range(12))
        self.results({**RUN, "arguments": f"--n 8 --only {rungs} --repeats 3"})
        self.assertIn("`01_vector_add --n 8 --only … --repeats 3`*", "\n".join(self.table("")))

    def test_a_run_without_a_gpu_names_the_processor(self):
        run = {**RUN, "device": None, "cpu": {"model": "AMD EPYC", "threads": 2}}
        self.results(run)
        self.assertIn("*AMD EPYC, 2 threads, 2026-11-21: ", self.table("only=grid-stride")[-1])

    def test_best_rung_per_problem(self):
        def row(name, kind, place, ms, gbps):
            return {
                "problem": "vector_add", "name": name, "kind": kind, "place": place,
                "sizes": {"n": 1000}, "median_ms": ms, "gbps": gbps, "percent_of_roof": 90.0,
                "speedup": 12.0,
            }  # fmt: skip

        rows = [
            row("openmp", "rung", "cpu", 0.1, 99.0),  # faster, but not a kernel
            row("slow", "rung", "device", 3.0, 1.0),
            row("fast", "rung", "device", 2.0, 6.0),
            row("skipped", "rung", "device", None, None),
            row("cub", "peer", "device", 2.5, 1.0),
            row("slow_cub", "peer", "device", 5.0, 1.0),  # the ratio is that to the fastest
            row("copy", "yardstick", "device", 1.0, 8.0),
            row("slow_copy", "yardstick", "device", 2.0, 4.0),
        ]
        other = [{**r, "problem": "other"} for r in rows if r["kind"] != "peer"]
        results = {
            "schema": 1,
            "runs": {"a/x": {**RUN, "rows": rows}, "b/y": {**RUN, "rows": other}},
        }
        self.write("results/h200.json", json.dumps(results))
        lesson = self.lesson(
            "<!-- table best=a/x,b/y results=results/h200.json -->\n<!-- end table -->\n"
        )
        self.fill()
        lines = lesson.read_text().splitlines()
        cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[3:5]]
        self.assertEqual(
            cells[0], ["vector add", "n = 1,000", "fast", "2.00", "90.0", "12.0×", "cub", "1.25"]
        )
        self.assertEqual(cells[1][-2:], ["copy", "0.75"])  # no peer: by GB/s, of the yardstick
        self.assertIn("*NVIDIA H200, CUDA 13.0, 2026-11-21*", lines)
        self.assertEqual(len(lines), 8)

        # Runs of several days: from the first to the last; of several toolkits: each is named.
        results["runs"]["b/y"]["date"] = "2026-11-19T08:00:00Z"
        results["runs"]["b/y"]["toolkit"] = "12.9"
        self.write("results/h200.json", json.dumps(results))
        self.fill()
        self.assertIn(
            "*NVIDIA H200, CUDA 13.0; NVIDIA H200, CUDA 12.9, 2026-11-19 to 2026-11-21*",
            lesson.read_text().splitlines(),
        )

        # A chooser that is faster stands there by the name of the rung that it took.
        rows.append({**row("chosen", "chooser", "device", 1.5, 8.0), "chose": "slow"})
        self.write("results/h200.json", json.dumps(results))
        lesson.write_text("<!-- table best=a/x results=results/h200.json -->\n<!-- end table -->\n")
        self.fill()
        line = lesson.read_text().splitlines()[3]
        self.assertEqual(
            [cell.strip() for cell in line.strip("|").split("|")][2:4], ["slow", "1.50"]
        )

        mark = "<!-- table best=b/y:other,b/y:nosuch results=results/h200.json -->"
        lesson = self.lesson(mark + "\n<!-- end table -->\n")
        self.fill()
        self.assertEqual(len(lesson.read_text().splitlines()), 7)

    def test_stale_table(self):
        self.lesson(
            "<!-- table run=01_vector_add/large results=results/h200.json -->\n| old |\n"
            "<!-- end table -->\n"
        )
        self.assertIn(":1: stale", self.check(status=1))

    def test_what_the_results_lack_is_named(self):
        for words, message in [
            ("columns=name,nosuch", "no column 'nosuch'"),
            ("columns=counter:nosuch", "unknown counter 'nosuch'"),
            ("columns=counter:barriers only=tma", "no kernel of '01_vector_add/large'"),
            ("problem=other", "no rows of problem 'other'"),
            ("only=grid-stride,gone", "no row 'gone' in '01_vector_add/large'"),
            ("sweep=stride", "holds 0 sweeps 'stride'"),
        ]:
            self.assertIn(message, self.table(words, status=1))

    def test_missing_run_or_results_file(self):
        self.lesson(
            "<!-- table run=01_vector_add/small results=results/h200.json -->\n<!-- end table -->\n"
        )
        self.assertIn(
            "no run '01_vector_add/small' in these results (there: 01_vector_add/large)",
            self.check(1),
        )
        self.lesson("<!-- table run=a results=results/gone.json -->\n<!-- end table -->\n")
        self.assertIn("no results file results/gone.json", self.check(1))
        self.lesson("<!-- table run=a -->\n<!-- end table -->\n")
        self.assertIn("nothing is said about 'results'", self.check(1))

    def test_text_from_results_stays_text(self):
        name = "<script>x</script>\n<!-- end table --> a|b `c` [d](e) *f*"
        skipped = {"status": "skipped", "reason": name, "median_ms": None}
        rows = [{**RUN["rows"][0], "name": name, **skipped}]
        self.results({**RUN, "rows": rows, "arguments": f"--only `{name}", "toolkit": "<b>"})
        lines = self.table("columns=name,status")
        text = "\n".join(lines)
        self.assertEqual(len(lines), 7, lines)  # titles, rule, row, caption and note, gaps between
        self.assertIn(
            "&lt;script&gt;x&lt;/script&gt; &lt;!-- end table --&gt; a\\|b \\`c\\`", lines[2]
        )
        self.assertIn("\\[d\\](e) \\*f\\* |", lines[2])
        self.assertEqual(lines[4].count("`"), 2)
        self.assertIn("CUDA &lt;b&gt;", lines[4])
        self.assertNotIn(
            "<script>", text.replace(f"`{lines[6].split('`')[1]}`", "").replace(lines[4], "")
        )
        self.assertEqual(self.check(), "")

    def test_changed_sources_are_said(self):
        self.results({**RUN, "dirty": True})
        self.assertIn("*NVIDIA H200, CUDA 13.0, changed sources, 2026-11-21: `", self.table("")[-3])

    def test_damaged_results_are_one_line(self):
        row = RUN["rows"][0]
        for text, message in [
            ("[]", "it is not an object"),
            ("{}", "runs is not an object"),
            ("{", "no valid JSON"),
            ('{"runs": {}, "x": NaN}', "NaN is no number"),
            ('{"runs": {"a": 1}}', "run a is not an object"),
            ("[" * 9000, "no valid JSON"),
            *(
                (json.dumps({"runs": {"01_vector_add/large": {**RUN, **damage}}}), message)
                for damage, message in [
                    ({"rows": None}, "rows is not a list"),
                    ({"rows": [3]}, "row 1 is not an object"),
                    ({"rows": [{**row, "median_ms": "fast"}]}, "median_ms is not a number"),
                    ({"rows": [{**row, "gbps": True}]}, "gbps is not a number"),
                    ({"rows": [{**row, "median_ms": -1}]}, "median_ms is -1, below 0"),
                    ({"rows": [{**row, "name": None}]}, "name is not a text"),
                    ({"rows": [{**row, "phases": [4]}]}, "a phase is not an object"),
                    ({"device": "H200"}, "device is not an object"),
                    ({"sweeps": [{"sweep": "block", "points": []}]}, "no points"),
                ]
            ),
        ]:
            self.write("results/h200.json", text)
            out = self.table("", status=1)
            self.assert_one_line(out, "README.md:1: results/h200.json: ", message)
        huge = json.dumps({"runs": {"01_vector_add/large": RUN}}).replace("0.7334", "1e999")
        self.write("results/h200.json", huge)
        self.assert_one_line(self.table("", status=1), "median_ms is too large")
        (self.root / "results/h200.json").write_bytes(b'{"runs": "\xff"}')
        self.assert_one_line(self.table("", status=1), "not UTF-8 from byte 10 on")

    def test_a_damaged_file_is_told_once(self):
        table = "<!-- table run=01_vector_add/large results=results/h200.json -->"
        for page in ("README.md", "01_vector_add/README.md"):
            self.write(page, f"{table}\n<!-- end table -->\n" * 3)
        self.write("results/h200.json", "{")
        for act in (self.fill, self.check):
            found = sorted(act(status=1).splitlines())
            self.assertIn("README.md:1: results/h200.json: no valid JSON", found[0])
            self.assertEqual([line for line in found if "JSON" in line], found[:1])

    def test_a_text_where_a_sweep_has_numbers(self):
        sweep = {"sweep": "size", "points": [{"n": 1, "cublas_tflops": "fast"}]}
        self.results({**RUN, "sweeps": [sweep]})
        out = self.table("sweep=size columns=n,cublas_tflops", status=1)
        self.assert_one_line(out, "'fast' is no number")


def row(name, ms, **other):
    return {**RUN["rows"][0], "name": name, "median_ms": ms, "phases": [], **other}


LADDER = {
    **RUN,
    "rows": [
        row("loop", 8.0, percent_of_roof=120.5, ratio_to_peer=None, kind="rung", place="cpu"),
        row("naive", 2.0, gbps=16.0, percent_of_roof=25.0, ratio_to_peer=0.25, kind="rung"),
        row("lost", None, status="skipped", reason="needs sm_90", kind="rung"),
        row("slow", 2.5, gbps=1500.0, percent_of_roof=20.0, ratio_to_peer=0.2, kind="rung"),
        row("wide", 0.625, gbps=4302.7, percent_of_roof=80.04, ratio_to_peer=0.8, kind="rung"),
        row("as_wide", 0.6251, gbps=51.0, percent_of_roof=80.0, ratio_to_peer=0.8, kind="rung"),
        row("cub", 0.5, gbps=64.0, percent_of_roof=100.0, ratio_to_peer=1.0, kind="peer"),
        row("serial", 5.0, percent_of_roof=0.04),
        row("sum/naive", 1.0, problem="sum"),
    ],
}
LADDER_COUNTS = {
    "schema": 1,
    "arguments": "",
    "kernels": [
        {"kernel": "vector_add_slow_kernel", "barriers": 74088, "active_lanes": 31.68},
        {"kernel": "vector_add_wide_kernel", "barriers": 36936, "active_lanes": 5.4},
        {"kernel": "vector_add_as_wide_kernel", "barriers": 36936},
    ],
}


class LadderCase(LessonCase):
    """A page whose numbers come from LADDER."""

    HEAD = "<!-- numbers results=results/h200.json run=large problem=vector_add -->\n\n"

    def setUp(self):
        super().setUp()
        small = {**LADDER, "rows": [row("naive", 0.25), row("naive", 0.5, problem="sum")]}
        data = {
            "runs": {"01_vector_add/large": LADDER, "01_vector_add/small": small},
            "counters": {"01_vector_add": LADDER_COUNTS},
        }
        self.write("results/h200.json", json.dumps(data))

    def page(self, text, status=0):
        """The page after `text` under the numbers mark was filled, or what was found."""
        path = self.lesson(self.HEAD + text)
        out = self.fill(status=status)
        return out if status else path.read_text().removeprefix(self.HEAD)


class Numbers(LadderCase):
    def test_every_way_to_say_a_number(self):
        numbers = [
            ("naive ms", "2.00"),
            ("naive us", "2,000"),
            ("naive s digits=1", "0.002"),
            ("wide GB/s", "4,303"),
            ("wide GB/s digits=2", "4,300"),
            ("wide TB/s", "4.30"),
            ("wide %", "80.0"),
            ("wide library", "0.800"),
            ("wide x naive", "3.20"),
            ("wide x", "4.00"),  # the rung before is `slow`, what was skipped is passed over
            ("slow x", "0.800"),
            ("serial x", "0.125"),  # nor is a library's row, `cub`, a rung before
            ("slow %more naive", "25.0"),
            ("naive %less slow digits=2", "20"),
            ("wide counter:barriers", "36,936"),
            ("wide counter:active_lanes digits=2", "5.4"),
            ("naive sizes.n", "268,435,456"),
            ("lost reason", "needs sm_90"),
            ("naive ms run=small", "0.250"),
            ("naive ms run=01_vector_add/small", "0.250"),
            ("sum/naive ms run=small", "0.500"),
            ("naive ms run=small problem=sum", "0.500"),
            ("sweep=block at=32 gbps", "2,100"),
            ("sweep=block at=256 occupancy", "93.8"),
            ("sweep=block at=gbps:4390 block", "256"),
            ("sweep=block at=32 gbps over block", "65.6"),
            ("sweep=block at=gbps:4390,block:256 median_ms", "0.730"),
            ("device", "NVIDIA H200"),
            ("toolkit", "13.0"),
            ("date", "2026-11-21"),
        ]
        text = self.page("".join(f"Is <!--= {words} -->?<!--/-->.\n" for words, _ in numbers))
        expected = [f"Is <!--= {words} -->{number}<!--/-->." for words, number in numbers]
        self.assertEqual(text.splitlines(), expected)
        self.assertEqual(self.check(), "")

    def test_a_phase(self):
        self.results(RUN)
        text = self.page("It is <!--= grid-stride phase:copy_in digits=2 --><!--/-->.\n")
        self.assertIn("-->12<!--/-->", text)

    def test_several_on_a_line_and_in_a_table(self):
        text = self.page("| a <!--= naive ms -->?<!--/--> | <!--= slow ms -->?<!--/--> |\n")
        self.assertIn(" -->2.00<!--/--> | <!--= slow ms -->2.50<!--/--> |", text)

    def test_a_later_mark_changes_what_it_names(self):
        text = self.page(
            "<!-- numbers run=small -->\nIt is <!--= naive ms -->?<!--/-->.\n"
            "<!-- numbers problem=sum -->\nIt is <!--= naive ms -->?<!--/-->.\n"
        )
        self.assertIn("-->0.250<!--/-->", text)
        self.assertIn("-->0.500<!--/-->", text)

    def test_a_stale_number_is_named(self):
        self.lesson(f"{self.HEAD}It is <!--= naive ms -->1.99<!--/--> ms.\n")
        out = self.check(status=1)
        self.assert_one_line(out, "README.md:3: stale", "naive ms: 1.99 is 2.00")
        self.assertIn("1.99", self.read("01_vector_add/README.md"))

    def test_what_is_no_number(self):
        wrong = [
            ("gone ms", "no row 'gone' in '01_vector_add/large'"),
            ("naive nosuch", "no column 'nosuch'"),
            ("naive", "'naive' is neither a rung and what to say of it nor device"),
            ("naive ms slow", "'ms' compares with nothing: what is 'slow'?"),
            ("naive x gone", "no row 'gone'"),
            ("loop x", "nothing stands before 'loop'"),
            ("lost ms", "'lost' was not timed: needs sm_90"),
            ("wide x lost", "'lost' was not timed"),
            ("loop %", "say nothing about 'loop %'"),
            ("naive ms x slow", "a number is RUNG METRIC [OTHER]"),
            ("naive ms digits=0", "digits=0 is no count"),
            ("naive ms run=huge", "no run '01_vector_add/huge'"),
            ("sweep=block gbps", "needs at= and one column"),
            ("sweep=block at=33 gbps", "no point 33"),
            ("sweep=block at=n:32 gbps", "no point n:32"),
            ("sweep=block at=gbps:4390,block:32 gbps", "no point gbps:4390,block:32"),
            ("naive ms size=3", "nobody knows what size= means"),
            ("sweep=block at=32 nosuch", "no column 'nosuch'"),
            ("sweep=block at=32 gbps over nosuch", "no column 'nosuch'"),
            ("sweep=block at=32 gbps block", "one column, or COLUMN over OTHER"),
            ("sweep=stride at=32 gbps", "holds 0 sweeps 'stride'"),
            ("naive ms results=results/gone.json", "no results file results/gone.json"),
        ]
        text = "".join(f"Is <!--= {words} -->?<!--/-->.\n" for words, _ in wrong)
        out = self.page(text, status=1).splitlines()
        self.assertEqual(self.read("01_vector_add/README.md"), self.HEAD + text)
        self.assertEqual(len(out), len(wrong), out)
        for line, (found, (_, message)) in enumerate(zip(out, wrong), 3):
            self.assertIn(f"README.md:{line}: ", found)
            self.assertIn(message, found)

    def test_a_sweep_of_two_problems(self):
        data = json.loads(self.read("results/h200.json"))
        run = data["runs"]["01_vector_add/large"]
        other = {**run["sweeps"][0], "problem": "sum", "points": [{"block": 32, "gbps": 7.5}]}
        run["sweeps"].append(other)
        self.write("results/h200.json", json.dumps(data))
        words = "sweep=block at=32 gbps run=01_vector_add/large results=results/h200.json"
        self.lesson(f"It is <!--= {words} -->?<!--/-->.\n")
        self.assert_one_line(self.fill(status=1), "holds 2 sweeps 'block' that fit")
        text = self.page("Are <!--= sweep=block at=32 gbps -->?<!--/-->.\n")
        self.assertEqual(text, "Are <!--= sweep=block at=32 gbps -->2,100<!--/-->.\n")
        text = self.page("Are <!--= sweep=block problem=sum at=32 gbps -->?<!--/-->.\n")
        self.assertIn("-->7.50<!--/-->", text)

    def test_a_name_of_two_problems(self):
        words = "naive ms run=01_vector_add/small results=results/h200.json"
        self.lesson(f"It is <!--= {words} -->?<!--/-->.\n")
        self.assert_one_line(self.fill(status=1), "'naive' stands in", "for vector_add, sum")

    def test_without_a_numbers_mark(self):
        self.lesson("It is <!--= naive ms -->?<!--/-->.\n")
        self.assert_one_line(self.fill(status=1), "nothing is said about 'results'")
        self.lesson("It is <!--= naive ms results=results/h200.json -->?<!--/-->.\n")
        self.assert_one_line(self.fill(status=1), "the number names no run=")

    def test_an_unclosed_number_loses_nothing(self):
        for text in ("It is <!--= naive ms -->1 and\nmore<!--/-->.\n", "It is <!--= naive ms.\n"):
            path = self.lesson(self.HEAD + text)
            self.assert_one_line(self.fill(status=1), ":3: this number is never closed")
            self.assertEqual(path.read_text(), self.HEAD + text)

    def test_a_number_may_not_begin_a_line(self):
        for begin in ("", "  ", "- ", "> ", "12. "):
            out = self.page(f"{begin}<!--= naive ms -->2.00<!--/--> ms\n", status=1)
            self.assert_one_line(out, ":3: a number may not begin a line")

    def test_a_number_in_a_fence_is_text(self):
        text = "```markdown\nis <!--= naive ms -->?<!--/-->\n```\n"
        self.assertEqual(self.page(text), text)


class Proofs(LadderCase):
    @staticmethod
    def marks(all_words):
        return "".join(f"<!-- proof {words} -->\n<!-- end proof -->\n" for words in all_words)

    def test_the_line_of_a_rung(self):
        proofs = [
            ("loop", "**8.00 ms**."),
            ("naive", "**2.00 ms**, 25.0 % of peak, 4.00 times as fast as `loop`."),
            ("slow", "**2.50 ms**, 20.0 % of peak, 1.25 times as long as `naive`."),
            ("wide over=naive", "**0.625 ms**, 80.0 % of peak, 3.20 times as fast as `naive`."),
            ("wide over=none", "**0.625 ms**, 80.0 % of peak."),
            ("as_wide", "**0.625 ms**, 80.0 % of peak, as fast as `wide`."),
            (
                "as_wide count=barriers",
                "**0.625 ms**, 80.0 % of peak, as fast as `wide`, barriers 36,936 as before.",
            ),
            (
                "wide count=barriers,active_lanes",
                "**0.625 ms**, 80.0 % of peak, 4.00 times as fast as `slow`, "
                "barriers 74,088 → 36,936, active lanes 31.7 → 5.40.",
            ),
            (
                "slow count=barriers",  # of the rung before, nothing is counted
                "**2.50 ms**, 20.0 % of peak, 1.25 times as long as `naive`, barriers 74,088.",
            ),
            ("serial over=none", "**5.00 ms**."),
            ("naive run=small problem=sum", "**0.500 ms**, 89.3 % of peak."),
            ("lost", "Not measured: needs sm_90."),
        ]
        text = self.page(self.marks(words for words, _ in proofs))
        self.assertEqual(text.splitlines()[1::3], [f"> {line}" for _, line in proofs])
        self.assertEqual(self.check(), "")

    def test_a_rung_without_a_row_says_so(self):
        self.write("01_vector_add/more/beyond/01_new.cuh", "")
        line = "> Not measured yet: these results have no run of this rung."
        self.assertEqual(self.page(self.marks(["new"])).splitlines()[1], line)

    def test_a_stale_proof(self):
        self.lesson(f"{self.HEAD}<!-- proof naive -->\n> **1 ms**.\n<!-- end proof -->\n")
        self.assert_one_line(self.check(status=1), "README.md:3: stale")

    def test_what_is_no_proof(self):
        wrong = [
            ("gone", "no row 'gone' in '01_vector_add/large', and no rung of this name"),
            ("naive wide", "a proof names one rung"),
            ("naive over=lost", "'lost' was not timed"),
            ("naive digits=3", "nobody knows what digits= means"),
            ("naive count=nosuch", "unknown counter 'nosuch'"),
            ("naive count=barriers", "no kernel of 'naive' has the counter 'barriers'"),
        ]
        out = self.page(self.marks(words for words, _ in wrong), status=1).splitlines()
        self.assertEqual(len(out), len(wrong), out)
        for i, (found, (_, message)) in enumerate(zip(out, wrong)):
            self.assertIn(f"README.md:{3 + 2 * i}: ", found)
            self.assertIn(message, found)

    def test_a_missing_end_loses_nothing(self):
        text = f"{self.HEAD}<!-- proof naive -->\n> old\n\nprose\n<!-- end proof -->\n"
        path = self.lesson(text)
        self.assert_one_line(self.fill(status=1), ":3: this block is never closed")
        self.assertEqual(path.read_text(), text)

    def test_steps_of_a_table(self):
        mark = (
            "<!-- table run=01_vector_add/large problem=vector_add columns=name,step,total "
            "only=naive,lost,slow,wide,cub,serial results=results/h200.json -->"
        )
        lines = self.page(f"{mark}\n<!-- end table -->\n").splitlines()[1:9]
        cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
        self.assertEqual(cells[0], ["Variant", "Step", "Total"])
        self.assertEqual(
            cells[2:],
            [
                ["naive", "–", "1.00×"],
                ["lost", "–", "–"],
                ["slow", "0.800×", "0.800×"],
                ["wide", "4.00×", "3.20×"],
                ["cub", "–", "4.00×"],  # no step of the ladder
                ["serial", "0.125×", "0.400×"],  # from the rung above, not from the library
            ],
        )


class TypedNumbers(LessonCase):
    def setUp(self):
        super().setUp()
        self.write("01_vector_add/sums/04_wide.hpp", "")

    def found(self, text):
        """(line, number) for every typed number that is found."""
        return lessons.Lesson(self.root, self.lesson(text)).typed()

    def test_the_check_names_them(self):
        self.write("01_vector_add/page.md", "## naive\n\nIt takes 1.3 ms.\n")
        out = self.check(status=1)
        self.assert_one_line(out, "page.md:3: typed beside a rung", "1.3 ms")

    def test_under_the_heading_of_a_rung(self):
        for heading in ("## naive", "## wide, naive: trees", "## What naive costs"):
            self.assertEqual(self.found(f"{heading}\n\nfast:\nit takes 1.3 ms.\n"), [(4, "1.3 ms")])
        self.assertEqual(self.found("## Memory\n\nIt takes 1.3 ms.\n"), [])
        self.assertEqual(self.found("# 03 naive\n\nIt takes 1.3 ms.\n"), [])  # the page's title
        self.assertEqual(self.found("## naive\n\n## Memory\n\nIt takes 1.3 ms.\n"), [])

    def test_in_a_paragraph_that_names_a_rung(self):
        self.assertEqual(self.found("Text.\n\nHere `wide` takes\n2 µs.\n"), [(4, "2 µs")])
        self.assertEqual(self.found("Here `sums/wide` takes 2 µs.\n"), [(1, "2 µs")])
        self.assertEqual(self.found("- `wide`\n- another thing, 2 µs\n"), [])
        self.assertEqual(self.found("`wide`\n\nanother thing, 2 µs\n"), [])
        self.assertEqual(self.found("`width` takes 2 µs\n"), [])

    def test_what_is_a_measured_number(self):
        for number in (
            "0.5 ms", "1,300 µs", "12 us", "4300 GB/s", "4.3 TB/s", "12 GFLOP/s", "700 TFLOP/s",
            "80 % of peak", "80 % of the peak", "5 % slower", "3 % more", "1.6 times as fast",
            "2 times as long", "3 times faster",
        ):  # fmt: skip
            self.assertEqual(self.found(f"`wide` has {number} here.\n"), [(1, number)])
        for text in ("16 KB", "20 % of all elements", "16 times", "v1.2 msgs", "2 GB/second"):
            self.assertEqual(self.found(f"`wide` has {text} here.\n"), [])

    def test_what_is_not_prose(self):
        for text in (
            "`wide` prints `0.5 ms`.\n",
            "```text\n`wide` 0.5 ms\n```\n",
            "````\n```\n`wide` 0.5 ms\n````\n",
            "| `wide` | 0.5 ms |\n",
            "- A table:\n\n  | `wide` | 0.5 ms |\n",
            "<!-- proof wide -->\n> 0.5 ms, `wide`\n<!-- end proof -->\n",
            "`wide` takes <!--= sweep=block at=32 ms -->0.5<!--/--> ms.\n",
        ):
            self.assertEqual(self.found(text), [])
        self.assertEqual(self.found("```\nx\n```\n`wide`, 0.5 ms\n"), [(4, "0.5 ms")])

    def test_a_reason_excuses_one_paragraph(self):
        excuse = "<!-- typed: as Harris published it -->\n"
        self.assertEqual(self.found(f"{excuse}`wide` takes\n2 ms.\n"), [])
        self.assertEqual(self.found(f"{excuse}`wide`: 2 ms.\n\n`wide`: 3 ms.\n"), [(4, "3 ms")])
        self.assertEqual(self.found("<!-- typed: -->\n`wide`: 2 ms.\n"), [(2, "2 ms")])
        below = f"{excuse}## naive\n\nIt takes 2 ms.\n"  # a heading is none
        self.assertEqual(self.found(below), [(4, "2 ms")])

    def test_pages_of_the_repository_keep_to_their_list(self):
        for page, most in lessons.TYPED_NOT_YET.items():
            path = REPOSITORY / page
            self.assertLessEqual(len(lessons.Lesson(REPOSITORY, path).typed()), most, page)
            self.assertGreater(most, 0, page)


class Links(LessonCase):
    def test_living_links(self):
        self.write(
            "docs/other.md",
            '# Two words, one `code`\n\n# Again\n\n# Again\n\n<a id="by-hand"></a>\n',
        )
        self.lesson(
            """
            # Vector add
            [file](03_naive.cuh), [root](/docs/other.md#again-1)
            [up](../docs/other.md#two-words-one-code) [line](03_naive.cuh#L4)
            [here](#vector-add) [id](../docs/other.md#by-hand) [web](https://example.org/x#y)
            `[code](nowhere)` ![picture](/docs/other.md "title") [folder](../docs)
            ```
            [fenced](nowhere)
            ```
            [named]: ../docs/other.md
            """
        )
        self.assertEqual(self.check(), "")

    def test_dead_links(self):
        self.write("docs/other.md", "# Other\n[gone](gone.md)\n")
        self.lesson(
            """
            # Vector add
            [a](nowhere.cuh) [b](#nothing) [c](../docs/other.md#none) [d](03_naive.cuh#L99)
            [e](03_naive.cuh#L7)
            <img src="figure.svg"> [named]
            [named]: missing.md
            """
        )
        out = self.check(status=1)
        for message in [
            "01_vector_add/README.md:2: dead link nowhere.cuh: no such file",
            "README.md:2: dead link #nothing: no such heading",
            "dead link ../docs/other.md#none: no such heading",
            "dead link 03_naive.cuh#L99: the file has fewer lines",
            "dead link 03_naive.cuh#L7: the file has fewer lines",
            "README.md:4: dead link figure.svg",
            "README.md:5: dead link missing.md",
            "docs/other.md:2: dead link gone.md",
        ]:
            self.assertIn(message, out)
        self.assertEqual(len(out.splitlines()), 8, out)


class Sanitizer(LessonCase):
    """The table of what the checkers said."""

    def setUp(self):
        super().setUp()
        racy = "flagged on purpose: race in racy_kernel at 02_racy.cuh:24"
        skipped = dict.fromkeys(["memcheck", "racecheck"], "not run: needs <sm_90>")
        self.entry = {
            "arguments": "--n 33",
            "commit": "0123456789abcdef0123",
            "date": "2026-11-22T08:00:00Z",
            "rungs": {
                "shared": {"memcheck": "clean", "racecheck": "clean"},
                "runs": {"memcheck": "clean", "racecheck": "clean"},
                "bulk": skipped,
            },
        }
        self.racy = {"racy": {"memcheck": "clean", "racecheck": racy}}
        self.report(self.entry)
        self.lesson("<!-- sanitizer -->\n<!-- end sanitizer -->\n")

    def report(self, entry):
        problems = {
            "06_atomics/one_cell": {**entry, "rungs": self.racy},
            "06_atomics/histogram": entry,
        }
        report = {"device": "NVIDIA H200", "tools": ["memcheck", "racecheck"], "problems": problems}
        self.write("results/sanitizer/nvidia_h200.json", json.dumps(report))

    def test_a_line_for_each_problem_and_one_for_what_is_not_clean(self):
        self.fill()
        lines = self.read("01_vector_add/README.md").split("\n")[1:-2]
        cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[:4]]
        self.assertEqual(
            cells[0], ["Problem", "Rungs", "memcheck", "racecheck", "Sizes", "Commit", "Date"]
        )
        stamp = ["`--n 33`", "0123456789ab", "2026-11-22"]
        self.assertEqual(cells[2], ["06 one cell", "1", "clean", "flagged on purpose", *stamp])
        said = "2 clean, 1 not run"
        self.assertEqual(cells[3], ["06 histogram", "3", said, said, *stamp])
        self.assertEqual(lines[4:6], ["", "*NVIDIA H200*"])
        self.assertEqual(
            [line.replace("\\", "") for line in lines[6:]],
            [
                "",
                "- 06 `one_cell/racy`: flagged on purpose: race in racy_kernel at 02_racy.cuh:24 "
                "(racecheck)",
                "- 06 `histogram/bulk`: not run: needs &lt;sm_90&gt;",
            ],
        )
        self.fill()
        self.assertEqual(self.check(), "")

    def test_a_newer_report_makes_it_stale(self):
        self.fill()
        self.report({**self.entry, "commit": "fedcba987654"})
        self.assertIn("01_vector_add/README.md:1: stale, run `make lessons`", self.check(status=1))

    def test_one_table_a_report(self):
        report = json.loads(self.read("results/sanitizer/nvidia_h200.json"))
        self.write("results/sanitizer/simt.json", json.dumps({**report, "device": "simt"}))
        self.fill()
        page = self.read("01_vector_add/README.md")
        self.assertLess(page.index("*NVIDIA H200*"), page.index("*simt*"))

    def test_no_report_is_an_empty_block(self):
        (self.root / "results/sanitizer/nvidia_h200.json").unlink()
        self.assertEqual(self.check(), "")

    def test_damaged_reports_are_one_line(self):
        clean = {"memcheck": "clean", "racecheck": "clean"}
        for text, message in (
            ("{", "no valid JSON"),
            ("[]", "no report of a sanitizer"),
            ("{}", "no report of a sanitizer"),
        ):
            self.write("results/sanitizer/nvidia_h200.json", text)
            self.assert_one_line(self.check(status=1), "sanitizer/nvidia_h200.json", message)
        for rungs, message in (
            ({"b": {"memcheck": "clean"}}, "a rung was not checked by every tool"),
            ({"b": {**clean, "racecheck": "well"}}, "'well' is no verdict"),
            ({"b": "clean"}, "a rung was not checked by every tool"),
            ({"b": {**clean, "racecheck": 1}}, "no report of a sanitizer"),
            ([], "no report of a sanitizer"),
        ):
            self.report({**self.entry, "rungs": rungs})
            self.assert_one_line(self.check(status=1), message)
        self.report({**self.entry, "commit": None})
        self.assert_one_line(self.check(status=1), "a text is missing")


class Grid(LessonCase):
    def setUp(self):
        super().setUp()
        row = lambda name, ms: {**RUN["rows"][0], "name": name, "median_ms": ms}
        slow = {**RUN, "rows": [row("a", 4.0), row("b", 2.0)]}
        fast = {**RUN, "rows": [row("a", 1.0), row("b", 0.25)]}
        few = {**RUN, "rows": [row("a", 8.0)]}
        runs = {"slow": slow, "fast": fast, "few": few}
        runs = {f"01_vector_add/n_{label}": run for label, run in runs.items()}
        self.write("results/h200.json", json.dumps({"runs": runs}))

    def grid(self, spec, status=0):
        head = "<!-- numbers results=results/h200.json -->\n\n"
        self.lesson(f"{head}<!-- grid {spec}\n-->\n| old |\n<!-- end grid -->\n")
        out = self.fill(status=status)
        if status:
            return out
        self.assertEqual(self.check(), "")
        lines = self.read("01_vector_add/README.md").partition("-->\n|")[2].split("\n")[:-2]
        return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]

    def test_titles_and_rows_say_what_is_asked_for(self):
        spec = "us\nn | which | `a` | over a <- b x a\n1 | `s` <- run=n_slow\n2 | x <- run=n_fast"
        found = self.grid(spec.replace("us\n", "\n").replace("`a` |", "`a` <- a us |"))
        self.assertEqual(found[0], ["n", "which", "`a`", "over a"])
        self.assertEqual([line[-1] for line in found[1]], [":", "-", ":", ":"])
        self.assertEqual(found[2:], [["1", "`s`", "4,000", "2.00"], ["2", "x", "1,000", "4.00"]])

    def test_what_all_cells_share_and_what_goes_on(self):
        spec = "ms problem=vector_add\nrung | slow <- run+=_slow | fast <- run+=_fast digits=1\n"
        found = self.grid(spec + "a <- a run=n\nb <- b run=n")
        self.assertEqual(found[2:], [["a", "4.00", "1"], ["b", "2.00", "0.2"]])

    def drawn(self, spec, status=0):
        head = "<!-- numbers results=results/h200.json problem=vector_add -->\n\n"
        self.lesson(f"{head}<!-- grid ms lines=a.svg{spec}\n-->\n<!-- end grid -->\n")
        out = self.fill(status=status)
        return out if status else self.read("01_vector_add/a.svg")

    def test_a_grid_drawn_as_lines(self):
        rows = "\nn | `a` | b\n1 <- run=n_slow\n2 <- run=n_fast"
        svg = self.drawn(f' "Times by n"{rows}')
        page = self.read("01_vector_add/README.md")
        self.assertIn("![Times by n](a.svg)\n\n|", page)
        self.assertEqual(self.check(), "")
        lines = re.findall(r'<polyline class="of l(\d)" points="([^"]+)"/>', svg)
        self.assertEqual([kind for kind, _ in lines], ["0", "1"])
        # 4.00 and 1.00, 2.00 and 0.25: the scale is one of factors.
        (left, right), (left_b, right_b) = [[p.split(",") for p in of.split()] for _, of in lines]
        self.assertEqual((left[0], right[0]), (left_b[0], right_b[0]))
        fall, fall_b = float(right[1]) - float(left[1]), float(right_b[1]) - float(left_b[1])
        self.assertAlmostEqual(fall_b / fall, 1.5, places=2)
        self.assertIn(">b</text>", svg)

        # An old drawing is stale; a relative one begins at 1 for all.
        self.write("01_vector_add/a.svg", "<svg/>")
        self.assertIn("a.svg", self.check(status=1))
        svg = self.drawn(f' relative "Times by n"{rows}')
        lines = re.findall(r'<polyline class="[^"]+" points="([^ ]+) ', svg)
        self.assertEqual((len(lines), len(set(lines))), (3, 1))
        self.assertIn(">as many as n</text>", svg)

    def test_what_cannot_be_drawn(self):
        rows = "\nn | a | b\n1 <- run=n_slow"
        self.assertIn("two rows or more", self.drawn(f' "T"{rows}', status=1))
        rows = "\nn | a | b\n1 <- run=n_few\n2 <- run=n_fast"
        self.assertIn("has numbers there", self.drawn(f' relative "T" gaps{rows}', status=1))

    def test_words_of_the_row_in_a_title(self):
        spec = "run=n_slow\nidea | without <- {2} ms | with <- {1} ms | factor <- {1} x {2}\n"
        self.assertEqual(self.grid(spec + "one <- b a")[2:], [["one", "4.00", "2.00", "2.00"]])
        out = self.grid(spec + "one <- b", status=1)
        self.assertIn("a row of the grid has 1 words, a title asks for more", out)

    def test_gaps(self):
        spec = "ms\nn | `a` | `b`\n1 <- run=n_slow\n2 <- run=n_few"
        self.assertIn("no row 'b' in '01_vector_add/n_few'", self.grid(spec, status=1))
        found = self.grid(spec.replace("ms", "ms gaps", 1))
        self.assertEqual(found[2:], [["1", "4.00", "2.00"], ["2", "8.00", "–"]])
        for wrong in (spec.replace("`b`", "`c`"), spec.replace("n_few", "n_no")):
            out = self.grid(wrong.replace("ms", "ms gaps", 1), status=1)
            self.assertIn("the results hold nothing of a whole row or column", out)

    def test_what_is_no_grid(self):
        for spec, message in (
            ("ms\nn | `a`", "a grid has a line of titles, and one for each row"),
            ("ms\nn | `a`\n1 | 2 <- run=n_slow", "each row of a grid types the same columns"),
            ("ms\nn | m | `a`\n1 | 2 <- run=n_slow\n1 <- run=n_slow", "types the same columns"),
        ):
            self.assert_one_line(self.grid(spec, status=1), "README.md:3: grid: ", message)
        for name, message in (("gone", "no results file gone.json"), ("../x", "the repository")):
            spec = f"ms results={name}.json\nn | `a`\n1 <- run=n_slow"
            self.assert_one_line(self.grid(spec, status=1), "README.md:3: ", message)
        self.lesson("<!-- grid ms\nn | `a`\n1 <- run=n_slow\n-->\n<!-- end grid -->\n")
        self.assert_one_line(self.fill(status=1), "grid: nothing is said about 'results'")

    def test_text_below_a_grid_that_is_not_closed_stays(self):
        spec = "<!-- grid ms\nn | `a`\n1 <- run=n_slow\n-->\n"
        for text in (spec + "Text.\n<!-- end grid -->\n", spec + "| a |\n"):
            self.lesson(text)
            self.assert_one_line(self.fill(status=1), "never closed; nothing is filled here")
            self.assertEqual(self.read("01_vector_add/README.md"), text)

    def test_a_mark_of_several_lines(self):
        self.results(RUN)
        mark = "<!-- table run=01_vector_add/large only=grid-stride,\n  tma\n"
        mark += " results=results/h200.json -->"
        self.lesson(f"{mark}\n<!-- end table -->\nText.\n")
        self.fill()
        page = self.read("01_vector_add/README.md")
        self.assertTrue(page.startswith(f"{mark}\n| Variant"), page)
        self.assertIn("| tma ", page)
        self.assertTrue(page.endswith("<!-- end table -->\nText.\n"))


class Recorded(LessonCase):
    def test_a_line_for_each_file_and_chapter(self):
        kernels = {"arguments": "", "kernels": [], "date": "2026-11-23T"}
        kernels["commit"] = "fedcba987654cba9-dirty"
        later = {**RUN, "commit": "0123456789abcdef0123", "date": "2026-11-24T08:00:00Z"}
        runs = {"01_a/x": {**RUN, "commit": "0123456789ab"}, "01_a/y": later, "02_b/x": later}
        self.write("results/h.json", json.dumps({"runs": runs, "counters": {"01_a": kernels}}))
        (self.root / "results/h200.json").unlink()
        self.lesson("<!-- recorded -->\n<!-- end recorded -->\n")
        self.fill()
        lines = self.read("01_vector_add/README.md").split("\n")[3:-2]
        cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
        both, days = "0123456789ab, fedcba987654-dirty", f"{RUN['date'][:10]} to 2026-11-24"
        self.assertEqual(cells[0], ["`h.json`", "01 a", "2 and counters", both, days])
        self.assertEqual(cells[1], ["`h.json`", "02 b", "1", "0123456789ab", "2026-11-24"])
        self.assertEqual(self.check(), "")
        self.results(RUN)
        self.assertIn("stale", self.check(status=1))

    def test_a_typed_commit(self):
        self.lesson("# A\n\nOf 0123456789ab\nand fedcba987654-dirty.\n\n- 81296b68643b\n")
        lines = self.check(status=1).splitlines()
        found = [(line.split(":")[1], line.split()[-1]) for line in lines]
        self.assertEqual(
            found, [("3", "0123456789ab"), ("4", "fedcba987654"), ("6", "81296b68643b")]
        )
        for text in ("123456789012", "abcdefabcdef", "```\n0123456789ab\n```", "x/0123456789ab"):
            self.lesson(f"{text}\n")
            self.assertEqual(self.check(), "")


class Arguments(LessonCase):
    def test_bad_arguments(self):
        for arguments in (["--nosuch"], ["nosuch.md"], ["--root", self.root, "/etc/hostname"]):
            self.assert_one_line(
                self.run_tool("lessons.py", *arguments, status=2).stderr, "lessons.py:"
            )

    def test_named_files_only(self):
        path = self.lesson("```cpp file=gone\n```\n")
        other = self.write("README.md", "# Fine\n")
        self.run_tool("lessons.py", "--check", "--root", self.root, other)
        self.run_tool("lessons.py", "--check", "--root", self.root, path, status=1)


if __name__ == "__main__":
    unittest.main()
