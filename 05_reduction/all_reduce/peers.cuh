// The row to compare with: NCCL.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "05_reduction/all_reduce/problem.cuh"
#include "common/bench/variant.cuh"

#if __has_include(<nccl.h>)
#include "common/bench/nccl_communicators.hpp"
#endif

namespace all_reduce {

#if __has_include(<nccl.h>)
// region nccl_all_reduce
template <class T>
void all_reduce_nccl(const Team<T>& team, std::int64_t n) {
  const ncclDataType_t type = std::is_same_v<T, float> ? ncclFloat : ncclBfloat16;
  bench::nccl_communicators(team.size()).group([&](int rank, ncclComm_t communicator) {
    return ncclAllReduce(team.peers.x[rank], team.peers.y[rank], n, type, ncclSum, communicator,
                         team.streams[rank]);
  });
}
// endregion
#endif

template <class T>
bench::Variant<AllReduce<T>> nccl_peer() {
#if __has_include(<nccl.h>)
  return in_any_order(
      bench::peer<AllReduce<T>>("nccl", "ncclAllReduce", [](AllReduce<T>& p, cudaStream_t stream) {
        p.with_team(stream, [&](const Team<T>& team) { all_reduce_nccl(team, p.n); });
      }));
#else
  return bench::missing_peer<AllReduce<T>>("nccl", "ncclAllReduce", "needs NCCL (nccl.h)");
#endif
}

}  // namespace all_reduce
