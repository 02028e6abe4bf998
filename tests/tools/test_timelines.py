"""Recording timelines, and drawing them for the lessons."""

import json
import re
import unittest
import xml.etree.ElementTree as ElementTree

from tool_case import ToolCase

import timeline_svg

DRAWN = {
    "problem": "attention",
    "name": "in_turns",
    "unit": "cycles",
    "lanes": ["A: products", "A: softmax"],
    "bars": [
        {"lane": "A: products", "what": "QK", "begin": 0, "end": 400},
        {"lane": "A: products", "what": "PV", "begin": 300, "end": 500},
        {"lane": "A: softmax", "what": "softmax", "begin": 400, "end": 900},
        {"lane": "A: softmax", "what": "wait", "begin": 900, "end": 1000},
    ],
}
RUN = {
    "program": "p",
    "arguments": "",
    "device": {"name": "NVIDIA H200"},
    "toolkit": "13.0",
    "date": "2026-11-21T08:00:00Z",
    "rows": [],
    "timelines": [DRAWN],
}
PROGRAM = """
cat >"$2" <<'JSON'
%s
JSON
"""
MARK = "run=07/t problem=attention file=t.svg table results=results/h_timelines.json"
PAGE = f"# A\n\n<!-- timelines {MARK} -->\n<!-- end timelines -->\n"


class Drawing(unittest.TestCase):
    def test_a_rectangle_a_bar_and_words_where_they_fit(self):
        root = ElementTree.fromstring(timeline_svg.svg([DRAWN]))
        rects = [e for e in root.iter() if e.tag.endswith("rect")]
        words = [e.text for e in root.iter() if e.tag.endswith("text")]
        self.assertEqual(len(rects), 4)
        self.assertIn("in_turns: 1,000 cycles", words)
        self.assertIn("softmax", words)
        self.assertEqual([r.get("class") for r in rects], ["w0", "w1", "w2", "wait"])
        self.assertEqual(float(rects[2].get("width")), timeline_svg.PLOT / 2)

    def test_a_picture_of_the_beginning(self):
        bars = [{"lane": "copy", "what": str(i), "begin": i, "end": i + 0.9} for i in range(9)]
        chunks = {**DRAWN, "lanes": ["copy"], "bars": bars}
        root = ElementTree.fromstring(timeline_svg.svg([chunks], until=4.5))
        widths = [float(e.get("width")) for e in root.iter() if e.tag.endswith("rect")]
        whole, cut = timeline_svg.PLOT * 0.9 / 4.5, timeline_svg.PLOT * 0.5 / 4.5
        self.assertEqual(widths, [round(width, 2) for width in [whole] * 4 + [cut]])
        words = [e.text for e in root.iter() if e.tag.endswith("text")]
        self.assertEqual([w for w in words if w in ("0", "1", "4", "…")], ["0", "4", "…", "1", "4"])

    def test_busy_counts_no_time_twice_and_no_waiting(self):
        self.assertEqual(timeline_svg.busy(DRAWN, "A: products"), 500)
        self.assertEqual(timeline_svg.busy(DRAWN, "A: softmax"), 500)


