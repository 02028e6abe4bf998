// --sweep block: how many threads per block? --sweep pieces: how many elements per thread?
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "01_vector_add/03_cuda.cuh"
#include "01_vector_add/10_coarsened.cuh"
#include "01_vector_add/problem.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/lines.hpp"
#include "common/bench/settings.hpp"
#include "common/kit/check.cuh"

namespace vector_add {

// Of all threads an SM can hold, the part that blocks of this size fill, in percent. Blocks are
// whole: an SM for 2048 threads takes two blocks of 700, which leaves 31.64 % of it empty. (Nsight
// counts warps, 44 of 64: 31.25 %.)
inline double occupancy_percent(int block, const bench::DeviceFacts& device) {
  int blocks = 0;
  CUDA_CHECK(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, vector_add_cuda_kernel, block, 0));
  return 100.0 * blocks * block / device.max_threads_per_multiprocessor;
}

// `cuda`'s kernel for each block size, beside the occupancy it allows and the runtime's proposal.
inline bench::Shown sweep_block(const bench::RunSettings& run, const bench::Settings& settings,
                                const std::vector<bench::Variant<VectorAdd>>&) {
  VectorAdd problem(settings["n"], run.seed);
  const std::vector<int> blocks = {32, 64, 96, 128, 192, 256, 384, 512, 700, 768, 1024};
  std::vector<bench::Variant<VectorAdd>> variants;
  for (const int block : blocks) {
    variants.push_back(bench::device_variant<VectorAdd>(
        std::to_string(block) + " threads", "", [block](VectorAdd& p, cudaStream_t stream) {
          const std::int64_t grid = (p.n + block - 1) / block;
          vector_add_cuda_kernel<<<grid, block, 0, stream>>>(p.x.device_data(), p.y.device_data(),
                                                             p.n);
          CUDA_CHECK(cudaGetLastError());
        }));
  }
  const std::vector<double> ms = bench::time_sweep(run, problem, variants);

  bench::Sweep sweep{VectorAdd::name, "block", {"block", "occupancy", "median_ms", "gbps"}, {}};
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    sweep.points.push_back({static_cast<double>(blocks[i]),
                            occupancy_percent(blocks[i], run.device), ms[i],
                            problem.bytes() / (1e6 * ms[i])});
  }
  int grid = 0, block = 0;
  CUDA_CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, vector_add_cuda_kernel));
  return {sweep,
          bench::formatted("cudaOccupancyMaxPotentialBlockSize proposes %d threads per block and "
                           "%d blocks or more: full occupancy\n",
                           block, grid)};
}

template <int kPieces>
bench::Variant<VectorAdd> floats_per_thread() {
  return bench::device_variant<VectorAdd>(
      std::to_string(kPieces) + " x float", "", [](VectorAdd& p, cudaStream_t stream) {
        launch_coarsened<float, kPieces>(p.x.device_data(), p.y.device_data(), p.n, stream);
      });
}

template <int kPieces>
bench::Variant<VectorAdd> vectors_per_thread() {
  return bench::device_variant<VectorAdd>(
      std::to_string(kPieces) + " x float4", "", [](VectorAdd& p, cudaStream_t stream) {
        launch_coarsened<float4, kPieces>(reinterpret_cast<const float4*>(p.x.device_data()),
                                          reinterpret_cast<float4*>(p.y.device_data()), p.n / 4,
                                          stream);
      });
}

// `coarsened`'s kernel for several numbers of pieces, as floats and as float4.
inline bench::Shown sweep_pieces(const bench::RunSettings& run, const bench::Settings& settings,
                                 const std::vector<bench::Variant<VectorAdd>>&) {
  if (settings["n"] % 4 != 0)
    throw bench::UsageError("--sweep pieces: --n must be a multiple of 4");
  VectorAdd problem(settings["n"], run.seed);
  const std::vector<bench::Variant<VectorAdd>> variants = {
      floats_per_thread<1>(),  floats_per_thread<2>(),  floats_per_thread<3>(),
      floats_per_thread<4>(),  floats_per_thread<6>(),  floats_per_thread<8>(),
      vectors_per_thread<1>(), vectors_per_thread<2>(), vectors_per_thread<4>()};
  const std::vector<std::pair<double, double>> shapes = {
      // pieces, bytes of a piece
      {1, 4}, {2, 4}, {3, 4}, {4, 4}, {6, 4}, {8, 4}, {1, 16}, {2, 16}, {4, 16}};
  const std::vector<double> ms = bench::time_sweep(run, problem, variants);

  bench::Sweep sweep{VectorAdd::name, "pieces", {"pieces", "bytes_each", "median_ms", "gbps"}, {}};
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    sweep.points.push_back(
        {shapes[i].first, shapes[i].second, ms[i], problem.bytes() / (1e6 * ms[i])});
  }
  return {sweep};
}

}  // namespace vector_add
