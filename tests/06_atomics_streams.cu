// Chapter 06, the half about atomics: every variant is right at every size, the racy rung is wrong
// and nothing else is, and each rung asks as often as its lesson says.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "06_atomics_streams/float_max/ladder.cu"
#include "06_atomics_streams/histogram/ladder.cu"
#include "06_atomics_streams/lock/ladder.cu"
#include "06_atomics_streams/one_cell/ladder.cu"
#include "06_atomics_streams/pi/ladder.cu"
#include "06_atomics_streams/study/atomics_demo.cuh"
#include "06_atomics_streams/study/host_threads.cuh"
#include "06_atomics_streams/study/racy_report.cuh"
#include "common/bench/harness.cuh"
#include "tests/catch.hpp"
#include "tests/ladder_cases.hpp"
#include "tests/repeats.hpp"
#include "tests/run_command.hpp"
#include "tests/verify.hpp"

#if SIMT_INSTRUMENTED
#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"
#include "simt/include/simt/profile.h"
#endif

using namespace atomics_streams;
using namespace float_max;
using namespace histogram;
using namespace one_cell;
using namespace pi;
using lock::Lock;

namespace {

const std::string kProgram = TEST_BUILD "/06_atomics_streams/ladders";

// Around a warp, a piece of 16 bytes, a block, a pass of the grid; primes.
const std::vector<std::int64_t> kSizes = {1,    2,    3,    15,    16,    17,    31,    32,
                                          33,   63,   255,  256,   257,   1021,  1023,  1024,
                                          1025, 4096, 4099, 16383, 16384, 16385, 65537, 100'003};

// On a GPU one more: there every thread of a grid that fills the chip goes round its loop twice.
constexpr std::int64_t kLarge = 10'000'019;

// Runs `variant` on problems made for each size; why it was skipped, empty if it was not.
template <class Problem, class Make>
std::string check_at_sizes(const bench::Variant<Problem>& variant, std::vector<std::int64_t> sizes,
                           Make make, bool large_too = true) {
  const bench::DeviceFacts device = bench::query_device();
  if (large_too && device.is_real_gpu()) sizes.push_back(kLarge);
  const bench::WorkStream stream(device);
  const std::string reason = bench::why_skipped(variant, device);
  if (!reason.empty()) return reason;
  for (const std::int64_t n : sizes) {
    INFO("n = " << n);
    Problem problem = make(n);
    const auto verdict = tests::verify(problem, variant, device, stream.get());
    INFO(verdict.reason);
    if (verdict.status == bench::Status::skipped) return verdict.reason;
    CHECK(verdict.status == bench::Status::right);
  }
  return "";
}

#if SIMT_INSTRUMENTED
// Counts of kernel <problem>_<name>_kernel in one run of the variant, which must be right.
template <class Problem>
simt::KernelProfile counts_of(Problem& problem,
                              const std::vector<bench::Variant<Problem>>& variants,
                              const std::string& name) {
  const bench::DeviceFacts device = bench::query_device();
  const bench::WorkStream stream(device);
  simt::profile_reset();
  const auto verdict =
      tests::verify(problem, tests::variant_named(variants, name), device, stream.get());
  INFO(verdict.reason);
  CHECK(verdict.status == bench::Status::right);
  const auto profile = simt::profile(std::string(Problem::name) + "_" + name + "_kernel");
  simt::profile_stop();
  CHECK(profile.launches == 1);
  return profile;
}

// Number of the line of `file` that contains `text`.
unsigned line_of(const std::string& file, const std::string& text) {
  std::ifstream stream(file);
  unsigned number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    if (line.find(text) != std::string::npos) return number;
  }
  return 0;
}
#endif

}  // namespace

TEST_CASE("one cell: every variant is right at every size") {
  for (const auto& variant : one_cell::ladder().variants) {
    DYNAMIC_SECTION(variant.name) {
      const std::string skipped =
          check_at_sizes(variant, kSizes, [](std::int64_t n) { return OneCell(n, 7); });
      if (!skipped.empty()) SKIP_SECTION(skipped);
    }
  }
}

