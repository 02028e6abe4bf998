// Runs the variants of a problem side by side: first proves each right, then times it, then proves
// it right again.
//
// A Problem offers:
//   name                   static constexpr const char*
//   sizes()                Sizes, for the report
//   bytes(), flops()       what any solution must move and compute; 0 if it does not matter
//   each_array(visit)      calls visit(array) for every GuardedArray it has
//   check()                Comparison of the fetched outputs with the reference
// and, for work that is limited by arithmetic and not by memory, all or none of
//   batch()                launches per sample: one alone would be too short to time well
//   rotate(k)              makes input set k the current one (k counts the launches of a sample),
//                          so that a batch does not find its inputs in the cache; 0 is checked
//   peak_gflops(device)    the most operations per second of the units these variants use, in 1e9
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/cpu_timer.hpp"
#include "common/gpu_timer.cuh"
#include "common/guarded_array.cuh"
#include "common/l2_flush.cuh"
#include "common/measure.hpp"
#include "common/program.cuh"
#include "common/report.hpp"
#include "common/variant.cuh"

namespace common {

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

// Whether a problem has batch(), rotate() and peak_gflops().
template <class Problem, class = void>
struct IsBatched : std::false_type {};
template <class Problem>
struct IsBatched<Problem, std::void_t<decltype(std::declval<Problem>().batch())>> : std::true_type {
};

template <class Problem>
Side side_of(const Variant<Problem>& variant) {
  return variant.place == Place::device ? Side::device : Side::host;
}

// Gives the variant fresh arrays, runs it once and judges what it left behind.
template <class Problem>
Verdict verify(Problem& problem, const Variant<Problem>& variant, const DeviceFacts& device,
               cudaStream_t stream) {
  const std::string reason = why_skipped(variant, device);
  if (!reason.empty()) return {Status::skipped, kUnknown, reason};
  const Side side = side_of(variant);
  const auto synchronize = [&variant] {
    if (variant.place != Place::cpu) CUDA_CHECK(cudaDeviceSynchronize());
  };
  try {
    if constexpr (IsBatched<Problem>::value) problem.rotate(0);
    problem.each_array([side](auto& array) { array.reset(side); });
    synchronize();  // a copy from pageable memory may still be on its way
    variant.run(problem, stream);
    synchronize();
  } catch (const Skip& skip) {
    return {Status::skipped, kUnknown, skip.what()};
  } catch (const CudaError& error) {
    // The device as such can run it, but not what the kernel is made of.
    if (error.code() != cudaErrorNotSupported) throw;
    synchronize();  // other blocks of the launch may still be at work on the arrays
    const bool is_model = device.available && !device.keeps_time();
    return {Status::skipped, kUnknown, is_model ? "needs instructions of a GPU" : error.what()};
  }
  std::string damage;
  problem.each_array([side, &damage](auto& array) {
    array.fetch(side);
    if (damage.empty()) damage = array.damage();
  });
  const Comparison comparison = variant.check ? variant.check(problem) : problem.check();
  if (!damage.empty()) return {Status::wrong, comparison.max_error, damage};
  if (!comparison.right()) return {Status::wrong, comparison.max_error, comparison.describe()};
  return {Status::right, comparison.max_error, ""};
}

// One sample of a variant: a function that runs it and returns milliseconds.
template <class Problem>
std::function<double()> make_sampler(Problem& problem, const Variant<Problem>& variant,
                                     cudaStream_t stream, L2Flush* flush, GpuTimer* gpu_timer,
                                     std::vector<Phases>* phases) {
  switch (variant.place) {
    case Place::cpu:
      return [&problem, &variant, stream] {
        CpuTimer timer;
        variant.run(problem, stream);
        return timer.elapsed_ms();
      };
    case Place::round_trip:
      return [&problem, &variant, stream, phases] {
        phases->push_back(variant.run(problem, stream));
        double total = 0;
        for (const Phase& phase : phases->back()) total += phase.ms;
        return total;
      };
    case Place::device: break;
  }
  if constexpr (IsBatched<Problem>::value) {
    return [&problem, &variant, stream, gpu_timer] {
      const int batch = problem.batch();
      gpu_timer->start(stream);
      for (int k = 0; k < batch; ++k) {
        problem.rotate(k);
        variant.run(problem, stream);
      }
      gpu_timer->stop(stream);
      return gpu_timer->elapsed_ms() / batch;
    };
  }
  return [&problem, &variant, stream, flush, gpu_timer] {
    // The flush keeps the GPU busy while the launch is being queued behind it, so the two events
    // enclose the kernel alone and not the way to it.
    if (flush != nullptr) flush->enqueue(stream);
    gpu_timer->start(stream);
    variant.run(problem, stream);
    gpu_timer->stop(stream);
    return gpu_timer->elapsed_ms();
  };
}

// Medians, phase by phase, over the samples of a round trip.
inline std::vector<PhaseRow> summarize_phases(const std::vector<Phases>& samples,
                                              double device_gbps) {
  std::vector<PhaseRow> rows;
  if (samples.empty()) return rows;
  for (std::size_t p = 0; p < samples[0].size(); ++p) {
    std::vector<double> ms;
    for (const Phases& sample : samples) ms.push_back(sample[p].ms);
    const Phase& phase = samples[0][p];
    PhaseRow row;
    row.name = phase.name;
    row.median_ms = summarize(ms).median_ms;
    if (phase.bytes > 0) row.gbps = phase.bytes / (1e6 * row.median_ms);
    if (phase.at_device_memory && device_gbps > 0)
      row.percent_of_roof = 100 * row.gbps / device_gbps;
    rows.push_back(row);
  }
  return rows;
}

// Times every row that is right. Variants of one place take turns with each other, so that a rung
// and its peer or yardstick meet the same weather; round trips go one after the other.
template <class Problem>
void time_variants(Program& program, Problem& problem,
                   const std::vector<Variant<Problem>>& variants, cudaStream_t stream,
                   std::vector<Row>& rows) {
  const DeviceFacts& device = program.device();
  const auto time_together = [&](const std::vector<std::size_t>& group, double warm_up_seconds) {
    if (group.empty()) return;
    const Place place = variants[group[0]].place;
    std::optional<L2Flush> flush;
    std::optional<GpuTimer> gpu_timer;
    if (place == Place::device) gpu_timer.emplace();
    if (place == Place::device && program.cold() && device.keeps_time()) flush.emplace(device);
    std::vector<Phases> phases;
    std::vector<std::function<double()>> samplers;
    std::string names;
    for (const std::size_t i : group) {
      samplers.push_back(make_sampler(problem, variants[i], stream, flush ? &*flush : nullptr,
                                      gpu_timer ? &*gpu_timer : nullptr, &phases));
      names += (names.empty() ? "" : ", ") + variants[i].name;
    }
    MeasurePlan plan;
    plan.repeats = program.repeats();
    plan.warm_up_seconds = warm_up_seconds;
    // The times of a model GPU mean nothing: a few samples are enough.
    if (place != Place::cpu && !device.keeps_time()) {
      plan.seconds_each = 0.1;
      plan.warm_up_seconds = 0;
    }
    const auto timings = measure_interleaved(samplers, plan, [&](int done, int most) {
      program.progress("timing " + names + ": round " + std::to_string(done) + " of at most " +
                       std::to_string(most));
    });
    for (std::size_t k = 0; k < group.size(); ++k) rows[group[k]].timing = timings[k];
    if (place == Place::round_trip) {
      rows[group[0]].phases = summarize_phases(phases, device.peak_bandwidth_gbps);
    }
  };

  std::vector<std::size_t> on_cpu, on_device;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    if (rows[i].verdict.status != Status::right) continue;
    if (variants[i].place == Place::cpu) on_cpu.push_back(i);
    if (variants[i].place == Place::device) on_device.push_back(i);
    if (variants[i].place == Place::round_trip) time_together({i}, 0);
  }
  time_together(on_cpu, 0);
  time_together(on_device, 0.5);  // clocks need that long to rise

