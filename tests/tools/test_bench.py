"""Running programs and keeping their results."""

import json
import unittest

from tool_case import ToolCase

PROGRAM = """
[[ $1 == --json ]] || exit 9
device=null
[[ -n $GPU_NAME ]] && device="{\\"name\\": \\"$GPU_NAME\\"}"
[[ $* == *--fail* ]] && exit 3
[[ $* == *--garbage* ]] && { echo "not JSON" >"$2"; exit 0; }
cat >"$2" <<JSON
{"schema": 1, "program": "vector_add", "arguments": "$*", "device": $device, "rows": []}
JSON
"""


class Bench(ToolCase):
    def setUp(self):
        super().setUp()
        self.write("01_vector_add/bench.args", "# sizes\ndefault:\nlarge: --n 100  # in memory\n")
        self.write("01_vector_add/vector_add.cu", "")
        self.write("02_polar/bench.args", "default: --n 7\n")
        self.write("02_polar/polar.cu", "")
        self.build = self.root / "build"
        for name in ("01_vector_add/vector_add", "02_polar/polar"):
            self.executable(self.build / name, PROGRAM)

    def bench(self, *arguments, status=0, gpu="NVIDIA H200", **options):
        command = ["bench.py", "--root", self.root, "--build", self.build, *arguments]
        return self.run_tool(*command, status=status, GPU_NAME=gpu, **options)

    def results(self, name="nvidia_h200"):
        return json.loads(self.read(f"results/{name}.json"))

    def test_every_label_of_every_chapter(self):
        self.bench()
        runs = self.results()["runs"]
        self.assertEqual(sorted(runs), ["01_vector_add/default", "01_vector_add/large", "02_polar/default"])
        self.assertEqual(runs["01_vector_add/large"]["arguments"], "--n 100")
        self.assertEqual(self.results()["schema"], 1)

    def test_running_again_changes_no_byte(self):
        self.bench()
        before = self.read("results/nvidia_h200.json")
        self.bench()
        self.assertEqual(self.read("results/nvidia_h200.json"), before)
        self.assertEqual([path.name for path in (self.root / "results").iterdir()], ["nvidia_h200.json"])

    def test_other_chapters_stay_and_dropped_labels_go(self):
        self.bench()
        self.write("01_vector_add/bench.args", "small: --n 1\n")
        self.bench("01")
        self.assertEqual(sorted(self.results()["runs"]), ["01_vector_add/small", "02_polar/default"])

    def test_each_gpu_has_its_own_file(self):
        self.bench()
        self.bench(gpu="NVIDIA GeForce RTX 4090")
        self.assertEqual(len(self.results("nvidia_geforce_rtx_4090")["runs"]), 3)

    def test_a_failing_program_is_named_and_the_others_kept(self):
        self.bench()
        self.write("01_vector_add/bench.args", "default: --fail\nlarge: --n 5\nodd: --garbage\n")
        result = self.bench(status=1)
        self.assertIn("01_vector_add/default: ", result.stderr)
        self.assertIn("vector_add failed with exit code 3", result.stderr)
        self.assertIn("01_vector_add/odd: ", result.stderr)
        self.assertIn("wrote no valid JSON", result.stderr)
        runs = self.results()["runs"]
        self.assertEqual(runs["01_vector_add/large"]["arguments"], "--n 5")
        self.assertIn("01_vector_add/default", runs)
        self.assertNotIn("01_vector_add/odd", runs)

    def test_without_a_gpu_nothing_is_kept(self):
        for gpu in ("", "simt (2 CPU threads)"):
            self.assertIn("no GPU took part", self.bench(status=1, gpu=gpu).stderr)
            self.assertFalse((self.root / "results").exists())
        self.bench("--allow-no-gpu", gpu="")
        self.assertEqual(len(self.results("cpu")["runs"]), 3)

    def test_counters_come_from_the_profiler(self):
        self.write("01_vector_add/bench.args", "default:\ncounters: --n 64\n")
        log = '"ID","Kernel Name","Metric Name","Metric Value"\n"0","k","smsp__inst_executed.sum","1"\n'
        self.fake("ncu", f"while [[ $1 != --log-file ]]; do shift || exit 0; done; printf '%s' '{log}' >$2\n")
        self.bench("01")
        counters = self.results()["counters"]["01_vector_add"]
        self.assertEqual([kernel["kernel"] for kernel in counters["kernels"]], ["k"])
        self.assertEqual(counters["arguments"], "--n 64")
        self.assertEqual(list(self.results()["runs"]), ["01_vector_add/default"])
        (self.bin / "ncu").unlink()
        self.borrow("bash", "cat")
        self.assertIn("not measured, ncu", self.bench("01", only_fakes=True).stdout)
        self.assertIn("01_vector_add", self.results()["counters"])
        self.fake("ncu", "exit 1\n")
        self.assertIn("no counters", self.bench("01", status=1).stderr)
        self.bench("01", "--no-counters")
        self.assertIn("01_vector_add", self.results()["counters"])

    def test_bad_arguments(self):
        for arguments in (["09"], ["--nosuch"]):
            self.assert_one_line(self.bench(*arguments, status=2).stderr, "bench.py:")
        self.assert_one_line(self.run_tool("bench.py", status=2).stderr, "--build")

    def test_unbuilt_program_and_malformed_arguments_file(self):
        (self.build / "02_polar/polar").unlink()
        self.assertIn("no program of 02_polar", self.bench(status=1).stderr)
        self.write("01_vector_add/bench.args", "default\n")
        self.assertIn("bench.args:1: expected", self.bench("01", status=1).stderr)


if __name__ == "__main__":
    unittest.main()
