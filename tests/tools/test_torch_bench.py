"""What the comparisons with PyTorch share, with fakes in the places of PyTorch, nvcc and a GPU."""

import contextlib
import ctypes
import io
import json
import math
import os
import sys
import types
import unittest
from pathlib import Path
from unittest import mock

from tool_case import REPOSITORY, ToolCase

import torch_bench

sys.path.insert(0, str(REPOSITORY / "07_flash_attention"))
from pytorch import compare_pytorch, passes, rungs, training  # noqa: E402

INTERFACES = (
    "04_matmul/bf16",
    "07_flash_attention/attention_16bit",
    "07_flash_attention/backward",
    "07_flash_attention/decode",
    "07_flash_attention/prefill",
)


class Tensor:
    """As much of a tensor as a C function is told."""

    dtype, device = "float16", "cuda"

    def __init__(self, *shape, contiguous=True):
        self.shape, self.contiguous = shape, contiguous

    def is_contiguous(self):
        return self.contiguous

    def data_ptr(self):
        return id(self)


class Torch:
    """As much of PyTorch as launches and times: a CPU, whose clock is `now`, and a GPU that does
    one launch after the other. Milliseconds."""

    float16, uint8 = "float16", "uint8"
    __version__ = "2.11"
    version = types.SimpleNamespace(cuda="13.0")
    backends = types.SimpleNamespace(cudnn=types.SimpleNamespace(version=lambda: 91900))

    def __init__(self):
        self.now = self.busy_until = 0
        torch = self

        class Event:
            def __init__(self, enable_timing):
                self.at = None

            def record(self):
                self.at = max(torch.now, torch.busy_until)

            def query(self):
                return torch.now >= self.at

            def synchronize(self):
                torch.now = max(torch.now, self.at)

            def elapsed_time(self, end):
                return end.at - self.at

        self.cuda = types.SimpleNamespace(
            Event=Event,
            get_device_name=lambda: "a GPU",
            current_stream=lambda: types.SimpleNamespace(cuda_stream=7),
        )

    def launch(self, dispatch, ms):
        """Takes the CPU `dispatch` and then the GPU `ms`."""
        self.now += dispatch
        self.busy_until = max(self.now, self.busy_until) + ms

    def empty(self, *shape, **_):
        return Tensor(*(shape[0] if isinstance(shape[0], tuple) else shape))


class Declarations(unittest.TestCase):
    def test_types_come_from_the_source(self):
        source = """
            // extern "C" functions
            extern "C" int f(const char* rung, const void* q,
                             std::int64_t batch, float* o, int d) {}
            extern "C" std::int64_t g(int n) {}
            extern "C" std::int64_t h() {}
        """
        pointer = ctypes.c_void_p
        words = [ctypes.c_char_p, pointer, ctypes.c_int64, pointer, ctypes.c_int]
        found = torch_bench.declarations(source)
        self.assertEqual(found["f"], (ctypes.c_int, words))
        self.assertEqual(found["g"], (ctypes.c_int64, [ctypes.c_int]))
        self.assertEqual(found["h"], (ctypes.c_int64, []))

    def test_a_type_that_nobody_knows_is_refused(self):
        with self.assertRaisesRegex(ValueError, "double"):
            torch_bench.declarations('extern "C" int f(double x) {}')

    def test_every_interface_declares_functions(self):
        for folder in INTERFACES:
            with self.subTest(folder):
                source = (REPOSITORY / folder / "c_interface.cu").read_text(encoding="utf-8")
                self.assertTrue(torch_bench.declarations(source))


