// --sweep advice: host and device read the same managed table in turn, with and without advice.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "01_vector_add/kit/managed.cuh"
#include "01_vector_add/problem.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/report.hpp"
#include "common/bench/settings.hpp"
#include "common/bench/variant.cuh"
#include "common/kit/check.cuh"
#include "common/kit/cpu_timer.hpp"
#include "common/kit/toolkit.cuh"

namespace vector_add {

// y[i] = the sum of every gridDim.x * blockDim.x-th element of the table, from the i-th on.
__global__ void read_table_kernel(const float* table, std::int64_t n, float* y) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  float sum = 0;
  for (std::int64_t i = first; i < n; i += step) sum += table[i];
  y[first] = sum;
}

enum class Advice { none, read_mostly, accessed_by };

// Four rounds in which the device reads all of the table and then the host does; milliseconds of
// each. The table is a number of ones, so its sum is known.
inline std::vector<double> rounds_of_reading(Advice advice, std::int64_t n) {
  constexpr int kBlocks = 256, kBlock = 256, kRounds = 4;
  const std::size_t bytes = n * sizeof(float);
  require_managed(bytes);
  int device = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  float *table = nullptr, *sums = nullptr;
  CUDA_CHECK(cudaMallocManaged(&table, bytes));
  CUDA_CHECK(cudaMallocManaged(&sums, kBlocks * kBlock * sizeof(float)));
  for (std::int64_t i = 0; i < n; ++i) table[i] = 1;
  // region advice
  if (advice == Advice::read_mostly) {
    CUDA_CHECK(cudaMemAdvise(table, bytes, cudaMemAdviseSetReadMostly, kit::on_device(device)));
  } else if (advice == Advice::accessed_by) {
    CUDA_CHECK(cudaMemAdvise(table, bytes, cudaMemAdviseSetAccessedBy, kit::on_device(device)));
  }
  // endregion
  std::vector<double> ms;
  kit::CpuTimer timer;
  for (int round = 0; round < kRounds; ++round) {
    timer.start();
    read_table_kernel<<<kBlocks, kBlock>>>(table, n, sums);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    double on_host = 0;
    for (std::int64_t i = 0; i < n; ++i) on_host += table[i];
    ms.push_back(timer.elapsed_ms());
    double on_device = 0;
    for (int i = 0; i < kBlocks * kBlock; ++i) on_device += sums[i];
    const double expected = static_cast<double>(n);
    if (on_host != expected || on_device != expected) throw std::runtime_error("wrong sum");
  }
  CUDA_CHECK(cudaFree(table));
  CUDA_CHECK(cudaFree(sums));
  return ms;
}

inline bench::Shown sweep_advice(const bench::RunSettings& run, const bench::Settings& settings,
                                 const std::vector<bench::Variant<VectorAdd>>&) {
  if (!run.device.available) return {"--sweep advice needs a GPU: " + run.device.reason + "\n"};
  int device = 0, concurrent = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, device));
  if (!concurrent) return {"--sweep advice: this device or system takes no advice\n"};
  bench::Sweep sweep{
      VectorAdd::name, "advice", {"round", "none_ms", "read_mostly_ms", "accessed_by_ms"}, {}};
  const std::vector<double> none = rounds_of_reading(Advice::none, settings["n"]);
  const std::vector<double> read_mostly = rounds_of_reading(Advice::read_mostly, settings["n"]);
  const std::vector<double> accessed_by = rounds_of_reading(Advice::accessed_by, settings["n"]);
  for (std::size_t i = 0; i < none.size(); ++i) {
    sweep.points.push_back({i + 1.0, none[i], read_mostly[i], accessed_by[i]});
  }
  return {sweep};
}

}  // namespace vector_add
