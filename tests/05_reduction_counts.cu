// Chapter 05: what the lesson says that each rung changes, as counts of the emulator.
#include <string>

#include "05_reduction/affine/ladder.cu"
#include "05_reduction/scan/ladder.cu"
#include "05_reduction/sum/ladder.cu"
#include "common/bench/harness.cuh"
#include "common/kit/check.cuh"
#include "tests/catch.hpp"
#include "tests/ladder_cases.hpp"

#if __has_include("simt/profile.h") && defined(__SIMT__)
#include "simt/profile.h"
#endif

#if SIMT_INSTRUMENTED

using reduction::kSumBlock, reduction::kTunedBlock;

namespace {

// Runs one variant of `variants` at size n and returns what its kernels did, those whose name
// contains `kernel`.
template <class Problem>
simt::KernelProfile count(const std::vector<bench::Variant<Problem>>& variants,
                          const std::string& name, std::int64_t n, const std::string& kernel) {
  Problem problem(n, 3);
  const bench::WorkStream stream(bench::query_device());
  const auto& variant = tests::variant_named(variants, name);
  problem.each_array([](auto& array) { array.reset(bench::Side::device); });
  CUDA_CHECK(cudaDeviceSynchronize());
  simt::profile_reset();
  variant.run(problem, stream.get());
  CUDA_CHECK(cudaDeviceSynchronize());
  simt::profile_stop();
  return simt::profile(kernel);
}

simt::KernelProfile count_sum(const std::string& name, std::int64_t n) {
  return count(reduction::ladder().variants, name, n, "sum_" + name + "_kernel");
}

constexpr std::int64_t n = 1 << 14;

}  // namespace

TEST_CASE("the trees: lanes drop out, then banks collide, then neither") {
  const auto divergent = count_sum("divergent_tree", n);
  const auto conflicting = count_sum("conflicting_tree", n);
  const auto sequential = count_sum("sequential_tree", n);

  // The same additions with fuller warps: fewer instructions, and more lanes in each.
  CHECK(conflicting.instructions < divergent.instructions);
  CHECK(conflicting.active_lanes_per_instruction() > divergent.active_lanes_per_instruction());
  CHECK(conflicting.divergent_branches < divergent.divergent_branches);

  CHECK(sequential.instructions < divergent.instructions);
  CHECK(sequential.divergent_branches < divergent.divergent_branches);

  CHECK(divergent.shared.load_conflict_degree() == 1.0);
  CHECK(conflicting.shared.load_conflict_degree() > 2.0);
  CHECK(conflicting.shared.load_max_degree == 8);
  CHECK(sequential.shared.load_conflict_degree() == 1.0);
  CHECK(sequential.shared.store_conflict_degree() == 1.0);
}

