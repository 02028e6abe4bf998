// What a block keeps in shared memory that goes on to further tiles of queries.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/attention_16bit/kit/hopper_tile.cuh"
#include "07_flash_attention/attention_16bit/kit/kv_pipeline.cuh"
#include "common/kit/aligned_shared.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/mbarrier.cuh"
#include "common/kit/ptx/tma.cuh"

namespace attention {

// The buffer of Q is a ring of one stage: the producer fills it again for the next tile of queries.
template <class Tile>
struct PersistentShared {
  using QState = kit::PipelineState<1>;
  // With d = 256 there is no room for O beside the tiles, nor for Q in registers.
  static constexpr bool kHasRoom = Tile::kD <= 128;

  unsigned char q[Tile::kQBytes];
  unsigned char o[kHasRoom ? Tile::kQBytes : kit::kSwizzleAlignment];
  KvPipeline<Tile> kv;
  std::uint64_t q_full, q_empty;
  int tile;  // whose queries are in q, where a counter hands them out; -1: there are no more

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  // By one thread, before a barrier of the block.
  __device__ __forceinline__ void init() {
    ptx::mbarrier_init(&q_full, 1);
    ptx::mbarrier_init(&q_empty, Tile::kConsumerWarps);
    kv.init();
    ptx::fence_mbarrier_init();
  }

  static __device__ __forceinline__ QState q_begin() { return {}; }

  // The producer's: the queries before are no longer needed; the next ones may come.
  __device__ __forceinline__ void wait_q_empty(const QState& at) {
    kit::wait(&q_empty, at.phase ^ 1);
  }
  __device__ __forceinline__ void issue_q(const TensorMaps& maps, QState& at, int first_query,
                                          int head) {
    ptx::mbarrier_arrive_expect_tx(&q_full, Tile::kQBytes);
    ptx::tensor_load(q, &maps.q, 0, first_query, 0, head, &q_full);
    at.advance();
  }

  // The consumers': the queries are here; a warp has no more use for them.
  __device__ __forceinline__ void wait_q(QState& at) {
    kit::wait(&q_full, at.phase);
    at.advance();
  }
  __device__ __forceinline__ void release_q() { kit::release(&q_empty); }
#endif
};

}  // namespace attention
