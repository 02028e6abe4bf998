// common/kit/ptx/tma.cuh and common/kit/tensor_map.cuh: each instruction alone, on a device that
// has it.
#include "common/kit/ptx/cluster.cuh"
#include "common/kit/ptx/roles.cuh"
#include "common/kit/ptx/tma.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "common/bench/device_facts.cuh"
#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"
#include "common/kit/tensor_map.cuh"
#include "tests/catch.hpp"

namespace {

using bf16 = __nv_bfloat16;
constexpr int kNumbers = 512;                                  // 2 KB
constexpr int kRows = 32, kCols = 64;                          // a box
[[maybe_unused]] constexpr int kBoxBytes = kRows * kCols * 2;  // sm_90 alone loads it
constexpr int kTensorRows = 40, kTensorCols = 72;  // its second box lies outside, mostly

// Two copies from shared to global memory, in a group of its own each.
__global__ void bulk_store_kernel(int* out) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  __shared__ alignas(16) int tile[128];
  tile[threadIdx.x] = 3 * threadIdx.x + 1;
  ptx::fence_proxy_async();
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (const int half : {1, 0}) {
    ptx::cp_async_bulk_store(out + (1 - half) * 64, tile + half * 64, 64 * sizeof(int));
    ptx::bulk_commit_group();
  }
  ptx::bulk_wait_group<0>();
#else
  (void)out;
#endif
}

// Brings the box at (c0, c1), shows where its elements lie in shared memory, and stores it back to
// another tensor of the same shape.
template <class T>
__global__ void __launch_bounds__(128)
    box_kernel(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to,
               int c0, int c1, T* seen) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  __shared__ __align__(1024) T box[kRows * kCols];
  __shared__ alignas(8) std::uint64_t arrived;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&arrived, 1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::mbarrier_arrive_expect_tx(&arrived, kBoxBytes);
    ptx::tensor_load(box, &from, c0, c1, &arrived);
  }
  while (!ptx::mbarrier_try_wait_parity(&arrived, 0)) {
  }
  for (int i = threadIdx.x; i < kRows * kCols; i += 128) {
    seen[i] = box[i];
    box[i] = __hneg(box[i]);  // a change that the copy engine must see
  }
  ptx::fence_proxy_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::tensor_store(&to, box, c0, c1);
    ptx::bulk_commit_group();
    ptx::bulk_wait_group_read<0>();
    ptx::bulk_wait_group<0>();
  }
#else
  (void)from, (void)to, (void)c0, (void)c1, (void)seen;
#endif
}

// Two blocks, each bringing one box to both. seen: the two boxes as either block has them.
__global__ void __launch_bounds__(128)
    multicast_kernel(const __grid_constant__ CUtensorMap from, bf16* seen) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  __shared__ __align__(1024) bf16 boxes[2][kRows * kCols];
  __shared__ alignas(8) std::uint64_t arrived, released;
  const unsigned rank = ptx::cluster_rank();
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&arrived, 1);
    ptx::mbarrier_init(&released, 2);
    ptx::fence_mbarrier_init();
  }
  ptx::cluster_arrive();
  ptx::cluster_wait();
  if (threadIdx.x == 0) ptx::mbarrier_arrive_expect_tx(&arrived, 2 * kBoxBytes);
  if (threadIdx.x == 0) {
    ptx::tensor_load_multicast(boxes[rank], &from, 0, rank * kRows, &arrived, 0b11);
  }
  while (!ptx::mbarrier_try_wait_parity(&arrived, 0)) {
  }
  for (int i = threadIdx.x; i < 2 * kRows * kCols; i += 128) {
    seen[rank * 2 * kRows * kCols + i] = boxes[i / (kRows * kCols)][i % (kRows * kCols)];
  }
  // Each tells both that it is done, and goes only when both are.
  if (threadIdx.x < 2) ptx::mbarrier_arrive_remote(&released, threadIdx.x);
  while (!ptx::mbarrier_try_wait_parity(&released, 0)) {
  }
  ptx::cluster_arrive();
  ptx::cluster_wait();
#else
  (void)from, (void)seen;
#endif
}

// One warpgroup hands a number to the other through a named barrier, with other shares of
// registers.
__global__ void __launch_bounds__(256, 1) warpgroups_kernel(int* out) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  __shared__ int number[128];
  if (threadIdx.x < 128) {
    ptx::setmaxnreg_dec<24>();
    number[threadIdx.x] = threadIdx.x + 5;
    ptx::named_barrier_arrive(1, 256);
  } else {
    ptx::setmaxnreg_inc<232>();
    ptx::named_barrier_sync(1, 256);
    out[threadIdx.x - 128] = number[255 - threadIdx.x];
  }
