// Heads whose dQ has been added up: how the last kernel, which rounds dQ, may begin while the last
// blocks still add to other heads.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/dq_accum.cuh"
#include "07_flash_attention/backward/kit/row_stats.cuh"
#include "07_flash_attention/backward/kit/turns.cuh"
#include "07_flash_attention/backward/shape.hpp"
#include "common/kit/programmatic_launch.cuh"
#include "common/kit/ptx/grid.cuh"
#include "common/kit/ptx/roles.cuh"

namespace backward {

// count: for each K/V head the blocks, or tiles of keys, that have been added to dQ of its query
// heads, of `blocks`; zeros before the first launch.
struct HeadsDone {
  int *count, blocks, group;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  // By each block of the kernel that adds: once all run, the SMs that they leave are free for the
  // last kernel.
  __device__ void begin() const { ptx::griddepcontrol_launch_dependents(); }
  // By its 256 threads that add, when they have; nobody waits here.
  __device__ void arrive() const { ptx::named_barrier_arrive(7, 288); }
  // By a warp that does not add: tells when they all have.
  __device__ void tell(std::int64_t kv_head) const {
    ptx::named_barrier_sync(7, 288);
    if (threadIdx.x % 32 == 0) DqSemaphore{count + kv_head, 0}.pass();
  }

  // By all threads of a block of the last kernel, before it reads dQ of a query head.
  __device__ void wait(std::int64_t head) const {
    if (threadIdx.x == 0) DqSemaphore{count + head / group, blocks}.wait();
    __syncthreads();
  }
  // The end of each of its blocks. Whoever comes next in the stream waits for the last kernel
  // alone, so one of its blocks waits for the kernel ahead. If all did, they would keep the SMs.
  __device__ void end() const {
    if (blockIdx.x == gridDim.x - 1) ptx::griddepcontrol_wait();
  }
#endif
};

// A block for each part of dQ, as finish_dq_parts_kernel.
template <class Tile>
__global__ void __launch_bounds__(kRowThreads)
    early_finish_kernel(RowStats rows, typename Tile::Element* dq, int n_q, float scale,
                        HeadsDone heads) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  heads.wait(blockIdx.x / 2 / (rows.pitch / Tile::kTileM));
  finish_dq_part<Tile>(rows, dq, n_q, scale);
  heads.end();
#endif
}

// Behind dQ a counter for each K/V head.
inline std::int64_t heads_done_scratch(const Shape& shape) {
  return row_stats_and_dq_scratch(shape) + shape.all_kv_heads();
}

// Launches it behind the kernel that adds.
template <class Tile>
void launch_early_finish(const Arguments<typename Tile::Element>& args, const HeadsDone& heads,
                         cudaStream_t stream) {
  const auto parts =
      static_cast<unsigned>(args.shape.all_heads() * args.rows.pitch / Tile::kTileM * 2);
  kit::launch_programmatic(early_finish_kernel<Tile>, parts, kRowThreads, 0, stream, args.rows,
                           args.dq, args.shape.n_q, args.shape.scale(), heads);
}

}  // namespace backward
