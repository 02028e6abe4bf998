// Adds up what the replay of warps finds: per code address, and per kernel.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine.h"
#include "profile_trace.h"
#include "simt/profile.h"

namespace simt {

// Counts of one access instruction in the program.
struct SiteCounts {
  AccessKind kind = AccessKind::kGlobalLoad;
  unsigned size = 0;
  uint64_t requests = 0, lanes = 0;
  uint64_t sectors = 0, bytes_used = 0;
  uint64_t wavefronts = 0, groups = 0, max_degree = 0;
  uint64_t serialization = 0, max_serialization = 0;

  void add(const SiteCounts& other);
};

// What threads have to do, as BusiestCounts tells it.
enum class Effort : uint8_t { kLoadBytes, kStoreBytes, kSteps };
constexpr unsigned kEfforts = 3;

// What one block after another adds up while it is replayed (the Sink of WarpTrace::replay), and
// what a kernel has in total. Only sums and maxima: the order of the blocks leaves no trace.
class Counters {
 public:
  Counters() = default;
  Counters(Counters&&) = default;
  Counters& operator=(Counters&&) = default;

  void execute(const TraceEvent& event, uint32_t lanes, const uint64_t* address);
  void diverged(const TraceEvent&) { ++divergent_branches_; }
  // A block, or some of its warps, pass a barrier, to which so many of its warps came.
  void count_barrier(unsigned warps) {
    ++barriers_;
    barrier_requests_ += warps;
  }

  void count(Beside what, uint64_t how_much) { beside_[static_cast<unsigned>(what)] += how_much; }

  // What each thread of a block did.
  void count_efforts(Effort effort, const std::vector<uint64_t>& of_threads);
  // All blocks of a launch are added up, and the busiest of them is known.
  void end_launch();

  void add(const Counters& other);
  void clear() { *this = Counters(); }

  uint64_t launches = 0, blocks = 0, threads = 0, warps = 0;

  // The counts with the source lines in place of code addresses.
  KernelProfile profile(const std::string& kernel) const;

 private:
  SiteCounts& site(const TraceEvent& event);

  uint64_t instructions_ = 0, instruction_lanes_ = 0, divergent_branches_ = 0, barriers_ = 0;
  uint64_t barrier_requests_ = 0;
  uint64_t beside_[kBesideKinds] = {};
  Busiest of_launch_[kEfforts];  // of one that has not ended
  Busiest busiest_[kEfforts];    // of all that have, added up
  // By code address and kind. The small table in front finds nearly all of them.
  std::unordered_map<uint64_t, SiteCounts> sites_;
  struct Recent {
    uint64_t key = ~uint64_t{0};
    SiteCounts* site = nullptr;
  };
  static constexpr unsigned kRecent = 256;
  std::vector<Recent> recent_;
};

// The counts of all kernels of the program, by name.
class ProfileBook {
 public:
  void add(const std::string& kernel, const Counters& counters);
  void clear();
  std::vector<KernelProfile> profiles();
  // The kernels whose name contains `name`, added up.
  KernelProfile profile(const std::string& name);

 private:
  struct Entry {
    std::string kernel;
    Counters counters;
  };
  std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace simt
