// What the current device is and the most it can do, from attributes the runtime still answers:
// CUDA 13 removed clock rates from cudaDeviceProp, cudaDeviceGetAttribute kept them.
#pragma once

#include <cstdint>
#include <string>

#include "common/bench/code_facts.cuh"
#include "common/kit/check.cuh"

namespace bench {

struct DeviceFacts {
  bool available = false;
  std::string reason;  // why not, if not available
  std::string name;
  int major = 0;  // compute capability
  int minor = 0;
  int multiprocessors = 0;
  int max_threads_per_multiprocessor = 0;
  int registers_per_multiprocessor = 0;
  int shared_bytes_per_multiprocessor = 0;
  int shared_bytes_per_block = 0;  // without asking for more
  int shared_bytes_per_block_optin = 0;
  int l2_bytes = 0;
  double memory_bytes = 0;
  double clock_ghz = 0;            // of the multiprocessors, boost; 0 if unknown
  double peak_bandwidth_gbps = 0;  // device memory, 1e9 bytes a second; 0 if unknown
  double peak_fp32_gflops = 0;     // multiply-add counts two; 0 if unknown
  int runtime_version = 0;         // 13000 means 13.0
  int driver_version = 0;
  bool concurrent_managed = false;  // CPU and GPU may touch managed memory at the same time
  CodeFacts code;                   // what this program holds for the device

  int compute_capability() const { return 10 * major + minor; }
  // False for a model GPU, whose kernels run on the CPU: it has no clock, no caches, and no
  // instructions but CUDA's own.
  bool is_real_gpu() const { return available && clock_ghz > 0; }
};

// fp32 multiply-add units of one multiprocessor (CUDA C++ Programming Guide, table "Throughput of
// native arithmetic instructions"). 0 for a chip newer than this table.
inline int fp32_units(int compute_capability) {
  switch (compute_capability) {
    case 70:
    case 72:
    case 75:
    case 80: return 64;
    case 86:
    case 87:
    case 89:
    case 90:
    case 100:
    case 103:
    case 120:
    case 121: return 128;
    default: return 0;
  }
}

// Text of a version number as the runtime encodes it: 13000 -> "13.0".
inline std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// The most bf16 or fp16 operations a second of the tensor cores, in 1e9, sums in fp32, no sparsity;
// a multiply-add counts two. 0 if unknown. Per SM and clock: NVIDIA's architecture whitepapers of
// A100, GA102, AD102, H100, Blackwell (peak rates over SMs and boost clocks). GeForce cards add up
// in fp32 at half the rate of the professional cards with the same chip.
inline double peak_bf16_gflops(const DeviceFacts& device) {
  const bool halved = device.name.find("GeForce") != std::string::npos;
  const auto per_clock = [&] {
    switch (device.compute_capability()) {
      case 80: return 2048;
      case 86:
      case 89:
      case 120:
      case 121: return halved ? 512 : 1024;
      case 90: return 4096;
      case 100:
      case 103: return 8192;
      default: return 0;
    }
  };
  return per_clock() * device.clock_ghz * device.multiprocessors;
}

// Facts about the current device, or the reason why there is none. Never throws for lack of a GPU.
inline DeviceFacts query_device() {
  DeviceFacts facts;
  CUDA_CHECK(cudaRuntimeGetVersion(&facts.runtime_version));
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    cudaGetLastError();
    facts.reason = status != cudaSuccess ? cudaGetErrorString(status) : "no CUDA device";
    return facts;
  }
  facts.available = true;
  CUDA_CHECK(cudaDriverGetVersion(&facts.driver_version));

  int device = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  cudaDeviceProp properties;
  CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
  facts.name = properties.name;
  facts.memory_bytes = static_cast<double>(properties.totalGlobalMem);

  const auto attribute = [device](cudaDeviceAttr which) {
    int value = 0;
    CUDA_CHECK(cudaDeviceGetAttribute(&value, which, device));
    return value;
  };
  facts.major = attribute(cudaDevAttrComputeCapabilityMajor);
  facts.minor = attribute(cudaDevAttrComputeCapabilityMinor);
  facts.multiprocessors = attribute(cudaDevAttrMultiProcessorCount);
  facts.max_threads_per_multiprocessor = attribute(cudaDevAttrMaxThreadsPerMultiProcessor);
  facts.registers_per_multiprocessor = attribute(cudaDevAttrMaxRegistersPerMultiprocessor);
  facts.shared_bytes_per_multiprocessor = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  facts.shared_bytes_per_block = attribute(cudaDevAttrMaxSharedMemoryPerBlock);
  facts.shared_bytes_per_block_optin = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  facts.l2_bytes = attribute(cudaDevAttrL2CacheSize);
  facts.concurrent_managed = attribute(cudaDevAttrConcurrentManagedAccess) != 0;
  facts.code = query_code();

  // kHz and bits; two transfers per clock (double data rate).
  const double memory_hz = 1e3 * attribute(cudaDevAttrMemoryClockRate);
  const double bus_bytes = attribute(cudaDevAttrGlobalMemoryBusWidth) / 8.0;
  facts.peak_bandwidth_gbps = 2.0 * memory_hz * bus_bytes / 1e9;
  facts.clock_ghz = attribute(cudaDevAttrClockRate) / 1e6;
  facts.peak_fp32_gflops =
      2.0 * facts.clock_ghz * fp32_units(facts.compute_capability()) * facts.multiprocessors;
  return facts;
}

}  // namespace bench
