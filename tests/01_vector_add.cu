// Chapter 01: every variant is right at every size, and the program refuses what it must refuse.
#include <cmath>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <cuda_runtime.h>

// What the rungs ask for ahead of a use, in bytes.
static std::size_t bytes_ahead = 0;
#define cudaMemPrefetchAsync(memory, bytes, ...) \
  (bytes_ahead += (bytes), cudaMemPrefetchAsync(memory, bytes, __VA_ARGS__))
#include "01_vector_add/ladder.cu"
#undef cudaMemPrefetchAsync
#include "01_vector_add/study/memset_demo.cuh"
#include "01_vector_add/study/sweeps.cuh"
#include "common/bench/harness.cuh"
#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"
#include "common/kit/phase.hpp"
#include "tests/catch.hpp"
#include "tests/ladder_cases.hpp"
#include "tests/run_command.hpp"
#include "tests/verify.hpp"

#if __has_include("simt/profile.h")
#include "simt/profile.h"
#endif

using namespace vector_add;

namespace {

const std::string kProgram = TEST_BUILD "/01_vector_add/ladders";

// Sizes around a warp, a float4, a block, a block of float4, a tile of the coarsened rung, primes,
// and one that needs many blocks.
const std::vector<std::int64_t> kSizes = {
    1,   2,    3,    4,    5,    31,   32,   33,   255,  256,  257,     767,      768,
    769, 1021, 1023, 1024, 1025, 1535, 4095, 4096, 4097, 8191, 100'003, 1'000'000};

}  // namespace

TEST_CASE("every variant is right at every size") {
  std::vector<bench::Settings::Given> sizes;
  for (const std::int64_t n : kSizes) sizes.push_back({{"n", n}});
  tests::every_variant_is_right(vector_add::ladder(), sizes);
}

TEST_CASE("every launch is in the stream that was given") {
  tests::every_launch_is_in_its_stream(vector_add::ladder(), {{"n", 5003}});
}

TEST_CASE("what a run holds", "[.]") {
  tests::takes_what_it_says(vector_add::ladder(), {{"n", 200'003}});
}

TEST_CASE("a run takes the memory that it says") {
  tests::passes_by_itself("SIMT_THREADS=1", "what a run holds");
}

TEST_CASE("n = 0 is an addition of nothing") {
  float none = 7;
  vector_add_sequential(&none, &none, 0);
  vector_add_openmp(&none, &none, 0);
  CHECK(none == 7);
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  const kit::DeviceBuffer<float> d(4);
  CUDA_CHECK(cudaMemset(d.data(), 0, d.bytes()));
  vector_add_grid_stride(d.data(), d.data(), 0, nullptr);
  vector_add_vectorized(d.data(), d.data(), 0, nullptr);
  vector_add_coarsened(d.data(), d.data(), 0, nullptr);
  if (bench::query_device().compute_capability() >= 90) {
    vector_add_bulk_copy(d.data(), d.data(), 0, nullptr);
  }
  CUDA_CHECK(cudaDeviceSynchronize());
  CUDA_CHECK(cudaMemcpy(&none, d.data(), sizeof none, cudaMemcpyDeviceToHost));
  CHECK(none == 0);
}

TEST_CASE(
    "one pointer that is not aligned to 16 bytes: taken, or refused before anything is written") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  constexpr int n = 1000;
  using Add = void (*)(const float*, float*, std::int64_t, cudaStream_t);
  struct Case {
    const char* name;
    Add add;
    bool moves_float4;
  };
  std::vector<Case> cases = {{"grid_stride", vector_add_grid_stride, false},
                             {"vectorized", vector_add_vectorized, true},
                             {"coarsened", vector_add_coarsened, false}};
  if (bench::query_device().compute_capability() >= 90)
    cases.push_back({"bulk_copy", vector_add_bulk_copy, true});
  for (const auto& [name, add, moves_float4] : cases) {
    for (const auto& [x_shift, y_shift] : {std::pair{0, 0}, {1, 0}, {0, 1}, {2, 2}, {0, 3}}) {
      INFO(name << ": x + " << x_shift << ", y + " << y_shift);
      VectorAdd problem(n, 3);
      problem.each_array([](auto& array) { array.reset(bench::Side::device); });
      const float* x = problem.x.device_data() + x_shift;
      float* y = problem.y.device_data() + y_shift;
      const int count = n - 3;
      const bool refuses = moves_float4 && (x_shift != 0 || y_shift != 0);
      if (refuses) {
        CHECK_THROWS_AS(add(x, y, count, nullptr), kit::Skip);
      } else {
        add(x, y, count, nullptr);
      }
      CUDA_CHECK(cudaDeviceSynchronize());
      problem.each_array([](auto& array) { array.fetch(bench::Side::device); });
      std::vector<float> expected(problem.y.pristine(), problem.y.pristine() + n);
      for (int i = 0; i < count && !refuses; ++i) {
        expected[y_shift + i] += problem.x.pristine()[x_shift + i];
      }
      CHECK(bench::compare(problem.y.fetched(), expected.data(), n, 0.0).right());
      CHECK(problem.y.damage() == "");
    }
  }
}

TEST_CASE("grid_stride and vectorized: any grid covers any n") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  for (const auto kernel : {vector_add_grid_stride_kernel, vector_add_vectorized_kernel}) {
    for (const int grid : {1, 3}) {
      VectorAdd problem(10'007, 3);
      problem.each_array([](auto& array) { array.reset(bench::Side::device); });
      kernel<<<grid, 64>>>(problem.x.device_data(), problem.y.device_data(), problem.n);
      CUDA_CHECK(cudaGetLastError());
      CUDA_CHECK(cudaDeviceSynchronize());
      problem.each_array([](auto& array) { array.fetch(bench::Side::device); });
      CHECK(problem.check().right());
    }
  }
}

TEST_CASE("a round trip reports each of its phases") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  std::vector<float> x(100, 1.0f), y(100, 2.0f);
  const kit::Phases phases = vector_add_cuda(x.data(), y.data(), 100);
  REQUIRE(phases.size() == 5);
  CHECK(phases[1].name == "copy in");
  CHECK(phases[1].bytes == 800);
  CHECK(phases[2].name == "kernel");
  CHECK(phases[2].bytes == 1200);
  CHECK(phases[3].name == "copy out");
  CHECK(phases[3].bytes == 400);
  CHECK(y[99] == 3.0f);
}

TEST_CASE("each phase of a round trip counts the bytes that it moves, once") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  std::vector<float> x(100, 1.0f), y(100, 2.0f);  // arrays of 400 bytes
  const auto arrays = [](const kit::Phases& phases) {
    std::vector<double> arrays;
    for (const kit::Phase& phase : phases) arrays.push_back(phase.bytes / 400);
    return arrays;
  };
  using Arrays = std::vector<double>;
  CHECK(arrays(vector_add_cuda(x.data(), y.data(), 100)) == Arrays{0, 2, 3, 1, 0});
  CHECK(arrays(vector_add_pinned(x.data(), y.data(), 100)) == Arrays{0, 2, 3, 1});
  CHECK(arrays(vector_add_born_on_device(y.data(), 100, 1, 2)) == Arrays{2, 3});
  try {
    CHECK(arrays(vector_add_unified(x.data(), y.data(), 100)) == Arrays{0, 2, 3, 1, 0});
    bytes_ahead = 0;
    CHECK(arrays(vector_add_unified_prefetch(x.data(), y.data(), 100)) ==
          Arrays{0, 2, 2, 3, 1, 1, 0});
    CHECK(bytes_ahead == 3 * 400);  // both arrays to the device, one back
  } catch (const kit::Skip&) {      // not every system has managed memory, or can prefetch it
  }
}

TEST_CASE("cudaMemset sets bytes") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
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
      for (const auto& variant : vector_add::ladder().variants) {
        if (variant.name != claim.variant) continue;
        VectorAdd problem(n, 1);
        simt::profile_reset();
        const auto verdict = tests::verify(problem, variant, bench::query_device(), nullptr);
        REQUIRE(verdict.status == bench::Status::right);
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

TEST_CASE("bulk_copy: 12 blocks are on an SM at once") {
  const bench::DeviceFacts device = bench::query_device();
  if (!device.available || device.major < 9) SKIP_TEST("needs sm_90");
  int blocks = 0;
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks, vector_add_bulk_copy_kernel<kBulkBlock>, kBulkBlock, bulk_copy_padding()));
  CHECK(blocks == 12);
}

