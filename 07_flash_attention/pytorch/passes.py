"""Who takes part in the forward and in the backward pass, and who is right."""

import functools

import torch_bench
from pytorch import exact

LIBRARIES = ("cudnn", "flash_attention_2", "flash_attention_3")


def scaled_dot_product_attention(q, k, v, causal):
    from torch.nn import functional

    return functional.scaled_dot_product_attention(q, k, v, is_causal=causal)


class Forward:
    NAME, FLOPS = "attention", 4  # FLOPS: operations for each pair and element of a head
    NAMES = ("chosen", "cudnn", "lazy_rescale", *LIBRARIES[1:], "triton")
    OPTIONAL = ("flash_attention_3", "triton")
    RATIOS = {"over_cudnn": ("chosen", "cudnn"),
              "over_flash_attention_2": ("lazy_rescale", "flash_attention_2"),
              "over_triton": ("chosen", "triton")}
    OUTPUTS = ("o",)

    def __init__(self, torch, rungs, tensors, causal):
        self.torch, self.rungs, self.causal = torch, rungs, causal
        self.tensors = tensors[:3]

    def makers(self):
        """Name -> function that makes one who takes turns: a turn returns a tuple of OUTPUTS."""
        return {"chosen": functools.partial(self.rung, "chosen"),
                "lazy_rescale": functools.partial(self.rung, "lazy_rescale"),
                **{name: functools.partial(self.library, name) for name in LIBRARIES},
                "triton": self.triton}

    def rung(self, name):
        return torch_bench.repeated(
            lambda: self.rungs.forward(name, *self.tensors, self.causal)[:1])

    def library(self, name):
        return torch_bench.repeated(
            lambda: (scaled_dot_product_attention(*self.tensors, self.causal),),
            lambda: torch_bench.attention_of(name))

    def triton(self):
        from pytorch import triton_attention

        return torch_bench.repeated(
            lambda: (triton_attention.attention(self.torch, *self.tensors, self.causal),))


class Backward:
    NAME, FLOPS = "backward", 10
    RUNGS = ("chosen", "in_order", "mma", "square_tiles")
    NAMES = (RUNGS[0], "cudnn", *RUNGS[1:], *LIBRARIES[1:])
    OPTIONAL = ("flash_attention_3",)
    RATIOS = {"over_cudnn": ("chosen", "cudnn"),
              "over_flash_attention_2": ("square_tiles", "flash_attention_2"),
              "over_chosen": ("in_order", "chosen")}
    OUTPUTS = ("dq", "dk", "dv")

    def __init__(self, torch, rungs, tensors, causal):
        self.torch, self.rungs, self.causal = torch, rungs, causal
        self.tensors, self.d_o = tensors[:3], tensors[3]

    def makers(self):
        return {**{name: functools.partial(self.rung, name) for name in self.RUNGS},
                **{name: functools.partial(self.library, name) for name in LIBRARIES}}

    def rung(self, name):
        o, lse = self.rungs.forward("chosen", *self.tensors, self.causal)
        return torch_bench.repeated(lambda: self.rungs.backward(
            name, *self.tensors, o, lse, self.d_o, self.causal))

    def library(self, name):
        """The forward pass runs here, once; a turn goes back through what it has recorded."""
        inputs = [x.detach().requires_grad_() for x in self.tensors]
        with torch_bench.attention_of(name):
            o = scaled_dot_product_attention(*inputs, self.causal)
        d_o = self.torch.empty_like(o).copy_(self.d_o)  # in the order of O's elements, as it wants
        return torch_bench.repeated(
            lambda: self.torch.autograd.grad(o, inputs, d_o, retain_graph=True),
            lambda: torch_bench.attention_of(name))


def errors_of(torch, tensors, causal, kind, outputs):
    """Name -> the largest error of the first and the last head as a share of its bound, or the
    largest distance of a whole head from cuDNN's as a share of what it may be. Up to 1 is right."""
    dtype = tensors[0].dtype
    errors = dict.fromkeys(outputs, 0.0)
    for at in ((0, 0), (-1, -1)):
        q, k, v, d_o = (x[at] for x in tensors)
        known = exact.of_head(torch, q, k, v, causal, d_o if "dq" in kind.OUTPUTS else None)
        for name, output in outputs.items():
            shares = [torch_bench.share_of_bound(x[at], *known[key])
                      for key, x in zip(kind.OUTPUTS, output)]
            errors[name] = max(errors[name], *shares, key=torch_bench.badness)
    most = exact.CLOSE * torch.finfo(dtype).eps / 2
    for name, output in outputs.items():
        apart = [exact.distance(x, y) / most for x, y in zip(output, outputs["cudnn"])]
        errors[name] = max(errors[name], *apart, key=torch_bench.badness)
    return errors
