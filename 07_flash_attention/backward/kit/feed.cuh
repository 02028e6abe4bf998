// The thread that feeds: it has TMA fill a stage as soon as all who compute have released it.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/row_facts.cuh"
#include "07_flash_attention/backward/kit/tma_tiles.cuh"
#include "common/kit/pipeline.cuh"

namespace backward {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// All that the producer does, one thread: the keys, and the queries of each step. BlockSteps:
// Steps, or what goes through them in another order.
template <class Shared, class BlockSteps>
__device__ __forceinline__ void feed(Shared& shared, kit::PipelineState<2>& at,
                                     const TensorMaps& maps, const RowFacts& rows,
                                     const BlockSteps& steps) {
  send_keys(shared.k, shared.v, maps, steps, &shared.keys_full.full);
  for (int step = 0; step < steps.count(); ++step) {
    const std::int64_t head = steps.head(step);
    const int first_row = steps.first_row(step);
    kit::wait_empty(shared.q.empty, at);
    send_queries(shared.q, at, maps.q, rows.lse2, rows.pitch, head, first_row);
    kit::wait_empty(shared.d_o.empty, at);
    send_queries(shared.d_o, at, maps.d_o, rows.mean, rows.pitch, head, first_row);
    at.next();
  }
}
#endif

}  // namespace backward
