"""Whom chapter 04's compare_product.py lets take part, and who is wrong. Kernels need a GPU."""

import contextlib
import math
import sys
import types
import unittest

from tool_case import REPOSITORY

import torch_bench

sys.path.insert(0, str(REPOSITORY / "04_matmul"))
import compare_product  # noqa: E402

SHAPE = (30, 20, 10)


class Matrix:
    dtype = "bf16"

    def __init__(self, *shape):
        self.shape = shape

    def is_contiguous(self):
        return True

    def data_ptr(self):
        return id(self)


class Torch:
    """Graphs that are captured at once, and an option of cuBLAS."""

    uint8 = "uint8"

    def __init__(self):
        self.options = types.SimpleNamespace(allow_bf16_reduced_precision_reduction=True)
        self.backends = types.SimpleNamespace(cuda=types.SimpleNamespace(matmul=self.options))
        self.cuda = types.SimpleNamespace(
            synchronize=lambda: None,
            CUDAGraph=lambda: types.SimpleNamespace(replay=lambda: None),
            graph=lambda _: contextlib.nullcontext(),
            current_stream=lambda: types.SimpleNamespace(cuda_stream=7),
        )

    def empty(self, *shape, **_):
        return Matrix(*shape)

    def mm(self, a, b):
        return "parts in bf16" if self.options.allow_bf16_reduced_precision_reduction else "exact"


class Contenders(unittest.TestCase):
    def makers(self, m, n, k):
        interface = REPOSITORY / "04_matmul/bf16/c_interface.cu"
        self.wanted = torch_bench.declarations(interface.read_text(encoding="utf-8"))
        self.calls, self.torch = [], Torch()

        def bf16_gemm(*arguments):
            self.calls.append(arguments)
            return 0

        def bf16_gemm_scratch(*sizes):
            self.assertEqual(sizes, (m, n, k))
            return 5

        self.copies = [(Matrix(m, k), Matrix(k, n)) for _ in range(2)]
        library = {"bf16_gemm": bf16_gemm, "bf16_gemm_scratch": bf16_gemm_scratch}
        return compare_product.makers(self.torch, library, self.copies)

    def test_the_rung_is_called_as_it_is_declared(self):
        c = self.makers(*SHAPE)["chosen"]()()
        self.assertEqual(c.shape, (30, 20))
        arguments, (_, kinds) = self.calls[0], self.wanted["bf16_gemm"]
        self.assertEqual(len(arguments), len(kinds))
        for argument, kind in zip(arguments, kinds):
            kind(argument)  # a TypeError if C cannot take it
        self.assertEqual(arguments[:3], tuple(map(id, (*self.copies[0], c))))
        self.assertEqual(arguments[4:], (*SHAPE, 7))
        self.assertEqual(len(self.calls), 4)  # twice through both copies

    def test_cublas_runs_as_it_comes_and_exact(self):
        makers = self.makers(*SHAPE)
        self.assertEqual(makers["cublas_exact"]()(), "exact")
        self.assertEqual(makers["cublas"]()(), "parts in bf16")

    def test_triton_takes_part_where_tma_takes_rows(self):
        self.assertIn("triton", self.makers(32, 64, 8))
        self.assertNotIn("triton", self.makers(32, 20, 8))


class Points(unittest.TestCase):
    def point(self, **errors):
        rows = {name: {"median_ms": 1.0} for name in errors}
        rows["cublas"] = {"median_ms": 3.0, "long_median_ms": 2.0}
        rows["chosen"] = {"median_ms": 1.0, "long_median_ms": 1.0}
        return compare_product.point_of((1000, 1000, 500), rows, errors)

    def test_an_error_of_the_default_mode_is_shown_and_not_judged(self):
        point = self.point(chosen=0.5, cublas=7.5, cublas_exact=0.5)
        self.assertEqual(point["wrong"], [])
        self.assertEqual((point["chosen"], point["cublas_error"]), (1, 7.5))
        self.assertEqual((point["over_cublas"], point["over_cublas_exact"]), (2, 1))
        self.assertIsNone(point["over_triton"])

    def test_a_wrong_rate_is_not_kept(self):
        for share in (1.01, math.nan):
            point = self.point(chosen=share, cublas=0.5, cublas_exact=0.5)
            self.assertEqual(point["wrong"], ["chosen"])
            for key in ("chosen", "chosen_error", "over_cublas"):
                self.assertIsNone(point[key])
            self.assertNotIn("chosen", point["rows"])
        self.assertEqual(self.point(chosen=0.5, cublas=1, cublas_exact=2)["wrong"],
                         ["cublas_exact"])


if __name__ == "__main__":
    unittest.main()
