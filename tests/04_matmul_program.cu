// Chapter 04's program: what it refuses, prints and writes; and what the compiler says of the
// kernels that must not spill.
#include <cstdio>
#include <fstream>
#include <string>

#include "04_matmul/bf16/variants.cuh"
#include "04_matmul/sgemm/variants.cuh"
#include "tests/catch.hpp"
#include "tests/run_command.hpp"

namespace {
const std::string kProgram = TEST_BUILD "/04_matmul/matmul";
}

TEST_CASE("bad arguments: exit status 2 and one line, at once") {
  for (const char* arguments :
       {"--m 0", "--n -1", "--k abc", "--size 99999999999", "--size 1.5", "--size ''", "--m",
        "--size 2000000000", "--m 2000000000 --n 2000000000 --k 1", "--only nosuch", "--nosuch",
        "stray", "--repeats 0", "--sweep nosuch", "--plot /nonexistent/plot.svg --size 8",
        "--sweep size --size 64", "--sweep quantization --k 64", "--sweep size --plot x.svg",
        "--json /nonexistent/out.json --size 8 --only sequential"}) {
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
  CHECK(result.lines ==
        static_cast<int>(sgemm_variants().size() + bf16_gemm_variants<false>().size() +
                         bf16_gemm_variants<true>().size()));
  CHECK(sgemm_variants().size() == 18);
}

TEST_CASE("a small run is right and prints every variant, skipped ones with a reason") {
  const auto result = tests::run_command(kProgram + " --m 65 --n 66 --k 67 --repeats 2");
  INFO(result.output);
  CHECK(result.status == 0);
  for (const auto& variant : sgemm_variants()) {
    INFO(variant.name);
    CHECK(result.output.find("\n" + variant.name + " ") != std::string::npos);
  }
  CHECK(result.output.find("wrong") == std::string::npos);
  CHECK(result.output.find("FLOP/byte") != std::string::npos);
}

TEST_CASE("a rung that would take minutes is skipped with the option that runs it") {
  Sgemm problem({1, 1, 1}, 1);
  problem.shape = {8192, 8192, 8192};
  try {
    refuse_more_than(kMostNaive, problem);
    CHECK(false);
  } catch (const common::Skip& skip) {
    CHECK(std::string(skip.what()).find("--slow") != std::string::npos);
  }
}

TEST_CASE("--sweep and --plot write what they promise") {
  const std::string json = TEST_BUILD "/tests/04_matmul.json";
  const std::string svg = TEST_BUILD "/tests/04_matmul.svg";
  const common::DeviceFacts device = common::query_device();
  if (!device.available) SKIP_TEST("needs a GPU");
  if (device.keeps_time()) SKIP_TEST("takes minutes on a GPU, where the sweeps go to 8192");
  const auto plot =
      tests::run_command(kProgram + " --size 64 --repeats 1 --plot " + svg + " --json " + json);
  REQUIRE(plot.status == 0);
  const auto check = tests::run_command(
      "python3 -c '"
      "import json, sys, xml.dom.minidom as x\n"
      "r = json.load(open(sys.argv[1]))\n"
      "assert [s[\"problem\"] for s in r[\"sweeps\"]][:2] == [\"sgemm\", \"bf16_gemm\"]\n"
      "assert all(p[\"tuned_tflops\"] > 0 for p in r[\"sweeps\"][0][\"points\"])\n"
      "d = x.parse(sys.argv[2])\n"
      "assert len(d.getElementsByTagName(\"circle\")) >= 10\n"
      "print(\"good\")' " +
      json + " " + svg + " 2>&1");
  CHECK(check.output == "good\n");
  const auto sweep = tests::run_command(kProgram + " --sweep quantization --repeats 1");
  CHECK(sweep.status == 0);
  CHECK(sweep.output.find("used_percent") != std::string::npos);
}

TEST_CASE("the best rungs spill no registers on sm_90a") {
  const auto nvcc = tests::run_command(
      "command -v nvcc || (test -x /usr/local/cuda/bin/nvcc && echo /usr/local/cuda/bin/nvcc)");
  if (nvcc.status != 0) SKIP_TEST("needs nvcc");
  const std::string source = TEST_BUILD "/tests/04_matmul_spills.cu";
  std::ofstream(source)
      << "#include \"04_matmul/sgemm/14_copy_warps.cuh\"\n"
         "void use() { sgemm_copy_warps(nullptr, nullptr, nullptr, 1, 1, 1, "
         "nullptr); sgemm_tuned(nullptr, nullptr, nullptr, 1, 1, 1, nullptr); }\n";
  const auto compiled = tests::run_command(
      nvcc.output.substr(0, nvcc.output.find('\n')) +
      " -std=c++17 -O3 -I. -gencode=arch=compute_90a,code=sm_90a -Xptxas -v -cubin " + source +
      " -o " + source + ".cubin 2>&1");
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
  // Three tilings, with and without float4 for A and for B, stored and added; rung 13's; rung 14's.
  CHECK(kernels >= 3 * 4 * 2 + 4 + 1);
  CHECK(without_spills == kernels);
}