TEST_CASE("occupancy counts whole blocks") {
  bench::DeviceFacts device = bench::query_device();
  if (!device.available) SKIP_TEST("needs a GPU");
  if (device.max_threads_per_multiprocessor != 2048) SKIP_TEST("needs an SM for 2048 threads");
  CHECK(occupancy_percent(1024, device) == 100.0);
  CHECK(occupancy_percent(256, device) == 100.0);
  CHECK(std::fabs(occupancy_percent(700, device) - 68.359375) < 1e-9);
  CHECK(occupancy_percent(32, device) == 50.0);  // at most 32 blocks on an SM
}

TEST_CASE("the first kernel prints what each thread did, and ends with all of it right") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  const auto result = tests::run_command(TEST_BUILD "/01_vector_add/first_kernel");
  CHECK(result.status == 0);
  CHECK(result.lines == 11);
  for (const char* line :
       {"block 0, thread 0: y[0] = 100\n", "block 2, thread 1: y[9] = 109\n", "all 10 right\n"}) {
    CHECK(result.output.find(line) != std::string::npos);
  }
}

TEST_CASE("the first kernel is one short file that includes nothing of ours") {
  std::ifstream source("01_vector_add/first_kernel.cu");
  int lines = 0;
  for (std::string line; std::getline(source, line); ++lines) {
    CHECK(line.find("#include \"") == std::string::npos);
  }
  CHECK(lines > 20);
  CHECK(lines <= 60);
}

