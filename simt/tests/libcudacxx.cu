// libcu++: copies in the background under its names, as NVIDIA's programming guide writes them, and
// what is said if nobody waits for one.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda.h>

#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/ptx>
#include <cuda/semaphore>

#include <cuda/std/algorithm>
#include <cuda/std/complex>
#include <cuda/std/latch>
#include <cuda/std/numeric>
#include <cuda/std/optional>
#include <cuda/std/semaphore>
#include <cuda/std/variant>
#include <functional>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "device_array.hpp"
#include "simt/include/simt/profile.h"
#include "simt/tests/marked_line.hpp"
#include "tests/catch.hpp"

namespace cg = cooperative_groups;
namespace cde = cuda::device::experimental;
namespace ptx = cuda::ptx;
using block_barrier = cuda::barrier<cuda::thread_scope_block>;

// ---- TMA --------------------------------------------------------------------------------------

namespace {

constexpr int kSide = 32;

CUtensorMap map_of(int* matrix, cuuint64_t columns, cuuint64_t rows) {
  alignas(64) CUtensorMap map;
  const cuuint64_t sizes[] = {columns, rows}, pitches[] = {4 * columns};
  const cuuint32_t box[] = {kSide, kSide}, steps[] = {1, 1};
  REQUIRE(cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, matrix, sizes, pitches,
                                 box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                 CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                 CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS);
  return map;
}

}  // namespace

// Adds 1 to each number of a box: by functions of cuda::device::experimental.
__global__ void box_of_the_guide(const __grid_constant__ CUtensorMap map, int x, int y) {
  __shared__ alignas(128) int tile[kSide][kSide];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ block_barrier bar;
  if (threadIdx.x == 0) {
    init(&bar, blockDim.x);
    cde::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  block_barrier::arrival_token token;
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_tensor_2d_global_to_shared(&tile, &map, x, y, bar);
    token = cuda::device::barrier_arrive_tx(bar, 1, sizeof(tile));
  } else {
    token = bar.arrive();
  }
  bar.wait(std::move(token));
  for (int i = threadIdx.x; i < kSide * kSide; i += blockDim.x) tile[i / kSide][i % kSide] += 1;
  cde::fence_proxy_async_shared_cta();
  __syncthreads();
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_tensor_2d_shared_to_global(&map, x, y, &tile);
    cde::cp_async_bulk_commit_group();
    cde::cp_async_bulk_wait_group_read<0>();
    (&bar)->~barrier();
  }
}

// The same by functions of cuda::ptx.
__global__ void box_by_ptx(const __grid_constant__ CUtensorMap map, int x, int y) {
  __shared__ alignas(128) int tile[kSide][kSide];
  __shared__ uint64_t bar;
  const int32_t place[2] = {x, y};
  if (threadIdx.x < 32 && ptx::elect_sync(~0u)) {
    ptx::mbarrier_init(&bar, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, &tile, &map, place, &bar);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar,
                                   sizeof(tile));
  }
  __syncthreads();
  while (!ptx::mbarrier_try_wait_parity(&bar, 0)) {
  }
  for (int i = ptx::get_sreg_tid_x(); i < kSide * kSide; i += blockDim.x)
    tile[i / kSide][i % kSide] += 1;
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &map, place, &tile);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
  }
}

TEST_CASE("a box by TMA, as the programming guide has it") {
  const int columns = 48, rows = 40;
  for (const auto kernel : {box_of_the_guide, box_by_ptx}) {
    DeviceArray<int> matrix(columns * rows);
    for (int i = 0; i < columns * rows; ++i) matrix[i] = i;
    const CUtensorMap map = map_of(matrix.get(), columns, rows);
    kernel<<<1, 128>>>(map, 32, 16);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    const auto values = matrix.values();
    for (int i = 0; i < columns * rows; ++i)
      REQUIRE(values[i] == i + (i % columns >= 32 && i / columns >= 16));
  }
  CHECK(simt::check_reports().empty());
}

// One dimension: in by memcpy_async_tx or by cuda::ptx, out by a copy and by sums.
__global__ void line_of_the_guide(const int* in, int* out, int* sums) {
  __shared__ alignas(16) int tile[2][64];
  __shared__ block_barrier bar;
  if (threadIdx.x == 0) {
    init(&bar, blockDim.x);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    cuda::device::memcpy_async_tx(tile[0], in, cuda::aligned_size_t<16>(256), bar);
    ptx::cp_async_bulk(ptx::space_shared, ptx::space_global, tile[1], in + 64, 256,
                       cuda::device::barrier_native_handle(bar));
    cuda::device::barrier_expect_tx(bar, 512);
  }
  bar.arrive_and_wait();
  tile[0][threadIdx.x] += tile[1][threadIdx.x];
  ptx::fence_proxy_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_shared_to_global(out, tile[0], 256);
    ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, sums, tile[0],
                              256);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
  }
}

