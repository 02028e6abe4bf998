// Chapter 07, attention in fp8: every variant is right at every size, what is scaled is noticed,
// and sums that stay in the tensor cores lose what promoted ones keep.
#include <cstdint>
#include <vector>

#include "07_flash_attention/attention_fp8/ladder.cu"
#include "common/bench/harness.cuh"
#include "tests/catch.hpp"
#include "tests/ladder_cases.hpp"
#include "tests/verify.hpp"

using namespace attention;
using namespace attention::fp8;

namespace {

// Heads, queries, keys, causal: one key; tiles of 64 and 128, one more and less; more keys than
// queries, and fewer; three tiles of keys, so that every stage of a ring is filled again.
std::vector<bench::Settings::Given> sizes() {
  std::vector<std::vector<std::int64_t>> shapes = {
      {1, 1, 1, 1}, {2, 63, 63, 1}, {1, 130, 64, 1}, {1, 9, 300, 1}, {1, 129, 65, 0}};
  if (bench::query_device().is_real_gpu()) {
    for (const int causal : {0, 1}) {
      shapes.push_back({3, 1000, 1000, causal});
      shapes.push_back({1, 2049, 4097, causal});
      shapes.push_back({150, 250, 2000, causal});
    }
  }
  std::vector<bench::Settings::Given> sizes;
  for (const auto& s : shapes) {
    sizes.push_back({{"batch", 1}, {"heads", s[0]}, {"n", s[1]}, {"nk", s[2]}, {"causal", s[3]}});
  }
  return sizes;
}

// What a variant's result is off, as a part of it.
double relative_error(AttentionFp8& problem, const char* name) {
  const auto verdict = tests::verify(problem, tests::variant_named(ladder().variants, name),
                                     bench::query_device(), nullptr);
  CHECK(verdict.status == bench::Status::right);
  return problem.relative_error();
}

}  // namespace

TEST_CASE("attention_fp8: every variant is right at every size") {
  tests::every_variant_is_right(ladder(), sizes());
}

TEST_CASE("attention_fp8: all work is in the stream that was given") {
  tests::every_launch_is_in_its_stream(ladder(), {{"batch", 1}, {"heads", 1}, {"n", 9}});
}

TEST_CASE("attention_fp8: the error is that of weights in E4M3") {
  AttentionFp8 problem({1, 1, 30, 256, kHeadDim, false}, 5);
  CHECK(relative_error(problem, "sequential") < 2e-3);  // O in bf16
  CHECK(relative_error(problem, "wgmma") < 2.6e-2);
  CHECK(relative_error(problem, "promoted") < 2.6e-2);
}

TEST_CASE("attention_fp8: sums in the tensor cores lose digits, promoted ones do not") {
  // Values around 1/2: the sum grows with each key, and small terms are cut off.
  AttentionFp8 problem({1, 1, 16, 768, kHeadDim, false}, 5, 0.5);
  const double promoted = relative_error(problem, "promoted");
  CHECK(promoted < 5e-3);
  CHECK(relative_error(problem, "wgmma") > 1.6 * promoted);
}
