// A variant: one way to solve a problem. The problem's ladder.cu lists them in reading order.
//
// `Problem` is the chapter's own type; problem_traits.hpp says what it must offer.
#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/bench/compare.hpp"
#include "common/kit/phase.hpp"

namespace bench {

// Where a variant works, which is also what is timed.
enum class Place {
  cpu,         // host arrays; the call is timed with a CPU clock
  round_trip,  // host arrays in, host arrays out, a GPU in between; it times its own phases
  device,      // device arrays and a stream; the launches are timed with events
};

enum class Kind {
  baseline,   // the rung that all others are compared with: the plain loop
  rung,       // a step of the lesson
  chooser,    // picks one of the rungs by size and shape, as a library would
  peer,       // what a user would call instead, from a library
  yardstick,  // not a solution: the most this machine can do
  ideal,      // a yardstick that the others are compared with in place of a library
};

inline bool is_yardstick(Kind kind) { return kind == Kind::yardstick || kind == Kind::ideal; }

inline const char* place_name(Place place) {
  switch (place) {
    case Place::cpu: return "cpu";
    case Place::round_trip: return "round_trip";
    case Place::device: return "device";
  }
  return "";
}

inline const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::baseline:
    case Kind::rung: return "rung";
    case Kind::chooser: return "chooser";
    case Kind::peer: return "peer";
    case Kind::yardstick:
    case Kind::ideal: return "yardstick";
  }
  return "";
}

// What a device must have for a variant to run.
struct Needs {
  int compute_capability = 0;            // at least, e.g. 80
  bool exactly_this_capability = false;  // sm_90a code runs on 9.0 and nowhere else
  std::string missing;                   // set at build time if, say, a library was not there
};

inline Needs needs_sm(int compute_capability) { return {compute_capability, false, ""}; }

// For code that only one generation understands, e.g. wgmma: 90 stands for sm_90a.
inline Needs needs_exactly_sm(int compute_capability) { return {compute_capability, true, ""}; }

template <class Problem>
struct Variant {
  std::string name;  // as --only takes it
  std::string idea;  // one sentence: what is new in it
  Place place;
  std::function<void(Problem&, cudaStream_t)> run;
  Kind kind = Kind::rung;
  Needs needs = {};
  // Of a round trip: the same, and it says how long each of its phases took.
  std::function<kit::Phases(Problem&)> run_in_phases = {};
  std::vector<std::string> tags = {};  // --only @end selects those that are tagged "end"
  // Operations above which one run takes minutes: then it is skipped, unless --slow was given.
  double slow_above = std::numeric_limits<double>::infinity();
  // Of a chooser: the name of the rung that its last run took.
  std::function<std::string(const Problem&)> chose = {};
  // What differs from what the problem says; empty if nothing does. A yardstick moves other bytes,
  // computes other operations and is compared with another result; a rung may have a wider bound.
  std::function<double(const Problem&)> bytes = {};
  std::function<double(const Problem&)> flops = {};
  std::function<Comparison(const Problem&)> check = {};
  bool may_miss_bound = false;  // a yardstick whose result need not be as accurate as the others'
};

// A rung that works on host arrays: void run(Problem&).
template <class Problem, class Run>
Variant<Problem> cpu_variant(const std::string& name, const std::string& idea, Run run) {
  return {name, idea, Place::cpu, [run](Problem& problem, cudaStream_t) { run(problem); }};
}

// The same, with which all others are compared.
template <class Problem, class Run>
Variant<Problem> baseline(const std::string& name, const std::string& idea, Run run) {
  Variant<Problem> variant = cpu_variant<Problem>(name, idea, run);
  variant.kind = Kind::baseline;
  return variant;
}

// A rung that goes from host arrays to the device and back: kit::Phases run(Problem&).
template <class Problem, class Run>
Variant<Problem> round_trip_variant(const std::string& name, const std::string& idea, Run run) {
  Variant<Problem> variant = cpu_variant<Problem>(name, idea, run);
  variant.place = Place::round_trip;
  variant.run_in_phases = run;
  return variant;
}

// A rung that works on device arrays in a stream: void run(Problem&, cudaStream_t).
template <class Problem, class Run>
Variant<Problem> device_variant(const std::string& name, const std::string& idea, Run run,
                                Needs needs = {}) {
  return {name, idea, Place::device, run, Kind::rung, needs};
}

// The same variant, which --only @tag selects: tagged(variant, {"end"}).
template <class Problem>
Variant<Problem> tagged(Variant<Problem> variant, std::vector<std::string> tags) {
  variant.tags = std::move(tags);
  return variant;
}

// The same variant, skipped where it has more operations than this: slow_above(variant, 2e10).
template <class Problem>
Variant<Problem> slow_above(Variant<Problem> variant, double flops) {
  variant.slow_above = flops;
  return variant;
}

// The last page of a ladder: picks a rung by size and shape, as a library would, and says which.
// std::string run(Problem&, cudaStream_t) returns the name of the rung that it took.
template <class Problem, class Run>
Variant<Problem> chooser(const std::string& idea, Run run) {
  const auto taken = std::make_shared<std::string>();
  Variant<Problem> variant = device_variant<Problem>(
      "chosen", idea,
      [run, taken](Problem& problem, cudaStream_t stream) { *taken = run(problem, stream); });
  variant.kind = Kind::chooser;
  variant.chose = [taken](const Problem&) { return *taken; };
  return variant;
}

// What a library offers, on device arrays in a stream: void run(Problem&, cudaStream_t).
template <class Problem, class Run>
Variant<Problem> peer(const std::string& name, const std::string& idea, Run run) {
  Variant<Problem> variant = device_variant<Problem>(name, "peer: " + idea, run);
  variant.kind = Kind::peer;
  return variant;
}

// The row of a peer that this build lacks: "needs CUB", for instance.
template <class Problem>
Variant<Problem> missing_peer(const std::string& name, const std::string& idea,
                              const std::string& needs) {
  Variant<Problem> variant = peer<Problem>(name, idea, [](Problem&, cudaStream_t) {});
  variant.needs.missing = needs;
  return variant;
}

}  // namespace bench
