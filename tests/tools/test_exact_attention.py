"""The exact gradients that compare_pytorch.py of chapter 07 judges by, and their bounds."""

import importlib.util
import sys
import unittest

from tool_case import REPOSITORY

import torch_bench  # noqa: E402

sys.path.insert(0, str(REPOSITORY / "07_flash_attention"))
from pytorch import exact  # noqa: E402


@unittest.skipIf(importlib.util.find_spec("torch") is None, "needs PyTorch")
class Gradients(unittest.TestCase):
    N, D = 70, 64

    def setUp(self):
        import torch

        torch.manual_seed(1)
        self.torch = torch
        self.inputs = [torch.randn(self.N, self.D).bfloat16() for _ in range(4)]

    def known(self, causal):
        q, k, v, d_o = self.inputs
        return exact.of_head(self.torch, q, k, v, causal, d_o)

    def by_autograd(self, causal, keys=None):
        """o, dq, dk, dv as PyTorch derives them, in double; of the first `keys` keys alone."""
        torch = self.torch
        q, k, v = (x.double().requires_grad_() for x in self.inputs[:3])
        scores = q @ k.T / self.D**0.5
        if causal:
            scores = scores + torch.full((self.N, self.N), -torch.inf).triu(1)
        if keys is not None:
            scores = scores + torch.full((self.N,), -torch.inf).where(
                torch.arange(self.N) >= keys, 0.0
            )
        o = scores.softmax(1) @ v
        return dict(
            zip(
                ("o", "dq", "dk", "dv"),
                (o, *torch.autograd.grad(o, (q, k, v), self.inputs[3].double())),
            )
        )

    def test_they_are_those_that_autograd_finds(self):
        for causal in (False, True):
            known = self.known(causal)
            for name, expected in self.by_autograd(causal).items():
                with self.subTest(name=name, causal=causal):
                    off = (known[name][0] - expected).abs().max().item()
                    self.assertLess(off, 1e-12)

    def test_rounding_to_16_bits_is_within_the_bounds(self):
        for causal in (False, True):
            known = self.known(causal)
            for name, expected in self.by_autograd(causal).items():
                with self.subTest(name=name, causal=causal):
                    share = torch_bench.share_of_bound(expected.detach().bfloat16(), *known[name])
                    self.assertLessEqual(share, 1)

    def test_a_missing_key_is_not(self):
        known = self.known(False)
        for name, wrong in self.by_autograd(False, keys=self.N - 1).items():
            with self.subTest(name):
                self.assertGreater(torch_bench.share_of_bound(wrong.detach(), *known[name]), 1)

    def test_a_missing_head_is_far_away(self):
        whole = self.torch.randn(2, 3, 8, 4)
        broken = whole.clone()
        broken[1, 2] = 0
        self.assertEqual(exact.distance(whole, whole), 0)
        self.assertEqual(exact.distance(broken, whole), 1)


if __name__ == "__main__":
    unittest.main()
