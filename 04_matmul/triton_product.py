"""A product in Triton, by the algorithm of its tutorial "Matrix Multiplication": a program a tile
of C, in an order for L2. Triton makes TMA, the ring of stages and wgmma of it.
"""

import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

# Rows and columns of a tile of C, its step along k, tile rows of a group, warps, stages: the
# fastest of those that were tried on an H200.
TILE = (128, 256, 64, 8, 8, 3)


@triton.jit
def product_kernel(a_tiles, b_tiles, c_tiles, m, n, k, kM: tl.constexpr, kN: tl.constexpr,
                   kK: tl.constexpr, kGroup: tl.constexpr):
    # Programs that run at the same time share a few tile rows of A and tile columns of B.
    tile_rows, tile_cols = tl.cdiv(m, kM), tl.cdiv(n, kN)
    of_group = kGroup * tile_cols
    first = tl.program_id(0) // of_group * kGroup
    in_group = tl.program_id(0) % of_group
    rows = min(tile_rows - first, kGroup)
    row, col = (first + in_group % rows) * kM, in_group // rows * kN
    sums = tl.zeros([kM, kN], tl.float32)
    for at in range(0, k, kK):
        sums = tl.dot(a_tiles.load([row, at]), b_tiles.load([at, col]), sums)
    c_tiles.store([row, col], sums.to(tl.bfloat16))


def product(torch, a, b):
    """A B in bf16; rows of a multiple of 16 bytes. TMA reads zeros past an edge, and stores nothing
    there."""
    (m, k), n = a.shape, b.shape[1]
    rows, cols, step, group, warps, stages = TILE
    c = torch.empty(m, n, device=a.device, dtype=a.dtype)
    a_tiles, b_tiles, c_tiles = (TensorDescriptor.from_tensor(x, shape) for x, shape in (
        (a, [rows, step]), (b, [step, cols]), (c, [rows, cols])))
    product_kernel[(triton.cdiv(m, rows) * triton.cdiv(n, cols),)](
        a_tiles, b_tiles, c_tiles, m, n, k, rows, cols, step, group, num_warps=warps,
        num_stages=stages)
    return c
