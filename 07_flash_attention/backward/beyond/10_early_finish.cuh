// early_finish: dQ of finished heads is rounded while the last blocks of ping_pong run.
//
// There the last kernel, which rounds dQ, waits until all of dQ has been added up, though most of
// it has been for long. And in the last wave of blocks many SMs have none. Here each block counts
// for its head when it has added its last, and the last kernel may begin as soon as all blocks run:
// its blocks take the SMs that are free, and wait for their own head alone.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/dq_parts.cuh"
#include "07_flash_attention/backward/kit/heads_done.cuh"
#include "07_flash_attention/backward/kit/hopper_tile.cuh"
#include "07_flash_attention/backward/kit/ping_pong_kernel.cuh"
#include "07_flash_attention/backward/kit/row_facts.cuh"
#include "07_flash_attention/backward/kit/steps.cuh"
#include "07_flash_attention/backward/shape.hpp"
#include "common/kit/early_launch.cuh"

namespace backward {

// Behind dQ a counter for each K/V head.
inline std::int64_t early_finish_scratch(const Shape& shape) {
  return row_facts_and_dq_scratch(shape) + shape.all_kv_heads();
}

// A block a part of dQ, as finish_dq_parts_kernel.
template <class Tile>
__global__ void __launch_bounds__(kRowThreads)
    early_finish_kernel(RowFacts rows, typename Tile::Element* dq, int n_q, float scale,
                        HeadsDone heads) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  heads.wait(blockIdx.x / 2 / (rows.pitch / Tile::kQueries));
  finish_dq_part<Tile>(rows, dq, n_q, scale);
  heads.end();
#endif
}

// Device pointers, aligned to 16 bytes. scratch: early_finish_scratch(shape) floats.
template <class T, int kD>
void early_finish(const Shape& shape, const Tensors<T>& t, float* scratch, cudaStream_t stream) {
  using Tile = HopperTile<T, kD>;
  const Arguments<T> args = prepare(shape, t, scratch, true, stream, shape.all_kv_heads());
  int* counters = reinterpret_cast<int*>(scratch + row_facts_and_dq_scratch(shape));
  const HeadsDone heads{counters, Steps<Tile>::key_tiles(shape), shape.group()};
  launch_ping_pong<Tile>(args, heads, stream);
  const auto parts =
      static_cast<unsigned>(args.shape.all_heads() * args.rows.pitch / Tile::kQueries * 2);
  kit::launch_early(early_finish_kernel<Tile>, parts, kRowThreads, 0, stream, args.rows, args.dq,
                    shape.n_q, shape.scale(), heads);
}

}  // namespace backward
