// The rungs that only Hopper understands (wgmma, TMA), in reading order. B as k x n or, if
// kTransposedB, as n x k.
#pragma once

#include <cstddef>
#include <vector>

#include "04_matmul/bf16/07_wgmma.cuh"
#include "04_matmul/bf16/08_ring.cuh"
#include "04_matmul/bf16/09_large_tile.cuh"
#include "04_matmul/bf16/10_persistent.cuh"
#include "04_matmul/bf16/11_multicast.cuh"
#include "04_matmul/bf16/12_async_store.cuh"
#include "04_matmul/bf16/13_early_start.cuh"
#include "04_matmul/bf16/14_by_shape.cuh"
#include "04_matmul/bf16/15_split_sum.cuh"
#include "04_matmul/bf16/16_narrow_edge.cuh"
#include "04_matmul/bf16/17_shared_round.cuh"
#include "04_matmul/bf16/18_even_rounds.cuh"
#include "04_matmul/bf16/problem.cuh"
#include "04_matmul/bf16/rung.cuh"
#include "common/library_scratch.cuh"
#include "common/variant.cuh"

template <bool kTransposedB>
std::vector<common::Variant<Bf16Gemm<kTransposedB>>> bf16_gemm_hopper_variants() {
  const common::Needs hopper = common::needs_exactly_sm(90);
  const auto rung = [&](const char* name, const char* idea, auto run) {
    return bf16_gemm_rung<kTransposedB>(name, idea, run, hopper);
  };
  const auto with_pieces = [](auto multiply) {
    return [multiply, scratch = common::LibraryScratch()](
               const bf16* a, const bf16* b, bf16* c, int m, int n, int k, cudaStream_t stream) {
      scratch(kBytesOfPieces, [&](void* memory, std::size_t& bytes) {
        bytes = kBytesOfPieces;
        if (memory == nullptr) return;
        multiply(a, b, c, m, n, k, static_cast<float4*>(memory), stream);
      });
    };
  };
  return {
      rung("wgmma", "four warps multiply from shared memory, TMA loads (sm_90a)",
           bf16_gemm_wgmma<kTransposedB>),
      rung("ring", "one warpgroup loads, two multiply, four buffers between (sm_90a)",
           bf16_gemm_ring<kTransposedB>),
      rung("large_tile", "128 x 256 a block, registers moved to the multipliers (sm_90a)",
           bf16_gemm_large_tile<kTransposedB>),
      rung("persistent", "a block an SM takes tile after tile, in an order for L2 (sm_90a)",
           bf16_gemm_persistent<kTransposedB>),
      rung("multicast", "two blocks load what both need once (sm_90a)",
           bf16_gemm_multicast<kTransposedB>),
      rung("async_store", "C through shared memory, stored by TMA (sm_90a)",
           bf16_gemm_async_store<kTransposedB>),
      rung("early_start", "gets ready while the launch before ends (sm_90a)",
           bf16_gemm_early_start<kTransposedB>),
      rung("by_shape", "the tile is chosen by the shape (sm_90a)",
           bf16_gemm_by_shape<kTransposedB>),
      rung("split_sum", "blocks of a cluster share long sums where tiles are few (sm_90a)",
           bf16_gemm_split_sum<kTransposedB>),
      rung("narrow_edge", "tiles at the right edge are only as wide as C (sm_90a)",
           bf16_gemm_narrow_edge<kTransposedB>),
      rung("shared_round", "all SMs share the last rounds' tiles (sm_90a)",
           with_pieces(bf16_gemm_shared_round<kTransposedB>)),
      rung("even_rounds", "tiles lower, so that all rounds are full (sm_90a)",
           with_pieces(bf16_gemm_even_rounds<kTransposedB>)),
  };
}
