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

#include "07_flash_attention/problem.cuh"
#include "07_flash_attention/shape.hpp"
#include "common/bench/harness.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "tests/catch.hpp"
#include "tests/verify.hpp"

namespace tests {

// False where kernels run on the CPU.
inline bool is_real_gpu() { return bench::query_device().is_real_gpu(); }

// Calls test(element) for an element of either 16-bit type, each time in a section of its own.
template <class Test>
void in_16_bits(Test test) {
  SECTION("bf16") { test(__nv_bfloat16{}); }
  SECTION("fp16") { test(__half{}); }
}

inline std::string text_of(const attention::Shape& s) {
  return std::to_string(s.batch) + " x " + std::to_string(s.heads) + " x " + std::to_string(s.n_q) +
         " x " + std::to_string(s.n_k) + " x " + std::to_string(s.d) + (s.causal ? ", causal" : "");
}

// The variant must be right; false if it was skipped, which it may be only for want of shared
// memory. Some rungs take up to 227 KB where d is 256: a GPU that has those skips nothing.
template <class T>
bool check_variant(attention::Problem<T>& problem,
                   const bench::Variant<attention::Problem<T>>& variant,
                   const bench::DeviceFacts& device, cudaStream_t stream) {
  INFO(variant.name << ": " << text_of(problem.shape));
  const auto verdict = tests::verify(problem, variant, device, stream);
  INFO(verdict.reason);
  if (verdict.status == bench::Status::skipped && kit::most_shared() < 227 * 1024) {
    CHECK(verdict.reason.find("of shared memory") != std::string::npos);
    return false;
  }
  REQUIRE(verdict.status == bench::Status::right);
  // Rows that see no key: exactly these values, whatever the bound allows.
  std::int64_t wrong = 0;
  const attention::Shape& shape = problem.shape;
  for (std::int64_t row = 0; row < shape.rows(); ++row) {
    if (shape.visible(row % shape.n_q) > 0) continue;
    wrong += problem.lse.fetched()[row] == -std::numeric_limits<float>::infinity() ? 0 : 1;
    for (int c = 0; c < shape.d; ++c) {
      wrong += attention::to_double(problem.o.fetched()[row * shape.d + c]) == 0 ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
  return true;
}

// Of `runs` runs, how many leave an O or a log-sum-exp that differs in any bit from the fetched
// ones, those of a run that was right.
template <class T>
int count_different(attention::Problem<T>& problem,
                    const bench::Variant<attention::Problem<T>>& variant, int runs,
                    cudaStream_t stream) {
  const std::vector<T> o(problem.o.fetched(), problem.o.fetched() + problem.o.size());
  const std::vector<float> lse(problem.lse.fetched(), problem.lse.fetched() + problem.lse.size());
  int different = 0;
  for (int run = 0; run < runs; ++run) {
    problem.o.reset(bench::Side::device);
    problem.lse.reset(bench::Side::device);
    CUDA_CHECK(cudaDeviceSynchronize());
    variant.run(problem, stream);
    CUDA_CHECK(cudaDeviceSynchronize());
    problem.o.fetch(bench::Side::device);
    problem.lse.fetch(bench::Side::device);
    const bool same =
        std::memcmp(o.data(), problem.o.fetched(), sizeof(T) * o.size()) == 0 &&
        std::memcmp(lse.data(), problem.lse.fetched(), sizeof(float) * lse.size()) == 0;
    different += same ? 0 : 1;
  }
  return different;
}

}  // namespace tests
