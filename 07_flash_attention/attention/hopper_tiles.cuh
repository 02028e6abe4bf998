// What the Hopper rungs (10 and up) share: how their tiles lie in shared memory, how a producer
// warpgroup has the copy engine fill them, and the two products as wgmma.
//
// A tile of R rows and d columns of 16 bits lies as d / 64 slabs, one after the other; a slab is R
// rows of 128 bytes, swizzled as the copy engine and wgmma both understand it. One copy instruction
// brings all slabs, since the map shows a head as [d / 64, n, 64].
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/attention/shape.hpp"
#include "common/ptx_mma.cuh"
#include "common/ptx_tensor.cuh"
#include "common/ptx_wgmma.cuh"
#include "common/tensor_map.cuh"

// A block for elements of 16 bits: one producer warpgroup and `kConsumers` that compute, with 64
// queries each. Keys and values come in tiles of `kKeys` rows; kStages of either are in shared
// memory at a time.
template <class Element_, int kD_, int kConsumers_, int kKeys_, int kStages_>
struct HopperTile {
  using Element = Element_;
  static constexpr int kD = kD_, kConsumers = kConsumers_, kKeys = kKeys_, kStages = kStages_;
  static constexpr int kQueries = 64 * kConsumers;
  static constexpr int kThreads = 128 * (1 + kConsumers);
  static constexpr int kQBytes = kQueries * kD * 2;
  static constexpr int kKvBytes = kKeys * kD * 2;
  // The 65536 registers of an SM, as setmaxnreg deals them out: the producer needs few.
  static constexpr int kProducerRegisters = kConsumers == 2 ? 24 : 32;
  static constexpr int kConsumerRegisters = kConsumers == 2 ? 240 : 160;
  static_assert(kConsumers == 2 || kConsumers == 3, "the registers are dealt out for these");
  static_assert(kKeys % 16 == 0 && kKeys <= 256, "wgmma multiplies 16 keys at a time");
};

// The four tensors as the copy engine sees them: 4-D, [heads, d / 64, n, 64] with the contiguous
// dimension last. Rows past the end of a head arrive as zeros, never as rows of the next head, and
// are not stored.
struct AttentionMaps {
  CUtensorMap q, k, v, o;
};

// Boxes of `rows` rows and `slabs` slabs.
template <class T>
CUtensorMap heads_map(const T* base, std::int64_t heads, std::int64_t n, int d, int rows,
                      int slabs) {
  const auto size = [](std::int64_t x) { return static_cast<std::uint64_t>(x); };
  return common::tensor_map(
      base, {64, size(n), size(d / 64), size(heads)}, {size(d * 2), 128, size(n * d * 2)},
      {64, static_cast<std::uint32_t>(rows), static_cast<std::uint32_t>(slabs), 1});
}

template <class Tile>
AttentionMaps attention_maps(const AttentionShape& shape,
                             const Tensors<typename Tile::Element>& t) {
  constexpr int kD = Tile::kD;
  const std::int64_t heads = shape.all_heads();
  return {heads_map(t.q, heads, shape.n_q, kD, Tile::kQueries, kD / 64),
          heads_map(t.k, heads, shape.n_k, kD, Tile::kKeys, kD / 64),
          heads_map(t.v, heads, shape.n_k, kD, Tile::kKeys, kD / 64),
          heads_map(t.o, heads, shape.n_q, kD, 64, 1)};
}

