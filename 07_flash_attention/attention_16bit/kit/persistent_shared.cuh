// What a block keeps in shared memory that goes on to further tiles of queries.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/attention_16bit/kit/kv_pipeline.cuh"
#include "07_flash_attention/attention_16bit/kit/tensor_maps.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/mbarrier.cuh"
#include "common/kit/ptx/tma.cuh"

namespace attention {

// Room for a tile of queries, and for kOBytes of O.
template <class Tile, int kOBytes>
struct QueryBuffers {
  unsigned char q[Tile::kQBytes], o[kOBytes];
};
template <class Tile>
struct QueryBuffers<Tile, 0> {
  unsigned char q[Tile::kQBytes];
};

// The buffer of Q is a ring of one stage: the producer fills it again for the next tile of queries.
template <class Tile, int kOBytes = 0>
struct PersistentShared : QueryBuffers<Tile, kOBytes> {
  using QState = kit::PipelineState<1>;

  KvPipeline<Tile> kv;
  std::uint64_t q_full, q_empty;

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
    ptx::tensor_load(this->q, &maps.q, 0, first_query, 0, head, &q_full);
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
