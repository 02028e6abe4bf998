#include "profile_counters.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "dwarf_lines.h"
#include "profile_requests.h"

namespace simt {
namespace {

void sum_up(const SiteCounts& site, KernelProfile& kernel) {
  GlobalCounts& global = kernel.global;
  SharedCounts& shared = kernel.shared;
  switch (site.kind) {
    case AccessKind::kGlobalLoad:
      global.load_requests += site.requests;
      global.load_sectors += site.sectors;
      global.load_bytes_used += site.bytes_used;
      global.load_lanes += site.lanes;
      global.load_bytes += site.lanes * site.size;
      break;
    case AccessKind::kGlobalStore:
      global.store_requests += site.requests;
      global.store_sectors += site.sectors;
      global.store_bytes_used += site.bytes_used;
      global.store_lanes += site.lanes;
      global.store_bytes += site.lanes * site.size;
      break;
    case AccessKind::kSharedLoad:
      shared.load_requests += site.requests;
      shared.load_lanes += site.lanes;
      shared.load_wavefronts += site.wavefronts;
      shared.load_groups += site.groups;
      shared.load_max_degree = std::max(shared.load_max_degree, site.max_degree);
      break;
    case AccessKind::kSharedStore:
      shared.store_requests += site.requests;
      shared.store_lanes += site.lanes;
      shared.store_wavefronts += site.wavefronts;
      shared.store_groups += site.groups;
      shared.store_max_degree = std::max(shared.store_max_degree, site.max_degree);
      break;
    case AccessKind::kGlobalAtomic:
    case AccessKind::kSharedAtomic: {
      AtomicCounts& atomics = kernel.atomics;
      const bool in_shared = is_shared(site.kind);
      (in_shared ? atomics.shared_requests : atomics.global_requests) += site.requests;
      (in_shared ? atomics.shared_lanes : atomics.global_lanes) += site.lanes;
      atomics.serialization += site.serialization;
      atomics.max_serialization = std::max(atomics.max_serialization, site.max_serialization);
      break;
    }
  }
}

}  // namespace

const char* to_string(AccessKind kind) {
  static constexpr const char* kNames[] = {"global load", "global store", "global atomic",
                                           "shared load", "shared store", "shared atomic"};
  return kNames[static_cast<unsigned>(kind)];
}

void SiteCounts::add(const SiteCounts& other) {
  kind = other.kind;
  size = other.size;
  requests += other.requests;
  lanes += other.lanes;
  sectors += other.sectors;
  bytes_used += other.bytes_used;
  wavefronts += other.wavefronts;
  groups += other.groups;
  max_degree = std::max(max_degree, other.max_degree);
  serialization += other.serialization;
  max_serialization = std::max(max_serialization, other.max_serialization);
}

SiteCounts& Counters::site(const TraceEvent& event) {
  const uint64_t key =
      uint64_t{event.pc} << 8 | uint64_t{event.size} << 3 | static_cast<uint64_t>(event.kind);
  if (recent_.empty()) recent_.resize(kRecent);
  Recent& recent = recent_[(event.pc ^ event.pc >> 8) % kRecent];
  if (recent.key != key) {
    recent.key = key;
    recent.site = &sites_[key];
    recent.site->kind = static_cast<AccessKind>(event.kind);
    recent.site->size = event.size;
  }
  return *recent.site;
}

void Counters::execute(const TraceEvent& event, uint32_t lanes, const uint64_t* address) {
  const auto active = static_cast<uint64_t>(__builtin_popcount(lanes));
  ++instructions_;
  instruction_lanes_ += active;
  if (event.kind == TraceKind::kBasicBlock) return;
  SiteCounts& counts = site(event);
  const WarpAccess access{lanes, event.size, address};
  ++counts.requests;
  counts.lanes += active;
  if (is_shared(counts.kind)) {
    const SharedCost cost = shared_cost(access);
    counts.wavefronts += cost.wavefronts;
    counts.groups += cost.ideal_wavefronts;
    counts.max_degree = std::max<uint64_t>(counts.max_degree, cost.degree);
  } else {
    const GlobalCost cost = global_cost(access);
    counts.sectors += cost.sectors;
    counts.bytes_used += cost.bytes_used;
  }
  if (is_atomic(counts.kind)) {
    const AtomicCost cost = atomic_cost(access);
    counts.serialization += cost.serialization;
    counts.max_serialization = std::max<uint64_t>(counts.max_serialization, cost.serialization);
  }
}

void Counters::count_efforts(Effort effort, const std::vector<uint64_t>& of_threads) {
  Busiest& busiest = of_launch_[static_cast<unsigned>(effort)];
  uint64_t of_block = 0;
  for (uint64_t own : of_threads) {
    of_block += own;
    busiest.thread = std::max(busiest.thread, own);
  }
  busiest.block = std::max(busiest.block, of_block);
}

void Counters::end_launch() {
  for (unsigned i = 0; i < kEfforts; ++i) {
    busiest_[i].thread += of_launch_[i].thread;
    busiest_[i].block += of_launch_[i].block;
    of_launch_[i] = Busiest();
  }
}

void Counters::add(const Counters& other) {
  launches += other.launches;
  blocks += other.blocks;
  threads += other.threads;
  warps += other.warps;
  instructions_ += other.instructions_;
  instruction_lanes_ += other.instruction_lanes_;
  divergent_branches_ += other.divergent_branches_;
  barriers_ += other.barriers_;
  barrier_requests_ += other.barrier_requests_;
  for (unsigned i = 0; i < kBesideKinds; ++i) beside_[i] += other.beside_[i];
  for (unsigned i = 0; i < kEfforts; ++i) {
    Busiest& launch = of_launch_[i];
    launch.thread = std::max(launch.thread, other.of_launch_[i].thread);
    launch.block = std::max(launch.block, other.of_launch_[i].block);
    busiest_[i].thread += other.busiest_[i].thread;
    busiest_[i].block += other.busiest_[i].block;
  }
  for (const auto& entry : other.sites_) sites_[entry.first].add(entry.second);
}

KernelProfile Counters::profile(const std::string& kernel) const {
  KernelProfile result;
  result.kernel = kernel;
  result.launches = launches;
  result.blocks = blocks;
  result.threads = threads;
  result.warps = warps;
  result.instructions = instructions_;
  result.instruction_lanes = instruction_lanes_;
  result.divergent_branches = divergent_branches_;
  result.barriers = barriers_;
  result.barrier_requests = barrier_requests_;
  const auto beside = [&](Beside what) { return beside_[static_cast<unsigned>(what)]; };
  result.beside = {beside(Beside::kTmaLoad),   beside(Beside::kTmaStore),
                   beside(Beside::kMulticast), beside(Beside::kTensor),
                   beside(Beside::kStageWait), beside(Beside::kStageWaitFound),
                   beside(Beside::kLinkRead),  beside(Beside::kLinkWritten)};
  const auto busiest = [&](Effort effort) { return busiest_[static_cast<unsigned>(effort)]; };
  result.busiest = {busiest(Effort::kLoadBytes), busiest(Effort::kStoreBytes),
                    busiest(Effort::kSteps)};
  // The compiler may have copied one access of the source (unrolled loops): its copies are one
  // site.
  using Place = std::tuple<std::string, unsigned, unsigned, AccessKind, unsigned>;
  std::map<Place, SiteCounts> places;
  for (const auto& entry : sites_) {
    const SiteCounts& counts = entry.second;
    sum_up(counts, result);
    const auto pc = static_cast<uint32_t>(entry.first >> 8);
    if (pc == 0) continue;  // an atomic of grid.sync(), which has no place in the source
    const SourceLine at = line_of_return_address(pc);
    places[Place{at.file, at.line, at.column, counts.kind, counts.size}].add(counts);
  }
  for (const auto& place : places) {
    const SiteCounts& counts = place.second;
    SiteProfile site;
    site.file = std::get<0>(place.first);
    site.line = std::get<1>(place.first);
    site.column = std::get<2>(place.first);
    site.kind = counts.kind;
    site.size = counts.size;
    site.requests = counts.requests;
    site.lanes = counts.lanes;
    site.sectors = counts.sectors;
    site.bytes_used = counts.bytes_used;
    site.wavefronts = counts.wavefronts;
    site.groups = counts.groups;
    site.max_degree = counts.max_degree;
    site.serialization = counts.serialization;
    site.max_serialization = counts.max_serialization;
    result.sites.push_back(site);
  }
  return result;
}

void ProfileBook::add(const std::string& kernel, const Counters& counters) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (Entry& entry : entries_) {
    if (entry.kernel == kernel) return entry.counters.add(counters);
  }
  entries_.push_back({kernel, Counters()});
  entries_.back().counters.add(counters);
}

void ProfileBook::clear() {
  std::lock_guard<std::mutex> lock(mutex_);
  entries_.clear();
}

std::vector<KernelProfile> ProfileBook::profiles() {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<KernelProfile> result;
  for (const Entry& entry : entries_) result.push_back(entry.counters.profile(entry.kernel));
  return result;
}

KernelProfile ProfileBook::profile(const std::string& name) {
  std::lock_guard<std::mutex> lock(mutex_);
  Counters sum;
  for (const Entry& entry : entries_) {
    if (entry.kernel.find(name) != std::string::npos) sum.add(entry.counters);
  }
  return sum.profile(name);
}

}  // namespace simt
