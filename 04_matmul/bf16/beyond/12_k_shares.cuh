// k_shares: tiles of 64 columns, whose k is shared out so that all SMs have as much to read.
//
// Where B is k x n, a share of its columns begins at a multiple of 64, and 4096 columns are 64
// tiles for 132 SMs. So the work is counted in units of k, tile after tile, and every block has an
// equal share of them, wherever in a tile it begins. Of a tile's partial sums each is left in
// memory but that of the block which is done last: it adds up all of them, in their order, so that
// the result is the same in every run. Nobody waits. What is still wrong: two sums meet by way of
// memory, which takes 2 us, and from 64 rows of A on its copies are no smaller than those of B.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <cuda/atomic>

#include <algorithm>
#include <cstdint>

#include "04_matmul/bf16/kit/transposed_store.cuh"
#include "04_matmul/kit/cluster.cuh"
#include "04_matmul/kit/gemm_tile.cuh"
#include "04_matmul/kit/vector_rows.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/grid.cuh"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/ptx/roles.cuh"
#include "common/kit/ptx/tma.cuh"
#include "common/kit/ptx/wgmma.cuh"

namespace matmul::bf16 {

// 64 columns of C by kRowsOfA rows of A; a stage of the ring has kSteps steps of 64 values of k, a
// unit.
template <int kRowsOfA_, int kSteps_, int kStages_>
struct KShareTile {
  static constexpr int kRowsOfA = kRowsOfA_, kSteps = kSteps_, kStages = kStages_;
  static constexpr int kUnit = 64 * kSteps, kThreads = 2 * 128;
  static constexpr int kBytesA = kRowsOfA * kRowBytes, kStepBytes = kBytesA + kSlabBytes;
  static constexpr int kRingBytes = kStages * kSteps * kStepBytes;
  static constexpr int kSharedBytes = kRingBytes + kBytesA;  // and room for C's tile
  static constexpr int kFours = kRowsOfA / 8;                // of a thread's sums
  static_assert(kSharedBytes <= 226 * 1024, "a block has 227 KB; 1 KB is for barriers");
};

// The units of all tiles, one tile's after the other's, in equal shares.
struct KShares {
  int tiles, units;  // of a tile
  int blocks;

