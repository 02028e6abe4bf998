// A variant: one way to solve a problem. A chapter's variants.cuh lists them in reading order.
//
// `Problem` is the chapter's own type; harness.cuh says what it must offer.
#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/compare.hpp"

namespace common {

// Where a variant works, which is also what is timed.
enum class Place {
  cpu,         // host arrays; the call is timed with a CPU clock
  round_trip,  // host arrays in, host arrays out, a GPU in between; it times its own phases
  device,      // device arrays and a stream; the launches are timed with events
};

enum class Kind {
  rung,       // a step of the lesson
  peer,       // what a user would call instead, from a library
  yardstick,  // not a solution: the most this machine can do
};

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
    case Kind::rung: return "rung";
    case Kind::peer: return "peer";
    case Kind::yardstick: return "yardstick";
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

// Thrown by a variant that finds out only when it runs that it cannot run here, at this size.
class Skip : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// One timed part of a round trip. bytes = 0: no rate is shown.
struct Phase {
  std::string name;
  double ms = 0;
  double bytes = 0;
  bool at_device_memory = false;  // its rate has the device's memory bandwidth as roof
};
using Phases = std::vector<Phase>;

template <class Problem>
struct Variant {
  std::string name;  // as --only takes it
  std::string idea;  // one sentence: what is new in it
  Place place;
  std::function<Phases(Problem&, cudaStream_t)> run;
  Kind kind = Kind::rung;
  Needs needs = {};
  // What differs from what the problem says; empty if nothing does. A yardstick moves other bytes,
  // computes other operations and is compared with another result; a rung may have a wider bound.
  std::function<double(const Problem&)> bytes = {};
  std::function<double(const Problem&)> flops = {};
  std::function<Comparison(const Problem&)> check = {};
};

// A rung that works on host arrays: void run(Problem&).
template <class Problem, class Run>
Variant<Problem> on_cpu(const std::string& name, const std::string& idea, Run run) {
  return {name, idea, Place::cpu, [run](Problem& problem, cudaStream_t) -> Phases {
            run(problem);
            return {};
          }};
}

// A rung that goes from host arrays to the device and back: Phases run(Problem&).
template <class Problem, class Run>
Variant<Problem> round_trip(const std::string& name, const std::string& idea, Run run) {
  return {name, idea, Place::round_trip,
          [run](Problem& problem, cudaStream_t) -> Phases { return run(problem); }};
}

// A rung that works on device arrays in a stream: void run(Problem&, cudaStream_t).
template <class Problem, class Run>
Variant<Problem> on_device(const std::string& name, const std::string& idea, Run run,
                           Needs needs = {}) {
  return {name,
          idea,
          Place::device,
          [run](Problem& problem, cudaStream_t stream) -> Phases {
            run(problem, stream);
            return {};
          },
          Kind::rung,
          needs};
}

// What a library offers, on device arrays in a stream: void run(Problem&, cudaStream_t).
template <class Problem, class Run>
Variant<Problem> peer(const std::string& name, const std::string& idea, Run run) {
  Variant<Problem> variant = on_device<Problem>(name, "peer: " + idea, run);
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

}  // namespace common
