// programmatic_launch: a launch begins while the one before it ends (sm_90).
//
// Blocks begin as soon as an SM is free (programmatic dependent launch, as in chapter 04). They
// must not read what the launch ahead may still write, but they may have L2 fetch it: when all of
// that has ended, the first keys lie there. A block takes more than half of an SM's shared memory,
// so that no two of the next launch share one while others have none. The parts go through global
// memory again, as in `tensor`: blocks that need no neighbours begin anywhere. What is still wrong:
// with more work tiles than SMs only the first wave begins early, and `persistent` can be faster.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/decode/kit/chunks.cuh"
#include "07_flash_attention/decode/kit/key_ring.cuh"
#include "07_flash_attention/decode/kit/parts.cuh"
#include "07_flash_attention/decode/kit/tensor_rows.cuh"
#include "07_flash_attention/decode/shape.hpp"
#include "07_flash_attention/shape.hpp"
#include "common/kit/launch.cuh"
#include "common/kit/programmatic_launch.cuh"
#include "common/kit/ptx/grid.cuh"
#include "common/kit/ptx/mma.cuh"

namespace decode {

template <int kD>
constexpr int kEarlyWarps = kD == 256 ? 4 : 8;

// 192 KB, and 128 KB with d = 64.
template <int kD>
using EarlyRings = RingShared<kD, kTensorRows, kEarlyWarps<kD>, kD == 64 ? 4 : 3>;

template <class T, int kD>
__global__ void __launch_bounds__(32 * kEarlyWarps<kD>)
    programmatic_launch_kernel(Tensors<T> t, Shape shape, Chunks chunks) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  ptx::griddepcontrol_launch_dependents();  // the next launch may begin, too
  extern __shared__ __align__(128) uint4 dynamic_chunks[];
  auto& shared = *reinterpret_cast<EarlyRings<kD>*>(dynamic_chunks);
  const int warp = threadIdx.x / 32;
  const std::int64_t at = blockIdx.x / chunks.count;  // of the work tiles
  const Part part = part_of(shape.work_tile(at, kTensorRows), at, chunks, 0, shape.n);
  const std::int64_t first = part.work.kv_head * shape.n;

  const Lookups lookups(shared.rings, part, [first](int key) { return first + key; });
  prefetch_before_wait<kD>(t, [&](int key) { return lookups.row(0, key); });

  TensorRows<T, kD> rows;
  const auto add = [&](const auto& stage, int seen) { rows.add(stage.k, stage.v, seen); };
  const auto start = [&] {
    rows.start(t.q + part.work.first_row * kD, part.work.count, shape.scale());
  };
  attend(shared.rings, lookups, t, add, start, ptx::createpolicy_evict_first());

  rows.store_part(part.work.count, shared.parts.o[warp], shared.parts.lse2[warp]);
  __syncthreads();
  finish_part(shared.parts, part, chunks, t);
#endif
}

// Device pointers, aligned to 16 bytes.
template <class T>
void programmatic_launch(const Shape& shape, const Tensors<T>& t, const Scratch& scratch,
                         cudaStream_t stream) {
  attention::with_head_dim(shape.d, [&](auto head_dim) {
    const auto kernel = programmatic_launch_kernel<T, head_dim>;
    constexpr int kShared = sizeof(EarlyRings<head_dim>);
    kit::allow_shared(kernel, kShared);
    const std::int64_t work_tiles = shape.work_tiles(kTensorRows);
    const int keys = choose_keys_of_one_wave(work_tiles, shape.n, kit::multiprocessor_count());
    const Chunks chunks = chunks_of(shape, work_tiles, keys, scratch);
    const auto blocks = static_cast<unsigned>(work_tiles * chunks.count);
    kit::launch_programmatic(kernel, blocks, 32 * kEarlyWarps<head_dim>, kShared, stream, t, shape,
                             chunks);
  });
}

}  // namespace decode
