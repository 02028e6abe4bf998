// common/kit/cpu_timer.hpp, common/kit/gpu_timer.cuh, common/bench/l2_flush.cuh: what a sample is
// measured with.
#include <chrono>
#include <thread>

#include "common/bench/device_facts.cuh"
#include "common/bench/l2_flush.cuh"
#include "common/kit/check.cuh"
#include "common/kit/cpu_timer.hpp"
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

// Writes every byte of a large range, so that the time cannot be zero.
TEST_CASE("the GPU timer measures the work between its events") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  constexpr std::size_t kBytes = 64 << 20;
  void* data = nullptr;
  CUDA_CHECK(cudaMalloc(&data, kBytes));
  kit::GpuTimer timer;
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
