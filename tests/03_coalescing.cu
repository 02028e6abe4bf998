// Chapter 03: copy, particles, latency and the program. The claims about sectors are counted.
#include <cmath>
#include <string>
#include <vector>

#include "03_coalescing/copy/sweeps.cuh"
#include "03_coalescing/copy/variants.cuh"
#include "03_coalescing/latency/cycles.cuh"
#include "03_coalescing/latency/variants.cuh"
#include "03_coalescing/particles/variants.cuh"
#include "common/harness.cuh"
#include "simt/include/simt/profile.h"
#include "tests/catch.hpp"
#include "tests/run_command.hpp"

namespace {

const std::string kProgram = TEST_BUILD "/03_coalescing/coalescing";
const std::string kSmall =
    " --n 1000 --particles 100 --rows 40 --cols 70 --signal 500 --repeats 2 ";

// Around a warp, a float4, a block and the tile of the copies (2048), and primes.
const std::vector<std::int64_t> kSizes = {1,   2,   3,    4,    5,    31,   32,   33,   127,
                                          255, 256, 1021, 1023, 1024, 1025, 2047, 2048, 2049};

template <class MakeProblem, class Problem>
void require_right(MakeProblem make, const std::vector<common::Variant<Problem>>& variants) {
  const common::DeviceFacts device = common::query_device();
  const common::WorkStream stream(device);
  for (const auto& variant : variants) {
    DYNAMIC_SECTION(variant.name) {
      const std::string reason = common::why_skipped(variant, device);
      if (!reason.empty()) SKIP_TEST(reason);
      for (const std::int64_t n : kSizes) {
        INFO("n = " << n);
        Problem problem = make(n);
        const auto verdict = common::verify(problem, variant, device, stream.get());
        INFO(verdict.reason);
        REQUIRE(verdict.status == common::Status::right);
        CHECK(verdict.max_error == 0.0);
      }
    }
  }
}

#if SIMT_INSTRUMENTED
// What simt counted while every variant called `name` of `variants` ran once.
template <class Problem>
simt::KernelProfile counts(Problem& problem, const std::vector<common::Variant<Problem>>& variants,
                           const std::string& name) {
  simt::profile_reset();
  for (const auto& variant : variants) {
    if (variant.name != name) continue;
    const auto verdict = common::verify(problem, variant, common::query_device(), nullptr);
    REQUIRE(verdict.status == common::Status::right);
  }
  const auto profile = simt::profile(std::string(Problem::name) + "_" + name + "_kernel");
  simt::profile_stop();
  REQUIRE(profile.launches == 1);
  return profile;
}

simt::GlobalCounts gather_counts(Copy& problem, int stride, int offset) {
  const auto variant = gather_variant(stride, offset);
  simt::profile_reset();
  const auto verdict = common::verify(problem, variant, common::query_device(), nullptr);
  REQUIRE(verdict.status == common::Status::right);
  const auto profile = simt::profile("copy_gather_kernel");
  simt::profile_stop();
  return profile.global;
}
#endif

}  // namespace

TEST_CASE("copy: every variant is right at every size") {
  require_right([](std::int64_t n) { return Copy(n, 7); }, copy_variants());
}

TEST_CASE("particles: every variant is right at every size") {
  require_right([](std::int64_t n) { return Particles(n, 7); }, particles_variants());
}

TEST_CASE("copy: large") {
  const common::DeviceFacts device = common::query_device();
  Copy problem(1'000'003, 3);
  for (const auto& variant : copy_variants()) {
    if (!common::why_skipped(variant, device).empty()) continue;
    INFO(variant.name);
    CHECK(common::verify(problem, variant, device, nullptr).status == common::Status::right);
  }
}

TEST_CASE("copy: pointers that are not aligned to 16 bytes") {
  if (!common::query_device().available) SKIP_TEST("needs a GPU");
  constexpr std::int64_t n = 1000;
  for (const int offset : {1, 2, 3}) {
    Copy problem(n, 3);
    problem.each_array([](auto& array) { array.reset(common::Side::device); });
    CUDA_CHECK(cudaMemset(problem.y.on_device(), 0, offset * sizeof(float)));
    copy_vectorized(problem.x.on_device() + offset, problem.y.on_device() + offset, n - offset,
                    nullptr);
    CUDA_CHECK(cudaDeviceSynchronize());
    problem.each_array([](auto& array) { array.fetch(common::Side::device); });
    const float* x = problem.x.pristine() + offset;
    CHECK(common::compare(problem.y.fetched() + offset, x, n - offset, 0.0).right());
    CHECK(problem.y.damage().empty());
  }
}