#else
  (void)out;
#endif
}

// The copy engine brings `in` in two halves, which complete one phase of the barrier each.
__global__ void bulk_copy_kernel(const float* in, float* out) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  __shared__ alignas(128) float tile[kNumbers];
  __shared__ alignas(8) std::uint64_t arrived;
  constexpr int kHalf = kNumbers / 2;
  constexpr std::uint32_t kBytes = kHalf * sizeof(float);
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&arrived, 1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  for (int half = 0; half < 2; ++half) {
    if (threadIdx.x == 0) {
      ptx::mbarrier_arrive_expect_tx(&arrived, kBytes);
      ptx::cp_async_bulk(tile + half * kHalf, in + half * kHalf, kBytes, &arrived);
    }
    while (!ptx::mbarrier_try_wait_parity(&arrived, half)) {
    }
    // A parity names every second phase: nobody may still wait for this one when the next is over.
    __syncthreads();
  }
  for (int i = threadIdx.x; i < kNumbers; i += blockDim.x) out[i] = tile[i];
#else
  (void)in, (void)out;
#endif
}

// Every thread arrives once; what it wrote before must be seen by all that saw the phase complete.
__global__ void arrive_kernel(int* out) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  __shared__ int written[kNumbers];
  __shared__ alignas(8) std::uint64_t all;
  if (threadIdx.x == 0) ptx::mbarrier_init(&all, kNumbers);
  __syncthreads();
  written[threadIdx.x] = 3 * threadIdx.x;
  ptx::mbarrier_arrive(&all);
  // Half of the threads ask one way, half the other: the answer must be the same.
  const bool asks_again = threadIdx.x % 2 == 0;
  while (!(asks_again ? ptx::mbarrier_test_wait_parity(&all, 0)
                      : ptx::mbarrier_try_wait_parity(&all, 0))) {
  }
  out[threadIdx.x] = written[(threadIdx.x + 97) % kNumbers];
#else
  (void)out;
#endif
}

bool has_sm_90() { return bench::query_device().compute_capability() >= 90; }

// A tensor whose element (row, column) is a small number of its own.
template <class T>
kit::DeviceBuffer<T> numbered(int rows, int cols) {
  std::vector<T> values(rows * cols);
  for (int i = 0; i < rows * cols; ++i) values[i] = T(1.0f * (i * 37 % 251));
  kit::DeviceBuffer<T> buffer(values.size());
  CUDA_CHECK(cudaMemcpy(buffer.data(), values.data(), buffer.bytes(), cudaMemcpyHostToDevice));
  return buffer;
}
float value_at(int row, int col, int cols) { return 1.0f * ((row * cols + col) * 37 % 251); }

template <class T>
CUtensorMap map_of(const kit::DeviceBuffer<T>& tensor, std::uint64_t rows, std::uint64_t cols) {
  return kit::tensor_map(tensor.data(), {cols, rows}, {2 * cols}, {kCols, kRows});
}

template <class T>
std::vector<T> on_host(const kit::DeviceBuffer<T>& buffer) {
  std::vector<T> values(buffer.size());
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaMemcpy(values.data(), buffer.data(), buffer.bytes(), cudaMemcpyDeviceToHost));
  return values;
}

