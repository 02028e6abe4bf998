"""What compare_prefill.py of chapter 07 says of lengths, pairs and errors, and how it calls the
rungs. Their kernels need a GPU."""

import argparse
import itertools
import math
import sys
import types
import unittest

from tool_case import REPOSITORY

import torch_bench

sys.path.insert(0, str(REPOSITORY / "07_flash_attention"))
from pytorch import compare_prefill  # noqa: E402


class Lengths(unittest.TestCase):
    def test_of_a_batch(self):
        self.assertEqual(compare_prefill.lengths_of("3x70"), [70, 70, 70])
        self.assertEqual(sum(compare_prefill.lengths_of("mix")), 16384)

    def test_pairs_are_those_that_are_seen(self):
        for window, causal in itertools.product((0, 1, 3, 100), (False, True)):
            count = 0
            for n in (1, 4, 9):
                for query, key in itertools.product(range(n), repeat=2):
                    hidden = causal and key > query or window and key <= query - window
                    count += not hidden
            with self.subTest(window=window, causal=causal):
                self.assertEqual(compare_prefill.pairs_of([1, 4, 9], window, causal), count)


class Calls(unittest.TestCase):
    def test_a_rung_gets_what_it_takes(self):
        source = compare_prefill.SOURCE.read_text(encoding="utf-8")
        _, wanted = torch_bench.declarations(source)["attention_prefill"]
        seen = []

        def function(*arguments):
            self.assertEqual(len(arguments), len(wanted))
            for argument, kind in zip(arguments, wanted):
                kind(argument)  # a TypeError if C cannot take it
            seen.append(arguments)
            return 0

        tensor = types.SimpleNamespace(is_contiguous=lambda: True, data_ptr=lambda: 7, shape=(12,))
        host = types.SimpleNamespace(is_contiguous=lambda: True, data_ptr=lambda: 8)
        batch = compare_prefill.Batch.__new__(compare_prefill.Batch)
        batch.__dict__.update(
            torch=types.SimpleNamespace(cuda=types.SimpleNamespace(
                current_stream=lambda: types.SimpleNamespace(cuda_stream=9))),
            function=function, lengths=[5, 7], window=3, causal=True, d=64, heads=4, kv_heads=2,
            q=tensor, k=tensor, v=tensor, o=tensor, lse=tensor, starts=tensor, host_starts=host)
        for name in ("grouped", "per_sequence"):
            self.assertIs(batch.rung(name)(), tensor)
        self.assertEqual(seen[0], (b"grouped", *[7] * 7, 2, 4, 2, 12, 12, 7, 64, 1, 3, 9))
        self.assertEqual(seen[1][6:8], (8, 8))  # starts in host memory


class Padding(unittest.TestCase):
    def test_rows_are_those_of_the_sequence(self):
        class Tensor:
            def __getitem__(self, key):
                return types.SimpleNamespace(transpose=lambda *_: key)

        padded = compare_prefill.Padded(Tensor(), [5, 2, 7])
        self.assertEqual(padded[slice(3, 5)], (0, slice(None), slice(3, 5)))
        self.assertEqual(padded[slice(5, 7)], (1, slice(None), slice(0, 2)))
        self.assertEqual(padded[slice(10, 14)], (2, slice(None), slice(3, 7)))


class Verdict(unittest.TestCase):
    def test_the_wrong_ones_are_named(self):
        errors = {"packed": 0.001, "windowed": 0.24, "grouped": math.nan, "cudnn": 0.001}
        self.assertEqual(compare_prefill.wrong_ones(errors, 2**-7), ["windowed", "grouped"])

    def test_a_wrong_rate_is_not_kept(self):
        row = {"median_ms": 0.5, "max_error": 0.01, "tflops": 600}
        rows = {"chosen": row, "packed": row, "cudnn": {**row, "median_ms": 0.25},
                "flash_attention_2": {**row, "median_ms": 1.0}}
        arguments = argparse.Namespace(no_mask=False, heads=4, kv_heads=2, d=64)
        point = compare_prefill.point_of("mix", 0, rows, ["packed"], arguments)
        self.assertEqual(point["over_library"], 0.5)  # the fastest of the libraries
        self.assertIsNone(point["packed"])
        self.assertIsNone(point["flex"])
        self.assertEqual(point["chosen"], 600)
        self.assertNotIn("packed", point["rows"])


if __name__ == "__main__":
    unittest.main()