TEST_CASE("every launch of chapter 06 is in the stream that was given") {
  tests::every_launch_is_in_its_stream(one_cell::ladder(), {{"n", 5003}});
  tests::every_launch_is_in_its_stream(histogram::ladder(), {{"n", 50'003}});
  tests::every_launch_is_in_its_stream(float_max::ladder(), {{"n", 5003}});
  tests::every_launch_is_in_its_stream(lock::ladder(), {{"n", 503}});
  auto points = pi::ladder();
  const auto is_library = [](const auto& variant) { return variant.name == "curand_host"; };
  points.variants.erase(
      std::remove_if(points.variants.begin(), points.variants.end(), is_library),
      points.variants.end());  // what cuRAND's host API does besides is its own affair
  tests::every_launch_is_in_its_stream(points, {{"n", 5003}});
}

TEST_CASE("what a run holds", "[.]") {
  tests::takes_what_it_says(one_cell::ladder(), {{"n", 800'003}}, {1e6, 3e5});
  tests::takes_what_it_says(histogram::ladder(), {{"n", 800'003}});
  tests::takes_what_it_says(float_max::ladder(), {{"n", 200'003}});
  tests::takes_what_it_says(lock::ladder(), {{"n", lock::kMostLocks}});
}

TEST_CASE("a run of chapter 06 takes the memory that it says") {
  tests::passes_by_itself("SIMT_THREADS=1 SIMT_CHECK=0", "what a run holds");
}

TEST_CASE("one cell: the sum of nothing is 0, and the largest samples do not overflow a block") {
  CHECK(one_cell_sequential(nullptr, 0) == 0);
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  constexpr std::int64_t n = 70'000;
  const kit::DeviceBuffer<std::uint16_t> x(n);
  const kit::DeviceBuffer<unsigned long long> total(1);
  CUDA_CHECK(cudaMemset(x.data(), 0xFF, x.bytes()));
  for (const auto sum : {one_cell_atomic_add, one_cell_warp_aggregated, one_cell_block_aggregated,
                         one_cell_per_thread}) {
    for (const std::int64_t count : {std::int64_t{0}, n}) {
      unsigned long long got = 1;
      sum(x.data(), count, total.data(), nullptr);
      CUDA_CHECK(cudaMemcpy(&got, total.data(), sizeof got, cudaMemcpyDeviceToHost));
      CHECK(got == 65535ull * count);
    }
  }
}

TEST_CASE("the racy rung is named by the race check, at its line, and nothing else is") {
#if SIMT_INSTRUMENTED
  const bench::DeviceFacts device = bench::query_device();
  const bench::WorkStream stream(device);
  CHECK(simt::check_reports().empty());
  OneCell problem(2048, 7);
  for (const auto& variant : one_cell::ladder().variants) {
    bench::verify(problem, variant, device, stream.get());
  }
  CHECK(simt::check_reports().empty());

  total_of(problem, one_cell::wrong_on_purpose().variants.at(0), stream.get());
  const auto reports = simt::check_reports();
  const unsigned line = line_of("06_atomics_streams/one_cell/02_racy.cuh", "// the race");
  REQUIRE(line > 0);
  REQUIRE(!reports.empty());
  for (const auto& report : reports) {
    INFO(report.message);
    CHECK(report.check == "race");
    CHECK(report.kernel.find("one_cell_racy_kernel") != std::string::npos);
    CHECK(report.file.find("02_racy.cuh") != std::string::npos);
    CHECK(report.line == line);
  }
#else
  SKIP_TEST("the race check needs simt");
#endif
}

TEST_CASE("on a GPU the racy rung loses at least 31 of 32 samples, the others none") {
  const bench::DeviceFacts device = bench::query_device();
  if (!device.is_real_gpu()) SKIP_TEST("needs a GPU");
  const bench::WorkStream stream(device);
  OneCell problem(1'000'000, 7);
  const auto got = total_of(problem, one_cell::wrong_on_purpose().variants.at(0), stream.get());
  // Of each warp one sample survives; the largest of 32 is at most 65535, the mean about half.
  CHECK(percent_lost(problem.expected, got) > 90);
}

TEST_CASE("percent lost") {
  CHECK(percent_lost(100, 100) == 0);
  CHECK(percent_lost(100, 3) == 97);
  CHECK(percent_lost(0, 0) == 0);
}

TEST_CASE("one cell: how many requests reach the cell") {
#if SIMT_INSTRUMENTED
  constexpr std::uint64_t n = 8192;
  OneCell problem(n, 5);
  const auto variants = one_cell::ladder().variants;
  const auto each = counts_of(problem, variants, "atomic_add").atomics;
  CHECK(each.global_lanes == n);
  CHECK(each.global_requests == n / 32);
  CHECK(each.average_serialization() == 32);  // all lanes of a warp want one address
  const auto warp = counts_of(problem, variants, "warp_aggregated").atomics;
  CHECK(warp.global_lanes == n / 32);
  CHECK(warp.max_serialization == 1);
  const auto block = counts_of(problem, variants, "block_aggregated").atomics;
  CHECK(block.global_lanes == n / 256);
  CHECK(block.shared_lanes == n);
  const auto thread = counts_of(problem, variants, "per_thread").atomics;
  CHECK(thread.global_lanes == n / 256);  // one per block, and n is below one pass of the grid
  CHECK(thread.shared_lanes == 0);
#else
  SKIP_TEST("counters need simt");
#endif
}

TEST_CASE("one cell: what one thread adds up may need more than 32 bits") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  constexpr std::int64_t n = 32 * 65'538;  // a warp alone: 65,538 samples a thread
  const kit::DeviceBuffer<std::uint16_t> x(n);
  const kit::DeviceBuffer<unsigned long long> total(1);
  CUDA_CHECK(cudaMemset(x.data(), 0xff, x.bytes()));
  CUDA_CHECK(cudaMemset(total.data(), 0, total.bytes()));
  one_cell_per_thread_kernel<<<1, 32>>>(x.data(), n, total.data());
  CUDA_CHECK(cudaGetLastError());
  unsigned long long sum = 0;
  CUDA_CHECK(cudaMemcpy(&sum, total.data(), sizeof sum, cudaMemcpyDeviceToHost));
  CHECK(sum == 65'535ull * n);
}

TEST_CASE("one cell: per_thread asks once per block, however long the input") {
#if SIMT_INSTRUMENTED
  const auto requests = [](std::int64_t n) {
    const kit::DeviceBuffer<std::uint16_t> x(n);
    const kit::DeviceBuffer<unsigned long long> total(1);
    CUDA_CHECK(cudaMemset(x.data(), 0, x.bytes()));
    CUDA_CHECK(cudaMemset(total.data(), 0, total.bytes()));
    simt::profile_reset();
    one_cell_per_thread_kernel<<<2, 256>>>(x.data(), n, total.data());
    CUDA_CHECK(cudaDeviceSynchronize());
    const auto profile = simt::profile("one_cell_per_thread_kernel");
    simt::profile_stop();
    return profile.atomics.global_lanes;
  };
  CHECK(requests(512) == 2);
  CHECK(requests(20'000) == 2);
#else
  SKIP_TEST("counters need simt");
#endif
}

TEST_CASE("histogram: every variant is right at every size and for every kind of input") {
  for (const auto& variant : histogram::ladder().variants) {
    DYNAMIC_SECTION(variant.name) {
      for (const auto input :
           {HistogramInput::uniform, HistogramInput::skewed, HistogramInput::constant}) {
        const std::string skipped = check_at_sizes(
            variant, kSizes, [input](std::int64_t n) { return Histogram(n, 7, input); });
        if (skipped.empty()) continue;
        tests::record_skip(skipped);
        break;
      }
    }
  }
}

TEST_CASE("histogram: several passes of the grid, and a rest") {
  // A pass of one block is 1024 pieces of 16 bytes; `lane_columns` to `ahead` ask for four passes
  // at once.
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  constexpr std::int64_t kPass = 1024 * 16;
  const kit::DeviceBuffer<unsigned> d_counts(kBins);
  for (const std::int64_t n : {4 * kPass, 4 * kPass - 1, 7 * kPass + 16, 8 * kPass + 5,
                               9 * kPass - 16, 11 * kPass + 100, 13 * kPass}) {
    Histogram problem(n, 7, HistogramInput::uniform);
    const kit::DeviceBuffer<unsigned char> d_x(n);
    CUDA_CHECK(cudaMemcpy(d_x.data(), problem.x.pristine(), n, cudaMemcpyHostToDevice));
    for (const auto kernel :
         {histogram_lane_columns_kernel, histogram_runs_kernel, histogram_prefetch_kernel}) {
      CUDA_CHECK(cudaMemset(d_counts.data(), 0, d_counts.bytes()));
      kernel<<<1, kColumnBlock>>>(d_x.data(), n, d_counts.data());
      CUDA_CHECK(cudaGetLastError());
      std::vector<unsigned> got(kBins);
      CUDA_CHECK(cudaMemcpy(got.data(), d_counts.data(), d_counts.bytes(), cudaMemcpyDeviceToHost));
      CHECK(bench::compare(got.data(), problem.expected.data(), kBins, 0.0).right());
    }
  }
}

TEST_CASE("histogram: the inputs are what they are called") {
  constexpr int n = 100'000;
  const Histogram uniform(n, 3, HistogramInput::uniform), skewed(n, 3, HistogramInput::skewed),
      constant(n, 3, HistogramInput::constant), few(n, 3, HistogramInput::uniform, 4);
  for (int b = 0; b < kBins; ++b) {
    // 391 expected, standard deviation 20: six of them.
    CHECK(std::fabs(uniform.expected[b] - n / 256.0) < 120);
    CHECK((few.expected[b] > 0) == (b < 4));
  }
  CHECK(std::fabs(skewed.expected[0] - n / 2.0) < 6 * std::sqrt(n / 4.0));
  CHECK(skewed.expected[255] > 0);
  CHECK(constant.expected[42] == static_cast<unsigned>(n));
}

TEST_CASE("histogram: runs of equal bytes at every place of a piece, and no alignment") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  constexpr int n = 4096;
  for (const auto histogram :
       {histogram_vectorized, histogram_lane_columns, histogram_runs, histogram_prefetch}) {
    for (const int offset : {0, 1, 3, 8, 15}) {
      std::vector<unsigned char> x(n);
      // Byte i / 24: runs longer than a piece of 16, at ever other places of it.
      for (int i = 0; i < n; ++i) x[i] = static_cast<unsigned char>(i / 24);
      std::vector<unsigned> expected(kBins), got(kBins);
      for (int i = offset; i < n; ++i) ++expected[x[i]];
      const kit::DeviceBuffer<unsigned char> d_x(n);
      const kit::DeviceBuffer<unsigned> d_counts(kBins);
      CUDA_CHECK(cudaMemcpy(d_x.data(), x.data(), n, cudaMemcpyHostToDevice));
      histogram(d_x.data() + offset, n - offset, d_counts.data(), nullptr);
      CUDA_CHECK(cudaMemcpy(got.data(), d_counts.data(), d_counts.bytes(), cudaMemcpyDeviceToHost));
      CHECK(got == expected);
      histogram(d_x.data() + offset, 0, d_counts.data(), nullptr);
      CUDA_CHECK(cudaMemcpy(got.data(), d_counts.data(), d_counts.bytes(), cudaMemcpyDeviceToHost));
      CHECK(got == std::vector<unsigned>(kBins));
    }
  }
}

TEST_CASE("histogram: a piece with one other byte, at whatever place, is no run") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  constexpr int n = 16 * 16;
  const kit::DeviceBuffer<unsigned char> d_x(n);
  const kit::DeviceBuffer<unsigned> d_counts(kBins);
  for (const auto histogram : {histogram_runs, histogram_prefetch}) {
    for (int period = 1; period <= 8; period *= 2) {
      INFO("every byte differs from the one " << period << " before it, at one place of a piece");
      // Piece p: byte 7, but 9 + p at place p; with a period, also at every period-th place. The
      // other byte is each piece's own, so that what one counts too often no other makes up for.
      std::vector<unsigned char> x(n, 7);
      for (int p = 0; p < 16; ++p) {
        for (int k = p % period; k < 16; k += period == 1 ? 16 : period) {
          x[16 * p + (period == 1 ? p : k)] = static_cast<unsigned char>(9 + p);
        }
      }
      std::vector<unsigned> expected(kBins), got(kBins);
      for (const unsigned char byte : x) ++expected[byte];
      CUDA_CHECK(cudaMemcpy(d_x.data(), x.data(), n, cudaMemcpyHostToDevice));
      histogram(d_x.data(), n, d_counts.data(), nullptr);
      CUDA_CHECK(cudaMemcpy(got.data(), d_counts.data(), d_counts.bytes(), cudaMemcpyDeviceToHost));
      CHECK(got == expected);
    }
  }
}

TEST_CASE("histogram: where the requests go, and how they collide") {
#if SIMT_INSTRUMENTED
  constexpr std::uint64_t n = 1 << 14;
  const auto variants = histogram::ladder().variants;
  Histogram constant(n, 5, HistogramInput::constant), uniform(n, 5, HistogramInput::uniform);

  const auto global = counts_of(constant, variants, "global_atomics").atomics;
  CHECK(global.global_lanes == n);
  CHECK(global.average_serialization() == 32);
  const auto shared = counts_of(constant, variants, "shared_private");
  CHECK(shared.atomics.shared_lanes == n);
  CHECK(shared.atomics.max_serialization == 32);
  CHECK(shared.atomics.global_lanes == 256 * (n / 256));  // every block hands in 256 numbers

  // 16 bytes a load instead of 1: a sixteenth of the requests.
  CHECK(shared.global.load_requests == n / 32);
  CHECK(counts_of(constant, variants, "vectorized").global.load_requests == n / 32 / 16);

  // A column per lane: whatever the data, no two lanes of a warp meet.
  for (Histogram* problem : {&constant, &uniform}) {
    const auto columns = counts_of(*problem, variants, "lane_columns").atomics;
    CHECK(columns.shared_lanes == n);
    CHECK(columns.max_serialization == 1);
  }
  // A constant input costs one request per 16 bytes, a random one 16.
  CHECK(counts_of(constant, variants, "runs").atomics.shared_lanes == n / 16);
  CHECK(counts_of(uniform, variants, "runs").atomics.shared_lanes == n);
  CHECK(counts_of(constant, variants, "prefetch").atomics.shared_lanes == n / 16);
#else
  SKIP_TEST("counters need simt");
#endif
}

TEST_CASE("float max: every variant is right at every size, for mixed and for negative values") {
  for (const auto& variant : float_max::ladder().variants) {
    DYNAMIC_SECTION(variant.name) {
      for (const float shift : {0.0f, 2.0f}) {
        const std::string skipped = check_at_sizes(
            variant, kSizes, [shift](std::int64_t n) { return FloatMax(n, 7, shift); });
        if (skipped.empty()) continue;
        tests::record_skip(skipped);
        break;
      }
    }
  }
}

TEST_CASE("float max: zeros of both signs, infinities, and nothing at all") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const std::vector<std::pair<std::vector<float>, float>> cases = {
      {{}, -kInf},         {{-kInf}, -kInf},      {{-0.0f}, 0.0f},       {{-0.0f, -1e-45f}, 0.0f},
      {{-3, -0.0f}, 0.0f}, {{1e-45f, 0}, 1e-45f}, {{-1, kInf, 3}, kInf}, {{-2, -1, -3}, -1}};
  const kit::DeviceBuffer<float> d_x(4), d_largest(1);
  for (const auto find_max :
       {float_max_compare_and_swap, float_max_ordered_bits, float_max_aggregated}) {
    for (const auto& [x, expected] : cases) {
      float got = 7;
      CUDA_CHECK(
          cudaMemcpy(d_x.data(), x.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice));
      find_max(d_x.data(), static_cast<std::int64_t>(x.size()), d_largest.data(), nullptr);
      CUDA_CHECK(cudaMemcpy(&got, d_largest.data(), sizeof got, cudaMemcpyDeviceToHost));
      CHECK(got == expected);  // 0.0 and -0.0 are equal
    }
  }
}

TEST_CASE("lock: every variant is right at every size and leaves the lock free") {
  for (const auto& variant : lock::ladder().variants) {
    DYNAMIC_SECTION(variant.name) {
      const std::vector<std::int64_t> sizes = {1, 2, 3, 31, 32, 33, 255, 256, 257, 1021, 4099};
      const std::string skipped = check_at_sizes(
          variant, sizes, [](std::int64_t n) { return Lock(n, 7); }, false);
      if (!skipped.empty()) SKIP_SECTION(skipped);
    }
  }
}

TEST_CASE("lock: of equal values the first counts, in a warp and beyond; -0.0 equals 0.0") {
  const bench::DeviceFacts device = bench::query_device();
  const bench::WorkStream stream(device);
  for (const auto& variant : lock::ladder().variants) {
    if (!bench::why_skipped(variant, device).empty()) continue;
    // Where the first of the largest stands, and with which value; behind it only its equals.
    for (const std::int64_t first : {0, 1, 40, 300}) {
      for (const float largest : {5.0f, -0.0f}) {
        INFO(variant.name << ", " << largest << " from " << first << " on");
        Lock problem(600, 7);
        for (std::int64_t i = 0; i < problem.n; ++i) {
          problem.x.pristine()[i] = i < first ? -1.0f : i == first ? largest : largest + 0.0f;
        }
        const bench::Side side = bench::side_of(variant);
        problem.each_array([side](auto& array) { array.reset(side); });
        if (device.available) CUDA_CHECK(cudaDeviceSynchronize());
        variant.run(problem, stream.get());
        if (device.available) CUDA_CHECK(cudaDeviceSynchronize());
        problem.each_array([side](auto& array) { array.fetch(side); });
        float value = 0;
        std::memcpy(&value, problem.record.fetched(), sizeof value);
        CHECK(value == largest);
        CHECK(problem.record.fetched()[1] == first);
      }
    }
  }
}

TEST_CASE("fifty runs of chapter 06, no hang and no difference") {
  if (!bench::query_device().is_real_gpu()) SKIP_TEST("needs a GPU");
  tests::check_fifty_runs(OneCell(1'000'003, 5), one_cell::ladder().variants);
  tests::check_fifty_runs(Histogram(1'000'003, 5, HistogramInput::skewed),
                          histogram::ladder().variants);
  tests::check_fifty_runs(FloatMax(1'000'003, 5), float_max::ladder().variants);
  tests::check_fifty_runs(Lock(4099, 5), lock::ladder().variants);
  tests::check_fifty_runs(Pi(1'000'003, 5), pi::ladder().variants);
}

TEST_CASE("lock: its critical section is no race") {
#if SIMT_INSTRUMENTED
  const bench::DeviceFacts device = bench::query_device();
  const bench::WorkStream stream(device);
  Lock problem(1024, 7);
  for (const auto& variant : lock::ladder().variants) {
    bench::verify(problem, variant, device, stream.get());
    const auto reports = simt::check_reports();
    INFO(variant.name << ": " << (reports.empty() ? "" : reports[0].message));
    CHECK(reports.empty());
  }
#else
  SKIP_TEST("the race check needs simt");
#endif
}

TEST_CASE("the atomic functions do what their table says") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  const auto calls = atomic_calls();
  const auto outcomes = run_atomics_demo();
  REQUIRE(outcomes.size() == calls.size());
  for (std::size_t k = 0; k < calls.size(); ++k) {
    INFO(calls[k].call);
    CHECK(outcomes[k].returned == calls[k].before);
    CHECK(outcomes[k].after == calls[k].after);
  }
}

TEST_CASE("Philox gives the published numbers") {
  // Known answers of Random123, the library of the paper's authors (kat_vectors, philox4x32 10).
  struct Answer {
    Random4 counter;
    PhiloxKey key;
    Random4 expected;
  };
  const Answer answers[] = {
      {{{0, 0, 0, 0}}, {{0, 0}}, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}},
      {{{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}},
       {{0xffffffff, 0xffffffff}},
       {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}},
      {{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
       {{0xa4093822, 0x299f31d0}},
       {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}}};
  for (const Answer& answer : answers) {
    const Random4 got = philox4x32_10(answer.counter, answer.key);
    for (int k = 0; k < 4; ++k) CHECK(got.v[k] == answer.expected.v[k]);
  }
  const Random4 wide = philox_at(0x0000000200000001, philox_key(0));
  const Random4 same = philox4x32_10(Random4{{1, 2, 0, 0}}, philox_key(0));
  CHECK(wide.v[3] == same.v[3]);
}

TEST_CASE("a point hits if it lies in the quarter circle, exactly") {
  CHECK(is_hit(0, 0) == 1);
  CHECK(is_hit(0xffffffff, 0) == 1);
  CHECK(is_hit(0xffffffff, 0xffffffff) == 0);
  // (3, 4, 5) times 2^32 / 5 lies on the circle up to rounding: one below it, one above.
  CHECK(is_hit(2576980377u, 3435973836u) == 1);
  CHECK(is_hit(2576980378u, 3435973837u) == 0);
}

TEST_CASE("pi: every variant is within four standard errors, for odd sizes and several seeds") {
  for (const auto& variant : pi::ladder().variants) {
    DYNAMIC_SECTION(variant.name) {
      for (const std::uint64_t seed : {1, 2, 3}) {
        const std::string skipped =
            check_at_sizes(variant, {1, 2, 3, 31, 33, 511, 512, 513, 1021, 100'003},
                           [seed](std::int64_t n) { return Pi(n, seed); });
        if (skipped.empty()) continue;
        tests::record_skip(skipped);
        break;
      }
    }
  }
}

TEST_CASE("pi: the same seed gives the same answer, another seed another") {
  const bench::DeviceFacts device = bench::query_device();
  const bench::WorkStream stream(device);
  for (const auto& variant : pi::ladder().variants) {
    DYNAMIC_SECTION(variant.name) {
      const std::string reason = bench::why_skipped(variant, device);
      if (!reason.empty()) SKIP_SECTION(reason);
      const auto hits = [&](std::uint64_t seed) {
        Pi problem(50'001, seed);
        tests::verify(problem, variant, device, stream.get());
        return *problem.hits.fetched();
      };
      const auto first = hits(11);
      CHECK(hits(11) == first);
      CHECK((hits(12) != first || hits(13) != first));
    }
  }
}

TEST_CASE("pi: the bound is four standard errors, and a wrong count is not let through") {
  CHECK(std::fabs(Pi::standard_error(1'000'000) - 0.001642) < 1e-6);
  Pi problem(100'000, 5);
  problem.hits.reset(bench::Side::host);
  *problem.hits.host_data() = problem.expected_hits;
  problem.hits.fetch(bench::Side::host);
  CHECK(problem.check().right());
  CHECK(problem.check_exactly().right());
  *problem.hits.host_data() += 1;
  CHECK(problem.check().right());
  CHECK(!problem.check_exactly().right());
  *problem.hits.host_data() += 1000;  // a standard error is 130 hits
  CHECK(!problem.check().right());
}

TEST_CASE("host threads share the GPU, and each gets its own result") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  const auto results = run_host_threads();
  REQUIRE(results.size() == kHostThreads);
  for (unsigned t = 0; t < kHostThreads; ++t) {
    INFO("host thread " << t);
    CHECK(results[t] == std::vector<unsigned>(kHostThreadWords, (t + 1) * kHostThreadSteps));
  }
  const auto demo = tests::run_command(kProgram + " --demo host_threads");
  INFO(demo.output);
  CHECK(demo.status == 0);
  CHECK(demo.output.find("host thread 3: 1000 of 1000 words are 200\n") != std::string::npos);
}

TEST_CASE("--sweep bins and --demo atomics print their tables") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  const auto bins =
      tests::run_command(kProgram + " --only histogram --sweep bins --n 5000 --repeats 1");
  INFO(bins.output);
  CHECK(bins.status == 0);
  CHECK(bins.output.find("histogram, swept over bins") != std::string::npos);
  const auto demo = tests::run_command(kProgram + " --demo atomics");
  INFO(demo.output);
  CHECK(demo.status == 0);
  CHECK(demo.lines == static_cast<int>(atomic_calls().size()) + 1);
}
