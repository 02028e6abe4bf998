// The counters and the reports of the checks, from inside a program: for tests that launch a kernel
// and then assert what it did.
//
//   #if SIMT_INSTRUMENTED
//   simt::profile_reset();
//   copy<<<grid, block>>>(in, out, n);
//   cudaDeviceSynchronize();
//   const simt::KernelProfile p = simt::profile("copy");
//   CHECK(p.global.load_sectors_per_request() == 4);
//   #endif
//
// The functions exist in programs built with SIMT_CHECK=1 or SIMT_PROFILE=1 only. Wait for the
// kernels (cudaDeviceSynchronize) before asking.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#if defined(__SANITIZE_THREAD__) && !defined(SIMT_INSTRUMENTED)
#define SIMT_INSTRUMENTED 1
#endif

namespace simt {

// A quotient of counts; 0 if there was nothing to count.
inline double ratio(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// Loads and stores that reach global memory. A request is one memory instruction of a warp.
struct GlobalCounts {
  uint64_t load_requests = 0, load_sectors = 0, load_bytes_used = 0, load_lanes = 0, load_bytes = 0;
  uint64_t store_requests = 0, store_sectors = 0, store_bytes_used = 0, store_lanes = 0;
  uint64_t store_bytes = 0;

  double load_sectors_per_request() const { return ratio(load_sectors, load_requests); }
  double store_sectors_per_request() const { return ratio(store_sectors, store_requests); }
  uint64_t load_bytes_moved() const { return load_sectors * 32; }
  uint64_t store_bytes_moved() const { return store_sectors * 32; }
};

// Loads and stores of shared memory. `groups` are the wavefronts that would have been enough.
struct SharedCounts {
  uint64_t load_requests = 0, load_wavefronts = 0, load_groups = 0, load_max_degree = 0;
  uint64_t store_requests = 0, store_wavefronts = 0, store_groups = 0, store_max_degree = 0;
  uint64_t load_lanes = 0, store_lanes = 0;

  // How many wavefronts take the place of one, on average: 1 is free of conflicts.
  double load_conflict_degree() const { return ratio(load_wavefronts, load_groups); }
  double store_conflict_degree() const { return ratio(store_wavefronts, store_groups); }
};

// What copies and tensor cores do beside the threads. A wait is one thread's, for one phase of an
// mbarrier; whether it found the phase complete depends on the order in which simt runs the block,
// in which copies come as late as they may.
struct BesideCounts {
  uint64_t tma_load_bytes = 0, tma_store_bytes = 0;  // boxes whole, with what lies outside
  uint64_t multicast_saved_bytes = 0;                // delivered, but not read again
  uint64_t tensor_operations = 0;                    // a product and a sum are two
  uint64_t stage_waits = 0, stage_waits_found = 0;
  uint64_t link_read_bytes = 0, link_written_bytes = 0;  // of other devices' memory

  // How often a stage was full (or empty, for who fills it) when somebody came.
  double stages_found() const { return ratio(stage_waits_found, stage_waits); }
};

struct AtomicCounts {
  uint64_t global_requests = 0, global_lanes = 0;
  uint64_t shared_requests = 0, shared_lanes = 0;
  uint64_t serialization = 0;      // per request the most lanes on one address, added up
  uint64_t max_serialization = 0;  // the most lanes on one address in any request

  double average_serialization() const {
    return ratio(serialization, global_requests + shared_requests);
  }
};

enum class AccessKind : uint8_t {
  kGlobalLoad,
  kGlobalStore,
  kGlobalAtomic,
  kSharedLoad,
  kSharedStore,
  kSharedAtomic,
};
constexpr bool is_shared(AccessKind kind) { return kind >= AccessKind::kSharedLoad; }
constexpr bool is_atomic(AccessKind kind) {
  return kind == AccessKind::kGlobalAtomic || kind == AccessKind::kSharedAtomic;
}
const char* to_string(AccessKind kind);  // "global load"

// What the busiest thread of a launch did, and the busiest block; of several launches the sum. All
// that was done, divided by it, says by how many the work was shared: by one, if one did it all.
struct Busiest {
  uint64_t thread = 0, block = 0;
};
struct BusiestCounts {
  Busiest load_bytes, store_bytes;  // in global memory
  Busiest steps;                    // basic blocks and memory accesses
};

// One place in the source that accesses memory.
struct SiteProfile {
  std::string file;
  unsigned line = 0, column = 0;
  AccessKind kind = AccessKind::kGlobalLoad;
  unsigned size = 0;  // bytes per lane
  uint64_t requests = 0, lanes = 0;
  uint64_t sectors = 0, bytes_used = 0;                 // global
  uint64_t wavefronts = 0, groups = 0, max_degree = 0;  // shared
  uint64_t serialization = 0, max_serialization = 0;    // atomic

  double active_lanes() const { return ratio(lanes, requests); }
  double sectors_per_request() const { return ratio(sectors, requests); }
  double conflict_degree() const { return ratio(wavefronts, groups); }
};

// All launches of one kernel since the last profile_reset().
struct KernelProfile {
  std::string kernel;
  uint64_t launches = 0, blocks = 0, threads = 0, warps = 0;
  uint64_t instructions = 0;  // of warps: basic blocks entered and memory accesses
  uint64_t instruction_lanes = 0;
  uint64_t divergent_branches = 0;
  uint64_t barriers = 0;          // passed by a block
  uint64_t barrier_requests = 0;  // the same, by a warp: barrier instructions
  GlobalCounts global;
  SharedCounts shared;
  AtomicCounts atomics;
  BesideCounts beside;
  BusiestCounts busiest;
  std::vector<SiteProfile> sites;  // by file, line, column

  double active_lanes_per_instruction() const { return ratio(instruction_lanes, instructions); }
  double reads_per_thread() const { return ratio(global.load_lanes, threads); }
  double writes_per_thread() const { return ratio(global.store_lanes, threads); }
};

// A counter under the name that Nsight Compute (ncu --metrics) has for it.
struct NsightMetric {
  std::string name;
  double value = 0;  // of all launches: the sum, or the quotient of the sums
};
// Those of Nsight Compute's metrics that mean what a counter here means.
std::vector<NsightMetric> nsight_metrics(const KernelProfile& kernel);

// Forgets all counts and counts from now on, with or without SIMT_PROFILE=1.
void profile_reset();
// Stops counting (it makes kernels slower); the counts stay.
void profile_stop();
// All kernels whose name contains `name`, added up. `launches` is 0 if there was none.
KernelProfile profile(const std::string& name);
// One entry per kernel, in the order of their first launch.
std::vector<KernelProfile> profiles();

// One violation; the same violation at the same place is reported once and counted.
struct CheckReport {
  std::string check;   // "out-of-bounds", "race", ...
  std::string kernel;  // empty: host code
  std::string file;
  unsigned line = 0;
  std::string message;  // as printed, several lines
  uint64_t count = 0;
};

// Hands over the reports so far and forgets them, so that they no longer make the program fail.
std::vector<CheckReport> check_reports();

// These bytes of an allocation lie beside what it is for: a kernel that reads them is out of
// bounds.
void guard(const void* begin, uint64_t bytes);

}  // namespace simt
