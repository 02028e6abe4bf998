// Chapter 04, quantizing: every variant is right at every size and for every way to scale, for
// numbers that are zero, tiny or huge, and the check lets nothing else pass.
#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "04_matmul/quantize/ladder.cu"
#include "common/bench/harness.cuh"
#include "tests/catch.hpp"
#include "tests/ladder_cases.hpp"
#include "tests/verify.hpp"

using namespace matmul;
using namespace matmul::quantize;

namespace {

// One row, groups of four rows that are not whole; pieces of 128 that are not whole, rows that are
// longer than the registers of a block.
std::vector<bench::Settings::Given> all_sizes() {
  std::vector<bench::Settings::Given> sizes = {
      {{"m", 1}, {"k", 16}},   {{"m", 2}, {"k", 121}},   {{"m", 3}, {"k", 137}},
      {{"m", 33}, {"k", 112}}, {{"m", 5}, {"k", 1040}},  {{"m", 4}, {"k", 4112}},
      {{"m", 35}, {"k", 272}}, {{"m", 1}, {"k", 33040}},
  };
  if (bench::query_device().is_real_gpu()) {
    sizes.push_back({{"m", 4097}, {"k", 7184}});
    sizes.push_back({{"m", 3}, {"k", 1'000'016}});
  }
  return sizes;
}

// Each variant at this problem, whose x `change` has changed.
template <Scaling kScaling, class Change>
void all_are_right(const std::string& what, std::int64_t m, std::int64_t k, Change change) {
  const bench::DeviceFacts device = bench::query_device();
  const bench::WorkStream stream(device);
  Quantize<kScaling> problem(m, k, 3);
  change(problem.x.pristine());
  for (const auto& variant : variants<Quantize<kScaling>>()) {
    const auto verdict = tests::verify(problem, variant, device, stream.get());
    INFO(what << ", " << problem.name << "/" << variant.name << ": " << verdict.reason);
    CHECK(verdict.status != bench::Status::wrong);
  }
}
template <class Change>
void all_are_right(const std::string& what, std::int64_t m, std::int64_t k, Change change) {
  all_are_right<Scaling::tensor>(what, m, k, change);
  all_are_right<Scaling::rows>(what, m, k, change);
  all_are_right<Scaling::blocks>(what, m, k, change);
}

__nv_bfloat16 bf16(double x) { return __float2bfloat16(static_cast<float>(x)); }

unsigned byte_of(__nv_fp8_e4m3 x) {
  unsigned char byte;
  std::memcpy(&byte, &x, 1);
  return byte;
}

}  // namespace

TEST_CASE("every variant is right at every size") {
  tests::every_variant_is_right(ladder<Scaling::tensor>(), all_sizes());
  tests::every_variant_is_right(ladder<Scaling::rows>(), all_sizes());
  tests::every_variant_is_right(ladder<Scaling::blocks>(), all_sizes());
}

TEST_CASE("every launch is in the stream that was given") {
  const bench::Settings::Given size = {{"m", 7}, {"k", 1040}};
  tests::every_launch_is_in_its_stream(ladder<Scaling::tensor>(), size);
  tests::every_launch_is_in_its_stream(ladder<Scaling::rows>(), size);
  tests::every_launch_is_in_its_stream(ladder<Scaling::blocks>(), size);
}

TEST_CASE("what a run holds", "[.]") {
  tests::takes_what_it_says(ladder<Scaling::tensor>(), {{"m", 500}, {"k", 2000}});
  tests::takes_what_it_says(ladder<Scaling::blocks>(), {{"m", 500}, {"k", 2000}});
}

TEST_CASE("a run takes the memory that it says") {
  tests::passes_by_itself("SIMT_THREADS=1", "what a run holds");
}

TEST_CASE("zeros, tiny and huge numbers, and one that is larger than all others") {
  constexpr std::int64_t m = 5, k = 400, all = m * k;
  all_are_right("zeros", m, k, [](auto* x) {
    for (int i = 0; i < all; ++i) x[i] = bf16(0);
  });
  all_are_right("a row of zeros, and a block of another", m, k, [](auto* x) {
    for (int p = 0; p < k; ++p) x[2 * k + p] = bf16(0);
    for (int p = 128; p < 256; ++p) x[3 * k + p] = bf16(-0.0);
  });
  // The least bf16 is 2^-133: the scale stays 2^-126, and 1 / scale is finite.
  all_are_right("subnormal numbers", m, k, [](auto* x) {
    for (int p = 0; p < k; ++p) x[k + p] = bf16(std::ldexp(p % 5 - 2, -133));
  });
  all_are_right("the largest numbers", m, k, [](auto* x) {
    for (int p = 0; p < k; ++p) x[k + p] = bf16((p % 3 - 1) * 3.3895e38);
  });
  // In the last element of all, the last one of a row, the first one of a block.
  for (const int at : {static_cast<int>(all) - 1, 2 * static_cast<int>(k) - 1, 128}) {
    all_are_right("largest at " + std::to_string(at), m, k, [at](auto* x) { x[at] = bf16(-5e4); });
  }
}

