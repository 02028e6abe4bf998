// Proves variants right: fresh arrays, one run, a look at everything it left behind.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/bench/compare.hpp"
#include "common/bench/device_facts.cuh"
#include "common/bench/guarded_array.cuh"
#include "common/bench/model_counts.cuh"
#include "common/bench/problem_traits.hpp"
#include "common/bench/report.hpp"
#include "common/bench/run_settings.hpp"
#include "common/bench/variant.cuh"
#include "common/kit/check.cuh"
#include "common/kit/cpu_timer.hpp"

namespace bench {

// The stream variants run in. It does not wait for the legacy default stream, so a rung that
// forgets to pass its stream on is found out.
class WorkStream {
 public:
  explicit WorkStream(const DeviceFacts& device) {
    if (device.available) {
      CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    }
  }
  ~WorkStream() {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }
  WorkStream(const WorkStream&) = delete;
  WorkStream& operator=(const WorkStream&) = delete;

  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

// Why this variant cannot run on this machine; empty if it can.
template <class Problem>
std::string why_skipped(const Variant<Problem>& variant, const DeviceFacts& device) {
  if (!variant.needs.missing.empty()) return variant.needs.missing;
  if (variant.place == Place::cpu) return "";
  if (!device.available) return "needs a GPU";
  const int need = variant.needs.compute_capability, have = device.compute_capability();
  const bool exact = variant.needs.exactly_this_capability;
  const std::string wanted = "sm_" + std::to_string(need) + (exact ? "a" : "");
  if (have < need || (exact && have != need)) {
    return "needs " + wanted + ", this is sm_" + std::to_string(have);
  }
  const CodeFacts& code = device.code;
  if (code.capability > 0 && (code.capability < need || (exact && !code.for_sm_90a))) {
    return "needs code for " + wanted + ", this program was compiled for sm_" +
           std::to_string(code.capability);
  }
  return "";
}

template <class Problem>
Side side_of(const Variant<Problem>& variant) {
  return variant.place == Place::device ? Side::device : Side::host;
}

// What a variant left behind that ran for `ms`: nothing outside its arrays, and the right result.
template <class Problem>
Verdict judge(Problem& problem, const Variant<Problem>& variant, double ms) {
  std::string damage;
  problem.each_array([side = side_of(variant), &damage](auto& array) {
    array.fetch(side);
    if (damage.empty()) damage = array.damage();
  });
  const Comparison comparison = variant.check ? variant.check(problem) : problem.check();
  if (!damage.empty()) return {Status::wrong, comparison.max_error, damage, ms};
  if (comparison.right()) return {Status::right, comparison.max_error, "", ms};
  // What is no number, or was never written, no promise allows.
  const bool is_loose = variant.may_miss_bound && std::isfinite(comparison.max_error);
  return {is_loose ? Status::outside : Status::wrong, comparison.max_error, comparison.describe(),
          ms};
}

// Gives the variant fresh arrays, runs it once and judges what it left behind.
template <class Problem>
Verdict verify(Problem& problem, const Variant<Problem>& variant, const DeviceFacts& device,
               cudaStream_t stream) {
  const std::string reason = why_skipped(variant, device);
  if (!reason.empty()) return {Status::skipped, kUnknown, reason};
  const auto synchronize = [&variant] {
    if (variant.place != Place::cpu) CUDA_CHECK(cudaDeviceSynchronize());
  };
  double ms = 0;
  try {
    if constexpr (IsBatched<Problem>::value) problem.rotate(0);
    problem.each_array([side = side_of(variant)](auto& array) { array.reset(side); });
    synchronize();  // a copy from pageable memory may still be on its way
    const kit::CpuTimer timer;
    variant.run(problem, stream);
    synchronize();
    ms = timer.elapsed_ms();
  } catch (const kit::Skip& skip) {
    return {Status::skipped, kUnknown, skip.what()};
  } catch (const kit::CudaError& error) {
    // The device as such can run it, but not what the kernel is made of.
    if (error.code() != cudaErrorNotSupported) throw;
    synchronize();  // other blocks of the launch may still be at work on the arrays
    const bool is_model = device.available && !device.is_real_gpu();
    return {Status::skipped, kUnknown, is_model ? "needs instructions of a GPU" : error.what()};
  }
  return judge(problem, variant, ms);
}

constexpr const char* kSecondRun = " (in the second run)";

// A row that so far says only which variant it is.
template <class Problem>
Row row_of(const Variant<Problem>& variant) {
  Row row;
  row.name = variant.name;
  row.kind = kind_name(variant.kind);
  row.place = place_name(variant.place);
  return row;
}

// A variant that ended in a CUDA error, after which no other can be trusted to run. what() names it
// and the error; the rows are those of the variants up to this one.
struct VariantFailed : std::runtime_error {
  VariantFailed(const std::string& message, std::vector<Row> rows)
      : std::runtime_error(message), rows(std::move(rows)) {}
  std::vector<Row> rows;
};

// Why a variant that takes long for this many operations is left out; empty if it is not. For a
// short look, half as many are too many.
inline std::string why_too_slow(const RunSettings& settings, double flops, double slow_above) {
  if (settings.slow) return "";
  if (flops > slow_above) return "too slow for this size (--slow runs it)";
  if (settings.quick && 2 * flops > slow_above) return "too slow for --quick (runs without it)";
  return "";
}

// One row per variant, checked, not yet timed; with counts, where somebody counts. Throws
// VariantFailed.
template <class Problem>
std::vector<Row> verify_variants(const RunSettings& settings, Problem& problem,
                                 const std::vector<Variant<Problem>>& variants,
                                 cudaStream_t stream) {
  std::vector<Row> rows;
  for (const auto& variant : variants) {
    settings.progress("checking " + variant.name);
    Row row = row_of(variant);
    const std::string too_slow = why_too_slow(settings, problem.flops(), variant.slow_above);
    if (!too_slow.empty()) {
      row.verdict = {Status::skipped, kUnknown, too_slow};
    } else {
      if constexpr (HasScratch<Problem>::value) problem.forget_scratch();
      const auto run = [&] { row.verdict = verify(problem, variant, settings.device, stream); };
      try {
        row.counts = count(run);
        // What is not timed has only this chance to be wrong the second time.
        if (settings.verify_only && row.verdict.status == Status::right) {
          run();
          if (row.verdict.status == Status::wrong) row.verdict.reason += kSecondRun;
        }
      } catch (const kit::CudaError& error) {
        row.verdict = {Status::wrong, kUnknown, error.what()};
        rows.push_back(row);
        throw VariantFailed(row.name + ": " + error.what(), rows);
      }
      const bool ran = row.verdict.status != Status::skipped;
      if constexpr (HasScratch<Problem>::value) {
        if (ran && variant.place == Place::device) row.extra_bytes = problem.scratch_bytes();
      }
      if (ran && variant.chose) row.chose = variant.chose(problem);
    }
    rows.push_back(row);
  }
  return rows;
}

}  // namespace bench