  __host__ __device__ std::int64_t all() const { return std::int64_t{tiles} * units; }
  // The first unit of a block. Its share ends where the next one begins.
  __host__ __device__ std::int64_t begin(int block) const { return all() * block / blocks; }
  // Whose share has this unit.
  __host__ __device__ int block_of(std::int64_t unit) const {
    return static_cast<int>(((unit + 1) * blocks - 1) / all());
  }
};

constexpr int kMostShares = 144;  // a full GH100 has 144 SMs

// Where tiles are fewer than SMs, all are cut into as many parts: so the blocks are done at once. A
// part has at least 512 values of k, or what there is.
inline KShares plan_k_shares(int n, int k, int unit, int sms) {
  KShares plan = {kit::divide_up(n, 64), kit::divide_up(k, unit), std::min(sms, kMostShares)};
  const int least_units = std::max(1, 512 / unit);
  if (plan.tiles < plan.blocks) {
    const int parts = std::min(plan.blocks / plan.tiles, std::max(1, plan.units / least_units));
    plan.blocks = plan.tiles * parts;
  }
  return plan;
}

// Calls visit(tile, first unit, one after the last) for each piece of a block's share: first the
// beginning of a tile that the next block ends, so that it has been left long before that needs it.
template <class Visit>
__device__ __forceinline__ void each_piece(const KShares& plan, int block, Visit visit) {
  const std::int64_t first = plan.begin(block), last = plan.begin(block + 1);
  const std::int64_t whole = last / plan.units * plan.units;  // where the last tile begins
  const bool has_front = first < whole && whole < last;
  if (has_front) visit(static_cast<int>(last / plan.units), 0, static_cast<int>(last - whole));
  const std::int64_t end = has_front ? whole : last;
  for (std::int64_t unit = first; unit < end;) {
    const int tile = static_cast<int>(unit / plan.units);
    const int begin = static_cast<int>(unit % plan.units);
    const int count =
        static_cast<int>(min(static_cast<std::int64_t>(plan.units - begin), end - unit));
    visit(tile, begin, begin + count);
    unit += count;
  }
}

// How many of a tile's partial sums have been left, for each of 64 launches side by side. Counted
// where the first of its blocks counts; 0 before and after a launch.
using Left = int[kMostShares];
static __device__ Left partials_left[64];

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// Where block `block` leaves its sums of a tile that begins at `unit`: of each block there may be
// two, of a tile that it begins and of one that it ends.
template <class T>
__device__ __forceinline__ float4* place_of(float4* partials, const KShares& plan, int block,
                                            std::int64_t unit) {
  const int begins_it = plan.begin(block) < unit ? 1 : 0;
  return partials + std::int64_t{2 * block + begins_it} * T::kFours * 128 + threadIdx.x % 128;
}

// For a warpgroup with one of the partial sums of a tile, which begins at `unit`: leaves them, and
// returns false; or, if all others have been left, adds up all and returns true. Device-scope
// order: what the others of this warpgroup wrote comes before thread 0's count (a barrier, then
// release), what they read comes after it (acquire, then a barrier).
template <class T>
__device__ __forceinline__ bool add_partials(float (&acc)[T::kRowsOfA / 2], const KShares& plan,
                                             std::int64_t unit, float4* partials, Left& left,
                                             int& seen) {
  const int block = static_cast<int>(blockIdx.x), thread = threadIdx.x % 128;
  const int first = plan.block_of(unit), last = plan.block_of(unit + plan.units - 1);
  const cuda::atomic_ref<int, cuda::thread_scope_device> count(left[first]);
  // The others may all be there.
  if (thread == 0) seen = count.load(cuda::std::memory_order_acquire);
  ptx::named_barrier_sync(1, 128);
  bool is_last = seen == last - first;
  // If not, this one leaves its sums, and looks once more.
  if (!is_last) {
    float4* const own = place_of<T>(partials, plan, block, unit);
#pragma unroll
    for (int i = 0; i < T::kFours; ++i) {
      own[128 * i] = make_float4(acc[4 * i], acc[4 * i + 1], acc[4 * i + 2], acc[4 * i + 3]);
    }
    ptx::named_barrier_sync(1, 128);
    if (thread == 0) seen = count.fetch_add(1, cuda::std::memory_order_acq_rel);
    ptx::named_barrier_sync(1, 128);
    is_last = seen == last - first;  // the others came in the meantime
  }
  ptx::named_barrier_sync(1, 128);  // all have read `seen`
  if (!is_last) return false;

  // In the order of the blocks: in another one the sum might round otherwise.
  float total[T::kRowsOfA / 2] = {};
  for (int other = first; other <= last; ++other) {
    const float4* const from = place_of<T>(partials, plan, other, unit);
#pragma unroll
    for (int i = 0; i < T::kFours; ++i) {
      const float4 mine = make_float4(acc[4 * i], acc[4 * i + 1], acc[4 * i + 2], acc[4 * i + 3]);
      const float4 part = other == block ? mine : from[128 * i];
      total[4 * i] += part.x, total[4 * i + 1] += part.y;
      total[4 * i + 2] += part.z, total[4 * i + 3] += part.w;
    }
  }
#pragma unroll
  for (int i = 0; i < T::kRowsOfA / 2; ++i) acc[i] = total[i];
  if (thread == 0) left[first] = 0;
  return true;
}
#endif

template <class T, bool kTransposedB>
__global__ void __launch_bounds__(T::kThreads, 1)
    bf16_gemm_k_shares_kernel(const __grid_constant__ CUtensorMap map_a,
                              const __grid_constant__ CUtensorMap map_b, Rows<__nv_bfloat16> c,
                              int m, int n, KShares plan, float4* partials, Left* left) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(1024) unsigned char ring[];
  __shared__ std::uint64_t full[T::kStages], empty[T::kStages];
  __shared__ int seen;
  // Barriers ready, and the kernels before this one at their end.
  if (threadIdx.x == 0) {
    kit::init_stages(full, empty, 4);
    ptx::fence_mbarrier_init();
  }
  for (int s = 0; s < T::kStages * T::kSteps; ++s) {
    clear_rows(ring + s * T::kStepBytes + kSlabBytes, m, T::kRowsOfA);
  }
  ptx::fence_proxy_async();
  __syncthreads();
  ptx::griddepcontrol_launch_dependents();
  ptx::griddepcontrol_wait();

