"""Attention in Triton, by the algorithm of its tutorial "Fused Attention": a program a tile of
queries, which goes through the tiles of keys. Triton makes TMA, the ring of stages and wgmma of it.
"""

import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

# d -> queries and keys of a tile, warps, stages: the fastest of those that were tried on an H200.
TILES = {64: (128, 128, 4, 3), 128: (128, 128, 8, 3), 256: (128, 64, 8, 2)}


@triton.jit
def add_keys(o, total, largest, q, k_tiles, v_tiles, at, scale, first_row, key,
             kMasked: tl.constexpr, kRows: tl.constexpr, kKeys: tl.constexpr):
    """One step of the online softmax, in base 2: the keys of a tile, with their values."""
    scores = tl.dot(q, k_tiles.load([at, 0]).T)
    if kMasked:
        rows = first_row + tl.arange(0, kRows)
        keys = key + tl.arange(0, kKeys)
        scores = tl.where(rows[:, None] >= keys[None, :], scores, float("-inf"))
    grown = tl.maximum(largest, scale * tl.max(scores, 1))
    p = tl.exp2(scale * scores - grown[:, None])
    shrink = tl.exp2(largest - grown)
    v = v_tiles.load([at, 0])
    o = tl.dot(p.to(v.dtype), v, o * shrink[:, None])
    return o, total * shrink + tl.sum(p, 1), grown


@triton.jit
def attention_kernel(q_tiles, k_tiles, v_tiles, o_tiles, n, scale, kCausal: tl.constexpr,
                     kRows: tl.constexpr, kKeys: tl.constexpr, kD: tl.constexpr):
    tl.static_assert(kRows % kKeys == 0, "the mask cuts whole tiles of keys")
    first_row = tl.program_id(0) * kRows
    head = tl.program_id(1) * n  # its first row among those of all heads
    q = q_tiles.load([head + first_row, 0])
    o = tl.zeros([kRows, kD], tl.float32)
    total = tl.zeros([kRows], tl.float32)
    largest = tl.full([kRows], float("-inf"), tl.float32)
    # First the keys that all queries of the tile see, then those that the mask cuts.
    seen_by_all = first_row if kCausal else n
    for key in range(0, seen_by_all, kKeys):
        o, total, largest = add_keys(o, total, largest, q, k_tiles, v_tiles, head + key, scale,
                                     first_row, key, False, kRows, kKeys)
    if kCausal:
        for key in range(first_row, first_row + kRows, kKeys):
            o, total, largest = add_keys(o, total, largest, q, k_tiles, v_tiles, head + key, scale,
                                         first_row, key, True, kRows, kKeys)
    o_tiles.store([head + first_row, 0], (o / total[:, None]).to(q.dtype))


def attention(torch, q, k, v, causal):
    """O. As many queries as keys; ValueError if their tiles do not fill a head."""
    batch, heads, n, d = q.shape
    rows, keys, warps, stages = TILES[d]
    if n % rows:
        raise ValueError(f"this kernel in Triton needs a multiple of {rows} tokens")
    o = torch.empty_like(q)

    def tiles(x, height):
        return TensorDescriptor.from_tensor(x.view(-1, d), [height, d])

    attention_kernel[n // rows, batch * heads](
        tiles(q, rows), tiles(k, keys), tiles(v, keys), tiles(o, rows), n, d**-0.5 * 1.44269504,
        causal, rows, keys, d, num_warps=warps, num_stages=stages)
    return o
