// Rung 7, cluster: a row that is too long for one SM is kept by several (Hopper, sm_90).
//
// The blocks of a cluster run at the same time on neighbouring SMs and may read each other's shared
// memory. Each keeps a part of the row, as in the rung before; then all read the partial sums of
// all and join them in the same order. One read and one write again, up to rows of 900,000 floats.
// A copy engine fills shared memory (as in chapter 01, bulk_copy), so that the whole part is on its
// way at once, and is added up in the order in which it comes.
#pragma once

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "07_flash_attention/softmax/05_online.cuh"
#include "07_flash_attention/softmax/06_cached.cuh"
#include "07_flash_attention/softmax/rows.cuh"
#include "common/cuda_check.cuh"
#include "common/ptx.cuh"
#include "common/variant.cuh"

constexpr int kMostClusterBlocks = 16;  // more than 8 needs the consent of the kernel
constexpr int kClusterPart = 16384;     // columns of a block, if 16 blocks are enough
constexpr int kChunk = kRowThreads;     // pieces that a barrier of its own announces
constexpr int kMostChunks = 32;         // of a block: 256 KB, more than there is

// The sum over pieces 0 .. count - 1 of x, which are brought to `kept` and stay there.
template <int kWide>
__device__ OnlineSum sum_and_keep(const float* x, Piece<kWide>* kept, int count) {
  OnlineSum all = OnlineSum::of_nothing();
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  if constexpr (kWide == 4) {
    __shared__ alignas(8) std::uint64_t arrived[kMostChunks];
    if (threadIdx.x < kMostChunks) ptx::mbarrier_init(&arrived[threadIdx.x], 1);
    if (threadIdx.x < kMostChunks) ptx::fence_mbarrier_init();
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int first = 0; first < count; first += kChunk) {
        const auto bytes = static_cast<std::uint32_t>(min(kChunk, count - first) * sizeof(kept[0]));
        ptx::mbarrier_arrive_expect_tx(&arrived[first / kChunk], bytes);
        ptx::cp_async_bulk(kept + first, x + first * kWide, bytes, &arrived[first / kChunk]);
      }
    }
    for (int index = threadIdx.x; index < count; index += kChunk) {
      while (!ptx::mbarrier_try_wait_parity(&arrived[index / kChunk], 0)) {
      }
      all.add(kept[index]);
    }
  } else {  // a row that begins anywhere: the engine cannot copy it
    each_piece<kWide>(x, count * kWide, [&](const Piece<kWide>& piece, int index) {
      all.add(piece);
      kept[index] = piece;
    });
  }
#endif
  return all;
}

// `part`: columns of a block, a multiple of 4; the last blocks may have fewer, or none.
template <int kWide>
__global__ void __launch_bounds__(kRowThreads)
    softmax_cluster_kernel(const float* x, float* y, int columns, int part) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  extern __shared__ float4 shared[];
  __shared__ OnlineSum of_block;
  const auto cluster = cooperative_groups::this_cluster();
  const int rank = static_cast<int>(cluster.block_rank());
  const int blocks = static_cast<int>(cluster.num_blocks());
  auto* const kept = reinterpret_cast<Piece<kWide>*>(shared);
  const int count = max(0, min(part, columns - rank * part)) / kWide;
  x += std::int64_t{blockIdx.x / blocks} * columns + rank * part;
  y += std::int64_t{blockIdx.x / blocks} * columns + rank * part;

  OnlineSum all = over_block(sum_and_keep<kWide>(x, kept, count), OnlineSum::join);
  if (threadIdx.x == 0) of_block = all;
  cluster.sync();
  all = OnlineSum::of_nothing();
  for (int other = 0; other < blocks; ++other) {
    all = OnlineSum::join(all, *cluster.map_shared_rank(&of_block, other));
  }
  cluster.sync();  // nobody may end while others still read its sum
  const float inverse = 1 / all.sum;

  for (int index = threadIdx.x; index < count; index += kRowThreads) {
    Piece<kWide> piece = kept[index];
    for (int i = 0; i < kWide; ++i) piece.x[i] = __expf(piece.x[i] - all.largest) * inverse;
    reinterpret_cast<Piece<kWide>*>(y)[index] = piece;
  }
#endif
}

// y = softmax of each row of x. Device pointers, row-major.
inline void softmax_cluster(const float* x, float* y, std::int64_t rows, std::int64_t columns,
                            cudaStream_t stream) {
  static const std::int64_t most = longest_cached_row() / 4 * 4;
  std::int64_t blocks = 2;
  while (blocks < kMostClusterBlocks && blocks * kClusterPart < columns) blocks *= 2;
  const std::int64_t part = (columns + 4 * blocks - 1) / (4 * blocks) * 4;
  if (columns <= kClusterPart || rows > INT32_MAX / blocks) {
    softmax_cached(x, y, rows, columns, stream);
    return;
  }
  if (part > most) {
    softmax_online(x, y, rows, columns, stream);
    return;
  }
  const auto kernel =
      rows_are_aligned(x, y, columns) ? softmax_cluster_kernel<4> : softmax_cluster_kernel<1>;
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(most * sizeof(float))));
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {static_cast<unsigned>(blocks), 1, 1};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(rows * blocks));
  config.blockDim = dim3(kRowThreads);
  config.dynamicSmemBytes = part * sizeof(float);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  int clusters = 0;  // that fit on the device: none, if it cannot make them so large
  CUDA_CHECK(
      cudaOccupancyMaxActiveClusters(&clusters, reinterpret_cast<const void*>(kernel), &config));
  if (clusters == 0) throw common::Skip("needs larger clusters than this device has");
  CUDA_CHECK(
      cudaLaunchKernelEx(&config, kernel, x, y, static_cast<int>(columns), static_cast<int>(part)));
}
