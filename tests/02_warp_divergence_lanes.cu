// Chapter 02, the claims of its lesson as counts: how many lanes of a warp take part, and what a
// vote saves. The counts are those of simt in an instrumented build; elsewhere there is nothing to
// read.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "02_warp_divergence/branch/ladder.cu"
#include "02_warp_divergence/polar/ladder.cu"
#include "02_warp_divergence/study/barrier.cuh"
#include "common/bench/harness.cuh"
#include "tests/catch.hpp"
#include "tests/ladder_cases.hpp"
#include "tests/verify.hpp"

#if SIMT_INSTRUMENTED

#include "simt/include/simt/profile.h"

using namespace branch;
using namespace polar;
using namespace warp_divergence;

namespace {

// Counts of kernel <problem>_<name>_kernel in one run of the variant `name`, which must be right.
template <class Problem>
simt::KernelProfile counts_of(Problem& problem,
                              const std::vector<bench::Variant<Problem>>& variants,
                              const std::string& name) {
  const bench::DeviceFacts device = bench::query_device();
  const bench::WorkStream stream(device);
  const auto& variant = tests::variant_named(variants, name);
  simt::profile_reset();
  const auto verdict = tests::verify(problem, variant, device, stream.get());
  INFO(verdict.reason);
  CHECK(verdict.status == bench::Status::right);
  const auto profile = simt::profile(std::string(Problem::name) + "_" + name + "_kernel");
  simt::profile_stop();
  CHECK(profile.launches == 1);
  return profile;
}

simt::KernelProfile polar_counts(const std::string& name) {
  Polar problem(4096, 5);  // whole warps, blocks and tiles: no tail disturbs the counts
  return counts_of(problem, polar::ladder().variants, name);
}

constexpr std::int64_t kElements = 8192;

simt::KernelProfile branch_counts(const std::string& name, std::int64_t percent,
                                  std::int64_t run = 1) {
  Branch problem(kElements, percent, run, 5);
  return counts_of(problem, branch::ladder().variants, name);
}

// Of the warps that take elements in order, those with at least one expensive element.
int warps_with_expensive(const Branch& problem) {
  int warps = 0;
  for (std::int64_t begin = 0; begin < problem.n; begin += 32) {
    bool any = false;
    for (std::int64_t i = begin; i < begin + 32; ++i)
      any = any || is_expensive(problem.x.pristine()[i]);
    warps += any;
  }
  return warps;
}

}  // namespace

TEST_CASE("divergent: 16 lanes at work in either path") {
  const auto profile = polar_counts("divergent");
  int stores = 0;
  for (const auto& site : profile.sites) {
    if (site.kind == simt::AccessKind::kGlobalLoad) CHECK(site.active_lanes() == 32);
    if (site.kind != simt::AccessKind::kGlobalStore) continue;
    ++stores;
    CHECK(site.active_lanes() == 16);
  }
  CHECK(stores == 2);  // one in the cosine's path, one in the sine's
  CHECK(profile.divergent_branches == profile.warps);
  CHECK(profile.active_lanes_per_instruction() < 28);
}

TEST_CASE("uniform and all that follow: 32 lanes, always") {
  for (const char* name : {"uniform", "vector_store", "fast_math", "coarsened"}) {
    INFO(name);
    const auto profile = polar_counts(name);
    CHECK(profile.active_lanes_per_instruction() == 32);
    CHECK(profile.divergent_branches == 0);
    for (const auto& site : profile.sites) CHECK(site.active_lanes() == 32);
  }
}

TEST_CASE("one 8-byte store a point fills the sectors that two stores filled by halves") {
  const auto two = polar_counts("uniform").global;
  const auto one = polar_counts("vector_store").global;
  CHECK(two.store_requests == 2 * one.store_requests);
  CHECK(two.store_sectors == 2 * one.store_sectors);
  CHECK(two.store_bytes_used * 2 == two.store_bytes_moved());
  CHECK(one.store_bytes_used == one.store_bytes_moved());
}

