// Chapter 04's program: what it refuses, prints and writes; and what the compiler says of the
// kernels that must not spill.
#include <cstdio>
#include <fstream>
#include <string>

#include "common/bench/device_facts.cuh"
#include "common/bench/ladder.cuh"
#include "tests/catch.hpp"
#include "tests/ladder_cases.hpp"
#include "tests/run_command.hpp"

namespace ladders {
bench::Ladders sgemm(), bf16(), quantize(), fp8(), sharded();
}

namespace {

const std::string kProgram = TEST_BUILD "/04_matmul/ladders";

std::vector<std::string> all_names() {
  return tests::names_of(
      {ladders::sgemm(), ladders::bf16(), ladders::quantize(), ladders::fp8(), ladders::sharded()});
}

}  // namespace

TEST_CASE("bad arguments: exit status 2 and one line, at once") {
  tests::refuses_bad_arguments(
      kProgram, "--size 8 --only sequential",
      {"--m 0", "--n -1", "--k abc", "--size 99999999999", "--size 1.5", "--size ''", "--m",
       "--size 2000000000", "--m 2000000000 --n 2000000000 --k 1", "--sweep size --size 64",
       "--sweep quantization --k 64"});
}

TEST_CASE("--list prints one variant a line") { tests::lists_every_variant(kProgram, all_names()); }

TEST_CASE("a small run is right and prints every variant, skipped ones with a reason") {
  tests::small_run_is_right(kProgram, "--m 65 --n 66 --k 67 --repeats 2", all_names());
}

TEST_CASE("below the table stand intensity and bound") {
  const auto result = tests::run_command(kProgram + " --size 64 --only sequential --repeats 1");
  CHECK(result.status == 0);
  CHECK(result.output.find("FLOP/byte") != std::string::npos);
}

TEST_CASE("sweeps have the rows that they promise") {
  const std::string json = TEST_BUILD "/tests/04_matmul.json";
  const bench::DeviceFacts device = bench::query_device();
  if (!device.available) SKIP_TEST("needs a GPU");
  if (device.is_real_gpu()) SKIP_TEST("takes minutes on a GPU, where the sweeps go to 8192");
  const auto size = tests::run_command(kProgram + " --sweep size --repeats 1 --json " + json);
  REQUIRE(size.status == 0);
  const auto check = tests::run_command(
      "python3 -c '"
      "import json, sys\n"
      "r = json.load(open(sys.argv[1]))\n"
      "assert [s[\"problem\"] for s in r[\"sweeps\"]][:2] == [\"sgemm\", \"bf16_gemm\"]\n"
      "assert all(p[\"grouped_tiles_tflops\"] > 0 for p in r[\"sweeps\"][0][\"points\"])\n"
      "print(\"good\")' " +
      json + " 2>&1");
  CHECK(check.output == "good\n");
  const auto sweep = tests::run_command(kProgram + " --sweep quantization --repeats 1");
  CHECK(sweep.status == 0);
  CHECK(sweep.output.find("used_percent") != std::string::npos);
}

TEST_CASE("a sweep shows the rungs that --only names, and loops in three orders") {
  const bench::DeviceFacts device = bench::query_device();
  if (!device.available) SKIP_TEST("needs a GPU");
  if (device.is_real_gpu()) SKIP_TEST("takes minutes on a GPU, where the sweeps go to 8192");
  const auto named = tests::run_command(
      kProgram + " --sweep size --only sgemm/coalesced,sgemm/grouped_tiles --repeats 1");
  CHECK(named.status == 0);
  CHECK(named.output.find("coalesced_tflops") != std::string::npos);
  CHECK(named.output.find("grouped_tiles_tflops") != std::string::npos);
  CHECK(named.output.find("stream_k_tflops") == std::string::npos);
  const auto loops = tests::run_command(kProgram + " --sweep loops --repeats 1");
  CHECK(loops.status == 0);
  CHECK(loops.output.find("row_column_sum_gflops") != std::string::npos);
}