// Dynamic shared memory is not sure to begin on a multiple of 1024 bytes, as swizzled tiles must.
constexpr int kTileAlignment = 1024;
template <class Shared>
constexpr int shared_bytes() {
  return static_cast<int>(sizeof(Shared)) + kTileAlignment;
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
template <class Shared>
__device__ __forceinline__ Shared& aligned_shared(unsigned char* begin) {
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  return *reinterpret_cast<Shared*>((address + kTileAlignment - 1) & ~(kTileAlignment - 1ull));
}

__device__ __forceinline__ void wait(std::uint64_t& barrier, std::uint32_t parity) {
  while (!ptx::mbarrier_try_wait_parity(&barrier, parity)) {
  }
}
#endif

// Two rings of buffers, for tiles of K and of V. A buffer is full when the copy engine has
// delivered all bytes, and empty again when every warp that computes has said so.
template <class Tile>
struct KvRings {
  unsigned char k[Tile::kStages][Tile::kKvBytes];
  unsigned char v[Tile::kStages][Tile::kKvBytes];
  std::uint64_t k_full[Tile::kStages], k_empty[Tile::kStages];
  std::uint64_t v_full[Tile::kStages], v_empty[Tile::kStages];
};

// All that a block of rungs 10 to 12 keeps in shared memory: its queries come once, so their buffer
// needs no `empty`.
template <class Tile>
struct BlockShared {
  unsigned char q[Tile::kQBytes];
  KvRings<Tile> kv;
  std::uint64_t q_full;
};

// A place in a ring of kStages buffers. `parity` is that of the round: who takes what is full waits
// for it, who fills what is empty waits for the other one, which a new barrier counts as passed.
template <int kStages>
struct RingPlace {
  int stage = 0;
  std::uint32_t parity = 0;

  __device__ __forceinline__ void advance() {
    if (++stage < kStages) return;
    stage = 0;
    parity ^= 1;
  }
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
template <class Tile>
__device__ __forceinline__ void start_rings(KvRings<Tile>& rings) {
  for (int s = 0; s < Tile::kStages; ++s) {
    ptx::mbarrier_init(&rings.k_full[s], 1);
    ptx::mbarrier_init(&rings.v_full[s], 1);
    ptx::mbarrier_init(&rings.k_empty[s], 4 * Tile::kConsumers);
    ptx::mbarrier_init(&rings.v_empty[s], 4 * Tile::kConsumers);
  }
}

// One warp has no more use for a buffer: its lanes have all read it, and met since then (at
// __syncwarp, or at the wait for a wgmma that read it).
__device__ __forceinline__ void release(std::uint64_t& empty) {
  if (threadIdx.x % 32 == 0) ptx::mbarrier_arrive(&empty);
}

struct DoNothing {
  __device__ void operator()() const {}
};

// The producer's part in a tile of queries: the first `tiles` tiles of keys and values of a head,
// the last one first, each as soon as its buffer is empty. K(n - 1) goes before V(n): its scores
// are wanted first. Calls before_last() when only the last V is left to send. By one thread.
template <class Tile, class BeforeLast = DoNothing>
__device__ __forceinline__ void send_keys_and_values(const AttentionMaps& maps,
                                                     KvRings<Tile>& rings,
                                                     RingPlace<Tile::kStages>& k_place,
                                                     RingPlace<Tile::kStages>& v_place, int head,
                                                     int tiles, BeforeLast before_last = {}) {
  const auto send = [&](const CUtensorMap& map, unsigned char* to, std::uint64_t& full,
                        std::uint64_t& empty, RingPlace<Tile::kStages>& place, int tile) {
    wait(empty, place.parity ^ 1);
    ptx::mbarrier_arrive_expect_tx(&full, Tile::kKvBytes);
    ptx::tensor_load(to, &map, 0, tile * Tile::kKeys, 0, head, &full);
    place.advance();
  };
  const auto send_k = [&](int tile) {
    const int s = k_place.stage;
    send(maps.k, rings.k[s], rings.k_full[s], rings.k_empty[s], k_place, tile);
  };
  const auto send_v = [&](int tile) {
    const int s = v_place.stage;
    send(maps.v, rings.v[s], rings.v_full[s], rings.v_empty[s], v_place, tile);
  };
  if (tiles > 0) send_k(tiles - 1);
  for (int tile = tiles - 1; tile > 0; --tile) {
    send_k(tile - 1);
    send_v(tile);
  }
  before_last();
  if (tiles > 0) send_v(0);
}

// Issues s = Q K^T for a warpgroup's 64 queries, both operands from shared memory, as one group.
// q: the first of its rows in the tile of Q. s must not be in use; it holds the scores only after
// the group has been waited for.
template <class Tile>
__device__ __forceinline__ void issue_scores(float (&s)[Tile::kKeys / 2], const unsigned char* q,
                                             const unsigned char* k) {
  const std::uint64_t q_tile = ptx::descriptor_128B(q, 0, 1024);
  const std::uint64_t k_tile = ptx::descriptor_128B(k, 0, 1024);
  ptx::fence_registers(s);
  ptx::wgmma_fence();
#pragma unroll
  for (int c = 0; c < Tile::kD / 16; ++c) {  // 16 columns: 32 bytes of a slab
    const int slab = c / 4, bytes = c % 4 * 32;
    ptx::wgmma<typename Tile::Element>(s, ptx::advance(q_tile, slab * Tile::kQueries * 128 + bytes),
                                       ptx::advance(k_tile, slab * Tile::kKeys * 128 + bytes),
                                       c > 0);
  }
  ptx::wgmma_commit_group();
}

// The same with Q in registers, as load_queries leaves it.
template <class Tile>
__device__ __forceinline__ void issue_scores(float (&s)[Tile::kKeys / 2],
                                             const std::uint32_t (&q)[Tile::kD / 16][4],
                                             const unsigned char* k) {
  const std::uint64_t k_tile = ptx::descriptor_128B(k, 0, 1024);
  ptx::fence_registers(s);
  ptx::wgmma_fence();
#pragma unroll
  for (int c = 0; c < Tile::kD / 16; ++c) {
    ptx::wgmma<typename Tile::Element>(
        s, q[c], ptx::advance(k_tile, c / 4 * Tile::kKeys * 128 + c % 4 * 32), c > 0);
  }
  ptx::wgmma_commit_group();
}

// Where the 16-byte piece `piece` of row `row` lies in a tile of slabs with `slab_bytes` each.
__device__ __forceinline__ int slab_offset(int row, int piece, int slab_bytes) {
  return piece / 8 * slab_bytes + row * 128 + ((piece % 8 ^ row % 8) * 16);
}

// A warp's 16 rows of Q as operand A. own_rows: the first of its warpgroup's in the tile.
template <class Tile>
__device__ __forceinline__ void load_queries(std::uint32_t (&q)[Tile::kD / 16][4],
                                             const unsigned char* tile, int own_rows) {
  const int lane = threadIdx.x % 32, row = own_rows + threadIdx.x % 128 / 32 * 16 + lane % 16;
#pragma unroll
  for (int c = 0; c < Tile::kD / 16; ++c) {
    ptx::ldmatrix_x4(q[c], tile + slab_offset(row, 2 * c + lane / 16, Tile::kQueries * 128));
  }
  __syncwarp();  // before one lane releases the tile for all
}

// Issues o += P V (o = P V unless `accumulate`) as one group. P comes from registers. V lies with
// one key a row, which is what wgmma calls MN-major for this operand: no transposition.
template <class Tile>
__device__ __forceinline__ void issue_output(float (&o)[Tile::kD / 2],
                                             std::uint32_t (&p)[Tile::kKeys / 16][4],
                                             const unsigned char* v, bool accumulate) {
  const std::uint64_t v_tile = ptx::descriptor_128B(v, Tile::kKeys * 128, 1024);
  ptx::fence_registers(o);
  ptx::wgmma_fence();
#pragma unroll
  for (int j = 0; j < Tile::kKeys / 16; ++j) {
    ptx::wgmma<typename Tile::Element, 1>(o, p[j], ptx::advance(v_tile, j * 16 * 128),
                                          j > 0 || accumulate);
  }
  ptx::wgmma_commit_group();
}

// Warpgroups 1 .. kConsumers take turns: each waits until the one before it has passed the turn on.
// Barrier 1 + w is that of warpgroup w; at each, one warpgroup waits and one arrives.
template <class Tile>
__device__ __forceinline__ void take_turn(int warpgroup) {
  ptx::named_barrier_sync(1 + warpgroup, 256);
}
template <class Tile>
__device__ __forceinline__ void pass_turn(int warpgroup) {
  ptx::named_barrier_arrive(1 + (warpgroup == Tile::kConsumers ? 1 : warpgroup + 1), 256);
}

// Writes the log-sum-exp of rows `row` and `row` + 8 of a head.
template <class T>
__device__ __forceinline__ void store_lse(const Tensors<T>& t, int head, int row, int n_q,
                                          const float (&lse)[2]) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    if (threadIdx.x % 4 != 0 || row + 8 * r >= n_q) continue;
    t.lse[static_cast<std::int64_t>(head) * n_q + row + 8 * r] = lse[r];
  }
}

