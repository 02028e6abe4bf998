// The last page of the ladders: which rung a library would take.
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "07_flash_attention/decode/08_last_block_merges.cuh"
#include "07_flash_attention/decode/10_tensor.cuh"
#include "07_flash_attention/decode/11_paged.cuh"
#include "07_flash_attention/decode/12_work_list.cuh"
#include "07_flash_attention/decode/shape.hpp"
#include "common/kit/launch.cuh"

namespace decode {

// Caches in one piece. Device pointers, aligned to 16 bytes. has_tensor_cores: the device and the
// code are for sm_80 or newer. Returns the name of the rung that does it.
template <class T>
std::string chosen(const Shape& shape, const Tensors<T>& t, bool has_tensor_cores,
                   const Scratch& scratch, cudaStream_t stream) {
  if (!has_tensor_cores) {
    last_block_merges(shape, t, scratch, stream);
    return "last_block_merges";
  }
  // With d = 256 the rings take more shared memory than some devices have.
  if (shape.d == 256 && kit::most_shared() < static_cast<int>(sizeof(RingShared<256, 16>))) {
    last_block_merges(shape, t, scratch, stream);
    return "last_block_merges";
  }
  tensor(shape, t, scratch, stream);
  return "tensor";
}

// Caches in pages. One sequence leaves nothing to balance.
template <class T>
std::string chosen_paged(const Shape& shape, const Tensors<T>& t, const Cache& cache,
                         const Scratch& scratch, cudaStream_t stream) {
  if (shape.batch == 1) {
    paged(shape, t, cache, scratch, stream);
    return "paged";
  }
  work_list(shape, t, cache, scratch, stream);
  return "work_list";
}

}  // namespace decode