  kit::PipelineState<T::kStages> state;  // goes on from piece to piece
  if (threadIdx.x < 128) {
    // The producer. Weights are read once: they shall leave the L2 cache first.
    if (threadIdx.x == 0) {
      const std::uint64_t policy = ptx::createpolicy_evict_first();
      each_piece(plan, blockIdx.x, [&](int tile, int begin, int end) {
        for (int unit = begin; unit < end; ++unit, state.next()) {
          unsigned char* step = ring + state.stage * T::kSteps * T::kStepBytes;
          std::uint64_t* const barrier = &full[state.stage];
          kit::wait_empty(empty, state);
          ptx::mbarrier_arrive_expect_tx(barrier, T::kSteps * (kSlabBytes + m * kRowBytes));
#pragma unroll
          for (int s = 0; s < T::kSteps; ++s, step += T::kStepBytes) {
            const int p = unit * T::kUnit + 64 * s, col = 64 * tile;
            ptx::tensor_load_cache_hint(step, &map_b, kTransposedB ? p : col,
                                        kTransposedB ? col : p, barrier, policy);
            ptx::tensor_load(step + kSlabBytes, &map_a, p, 0, barrier);
          }
        }
      });
    }
  } else {
    // The consumers: one warpgroup multiplies, adds up and stores.
    const bool has_vectors = has_vector_rows(c, n);
    each_piece(plan, blockIdx.x, [&](int tile, int begin, int end) {
      // As in_flight: the products of a unit are issued before those of the last are waited for.
      float acc[T::kRowsOfA / 2];
      int before = 0;
      for (int unit = begin; unit < end; ++unit, state.next()) {
        const unsigned char* step = ring + state.stage * T::kSteps * T::kStepBytes;
        kit::wait_full(full, state);
        ptx::wgmma_fence();
#pragma unroll
        for (int s = 0; s < T::kSteps; ++s, step += T::kStepBytes) {
          issue_k_tile<true, !kTransposedB>(acc, step, step + kSlabBytes, unit == begin && s == 0);
        }
        ptx::wgmma_commit_group();
        ptx::wgmma_wait_group<1>();
        if (unit > begin) kit::release(&empty[before]);
        before = state.stage;
      }
      ptx::wgmma_wait_group<0>();
      kit::release(&empty[before]);
      ptx::fence_registers(acc);

      // Of a tile that others have parts of, the block that is done last stores it.
      const std::int64_t first_unit = std::int64_t{tile} * plan.units;
      if (end - begin < plan.units &&
          !add_partials<T>(acc, plan, first_unit, partials, *left, seen)) {
        return;
      }
      store_transposed(acc, ring + T::kRingBytes, c, has_vectors, 64 * tile, 64, m, n, 1);
      ptx::named_barrier_sync(1, 128);  // the room is free
    });
  }
#else
  (void)map_a, (void)map_b, (void)c, (void)m, (void)n, (void)plan, (void)partials, (void)left;
#endif
}

// Bytes of the partial sums, whatever the product.
constexpr std::int64_t kShareBytes = std::int64_t{2} * kMostShares * 64 * 128 * sizeof(float);

template <class T, bool kTransposedB>
void launch_k_shares(const Operands& x, int m, int n, int k, float4* partials,
                     cudaStream_t stream) {
  static kit::WorkspaceRing slots(partials_left);
  constexpr auto kKernel = bf16_gemm_k_shares_kernel<T, kTransposedB>;
  const KShares plan = plan_k_shares(n, k, T::kUnit, kit::multiprocessor_count());
  kit::allow_shared(kKernel, T::kSharedBytes);
  launch_clusters<kKernel>(Start::programmatic, plan.blocks, 1, T::kThreads, T::kSharedBytes,
                           stream, map_of_rows(x.a.data, m, k, m, x.a.pitch),
                           map_of_b<kTransposedB>(x.b.data, n, k, 64, x.b.pitch), x.c, m, n, plan,
                           partials, slots.next());
}

// C = A B for operands whose rows of A and B TMA can load. B is read once for every 128 rows of A.
// partials: kShareBytes, this launch's until it has ended.
template <bool kTransposedB>
void multiply_in_k_shares(const Operands& x, int m, int n, int k, float4* partials,
                          cudaStream_t stream) {
  for (int first = 0; first < m; first += 128) {
    Operands part = x;
    part.a.data += first * x.a.pitch;
    part.c.data += first * x.c.pitch;
    const int rows = std::min(128, m - first);
    const auto launch = [&](auto tile) {
      launch_k_shares<decltype(tile), kTransposedB>(part, rows, n, k, partials, stream);
    };
    if (rows <= 16) {
      launch(KShareTile<16, 4, 5>{});
    } else if (rows <= 32) {
      launch(KShareTile<32, 4, 4>{});
    } else if (rows <= 64) {
      launch(KShareTile<64, 2, 6>{});
    } else {
      launch(KShareTile<128, 2, 4>{});
    }
  }
}

// C = A B; A is m x k, C is m x n, B is k x n or, if kTransposedB, n x k; all row-major. Device
// pointers; sizes up to 2e9. Throws Skip if TMA cannot take A and B. partials: kShareBytes, this
// launch's until it has ended.
template <bool kTransposedB>
void bf16_gemm_k_shares(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m,
                        int n, int k, float4* partials, cudaStream_t stream) {
  if (!kit::has_vector_rows(a, k) || !kit::has_vector_rows(b, kTransposedB ? k : n)) {
    throw kit::Skip("needs rows of 16 bytes");
  }
  multiply_in_k_shares<kTransposedB>(dense<kTransposedB>(a, b, c, n, k), m, n, k, partials, stream);
}

}  // namespace matmul::bf16