class Lessons(ToolCase):
    def setUp(self):
        super().setUp()
        self.write("results/h_timelines.json", json.dumps({"runs": {"07/t": RUN}}))
        self.write("07_flash_attention/README.md", PAGE)

    def lessons(self, *arguments, status=0):
        return self.run_tool("lessons.py", "--root", self.root, *arguments, status=status).stdout

    def test_drawn_once_and_then_left_alone(self):
        self.lessons()
        page = self.read("07_flash_attention/README.md")
        self.assertIn("![Measured timelines: in\\_turns](t.svg)".replace("\\", ""), page)
        self.assertIn("| in_turns     |         500 |        500 |              1000 |", page)
        self.assertIn("NVIDIA H200, CUDA 13.0, 2026-11-21", page)
        self.assertIn("softmax", self.read("07_flash_attention/t.svg"))
        self.assertEqual(self.lessons("--check"), "")
        self.assertEqual(self.lessons(), "")

    def test_a_stale_drawing_is_a_finding(self):
        self.lessons()
        self.write("07_flash_attention/t.svg", "<svg/>")
        self.assertIn("stale, run `make lessons`: t.svg", self.lessons("--check", status=1))
        self.lessons()
        self.assertIn("softmax", self.read("07_flash_attention/t.svg"))

    def test_a_time_that_is_none(self):
        for word in ("0", "late"):
            self.write("07_flash_attention/README.md", PAGE.replace("table", f"until={word}"))
            self.assertIn(f"'{word}' is no time above 0", self.lessons("--check", status=1))

    def test_what_is_not_there(self):
        self.write("07_flash_attention/README.md", PAGE.replace("=attention", "=no"))
        self.assertIn("holds no timelines of 'no'", self.lessons("--check", status=1))


class Bars(ToolCase):
    MARK = "run=04/d problem=sgemm file=s.svg results=results/h.json"

    def page(self, words, status=0):
        row = {"problem": "sgemm", "status": "right", "place": "device", "kind": "rung"}
        timed = {"median_ms": 2.0, "percent_of_roof": 50.0}
        rows = [
            {**row, **timed, "name": "loop", "place": "cpu"},
            {**row, **timed, "name": "tiled"},
            {**row, "name": "skipped"},
            {**row, "name": "cublas", "median_ms": 1.0, "percent_of_roof": 125, "kind": "peer"},
        ]
        run = {**RUN, "rows": rows, "timelines": []}
        self.write("results/h.json", json.dumps({"runs": {"04/d": run}}))
        self.write("README.md", f"# A\n\n<!-- bars {self.MARK} {words} -->\n<!-- end bars -->\n")
        return self.run_tool("lessons.py", "--root", self.root, status=status).stdout

    def test_a_bar_for_each_row_that_was_timed_on_the_device(self):
        self.page("")
        self.assertIn("each rung reaches](s.svg)", self.read("README.md"))
        bars = re.findall(r'end">(\w+)</text><rect class="(\w+)" .* width="([\d.]+)"', self.drawn())
        self.assertEqual(bars, [("tiled", "rung", "215.0"), ("cublas", "peer", "430.0")])
        self.page("rungs=cublas")
        self.assertNotIn("tiled", self.drawn())

    def drawn(self):
        return self.read("s.svg")

    def test_a_row_that_was_not_timed(self):
        self.assertIn("no time of 'skipped'", self.page("rungs=tiled,skipped", status=1))


class Recording(ToolCase):
    def setUp(self):
        super().setUp()
        self.build = self.root / "build"

    def record(self, run, status=0, commit="0123456789ab"):
        for name in ("06_atomics_streams/ladders", "07_flash_attention/study/turns"):
            self.executable(self.build / name, PROGRAM % json.dumps(run))
        command = ["timelines.py", "--root", self.root, "--build", self.build]
        return self.run_tool(*command, status=status, COMMIT=commit).stderr

    def test_one_file_for_both_chapters(self):
        self.record(RUN)
        runs = json.loads(self.read("results/nvidia_h200_timelines.json"))["runs"]
        self.assertEqual(sorted(runs), ["06_atomics_streams/timelines", "07_flash_attention/turns"])

    def test_what_cannot_be_kept(self):
        said = self.record({**RUN, "timelines": []}, status=1)
        self.assert_one_line(said, "no GPU took part")
        for begin in (500, -1):
            wrong = {**DRAWN, "bars": [{**DRAWN["bars"][0], "begin": begin}]}
            said = self.record({**RUN, "timelines": [wrong]}, status=1)
            self.assert_one_line(said, "a bar ends before it begins, or begins before 0")
        self.assert_one_line(self.record(RUN, status=1, commit="1-dirty"), "commit first")


if __name__ == "__main__":
    unittest.main()