class Calls(unittest.TestCase):
    """A C function notices neither a missing argument nor one too many."""

    def setUp(self):
        self.calls = {}
        self.rungs = rungs.Rungs.__new__(rungs.Rungs)
        self.rungs.torch, self.rungs.functions = Torch(), {}
        for folder in INTERFACES[1:3]:
            source = (REPOSITORY / folder / "c_interface.cu").read_text(encoding="utf-8")
            for name, (_, wanted) in torch_bench.declarations(source).items():
                self.rungs.functions[name] = self.function(name, wanted, status=0)

    def function(self, name, wanted, status):
        def run(*arguments):
            self.assertEqual(len(arguments), len(wanted), name)
            for argument, kind in zip(arguments, wanted):
                kind(argument)  # a TypeError if C cannot take it
            self.calls[name] = arguments
            return status

        run.__name__ = name
        return run

    def test_rungs_are_called_as_they_are_declared(self):
        q, k, v, d_o = (Tensor(2, *shape, 64) for shape in ((8, 100), (4, 120), (4, 120), (8, 100)))
        o, lse = self.rungs.forward("chosen", q, k, v, True)
        self.assertEqual((o.shape, lse.shape), ((2, 8, 100, 64), (2, 8, 100)))
        rung, *pointers = self.calls["attention_forward"][:6]
        self.assertEqual((rung, pointers), (b"chosen", [id(x) for x in (q, k, v, o, lse)]))
        self.assertEqual(self.calls["attention_forward"][6:], (2, 8, 100, 120, 64, 1, 1, 7))
        gradients = self.rungs.backward("overlap", q, k, v, o, lse, d_o, False)
        self.assertEqual([x.shape for x in gradients], [q.shape, k.shape, k.shape])
        sizes = 2, 8, 4, 100, 120, 64
        self.assertEqual(self.calls["attention_backward_scratch"], (b"overlap", *sizes))
        rung, *pointers = self.calls["attention_backward"][:10]
        known = q, k, v, o, d_o, lse, *gradients
        self.assertEqual((rung, pointers), (b"overlap", [id(x) for x in known]))
        self.assertEqual(self.calls["attention_backward"][11:], (*sizes, 0, 1, 7))

    def test_a_function_that_fails_is_named(self):
        self.rungs.functions["attention_forward"] = self.function(
            "attention_forward", [ctypes.c_char_p, *[ctypes.c_void_p] * 13], status=1
        )
        q = Tensor(1, 1, 8, 64)
        with self.assertRaisesRegex(RuntimeError, "attention_forward failed"):
            self.rungs.forward("chosen", q, q, q, False)

    def test_a_tensor_with_strides_is_refused(self):
        q = Tensor(1, 1, 8, 64, contiguous=False)
        with self.assertRaisesRegex(ValueError, r"shape \(1, 1, 8, 64\) is not contiguous"):
            self.rungs.forward("chosen", q, q, q, False)


class Build(ToolCase):
    NVCC = 'echo >>"$0.calls"; exec g++ -x c++ -shared -fPIC "${@: -3:1}" -o "${@: -1}"'

    def build(self, nvcc=NVCC):
        source = self.write("rungs/c_interface.cu", 'extern "C" int twice(int n) { return 2 * n; }')
        self.fake("nvcc", nvcc)
        nvcc_of = mock.patch("cli.cuda_tool", lambda name: str(self.bin / name))
        with nvcc_of, mock.patch("torch_bench.ROOT", self.root):
            return torch_bench.build(self.root / "build", [source])

    def calls(self):
        return len((self.bin / "nvcc.calls").read_text().splitlines())

    def test_what_was_built_is_taken_until_a_source_changes(self):
        self.build()
        age = (self.root / "build/librungs.so").stat().st_mtime
        source = self.root / "rungs/c_interface.cu"
        for newer, expected in ((-1, 1), (1, 2)):
            with mock.patch.object(self, "write", lambda *_: source):
                os.utime(source, (age + newer, age + newer))
                self.build()
            self.assertEqual(self.calls(), expected)

    def test_functions_have_the_types_of_the_source(self):
        functions = self.build()
        self.assertEqual(functions["twice"](21), 42)
        with self.assertRaises(ctypes.ArgumentError):
            functions["twice"]("a text")

    def test_an_nvcc_that_fails_ends_it(self):
        with self.assertRaisesRegex(SystemExit, "nvcc failed"):
            self.build("exit 1")


