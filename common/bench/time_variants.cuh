// Times variants that are right: one sample, then many of all of them in turns.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/bench/l2_flush.cuh"
#include "common/bench/measure.hpp"
#include "common/bench/problem_traits.hpp"
#include "common/bench/report.hpp"
#include "common/bench/run_settings.hpp"
#include "common/bench/variant.cuh"
#include "common/bench/verify.cuh"
#include "common/kit/cpu_timer.hpp"
#include "common/kit/gpu_timer.cuh"
#include "common/kit/phase.hpp"

namespace bench {

// What a launch of so many milliseconds is repeated for in one sample, at most `most` times: a slow
// one fills a sample alone.
inline int launches_of(double ms, int most) {
  constexpr double kSampleMs = 10;
  return static_cast<int>(std::clamp(std::ceil(kSampleMs / ms), 1.0, static_cast<double>(most)));
}

// One sample of a variant: a function that runs it and returns milliseconds. Flush and Timer are
// L2Flush and GpuTimer; a test looks on with its own. flush: null for warm samples.
template <class Problem, class Flush, class Timer>
std::function<double()> make_sampler(Problem& problem, const Variant<Problem>& variant,
                                     cudaStream_t stream, Flush* flush, Timer* gpu_timer,
                                     std::vector<kit::Phases>* phases) {
  switch (variant.place) {
    case Place::cpu:
      return [&problem, &variant, stream] {
        kit::CpuTimer timer;
        variant.run(problem, stream);
        return timer.elapsed_ms();
      };
    case Place::round_trip:
      return [&problem, &variant, phases] {
        phases->push_back(variant.run_in_phases(problem));
        double total = 0;
        for (const kit::Phase& phase : phases->back()) total += phase.ms;
        return total;
      };
    case Place::device: break;
  }
  if constexpr (IsBatched<Problem>::value) {
    // The first sample, which warms up, is one launch; each says how many the next one has.
    return [&problem, &variant, stream, gpu_timer, launches = 1]() mutable {
      gpu_timer->start(stream);
      for (int k = 0; k < launches; ++k) {
        problem.rotate(k);
        variant.run(problem, stream);
      }
      gpu_timer->stop(stream);
      const double ms = gpu_timer->elapsed_ms() / launches;
      launches = launches_of(ms, problem.batch());
      return ms;
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
inline std::vector<PhaseRow> summarize_phases(const std::vector<kit::Phases>& samples,
                                              double device_gbps) {
  std::vector<PhaseRow> rows;
  if (samples.empty()) return rows;
  for (std::size_t p = 0; p < samples[0].size(); ++p) {
    std::vector<double> ms;
    for (const kit::Phases& sample : samples) ms.push_back(sample[p].ms);
    const kit::Phase& phase = samples[0][p];
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

// Whether samples of this place begin with other data in the L2 cache. A model GPU has none.
inline bool wants_flush(const RunSettings& settings, Place place) {
  return place == Place::device && settings.cold && settings.device.is_real_gpu();
}

// Device memory that timing takes beside the problem.
inline double flush_bytes(const RunSettings& settings) {
  const bool flushes = !settings.verify_only && wants_flush(settings, Place::device);
  return flushes ? static_cast<double>(L2Flush::bytes(settings.device)) : 0;
}

// Whether a time of this place says anything: what is slow on a model GPU may be fast on a real
// one.
inline bool wants_time(const RunSettings& settings, Place place) {
  return place == Place::cpu || settings.device.is_real_gpu() || settings.time_model;
}

// Seconds that a variant is timed for. Times of a model GPU say nothing, and beside them a look at
// the CPU's loops is enough, which stand for themselves.
inline double seconds_each(const RunSettings& settings, Place place) {
  if (settings.device.is_real_gpu()) return settings.quick ? 0.2 : 1;
  return place == Place::cpu ? 0.3 : 0.1;
}

// How variants of this place are measured. The GPU's clocks need half a second to rise; for a short
// look, what was checked before has raised them.
inline MeasurePlan plan_of(const RunSettings& settings, Place place) {
  MeasurePlan plan;
  plan.repeats = settings.repeats;
  if (settings.quick) plan.min_samples = 5;
  if (place == Place::device && settings.device.is_real_gpu()) {
    plan.warm_up_seconds = settings.quick ? 0.1 : 0.5;
  }
  plan.seconds_each = seconds_each(settings, place);
  return plan;
}

// Whether this loop for the CPU takes so long that the run in which it is checked, of `ms`, is
// sample and check enough: some take half a minute.
inline bool runs_once(const RunSettings& settings, Place place, double ms) {
  return place == Place::cpu && settings.repeats == 0 && ms > 1e3 * seconds_each(settings, place);
}

// Times every row that is right. Variants of one place take turns with each other, so that a rung
// and its peer or yardstick meet the same weather; round trips go one after the other. A test looks
// on with a Flush and a Timer of its own.
template <class Flush = L2Flush, class Timer = kit::GpuTimer, class Problem>
void time_variants(const RunSettings& settings, Problem& problem,
                   const std::vector<Variant<Problem>>& variants, cudaStream_t stream,
                   std::vector<Row>& rows) {
  const DeviceFacts& device = settings.device;
  const auto time_together = [&](const std::vector<std::size_t>& group) {
    if (group.empty()) return;
    const Place place = variants[group[0]].place;
    std::optional<Flush> flush;
    std::optional<Timer> gpu_timer;
    if (place == Place::device) gpu_timer.emplace();
    if (wants_flush(settings, place)) flush.emplace(device);
    std::vector<kit::Phases> phases;
    std::vector<std::function<double()>> samplers;
    std::string names;
    for (const std::size_t i : group) {
      samplers.push_back(make_sampler(problem, variants[i], stream, flush ? &*flush : nullptr,
                                      gpu_timer ? &*gpu_timer : nullptr, &phases));
      names += (names.empty() ? "" : ", ") + variants[i].name;
    }
    const auto show = [&](int done, int most) {
      settings.progress("timing " + names + ": round " + std::to_string(done) + " of at most " +
                        std::to_string(most));
    };
    const auto timings = measure_interleaved(samplers, plan_of(settings, place), show);
    for (std::size_t k = 0; k < group.size(); ++k) rows[group[k]].timing = timings[k];
    if (place == Place::round_trip) {
      rows[group[0]].phases = summarize_phases(phases, device.peak_bandwidth_gbps);
    }
  };

  std::vector<std::size_t> on_cpu, on_device;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    if (!wants_time(settings, variants[i].place)) continue;
    if (!may_be_timed(rows[i].verdict.status)) continue;
    if (runs_once(settings, variants[i].place, rows[i].verdict.ms)) {
      rows[i].timing = summarize({rows[i].verdict.ms});
      continue;
    }
    if (variants[i].place == Place::cpu) on_cpu.push_back(i);
    if (variants[i].place == Place::device) on_device.push_back(i);
    if (variants[i].place == Place::round_trip) time_together({i});
  }
  time_together(on_cpu);
  time_together(on_device);

  // What ran a thousand times must still be right; what is not timed, the second time.
  for (std::size_t i = 0; i < variants.size(); ++i) {
    if (!may_be_timed(rows[i].verdict.status)) continue;
    if (runs_once(settings, variants[i].place, rows[i].verdict.ms)) continue;
    settings.progress("checking " + variants[i].name + " again");
    rows[i].verdict = verify(problem, variants[i], device, stream);
    if (!may_be_timed(rows[i].verdict.status)) {
      rows[i].verdict.reason += rows[i].timing.samples > 0 ? " (after timing)" : kSecondRun;
    }
  }
}

}  // namespace bench
