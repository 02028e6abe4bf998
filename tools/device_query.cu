// Prints what the current CUDA device is; `make doctor` ends with it.
#include <cuda_runtime.h>

#include <cstdio>
#include <string>

#include "common/bench/device_facts.cuh"
#include "common/kit/check.cuh"

int main() {
  const bench::DeviceFacts device = bench::query_device();
  if (!device.available) {
    std::printf("no CUDA device: %s\n", device.reason.c_str());
    return 0;
  }
  const auto text_row = [](const char* what, const std::string& text) {
    std::printf("  %-38s %8s\n", what, text.c_str());
  };
  const auto row = [](const char* what, double value, const char* unit) {
    if (value > 0) std::printf("  %-38s %8.*f %s\n", what, value < 100 ? 1 : 0, value, unit);
  };
  const auto count_row = [](const char* what, int value, const char* unit = "") {
    std::printf("  %-38s %8d%s%s\n", what, value, *unit ? " " : "", unit);
  };
  std::printf("%s\n", device.name.c_str());
  text_row("compute capability", std::to_string(device.major) + "." + std::to_string(device.minor));
  text_row("CUDA runtime", bench::version_text(device.runtime_version));
  text_row("driver supports CUDA up to", bench::version_text(device.driver_version));
  int devices = 0, current = 0;
  CUDA_CHECK(cudaGetDeviceCount(&devices));
  CUDA_CHECK(cudaGetDevice(&current));
  cudaDeviceProp properties{};
  CUDA_CHECK(cudaGetDeviceProperties(&properties, current));
  const auto sizes_row = [](const char* what, const int(&sizes)[3]) {
    std::printf("  %-38s %d x %d x %d\n", what, sizes[0], sizes[1], sizes[2]);
  };
  count_row("devices in this machine", devices);
  count_row("threads per block, at most", properties.maxThreadsPerBlock);
  sizes_row("threads of a block, in x, y, z", properties.maxThreadsDim);
  sizes_row("blocks of a grid, in x, y, z", properties.maxGridSize);
  count_row("multiprocessors (SMs)", device.multiprocessors);
  count_row("threads per SM, at most", device.max_threads_per_multiprocessor);
  count_row("registers per SM", device.registers_per_multiprocessor, "of 32 bits");
  count_row("shared memory per SM", device.shared_bytes_per_multiprocessor / 1024, "KiB");
  count_row("shared memory per block", device.shared_bytes_per_block / 1024, "KiB");
  count_row("shared memory per block, on request", device.shared_bytes_per_block_optin / 1024,
            "KiB");
  row("L2 cache", device.l2_bytes / 1048576.0, "MiB");
  row("device memory", device.memory_bytes / 1073741824.0, "GiB");
  row("SM clock, at most", device.clock_ghz * 1000, "MHz");
  row("peak memory bandwidth", device.peak_bandwidth_gbps, "GB/s");
  row("peak fp32 rate", device.peak_fp32_gflops / 1000, "TFLOP/s");
  return 0;
}