TEST_CASE("the largest element of a long row counts wherever it is") {
  constexpr std::int64_t k = 33'040;  // more than 1024 threads keep
  for (const std::int64_t at : {std::int64_t{0}, k / 2, k - 17, k - 1}) {
    all_are_right<Scaling::rows>("at " + std::to_string(at), 2, k, [&](__nv_bfloat16* x) {
      x[at] = bf16(300);
      x[k + at] = bf16(-300);
    });
  }
}

TEST_CASE("every tie goes to the even neighbour, on the CPU and on the device") {
  // 448 in every row, block and tensor: the scale is 1, and q is x rounded. All bf16 from 2^-11 to
  // 448: three bits more than E4M3 has at most sizes, so ties, too.
  std::vector<float> numbers;
  for (int exponent = -11; exponent < 9; ++exponent) {
    for (int mantissa = 128; mantissa < 256; ++mantissa) {
      const float x = std::ldexp(static_cast<float>(mantissa), exponent - 7);
      if (x <= 448) numbers.insert(numbers.end(), {x, -x});
    }
  }
  const bench::DeviceFacts device = bench::query_device();
  const bench::WorkStream stream(device);
  Quantize<Scaling::blocks> problem(1, (numbers.size() + 126) / 127 * 128, 1);
  auto* x = problem.x.pristine();
  for (std::int64_t p = 0; p < problem.k; ++p) {
    const std::size_t at = p - p / 128 - 1;
    x[p] = bf16(p % 128 == 0 || at >= numbers.size() ? 448 : numbers[at]);
  }
  int ties = 0;
  for (const auto& variant : variants<Quantize<Scaling::blocks>>()) {
    if (variant.kind == bench::Kind::yardstick) continue;
    const auto verdict = tests::verify(problem, variant, device, stream.get());
    if (verdict.status == bench::Status::skipped) continue;
    INFO(variant.name << ": " << verdict.reason);
    REQUIRE(verdict.status == bench::Status::right);
    for (std::int64_t p = 0; p < problem.k; ++p) {
      const double wanted = static_cast<float>(x[p]);
      const double got = static_cast<float>(problem.q.fetched()[p]);
      const double step = std::ldexp(1.0, std::max(std::ilogb(wanted), -6) - 3);
      if (std::fabs(got - wanted) != step / 2) continue;
      ++ties;
      INFO(wanted << " became " << got);
      CHECK(byte_of(problem.q.fetched()[p]) % 2 == 0);
    }
  }
  CHECK(ties > 3 * 100);
}

TEST_CASE("the check notices a wrong scale, a wrong element and what nobody wrote") {
  Quantize<Scaling::blocks> problem(5, 144, 3);
  problem.each_array([](auto& array) { array.reset(bench::Side::host); });
  quantize_sequential(problem.host_operand(), Scaling::blocks);
  CHECK(problem.check().right());

  for (const std::int64_t s : {0, 4, 8, 12}) {  // rows 0 and 4 of both blocks
    float& scale = problem.scales.host_data()[s];
    const float right = scale;
    for (const float wrong : {right * (1 + 0x1p-20f), right * (1 - 0x1p-20f), std::nanf("")}) {
      scale = wrong;
      CHECK_FALSE(problem.check().right());
    }
    scale = right;
  }
  for (const std::int64_t s : {5, 6, 7, 15}) problem.scales.host_data()[s] = std::nanf("");
  CHECK(problem.check().right());  // padding

  for (const std::int64_t at : {0, 127, 128, 143, 719}) {
    auto& q = reinterpret_cast<unsigned char*>(problem.q.host_data())[at];
    const unsigned char right = q;
    for (const int wrong : {right + 1, right - 1, right ^ 0x80, 0x7f, 0xff}) {
      q = static_cast<unsigned char>(wrong);
      INFO("byte " << int{right} << " at " << at << " became " << wrong);
      CHECK_FALSE(problem.check().right());
    }
    CHECK(problem.check().unwritten == 1);
    q = right;
  }
  CHECK(problem.check().right());
}

TEST_CASE("a scale of its own for each row saves the rows that are small") {
  const auto error_of = [](auto problem) {
    problem.each_array([](auto& array) { array.reset(bench::Side::host); });
    quantize_openmp(problem.host_operand(), problem.scaling);
    return problem.rounding_error();
  };
  const RoundingError tensor = error_of(Quantize<Scaling::tensor>(40, 1024, 1));
  const RoundingError rows = error_of(Quantize<Scaling::rows>(40, 1024, 1));
  // Four significant bits: at most 1/16 of a number, 1/16 / sqrt(3) over an interval from 1 to 2.
  CHECK(rows.of_worst_row < 0.036);
  CHECK(rows.of_all > 0.01);
  CHECK(tensor.of_all < 0.036);
  CHECK(tensor.of_worst_row > 0.05);
}