template <class T>
void check_box() {
  const auto from = numbered<T>(kTensorRows, kTensorCols);
  const auto from_map = map_of(from, kTensorRows, kTensorCols);
  const kit::DeviceBuffer<T> to(kTensorRows * kTensorCols), d_seen(kRows * kCols);
  CUDA_CHECK(cudaMemset(to.data(), 0, to.bytes()));
  for (const int c0 : {0, 64}) {
    for (const int c1 : {0, 32}) {
      box_kernel<<<1, 128>>>(from_map, map_of(to, kTensorRows, kTensorCols), c0, c1, d_seen.data());
      const std::vector<T> seen = on_host(d_seen);
      int wrong = 0;
      for (int row = 0; row < kRows; ++row) {
        for (int col = 0; col < kCols; ++col) {
          const bool inside = c1 + row < kTensorRows && c0 + col < kTensorCols;
          const float expected = inside ? value_at(c1 + row, c0 + col, kTensorCols) : 0;
          const int at = row * kCols + ((col / 8) ^ (row % 8)) * 8 + col % 8;
          wrong += static_cast<float>(seen[at]) != expected;
        }
      }
      CHECK(wrong == 0);
    }
  }
  const std::vector<T> stored = on_host(to);
  int wrong = 0;
  for (int i = 0; i < kTensorRows * kTensorCols; ++i) {
    wrong += static_cast<float>(stored[i]) != -value_at(0, i, kTensorCols);
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("cp.async.bulk brings the bytes before its barrier opens, phase after phase") {
  if (!has_sm_90()) SKIP_TEST("needs sm_90");
  std::vector<float> in(kNumbers), out(kNumbers);
  for (int i = 0; i < kNumbers; ++i) in[i] = 0.5f * i - 7;
  const kit::DeviceBuffer<float> d_in(kNumbers), d_out(kNumbers);
  CUDA_CHECK(cudaMemcpy(d_in.data(), in.data(), d_in.bytes(), cudaMemcpyHostToDevice));
  bulk_copy_kernel<<<1, 128>>>(d_in.data(), d_out.data());
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaMemcpy(out.data(), d_out.data(), d_out.bytes(), cudaMemcpyDeviceToHost));
  CHECK(out == in);
}

TEST_CASE("mbarrier.arrive holds everybody until the last has come") {
  if (!has_sm_90()) SKIP_TEST("needs sm_90");
  std::vector<int> out(kNumbers);
  const kit::DeviceBuffer<int> d_out(kNumbers);
  arrive_kernel<<<1, kNumbers>>>(d_out.data());
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaMemcpy(out.data(), d_out.data(), d_out.bytes(), cudaMemcpyDeviceToHost));
  for (int i = 0; i < kNumbers; ++i) CHECK(out[i] == 3 * ((i + 97) % kNumbers));
}

TEST_CASE("a box arrives swizzled, with zeros outside the tensor, and leaves without them") {
  if (!has_sm_90()) SKIP_TEST("needs sm_90");
  SECTION("bf16") { check_box<bf16>(); }
  SECTION("fp16") { check_box<__half>(); }
}

TEST_CASE("cp.async.bulk takes pieces of shared memory to global memory") {
  if (!has_sm_90()) SKIP_TEST("needs sm_90");
  const kit::DeviceBuffer<int> d_out(128);
  bulk_store_kernel<<<1, 128>>>(d_out.data());
  const std::vector<int> out = on_host(d_out);
  for (int i = 0; i < 128; ++i) CHECK(out[i] == 3 * ((i + 64) % 128) + 1);
}

TEST_CASE("a multicast reaches both blocks of a cluster") {
  if (!has_sm_90()) SKIP_TEST("needs sm_90");
  const auto from = numbered<bf16>(2 * kRows, kCols);
  const kit::DeviceBuffer<bf16> d_seen(4 * kRows * kCols);
  cudaLaunchAttribute cluster;
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {2, 1, 1};
  cudaLaunchConfig_t config = {};
  config.gridDim = 2;
  config.blockDim = 128;
  config.attrs = &cluster;
  config.numAttrs = 1;
  CUDA_CHECK(
      cudaLaunchKernelEx(&config, multicast_kernel, map_of(from, 2 * kRows, kCols), d_seen.data()));
  const std::vector<bf16> seen = on_host(d_seen);
  int wrong = 0;
  for (int rank = 0; rank < 2; ++rank) {
    for (int row = 0; row < 2 * kRows; ++row) {
      for (int col = 0; col < kCols; ++col) {
        const int at = (rank * 2 * kRows + row) * kCols + ((col / 8) ^ (row % 8)) * 8 + col % 8;
        wrong += __bfloat162float(seen[at]) != value_at(row, col, kCols);
      }
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("warpgroups meet at a named barrier after sharing out the registers anew") {
  if (bench::query_device().compute_capability() != 90) SKIP_TEST("needs sm_90a");
  const kit::DeviceBuffer<int> d_out(128);
  warpgroups_kernel<<<1, 256>>>(d_out.data());
  const std::vector<int> out = on_host(d_out);
  for (int i = 0; i < 128; ++i) CHECK(out[i] == 127 - i + 5);
}

TEST_CASE("a pitch that the copy engine cannot take is refused") {
  const auto base = reinterpret_cast<const bf16*>(std::uintptr_t{1024});
  if (!has_sm_90()) SKIP_TEST("needs sm_90");
  CHECK_THROWS_AS(kit::tensor_map(base, {20, 8}, {40}, {16, 8}), std::runtime_error);
}
