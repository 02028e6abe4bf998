// Side road 1, persistent: blocks that stay, and whose rings never run empty (sm_90).
//
// In rung 10 a share begins with an empty ring and ends with a merge, and meanwhile its block asks
// for nothing. Here a block an SM takes several shares, one after the other: while its warps work
// on the last keys of one, merge and store, the first keys of the next are in flight. So parts
// stand beside the rings and no longer take their place: 224 KB, more than older GPUs have. Shares
// are not cut; every block has as many as the others, or fewer. What is still wrong: with few
// shares most SMs have none.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/decode/kit/key_ring.cuh"
#include "07_flash_attention/decode/kit/parts.cuh"
#include "07_flash_attention/decode/kit/tensor_rows.cuh"
#include "07_flash_attention/decode/shape.hpp"
#include "07_flash_attention/head_dim.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/ptx/mma.cuh"

namespace decode {

// Of a block that has an SM to itself.
template <int kD>
struct alignas(128) PersistentShared {
  static constexpr int kW = kD == 256 ? 4 : 8, kStages = kD == 256 ? 3 : 384 / kD;  // 192 KB
  Stage<kD> rings[kW][kStages];
  WarpParts<kD, kTensorRows / 2, kW> parts;  // of half of the rows: there is no room for all
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
// The warps of a block leave their parts of half of a share's rows, merge them, and store the
// result. By all threads of the block.
template <int kHalf, class T, int kD, int kW>
__device__ void finish_rows(WarpParts<kD, kTensorRows / 2, kW>& parts, TensorRows<T, kD>& rows,
                            const Share& share, const Tensors<T>& t) {
  const int warp = threadIdx.x / 32, first = kHalf * kTensorRows / 2;
  rows.store_half(kHalf, parts.o[warp], parts.lse2[warp]);
  __syncthreads();
  for (int row = warp; row < min(kTensorRows / 2, share.count - first); row += kW) {
    store_result(t, share.first_row + first + row, merge_warps(parts, row));
  }
  __syncthreads();  // the next parts may take their place
}
#endif

template <class T, int kD>
__global__ void __launch_bounds__(32 * PersistentShared<kD>::kW, 1)
    persistent_kernel(Tensors<T> t, Shape shape, int shares_each) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  constexpr int kW = PersistentShared<kD>::kW, kStages = PersistentShared<kD>::kStages;
  extern __shared__ __align__(128) uint4 dynamic_chunks[];
  auto& shared = *reinterpret_cast<PersistentShared<kD>*>(dynamic_chunks);
  const int warp = threadIdx.x / 32;
  auto& ring = shared.rings[warp];

  const std::int64_t first_share = std::int64_t{blockIdx.x} * shares_each;
  const std::int64_t end_share = min(first_share + shares_each, shape.shares(kTensorRows));
  const int first_key = warp * kStageKeys;

  // region ring
  // What is asked for next: a key of a share. It runs ahead of what is worked on, across shares.
  std::int64_t asked_share = first_share;
  int asked_key = first_key, asked_stage = 0;
  const auto ask = [&] {
    if (asked_share < end_share) {
      const std::int64_t first =
          shape.share(asked_share, kTensorRows).kv_head * shape.n + asked_key;
      const int left = shape.n - asked_key;
      fill(ring[asked_stage], t, [&](int key) { return key < left ? first + key : -1; });
      asked_stage = asked_stage + 1 == kStages ? 0 : asked_stage + 1;
      asked_key += kW * kStageKeys;
      if (asked_key - first_key >= shape.n) {
        asked_key = first_key;
        ++asked_share;
      }
    }
    ptx::cp_async_commit();
  };
  for (int stage = 0; stage < kStages - 1; ++stage) ask();
  // endregion

  int stage = 0;
  for (std::int64_t at = first_share; at < end_share; ++at) {
    const Share share = shape.share(at, kTensorRows);
    TensorRows<T, kD> rows;
    rows.start(t.q + share.first_row * kD, share.count, shape.scale());
    // All warps take as many steps: in the last one some may have no keys.
    for (int key = first_key; key - first_key < shape.n; key += kW * kStageKeys) {
      ptx::cp_async_wait<kStages - 2>();
      __syncwarp();  // all lanes' copies are there, and nobody reads the stage before any more
      ask();
      rows.add(ring[stage].k, ring[stage].v, shape.n - key);
      stage = stage + 1 == kStages ? 0 : stage + 1;
    }
    finish_rows<0>(shared.parts, rows, share, t);
    if (share.count > kTensorRows / 2) finish_rows<1>(shared.parts, rows, share, t);
  }
#endif
}

// Device pointers, aligned to 16 bytes.
template <class T>
void persistent(const Shape& shape, const Tensors<T>& t, cudaStream_t stream) {
  attention::with_head_dim(shape.d, [&](auto head_dim) {
    using Shared = PersistentShared<decltype(head_dim)::value>;
    const auto kernel = persistent_kernel<T, head_dim>;
    constexpr int kShared = sizeof(Shared);
    kit::allow_shared(kernel, kShared);
    // As few blocks as take no longer than one an SM would.
    const std::int64_t shares = shape.shares(kTensorRows);
    const int shares_each = kit::divide_up(shares, kit::multiprocessor_count());
    const int blocks = kit::divide_up(shares, shares_each);
    kernel<<<blocks, 32 * Shared::kW, kShared, stream>>>(t, shape, shares_each);
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace decode
