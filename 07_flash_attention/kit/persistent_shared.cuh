// What a block keeps in shared memory that goes on to further tiles of queries, and what happens
// between two of them: Q leaves its buffer for registers, so that the next one can come early, and
// O by TMA, while the next tile is computed.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/kit/accumulators.cuh"
#include "07_flash_attention/kit/attention_tile.cuh"
#include "07_flash_attention/shape.hpp"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/ptx/roles.cuh"
#include "common/kit/ptx/tma.cuh"
#include "common/kit/ptx/wgmma.cuh"

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
  using QState = RingState<1>;

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
  __device__ __forceinline__ void issue_q(const AttentionMaps& maps, QState& at, int first_query,
                                          int head) {
    ptx::mbarrier_arrive_expect_tx(&q_full, Tile::kQBytes);
    ptx::tensor_load(this->q, &maps.q, 0, first_query, 0, head, &q_full);
    at.next();
  }

  // The consumers': the queries are here; a warp has no more use for them.
  __device__ __forceinline__ void wait_q(QState& at) {
    kit::wait(&q_full, at.phase);
    at.next();
  }
  __device__ __forceinline__ void release_q() { kit::release(&q_empty); }
#endif
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// A warp's 16 rows of Q as operand A. own_rows: the first of its warpgroup's in the tile.
template <class Tile>
__device__ __forceinline__ void load_queries(std::uint32_t (&q)[Tile::kD / 16][4],
                                             const unsigned char* tile, int own_rows) {
  const int lane = threadIdx.x % 32, row = own_rows + threadIdx.x % 128 / 32 * 16 + lane % 16;
#pragma unroll
  for (int c = 0; c < Tile::kD / 16; ++c) {
    ptx::ldmatrix_x4(q[c], tile + slab_offset(row, 2 * c + lane / 16, Tile::kTileM * 128));
  }
  ptx::fence_proxy_async();  // TMA, another proxy, writes to the tile next
  __syncwarp();              // before one lane releases the tile for all
}

// issue_scores with Q in registers, as load_queries leaves it.
template <class Tile>
__device__ __forceinline__ void issue_scores(float (&s)[Tile::kTileN / 2],
                                             const std::uint32_t (&q)[Tile::kD / 16][4],
                                             const unsigned char* k) {
  const std::uint64_t k_tile = ptx::descriptor_128B(k, 0, 1024);
  ptx::fence_registers(s);
  ptx::wgmma_fence();
#pragma unroll
  for (int c = 0; c < Tile::kD / 16; ++c) {
    ptx::wgmma<typename Tile::Element>(
        s, q[c], ptx::advance(k_tile, c / 4 * Tile::kTileN * 128 + c % 4 * 32), c > 0);
  }
  ptx::wgmma_commit_group();
}
#endif

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
// Makes a warpgroup wait until the last store of its first thread has read its buffer. barrier: its
// own.
__device__ __forceinline__ void wait_until_read(int barrier) {
  if (threadIdx.x % 128 == 0) ptx::bulk_wait_group_read<0>();
  ptx::named_barrier_sync(barrier, 128);
}

// Has TMA write kColumns columns of a warpgroup's 64 rows of O, from column kFirst and from row
// `first_row` of a head on, by way of `buffer`, its own in shared memory. Does not wait for it: the
// next call does, before it writes to the buffer, unless kIsFree: all threads know then that it has
// been read. Rows past the end are not stored.
template <class Tile, int kFirst, int kColumns, bool kIsFree = false>
__device__ __forceinline__ void issue_store(const AttentionMaps& maps, unsigned char* buffer,
                                            const float (&o)[Tile::kD / 2], int warpgroup, int head,
                                            int first_row, int n_q) {
  using T = typename Tile::Element;
  constexpr int kSlabBytes = 64 * 128;
  const int t = threadIdx.x % 128, lane = t % 32, row = t / 32 * 16 + lane % 16;
  const int barrier = 1 + Tile::kConsumers + warpgroup;

  if constexpr (!kIsFree) wait_until_read(barrier);
#pragma unroll
  for (int c = 0; c < kColumns / 16; ++c) {
    const int i = kFirst / 2 + 8 * c;
    ptx::stmatrix_x4(buffer + slab_offset(row, 2 * c + lane / 16, kSlabBytes),
                     ptx::pack<T>(o[i], o[i + 1]), ptx::pack<T>(o[i + 2], o[i + 3]),
                     ptx::pack<T>(o[i + 4], o[i + 5]), ptx::pack<T>(o[i + 6], o[i + 7]));
  }

  // TMA reads what all 128 threads wrote.
  ptx::fence_proxy_async();
  ptx::named_barrier_sync(barrier, 128);
  if (t != 0 || first_row >= n_q) return;
  for (int slab = 0; slab < kColumns / 64; ++slab) {
    ptx::tensor_store(&maps.o, buffer + slab * kSlabBytes, 0, first_row, kFirst / 64 + slab, head);
  }
  ptx::bulk_commit_group();
}
#endif

// With d = 256 there is room for half of O beside the tiles: it leaves in two parts.
template <class Tile>
constexpr int kOColumns = Tile::kD <= 128 ? Tile::kD : 128;

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
// A warpgroup's 64 rows of O leave by TMA, by way of its part of `buffers`. kIsFree: all of its
// threads know that the last store has read it. first_query: of the block.
template <class Tile, bool kIsFree = false>
__device__ __forceinline__ void store_output(const AttentionMaps& maps, unsigned char* buffers,
                                             const float (&rows)[Tile::kD / 2], int warpgroup,
                                             int head, int first_query, int n_q) {
  constexpr int kStored = kOColumns<Tile>;
  unsigned char* const buffer = buffers + (warpgroup - 1) * 64 * kStored * 2;
  const int first_row = first_query + 64 * (warpgroup - 1);
  issue_store<Tile, 0, kStored, kIsFree>(maps, buffer, rows, warpgroup, head, first_row, n_q);
  if constexpr (kStored < Tile::kD) {
    issue_store<Tile, kStored, kStored>(maps, buffer, rows, warpgroup, head, first_row, n_q);
  }
}
#endif

// The buffer of O lies behind that of Q.
template <class Tile>
struct StoringShared : PersistentShared<Tile, Tile::kTileM * kOColumns<Tile> * 2> {
  int tile;  // whose queries are in q, where a counter hands them out; -1: there are no more

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  // A warpgroup's 64 rows of O leave by TMA, and their log-sum-exp. first_query: of the block;
  // `row`: this lane's first.
  template <class T>
  __device__ __forceinline__ void store(const AttentionMaps& maps, const Tensors<T>& t,
                                        const float (&rows)[Tile::kD / 2], const float (&lse)[2],
                                        int warpgroup, int head, int first_query, int row,
                                        int n_q) {
    store_lse(t, head, row, n_q, lse);
    store_output<Tile>(maps, this->o, rows, warpgroup, head, first_query, n_q);
  }
#endif
};

}  // namespace attention
