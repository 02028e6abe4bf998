// What the tests of chapter 07's attention share: one variant on one problem, and many runs of it.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "07_flash_attention/attention/launch.cuh"
#include "07_flash_attention/attention/problem.cuh"
#include "07_flash_attention/attention/shape.hpp"
#include "common/harness.cuh"
#include "common/launch.cuh"
#include "tests/catch.hpp"

namespace tests {

// False where kernels run on the CPU.
inline bool times_are_real() { return common::query_device().keeps_time(); }

// Calls test(element) for an element of either 16-bit type, each time in a section of its own.
template <class Test>
void in_16_bits(Test test) {
  SECTION("bf16") { test(__nv_bfloat16{}); }
  SECTION("fp16") { test(__half{}); }
}

inline std::string text_of(const AttentionShape& s) {
  return std::to_string(s.batch) + " x " + std::to_string(s.heads) + " x " + std::to_string(s.n_q) +
         " x " + std::to_string(s.n_k) + " x " + std::to_string(s.d) + (s.causal ? ", causal" : "");
}

// The variant must be right. Skipped passes only for want of shared memory, of which some rungs
// take up to 227 KB where d is 256: a GPU that has those skips nothing.
template <class T>
void check_variant(Attention<T>& problem, const common::Variant<Attention<T>>& variant,
                   const common::DeviceFacts& device, cudaStream_t stream) {
  INFO(variant.name << ": " << text_of(problem.shape));
  const auto verdict = common::verify(problem, variant, device, stream);
  INFO(verdict.reason);
  if (verdict.status == common::Status::skipped && common::most_shared() < 227 * 1024) {
    CHECK(verdict.reason.find("of shared memory") != std::string::npos);
    return;
  }
  REQUIRE(verdict.status == common::Status::right);
  // Rows that see no key: exactly these values, whatever the bound allows.
  std::int64_t wrong = 0;
  const AttentionShape& shape = problem.shape;
  for (std::int64_t row = 0; row < shape.rows(); ++row) {
    if (shape.visible(row % shape.n_q) > 0) continue;
    wrong += problem.lse.fetched()[row] == -std::numeric_limits<float>::infinity() ? 0 : 1;
    for (int c = 0; c < shape.d; ++c) {
      wrong += to_double(problem.o.fetched()[row * shape.d + c]) == 0 ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
}

// Of `runs` runs, how many leave an O or a log-sum-exp that differs in any bit from the fetched
// ones, those of a run that was right.
template <class T>
int count_different(Attention<T>& problem, const common::Variant<Attention<T>>& variant, int runs,
                    cudaStream_t stream) {
  const std::vector<T> o(problem.o.fetched(), problem.o.fetched() + problem.o.size());
  const std::vector<float> lse(problem.lse.fetched(), problem.lse.fetched() + problem.lse.size());
  int different = 0;
  for (int run = 0; run < runs; ++run) {
    problem.o.reset(common::Side::device);
    problem.lse.reset(common::Side::device);
    CUDA_CHECK(cudaDeviceSynchronize());
    variant.run(problem, stream);
    CUDA_CHECK(cudaDeviceSynchronize());
    problem.o.fetch(common::Side::device);
    problem.lse.fetch(common::Side::device);
    const bool same =
        std::memcmp(o.data(), problem.o.fetched(), sizeof(T) * o.size()) == 0 &&
        std::memcmp(lse.data(), problem.lse.fetched(), sizeof(float) * lse.size()) == 0;
    different += same ? 0 : 1;
  }
  return different;
}

}  // namespace tests
