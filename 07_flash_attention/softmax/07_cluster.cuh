// Rung 7, cluster: a row that is too long for one SM is kept by several (Hopper, sm_90).
//
// The blocks of a cluster run at the same time on neighbouring SMs and may read each other's shared
// memory. Each of 16 keeps a part of the row, as in the rung before; then all read the 16 partial
// sums and join them in the same order. One read and one write again, up to rows of 900,000 floats.
// A cluster of 16 needs the consent of the kernel, as 8 is what every chip with clusters can do.
#pragma once

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "07_flash_attention/softmax/05_online.cuh"
#include "07_flash_attention/softmax/06_cached.cuh"
#include "07_flash_attention/softmax/rows.cuh"
#include "common/cuda_check.cuh"
#include "common/variant.cuh"

constexpr int kClusterBlocks = 16;

// `part`: columns of a block, a multiple of 4; the last blocks may have fewer, or none.
template <int kWide>
__global__ void __launch_bounds__(kRowThreads)
    softmax_cluster_kernel(const float* x, float* y, int columns, int part) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  extern __shared__ float4 shared[];
  __shared__ OnlineSum of_block;
  const auto cluster = cooperative_groups::this_cluster();
  const int rank = static_cast<int>(cluster.block_rank());
  auto* const kept = reinterpret_cast<Piece<kWide>*>(shared);
  const int count = max(0, min(part, columns - rank * part));
  x += std::int64_t{blockIdx.x / kClusterBlocks} * columns + rank * part;
  y += std::int64_t{blockIdx.x / kClusterBlocks} * columns + rank * part;

  OnlineSum all = OnlineSum::of_nothing();
  each_piece<kWide>(x, count, [&](const Piece<kWide>& piece, int index) {
    all.add(piece);
    kept[index] = piece;
  });
  all = over_block(all, OnlineSum::join);
  if (threadIdx.x == 0) of_block = all;
  cluster.sync();
  all = *cluster.map_shared_rank(&of_block, 0);
  for (int other = 1; other < kClusterBlocks; ++other) {
    all = OnlineSum::join(all, *cluster.map_shared_rank(&of_block, other));
  }
  cluster.sync();  // nobody may end while others still read its sum
  const float inverse = 1 / all.sum;

  for (int index = threadIdx.x; index < count / kWide; index += kRowThreads) {
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
  const std::int64_t part = (columns + 4 * kClusterBlocks - 1) / (4 * kClusterBlocks) * 4;
  if (part > most || rows > INT32_MAX / kClusterBlocks) {
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
  attribute.val.clusterDim = {kClusterBlocks, 1, 1};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(rows) * kClusterBlocks);
  config.blockDim = dim3(kRowThreads);
  config.dynamicSmemBytes = part * sizeof(float);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  int clusters = 0;  // that fit on the device: none, if 16 is more than it can do
  CUDA_CHECK(
      cudaOccupancyMaxActiveClusters(&clusters, reinterpret_cast<const void*>(kernel), &config));
  if (clusters == 0) throw common::Skip("needs clusters of 16 blocks");
  CUDA_CHECK(
      cudaLaunchKernelEx(&config, kernel, x, y, static_cast<int>(columns), static_cast<int>(part)));
}
