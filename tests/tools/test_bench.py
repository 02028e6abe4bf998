"""Running programs and keeping their results."""

import json
import os
import shlex
import subprocess
import sys
import unittest

from tool_case import TOOLS, ToolCase

PROGRAM = """
[[ $1 == --json ]] || exit 9
device=null
[[ -n $GPU_NAME ]] && device="{\\"name\\": \\"$GPU_NAME\\"}"
[[ $* == *--fail* ]] && exit 3
[[ $* == *--garbage* ]] && { echo "not JSON" >"$2"; exit 0; }
rung=', {"problem": "p", "name": "rung", "place": "device", "status": "'${STATUS:-right}'"}'
[[ $* == *--shared* ]] && rung=${rung%\\}}', "sizes": {"n": 9, "devices": '${GPUS:-1}'}}'
[[ -z $YARDSTICK_OF ]] || rung+=', {"problem": "p", "name": "one_gpu", "place": "device",
  "kind": "yardstick", "status": "right", "sizes": {"devices": '$YARDSTICK_OF'}}'
sweeps=
[[ $* == *--points* ]] && sweeps=', "sweeps": [{"points": [{"n": 1, "devices": '${GPUS:-1}'}]}]'
[[ -z $LOOPS_ONLY ]] || rung=
cat >"$2" <<JSON
{"schema": 1, "program": "vector_add", "arguments": "$*", "device": $device, "commit": "$COMMIT",
 "rows": [{"problem": "p", "name": "loop", "place": "cpu", "status": "right",
           "sizes": {"n": 9, "devices": ${LOOP_OF:-1}}}$rung]$sweeps}
JSON
"""


class BenchCase(ToolCase):
    def setUp(self):
        super().setUp()
        self.write("01_vector_add/bench.args", "# sizes\ndefault:\nlarge: --n 100  # in memory\n")
        self.write("01_vector_add/ladders.cu", "")
        self.write("02_polar/bench.args", "default: --n 7\n")
        self.write("02_polar/ladders.cu", "")
        self.build = self.root / "build"
        for name in ("01_vector_add/ladders", "02_polar/ladders"):
            self.executable(self.build / name, PROGRAM)

    def bench(self, *arguments, status=0, gpu="NVIDIA H200", **options):
        options = {"COMMIT": "0123456789ab", **options}
        command = ["bench.py", "--root", self.root, "--build", self.build, *arguments]
        return self.run_tool(*command, status=status, GPU_NAME=gpu, **options)

    def results(self, name="nvidia_h200"):
        return json.loads(self.read(f"results/{name}.json"))


