"""Attention and its gradients in double precision, and how far those in 16 bits may be off.

The bounds are those of backward/reference.hpp, and for the same reasons, with one more: here O is
an output of whoever is judged, rounded to 16 bits, so D = rowsum(dO O) is off by that.
"""

import math

from torch_bench import FP32_UNIT, DEVIATIONS, rounding_of_sum

CLOSE = 8  # roundings to 16 bits that two right results may differ by, as norms of a whole head


class Bounds:
    """Sums over pairs of queries and keys for one element type."""

    def __init__(self, torch, dtype, d):
        facts = torch.finfo(dtype)
        self.torch, self.unit = torch, facts.eps / 2  # the rounding of a 16-bit number
        self.tiny = facts.smallest_normal * self.unit  # that of one near zero
        self.of_dot = rounding_of_sum(d) + 4 * FP32_UNIT

    def product(self, weights, off, factors):
        """weights @ factors, and how far it may be off if weights are off by `off` and then
        rounded to 16 bits, as tensor cores take them."""
        torch, sizes = self.torch, factors.abs()
        value, size = weights @ factors, weights.abs() @ sizes
        rounded = torch.minimum(size, DEVIATIONS * (weights**2 @ factors**2).sqrt()) * self.unit
        in_sum = (rounding_of_sum(weights.shape[1]) + 8 * FP32_UNIT) * size
        return value, (off + self.tiny) @ sizes + in_sum + rounded

    def stored(self, value, off, scale=1):
        """The product times `scale`, rounded to 16 bits."""
        value, off = scale * value, scale * off
        return value, off + self.unit * (value.abs() + off) + self.tiny


def of_head(torch, q, k, v, causal, d_o=None):
    """Name -> (values, bounds) for o and, with d_o, for dq, dk and dv of one head: [n, d] each."""
    bounds, scale = Bounds(torch, q.dtype, q.shape[1]), q.shape[1] ** -0.5
    q, k, v = (x.double() for x in (q, k, v))
    scores = q @ k.T * scale
    if causal:
        scores.masked_fill_(torch.ones_like(scores, dtype=torch.bool).triu(1), -math.inf)
    lse = scores.logsumexp(1, keepdim=True)
    longest = q.norm(dim=1).max() * k.norm(dim=1).max()
    score_off = scale * longest * bounds.of_dot + 4 * FP32_UNIT * lse.abs().max()
    relative = score_off.expm1() + 4 * FP32_UNIT
    p = (scores - lse).exp()
    del scores
    o, o_off = bounds.product(p, relative * p, v)
    found = {"o": bounds.stored(o, o_off)}
    if d_o is None:
        return found
    d_o = d_o.double()
    mean = (d_o * o).sum(1, keepdim=True)
    mean_off = DEVIATIONS * bounds.unit * ((d_o * o) ** 2).sum(1, keepdim=True).sqrt()
    reach = v.norm(dim=1).max() + o.norm(dim=1, keepdim=True)
    mean_off += d_o.norm(dim=1, keepdim=True) * reach * bounds.of_dot
    ds = p * (d_o @ v.T - mean)
    ds_off = relative * ds.abs() + (1 + relative) * mean_off * p
    found["dq"] = bounds.stored(*bounds.product(ds, ds_off, k), scale)
    found["dk"] = bounds.stored(*bounds.product(ds.T, ds_off.T, q), scale)
    found["dv"] = bounds.stored(*bounds.product(p.T, relative * p.T, d_o))
    return found


def distance(actual, other):
    """How far two tensors [batch, heads, n, d] are apart, as a share: in the worst head."""
    of_heads = (actual.float() - other.float()).norm(dim=(2, 3)) / other.float().norm(dim=(2, 3))
    return of_heads.max().item()