  // What ran a thousand times must still be right.
  for (std::size_t i = 0; i < variants.size(); ++i) {
    if (rows[i].verdict.status != Status::right) continue;
    program.progress("checking " + variants[i].name + " again");
    rows[i].verdict = verify(problem, variants[i], device, stream);
    if (rows[i].verdict.status != Status::right) rows[i].verdict.reason += " (after timing)";
  }
}

// Rates and ratios out of the times.
template <class Problem>
void derive_figures(const Problem& problem, const std::vector<Variant<Problem>>& variants,
                    const DeviceFacts& device, std::vector<Row>& rows) {
  double sequential_ms = kUnknown;
  double peer_ms = kUnknown;   // best peer on the device
  double cpu_gbps = kUnknown;  // best yardstick on the CPU
  for (std::size_t i = 0; i < variants.size(); ++i) {
    Row& row = rows[i];
    if (row.timing.samples == 0) continue;
    const double ms = row.timing.median_ms;
    const double bytes = variants[i].bytes ? variants[i].bytes(problem) : problem.bytes();
    if (bytes > 0) row.gbps = bytes / (1e6 * ms);
    // A yardstick that does not say what it computes shows no rate.
    const double flops = variants[i].flops                     ? variants[i].flops(problem)
                         : variants[i].kind != Kind::yardstick ? problem.flops()
                                                               : 0;
    if (flops > 0) row.gflops = flops / (1e6 * ms);
    if (variants[i].name == "sequential") sequential_ms = ms;
    if (variants[i].kind == Kind::peer) peer_ms = std::fmin(peer_ms, ms);
    if (variants[i].kind == Kind::yardstick && variants[i].place == Place::cpu) {
      cpu_gbps = std::fmax(cpu_gbps, row.gbps);
    }
  }
  for (std::size_t i = 0; i < variants.size(); ++i) {
    Row& row = rows[i];
    if (row.timing.samples == 0) continue;
    const double ms = row.timing.median_ms;
    if (variants[i].place == Place::device && device.peak_bandwidth_gbps > 0) {
      // The larger of two floors: the bytes over the bandwidth, the operations over the rate.
      const double for_bytes = row.gbps / device.peak_bandwidth_gbps;
      double peak_gflops = device.peak_fp32_gflops;
      if constexpr (IsBatched<Problem>::value) peak_gflops = problem.peak_gflops(device);
      const double for_flops = peak_gflops > 0 ? row.gflops / peak_gflops : kUnknown;
      row.percent_of_roof = 100 * std::fmax(for_bytes, for_flops);
    } else if (variants[i].place == Place::cpu) {
      row.percent_of_roof = 100 * row.gbps / cpu_gbps;
    }
    if (variants[i].kind == Kind::yardstick) continue;
    row.speedup = sequential_ms / ms;
    if (variants[i].place == Place::device) row.ratio_to_peer = peer_ms / ms;
  }
}