class Turns(unittest.TestCase):
    def test_a_turn_launches_as_often_as_asked_in_one_context(self):
        seen = []

        @contextlib.contextmanager
        def context():
            seen.append("in")
            yield
            seen.append("out")

        turn = torch_bench.repeated(lambda: seen.append("run") or len(seen), context)
        self.assertEqual(turn(2), 3)
        self.assertEqual(seen, ["in", "run", "run", "out"])

    def times_of(self, contenders, seconds=(0.02,), rounds=(4,), in_long=None):
        """contenders: name -> what a turn, a launch takes the CPU, and a launch the GPU. Their
        times, and how many launches each turn had."""
        torch, launched = Torch(), {name: [] for name in contenders}

        def taker(name, begin, dispatch, ms):
            @contextlib.contextmanager
            def context():
                torch.now += begin
                yield

            turn = torch_bench.repeated(lambda: torch.launch(dispatch, ms), context)
            return lambda launches, *more: launched[name].append(launches) or turn(launches, *more)

        turns = {name: taker(name, *costs) for name, costs in contenders.items()}
        with mock.patch("torch_bench.time.perf_counter", lambda: torch.now / 1e3):
            times = torch_bench.take_turns(torch, turns, list(seconds), list(rounds), in_long)
        return times, launched

    def test_times_are_those_of_a_launch_without_the_warm_up(self):
        times, _ = self.times_of({"ours": (0, 0, 2), "theirs": (0, 1, 3)})
        self.assertEqual(times, {"ours": [[2] * 4], "theirs": [[3] * 4]})

    def test_dispatch_is_not_counted(self):
        slow_to_begin, slow_to_launch = (9, 0.5, 2), (0, 1.5, 2)
        for seconds in (0.002, 0.02, 0.3):
            times, _ = self.times_of({"a": slow_to_begin, "b": slow_to_launch}, [seconds])
            for name in "ab":
                self.assertEqual(len(times[name][0]), 4)
                for ms in times[name][0]:
                    self.assertAlmostEqual(ms, 2)

    def test_who_always_keeps_the_gpu_waiting_has_no_time(self):
        times, _ = self.times_of({"ours": (0, 0, 2), "slow": (0, 3, 2), "late": (999, 0, 2)})
        rows, skipped = torch_bench.rows_of(times)
        self.assertEqual(list(rows), ["ours"])
        self.assertEqual(list(skipped), ["slow", "late"])

    def test_turns_are_as_long_as_asked_and_the_long_ones_for_some_only(self):
        costs = {"light": (0, 0, 1), "heavy": (0, 0, 4)}
        times, launched = self.times_of(costs, (0.02, 0.3), (3, 2), in_long=["heavy"])
        self.assertEqual(times, {"light": [[1] * 3, []], "heavy": [[4] * 3, [4] * 2]})
        self.assertEqual(max(launched["light"]), 20)
        self.assertEqual(max(launched["heavy"]), 75)

    def test_of_its_times_a_row_has_the_median_and_the_ends(self):
        rows, _ = torch_bench.rows_of({"ours": [[40, 10, 20], [30, 50]], "mma": [[8], []]}, 10)
        self.assertEqual(
            rows,
            {
                "ours": {"median_ms": 2, "min_ms": 1, "max_ms": 4, "long_median_ms": 4},
                "mma": {"median_ms": 0.8, "min_ms": 0.8, "max_ms": 0.8},
            },
        )

    def test_of_short_and_long_turns_the_smaller_ratio_counts(self):
        ours, mma = {"median_ms": 2, "long_median_ms": 4}, {"median_ms": 1}
        ratio = lambda theirs: torch_bench.ratio({"a": ours, "b": theirs, "mma": mma}, "a", "b")
        self.assertEqual(ratio({"median_ms": 4, "long_median_ms": 6}), 1.5)
        self.assertEqual(ratio({"median_ms": 3, "long_median_ms": 8}), 1.5)
        self.assertEqual(ratio(mma), 0.5)
        self.assertIsNone(torch_bench.ratio({"a": ours}, "a", "b"))

    def test_a_graph_goes_through_all_copies_and_returns_what_the_first_gave(self):
        log = []
        graph = types.SimpleNamespace(replay=lambda: log.append("replay"))
        torch = types.SimpleNamespace(cuda=types.SimpleNamespace(
            synchronize=lambda: log.append("capture"), CUDAGraph=lambda: graph,
            graph=lambda _: contextlib.nullcontext()))
        run = lambda copy: log.append(copy) or f"result {copy}"
        turn = torch_bench.graph_of(torch, run, ["a", "b"], launches=3)
        self.assertEqual(log, ["a", "b", "capture", "a", "b", "a"])
        self.assertEqual(turn(2), "result a")
        self.assertEqual(log[6:], ["replay", "replay"])

    def test_an_optional_one_is_skipped_with_the_reason(self):
        def lacks_a_module():
            raise ModuleNotFoundError("No module named 'flash_attn_interface'\nmore")

        makers = {"ours": lambda: lambda: "o", "fa3": lacks_a_module}
        turns, outputs, skipped = torch_bench.first_results(makers, optional=("fa3",))
        self.assertEqual(list(turns), ["ours"])
        self.assertEqual(outputs, {"ours": "o"})
        self.assertEqual(skipped, {"fa3": "No module named 'flash_attn_interface'"})

    def test_one_who_must_take_part_is_not_skipped(self):
        def fails():
            raise RuntimeError("wrong shape")

        with self.assertRaisesRegex(RuntimeError, "wrong shape"):
            torch_bench.first_results({"cudnn": lambda: fails}, optional=("fa3",))


