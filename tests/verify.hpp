// bench::verify for tests: what it finds broken is told in one line by the program (main.cpp).
#pragma once

#include <cuda_runtime.h>

#include <exception>
#include <string>

#include "common/bench/report.hpp"
#include "common/bench/variant.cuh"
#include "common/bench/verify.cuh"
#include "tests/catch.hpp"

#if __has_include("simt/profile.h")
#include "simt/profile.h"
#endif

namespace tests {

// What simt's checks found since they were asked last: the first of it, as simt prints it.
inline std::string simt_said() {
#if SIMT_INSTRUMENTED
  const auto reports = simt::check_reports();
  if (!reports.empty()) return "simt: " + reports.front().message;
#endif
  return "";
}

// An error that ends a process's use of its device is returned by every call from then on. The
// first call may still tell of another one, once.
inline bool device_is_lost() {
  return cudaDeviceSynchronize() != cudaSuccess && cudaDeviceSynchronize() != cudaSuccess;
}

inline const bool kHasWitness = (call_witness({simt_said, device_is_lost}), true);

// "n = 1000, radius = 8"
template <class Sizes>
std::string text_of(const Sizes& sizes) {
  std::string text;
  for (const auto& [name, value] : sizes) {
    text += (text.empty() ? "" : ", ") + name + " = " + std::to_string(value);
  }
  return text;
}

// As bench::verify. A mistake that simt's checks find makes a variant wrong, too.
template <class Problem>
bench::Verdict verify(Problem& problem, const bench::Variant<Problem>& variant,
                      const bench::DeviceFacts& device, cudaStream_t stream) {
  const auto is_broken = [&](const std::string& why) {
    record_broken(std::string(problem.name) + "/" + variant.name,
                  ", " + text_of(problem.sizes()) + ": " + why);
  };
  try {
    bench::Verdict verdict = bench::verify(problem, variant, device, stream);
    const std::string said = simt_said();
    if (!said.empty()) verdict = {bench::Status::wrong, verdict.max_error, said};
    if (verdict.status == bench::Status::wrong) is_broken(verdict.reason);
    return verdict;
  } catch (const std::exception& error) {
    const std::string said = simt_said();
    is_broken(said.empty() ? error.what() : said);
    throw;
  }
}

}  // namespace tests
