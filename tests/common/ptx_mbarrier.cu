// common/kit/ptx/mbarrier.cuh: each instruction alone, on a device that has it.
#include "common/kit/ptx/mbarrier.cuh"
#include "common/kit/ptx/tma.cuh"

#include <cstdint>
#include <vector>

#include "common/bench/device_facts.cuh"
#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"
#include "tests/catch.hpp"

namespace {

constexpr int kCount = 512;  // 2 KB

// The copy engine brings `in` in two halves, which complete one phase of the barrier each.
__global__ void bulk_copy_kernel(const float* in, float* out) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  __shared__ alignas(128) float tile[kCount];
  __shared__ alignas(8) std::uint64_t arrived;
  constexpr int kHalf = kCount / 2;
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
  for (int i = threadIdx.x; i < kCount; i += blockDim.x) out[i] = tile[i];
#else
  (void)in, (void)out;
#endif
}

// Every thread arrives once; what it wrote before must be seen by all that saw the phase complete.
__global__ void arrive_kernel(int* out) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  __shared__ int written[kCount];
  __shared__ alignas(8) std::uint64_t all;
  if (threadIdx.x == 0) ptx::mbarrier_init(&all, kCount);
  __syncthreads();
  written[threadIdx.x] = 3 * threadIdx.x;
  ptx::mbarrier_arrive(&all);
  // Half of the threads ask one way, half the other: the answer must be the same.
  const bool asks_again = threadIdx.x % 2 == 0;
  while (!(asks_again ? ptx::mbarrier_test_wait_parity(&all, 0)
                      : ptx::mbarrier_try_wait_parity(&all, 0))) {
  }
  out[threadIdx.x] = written[(threadIdx.x + 97) % kCount];
#else
  (void)out;
#endif
}

bool has_sm_90() { return bench::query_device().compute_capability() >= 90; }

}  // namespace

TEST_CASE("cp.async.bulk brings the bytes before its barrier opens, phase after phase") {
  if (!has_sm_90()) SKIP_TEST("needs sm_90");
  std::vector<float> in(kCount), out(kCount);
  for (int i = 0; i < kCount; ++i) in[i] = 0.5f * i - 7;
  const kit::DeviceBuffer<float> d_in(kCount), d_out(kCount);
  CUDA_CHECK(cudaMemcpy(d_in.data(), in.data(), d_in.bytes(), cudaMemcpyHostToDevice));
  bulk_copy_kernel<<<1, 128>>>(d_in.data(), d_out.data());
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaMemcpy(out.data(), d_out.data(), d_out.bytes(), cudaMemcpyDeviceToHost));
  CHECK(out == in);
}

TEST_CASE("mbarrier.arrive holds everybody until the last has come") {
  if (!has_sm_90()) SKIP_TEST("needs sm_90");
  std::vector<int> out(kCount);
  const kit::DeviceBuffer<int> d_out(kCount);
  arrive_kernel<<<1, kCount>>>(d_out.data());
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaMemcpy(out.data(), d_out.data(), d_out.bytes(), cudaMemcpyDeviceToHost));
  for (int i = 0; i < kCount; ++i) CHECK(out[i] == 3 * ((i + 97) % kCount));
}