// Writes a thread's share of O and the log-sum-exp: rows `row` and `row` + 8 of a head, laid out as
// softmax_rows.cuh says. Four lanes write 16 bytes of a row together.
template <int kD, class T>
__device__ __forceinline__ void store_rows(const Tensors<T>& t, int head, int row, int n_q,
                                           const float (&o)[kD / 2], const float (&lse)[2]) {
  store_lse(t, head, row, n_q, lse);
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    if (row + 8 * r >= n_q) continue;
    const std::int64_t at = static_cast<std::int64_t>(head) * n_q + row + 8 * r;
    auto* pairs = reinterpret_cast<std::uint32_t*>(t.o + at * kD) + threadIdx.x % 4;
#pragma unroll
    for (int i = 0; i < kD / 2; i += 4) {
      pairs[i] = ptx::pack<T>(o[i + 2 * r], o[i + 2 * r + 1]);
    }
  }
}

// Has the copy engine write a warpgroup's 64 rows of O, from row `first_row` of a head, by way of
// `buffer`, its own in shared memory. Does not wait for it: the next call does, before it writes to
// the buffer. Rows past the end are not stored.
template <class Tile>
__device__ __forceinline__ void send_output(const AttentionMaps& maps, unsigned char* buffer,
                                            const float (&o)[Tile::kD / 2], int warpgroup, int head,
                                            int first_row, int n_q) {
  using T = typename Tile::Element;
  constexpr int kSlabBytes = 64 * 128;
  const int t = threadIdx.x % 128, lane = t % 32, row = t / 32 * 16 + lane % 16;
  const int barrier = 1 + Tile::kConsumers + warpgroup;
  if (t == 0) ptx::bulk_wait_group_read<0>();
  ptx::named_barrier_sync(barrier, 128);
#pragma unroll
  for (int c = 0; c < Tile::kD / 16; ++c) {
    ptx::stmatrix_x4(buffer + slab_offset(row, 2 * c + lane / 16, kSlabBytes),
                     ptx::pack<T>(o[8 * c], o[8 * c + 1]), ptx::pack<T>(o[8 * c + 2], o[8 * c + 3]),
                     ptx::pack<T>(o[8 * c + 4], o[8 * c + 5]),
                     ptx::pack<T>(o[8 * c + 6], o[8 * c + 7]));
  }
  ptx::fence_proxy_async();
  ptx::named_barrier_sync(barrier, 128);
  if (t != 0 || first_row >= n_q) return;
  for (int slab = 0; slab < Tile::kD / 64; ++slab) {
    ptx::tensor_store(&maps.o, buffer + slab * kSlabBytes, 0, first_row, slab, head);
  }
  ptx::bulk_commit_group();
}
#endif
