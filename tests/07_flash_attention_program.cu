// Chapter 07, the program: it runs what it is asked to run, and refuses what it must refuse.
#include <string>

#include "07_flash_attention/attention/variants.cuh"
#include "07_flash_attention/softmax/variants.cuh"
#include "common/device_facts.cuh"
#include "tests/catch.hpp"
#include "tests/run_command.hpp"

namespace {

const std::string kProgram = TEST_BUILD "/07_flash_attention/flash_attention";
const std::string kSmall = " --rows 3 --columns 50 --batch 1 --heads 2 --n 33 --nk 40 --d 64";

bool has(const tests::CommandResult& result, const std::string& text) {
  return result.output.find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("flash_attention: bad arguments: exit status 2 and one line, at once") {
  for (const char* arguments : {"--n 0",
                                "--n -1",
                                "--n abc",
                                "--n 99999999999",
                                "--nk 0",
                                "--nk 5000000",
                                "--batch 0",
                                "--heads 0",
                                "--d 63",
                                "--d 0",
                                "--d",
                                "--batch 1000000 --heads 1000000",
                                "--batch 1000000 --heads 1000 --n 1000",
                                "--tokens 1000 --n 999",
                                "--tokens 0",
                                "--rows 0",
                                "--columns 0",
                                "--rows 2000000000 --columns 1000000000",
                                "--spread 0",
                                "--spread 1.5",
                                "--spread 5001 --only attention_fp16",
                                "--only nosuch",
                                "--only softmax/kv_outer",
                                "--sweep nosuch",
                                "--nosuch",
                                "stray",
                                "--repeats 0",
                                "--json /nonexistent/out.json --only softmax/openmp"}) {
    INFO(arguments);
    const auto result = tests::run_command(kProgram + " " + arguments + " 2>&1 >/dev/null");
    CHECK(result.status == 2);
    CHECK(result.lines == 1);
    CHECK(result.seconds < 5.0);
  }
}

TEST_CASE("flash_attention: --list prints one variant a line") {
  const auto result = tests::run_command(kProgram + " --list");
  CHECK(result.status == 0);
  const auto count = softmax_variants().size() + attention_variants().size() +
                     attention_16bit_variants<__nv_bfloat16>().size() +
                     attention_16bit_variants<__half>().size();
  CHECK(result.lines == static_cast<int>(count));
}

TEST_CASE("flash_attention: a small run is right and shows all it should") {
  const auto result = tests::run_command(kProgram + kSmall + " --repeats 2");
  INFO(result.output);
  CHECK(result.status == 0);
  for (const auto& variant : softmax_variants()) CHECK(has(result, "\n" + variant.name + " "));
  for (const auto& variant : attention_variants()) CHECK(has(result, "\n" + variant.name + " "));
  CHECK(has(result, "attention_bf16, "));
  CHECK(has(result, "attention_fp16, "));
  CHECK(has(result, "n = 33, nk = 40, d = 64, causal = 0"));
  CHECK(!has(result, "wrong"));
  if (!common::query_device().available) SKIP_TEST("needs a GPU");
  CHECK(has(result, "accesses an element"));
  CHECK(has(result, "inputs up to 10,000"));
  CHECK(has(result, "extra device memory"));
  CHECK(has(result, "naive                          10,560"));  // 2 x 33 x 40 floats
  CHECK(has(result, "naive                           5,280"));  // and bf16
}

TEST_CASE("flash_attention: --verify times nothing, --only runs nothing else") {
  const auto result =
      tests::run_command(kProgram + kSmall + " --verify --causal --only attention/openmp");
  CHECK(result.status == 0);
  CHECK(has(result, "right"));
  CHECK(has(result, "causal = 1"));
  CHECK(has(result, "\nopenmp "));
  CHECK(!has(result, "min .. max"));
  CHECK(!has(result, "sequential"));
  CHECK(!has(result, "softmax, rows"));
}

TEST_CASE("flash_attention: --tokens makes the shapes of the papers") {
  const auto result =
      tests::run_command(kProgram + " --verify --only attention/openmp --tokens 64 --n 16 --d 256");
  CHECK(result.status == 0);
  CHECK(has(result, "batch = 4, heads = 8, n = 16, nk = 16, d = 256"));
}

TEST_CASE("flash_attention: sweeps run, and need a GPU") {
  const bool available = common::query_device().available;
  if (common::query_device().keeps_time()) SKIP_TEST("takes long on a GPU");
  const auto n = tests::run_command(
      kProgram + " --sweep n --repeats 1 --only attention/naive,attention/q_outer 2>/dev/null");
  CHECK(n.status == (available ? 0 : 2));
  if (!available) return;
  CHECK(has(n, "attention, swept over n"));
  CHECK(!has(n, "attention_bf16, swept"));
  CHECK(!has(n, "attention_fp16, swept"));
  const auto columns = tests::run_command(kProgram + " --sweep columns --repeats 1");
  CHECK(columns.status == 0);
  CHECK(has(columns, "safe_over_online"));
}
