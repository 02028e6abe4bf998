"""Rungs inside PyTorch: a tiny transformer is trained with them, and at each step its gradients
are compared with those that PyTorch's own attention gives for the same weights."""

import math

import torch_bench
from pytorch import exact, passes

TOKENS, WIDTH, HEADS, LAYERS, BATCH, LENGTH = 61, 256, 4, 2, 3, 200


def attention_function(torch, rungs, rung="chosen", rung_back="chosen"):
    """attention(q, k, v, causal) of two rungs, as a function that PyTorch can differentiate."""

    class Attention(torch.autograd.Function):
        @staticmethod
        def forward(context, q, k, v, causal):
            q, k, v = (x.contiguous() for x in (q, k, v))
            o, lse = rungs.forward(rung, q, k, v, causal)
            context.save_for_backward(q, k, v, o, lse)
            context.causal = causal
            return o

        @staticmethod
        def backward(context, d_o):
            gradients = rungs.backward(
                rung_back, *context.saved_tensors, d_o.contiguous(), context.causal)
            return *gradients, None

    return Attention.apply


def transformer(torch, dtype):
    """A model(tokens, attention) that says what follows each token. Its attention is in 16 bits."""
    nn = torch.nn

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            # No bias: a bias of the keys adds the same to all scores of a query, and its gradient
            # is the rounding of a zero.
            self.to_qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
            self.from_o = nn.Linear(WIDTH, WIDTH)
            self.mlp = nn.Sequential(
                nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))

        def forward(self, x, attention):
            parts = self.to_qkv(self.before(x)).to(dtype).chunk(3, dim=2)
            q, k, v = (part.unflatten(2, (HEADS, -1)).transpose(1, 2) for part in parts)
            o = attention(q, k, v, True).transpose(1, 2).flatten(2).float()
            x = x + self.from_o(o)
            return x + self.mlp(self.between(x))

    class Transformer(nn.Module):
        def __init__(self):
            super().__init__()
            self.token, self.place = nn.Embedding(TOKENS, WIDTH), nn.Embedding(LENGTH, WIDTH)
            self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
            self.to_tokens = nn.Linear(WIDTH, TOKENS)

        def forward(self, tokens, attention):
            x = self.token(tokens) + self.place.weight
            for layer in self.layers:
                x = layer(x, attention)
            return self.to_tokens(x)

    return Transformer()


def train(torch, rungs, dtype, steps):
    """The loss at each step, and name -> how far that gradient was off at most, as a share of what
    it may be."""
    attention = attention_function(torch, rungs)
    model = transformer(torch, dtype).cuda()
    names, weights = zip(*model.named_parameters())
    optimizer = torch.optim.AdamW(weights, lr=3e-3)
    # Wanted after each token is the one before it, which only attention can see.
    tokens = torch.randint(TOKENS, (BATCH, LENGTH), device="cuda")
    wanted = tokens.roll(1, dims=1)
    may_be = exact.CLOSE * torch.finfo(dtype).eps / 2
    losses, shares = [], dict.fromkeys(names, 0.0)
    for _ in range(steps):
        found = []
        for of in (passes.scaled_dot_product_attention, attention):
            # A sum, for the gradients of a mean over all tokens are too small for fp16.
            loss = torch.nn.functional.cross_entropy(
                model(tokens, of).flatten(0, 1), wanted.flatten(), reduction="sum")
            found.append(torch.autograd.grad(loss, weights))
        losses.append(loss.item() / wanted.numel())
        for name, theirs, ours in zip(names, *found):
            share = ((ours - theirs).norm() / theirs.norm()).item() / may_be
            shares[name] = max(shares[name], share, key=torch_bench.badness)
        for weight, gradient in zip(weights, found[1]):
            weight.grad = gradient
        optimizer.step()
    return losses, shares


def verdict(losses, shares):
    """(whether it holds, a line that says so)"""
    name, share = max(shares.items(), key=lambda of: torch_bench.badness(of[1]))
    holds = not torch_bench.wrong_ones(shares)
    holds = holds and math.isfinite(losses[-1]) and losses[-1] < losses[0]
    line = (f"training: {len(losses)} steps, loss {losses[0]:.3f} to {losses[-1]:.3f}; gradients "
            f"differ from PyTorch's by at most {share:.2f} of their bound ({name})")
    return holds, line + ("" if holds else "   wrong")
