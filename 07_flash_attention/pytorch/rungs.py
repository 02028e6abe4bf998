"""The rungs of this chapter as functions of PyTorch's tensors, dense [batch, heads, n, d] each."""

import torch_bench

CHAPTER = torch_bench.ROOT / "07_flash_attention"


class Rungs:
    def __init__(self, torch, folder):
        self.torch = torch
        self.functions = torch_bench.build(
            folder,
            [CHAPTER / name / "c_interface.cu" for name in ("attention_16bit", "backward")])

    def forward(self, rung, q, k, v, causal):
        """O and the log-sum-exp."""
        torch, (batch, heads, n, d) = self.torch, q.shape
        o = torch.empty(q.shape, device=q.device, dtype=q.dtype)
        lse = torch.empty(batch, heads, n, device=q.device)
        torch_bench.call(
            torch, self.functions["attention_forward"], rung.encode(),
            *map(torch_bench.address, (q, k, v, o, lse)), batch, heads, n, k.shape[2], d,
            int(causal), int(q.dtype == torch.float16))
        return o, lse

    def backward(self, rung, q, k, v, o, lse, d_o, causal):
        """dQ, dK and dV."""
        torch, (batch, heads, n, d) = self.torch, q.shape
        sizes = batch, heads, k.shape[1], n, k.shape[2], d
        wanted = self.functions["attention_backward_scratch"](rung.encode(), *sizes)
        if wanted < 0:
            raise RuntimeError("attention_backward_scratch failed")
        scratch = torch.empty(wanted, device=q.device, dtype=torch.uint8)
        gradients = [torch.empty(x.shape, device=x.device, dtype=x.dtype) for x in (q, k, v)]
        torch_bench.call(
            torch, self.functions["attention_backward"], rung.encode(),
            *map(torch_bench.address, (q, k, v, o, d_o, lse, *gradients, scratch)), *sizes,
            int(causal), int(q.dtype == torch.float16))
        return tuple(gradients)