TEST_CASE("lines by the copy engine, and their sums") {
  DeviceArray<int> in(128), out(64), sums(64, 1000);
  for (int i = 0; i < 128; ++i) in[i] = i;
  line_of_the_guide<<<1, 64>>>(in.get(), out.get(), sums.get());
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  for (int i = 0; i < 64; ++i) {
    CHECK(out.values()[i] == 2 * i + 64);
    CHECK(sums.values()[i] == 2 * i + 1064);
  }
  CHECK(simt::check_reports().empty());
}

__global__ void __cluster_dims__(2) neighbours(unsigned* out) {
  __shared__ alignas(16) unsigned from[4], to[4];
  __shared__ uint64_t bar;
  const unsigned other = 1 - ptx::get_sreg_cluster_ctarank();
  if (threadIdx.x < 4) from[threadIdx.x] = 10 * ptx::get_sreg_cluster_ctarank() + threadIdx.x;
  ptx::fence_proxy_async(ptx::space_shared);
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&bar, 2);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  ptx::barrier_cluster_arrive(ptx::sem_release);
  ptx::barrier_cluster_wait();
  if (threadIdx.x == 0) {
    auto* there = cg::this_cluster().map_shared_rank(&bar, other);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, 16);
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_shared,
                       cg::this_cluster().map_shared_rank(to, other), from, 16, there);
    ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster, there);
  }
  while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &bar, 0)) {
  }
  if (threadIdx.x < 4) out[4 * blockIdx.x + threadIdx.x] = to[threadIdx.x];
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();
}

TEST_CASE("a copy into the block beside") {
  DeviceArray<unsigned> out(8);
  neighbours<<<2, 32>>>(out.get());
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(out.values() == std::vector<unsigned>{10, 11, 12, 13, 0, 1, 2, 3});
  CHECK(simt::check_reports().empty());
}

// ---- memcpy_async and its waits ---------------------------------------------------------------

