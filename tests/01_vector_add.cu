// Chapter 01: every variant is right at every size, and the program refuses what it must refuse.
#include <cmath>
#include <string>
#include <vector>

#include "01_vector_add/memset_demo.cuh"
#include "01_vector_add/sweeps.cuh"
#include "01_vector_add/variants.cuh"
#include "common/harness.cuh"
#include "tests/catch.hpp"
#include "tests/run_command.hpp"

#if __has_include("simt/profile.h")
#include "simt/profile.h"
#endif

namespace {

const std::string kProgram = TEST_BUILD "/01_vector_add/vector_add";

// Sizes around a warp, a float4, a block, a block of float4, a tile of the coarsened rung, primes,
// and one that needs many blocks.
const std::vector<std::int64_t> kSizes = {1,    2,    3,    4,    5,    31,      32,
                                          33,   255,  256,  257,  1021, 1023,    1024,
                                          1025, 4095, 4096, 4097, 8191, 100'003, 1'000'000};

}  // namespace

TEST_CASE("every variant is right at every size") {
  const common::DeviceFacts device = common::query_device();
  const common::WorkStream stream(device);
  for (const auto& variant : vector_add_variants()) {
    DYNAMIC_SECTION(variant.name) {
      const std::string reason = common::why_skipped(variant, device);
      if (!reason.empty()) SKIP_TEST(reason);
      for (const std::int64_t n : kSizes) {
        INFO("n = " << n);
        VectorAdd problem(n, 7);
        const auto verdict = common::verify(problem, variant, device, stream.get());
        INFO(verdict.reason);
        REQUIRE(verdict.status != common::Status::wrong);
        if (verdict.status == common::Status::skipped) SKIP_TEST(verdict.reason);
        CHECK(verdict.max_error == 0.0);
      }
    }
  }
}

TEST_CASE("n = 0 is an addition of nothing") {
  float none = 7;
  vector_add_sequential(&none, &none, 0);
  vector_add_openmp(&none, &none, 0);
  CHECK(none == 7);
  if (!common::query_device().available) SKIP_TEST("needs a GPU");
  const common::DeviceBuffer<float> d(4);
  CUDA_CHECK(cudaMemset(d.data(), 0, d.bytes()));
  vector_add_grid_stride(d.data(), d.data(), 0, nullptr);
  vector_add_vectorized(d.data(), d.data(), 0, nullptr);
  vector_add_coarsened(d.data(), d.data(), 0, nullptr);
  if (common::query_device().compute_capability() >= 90) {
    vector_add_bulk_copy(d.data(), d.data(), 0, nullptr);
  }
  CUDA_CHECK(cudaDeviceSynchronize());
  CUDA_CHECK(cudaMemcpy(&none, d.data(), sizeof none, cudaMemcpyDeviceToHost));
  CHECK(none == 0);
}

TEST_CASE("the rungs take pointers that are not aligned to 16 bytes") {
  if (!common::query_device().available) SKIP_TEST("needs a GPU");
  constexpr int n = 1000;
  using Add = void (*)(const float*, float*, std::int64_t, cudaStream_t);
  const bool has_bulk_copy = common::query_device().compute_capability() >= 90;
  for (const Add add : {Add{vector_add_vectorized}, Add{vector_add_coarsened},
                        has_bulk_copy ? Add{vector_add_bulk_copy} : Add{vector_add_coarsened}}) {
    for (const int offset : {0, 1, 2, 3}) {
      VectorAdd problem(n, 3);
      problem.each_array([](auto& array) { array.reset(common::Side::device); });
      add(problem.x.on_device() + offset, problem.y.on_device() + offset, n - offset, nullptr);
      CUDA_CHECK(cudaDeviceSynchronize());
      problem.each_array([](auto& array) { array.fetch(common::Side::device); });
      for (int i = 0; i < offset; ++i) problem.expected[i] = problem.y.pristine()[i];
      CHECK(problem.check().right());
      CHECK(problem.y.damage().empty());
    }
  }
}

TEST_CASE("a round trip reports each of its phases") {
  if (!common::query_device().available) SKIP_TEST("needs a GPU");
  std::vector<float> x(100, 1.0f), y(100, 2.0f);
  const common::Phases phases = vector_add_cuda(x.data(), y.data(), 100);
  REQUIRE(phases.size() == 5);
  CHECK(phases[1].name == "copy in");
  CHECK(phases[1].bytes == 800);
  CHECK(phases[2].name == "kernel");
  CHECK(phases[2].bytes == 1200);
  CHECK(phases[3].name == "copy out");
  CHECK(phases[3].bytes == 400);
  CHECK(y[99] == 3.0f);
}

TEST_CASE("cudaMemset sets bytes") {
  if (!common::query_device().available) SKIP_TEST("needs a GPU");
  CHECK(int_after_memset(0) == 0);
  CHECK(int_after_memset(0x12) == 0x12121212);
  CHECK(int_after_memset(0xFF) == -1);
}

TEST_CASE("what the lesson claims of each kernel's memory requests, counted") {
#ifndef SIMT_INSTRUMENTED
  SKIP_TEST("counters need simt");
#else
  struct Claim {
    const char* variant;
    double sectors;            // of 32 bytes, per warp request
    double requests_per_warp;  // loads of one warp, n being large enough to keep it busy once
  };
  constexpr std::int64_t n = 3 * 256 * 32;  // a multiple of every tile
  for (const Claim claim : {Claim{"cuda", 4, 2}, Claim{"grid_stride", 4, 2},
                            Claim{"vectorized", 16, 2}, Claim{"coarsened", 4, 6}}) {
    DYNAMIC_SECTION(claim.variant) {
      for (const auto& variant : vector_add_variants()) {
        if (variant.name != claim.variant) continue;
        VectorAdd problem(n, 1);
        simt::profile_reset();
        const auto verdict = common::verify(problem, variant, common::query_device(), nullptr);
        REQUIRE(verdict.status == common::Status::right);
        const auto counts = simt::profile("vector_add_" + variant.name + "_kernel");
        CHECK(counts.launches == 1);
        CHECK(counts.global.load_sectors_per_request() == claim.sectors);
        CHECK(counts.global.store_sectors_per_request() == claim.sectors);
        CHECK(counts.global.load_bytes_moved() == 8 * n);  // x and y, each once
        CHECK(counts.global.store_bytes_moved() == 4 * n);
        CHECK(static_cast<double>(counts.global.load_requests) / counts.warps ==
              claim.requests_per_warp);
        CHECK(counts.active_lanes_per_instruction() == 32);
      }
    }
  }
#endif
}

TEST_CASE("occupancy counts whole blocks") {
  common::DeviceFacts device = common::query_device();
  if (!device.available) SKIP_TEST("needs a GPU");
  if (device.max_threads_per_multiprocessor != 2048) SKIP_TEST("needs an SM for 2048 threads");
  CHECK(occupancy_percent(1024, device) == 100.0);
  CHECK(occupancy_percent(256, device) == 100.0);
  CHECK(std::fabs(occupancy_percent(700, device) - 68.359375) < 1e-9);
  CHECK(occupancy_percent(32, device) == 50.0);  // at most 32 blocks on an SM
}

TEST_CASE("bad arguments: exit status 2 and one line, at once") {
  for (const char* arguments :
       {"--n 0", "--n -1", "--n abc", "--n 99999999999999999", "--n 99999999999999999999",
        "--n 1.5", "--n ''", "--n", "--only nosuch", "--only ''", "--nosuch", "-n 5", "stray",
        "--repeats 0", "--seed -1", "--sweep nosuch", "--demo nosuch",
        "--json /nonexistent/out.json --n 10 --only sequential"}) {
    INFO(arguments);
    const auto result = tests::run_command(kProgram + " " + arguments + " 2>&1 >/dev/null");
    CHECK(result.status == 2);
    CHECK(result.lines == 1);
    CHECK(result.seconds < 5.0);
  }
}

TEST_CASE("--list prints one variant a line") {
  const auto result = tests::run_command(kProgram + " --list");
  CHECK(result.status == 0);
  CHECK(result.lines == static_cast<int>(vector_add_variants().size()));
  CHECK(result.lines >= 9);
}

TEST_CASE("a small run is right and prints every variant, skipped ones with a reason") {
  const auto result = tests::run_command(kProgram + " --n 1000 --repeats 2");
  INFO(result.output);
  CHECK(result.status == 0);
  for (const auto& variant : vector_add_variants()) {
    INFO(variant.name);
    CHECK(result.output.find("\n" + variant.name + " ") != std::string::npos);
  }
  CHECK(result.output.find("wrong") == std::string::npos);
}

TEST_CASE("--json writes valid JSON with the facts of the run and a row per variant") {
  const std::string file = TEST_BUILD "/tests/01_vector_add.json";
  const auto run = tests::run_command(kProgram + " --n 1000 --repeats 2 --seed 9 --json " + file);
  REQUIRE(run.status == 0);
  const auto check = tests::run_command(
      "python3 -c '"
      "import json, sys\n"
      "r = json.load(open(sys.argv[1]))\n"
      "for key in (\"device\", \"toolkit\", \"compiler\", \"commit\"): r[key]\n"
      "assert r[\"seed\"] == 9\n"
      "keys = \"name median_ms min_ms max_ms gbps percent_of_roof max_error status reason\"\n"
      "for row in r[\"rows\"]:\n"
      "  for key in keys.split(): row[key]\n"
      "  assert row[\"status\"] == \"right\" or (row[\"status\"] == \"skipped\" and "
      "row[\"reason\"])\n"
      "  if row[\"status\"] == \"right\":\n"
      "    assert row[\"min_ms\"] <= row[\"median_ms\"] <= row[\"max_ms\"]\n"
      "print(len(r[\"rows\"]))' " +
      file + " 2>&1");
  INFO(check.output);
  CHECK(check.status == 0);
  CHECK(check.output == std::to_string(vector_add_variants().size()) + "\n");
}

TEST_CASE("--only runs what it names and nothing else") {
  const auto result = tests::run_command(kProgram + " --n 1000 --repeats 2 --only openmp");
  CHECK(result.status == 0);
  CHECK(result.output.find("\nopenmp ") != std::string::npos);
  CHECK(result.output.find("\nsequential ") == std::string::npos);
}

TEST_CASE("--verify checks and does not time") {
  const auto result = tests::run_command(kProgram + " --n 1000 --verify --only sequential");
  CHECK(result.status == 0);
  CHECK(result.output.find("\nvariant                max error  verdict\n"
                           "sequential                     0  right\n") != std::string::npos);
}