TEST_CASE("the trees: the lesson's table") {
  constexpr std::int64_t size = 1 << 18;
  constexpr std::uint64_t kBlocks = 1024 + 4 + 1;  // of the three passes
  const auto divergent = count_sum("divergent_tree", size).shared;
  const auto conflicting = count_sum("conflicting_tree", size).shared;
  const auto sequential = count_sum("sequential_tree", size).shared;

  // An addition loads twice; at the end each block loads its sum once more.
  const auto additions = [](const auto& shared) { return (shared.load_requests - kBlocks) / 2; };
  CHECK(additions(divergent) == 48'363);
  CHECK(additions(conflicting) == 12'348);
  CHECK(additions(sequential) == 12'348);

  // What the second tree saves in requests it pays back in conflicts: as many passes as the first.
  CHECK(divergent.load_wavefronts == 97'755);
  CHECK(conflicting.load_wavefronts == 97'755);
  CHECK(sequential.load_wavefronts == 25'725);
}

TEST_CASE("fewer barriers from rung to rung") {
  // 64 blocks of 256 elements and one for their sums; one barrier after loading, one a step.
  CHECK(count_sum("sequential_tree", n).barriers == 65 * 9);
  CHECK(count_sum("first_add", n).barriers == 33 * 9);
  CHECK(count_sum("shuffle_down", n).barriers == 33);
  CHECK(count_sum("shuffle_xor", n).barriers == 33);
}

TEST_CASE("every sum reads each element once") {
  for (const char* name : {"single_block", "grid_stride", "operator", "single_pass", "one_atomic",
                           "tuned", "early_ticket"}) {
    const auto counts = count_sum(name, n);
    INFO(name);
    CHECK(counts.global.load_bytes >= 4 * n);
    CHECK(counts.global.load_bytes < 4.1 * n);  // and the partial sums
  }
}

TEST_CASE("float4: 16 sectors a request instead of 4") {
  CHECK(count_sum("first_add", n).global.load_sectors_per_request() == 4.0);
  CHECK(count_sum("tuned", 4 * n).global.load_sectors_per_request() > 15.0);
}

TEST_CASE("one launch, and one atomic per block") {
  const auto single = count_sum("single_pass", n);
  CHECK(single.launches == 1);
  CHECK(single.atomics.global_requests == single.threads / kSumBlock);
  CHECK(count_sum("grid_stride", n).launches == 2);
  const auto atomic = count_sum("one_atomic", n);
  CHECK(atomic.launches == 1);
  CHECK(atomic.atomics.global_requests == atomic.threads / kSumBlock);
}

// How often the last block looks for the others is a matter of time, so there is no upper bound of
// what it loads; with one block, above, there is.
TEST_CASE("early_ticket: one launch, one number a block") {
  const auto counts = count_sum("early_ticket", 8 * n);
  CHECK(counts.launches == 1);
  CHECK(counts.threads == 8 * kTunedBlock);
  CHECK(counts.atomics.global_requests == 8);
  CHECK(counts.global.load_bytes >= 4 * 8 * n);
}

TEST_CASE("ordered reduction: runs cost 32 sectors a request, rows 8") {
  const auto runs = count(affine::ladder().variants, "contiguous", n, "affine_contiguous_kernel");
  const auto rows =
      count(affine::ladder().variants, "ordered_shuffle", n, "affine_ordered_shuffle_kernel");
  CHECK(runs.global.load_sectors_per_request() > 31.0);
  CHECK(rows.global.load_sectors_per_request() < 8.1);
  CHECK(runs.global.load_bytes == rows.global.load_bytes);
}

TEST_CASE("scan: four passes over memory, three, two") {
  const auto passes = [](const char* name) {
    const auto global = count(scan::ladder().variants, name, 4 * n, "scan_").global;
    return static_cast<double>(global.load_bytes_moved() + global.store_bytes_moved()) / (16 * n);
  };
  // Besides the array, each warp of a tile reads what lies before it: up to a quarter of a pass
  // here.
  const auto about = [](double value, double wanted) {
    return value >= wanted - 0.01 && value < wanted + 0.25;
  };
  CHECK(about(passes("three_kernels"), 4 - 2.0 / 64));  // the first of 64 tiles is not added to
  CHECK(about(passes("reduce_then_scan"), 3));
  CHECK(about(passes("registers"), 3));
  CHECK(about(passes("single_pass"), 2));
}

TEST_CASE("scan: Blelloch adds less and conflicts more") {
  const auto hillis =
      count(scan::ladder().variants, "hillis_steele", n, "scan_hillis_steele_kernel");
  const auto blelloch = count(scan::ladder().variants, "blelloch", n, "scan_blelloch_kernel");
  CHECK(blelloch.shared.store_requests < hillis.shared.store_requests);
  CHECK(hillis.shared.load_conflict_degree() < 1.1);
  CHECK(blelloch.shared.load_conflict_degree() > 1.5);
  CHECK(blelloch.barriers > 1.5 * hillis.barriers);
}

#else

TEST_CASE("counts of the rungs") { SKIP_TEST("counters need simt"); }

#endif