// 64 numbers a turn, in the reverse order. `wrong`: nobody waits for the copies.
__global__ void by_a_barrier(const int* in, int* out, int turns, bool wrong) {
  __shared__ int tile[64];
  __shared__ block_barrier bar;
  const auto block = cg::this_thread_block();
  if (threadIdx.x == 0) init(&bar, 64);
  block.sync();
  for (int i = 0; i < turns; ++i) {
    cuda::memcpy_async(block, tile, in + 64 * i, sizeof(int) * 64, bar);
    block_barrier::arrival_token token = bar.arrive();
    if (!wrong) bar.wait(std::move(token));
    out[64 * i + threadIdx.x] = tile[63 - threadIdx.x];  // here: by a barrier
    block.sync();
  }
}
__global__ void by_a_pipeline(const int* in, int* out, int turns, bool wrong) {
  constexpr int kStages = 3;
  __shared__ int tile[kStages][64];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kStages> state;
  const auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  int asked = 0;
  for (int i = 0; i < turns; ++i) {
    for (; asked < turns && asked < i + kStages; ++asked) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, tile[asked % kStages], in + 64 * asked,
                         cuda::aligned_size_t<16>(256), pipe);
      pipe.producer_commit();
    }
    if (!wrong) pipe.consumer_wait();
    out[64 * i + threadIdx.x] = tile[i % kStages][63 - threadIdx.x];  // here: by a pipeline
    pipe.consumer_release();
  }
}
// The first warp fills, the second one uses.
__global__ void by_roles(const int* in, int* out, int turns, bool wrong) {
  __shared__ int tile[2][64];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  const auto block = cg::this_thread_block();
  const bool fills = threadIdx.x < 32;
  auto pipe = cuda::make_pipeline(
      block, &state, fills ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
  for (int i = 0; i < turns; ++i) {
    if (fills) {
      pipe.producer_acquire();
      for (int j = threadIdx.x; j < 64; j += 32)
        cuda::memcpy_async(&tile[i % 2][j], &in[64 * i + j], sizeof(int), pipe);
      pipe.producer_commit();
    } else {
      if (!wrong || i > 0) pipe.consumer_wait();  // never waiting, they would overtake
      for (int j = threadIdx.x - 32; j < 64; j += 32)
        out[64 * i + j] = tile[i % 2][63 - j];  // here: by roles
      pipe.consumer_release();
    }
  }
}
__global__ void by_each_thread(const int* in, int* out, int turns, bool wrong) {
  __shared__ int tile[2][64];
  auto pipe = cuda::make_pipeline();
  const auto ask = [&](int i) {
    pipe.producer_acquire();
    cuda::memcpy_async(&tile[i % 2][threadIdx.x], &in[64 * i + threadIdx.x], sizeof(int), pipe);
    pipe.producer_commit();
  };
  ask(0);
  for (int i = 0; i < turns; ++i) {
    if (i + 1 < turns) ask(i + 1);
    if (!wrong) pipe.consumer_wait();
    __syncthreads();
    out[64 * i + threadIdx.x] = tile[i % 2][63 - threadIdx.x];  // here: by each thread
    pipe.consumer_release();
    __syncthreads();
  }
}
__global__ void by_the_group(const int* in, int* out, int turns, bool wrong) {
  __shared__ int tile[2][64];
  const auto block = cg::this_thread_block();
  cg::memcpy_async(block, tile[0], in, sizeof(int) * 64);
  for (int i = 0; i < turns; ++i) {
    if (i + 1 < turns) {
      cg::memcpy_async(block, tile[(i + 1) % 2], 64, in + 64 * (i + 1), 64 * (turns - i - 1));
      if (!wrong) cg::wait_prior<1>(block);
    } else if (!wrong) {
      cg::wait(block);
    }
    out[64 * i + threadIdx.x] = tile[i % 2][63 - threadIdx.x];  // here: by the group
    block.sync();
  }
}

namespace {

void check_copies(void (*kernel)(const int*, int*, int, bool), const std::string& place) {
  const int turns = 7;
  INFO(place);
  DeviceArray<int> in(64 * turns), out(64 * turns);
  for (int i = 0; i < 64 * turns; ++i) in[i] = 1 + i;
  const auto right = [&] {
    const auto values = out.values();
    int count = 0;
    for (int i = 0; i < 64 * turns; ++i) count += values[i] == 1 + i / 64 * 64 + 63 - i % 64;
    return count;
  };
  kernel<<<1, 64>>>(in.get(), out.get(), turns, false);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(right() == 64 * turns);
  for (const simt::CheckReport& report : simt::check_reports()) {
    UNSCOPED_INFO(report.message);
    CHECK(report.check == "nothing");
  }
  kernel<<<1, 64>>>(in.get(), out.get(), turns, true);
  cudaDeviceSynchronize();
  CHECK(right() < 64 * turns);
  bool found = false;
  for (const simt::CheckReport& report : simt::check_reports()) {
    UNSCOPED_INFO(report.message);
    found |= report.check == "in-flight" && int(report.line) == tests::line_of(place);
  }
  CHECK(found);
}

}  // namespace

TEST_CASE("memcpy_async comes late, and a missing wait is named") {
  check_copies(by_a_barrier, "by a barrier");
  check_copies(by_a_pipeline, "by a pipeline");
  check_copies(by_roles, "by roles");
  check_copies(by_each_thread, "by each thread");
  check_copies(by_the_group, "by the group");
}

// Whatever cp.async cannot copy is copied at once: bytes, and from shared to shared memory.
__global__ void odd_copies(const char* in, char* out) {
  __shared__ char tile[2][100];
  __shared__ block_barrier bar;
  const auto block = cg::this_thread_block();
  if (threadIdx.x == 0) init(&bar, 32);
  block.sync();
  cuda::memcpy_async(block, tile[0], in + 1, 99, bar);
  bar.arrive_and_wait();
  cuda::memcpy_async(block, tile[1], tile[0], 99, bar);
  bar.arrive_and_wait();
  for (int i = threadIdx.x; i < 99; i += 32) out[i] = tile[1][i];
}

TEST_CASE("memcpy_async of what cp.async cannot copy") {
  DeviceArray<char> in(100), out(99);
  for (int i = 0; i < 100; ++i) in[i] = char(i);
  odd_copies<<<1, 32>>>(in.get(), out.get());
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  for (int i = 0; i < 99; ++i) CHECK(out.values()[i] == char(i + 1));
}

__global__ void leavers(int* out) {
  __shared__ block_barrier bar;
  if (threadIdx.x == 0) init(&bar, 64);
  __syncthreads();
  if (threadIdx.x >= 32) {
    bar.arrive_and_drop();
    return;
  }
  for (int i = 0; i < 3; ++i) bar.arrive_and_wait();
  static_assert(sizeof(bar) == 8, "as on a GPU");
  while (!bar.try_wait_parity(0)) {  // the first phase is long over
  }
  out[threadIdx.x] = 1;
}

TEST_CASE("threads may leave a barrier") {
  DeviceArray<int> out(32, 0);
  leavers<<<1, 64>>>(out.get());
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  for (const int x : out.values()) CHECK(x == 1);
}

using Latch = cuda::latch<cuda::thread_scope_device>;
using Lock = cuda::binary_semaphore<cuda::thread_scope_device>;

// Each block but the first hands over a number; the first one waits for all, unless it is hasty.
__global__ void count_down_blocks(Latch* latch, int* handed, int* sum, bool hasty) {
  const int others = static_cast<int>(gridDim.x) - 1;
  if (blockIdx.x > 0) {
    handed[blockIdx.x] = static_cast<int>(blockIdx.x);  // here: hands over
    latch->count_down();
    return;
  }
  if (!hasty) latch->wait();
  for (int i = 1; i <= others; ++i) *sum += handed[i];  // here: takes
}
__global__ void count_under_lock(Lock* lock, int* n, bool takes_it) {
  if (takes_it) lock->acquire();
  ++*n;  // here: under the lock
  if (takes_it) lock->release();
}
// Two may be inside at a time, and the block meets before anybody reads.
__global__ void two_at_a_time(int* most) {
  __shared__ alignas(cuda::std::latch) char place[2][sizeof(cuda::std::latch)];
  __shared__ int inside;
  auto* all = reinterpret_cast<cuda::std::latch*>(place[0]);
  auto* gate = reinterpret_cast<cuda::std::counting_semaphore<2>*>(place[1]);
  if (threadIdx.x == 0) {
    new (all) cuda::std::latch(blockDim.x);
    new (gate) cuda::std::counting_semaphore<2>(2);
    inside = 0;
  }
  __syncthreads();
  gate->acquire();
  atomicMax(most, atomicAdd(&inside, 1) + 1);
  atomicAdd(&inside, -1);
  gate->release();
  all->arrive_and_wait();
  if (threadIdx.x == 0 && gate->try_acquire() && gate->try_acquire() && !gate->try_acquire() &&
      all->try_wait())
    *most += 100;
}

void check_race_at(const std::string& one, const std::string& other) {
  const auto found = simt::check_reports();
  REQUIRE(found.size() == 1);
  CHECK(found[0].check == "race");
  for (const std::string& place : {one, other}) {
    INFO(found[0].message);
    CHECK(found[0].message.find("libcudacxx.cu:" + std::to_string(tests::line_of(place))) !=
          std::string::npos);
  }
}

TEST_CASE("a latch and a semaphore order what they guard") {
  DeviceArray<int> handed(8, 0), n(1, 0), most(1, 0);
  void* at = nullptr;
  REQUIRE(cudaMallocManaged(&at, 64) == cudaSuccess);
  for (const bool hasty : {false, true}) {
    count_down_blocks<<<8, 1>>>(new (at) Latch(7), handed.get(), n.get(), hasty);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    if (hasty) {
      check_race_at("hands over", "takes");
    } else {
      CHECK(n.values()[0] == 28);
      CHECK(simt::check_reports().empty());
    }
  }
  for (const bool takes_it : {true, false}) {
    cudaMemset(n.get(), 0, sizeof(int));
    count_under_lock<<<8, 1>>>(new (at) Lock(1), n.get(), takes_it);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    if (takes_it) {
      CHECK(n.values()[0] == 8);
      CHECK(simt::check_reports().empty());
    } else {
      check_race_at("under the lock", "under the lock");
    }
  }
  two_at_a_time<<<1, 64>>>(most.get());
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(most.values()[0] > 100);
  CHECK(most.values()[0] <= 102);
  CHECK(simt::check_reports().empty());
  cudaFree(at);
}

__device__ cuda::std::optional<int> place_of(int value, const int* list, int count) {
  const int* found = cuda::std::find(list, list + count, value);
  if (found == list + count) return cuda::std::nullopt;
  return static_cast<int>(found - list);
}
__global__ void standard_values(const int* list, int count, float* out) {
  const int t = static_cast<int>(threadIdx.x);
  const cuda::std::complex<float> turned =
      cuda::std::complex<float>(static_cast<float>(t), 1) * cuda::std::complex<float>(0, 1);
  cuda::std::variant<int, float> either = cuda::std::accumulate(list, list + count, 0);
  if (t % 2 == 1) either = 0.5f;
  const float chosen = either.index() == 0 ? static_cast<float>(*cuda::std::get_if<0>(&either))
                                           : *cuda::std::get_if<1>(&either);
  out[t] = turned.imag() + chosen + static_cast<float>(place_of(t, list, count).value_or(100));
}

TEST_CASE("values of cuda::std that the host's library has") {
  DeviceArray<int> list(8);
  DeviceArray<float> out(32);
  for (int i = 0; i < 8; ++i) list[i] = 7 - i;
  standard_values<<<1, 32>>>(list.get(), 8, out.get());
  const std::vector<float> values = out.values();
  for (int t = 0; t < 32; ++t) {
    const int place = t < 8 ? 7 - t : 100;
    CHECK(values[t] == static_cast<float>(t + place) + (t % 2 == 1 ? 0.5f : 28.0f));
  }
}
