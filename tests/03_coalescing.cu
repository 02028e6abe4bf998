// Chapter 03: copy, particles, latency and the program. The claims about sectors are counted.
#include <cmath>
#include <string>
#include <vector>

#include "03_coalescing/copy/ladder.cu"
#include "03_coalescing/latency/ladder.cu"
#include "03_coalescing/particles/ladder.cu"
#include "03_coalescing/study/copy_sweeps.cuh"
#include "03_coalescing/study/latency_cycles.cuh"
#include "03_coalescing/transpose/ladder.cu"
#include "03_coalescing/window/ladder.cu"
#include "common/bench/harness.cuh"
#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"
#include "simt/include/simt/profile.h"
#include "tests/catch.hpp"
#include "tests/ladder_cases.hpp"
#include "tests/run_command.hpp"
#include "tests/verify.hpp"

using namespace coalesced_copy;
using namespace particles;
using namespace latency;

namespace {

const std::string kProgram = TEST_BUILD "/03_coalescing/ladders";
const std::string kSmall = " --n 1000 --particles 100 --rows 40 --cols 70 --signal 500 ";

// Around a warp, a float4, a block and the tile of the copies (2048), and primes.
const std::vector<std::int64_t> kSizes = {1,   2,   3,    4,    5,    31,   32,   33,   127,
                                          255, 256, 1021, 1023, 1024, 1025, 2047, 2048, 2049};

std::vector<bench::Settings::Given> sizes_of(const std::string& setting) {
  std::vector<bench::Settings::Given> sizes;
  for (const std::int64_t n : kSizes) sizes.push_back({{setting, n}});
  return sizes;
}

#if SIMT_INSTRUMENTED
// What simt counted while every variant called `name` of `variants` ran once.
template <class Problem>
simt::KernelProfile counts(Problem& problem, const std::vector<bench::Variant<Problem>>& variants,
                           const std::string& name) {
  simt::profile_reset();
  for (const auto& variant : variants) {
    if (variant.name != name) continue;
    const auto verdict = tests::verify(problem, variant, bench::query_device(), nullptr);
    REQUIRE(verdict.status == bench::Status::right);
  }
  const auto profile = simt::profile(std::string(Problem::name) + "_" + name + "_kernel");
  simt::profile_stop();
  REQUIRE(profile.launches == 1);
  return profile;
}

simt::GlobalCounts gather_counts(Copy& problem, int stride, int offset) {
  const auto variant = gather_variant(stride, offset);
  simt::profile_reset();
  const auto verdict = tests::verify(problem, variant, bench::query_device(), nullptr);
  REQUIRE(verdict.status == bench::Status::right);
  const auto profile = simt::profile("copy_gather_kernel");
  simt::profile_stop();
  return profile.global;
}
#endif

}  // namespace

TEST_CASE("copy: every variant is right at every size") {
  tests::every_variant_is_right(coalesced_copy::ladder(), sizes_of("n"));
}

TEST_CASE("particles: every variant is right at every size") {
  tests::every_variant_is_right(particles::ladder(), sizes_of("particles"));
}

TEST_CASE("every launch is in the stream that was given") {
  tests::every_launch_is_in_its_stream(coalesced_copy::ladder(), {{"n", 5003}});
  tests::every_launch_is_in_its_stream(particles::ladder(), {{"particles", 1003}});
  tests::every_launch_is_in_its_stream(transpose::ladder(), {{"rows", 100}, {"cols", 60}});
  tests::every_launch_is_in_its_stream(window::ladder(), {{"signal", 5003}, {"radius", 8}});
}

