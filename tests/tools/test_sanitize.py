"""What the checkers said about every rung, and the report of it."""

import json
import os
import sys
import unittest
from pathlib import Path

from tool_case import TOOLS, ToolCase

import sanitize
import sanitizer_report

# A program with the command line of a chapter's. RUNGS: {problem/name: what differs from a rung
# that runs on the GPU}; FOUND: {tool: {problem/name: what it prints of it, or how the run ends}}.
# It writes to files how it was called, and on which GPU.
FAKES = """
import json, os, sys

RUNGS, FOUND = json.loads(os.environ["RUNGS"]), json.loads(os.environ["FOUND"])
KERNEL = {"kind": "rung", "place": "device", "status": "right", "reason": ""}

def value(words, option):
    return words[words.index(option) + 1] if option in words else None

def chosen(words):
    only = value(words, "--only")
    return only.split(",") if only else list(RUNGS)

def program(words, tool, options=()):
    if "--list" in words:
        print("".join(f"{name:<30} an idea\\n" for name in RUNGS), end="")
        return 0
    with open(os.environ["RUNS"], "a") as log:
        log.write(" ".join([tool, *words[2:]]) + "\\n")
    gpu = os.environ.get("CUDA_VISIBLE_DEVICES", "all")
    with open(os.environ["RUNS"] + "_on", "a") as log:
        log.write(" ".join([tool, ",".join(chosen(words)), gpu, *options]) + "\\n")
    if any((RUNGS[name] or {}).get("crashes") for name in chosen(words)):
        return 139
    status, rows = 0, []
    for name in chosen(words):
        if RUNGS[name] is None:
            continue
        row = {**KERNEL, **RUNGS[name], "problem": name.split("/")[0], "name": name.split("/")[1]}
        if "skips" in row:
            row["status"] = "skipped" if row["skips"] == value(words, "--n") else "right"
        if row.get("devices", 1) > int(os.environ.get("SIMT_DEVICES", 1)):
            row |= {"status": "skipped", "reason": f"needs {row['devices']} GPUs"}
        status = 1 if row["status"] == "wrong" else status
        rows.append(row)
    with open(value(words, "--json"), "w") as file:
        json.dump({"rows": rows}, file)
    return status
"""

PROGRAM = """
is_checked = os.environ.get("SIMT_CHECK") == "1"
status = program(sys.argv[1:], "simt" if is_checked else "alone")
if is_checked and "UNCHECKED" not in os.environ:
    reports = [FOUND["simt"][name] for name in chosen(sys.argv) if name in FOUND.get("simt", {})]
    with open(os.environ["SIMT_CHECK_JSON"], "w") as file:
        json.dump({"errors": len(reports), "kernels_checked": 3, "reports": reports}, file)
    status = status or (1 if reports else 0)
sys.exit(status)
"""

COMPUTE_SANITIZER = """
assert sys.argv[1] == "--tool"
tool, words = sys.argv[2], sys.argv[3:]
count = 2 if words[0].startswith("--") else 0
options, words = words[:count], words[count:]
print("========= COMPUTE-SANITIZER")
status = program(words[1:], tool, options)
texts = [FOUND[tool][name] for name in chosen(words) if name in FOUND.get(tool, {})]
together = FOUND.get(tool, {}).get("together")
if together and len(chosen(words)) > 2:
    texts.append(together)
for text in texts:
    if text in ("sleep", "end"):
        import signal, subprocess
        child = subprocess.Popen(["sleep", "20"])
        with open(os.environ["RUNS"] + "_child", "w") as file:
            file.write(str(child.pid))
        if text == "end":
            os.kill(os.getppid(), signal.SIGTERM)
        child.wait()
        os.remove(file.name)
    if isinstance(text, int):
        print("the program is gone")
        sys.exit(text)
    print(text)
count = len(texts)
if tool == "racecheck":
    many = "hazard" if count == 1 else "hazards"
    errors = "error" if count == 1 else "errors"
    print(f"========= RACECHECK SUMMARY: {count} {many} displayed ({count} {errors}, 0 warnings)")
else:
    print(f"========= ERROR SUMMARY: {count} {'error' if count == 1 else 'errors'}")
sys.exit(status)
"""

