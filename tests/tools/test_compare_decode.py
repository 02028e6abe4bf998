"""What compare_decode.py of chapter 07 says of tensors and errors. Its kernels need a GPU."""

import importlib.util
import math
import sys
import unittest

from tool_case import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "07_flash_attention"))
from pytorch import compare_decode  # noqa: E402


class Pages(unittest.TestCase):
    def setUp(self):
        if importlib.util.find_spec("torch") is None:
            self.skipTest("needs PyTorch")

    def test_every_token_lies_where_the_table_says(self):
        import torch

        for batch, heads, n, page in ((1, 3, 40, 16), (2, 3, 40, 16), (3, 1, 5, 1), (1, 1, 3, 8)):
            with self.subTest(batch=batch, heads=heads, n=n, page=page):
                cache = [torch.randn(batch, heads, n, 4) for _ in range(2)]
                pages, table = compare_decode.in_pages(torch, cache, page)
                for tensor, paged in zip(cache, pages):
                    # As the kernels count: from the address on.
                    flat = torch.as_strided(paged, (paged.numel() // 4, 4), (4, 1))
                    for s in range(batch):
                        for head in range(heads):
                            for i in range(n):
                                row = (int(table[s, i // page]) * heads + head) * page + i % page
                                self.assertTrue(torch.equal(flat[row], tensor[s, head, i]))


class Verdict(unittest.TestCase):
    def test_the_wrong_ones_are_named(self):
        errors = {"tensor": 0.001, "paged": 0.24, "chosen": math.nan, "cudnn": 0.001}
        self.assertEqual(compare_decode.wrong_ones(errors, 2**-8), ["paged", "chosen"])

    def test_a_wrong_time_is_not_kept(self):
        names = ("tensor", "paged", "chosen", "cudnn", "flash_attention_2")
        row = {"median_ms": 0.5, "max_error": 0.01}
        rows = dict.fromkeys(names, row) | {"cudnn": {**row, "median_ms": 0.25}}
        point = compare_decode.point_of({"batch": 1, "n": 8, "wrong": ["paged"], "rows": rows})
        self.assertEqual(point["over_library"], 0.5)
        self.assertIsNone(point["paged"])
        self.assertEqual(point["tensor"], 500)
        self.assertEqual(point["tensor_error"], 0.01)
        self.assertNotIn("paged", point["rows"])
        self.assertEqual(point["wrong"], ["paged"])


if __name__ == "__main__":
    unittest.main()