class Verdicts(unittest.TestCase):
    def test_nan_is_wrong(self):
        self.assertTrue(math.isnan(max(0.5, math.nan, 2, key=torch_bench.badness)))
        errors = {"ours": 1.0, "theirs": 1.01, "broken": math.nan}
        self.assertEqual(torch_bench.wrong_ones(errors), ["theirs", "broken"])

    def test_a_wrong_rate_is_not_kept(self):
        row = {"median_ms": 0.5, "tflops": 400.0, "error_of_bound": 0.25}
        rows = dict.fromkeys(passes.Backward.NAMES[:5], row)
        ours, _ = passes.Backward.RATIOS["over_cudnn"]
        rows[ours] = {**row, "median_ms": 0.25}
        point = compare_pytorch.point_of(
            {"d": 64, "n": 8, "causal": 0, "rows": rows, "wrong": ["mma"]}, passes.Backward
        )
        self.assertEqual(point["over_cudnn"], 2)
        self.assertEqual((point[ours], point[f"{ours}_error"]), (400, 0.25))
        self.assertIsNone(point["mma"])
        self.assertIsNone(point["mma_error"])
        self.assertIsNone(point["over_flash_attention_2"])
        self.assertIsNone(point["flash_attention_3"])
        self.assertNotIn("mma", point["rows"])
        line = compare_pytorch.line_of(point, (*passes.Backward.NAMES, *passes.Backward.RATIOS))
        self.assertIn(" - ", line)
        self.assertTrue(line.endswith("wrong: mma"))

    def test_training_holds_if_gradients_are_equal_and_the_loss_falls(self):
        for losses, share, expected in (
            ([4.0, 3.0], 0.5, True),
            ([4.0, 3.0], 1.5, False),
            ([4.0, 3.0], math.nan, False),
            ([3.0, 4.0], 0.5, False),
            ([4.0, math.nan], 0.5, False),
        ):
            with self.subTest(losses=losses, share=share):
                holds, line = training.verdict(losses, {"token": 0.1, "to_qkv": share})
                self.assertEqual(holds, expected)
                self.assertEqual(line.endswith("wrong"), not expected)
                self.assertIn("to_qkv", line)


class Results(ToolCase):
    def facts(self, commit):
        argv = ["compare_pytorch.py", "--only", "backward", "--json", "x.json", "--build=b"]
        with mock.patch("bench.commit_of", lambda root: commit), mock.patch.object(
            sys, "argv", argv
        ), mock.patch("torch_bench.driver", lambda: "580.1"):
            return torch_bench.facts_of(Torch(), [{"sweep": "shape", "points": [{"d": 64}]}], {})

    def test_they_say_what_was_measured_of_which_commit(self):
        facts = self.facts("abc123")
        self.assertEqual(facts["commit"], "abc123")
        self.assertEqual(facts["driver"], "580.1")
        self.assertIn("-gencode=arch=compute_90a", facts["flags"])
        self.assertEqual(facts["arguments"], "--only backward")
        self.assertRegex(facts["date"], r"^\d{4}-\d\d-\d\dT")
        self.assertNotIn("dirty", facts)

    def test_changed_sources_are_marked(self):
        self.assertTrue(self.facts("abc123-dirty")["dirty"])
        self.assertTrue(self.facts("")["dirty"])

    def test_they_stand_beside_those_of_other_programs(self):
        path = self.root / "results.json"
        for program, commit, *part in (
            ("07/a.py", "1"),
            ("07/pytorch/b.py", "1"),
            ("07/a.py", "2"),
            ("07/a.py", "3", "backward"),
        ):
            with mock.patch.object(sys, "argv", [program]):
                facts = {**self.facts(commit), "program": Path(program).name}
                torch_bench.save(path, facts, *part)
        runs = json.loads(path.read_text())["runs"]
        self.assertEqual({name: run["commit"] for name, run in runs.items()},
                         {"07/a": "2", "07/a_backward": "3", "07/b": "1"})


class Arguments(unittest.TestCase):
    def status_of(self, *arguments):
        error = io.StringIO()
        with mock.patch.object(sys, "argv", ["compare_pytorch.py", *arguments]):
            with contextlib.redirect_stderr(error), self.assertRaises(SystemExit) as ended:
                compare_pytorch.parse_arguments()
        self.assertEqual(len(error.getvalue().splitlines()), 1, error.getvalue())
        return ended.exception.code

    def test_wrong_ones_are_one_line(self):
        for arguments in (["--d", "32"], ["--n", "0"], ["--only", "sideways"],
                          ["--seconds", "0,1"], ["--seconds", "1"], ["--rounds", "0,1"]):
            with self.subTest(arguments):
                self.assertEqual(self.status_of(*arguments), 2)


if __name__ == "__main__":
    unittest.main()
