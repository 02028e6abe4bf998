// --sweep launch: what the first launch of a kernel takes, and the ones after it.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

#include "01_vector_add/problem.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/report.hpp"
#include "common/bench/settings.hpp"
#include "common/bench/variant.cuh"
#include "common/kit/check.cuh"
#include "common/kit/cpu_timer.hpp"
#include "common/kit/device_buffer.cuh"
#include "common/kit/gpu_timer.cuh"

namespace vector_add {

// Nothing but this sweep launches it, so its machine code is loaded here.
__global__ void vector_add_first_launch_kernel(const float* x, float* y, std::int64_t n) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + y[i];
}

// Milliseconds between two events around each of four launches, and until the host knows its end.
inline bench::Shown sweep_launch(const bench::RunSettings& run, const bench::Settings& settings,
                                 const std::vector<bench::Variant<VectorAdd>>&) {
  if (!run.device.available) return {"--sweep launch needs a GPU: " + run.device.reason + "\n"};
  const std::int64_t n = settings["n"];
  const kit::DeviceBuffer<float> x(n), y(n);
  CUDA_CHECK(cudaMemset(x.data(), 0, x.bytes()));
  CUDA_CHECK(cudaMemset(y.data(), 0, y.bytes()));
  CUDA_CHECK(cudaDeviceSynchronize());
  bench::Sweep sweep{VectorAdd::name, "launch", {"launch", "events_ms", "host_ms"}, {}};
  kit::GpuTimer events;
  kit::CpuTimer host;
  for (int launch = 1; launch <= 4; ++launch) {
    host.start();
    events.start();
    vector_add_first_launch_kernel<<<(n + 255) / 256, 256>>>(x.data(), y.data(), n);
    CUDA_CHECK(cudaGetLastError());
    events.stop();
    const double events_ms = events.elapsed_ms();
    sweep.points.push_back({static_cast<double>(launch), events_ms, host.elapsed_ms()});
  }
  return {sweep};
}

}  // namespace vector_add
