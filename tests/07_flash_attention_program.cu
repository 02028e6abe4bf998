// Chapter 07, the program: it runs what it is asked to run, and refuses what it must refuse.
#include <string>
#include <vector>

#include "common/bench/device_facts.cuh"
#include "common/bench/ladder.cuh"
#include "tests/catch.hpp"
#include "tests/ladder_cases.hpp"
#include "tests/run_command.hpp"

namespace ladders {
bench::Ladders softmax(), attention(), attention_16bit_bf16(), attention_16bit_fp16();
bench::Ladders backward_fp32(), backward_bf16(), backward_fp16();
bench::Ladders attention_fp8(), prefill(), decode_bf16(), decode_fp16(), ring();
}  // namespace ladders

namespace {

const std::string kProgram = TEST_BUILD "/07_flash_attention/ladders";
const std::string kSmall = " --rows 3 --columns 50 --batch 1 --heads 2 --n 33 --nk 40 --d 64";

bool has(const tests::CommandResult& result, const std::string& text) {
  return result.output.find(text) != std::string::npos;
}

std::vector<std::string> all_names() {
  return tests::names_of({ladders::softmax(), ladders::attention(), ladders::attention_16bit_bf16(),
                          ladders::attention_16bit_fp16(), ladders::attention_fp8(),
                          ladders::backward_fp32(), ladders::backward_bf16(),
                          ladders::backward_fp16(), ladders::prefill(), ladders::decode_bf16(),
                          ladders::decode_fp16(), ladders::ring()});
}

}  // namespace

TEST_CASE("flash_attention: bad arguments: exit status 2 and one line, at once") {
  tests::refuses_bad_arguments(kProgram, kSmall,
                               {"--n 0",
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
                                "--page 0",
                                "--window 0",
                                "--heads 6 --kv-heads 4 --only decode_bf16",
                                "--heads 6 --kv-heads 4 --only prefill",
                                "--window 2000000000 --only prefill",
                                "--batch 60000 --n 4000000 --only prefill",
                                "--kv-heads 1",
                                "--kv-heads 2 --only attention",
                                "--kv-heads 2 --only attention_bf16/mma",
                                "--kv-heads 2 --only attention_bf16/longest_first",
                                "--batch 1000000 --n 4000000 --only decode_paged_bf16",
                                "--rows 0",
                                "--columns 0",
                                "--rows 2000000000 --columns 1000000000",
                                "--spread 0",
                                "--spread 1.5",
                                "--spread 5001 --only attention_fp16",
                                "--only softmax/kv_outer"});
}

TEST_CASE("flash_attention: --list prints one variant a line") {
  tests::lists_every_variant(kProgram, all_names());
}

TEST_CASE("flash_attention: a small run is right and shows all it should") {
  tests::small_run_is_right(kProgram, kSmall.substr(1) + " --repeats 2", all_names());
  const auto result = tests::run_command(kProgram + kSmall + " --verify");
  CHECK(has(result, "n = 33, nk = 40, d = 64, causal = 0"));
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  CHECK(has(result, "accesses per element"));
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
  CHECK(!has(result, "spread"));
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
  const bool available = bench::query_device().available;
  if (bench::query_device().is_real_gpu()) SKIP_TEST("takes long on a GPU");
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
