// The last page of the ladders: which rung a library would take.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <string>

#include "07_flash_attention/decode/08_last_block_merges.cuh"
#include "07_flash_attention/decode/10_tensor.cuh"
#include "07_flash_attention/decode/11_cluster_merges.cuh"
#include "07_flash_attention/decode/12_persistent.cuh"
#include "07_flash_attention/decode/13_paged.cuh"
#include "07_flash_attention/decode/14_work_list.cuh"
#include "07_flash_attention/decode/kit/chunks.cuh"
#include "07_flash_attention/decode/kit/clusters.cuh"
#include "07_flash_attention/decode/kit/key_ring.cuh"
#include "07_flash_attention/decode/kit/tensor_rows.cuh"
#include "07_flash_attention/decode/shape.hpp"
#include "common/kit/launch.cuh"

namespace decode {

// More than some GPUs have that are newer than sm_90.
constexpr int kPersistentShared = std::max(
    {sizeof(PersistentShared<64>), sizeof(PersistentShared<128>), sizeof(PersistentShared<256>)});

// Whether to take clusters of eight blocks for each share. All have to run at once, in parts of the
// chip, so that not every SM counts. The other SMs are idle meanwhile: a small cache takes no
// longer for that, and with d = 128 half of the SMs read as fast as all.
inline bool suits_clusters(const Shape& shape, int sms) {
  constexpr std::int64_t kSmall = 24 << 20;  // bytes; an H200 read more faster with all SMs
  const std::int64_t shares = shape.shares(kTensorRows);
  if (2 * shares * kClusterBlocks > sms) return false;
  const bool is_half = 2 * (shares + 1) * kClusterBlocks > sms;
  return 4 * shares * shape.n * shape.d <= kSmall || (is_half && shape.d == 128);
}

// Caches in one piece. Device pointers, aligned to 16 bytes. compute_capability: the least of the
// device and the code, 90 for sm_90. Returns the name of the rung that does it.
template <class T>
std::string chosen(const Shape& shape, const Tensors<T>& t, int compute_capability,
                   const Scratch& scratch, cudaStream_t stream) {
  if (compute_capability < 80) {
    last_block_merges(shape, t, scratch, stream);
    return "last_block_merges";
  }
  // With d = 256 the rings take more shared memory than some devices have.
  if (shape.d == 256 && kit::most_shared() < static_cast<int>(sizeof(RingShared<256, 16>))) {
    last_block_merges(shape, t, scratch, stream);
    return "last_block_merges";
  }
  const std::int64_t shares = shape.shares(kTensorRows);
  const int sms = kit::multiprocessor_count();
  if (compute_capability >= 90 && kit::most_shared() >= kPersistentShared) {
    if (suits_clusters(shape, sms)) {
      cluster_merges(shape, t, stream);
      return "cluster_merges";
    }
    // Clusters of two on two thirds of the SMs read as fast as all of them, but not with the four
    // warps that fit into a block at d = 256.
    if (3 * shares >= sms && shape.d < 256) {
      persistent(shape, t, stream);
      return "persistent";
    }
  }
  tensor(shape, t, scratch, stream);
  return "tensor";
}

// Caches in pages. One sequence leaves nothing to balance, and a window little: it makes lengths
// alike. Others may be alike, too, but they lie on the device.
template <class T>
std::string chosen_paged(const Shape& shape, const Tensors<T>& t, const Cache& cache,
                         const Scratch& scratch, cudaStream_t stream) {
  if (shape.batch == 1 || cache.window < shape.n) {
    paged(shape, t, cache, scratch, stream);
    return "paged";
  }
  work_list(shape, t, cache, scratch, stream);
  return "work_list";
}

}  // namespace decode
