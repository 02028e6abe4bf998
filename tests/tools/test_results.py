"""How results/ is kept: an entry a line, the environment once, nothing that says nothing."""

import copy
import json
import unittest

from tool_case import ToolCase  # (puts tools/ on the path)

import json_lines
import results

H200 = {"name": "NVIDIA H200", "multiprocessors": 132}
CPU = {"model": "Xeon", "threads": 16}
# As programs write them: every field of a row, most of them null.
ROW = {**results.ROW, "problem": "add", "name": "naive", "sizes": {"n": 8}, "status": "right"}
PHASE = {"name": "copy in", "median_ms": 0.5, "gbps": None, "percent_of_roof": None}
SWEEP = {"problem": "add", "sweep": "n", "points": [{"n": 1, "ms": 2}, {"n": 2, "ms": None}]}
RUN = {
    **{"program": "01_add", "arguments": "", "date": "2026-11-21T08:00:00Z", "commit": "0123"},
    **{"schema": 1, "device": H200, "cpu": CPU, "toolkit": "13.0", "flags": "-O3", "seed": 1},
    "rows": [{**ROW, "median_ms": 1.5, "phases": [PHASE]}, {**ROW, "name": "b", "reason": "no"}],
    "sweeps": [SWEEP],
}
KERNEL = {"kernel": "add_naive_kernel", "barriers": 2, "atomics": None, "varying": []}
DATA = {
    "schema": 1,
    "counters": {"01_add": {"arguments": "", "kernels": [KERNEL]}},
    "runs": {
        "01_add/a": RUN,
        "01_add/b": {**RUN, "device": None, "toolkit": "12.9"},
        "01_add/c": {**RUN, "program": "other", "sweeps": []},
    },
}


class Kept(ToolCase):
    def save(self, data):
        results.save(self.root / "r.json", data)
        return self.read("r.json")

    def load(self):
        return results.load(self.root / "r.json")

    def test_what_is_loaded_is_what_was_saved(self):
        data = copy.deepcopy(DATA)
        text = self.save(data)
        self.assertEqual(data, DATA)  # saving changes nothing
        loaded = self.load()
        self.assertEqual(loaded["runs"], DATA["runs"])
        kernel = {key: value for key, value in KERNEL.items() if value is not None}
        self.assertEqual(loaded["counters"]["01_add"]["kernels"], [kernel])
        self.assertEqual(self.save(loaded), text)

    def test_a_0_is_no_gap(self):
        row = {**ROW, **dict.fromkeys(results.NUMBERS, 0.0), "sizes": {"n": 0}}
        row["phases"] = [{**PHASE, "gbps": 0.0}]
        point = {"n": 0, "ms": 0.0}
        run = {**RUN, "seed": 0, "rows": [row], "sweeps": [{**SWEEP, "points": [point]}]}
        kernel = {**KERNEL, "barriers": 0, "active_lanes": 0.0}
        counters = {"01_add": {"arguments": "", "kernels": [kernel]}}
        self.save({"schema": 1, "counters": counters, "runs": {"01_add/a": run}})
        loaded = self.load()
        self.assertEqual(loaded["runs"]["01_add/a"], run)
        [kept] = loaded["counters"]["01_add"]["kernels"]
        self.assertEqual((kept["barriers"], kept["active_lanes"]), (0, 0))

    def test_an_entry_a_line(self):
        lines = [line.strip() for line in self.save(DATA).splitlines()]
        starts = lambda words: sum(line.startswith(words) for line in lines)
        self.assertEqual(starts('{"problem": "add", "name": "naive", "median_ms": 1.5'), 3)
        self.assertEqual(starts('{"kernel": "add_naive_kernel"'), 1)
        self.assertEqual(starts('{"ms": 2, "n": 1}'), 2)
        self.assertEqual(starts('"01_add/'), 3)

    def test_an_environment_once(self):
        text = self.save(DATA)
        self.assertEqual(text.count("NVIDIA H200"), 1)
        kept = json.loads(text)
        self.assertEqual(len(kept["environments"]), 2)
        named = {label: run["environment"] for label, run in kept["runs"].items()}
        self.assertEqual(named["01_add/a"], named["01_add/c"])
        self.assertNotEqual(named["01_add/a"], named["01_add/b"])
        # In which order a program says it does not matter.
        turned = {**DATA["runs"], "01_add/a": dict(reversed(DATA["runs"]["01_add/a"].items()))}
        self.assertEqual(self.save({**DATA, "runs": turned}), text)
        # One more kind of machine moves no line of the others.
        more = {**DATA["runs"], "00/x": {**RUN, "toolkit": "14.0"}}
        new = self.save({**DATA, "runs": more})
        lines = lambda text: {line.rstrip(",") for line in text.splitlines()}
        self.assertEqual(lines(text) - lines(new), set())

    def test_nothing_that_says_nothing(self):
        text = self.save(DATA)
        for words in ("null", '"phases": []', '"reason": ""'):
            self.assertNotIn(words, text)

    def test_an_environment_that_is_not_there(self):
        text = self.save(DATA)
        broken = json.loads(text)
        broken["environments"].popitem()
        (self.root / "r.json").write_text(json.dumps(broken), encoding="utf-8")
        with self.assertRaisesRegex(results.ResultsError, "no environment '"):
            self.load()

    def test_damaged_environments(self):
        for environments in ([], {"a": 1}, {"a": {"device": "H200"}}, {"a": {"cpu": []}}):
            text = json.dumps({"runs": {}, "environments": environments})
            (self.root / "r.json").write_text(text, encoding="utf-8")
            with self.assertRaisesRegex(results.ResultsError, "environment"):
                self.load()


class Lines(unittest.TestCase):
    def test_the_layout_says_what_opens(self):
        value = {"a": 1, "b": [{"c": [1, 2]}, {"c": []}], "d": {"e": {"f": [3]}}, "b2": []}
        text = json_lines.text(value, {"b": {"c": {}}, "d": {}})
        self.assertEqual(json.loads(text), value)
        lines = ['{"a": 1, "b2": [],', '"b": [', ' {"c": [', "  1,", "  2", " ]},"]
        lines += [' {"c": []}', "],", '"d": {', ' "e": {"f": [3]}', "}}"]
        self.assertEqual(text.splitlines(), lines)

    def test_what_is_empty_or_odd(self):
        for value in ({}, [], "ä\n", {"b": {}}, {"b": None}, {"b": 0}):
            text = json_lines.text(value, {"b": {}})
            self.assertEqual(json.loads(text), value)
            self.assertEqual(text.count("\n"), 1)
        self.assertEqual(json_lines.text(["ä µ"], {}), '["ä µ"]\n')


if __name__ == "__main__":
    unittest.main()