TEST_CASE("a sweep of layers has the chooser, and what it takes to read B") {
  const bench::DeviceFacts device = bench::query_device();
  if (!device.available) SKIP_TEST("needs a GPU");
  if (device.is_real_gpu()) SKIP_TEST("takes minutes on a GPU, where layers are large");
  const auto layers =
      tests::run_command(kProgram + " --sweep layers --only fp8_gemm_rows --repeats 1");
  CHECK(layers.status == 0);
  for (const char* column : {"chosen_us", "read_only_us", "of_reading"}) {
    CHECK(layers.output.find(column) != std::string::npos);
  }
}

TEST_CASE("a network learns in fp8 what it learns in bf16, but for the error of rounding") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  const std::string json = TEST_BUILD "/tests/04_matmul_network.json";
  REQUIRE(tests::run_command(kProgram + " --sweep network --json " + json).status == 0);
  const auto check = tests::run_command(
      "python3 -c '"
      "import json, sys\n"
      "points = json.load(open(sys.argv[1]))[\"sweeps\"][0][\"points\"]\n"
      "at = {(p[\"larger\"], p[\"step\"]): p for p in points}\n"
      "for kind in (\"tensor\", \"rows\", \"blocks\"):\n"
      "    assert all(at[1, s][kind] < 1.05 * at[1, s][\"bf16\"] for s in (60, 120)), kind\n"
      "    for larger in (1, 1e4):\n"
      "        end = at[larger, 300]\n"
      "        assert 0.0015 < end[kind] - end[\"bf16\"] < 0.005, (kind, larger)\n"
      "five, six = at[1e5, 300], at[1e6, 300]\n"
      "assert six[\"bf16\"] < 0.01 < five[\"blocks\"] < five[\"rows\"] < five[\"tensor\"]\n"
      "assert 0.3 < six[\"blocks\"] < 0.5 < six[\"rows\"] < 0.9 < 0.99 < six[\"tensor\"]\n"
      "print(\"good\")' " +
      json + " 2>&1");
  CHECK(check.output == "good\n");
}

TEST_CASE("the best rungs spill no registers on sm_90a", "[.nvcc]") {
  const auto nvcc = tests::run_command(
      "command -v nvcc || (test -x /usr/local/cuda/bin/nvcc && echo /usr/local/cuda/bin/nvcc)");
  if (nvcc.status != 0) SKIP_TEST("needs nvcc");
  const std::string source = TEST_BUILD "/tests/04_matmul_spills";
  std::ofstream(source)
      << "#include \"04_matmul/sgemm/chosen.cuh\"\n"
         "using namespace matmul::sgemm;\n"
         "void use() {\n"
         "  choose({1, 1, 1}, {});\n"
         "  launch_split_k<LargeTile>(nullptr, nullptr, nullptr, 1, 1, 1, 1, nullptr);\n"
         "  launch_split_k<SmallTile>(nullptr, nullptr, nullptr, 1, 1, 1, 1, nullptr);\n"
         "}\n";
  const auto compiled = tests::run_command(
      nvcc.output.substr(0, nvcc.output.find('\n')) +
      " -std=c++17 -O3 -I. -gencode=arch=compute_90a,code=sm_90a -Xptxas -v -cubin -x cu " +
      source + " -o " + source + ".cubin 2>&1");
  INFO(compiled.output);
  REQUIRE(compiled.status == 0);
  int kernels = 0, without_spills = 0;
  for (std::size_t at = 0;
       (at = compiled.output.find("bytes spill loads", at + 1)) != std::string::npos;) {
    ++kernels;
  }
  const std::string clean = "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads";
  for (std::size_t at = 0; (at = compiled.output.find(clean, at + 1)) != std::string::npos;) {
    ++without_spills;
  }
  // warp_tile and grouped_tiles; three tiles stored and added; stream_k's two; with and without
  // float4 for A and for B. And warp_specialized.
  CHECK(kernels >= (2 + 3 + 3 + 2) * 4 + 1);
  CHECK(without_spills == kernels);
}
