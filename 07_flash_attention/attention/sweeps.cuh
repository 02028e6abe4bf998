// --sweep n: how the rungs and their peer do as sequences get longer.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "07_flash_attention/attention/problem.cuh"
#include "common/harness.cuh"
#include "common/program.cuh"
#include "common/variant.cuh"

// TFLOP/s of those of `variants` that run on the device, for sequences of 1024 to 16384 tokens, all
// of 16384 tokens together, and heads of 2048 elements together: the shapes that the papers
// measure. Where the CPU runs the kernels, sequences of 16 to 64 tokens will do.
template <class T>
void sweep_n(common::Program& program, int d, bool causal,
             const std::vector<common::Variant<Attention<T>>>& variants) {
  const bool times_are_real = program.device().keeps_time();
  const std::int64_t tokens = times_are_real ? 16384 : 64;
  const std::int64_t heads = times_are_real ? 2048 / d : 1;
  std::vector<common::Variant<Attention<T>>> on_device;
  common::Sweep sweep{Attention<T>::name, "n", {"n"}, {}};
  for (const auto& variant : variants) {
    if (variant.place != common::Place::device) continue;
    on_device.push_back(variant);
    sweep.columns.push_back(variant.name);
  }
  if (on_device.empty()) return;
  if (!program.device().available) {
    throw common::UsageError("a sweep needs a GPU: " + program.device().reason);
  }
  const common::WorkStream stream(program.device());
  for (std::int64_t n = tokens / 16; n <= tokens; n *= 2) {
    const AttentionShape shape{tokens / n, heads, n, n, d, causal};
    program.require_memory(Attention<T>::host_bytes(shape), Attention<T>::device_bytes(shape));
    Attention<T> problem(shape, program.seed(), 1, times_are_real);
    auto rows = common::verify_variants(program, problem, on_device, stream.get());
    common::time_variants(program, problem, on_device, stream.get(), rows);
    std::vector<double> point = {static_cast<double>(n)};
    for (const common::Row& row : rows) {
      if (row.verdict.status == common::Status::wrong) {
        throw std::runtime_error(row.name + ": " + row.verdict.reason);
      }
      const bool timed = row.timing.samples > 0;
      point.push_back(timed ? shape.flops() / (1e9 * row.timing.median_ms) : common::kUnknown);
    }
    sweep.points.push_back(point);
  }
  program.progress("");
  program.add(sweep);
}