class Bench(BenchCase):
    def test_every_label_of_every_chapter(self):
        self.bench()
        runs = self.results()["runs"]
        self.assertEqual(
            sorted(runs), ["01_vector_add/default", "01_vector_add/large", "02_polar/default"]
        )
        self.assertEqual(runs["01_vector_add/large"]["arguments"], "--n 100")
        self.assertEqual(self.results()["schema"], 1)

    def test_running_again_changes_no_byte(self):
        self.bench()
        before = self.read("results/nvidia_h200.json")
        self.bench()
        self.assertEqual(self.read("results/nvidia_h200.json"), before)
        self.assertEqual(
            [path.name for path in (self.root / "results").iterdir()], ["nvidia_h200.json"]
        )

    def test_other_chapters_stay_and_dropped_labels_go(self):
        self.bench()
        self.write("01_vector_add/bench.args", "small: --n 1\n")
        self.bench("01")
        self.assertEqual(
            sorted(self.results()["runs"]), ["01_vector_add/small", "02_polar/default"]
        )

    def test_one_label_alone_and_the_others_stay(self):
        self.bench()
        self.write("01_vector_add/bench.args", "default: --n 3\nlarge: --n 4\nnew: --n 5\n")
        self.bench("01", "--label", "new", "--label", "large")
        runs = self.results()["runs"]
        names = [f"01_vector_add/{name}" for name in ("default", "large", "new")]
        self.assertEqual([runs[name]["arguments"] for name in names], ["", "--n 4", "--n 5"])
        self.assertIn("02_polar/default", runs)
        said = self.bench("01", "--label", "nosuch", status=2).stderr
        self.assert_one_line(said, "no label 'nosuch'")

    def test_each_gpu_has_its_own_file(self):
        self.bench()
        self.bench(gpu="NVIDIA GeForce RTX 4090")
        self.assertEqual(len(self.results("nvidia_geforce_rtx_4090")["runs"]), 3)

    def test_what_several_gpus_share_has_files_of_its_own(self):
        self.write("02_polar/bench.args", "default:\nrows: --shared\nsweep: --points\n")
        runs = lambda name: sorted(self.results(name)["runs"])
        for gpus in ("2", "4"):
            self.bench("02", GPUS=gpus)
            shared = runs(f"nvidia_h200_x{gpus}")
            self.assertEqual(shared, ["02_polar/rows", "02_polar/sweep"])
        self.assertEqual(runs("nvidia_h200"), ["02_polar/default"])
        self.assertEqual(runs("nvidia_h200_x2"), ["02_polar/rows", "02_polar/sweep"])
        # What too few GPUs have skipped is not kept.
        self.bench("02", "--label", "rows", GPUS="8", STATUS="skipped")
        self.assertFalse((self.root / "results/nvidia_h200_x8.json").is_file())

    def test_a_loop_over_what_several_gpus_would_share_is_no_run_of_several(self):
        self.bench("02", LOOP_OF="2", YARDSTICK_OF="2")
        self.assertEqual(list(self.results()["runs"]), ["02_polar/default"])
        self.assertFalse((self.root / "results/nvidia_h200_x2.json").is_file())

    def test_what_is_skipped_on_this_machine_stays_as_it_was(self):
        self.bench()
        before = self.results()
        said = self.bench(STATUS="skipped", COMMIT="fedcba987654").stdout
        self.assertIn("02_polar/default: nothing of it runs on this machine", said)
        self.assertEqual(self.results(), before)

    def test_loops_alone_are_kept(self):
        self.bench(LOOPS_ONLY="1")
        runs = self.results()["runs"]
        self.assertEqual(len(runs), 3)
        self.assertEqual([row["name"] for row in runs["02_polar/default"]["rows"]], ["loop"])

    def test_a_failing_program_is_named_and_the_others_kept(self):
        self.bench()
        self.write("01_vector_add/bench.args", "default: --fail\nlarge: --n 5\nodd: --garbage\n")
        result = self.bench(status=1)
        self.assertIn("01_vector_add/default: ", result.stderr)
        self.assertIn("ladders failed with exit code 3", result.stderr)
        self.assertIn("01_vector_add/odd: ", result.stderr)
        self.assertIn("wrote no valid results", result.stderr)
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
        log = '"ID","Kernel Name","Block Size","Grid Size","Metric Name","Metric Value"\n'
        log += '"0","k","(32, 1, 1)","(4, 1, 1)","smsp__inst_executed.sum","1"\n'
        self.fake(
            "ncu",
            f"while [[ $1 != --log-file ]]; do shift || exit 0; done; printf '%s' '{log}' >$2\n",
        )
        self.bench("01")
        counters = self.results()["counters"]["01_vector_add"]
        self.assertEqual([kernel["kernel"] for kernel in counters["kernels"]], ["k"])
        self.assertEqual(counters["arguments"], "--n 64")
        of_run = self.results()["runs"]["01_vector_add/default"]
        self.assertEqual(counters["commit"], of_run["commit"])
        self.assertRegex(counters["date"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertEqual(list(self.results()["runs"]), ["01_vector_add/default"])
        (self.bin / "ncu").unlink()
        self.borrow("bash", "cat")
        self.assertIn("not measured, ncu", self.bench("01", only_fakes=True).stdout)
        self.assertIn("01_vector_add", self.results()["counters"])
        self.fake("ncu", "exit 1\n")
        self.assertIn("no counters", self.bench("01", status=1).stderr)
        self.bench("01", "--no-counters")
        self.assertIn("01_vector_add", self.results()["counters"])

    def test_broken_json_and_broken_results_files(self):
        self.write("01_vector_add/bench.args", "default: --list\n")
        for text in ("[]", '{"rows": [1], "device": null}', '{"rows": [], "device": "H200"}'):
            self.executable(self.build / "01_vector_add/ladders", f"echo '{text}' >$2\n")
            error = self.bench("01", status=1).stderr
            self.assert_one_line(error, "01_vector_add/default: ", "wrote no valid results: ")
        of_no_run = '{"kernels": [], "arguments": "", "runs": 0}'
        for text in (
            "[]",
            "{",
            '{"runs": {"a": {"rows": [{"name": 1}]}}}',
            f'{{"runs": {{}}, "counters": {{"01_vector_add": {of_no_run}}}}}',
        ):
            self.write("results/nvidia_h200.json", text)
            self.assert_one_line(self.bench("02", status=1).stderr, "damaged and stays as it is")
            self.assertEqual(self.read("results/nvidia_h200.json"), text)

    def test_arguments_that_cannot_be_read(self):
        self.write("01_vector_add/bench.args", "default: --only 'a\n")
        self.assert_one_line(
            self.bench("01", status=1).stderr, "bench.args:1: No closing quotation"
        )
        self.write("01_vector_add/bench.args", "default:\ndefault: --n 1\n")
        error = self.bench("01", status=1).stderr
        self.assert_one_line(error, "bench.args:2: expected one `label: arguments` for each label")
        (self.root / "01_vector_add/bench.args").write_bytes(b"default: caf\xe9\n")
        self.assert_one_line(self.bench("01", status=1).stderr, "not UTF-8 from byte 12 on")

    def test_a_full_disk_leaves_the_results(self):
        other = {"09_other/x": {"rows": [], "arguments": "--n 1 " * 400}}
        before = json.dumps({"runs": other})
        self.write("results/nvidia_h200.json", before)
        command = [sys.executable, TOOLS / "bench.py", "--root", self.root, "--build", self.build]
        words = shlex.join(map(str, [*command, "01"]))
        result = subprocess.run(
            ["bash", "-c", f"ulimit -f 1; exec {words}"],
            capture_output=True,
            text=True,
            env={**os.environ, "COMMIT": "0123456789ab", "GPU_NAME": "NVIDIA H200"},
        )
        self.assertEqual(result.returncode, 1)
        self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)
        self.assertEqual(self.read("results/nvidia_h200.json"), before)
        self.assertEqual([p.name for p in (self.root / "results").iterdir()], ["nvidia_h200.json"])

    def test_bad_arguments(self):
        for arguments in (["09"], ["--nosuch"]):
            self.assert_one_line(self.bench(*arguments, status=2).stderr, "bench.py:")
        self.assert_one_line(self.run_tool("bench.py", status=2).stderr, "--build")

    def test_unbuilt_program_and_malformed_arguments_file(self):
        (self.build / "02_polar/ladders").unlink()
        self.assertIn("no program of 02_polar", self.bench(status=1).stderr)
        self.write("01_vector_add/bench.args", "default\n")
        self.assertIn("bench.args:1: expected", self.bench("01", status=1).stderr)


class Clean(BenchCase):
    """What is measured is what a commit holds."""

    def setUp(self):
        super().setUp()
        self.write(".gitignore", "build/\n")
        self.git("init", "--quiet")
        self.git("add", "-A")
        self.git("commit", "--quiet", "-m", "all")

    def git(self, *arguments):
        who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        subprocess.run(["git", "-C", self.root, *who, *arguments], check=True, capture_output=True)

    def bench(self, *arguments, **options):
        return super().bench(*arguments, **{"COMMIT": "", **options})

    def commits(self):
        return {run["commit"] for run in self.results()["runs"].values()}

    def test_a_clean_tree(self):
        self.bench()
        self.assertRegex(self.commits().pop(), r"^[0-9a-f]{12}$")
        # What the last run wrote, and the lessons that quote it, are no change of the sources.
        self.write("01_vector_add/README.md", "a table\n")
        self.bench()
        self.assertNotIn("dirty", self.results())

    def test_changed_sources_are_refused(self):
        for path in ("01_vector_add/ladders.cu", "01_vector_add/new.cuh", "Makefile"):
            self.write(path, "// changed\n")
            error = self.bench(status=1).stderr
            self.assert_one_line(error, "these sources differ from their commit", "--allow-dirty")
            self.git("stash", "--include-untracked")
        self.assertFalse((self.root / "results").exists())

    def test_what_is_measured_all_the_same_is_marked(self):
        self.write("01_vector_add/ladders.cu", "// changed\n")
        self.bench("--allow-dirty", "02")
        self.assertRegex(self.commits().pop(), r"^[0-9a-f]{12}-dirty$")
        self.assertTrue(self.results()["runs"]["02_polar/default"]["dirty"])
        self.assertEqual(self.results()["dirty"], ["02_polar/default"])
        self.git("commit", "--quiet", "-am", "now it is one")
        self.bench("01")
        self.assertEqual(self.results()["dirty"], ["02_polar/default"])
        self.bench()
        self.assertNotIn("dirty", self.results())

    def test_without_a_history(self):
        subprocess.run(["rm", "-rf", self.root / ".git"], check=True)
        self.assert_one_line(self.bench(status=1).stderr, "no commit is known")
        # A repository around the sources, of a home folder say, does not speak of them.
        tree, self.root = self.root, self.root.parent
        self.git("init", "--quiet")
        self.git("commit", "--quiet", "--allow-empty", "-m", "home")
        self.root = tree
        self.assert_one_line(self.bench(status=1).stderr, "no commit is known")
        self.bench(COMMIT="0123456789ab")
        self.assertEqual(self.commits(), {"0123456789ab"})
        self.assertIn("differ from", self.bench(status=1, COMMIT="0123456789ab-dirty").stderr)
        self.bench("--allow-dirty")
        self.assertEqual(self.commits(), {"unknown-dirty"})


if __name__ == "__main__":
    unittest.main()