TEST_CASE("an expensive element sends its whole warp down the expensive path, nearly alone") {
  const auto profile = branch_counts("divergent", 2);
  CHECK(profile.active_lanes_per_instruction() < 6);
  CHECK(profile.divergent_branches > 0);
  // Nobody disagrees when expensive elements come in whole warps.
  const auto aligned = branch_counts("divergent", 50, 32);
  CHECK(aligned.active_lanes_per_instruction() == 32);
  CHECK(aligned.divergent_branches == 0);
}

TEST_CASE("select keeps 32 lanes active and is none the better for it") {
  const auto few = branch_counts("select", 2);
  CHECK(few.active_lanes_per_instruction() > 31.9);
  // All warps walk the expensive path, at 2 % as at 0 %.
  CHECK(few.instructions > few.warps * kExpensiveSteps);
  CHECK(branch_counts("select", 0).instructions > few.warps * kExpensiveSteps);
}

TEST_CASE("vote: a warp in which no lane is expensive skips the expensive path") {
  const auto none = branch_counts("vote", 0);
  const auto few = branch_counts("vote", 2);
  const auto all = branch_counts("vote", 100);
  // Whole warps, whatever the vote says.
  CHECK(none.active_lanes_per_instruction() == 32);
  CHECK(few.active_lanes_per_instruction() > 31.9);
  // Without the vote every warp would walk kExpensiveSteps steps.
  CHECK(none.instructions < none.warps * 16);
  CHECK(all.instructions > all.warps * kExpensiveSteps);
  // The warps that walk are those with an expensive element, not one more.
  const Branch problem(kElements, 2, 1, 5);
  const double walking = static_cast<double>(warps_with_expensive(problem)) / few.warps;
  CHECK(walking < 0.6);
  const double expected = none.instructions + walking * (all.instructions - none.instructions);
  CHECK(std::fabs(few.instructions - expected) < 0.01 * expected);
}

TEST_CASE("aligned, tiled, partitioned: fewer warps on the expensive path, better filled") {
  const Branch problem(kElements, 2, 1, 5);
  // Each request that stores expensive results is a warp that walked the expensive path: it is the
  // one with the fewest lanes.
  const auto expensive_store = [](const simt::KernelProfile& profile) {
    simt::SiteProfile fewest;
    for (const auto& site : profile.sites) {
      if (site.kind != simt::AccessKind::kGlobalStore) continue;
      if (fewest.requests == 0 || site.requests < fewest.requests) fewest = site;
    }
    return fewest;
  };
  const auto divergent = expensive_store(branch_counts("divergent", 2));
  const auto aligned = expensive_store(branch_counts("aligned", 2));
  const auto tiled = expensive_store(branch_counts("tiled", 2));
  const auto partitioned = expensive_store(branch_counts("partitioned", 2));
  for (const auto& site : {divergent, aligned, tiled, partitioned}) {
    CHECK(site.lanes == static_cast<std::uint64_t>(problem.expensive));
  }
  CHECK(divergent.requests == static_cast<std::uint64_t>(warps_with_expensive(problem)));
  CHECK(aligned.requests <= kElements / kAlignedBlock + 2);  // one a block, rarely two
  CHECK(tiled.requests <= 2 * kElements / kTile + 2);
  CHECK(partitioned.requests == static_cast<std::uint64_t>((problem.expensive + 31) / 32));
  CHECK(divergent.active_lanes() < 2);
  CHECK(aligned.active_lanes() > 3);
  CHECK(tiled.active_lanes() > 15);
  CHECK(partitioned.active_lanes() > 27);
}

TEST_CASE("a barrier in a branch that some threads do not take is reported") {
  reversed_in_blocks(std::vector<int>(100), reverse_kernel);
  CHECK(simt::check_reports().empty());
  reversed_in_blocks(std::vector<int>(100), reverse_with_barrier_in_branch_kernel);
  const auto reports = simt::check_reports();
  REQUIRE(reports.size() == 1);
  CHECK(reports[0].check == "barrier-divergence");
  CHECK(reports[0].kernel.find("reverse_with_barrier_in_branch_kernel") != std::string::npos);
}

#else

TEST_CASE("lanes and votes, counted") { SKIP_TEST("counters need simt"); }

#endif