# As compute-sanitizer of CUDA 12 and 13 prints them.
RACE = """\
========= Error: Race reported between Write access at \
one_cell_racy_kernel(const unsigned short *, long, unsigned long long *)+0x2d0 \
in /home/me/06_atomics_streams/one_cell/02_racy.cuh:24
=========     and Read access at one_cell_racy_kernel(const unsigned short *, long, \
unsigned long long *)+0x270 in /home/me/06_atomics_streams/one_cell/02_racy.cuh:24 [4096 hazards]
========="""
STRAY = """\
========= Invalid __global__ write of size 4 bytes
=========     at add::add_kernel(const float *, float *, long)+0x70 in /home/me/add/02_b.cuh:9
=========     by thread (32,0,0) in block (7,0,0)
=========     Access at 0x7f5fbd400fa0 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f5fbd400000 of size 4,000 bytes
=========     Saved host backtrace up to driver entry point at kernel launch time
========="""
UNWRITTEN = """\
========= Uninitialized __global__ memory read of size 4 bytes
=========     at 0x1b0 in /home/me/01_add/add/02_b.cuh:7:add_kernel(float *)
=========     by thread (0,0,0) in block (0,0,0)
========="""
BARRIER = """\
========= Barrier error detected. Divergent thread(s) in block
=========     at block_reduce(float *)+0xc0 in /home/me/01_add/add/02_b.cuh:12
=========     by thread (31,0,0) in block (0,0,0)
========="""
SIMT_RACE = {"check": "race", "kernel": "racy_kernel", "file": "/home/me/02_racy.cuh", "line": 24}

TOOL_NAMES = ["memcheck", "racecheck", "synccheck", "initcheck"]
CLEAN = dict.fromkeys(TOOL_NAMES, "clean")


class SanitizeCase(ToolCase):
    def setUp(self):
        super().setUp()
        self.write("01_add/bench.args", "default: --n 9\ncounters: --n 33\n")
        self.write("06_race/bench.args", "counters: --only add --n 33\nsanitize: --n 65\n")
        self.programs = {}
        for name in ("01_add/ladders", "06_race/ladders"):
            self.write(f"{name}.cu", "")
            self.python(self.root / "build" / name, FAKES + PROGRAM)
        self.rungs = {"add/a": {}, "add/b": {}, "add/c": {}, "add/d": {}, "add/e": {}}
        self.found = {}

    def python(self, path, text):
        path.with_suffix(".py").parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".py").write_text(text, encoding="utf-8")
        self.executable(path, f'exec {sys.executable} -IS {path.with_suffix(".py")} "$@"\n')

    def sanitize(self, *arguments, status=0, gpu="NVIDIA H200", gpus=1, chapters=("01",), **env):
        """Runs the tool; `gpu`: on which GPU, so many of them, or on none."""
        listed = "".join(f'echo "GPU {i}: {gpu} (UUID: GPU-{i})"\n' for i in range(gpus))
        self.fake("nvidia-smi", listed if gpu else 'echo "has failed"; exit 9\n')
        if gpu:
            self.python(self.bin / "compute-sanitizer", FAKES + COMPUTE_SANITIZER)
        runs = self.write("runs", "")
        self.write("runs_on", "")
        env = {"COMMIT": "0123456789ab", "RUNS": str(runs), **env}
        env |= {"RUNGS": json.dumps(self.rungs), "FOUND": json.dumps(self.found)}
        command = ["sanitize.py", "--root", self.root, "--build", self.root / "build"]
        return self.run_tool(*command, *arguments, *chapters, status=status, **env)

    def report(self, device="nvidia_h200"):
        return json.loads(self.read(f"results/sanitizer/{device}.json"))

    def said(self, chapter="01_add", device="nvidia_h200"):
        """{problem/name: {tool: verdict}}"""
        return {
            f"{name.partition('/')[2]}/{rung}": said
            for name, entry in self.report(device)["problems"].items()
            if name.startswith(f"{chapter}/")
            for rung, said in entry["rungs"].items()
        }

    def runs(self):
        return self.read("runs").splitlines()


