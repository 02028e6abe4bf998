// --sweep block: how many threads should a block have? Times rung 3's kernel for each block size,
// beside the occupancy it allows and the size that the runtime proposes.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <functional>
#include <vector>

#include "01_vector_add/03_cuda.cuh"
#include "01_vector_add/problem.cuh"
#include "common/cuda_check.cuh"
#include "common/harness.cuh"
#include "common/program.cuh"

// Of all threads an SM can hold, the part that blocks of this size fill, in percent. Blocks are
// whole: an SM for 2048 threads takes two blocks of 700, which leaves 31.65 % of it empty.
inline double occupancy_percent(int block, const common::DeviceFacts& device) {
  int blocks = 0;
  CUDA_CHECK(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, vector_add_cuda_kernel, block, 0));
  return 100.0 * blocks * block / device.max_threads_per_multiprocessor;
}

inline void sweep_block(common::Program& program, VectorAdd& problem) {
  const common::DeviceFacts& device = program.device();
  if (!device.available) throw common::UsageError("--sweep block needs a GPU: " + device.reason);
  const common::WorkStream stream(device);
  problem.each_array([](auto& array) { array.reset(common::Side::device); });
  CUDA_CHECK(cudaDeviceSynchronize());

  const std::vector<int> blocks = {32, 64, 96, 128, 192, 256, 384, 512, 700, 768, 1024};
  std::vector<common::Variant<VectorAdd>> variants;
  for (const int block : blocks) {
    variants.push_back(common::on_device<VectorAdd>(
        "block " + std::to_string(block), "", [block](VectorAdd& p, cudaStream_t s) {
          const std::int64_t grid = (p.n + block - 1) / block;
          vector_add_cuda_kernel<<<grid, block, 0, s>>>(p.x.on_device(), p.y.on_device(), p.n);
          CUDA_CHECK(cudaGetLastError());
        }));
  }
  std::vector<common::Row> rows(blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    rows[i].name = variants[i].name;
    rows[i].verdict = common::verify(problem, variants[i], device, stream.get());
    if (rows[i].verdict.status != common::Status::right) {
      throw std::runtime_error(rows[i].name + ": " + rows[i].verdict.reason);
    }
  }
  common::time_variants(program, problem, variants, stream.get(), rows);

  int proposed_grid = 0, proposed_block = 0;
  CUDA_CHECK(
      cudaOccupancyMaxPotentialBlockSize(&proposed_grid, &proposed_block, vector_add_cuda_kernel));
  common::Sweep sweep;
  sweep.problem = VectorAdd::name;
  sweep.name = "block";
  sweep.columns = {"block", "occupancy %", "median_ms", "gbps"};
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const double ms = rows[i].timing.median_ms;
    sweep.points.push_back({static_cast<double>(blocks[i]), occupancy_percent(blocks[i], device),
                            ms, problem.bytes() / (1e6 * ms)});
  }
  program.progress("");
  program.add(sweep);
  std::printf("cudaOccupancyMaxPotentialBlockSize proposes blocks of %d threads, %d of them\n",
              proposed_block, proposed_grid);
}