// One row per variant, checked, not yet timed.
template <class Problem>
std::vector<Row> verify_variants(Program& program, Problem& problem,
                                 const std::vector<Variant<Problem>>& variants,
                                 cudaStream_t stream) {
  std::vector<Row> rows;
  for (const auto& variant : variants) {
    program.progress("checking " + variant.name);
    Row row;
    row.name = variant.name;
    row.kind = kind_name(variant.kind);
    row.place = place_name(variant.place);
    row.verdict = verify(problem, variant, program.device(), stream);
    rows.push_back(row);
  }
  return rows;
}

// Runs the selected variants of one problem, adds the report to the program and returns it; an
// empty one if none was selected.
template <class Problem>
ProblemReport run_problem(Program& program, Problem& problem,
                          const std::vector<Variant<Problem>>& variants, bool show_gflops = false) {
  ProblemReport report;
  if (variants.empty()) return report;
  const DeviceFacts& device = program.device();
  const WorkStream stream(device);
  report.problem = problem.name;
  report.sizes = problem.sizes();
  report.show_gflops = show_gflops;
  report.rows = verify_variants(program, problem, variants, stream.get());
  if (!program.verify_only()) {
    time_variants(program, problem, variants, stream.get(), report.rows);
    derive_figures(problem, variants, device, report.rows);
  }
  program.progress("");
  program.add(report);
  return report;
}

// Median milliseconds of kernels that differ in one parameter; each is checked like any variant.
// Throws UsageError without a GPU, and std::runtime_error if one of them is wrong.
template <class Problem>
std::vector<double> time_sweep(Program& program, Problem& problem,
                               const std::vector<Variant<Problem>>& variants) {
  if (!program.device().available) {
    throw UsageError("a sweep needs a GPU: " + program.device().reason);
  }
  const WorkStream stream(program.device());
  std::vector<Row> rows = verify_variants(program, problem, variants, stream.get());
  time_variants(program, problem, variants, stream.get(), rows);
  std::vector<double> medians;
  for (const Row& row : rows) {
    if (row.verdict.status != Status::right) {
      throw std::runtime_error(row.name + ": " + row.verdict.reason);
    }
    medians.push_back(row.timing.median_ms);
  }
  program.progress("");
  return medians;
}

}  // namespace common