TEST_CASE("the first kernel builds with the toolkit's nvcc, where there is one") {
  const auto nvcc = tests::run_command(
      "command -v nvcc || (test -x /usr/local/cuda/bin/nvcc && echo /usr/local/cuda/bin/nvcc)");
  if (nvcc.status != 0) SKIP_TEST("needs nvcc");
  const std::string compiler = nvcc.output.substr(0, nvcc.output.find('\n'));
  const auto built = tests::run_command(compiler + " 01_vector_add/first_kernel.cu -o " TEST_BUILD
                                                   "/tests/first_kernel 2>&1");
  INFO(built.output);
  CHECK(built.status == 0);
  CHECK(built.output.empty());
}

TEST_CASE("loops with pragmas are right, in OpenMP and in OpenACC") {
  for (const std::string option : {"-fopenmp", "-fopenacc"}) {
    const std::string program = TEST_BUILD "/tests/01_pragmas";
    const auto run =
        tests::run_command("g++ -O1 " + option + " 01_vector_add/study/pragmas.cpp -o " + program +
                           " 2>&1 && " + program);
    CHECK(run.output == "right\n");
    CHECK(run.status == 0);
  }
}

TEST_CASE("bad arguments: exit status 2 and one line, at once") {
  tests::refuses_bad_arguments(
      kProgram, "--n 10 --only sequential",
      {"--n 0", "--n -1", "--n abc", "--n 99999999999999999", "--n 99999999999999999999", "--n 1.5",
       "--n ''", "--n", "--verify --sweep block", "--demo memset --sweep block",
       "--sweep type --n 1001"});
}

