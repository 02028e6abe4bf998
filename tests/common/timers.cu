// common/kit/cpu_timer.hpp, common/kit/gpu_timer.cuh, common/bench/l2_flush.cuh: what a sample is
// measured with.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <thread>
#include <vector>

#include "common/bench/device_facts.cuh"
#include "common/bench/l2_flush.cuh"
#include "common/kit/check.cuh"
#include "common/kit/cpu_timer.hpp"
#include "common/kit/device_buffer.cuh"
#include "common/kit/gpu_timer.cuh"
#include "tests/catch.hpp"

TEST_CASE("the CPU timer counts milliseconds from start()") {
  kit::CpuTimer timer;
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  timer.start();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const double ms = timer.elapsed_ms();
  CHECK(ms >= 20);
  CHECK(ms < 2000);  // a busy machine may be late, but not by that much
}

TEST_CASE("the median is the middle one of the times") {
  CHECK(kit::median({5}) == 5);
  CHECK(kit::median({3, 1000, 1}) == 3);
  CHECK(kit::median({4, 2, 9, 1, 3}) == 3);
}

TEST_CASE("the CPU's median: each run is prepared, the first warms up, the rest is timed") {
  kit::CpuTimer timer;
  int prepared = 0, run = 0;
  const double ms = timer.median_ms(
      [&] {
        CHECK(prepared++ == run);
        std::this_thread::sleep_for(std::chrono::milliseconds(40));
      },
      [&] { std::this_thread::sleep_for(std::chrono::milliseconds(run++ == 0 ? 100 : 1)); });
  CHECK(run == 6);
  CHECK(ms >= 1);
  CHECK(ms < 40);  // neither the preparation nor the first run
}

TEST_CASE("what takes a second is run once") {
  kit::CpuTimer timer;
  int run = 0;
  const double ms = timer.median_ms([] {},
                                    [&] {
                                      ++run;
                                      std::this_thread::sleep_for(std::chrono::milliseconds(1001));
                                    });
  CHECK(run == 1);
  CHECK(ms >= 1001);
}

TEST_CASE("the GPU's median: a number on a GPU; without one a single run and none") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  constexpr std::size_t kBytes = 1 << 20;
  void* data = nullptr;
  CUDA_CHECK(cudaMalloc(&data, kBytes));
  kit::GpuTimer timer;
  int prepared = 0, run = 0;
  const double ms = timer.median_ms([&] { CHECK(prepared++ == run); },
                                    [&] {
                                      ++run;
                                      CUDA_CHECK(cudaMemsetAsync(data, 0, kBytes));
                                    });
  CHECK(std::isnan(ms) == !kit::kHasGpu);
  CHECK((run == 1) == !kit::kHasGpu);
  if (kit::kHasGpu) CHECK(ms > 0);
  CUDA_CHECK(cudaFree(data));
}

// Writes every byte of a large range, so that the time cannot be zero.
TEST_CASE("the GPU timer measures the work between its events") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  constexpr std::size_t kBytes = kit::kHasGpu ? 64 << 20 : 4 << 20;
  void* data = nullptr;
  CUDA_CHECK(cudaMalloc(&data, kBytes));
  kit::GpuTimer timer;
  cudaStream_t other = nullptr;
  CUDA_CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  for (const cudaStream_t stream : {cudaStream_t{}, other}) {
    const auto fill_ms = [&](int times) {
      timer.start(stream);
      for (int i = 0; i < times; ++i) CUDA_CHECK(cudaMemsetAsync(data, i, kBytes, stream));
      timer.stop(stream);
      return timer.elapsed_ms();
    };
    fill_ms(1);
    // A busy machine may be late once, but hardly three times.
    const double once = std::min({fill_ms(1), fill_ms(1), fill_ms(1)});
    CHECK(once > 0);
    CHECK(fill_ms(50) > 5 * once);
  }
  CUDA_CHECK(cudaStreamDestroy(other));
  CUDA_CHECK(cudaFree(data));
}

__device__ std::uint64_t nanoseconds() {
  std::uint64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
  return ns;
}

// One thread does nothing for so many cycles of its multiprocessor, and says how many nanoseconds
// these were by the clock of the whole chip.
__global__ void spin_kernel(long long cycles, std::uint64_t* ns) {
  const std::uint64_t begin = nanoseconds();
  const long long first = clock64();
  while (clock64() - first < cycles) continue;
  *ns = nanoseconds() - begin;
}

TEST_CASE("the GPU timer finds kernels of known length, within 2 %") {
  const bench::DeviceFacts device = bench::query_device();
  if (!device.is_real_gpu()) SKIP_TEST("needs a GPU: the clocks of a model count something else");
  const kit::DeviceBuffer<std::uint64_t> of_kernel(1);
  kit::GpuTimer timer;
  std::vector<double> to_own_clock;
  const auto spin_ms = [&](long long cycles) {  // the median of eleven
    std::vector<double> samples;
    for (int i = 0; i < 11; ++i) {
      timer.start();
      spin_kernel<<<1, 1>>>(cycles, of_kernel.data());
      CUDA_CHECK(cudaGetLastError());
      timer.stop();
      samples.push_back(timer.elapsed_ms());
      std::uint64_t ns = 0;
      CUDA_CHECK(cudaMemcpy(&ns, of_kernel.data(), sizeof ns, cudaMemcpyDeviceToHost));
      to_own_clock.push_back(samples.back() / (1e-6 * ns));
    }
    std::sort(samples.begin(), samples.end());
    return samples[5];
  };
  constexpr long long kCycles = 4'000'000;  // some 2 ms, beside which a launch is nothing
  spin_ms(kCycles);                         // the chip takes up its clock
  to_own_clock.clear();
  const double once = spin_ms(kCycles);
  CHECK(std::fabs(spin_ms(2 * kCycles) / (2 * once) - 1) < 0.02);
  CHECK(std::fabs(spin_ms(5 * kCycles) / (5 * once) - 1) < 0.02);
  std::sort(to_own_clock.begin(), to_own_clock.end());
  CHECK(std::fabs(to_own_clock[to_own_clock.size() / 2] - 1) < 0.02);
  // No clock is faster than boost, and one that works is not far below it.
  const double at_boost = 1e-6 * kCycles / device.clock_ghz;
  CHECK(once > 0.98 * at_boost);
  CHECK(once < 2 * at_boost);
}

TEST_CASE("emptying the cache runs in the stream, before the sample and not in it") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  bench::DeviceFacts facts;
  bench::L2Flush nothing(facts);  // no cache: nothing to do
  nothing.enqueue(nullptr);
  facts.l2_bytes = 64 << 20;
  bench::L2Flush flush(facts);
  kit::GpuTimer around, behind;
  double enclosing_ms = 0, empty_ms = 0;
  for (int i = 0; i < 3; ++i) {
    around.start();
    flush.enqueue(nullptr);
    behind.start();
    behind.stop();
    around.stop();
    enclosing_ms = around.elapsed_ms();
    empty_ms = behind.elapsed_ms();
  }
  CHECK(enclosing_ms > 0);
  CHECK(empty_ms < enclosing_ms / 2);
}
