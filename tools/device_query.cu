// Prints what the current CUDA device is; `make doctor` ends with it.
#include <cstdio>

#include "common/device_facts.cuh"

int main() {
  const common::DeviceFacts device = common::query_device();
  if (!device.available) {
    std::printf("no CUDA device: %s\n", device.reason.c_str());
    return 0;
  }
  const auto row = [](const char* what, double value, const char* unit) {
    if (value > 0) std::printf("  %-38s %12.10g %s\n", what, value, unit);
  };
  std::printf("%s\n", device.name.c_str());
  row("compute capability", device.compute_capability() / 10.0, "");
  row("CUDA runtime", device.runtime_version / 1000.0, "");
  row("driver supports CUDA up to", device.driver_version / 1000.0, "");
  row("multiprocessors (SMs)", device.multiprocessors, "");
  row("threads per SM, at most", device.max_threads_per_multiprocessor, "");
  row("registers per SM", device.registers_per_multiprocessor, "x 32 bits");
  row("shared memory per SM", device.shared_bytes_per_multiprocessor / 1024.0, "KiB");
  row("shared memory per block", device.shared_bytes_per_block / 1024.0, "KiB");
  row("shared memory per block, on request", device.shared_bytes_per_block_optin / 1024.0, "KiB");
  row("L2 cache", device.l2_bytes / 1048576.0, "MiB");
  row("device memory", device.memory_bytes / 1073741824.0, "GiB");
  row("SM clock, at most", device.clock_ghz * 1000, "MHz");
  row("peak memory bandwidth", device.peak_bandwidth_gbps, "GB/s");
  row("peak fp32 rate", device.peak_fp32_gflops / 1000, "TFLOP/s");
  return 0;
}