TEST_CASE("what a run holds", "[.]") {
  tests::takes_what_it_says(coalesced_copy::ladder(), {{"n", 200'003}});
  tests::takes_what_it_says(particles::ladder(), {{"particles", 50'001}});
  tests::takes_what_it_says(transpose::ladder(), {{"rows", 401}, {"cols", 501}});
  tests::takes_what_it_says(transpose::ladder(), {{"rows", 200'003}, {"cols", 1}});
  tests::takes_what_it_says(window::ladder(), {{"signal", 200'003}, {"radius", 8}});
}

TEST_CASE("a run takes the memory that it says") {
  tests::passes_by_itself("SIMT_THREADS=1", "what a run holds");
}

TEST_CASE("copy: large") {
  const bench::DeviceFacts device = bench::query_device();
  Copy problem(1'000'003, 3);
  for (const auto& variant : coalesced_copy::ladder().variants) {
    if (!bench::why_skipped(variant, device).empty()) continue;
    INFO(variant.name);
    CHECK(tests::verify(problem, variant, device, nullptr).status == bench::Status::right);
  }
}

TEST_CASE("copy: one pointer that is not aligned is refused, and nothing is written") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  constexpr std::int64_t n = 1000;
  for (const int offset : {1, 2, 3}) {
    Copy problem(n, 3);
    problem.each_array([](auto& array) { array.reset(bench::Side::device); });
    const float* x = problem.x.device_data();
    float* y = problem.y.device_data();
    CHECK_THROWS_AS(copy_vectorized(x + offset, y, n - offset, nullptr), kit::Skip);
    CHECK_THROWS_AS(copy_vectorized(x, y + offset, n - offset, nullptr), kit::Skip);
    // The rungs of 4 bytes take any.
    copy_coalesced(x + offset, y, n - offset, nullptr);
    CUDA_CHECK(cudaDeviceSynchronize());
    problem.each_array([](auto& array) { array.fetch(bench::Side::device); });
    const float* from = problem.x.pristine() + offset;
    CHECK(bench::compare(problem.y.fetched(), from, n - offset, 0.0).right());
    CHECK(problem.y.damage() == "");
  }
}

TEST_CASE("copy: n = 0 copies nothing") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  const kit::DeviceBuffer<float> d(4);
  copy_chunked(d.data(), d.data(), 0, nullptr);
  copy_coalesced(d.data(), d.data(), 0, nullptr);
  copy_restrict(d.data(), d.data(), 0, nullptr);
  copy_vectorized(d.data(), d.data(), 0, nullptr);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE("copy: one request touches 4 sectors coalesced, 32 with the index roles swapped") {
#if SIMT_INSTRUMENTED
  Copy problem(4096, 5);
  const auto chunked = counts(problem, coalesced_copy::ladder().variants, "chunked").global;
  CHECK(chunked.load_sectors_per_request() == 32.0);
  CHECK(chunked.store_sectors_per_request() == 32.0);
  const auto coalesced = counts(problem, coalesced_copy::ladder().variants, "coalesced").global;
  CHECK(coalesced.load_sectors_per_request() == 4.0);
  CHECK(coalesced.store_sectors_per_request() == 4.0);
  CHECK(coalesced.load_requests == chunked.load_requests);  // the same work otherwise
  // The promise that x and y do not overlap changes the order of the requests, not the requests.
  const auto restricted = counts(problem, coalesced_copy::ladder().variants, "restrict").global;
  CHECK(restricted.load_requests == coalesced.load_requests);
  CHECK(restricted.load_sectors == coalesced.load_sectors);
  CHECK(restricted.store_sectors == coalesced.store_sectors);
  const auto vectorized = counts(problem, coalesced_copy::ladder().variants, "vectorized").global;
  CHECK(vectorized.load_sectors_per_request() == 16.0);
  CHECK(vectorized.store_sectors_per_request() == 16.0);
  CHECK(4 * vectorized.load_requests == coalesced.load_requests);
#else
  SKIP_TEST("counters need simt");
#endif
}

TEST_CASE("sectors per request of a gather, by the formula") {
  CHECK(sectors_per_request(1, 0) == 4);
  CHECK(sectors_per_request(2, 0) == 8);
  CHECK(sectors_per_request(4, 0) == 16);
  CHECK(sectors_per_request(8, 0) == 32);
  CHECK(sectors_per_request(32, 0) == 32);
  CHECK(sectors_per_request(1, 1) == 5);
  CHECK(sectors_per_request(1, 7) == 5);
  CHECK(sectors_per_request(1, 8) == 4);
  CHECK(gathered_floats(10, 3, 0) == 4);  // 0, 3, 6, 9
  CHECK(gathered_floats(10, 3, 1) == 3);  // 1, 4, 7
  CHECK(gathered_floats(10, 1, 31) == 0);
}

TEST_CASE("sectors per request of a gather, counted") {
#if SIMT_INSTRUMENTED
  constexpr std::int64_t kRequests = 8;  // whole warps only, at every stride and offset
  for (int stride = 1; stride <= 32; ++stride) {
    INFO("stride " << stride);
    Copy problem(kRequests * 32 * stride, 5);
    const auto global = gather_counts(problem, stride, 0);
    CHECK(global.load_requests == kRequests);
    CHECK(global.load_sectors_per_request() == sectors_per_request(stride, 0));
    CHECK(global.store_sectors_per_request() == 4.0);
  }
  for (int offset = 0; offset < 32; ++offset) {
    INFO("offset " << offset);
    Copy problem(kRequests * 32 + offset, 5);
    const auto global = gather_counts(problem, 1, offset);
    CHECK(global.load_requests == kRequests);
    CHECK(global.load_sectors_per_request() == (offset % 8 == 0 ? 4.0 : 5.0));
  }
#else
  SKIP_TEST("counters need simt");
#endif
}

TEST_CASE("every gather of the sweeps is right") {
  const bench::DeviceFacts device = bench::query_device();
  if (!device.available) SKIP_TEST("needs a GPU");
  for (const std::int64_t n : {1, 31, 32, 33, 1021}) {
    Copy problem(n, 5);
    for (int step = 0; step < 32; ++step) {
      INFO("n = " << n << ", step " << step);
      const auto strided = tests::verify(problem, gather_variant(step + 1, 0), device, nullptr);
      CHECK(strided.status == bench::Status::right);
      const auto shifted = tests::verify(problem, gather_variant(1, step), device, nullptr);
      CHECK(shifted.status == bench::Status::right);
    }
  }
}

TEST_CASE("particles: 32 sectors a request as structures, 4 as arrays") {
#if SIMT_INSTRUMENTED
  Particles problem(512, 5);
  const auto variants = particles::ladder().variants;
  const auto aos = counts(problem, variants, "aos").global;
  const auto aos_vector = counts(problem, variants, "aos_vector").global;
  const auto soa = counts(problem, variants, "soa").global;
  const auto soa_vector = counts(problem, variants, "soa_vector").global;
  for (const auto& structures : {aos, aos_vector}) {
    CHECK(structures.load_sectors_per_request() == 32.0);
    CHECK(structures.store_sectors_per_request() == 32.0);
  }
  CHECK(soa.load_sectors_per_request() == 4.0);
  CHECK(soa.store_sectors_per_request() == 4.0);
  CHECK(soa_vector.load_sectors_per_request() == 16.0);
  CHECK(soa_vector.store_sectors_per_request() == 16.0);
  // As many as there are fields to read in the source; nvcc merges those of a structure.
  CHECK(aos.load_requests == 6 * 512 / 32);
  CHECK(soa.load_requests == aos.load_requests);
  CHECK(aos_vector.load_requests == 2 * 512 / 32);
#else
  SKIP_TEST("counters need simt");
#endif
}

TEST_CASE("particles: every field begins on a line of 128 bytes") {
  for (const std::int64_t n : {0, 1, 31, 32, 33, 516}) {
    const std::int64_t pitch = particle_pitch(n);
    CHECK(pitch * sizeof(float) % 128 == 0);
    CHECK(pitch >= n);
    CHECK(pitch < n + 32);
  }
}

TEST_CASE("particles: whoever changes the other layout is wrong, behind the last particle too") {
  Particles problem(33, 3);
  problem.each_array([](auto& array) { array.reset(bench::Side::host); });
  std::copy_n(problem.expected_aos.data(), problem.aos.size(), problem.aos.host_data());
  const auto is_right = [&problem] {
    problem.each_array([](auto& array) { array.fetch(bench::Side::host); });
    return problem.check_aos().right();
  };
  CHECK(is_right());
  for (auto* array : {&problem.aos, &problem.soa}) {
    float& last = array->host_data()[array->size() - 1];
    const float before = last;
    last += 1;
    CHECK(!is_right());
    last = before;
  }
}

TEST_CASE("latency: each level takes longer than the one before, and twice the same") {
  const bench::DeviceFacts device = bench::query_device();
  if (!device.is_real_gpu()) SKIP_TEST("needs the clock of a GPU");
  const bench::WorkStream stream(device);
  Latency problem(device, 1);
  double last = 0;
  for (const auto& variant : latency::ladder().variants) {
    INFO(variant.name);
    const double first = cycles_per_load(problem, variant, device, stream.get());
    const double second = cycles_per_load(problem, variant, device, stream.get());
    INFO(first << " and " << second << " cycles");
    REQUIRE_FALSE(std::isnan(first));
    CHECK(first > last);
    CHECK(std::fabs(second / first - 1) < 0.1);
    last = first;
  }
}

TEST_CASE("latency: a ring visits every line once a lap") {
  bench::DeviceFacts device = bench::query_device();
  if (!device.available) SKIP_TEST("needs a GPU");
  const Ring ring("ring", 64 * Ring::kLineBytes, device, 3);
  std::vector<int> visits(ring.lines());
  for (int hop = 0; hop < ring.lines(); ++hop) {
    ++visits[ring.offset_after(hop) / Ring::kLineBytes];
  }
  for (const int count : visits) CHECK(count == 1);
  CHECK(ring.offset_after(ring.lines()) == 0);
}

TEST_CASE("latency: a chain ends where its laps and its timed loads lead") {
  const bench::DeviceFacts device = bench::query_device();
  if (!device.available) SKIP_TEST("needs a GPU");
  const bench::WorkStream stream(device);
  Latency problem(device, 1);
  problem.has_clock = true;  // where the loads lead can be seen without one
  for (const auto& variant : latency::ladder().variants) {
    INFO(variant.name);
    problem.each_array([](auto& array) { array.reset(bench::Side::device); });
    CUDA_CHECK(cudaDeviceSynchronize());
    variant.run(problem, stream.get());
    CUDA_CHECK(cudaDeviceSynchronize());
    problem.result.fetch(bench::Side::device);
    const auto result = variant.check(problem);  // of the end, then of the cycles
    CHECK((result.right() || result.first_wrong > 0));
  }
}

TEST_CASE("a symbol is written by its name, by its address, and by a kernel") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  const auto demo = tests::run_command(kProgram + " --demo symbols");
  CHECK(demo.status == 0);
  CHECK(demo.output.find(" 2\n") < demo.output.find(" 3\n"));
  CHECK(demo.output.find(" 3\n") < demo.output.find(" 6\n"));
}

TEST_CASE("bad arguments: exit status 2 and one line, at once") {
  tests::refuses_bad_arguments(kProgram, "--n 10 --only copy/sequential",
                               {"--n 0",
                                "--n -1",
                                "--n abc",
                                "--n 99999999999999999",
                                "--n 99999999999999999999",
                                "--n 1.5",
                                "--n ''",
                                "--n",
                                "--particles 0",
                                "--particles 999999999999999999",
                                "--rows 0",
                                "--cols -3",
                                "--rows 2147483648",
                                "--rows 2000000000 --cols 2000000000",
                                "--signal 0",
                                "--signal 99999999999999999",
                                "--radius -1",
                                "--radius 65",
                                "--only copy/tiled",
                                "--sweep stride --n 99999999999999999",
                                "--sweep stride --only window"});
}

TEST_CASE("--list and a small run name each variant of the five problems") {
  const auto names = tests::names_of(coalesced_copy::ladder(), particles::ladder(),
                                     transpose::ladder(), window::ladder(), latency::ladder());
  tests::lists_every_variant(kProgram, names);
  tests::small_run_is_right(kProgram, kSmall + "--verify", names);
}

TEST_CASE("the sweeps print 32 points each, with their sectors") {
  const bench::DeviceFacts device = bench::query_device();
  if (!device.available) SKIP_TEST("needs a GPU");
  for (const std::string name : {"stride", "offset"}) {
    const auto result = tests::run_command(kProgram + " --n 2000 --repeats 2 --sweep " + name);
    INFO(result.output);
    CHECK(result.status == 0);
    CHECK(result.output.find("copy, swept over " + name) != std::string::npos);
    CHECK(result.output.find("wrong") == std::string::npos);
  }
}
