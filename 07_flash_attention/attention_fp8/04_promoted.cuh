// promoted: what the tensor core has summed over a tile of keys moves to sums in fp32.
//
// A sum of 128 products is short enough for 13 bits. So P V of each tile begins at zero, and the
// threads add it to registers of their own. With the online softmax this costs little: O has to be
// rescaled when the largest score grows, and sum = sum correction + P V is one instruction, whether
// the correction is 1 or not. Registers suffice because weights are bytes: 64 each for scores, P V
// and sums, and 16 for the weights of a tile. What is still wrong: blocks end, and begin, idle.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "07_flash_attention/attention_fp8/kit/fp8_tile.cuh"
#include "07_flash_attention/attention_fp8/tensors.cuh"
#include "07_flash_attention/kit/accumulators.cuh"
#include "07_flash_attention/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/roles.cuh"
#include "common/kit/ptx/wgmma.cuh"

namespace attention::fp8 {

template <bool kCausal>
__global__ void __launch_bounds__(kThreads, 1)
    attention_fp8_promoted_kernel(const __grid_constant__ Maps maps, Tensors8 t, int n_q, int n_k,
                                  float scale) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  // One thread sets up the barriers, before anybody uses them.
  extern __shared__ unsigned char dynamic_shared[];
  auto& shared = kit::aligned_shared<BlockShared8>(dynamic_shared);
  if (threadIdx.x == 0) shared.init();
  __syncthreads();

  // The last tiles of a causal head have the most to do: they start first.
  const int q_tiles = kit::divide_up(n_q, kTileM);
  const int head = blockIdx.x / q_tiles;
  const int first_query = (q_tiles - 1 - static_cast<int>(blockIdx.x) % q_tiles) * kTileM;
  const Mask<kCausal, kTileN> mask{n_q, n_k};
  const int tiles = mask.tiles(first_query, kTileM);

  // The producer: TMA brings everything, its warps transpose V.
  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {
    ptx::setmaxnreg_dec<kProducerRegisters>();
    shared.produce(maps, first_query, head, tiles);
    return;
  }

  // The consumers: the warps that compute, with rows of their own.
  ptx::setmaxnreg_inc<kConsumerRegisters>();
  const int own_rows = 64 * (warpgroup - 1);  // of the tile of queries
  const int row = first_query + own_rows + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
  const int unmasked = mask.unmasked_tiles(first_query + own_rows);
  const kit::Turn<kConsumers> turn{warpgroup};
  BlockShared8::State k_at, v_at;

  // Registers: the sums stay; scores, weights and P V are those of a tile of keys.
  OnlineSoftmax rows{scale * t.scale_q[head] * t.scale_k[head]};
  const float below_max = kPeak / rows.scale;
  float sums[kHeadDim / 2] = {};
  float o[kHeadDim / 2], s[kTileN / 2];
  std::uint32_t p[kTileN / 32][4];

  // Makes weights of the scores of `tile`, 2^kPeak at most.
  const auto weigh = [&](int tile, auto masked) {
    if constexpr (decltype(masked)::value) mask.apply(s, row, tile);
    float tile_max[2];
    OnlineSoftmax::max_of_rows(s, tile_max);
    for (float& x : tile_max) x -= below_max;
    rows.update_max(tile_max);
    rows.exponentiate(s);
  };
  // region promote
  // Adds P V of a tile to the sums, which are of the tiles before it. correction: that of its
  // weights.
  const auto promote = [&](const float(&correction)[2]) {
#pragma unroll
    for (int i = 0; i < kHeadDim / 2; ++i) {
      sums[i] = fmaf(sums[i], correction[OnlineSoftmax::row_of(i)], o[i]);
    }
  };
  // endregion
  // region multiply_tile
  // Begins with the weights of the tile before in p, ends with those of `tile`.
  const auto multiply_tile = [&](int tile, auto masked) {
    // Both products are issued in one turn.
    shared.wait_k(k_at);
    shared.wait_v(v_at);
    turn.wait();
    issue_scores(s, shared.q + own_rows * 128, shared.k[k_at.stage]);
    issue_output(o, p, shared.v[v_at.stage], false);
    turn.pass_on();

    // The weights, while this warpgroup's own P V is computed, and the other one's products.
    ptx::wgmma_wait_group<1>();  // the scores are here, O is not
    ptx::fence_registers(s);
    shared.release_k(k_at);
    const float before[2] = {rows.correction[0], rows.correction[1]};
    weigh(tile, masked);

    // P V has been reading p until now.
    ptx::wgmma_wait_group<0>();
    ptx::fence_registers(o);
    shared.release_v(v_at);
    pack(s, p);
    promote(before);
  };
  // endregion

  // The first scores have no P V of a tile before to go with, and the last P V no scores.
  shared.wait_q();
  if (warpgroup == kConsumers) turn.pass_on();  // the first one begins
  if (tiles > 0) {
    int tile = tiles - 1;
    shared.wait_k(k_at);
    issue_scores(s, shared.q + own_rows * 128, shared.k[k_at.stage]);
    ptx::wgmma_wait_group<0>();
    ptx::fence_registers(s);
    shared.release_k(k_at);
    weigh(tile--, std::true_type{});
    pack(s, p);
#pragma unroll 1
    for (; tile >= 0 && tile >= unmasked; --tile) multiply_tile(tile, std::true_type{});
#pragma unroll 1
    for (; tile >= 0; --tile) multiply_tile(tile, std::false_type{});
    shared.wait_v(v_at);
    issue_output(o, p, shared.v[v_at.stage], false);
    ptx::wgmma_wait_group<0>();
    ptx::fence_registers(o);
    promote(rows.correction);
  }
  if (warpgroup == 1) turn.wait();  // nobody leaves with a turn unclaimed

  float factor[2], lse[2];
  rows.finish(factor, lse);
  for (float& x : factor) x *= t.scale_v[head];
  OnlineSoftmax::rescale(sums, factor);
  const Tensors<__nv_bfloat16> results{nullptr, nullptr, nullptr, t.o, t.lse};
  store_rows<kHeadDim>(results, head, row, n_q, sums, lse);
#endif
}

// Device pointers; shapes as Shape says, d = 128.
inline void promoted(const Shape& shape, const Tensors8& t, cudaStream_t stream) {
  const auto kernel =
      shape.causal ? attention_fp8_promoted_kernel<true> : attention_fp8_promoted_kernel<false>;
  constexpr int kShared = kit::aligned_shared_bytes<BlockShared8>();
  const int n_q = static_cast<int>(shape.n_q), n_k = static_cast<int>(shape.n_k);
  const int blocks = static_cast<int>(shape.all_heads()) * kit::divide_up(n_q, kTileM);
  kit::allow_shared(kernel, kShared);
  kernel<<<blocks, kThreads, kShared, stream>>>(tensor_maps(shape, t), t, n_q, n_k,
                                                shape.scale() * kLog2E);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace attention::fp8