class OnAGpu(SanitizeCase):
    def test_every_rung_under_every_tool(self):
        out = self.sanitize().stdout
        self.assertEqual(self.said(), {name: CLEAN for name in self.rungs})
        self.assertIn("01_add: 5 rungs", out)
        cells = "memcheck: clean; racecheck: clean; synccheck: clean; initcheck: clean"
        self.assertEqual(out.splitlines()[1].split(maxsplit=1), ["01_add/add", cells])
        together = ",".join(self.rungs)
        self.assertEqual(
            self.runs(),
            [
                "alone --verify --n 33",
                *(f"{tool} --verify --only {together} --n 33" for tool in TOOL_NAMES),
            ],
        )

    def test_where_when_and_at_which_sizes(self):
        self.sanitize()
        report = self.report()
        self.assertEqual(report["device"], "NVIDIA H200")
        self.assertEqual(report["tools"], TOOL_NAMES)
        entry = report["problems"]["01_add/add"]
        self.assertEqual(entry["arguments"], "--n 33")
        self.assertEqual(entry["commit"], "0123456789ab")
        self.assertRegex(entry["date"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")

    def test_the_sizes_for_checkers_come_first(self):
        self.sanitize(chapters=["06"])
        self.assertEqual(self.runs()[0], "alone --verify --n 65")

    def test_a_finding_is_that_of_one_rung(self):
        for tool, text, finding in (
            (
                "memcheck",
                STRAY,
                "Invalid __global__ write of size 4 bytes at "
                "add::add_kernel(const float *, float *, long) in 02_b.cuh:9",
            ),
            ("synccheck", BARRIER, "at block_reduce(float *) in 02_b.cuh:12"),
            ("initcheck", UNWRITTEN, "Uninitialized __global__ memory read of size 4 bytes"),
            ("racecheck", RACE, "Race reported between Write access at one_cell_racy_kernel("),
        ):
            self.found = {tool: {"add/b": text}}
            result = self.sanitize(status=1)
            said = self.said()
            self.assertEqual(sanitizer_report.kind_of(said["add/b"].pop(tool)), "flagged")
            self.assertIn(finding, result.stdout)
            self.assertIn(text, result.stderr)
            self.assertNotIn("/home", result.stdout)
            for name in self.rungs:
                expected = {t: "clean" for t in TOOL_NAMES if name != "add/b" or t != tool}
                self.assertEqual(said[name], expected)

    def test_two_findings_of_one_problem(self):
        self.found = {"memcheck": {"add/a": STRAY, "add/e": STRAY}}
        self.sanitize(status=1)
        flagged = [name for name, said in self.said().items() if said != CLEAN]
        self.assertEqual(flagged, ["add/a", "add/e"])

    def test_what_only_several_rungs_do_together_is_not_lost(self):
        self.found = {"memcheck": {"together": STRAY}}
        self.sanitize(status=1)
        said = self.said()
        for name in ("add/a", "add/b", "add/c"):
            self.assertIn("flagged: Invalid __global__ write", said[name]["memcheck"])
            self.assertIn("in one run with add/a", said[name]["memcheck"])

    def test_a_run_that_ends_in_an_error_is_not_clean(self):
        self.found = {"memcheck": {"add/c": 139}}
        out = self.sanitize(status=1).stdout
        self.assertIn("add/c: failed: exit code 139, the program is gone (memcheck)", out)
        self.assertEqual(self.said()["add/b"], CLEAN)

    def test_a_rung_that_takes_the_program_down_with_it(self):
        self.rungs = {"add/loop": {"place": "cpu"}, "add/a": {}, "add/b": {"crashes": True}}
        self.found = {"memcheck": {"add/b": STRAY}}
        self.sanitize(status=1)
        said = self.said()
        self.assertEqual(list(said), ["add/a", "add/b"])
        self.assertEqual(said["add/a"], CLEAN)
        self.assertEqual(list(said["add/b"]), TOOL_NAMES)
        self.assertIn("flagged: Invalid", said["add/b"]["memcheck"])
        self.assertIn("failed: exit code 139", said["add/b"]["racecheck"])

    def test_a_wrong_result_is_not_clean(self):
        self.rungs["add/c"] = {"status": "wrong", "reason": "element 3: 1 and not 2"}
        self.sanitize(status=1)
        verdict = "failed: element 3: 1 and not 2"
        self.assertEqual(self.said()["add/c"], dict.fromkeys(TOOL_NAMES, verdict))

    def test_a_tool_that_does_not_come_to_its_end(self):
        self.found = {"memcheck": {"add/c": 0}}
        out = self.sanitize(status=1).stdout
        self.assertIn("add/c: failed: the tool did not say what it found (memcheck)", out)

    def test_a_run_without_end(self):
        self.rungs = {"add/c": {}}
        self.found = {"memcheck": {"add/c": "sleep"}}
        out = self.sanitize("--timeout", "2", status=1).stdout
        self.assertIn("add/c: failed: did not end within 2 s (memcheck)", out)

    def test_of_several_rungs_that_do_not_end_each_runs_by_itself(self):
        self.found = {"synccheck": {"add/b": "sleep"}}
        self.sanitize("--timeout", "2", status=1)
        verdict = "failed: did not end within 2 s"
        said = {name: CLEAN for name in self.rungs}
        self.assertEqual(self.said(), {**said, "add/b": {**CLEAN, "synccheck": verdict}})
        runs = [line.split()[3] for line in self.runs() if line.startswith("synccheck")]
        self.assertEqual(runs, [",".join(self.rungs), *self.rungs])

    def test_a_program_ends_with_its_tool(self):
        self.rungs = {"add/c": {}}
        self.found = {"memcheck": {"add/c": "sleep"}}
        self.sanitize("--timeout", "1", status=1)
        self.assert_is_over(self.read("runs_child"))

    def test_what_runs_ends_when_somebody_ends_it_all(self):
        self.found = {"memcheck": {"add/c": "end"}}
        self.sanitize(status=1)
        self.assertEqual(self.runs()[-1].split()[0], "memcheck")
        self.assert_is_over(self.read("runs_child"))

    def assert_is_over(self, process):
        command = Path("/proc", process, "cmdline")
        self.assertEqual(command.read_bytes() if command.exists() else b"", b"")

    def test_nothing_begins_when_time_is_over(self):
        self.rungs = {"add/a": {}, "sum/a": {}, "sum/b": {}}
        self.found = {"racecheck": {"sum/b": "sleep"}}
        out = self.sanitize("--within", "4", status=1).stdout
        self.assertIn("01_add/sum: not finished: racecheck, synccheck, initcheck\n", out)
        self.assertEqual(self.said(), {"add/a": CLEAN})
        self.assertNotIn("synccheck --verify --only sum/a,sum/b --n 33", self.runs())

    def test_problems_with_a_rung_that_was_never_checked_come_first(self):
        self.rungs = {"add/a": {}, "sum/a": {}}
        self.sanitize()
        self.rungs["sum/b"] = {}
        self.sanitize()
        only = [line.split()[3] for line in self.runs()[1:]]
        self.assertEqual(only, 4 * ["sum/a,sum/b"] + 4 * ["add/a"])

    def test_many_rungs_share_a_few_runs(self):
        self.rungs = {f"add/{name}": {} for name in "abcdefghij"}
        self.sanitize()
        only = [line.split()[3] for line in self.runs() if line.startswith("memcheck")]
        self.assertEqual(only, ["add/a,add/b,add/c,add/d,add/e,add/f,add/g,add/h", "add/i,add/j"])
        self.assertEqual(list(self.said()), list(self.rungs))

    def test_runs_are_spread_over_the_gpus(self):
        """But not those that need several of them, each by itself, and not if somebody has
        chosen one."""
        self.rungs = {"add/a": {}}
        self.rungs |= {name: {"sizes": {"devices": 2}} for name in ("sum/a", "sum/b")}
        gpus = lambda: [line.split() for line in self.read("runs_on").splitlines()]
        self.sanitize(gpus=2)
        alone = [["alone", "add/a,sum/a,sum/b", "all"]]
        spread = [[tool, "add/a", str(i % 2)] for i, tool in enumerate(TOOL_NAMES)]
        shared = [[tool, f"sum/{name}", "all"] for name in "ab" for tool in TOOL_NAMES]
        self.assertEqual(gpus(), alone + spread + shared)
        self.sanitize(gpus=2, CUDA_VISIBLE_DEVICES="1")
        self.assertEqual({gpu for _, _, gpu in gpus()}, {"1"})

    def test_a_run_takes_its_share_of_the_cores(self):
        self.sanitize("--jobs", str(4 * (os.cpu_count() or 1)))
        shares = [line for line in self.read("runs_on").splitlines() if "workers" in line]
        together = ",".join(self.rungs)
        self.assertEqual(shares, [f"racecheck {together} 0 --racecheck-num-workers 1"])
        self.sanitize()
        self.assertNotIn("workers", self.read("runs_on"))

    def test_what_has_no_kernel_of_ours_is_no_rung(self):
        self.rungs |= {
            "add/loop": {"place": "cpu"},
            "add/cublas": {"kind": "peer"},
            "add/copy": {"kind": "yardstick"},
            "add/chosen": {"kind": "chooser"},
        }
        self.sanitize()
        expected = ["add/a", "add/b", "add/c", "add/d", "add/e", "add/chosen"]
        self.assertEqual(list(self.said()), expected)

    def test_what_cannot_run_here_says_why(self):
        self.rungs["add/c"] = {"status": "skipped", "reason": "needs sm_90, this is sm_80"}
        out = self.sanitize().stdout
        verdict = "not run: needs sm_90, this is sm_80"
        self.assertEqual(self.said()["add/c"], dict.fromkeys(TOOL_NAMES, verdict))
        self.assertIn(f"add/c: {verdict}\n", out)
        self.assertIn("memcheck: 4 clean, 1 not run", out)
        self.assertIn("memcheck --verify --only add/a,add/b,add/d,add/e --n 33", self.runs())

    def test_rungs_that_skip_some_sizes_get_others(self):
        self.write("01_add/bench.args", "sanitize: --n 9\nsanitize_65: --n 65\nsanitize_7: --n 7\n")
        self.rungs["add/c"] = {"skips": "9", "reason": "needs more than 9"}
        self.sanitize()
        self.assertEqual(self.said(), {name: CLEAN for name in self.rungs})
        self.assertEqual(self.report()["problems"]["01_add/add"]["arguments"], "--n 9; --n 65")
        runs = self.runs()
        again = ["alone --verify --only add/c --n 65"]
        again += [f"{tool} --verify --only add/c --n 65" for tool in TOOL_NAMES]
        self.assertEqual(runs[1:2] + runs[6:], again)

    def test_several_runs_at_a_time_say_the_same(self):
        self.rungs |= {"sum/a": {}, "sum/b": {}}
        self.found = {"memcheck": {"add/b": STRAY}, "initcheck": {"sum/a": UNWRITTEN}}
        self.sanitize(status=1)
        one = self.said()
        self.sanitize("--jobs", "4", status=1)
        self.assertEqual(self.said(), one)
        self.assertIn("flagged", one["sum/a"]["initcheck"])


class RaceOnPurpose(SanitizeCase):
    def setUp(self):
        super().setUp()
        self.rungs["wrong_on_purpose/racy"] = None  # no row: it is not judged

    def test_it_must_be_found(self):
        self.found = {"racecheck": {"wrong_on_purpose/racy": RACE}}
        result = self.sanitize()
        said = self.said()["wrong_on_purpose/racy"]
        self.assertRegex(said.pop("racecheck"), "^flagged on purpose: Error: Race reported")
        self.assertEqual(set(said.values()), {"clean"})
        self.assertEqual(result.stderr, "")

    def test_a_tool_that_misses_it_is_blind(self):
        out = self.sanitize(status=1).stdout
        expected = {**CLEAN, "racecheck": "not flagged"}
        self.assertEqual(self.said()["wrong_on_purpose/racy"], expected)
        self.assertIn("wrong_on_purpose/racy: not flagged (racecheck)", out)

    def test_nothing_else_is_allowed_to_it(self):
        race = {"wrong_on_purpose/racy": RACE}
        self.found = {"racecheck": race, "memcheck": {"wrong_on_purpose/racy": STRAY}}
        self.sanitize(status=1)
        self.assertIn("flagged: Inv", self.said()["wrong_on_purpose/racy"]["memcheck"])

    def test_no_other_race_is_on_purpose(self):
        self.found = {"racecheck": dict.fromkeys(["wrong_on_purpose/racy", "add/b"], RACE)}
        self.sanitize(status=1)
        self.assertIn("flagged: Error", self.said()["add/b"]["racecheck"])


class Simt(SanitizeCase):
    def said(self, chapter="01_add", device="simt"):
        return super().said(chapter, device)

    def test_without_a_gpu_simt_checks(self):
        self.sanitize(gpu=None)
        self.assertEqual(self.said(), {name: {"simt": "clean"} for name in self.rungs})
        self.assertEqual(self.report("simt")["device"], "simt")
        self.assertEqual(self.runs(), ["simt --verify --n 33"])

    def test_it_stands_in_for_two_gpus_or_as_many_as_asked_for(self):
        self.rungs |= {"sum/two": {"devices": 2}, "sum/three": {"devices": 3}}
        self.sanitize("--simt")
        self.assertEqual(self.said()["sum/two"], {"simt": "clean"})
        self.assertEqual(self.said()["sum/three"], {"simt": "not run: needs 3 GPUs"})
        self.sanitize("--simt", SIMT_DEVICES="3")
        self.assertEqual(self.said()["sum/three"], {"simt": "clean"})

    def test_it_can_be_asked_for(self):
        self.sanitize("--simt")
        self.assertEqual(self.report("simt")["tools"], ["simt"])

    def test_its_findings(self):
        self.rungs["wrong_on_purpose/racy"] = None
        self.found = {"simt": {"wrong_on_purpose/racy": SIMT_RACE}}
        self.sanitize(gpu=None)
        verdict = "flagged on purpose: race in racy_kernel at 02_racy.cuh:24"
        self.assertEqual(self.said()["wrong_on_purpose/racy"]["simt"], verdict)
        self.rungs["add/loop"] = {"place": "cpu"}
        self.rungs["add/e"] = {"status": "skipped", "reason": "needs a GPU"}
        self.found["simt"]["add/d"] = SIMT_RACE
        self.sanitize(gpu=None, status=1)
        verdict = "flagged: race in racy_kernel at 02_racy.cuh:24"
        self.assertEqual(self.said()["add/d"]["simt"], verdict)
        self.assertEqual(self.said()["add/c"]["simt"], "clean")
        self.assertEqual(self.said()["add/e"]["simt"], "not run: needs a GPU")
        self.assertNotIn("add/loop", self.said())

    def test_the_race_on_purpose_must_be_found_here_too(self):
        self.rungs["wrong_on_purpose/racy"] = None
        self.sanitize(gpu=None, status=1)
        self.assertEqual(self.said()["wrong_on_purpose/racy"]["simt"], "not flagged")
        self.assertEqual(self.said()["add/a"]["simt"], "clean")

    def test_a_program_built_without_checks_is_not_clean(self):
        self.sanitize(gpu=None, status=1, UNCHECKED="1")
        verdict = "failed: the tool did not say what it found"
        self.assertEqual(self.said()["add/a"]["simt"], verdict)

    def test_no_kernel_checked_is_not_clean(self):
        run = sanitize.Run(0, "", {}, {"errors": 0, "kernels_checked": 0, "reports": []})
        self.assertIsNone(sanitize.finding_of_simt(run))


class Report(SanitizeCase):
    def test_entries_of_other_chapters_stay(self):
        self.sanitize(chapters=())
        before = self.report()["problems"]
        self.assertEqual(list(before), ["01_add/add", "06_race/add"])
        self.sanitize(chapters=["06"], COMMIT="fedcba987654")
        after = self.report()["problems"]
        self.assertEqual(after["01_add/add"], before["01_add/add"])
        self.assertEqual(after["06_race/add"]["commit"], "fedcba987654")

    def test_entries_of_other_problems_stay_as_long_as_there_are_such(self):
        self.rungs = {"sum/a": {}, **self.rungs, "max/a": {}}
        self.sanitize()
        before = self.report()["problems"]
        self.assertEqual(list(before), ["01_add/sum", "01_add/add", "01_add/max"])
        del self.rungs["max/a"]
        self.sanitize("--only", "sum", COMMIT="fedcba987654")
        after = self.report()["problems"]
        self.assertEqual(list(after), ["01_add/sum", "01_add/add"])
        self.assertEqual(after["01_add/add"], before["01_add/add"])
        self.assertEqual(after["01_add/sum"]["commit"], "fedcba987654")
        self.assertEqual(self.runs()[0], "alone --verify --only sum/a --n 33")

    def test_changed_sources_are_checked_and_not_kept(self):
        for commit in ("0123456789ab-dirty", ""):
            out = self.sanitize(COMMIT=commit).stdout
            self.assertIn("01_add: 5 rungs", out)
            self.assertIn("Nothing is kept in results/sanitizer: ", out)
            self.assertFalse((self.root / "results").exists())

    def test_changed_sources_are_said(self):
        self.sanitize("--allow-dirty", COMMIT="0123456789ab-dirty")
        entry = self.report()["problems"]["01_add/add"]
        self.assertEqual(entry["commit"], "0123456789ab-dirty")

    def test_what_was_found_is_kept_too(self):
        self.found = {"memcheck": {"add/b": STRAY}}
        self.sanitize(status=1)
        self.assertIn("flagged", self.said()["add/b"]["memcheck"])

    def test_a_damaged_report_stays_as_it_is(self):
        for text in ("{", "[]", '{"device": "x"}', '{"device": 1, "tools": [], "problems": {}}'):
            path = self.write("results/sanitizer/nvidia_h200.json", text)
            error = self.sanitize(status=1).stderr
            self.assert_one_line(error, "is damaged and stays as it is")
            self.assertEqual(path.read_text(encoding="utf-8"), text)

    def test_a_chapter_that_cannot_run_does_not_stop_the_others(self):
        self.executable(self.root / "build/01_add/ladders", "echo gone; exit 3\n")
        error = self.sanitize(status=1, chapters=()).stderr
        self.assert_one_line(error, "build/01_add/ladders --list: exit code 3, no list")
        self.assertEqual(list(self.report()["problems"]), ["06_race/add"])


class Arguments(SanitizeCase):
    def test_missing_compute_sanitizer(self):
        self.fake("nvidia-smi", 'echo "GPU 0: NVIDIA H200"\n')
        command = ["sanitize.py", "--root", self.root, "--build", self.root]
        error = self.run_tool(*command, status=1, only_fakes=True).stderr
        self.assert_one_line(error, "compute-sanitizer is not on PATH")

    def test_bad_arguments(self):
        for words in (["--nosuch"], ["--jobs", "0"], ["--jobs", "x"], ["--within", "0"], ["09"]):
            error = self.sanitize(*words, status=2, chapters=()).stderr
            self.assert_one_line(error, "sanitize.py:")

    def test_a_problem_that_there_is_not(self):
        error = self.sanitize("--only", "add,nosuch", status=1).stderr
        self.assert_one_line(error, "sanitize.py: no problem nosuch")

    def test_a_missing_program(self):
        (self.root / "build/01_add/ladders").unlink()
        self.assert_one_line(self.sanitize(status=1).stderr, "no program of 01_add")


if __name__ == "__main__":
    unittest.main()
