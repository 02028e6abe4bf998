// product_then_push: after its product one kernel of each device stores the addends into their
// owners' memory, waits for those of the others and adds.
//
// It is push_then_product the other way round: one launch multiplies, one scatters and adds, and no
// event is between devices. A block adds what the blocks of its number have stored, so that it need
// not wait for others. The sum is that of product_then_scatter, bit for bit. What is still wrong:
// nothing is sent before the whole product is done.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/sharded/kit/pieces.cuh"
#include "04_matmul/sharded/kit/team.cuh"
#include "common/kit/check.cuh"
#include "common/kit/devices.cuh"
#include "common/kit/meet.cuh"

namespace matmul::sharded {

// Of one rank, in pieces.
template <int kSize>
struct AddendsToOwners {
  const Piece<kSize>* from[kMostDevices];  // its product: the rows of each owner
  Piece<kSize>* to[kMostDevices];          // its slot at each owner
  std::int64_t count[kMostDevices];        // of each owner's rows
  // What it adds itself: what the others have sent, and of its product the own rows.
  const Piece<kSize>* addend[kMostDevices];
  Piece<kSize>* sum;
};

template <int kSize>
__global__ void __launch_bounds__(kPushThreads, kPushBlocksPerSm)
    push_and_add_kernel(const __grid_constant__ Peers peers, int rank,
                        const __grid_constant__ AddendsToOwners<kSize> rows) {
  unsigned* const kept = peers.epochs[rank] + blockIdx.x;
  const unsigned epoch = *kept;
  kit::meet(peers, rank, epoch + 1);  // all have come to this call: their slots may be written

  const std::int64_t grid = std::int64_t{gridDim.x} * kPushThreads;
  const std::int64_t first = std::int64_t{blockIdx.x} * kPushThreads + threadIdx.x;
  for (int step = 1; step < peers.size; ++step) {
    const int to = (rank + step) % peers.size;  // not all to the same at once
    for (std::int64_t i = first; i < rows.count[to]; i += grid) rows.to[to][i] = rows.from[to][i];
  }
  kit::meet(peers, rank, epoch + 2);  // what this block adds has come

  for (std::int64_t i = first; i < rows.count[rank]; i += grid) {
    float total[kSize] = {};
    for (int r = 0; r < peers.size; ++r) {
      const Piece<kSize> addend = rows.addend[r][i];
#pragma unroll
      for (int e = 0; e < kSize; ++e) total[e] += __bfloat162float(addend.element[e]);
    }
    Piece<kSize> rounded;
#pragma unroll
    for (int e = 0; e < kSize; ++e) rounded.element[e] = __float2bfloat16(total[e]);
    rows.sum[i] = rounded;
  }
  if (threadIdx.x == 0) *kept = epoch + 2;
}

// C of every rank = its rows of the sum of all products. In the streams of the team.
inline void gemm_scatter_product_then_push(const Team& team, const ProductScatter& p) {
  kit::for_each_rank(team.devices, [&](int rank, cudaStream_t stream) {
    team.multiply(rank, p.a[rank], p.b[rank], p.addend[rank], p.m, p.n, p.ks.size(rank), stream);
  });
  with_pieces_of(p.n, [&](auto size) {
    constexpr int kSize = decltype(size)::value;
    const int blocks = push_blocks(team, p.rows, p.n / kSize);
    kit::for_each_rank(team.devices, [&](int rank, cudaStream_t stream) {
      AddendsToOwners<kSize> rows = {};
      for (int other = 0; other < team.size(); ++other) {
        rows.from[other] = pieces<kSize>(p.addend[rank] + p.rows.first(other) * p.n);
        rows.to[other] = pieces<kSize>(p.slot(other, rank));
        rows.count[other] = p.rows.size(other) * p.n / kSize;
        rows.addend[other] = pieces<kSize>(p.slot(rank, other));
      }
      rows.addend[rank] = rows.from[rank];
      rows.sum = pieces<kSize>(p.c[rank]);
      push_and_add_kernel<<<blocks, kPushThreads, 0, stream>>>(team.peers, rank, rows);
      CUDA_CHECK(cudaGetLastError());
    });
  });
}

}  // namespace matmul::sharded
