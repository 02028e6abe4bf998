// common/cpu_timer.hpp and common/gpu_timer.cuh: they measure what they say.
#include <chrono>
#include <thread>

#include "common/cpu_timer.hpp"
#include "common/device_facts.cuh"
#include "common/gpu_timer.cuh"
#include "tests/catch.hpp"

TEST_CASE("the CPU timer counts milliseconds from start()") {
  common::CpuTimer timer;
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  timer.start();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const double ms = timer.elapsed_ms();
  CHECK(ms >= 20);
  CHECK(ms < 2000);  // a busy machine may be late, but not by that much
}

// Writes every byte of a large range, so that the time cannot be zero.
TEST_CASE("the GPU timer measures the work between its events") {
  if (!common::query_device().available) SKIP_TEST("needs a GPU");
  constexpr std::size_t kBytes = 64 << 20;
  void* data = nullptr;
  CUDA_CHECK(cudaMalloc(&data, kBytes));
  common::GpuTimer timer;
  const auto fill_ms = [&](int times) {
    timer.start();
    for (int i = 0; i < times; ++i) CUDA_CHECK(cudaMemsetAsync(data, i, kBytes));
    timer.stop();
    return timer.elapsed_ms();
  };
  fill_ms(1);
  const double once = fill_ms(1);
  CHECK(once > 0);
  CHECK(fill_ms(50) > 5 * once);
  CUDA_CHECK(cudaFree(data));
}