TEST_CASE("sweeps of types, launches and advice check what they time") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  for (const std::string sweep : {"type", "launch", "advice"}) {
    const auto run = tests::run_command(kProgram + " --n 4096 --repeats 1 --sweep " + sweep);
    INFO(run.output);
    CHECK(run.status == 0);
    CHECK(run.output.find("swept over " + sweep) != std::string::npos);
  }
}

TEST_CASE("--list prints one variant a line") {
  const auto names = tests::names_of(vector_add::ladder());
  tests::lists_every_variant(kProgram, names);
  CHECK(names.size() >= 9);
}

TEST_CASE("a small run is right and prints every variant, skipped ones with a reason") {
  tests::small_run_is_right(kProgram, "--n 1000 --repeats 2",
                            tests::names_of(vector_add::ladder()));
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
      "  assert row[\"samples\"] or row[\"status\"] == \"skipped\" or row[\"place\"] != \"cpu\"\n"
      "  if row[\"samples\"]:\n"
      "    assert row[\"min_ms\"] <= row[\"median_ms\"] <= row[\"max_ms\"]\n"
      "print(len(r[\"rows\"]))' " +
      file + " 2>&1");
  INFO(check.output);
  CHECK(check.status == 0);
  CHECK(check.output == std::to_string(vector_add::ladder().variants.size()) + "\n");
}

TEST_CASE("--only runs what it names and nothing else") {
  const auto result = tests::run_command(kProgram + " --n 1000 --repeats 2 --only openmp");
  CHECK(result.status == 0);
  CHECK(result.output.find("\nopenmp ") != std::string::npos);
  CHECK(result.output.find("\nsequential ") == std::string::npos);
}

TEST_CASE("kernels that the CPU runs are timed if --times asks for it") {
  const bench::DeviceFacts device = bench::query_device();
  if (!device.available || device.is_real_gpu()) SKIP_TEST("needs a model GPU");
  const std::string command = kProgram + " --n 1000 --repeats 2 --only grid_stride";
  const auto plain = tests::run_command(command);
  CHECK(plain.status == 0);
  CHECK(plain.output.find("\nvariant     error verdict\n"
                          "grid_stride     0 right\n") != std::string::npos);
  CHECK(plain.output.find("make profile-01") != std::string::npos);
  const auto timed = tests::run_command(command + " --times");
  CHECK(timed.status == 0);
  CHECK(timed.output.find("spread") != std::string::npos);
}

TEST_CASE("beside the verdicts of a model GPU stands what was counted before") {
  const bench::DeviceFacts device = bench::query_device();
  if (!device.available || device.is_real_gpu()) SKIP_TEST("needs a model GPU");
  const std::string file = std::string(TEST_BUILD) + "/tests/kept_counts";
  std::ofstream(file) << "01_vector_add: counted by somebody\n"
                         "vector_add n=1000\n"
                         "vector_add/grid_stride load_sectors=4 active_lanes=32\n"
                         "vector_add/coarsened\n";
  const std::string command =
      " " + kProgram + " --n 1000 --repeats 2 --only grid_stride,coarsened 2>&1";
  const auto shown = tests::run_command("KEPT_COUNTS=" + file + command);
  INFO(shown.output);
  CHECK(shown.status == 0);
  CHECK(shown.output.find("\nvariant     load lanes verdict\n"
                          "grid_stride  4.0  32.0 right\n"
                          "coarsened      -     - right\n"
                          "counted by somebody\n"
                          "changed since counted: coarsened (make profile-01 counts anew)\n") !=
        std::string::npos);
  CHECK(shown.output.find("\nload      sectors") != std::string::npos);
  CHECK(tests::run_command("KEPT_COUNTS=/nosuch" + command).status == 1);
}

TEST_CASE("--verify checks and does not time") {
  const auto result = tests::run_command(kProgram + " --n 1000 --verify --only sequential");
  CHECK(result.status == 0);
  CHECK(result.output.find("\nvariant    error verdict\n"
                           "sequential     0 right\n") != std::string::npos);
}