TEST_CASE("copy: n = 0 copies nothing") {
  if (!common::query_device().available) SKIP_TEST("needs a GPU");
  const common::DeviceBuffer<float> d(4);
  copy_chunked(d.data(), d.data(), 0, nullptr);
  copy_coalesced(d.data(), d.data(), 0, nullptr);
  copy_vectorized(d.data(), d.data(), 0, nullptr);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE("copy: one request touches 4 sectors coalesced, 32 with the index roles swapped") {
#if SIMT_INSTRUMENTED
  Copy problem(4096, 5);
  const auto chunked = counts(problem, copy_variants(), "chunked").global;
  CHECK(chunked.load_sectors_per_request() == 32.0);
  CHECK(chunked.store_sectors_per_request() == 32.0);
  const auto coalesced = counts(problem, copy_variants(), "coalesced").global;
  CHECK(coalesced.load_sectors_per_request() == 4.0);
  CHECK(coalesced.store_sectors_per_request() == 4.0);
  CHECK(coalesced.load_requests == chunked.load_requests);  // the same work otherwise
  const auto vectorized = counts(problem, copy_variants(), "vectorized").global;
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
  const common::DeviceFacts device = common::query_device();
  if (!device.available) SKIP_TEST("needs a GPU");
  for (const std::int64_t n : {1, 31, 32, 33, 1021}) {
    Copy problem(n, 5);
    for (int step = 0; step < 32; ++step) {
      INFO("n = " << n << ", step " << step);
      const auto strided = common::verify(problem, gather_variant(step + 1, 0), device, nullptr);
      CHECK(strided.status == common::Status::right);
      const auto shifted = common::verify(problem, gather_variant(1, step), device, nullptr);
      CHECK(shifted.status == common::Status::right);
    }
  }
}

TEST_CASE("particles: 32 sectors a request as structures, 4 as arrays") {
#if SIMT_INSTRUMENTED
  Particles problem(512, 5);
  const auto variants = particles_variants();
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

TEST_CASE("latency: each level takes longer than the one before, and twice the same") {
  const common::DeviceFacts device = common::query_device();
  if (!device.keeps_time()) SKIP_TEST("needs the clock of a GPU");
  const common::WorkStream stream(device);
  Latency problem(device, 1);
  double last = 0;
  for (const auto& variant : latency_variants()) {
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
  common::DeviceFacts device = common::query_device();
  if (!device.available) SKIP_TEST("needs a GPU");
  const Ring ring("ring", 64 * Ring::kLineBytes, device, 3);
  std::vector<int> visits(ring.lines());
  for (int hop = 0; hop < ring.lines(); ++hop) {
    ++visits[ring.offset_after(hop) / Ring::kLineBytes];
  }
  for (const int count : visits) CHECK(count == 1);
  CHECK(ring.offset_after(ring.lines()) == 0);
}

TEST_CASE("bad arguments: exit status 2 and one line, at once") {
  for (const char* arguments : {"--n 0",
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
                                "--only nosuch",
                                "--only copy/tiled",
                                "--nosuch",
                                "stray",
                                "--sweep nosuch",
                                "--demo nosuch",
                                "--sweep stride --n 99999999999999999"}) {
    INFO(arguments);
    const auto result = tests::run_command(kProgram + " " + arguments + " 2>&1 >/dev/null");
    CHECK(result.status == 2);
    CHECK(result.lines == 1);
    CHECK(result.seconds < 5.0);
  }
}

TEST_CASE("a small run is right and prints every problem") {
  const auto result = tests::run_command(kProgram + kSmall + "--verify");
  INFO(result.output);
  CHECK(result.status == 0);
  for (const char* title : {"\ncopy, n = 1,000", "\nparticles, n = 100", "\nwindow, n = 500",
                            "\ntranspose, rows = 40, cols = 70", "\nlatency, hops = 4,096"}) {
    CHECK(result.output.find(title) != std::string::npos);
  }
  CHECK(result.output.find("wrong") == std::string::npos);
}

TEST_CASE("--list names each variant with its problem") {
  const auto result = tests::run_command(kProgram + " --list");
  CHECK(result.status == 0);
  for (const char* name : {"copy/coalesced ", "particles/soa ", "transpose/padded ",
                           "window/constant_by_lane ", "latency/l2 "}) {
    CHECK(result.output.find(name) != std::string::npos);
  }
}

TEST_CASE("the sweeps print 32 points each, with their sectors") {
  const common::DeviceFacts device = common::query_device();
  if (!device.available) SKIP_TEST("needs a GPU");
  for (const std::string name : {"stride", "offset"}) {
    const auto result = tests::run_command(kProgram + " --n 2000 --repeats 2 --sweep " + name);
    INFO(result.output);
    CHECK(result.status == 0);
    CHECK(result.output.find("copy, swept over " + name) != std::string::npos);
    CHECK(result.output.find("wrong") == std::string::npos);
  }
}
