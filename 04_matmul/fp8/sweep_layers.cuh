// --sweep layers: layers of language models, from one token to 4096, beside cuBLASLt.
//
// Products of few rows take as long as it takes to ask for them, so calls stand in a CUDA graph,
// one after the other, each with another copy of A and B: these come from memory.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "04_matmul/shape.hpp"
#include "04_matmul/study/sweeps.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/measure.hpp"
#include "common/bench/memory_need.hpp"
#include "common/bench/repeated_calls.cuh"
#include "common/bench/settings.hpp"
#include "common/bench/variant.cuh"
#include "common/bench/verify.cuh"
#include "common/kit/check.cuh"

namespace matmul::fp8 {

// m, n and k: layers of Llama's models for few tokens, DeepSeek-V3's for few and many; and three
// shapes of few tiles.
inline std::vector<Shape> layers_of_models() {
  std::vector<Shape> shapes;
  const std::vector<Shape> few = {{0, 4096, 4096},  {0, 11008, 4096}, {0, 4096, 11008},
                                  {0, 14336, 4096}, {0, 4096, 14336}, {0, 28672, 8192}};
  for (const Shape& s : few) {
    for (const std::int64_t m : {1, 16, 32, 64, 128}) shapes.push_back({m, s.n, s.k});
  }
  const std::vector<Shape> many = {{0, 2112, 7168},  {0, 576, 7168},  {0, 24576, 1536},
                                   {0, 7168, 16384}, {0, 4096, 7168}, {0, 7168, 2048}};
  for (const Shape& s : many) {
    for (const std::int64_t m : {64, 256, 1024, 4096}) {
      if (m < 4096 || s.n * s.k < 7168 * 16384) shapes.push_back({m, s.n, s.k});  // see fp8_deep
    }
  }
  shapes.insert(shapes.end(), {{512, 4096, 7168}, {1024, 1024, 1024}, {1024, 2048, 4096}});
  return shapes;
}

// Microseconds of the chooser, of the library and of reading B alone; how many times as fast as the
// library the chooser is, and what part of its time reading takes. Each was right before it is
// timed.
template <class Problem>
bench::Shown sweep_layers(const bench::RunSettings& run, const bench::Settings& settings,
                          const std::vector<bench::Variant<Problem>>& variants) {
  refuse_sizes(settings);
  const bool is_real_gpu = run.device.is_real_gpu();
  std::vector<Shape> shapes = layers_of_models();
  if (!is_real_gpu) shapes = {{1, 256, 256}, {40, 128, 512}};
  if (is_real_gpu) bench::require_memory(Problem::memory({128, 28672, 8192}), run.device);
  const bench::WorkStream stream(run.device);
  bench::Sweep sweep{Problem::name, "layers", {"m", "n", "k"}, {}};
  std::vector<bench::Variant<Problem>> compared;
  Problem smallest({16, 128, 128}, run.seed, is_real_gpu);
  for (const auto& variant : variants) {
    const bool is_rung = variant.kind == bench::Kind::baseline || variant.kind == bench::Kind::rung;
    if (is_rung) continue;
    const auto verdict = bench::verify(smallest, variant, run.device, stream.get());
    if (verdict.status == bench::Status::skipped) continue;
    compared.push_back(variant);
    sweep.columns.push_back(variant.name + "_us");
  }
  if (compared.empty()) return {};
  sweep.columns.insert(sweep.columns.end(), {"over_cublaslt", "of_reading"});
  for (const Shape& shape : shapes) {
    Problem problem(shape, run.seed, is_real_gpu);
    const int repeats = is_real_gpu ? 20 : 1;
    std::vector<std::unique_ptr<bench::RepeatedCalls>> calls;
    for (const auto& variant : compared) {
      run.progress("checking " + variant.name + " at " + std::to_string(shape.m) + " x " +
                   std::to_string(shape.n) + " x " + std::to_string(shape.k));
      const auto verdict = bench::verify(problem, variant, run.device, stream.get());
      if (verdict.status != bench::Status::right) {
        calls.push_back(nullptr);
        if (verdict.status == bench::Status::skipped) continue;
        throw std::runtime_error(variant.name + ": " + verdict.reason);
      }
      const auto ask = [&problem, &variant, &stream, repeats] {
        for (int i = 0; i < repeats; ++i) {
          problem.rotate(i);
          variant.run(problem, stream.get());
        }
      };
      ask();  // what is made once is made now
      CUDA_CHECK(cudaStreamSynchronize(stream.get()));
      calls.push_back(
          std::make_unique<bench::RepeatedCalls>(repeats, is_real_gpu, stream.get(), ask));
    }
    // In turns, so that all meet the same clocks; the first turn warms up.
    const int turns = is_real_gpu ? 15 : 1;
    std::vector<std::vector<double>> samples(compared.size());
    for (int turn = 0; turn <= turns; ++turn) {
      for (std::size_t i = 0; i < calls.size(); ++i) {
        if (calls[i] == nullptr) continue;
        const double ms = calls[i]->sample_ms();
        if (turn > 0) samples[i].push_back(ms);
      }
    }
    std::vector<double> point = {static_cast<double>(shape.m), static_cast<double>(shape.n),
                                 static_cast<double>(shape.k)};
    double ours = std::nan(""), library = ours, reading = ours;
    for (std::size_t i = 0; i < compared.size(); ++i) {
      const double ms = samples[i].empty() ? std::nan("") : bench::summarize(samples[i]).median_ms;
      point.push_back(1e3 * ms);
      if (compared[i].name == "chosen") ours = ms;
      if (compared[i].name == "cublaslt") library = ms;
      if (compared[i].name == "read_only") reading = ms;
    }
    point.insert(point.end(), {library / ours, reading / ours});
    sweep.points.push_back(point);
  }
  run.progress("");
  return {sweep};
}

}  // namespace matmul::fp8
