// The rows to compare with: NCCL and cuBLAS one after the other, and the products alone.
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "04_matmul/sharded/problem.cuh"
#include "common/bench/variant.cuh"
#include "common/kit/check.cuh"
#include "common/kit/devices.cuh"

#if __has_include(<nccl.h>)
#include "common/bench/nccl_communicators.hpp"
#endif

namespace matmul::sharded {

// NCCL's all-gather and reduce-scatter take shards of one size.
inline void require_even_rows(std::int64_t m, int ranks) {
  if (m % ranks != 0) throw kit::Skip("NCCL needs as many rows on each device");
}

#if __has_include(<nccl.h>)
// region nccl_gather
inline void gather_gemm_nccl(const Team& team, const GatherProduct& p) {
  require_even_rows(p.m, team.size());
  bench::nccl_communicators(team.size()).group([&](int rank, ncclComm_t communicator) {
    return ncclAllGather(p.a[rank], p.whole_a[rank], p.rows.size(rank) * p.k, ncclBfloat16,
                         communicator, team.devices.streams[rank]);
  });
  kit::for_each_rank(team.devices, [&](int rank, cudaStream_t stream) {
    team.multiply(rank, p.whole_a[rank], p.b[rank], p.c[rank], p.m, p.columns.size(rank), p.k,
                  stream);
  });
}
// endregion

// region nccl_scatter
inline void gemm_scatter_nccl(const Team& team, const ProductScatter& p) {
  require_even_rows(p.m, team.size());
  kit::for_each_rank(team.devices, [&](int rank, cudaStream_t stream) {
    team.multiply(rank, p.a[rank], p.b[rank], p.addend[rank], p.m, p.n, p.ks.size(rank), stream);
  });
  bench::nccl_communicators(team.size()).group([&](int rank, ncclComm_t communicator) {
    return ncclReduceScatter(p.addend[rank], p.c[rank], p.rows.size(rank) * p.n, ncclBfloat16,
                             ncclSum, communicator, team.devices.streams[rank]);
  });
}
// endregion
#endif

template <class Problem, class Run>
bench::Variant<Problem> peer_of(const std::string& idea, Run run) {
  auto variant = bench::peer<Problem>(
      "nccl_cublas", idea, [run](Problem& p, cudaStream_t stream) { p.with_team(stream, run); });
  variant.needs = bench::needs_sm(80);
  return variant;
}

inline bench::Variant<GatherGemm> nccl_gather() {
  const char* idea = "ncclAllGather, then cublasGemmEx";
#if __has_include(<nccl.h>) && __has_include(<cublas_v2.h>)
  return peer_of<GatherGemm>(idea, gather_gemm_nccl);
#else
  return bench::missing_peer<GatherGemm>("nccl_cublas", idea, "needs NCCL and cuBLAS");
#endif
}

inline bench::Variant<GemmScatter> nccl_scatter() {
  const char* idea = "cublasGemmEx, then ncclReduceScatter";
#if __has_include(<nccl.h>) && __has_include(<cublas_v2.h>)
  return peer_of<GemmScatter>(idea, gemm_scatter_nccl);
#else
  return bench::missing_peer<GemmScatter>("nccl_cublas", idea, "needs NCCL and cuBLAS");
#endif
}

// Each device's product by itself, as if nothing had to move.
template <class Problem>
bench::Variant<Problem> alone() {
  auto variant = bench::device_variant<Problem>(
      "alone", "yardstick: the products, no byte between devices",
      [](Problem& p, cudaStream_t stream) {
        p.with_team(stream, [&p](const Team& team, const auto& call) {
          kit::for_each_rank(team.devices, [&](int rank, cudaStream_t own) {
            if constexpr (Problem::kGathers) {
              team.multiply(rank, p.whole_a(rank), call.b[rank], call.c[rank], call.m,
                            call.columns.size(rank), call.k, own);
            } else {
              team.multiply(rank, call.a[rank], call.b[rank], call.addend[rank], call.m, call.n,
                            call.ks.size(rank), own);
            }
          });
        });
      },
      bench::needs_sm(80));
  variant.kind = bench::Kind::yardstick;
  variant.bytes = [](const Problem& p) { return p.bytes(); };
  variant.flops = [](const Problem& p) { return p.flops(); };
  // Without the sum over the ranks there is no result.
  variant.check = [](const Problem& p) {
    return Problem::kGathers ? p.check() : bench::Comparison{};
  };
  return variant;
}

}  // namespace matmul::sharded
