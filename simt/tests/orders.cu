// SIMT_ORDERS: what shows in one order of blocks only, looked for in several; and what is written
// for editors. The programs run in processes of their own: this one starts itself.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "simt/tests/marked_line.hpp"
#include "tests/catch.hpp"
#include "tests/run_command.hpp"

namespace {

using tests::CommandResult;

// The first block does not fence behind taking the lock. If it comes first, nobody was before it.
__global__ void add(int* lock, int* sum) {
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  if (blockIdx.x != 0) __threadfence();
  *sum += 1;  // here: without a fence
  __threadfence();
  atomicExch(lock, 0);
}

// Data that is volatile, and a flag: without a fence nothing orders the two.
template <bool fenced>
__global__ void hand_over(volatile int* data, int* flag, int* out) {
  if (blockIdx.x == 0) {
    *data = 1;
    if (fenced) __threadfence();
    atomicExch(flag, 1);
  } else {
    while (atomicAdd(flag, 0) == 0) {
    }
    if (fenced) __threadfence();
    *out = *data;  // here: volatile data
  }
}

__global__ void who_is_first(int* first) { atomicCAS(first, -1, static_cast<int>(blockIdx.x)); }

CommandResult run(const std::string& settings, const std::string& program = "run the program") {
  return tests::run_command("SIMT_THREADS=1 " + settings + " " + tests::this_program() + " '" +
                            program + "' 2>&1");
}

size_t count(const std::string& text, const std::string& word) {
  size_t found = 0;
  for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; ++at) ++found;
  return found;
}

}  // namespace

TEST_CASE("run the program", "[.]") {
  int *words = nullptr, sum = 0;
  REQUIRE(cudaMalloc(&words, 8) == cudaSuccess);
  REQUIRE(cudaMemset(words, 0, 8) == cudaSuccess);
  add<<<2, 1>>>(words, words + 1);
  REQUIRE(cudaMemcpy(&sum, words + 1, 4, cudaMemcpyDeviceToHost) == cudaSuccess);
  printf("sum %d\n", sum);
  fflush(stdout);
}

TEST_CASE("run volatile data", "[.]") {
  int* words = nullptr;
  REQUIRE(cudaMalloc(&words, 12) == cudaSuccess);
  REQUIRE(cudaMemset(words, 0, 12) == cudaSuccess);
  if (getenv("FENCED") != nullptr) {
    hand_over<true><<<2, 1>>>(words, words + 1, words + 2);
  } else {
    hand_over<false><<<2, 1>>>(words, words + 1, words + 2);
  }
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
}

// A program that finds its own result wrong if block WRONG_IF_FIRST comes first.
TEST_CASE("run a program that checks itself", "[.]") {
  int *word = nullptr, first = -1;
  REQUIRE(cudaMalloc(&word, 4) == cudaSuccess);
  REQUIRE(cudaMemcpy(word, &first, 4, cudaMemcpyHostToDevice) == cudaSuccess);
  who_is_first<<<2, 1>>>(word);
  REQUIRE(cudaMemcpy(&first, word, 4, cudaMemcpyDeviceToHost) == cudaSuccess);
  if (first == atoi(getenv("WRONG_IF_FIRST"))) std::exit(3);
}

TEST_CASE("a program that is wrong in one order ends as it did in that one") {
  const auto status_if = [](int first) {
    const auto result = run("SIMT_ORDERS=2 WRONG_IF_FIRST=" + std::to_string(first),
                            "run a program that checks itself");
    INFO(result.output);
    CHECK(count(result.output, "no errors found") >= 1);
    return result.status;
  };
  CHECK(status_if(0) == 3);  // as its settings say
  CHECK(status_if(1) == 3);  // from the last block to the first
  CHECK(status_if(2) == 0);
}

TEST_CASE("volatile data without a fence is named if volatile counts as plain") {
  CHECK(run("", "run volatile data").status == 0);
  CHECK(run("SIMT_VOLATILE=plain FENCED=1", "run volatile data").status == 0);
  const auto plain = run("SIMT_VOLATILE=plain", "run volatile data");
  INFO(plain.output);
  CHECK(plain.status == 1);
  CHECK(plain.output.find("orders.cu:" + std::to_string(tests::line_of("volatile data"))) !=
        std::string::npos);
  CHECK(run("SIMT_VOLATILE=strong", "run volatile data").status == 2);
}

TEST_CASE("a mistake that shows in one order is found in several, told once, with its settings") {
  const std::string line = "orders.cu:" + std::to_string(tests::line_of("without a fence"));
  const auto once = run("");
  INFO(once.output);
  CHECK(once.status == 0);
  CHECK(once.output.find("simt: 1 kernel checked, no errors found") != std::string::npos);
  const auto several = run("SIMT_ORDERS=4");
  INFO(several.output);
  CHECK(several.status == 1);
  CHECK(count(several.output, "sum 2\n") == 1);
  CHECK(count(several.output, "simt: error [race]") == 1);
  CHECK(several.output.find(line) != std::string::npos);
  CHECK(several.output.find("seen with SIMT_ORDER=reverse SIMT_ASYNC=early") != std::string::npos);
  CHECK(count(several.output, "simt: 1 error\n") == 1);
  CHECK(count(several.output, "no errors found") == 0);
  for (const std::string value : {"0", "x", "-1", "2x", "1001"}) {
    const auto refused = run("SIMT_ORDERS=" + value);
    INFO(refused.output);
    CHECK(refused.status == 2);
    CHECK(refused.lines == 1);
  }
}

TEST_CASE("a report for editors has the line, and that of a right program is empty") {
  const std::string path = tests::this_program() + ".sarif";
  const auto contents = [&](const std::string& settings) {
    std::filesystem::remove(path);
    run("SIMT_CHECK_SARIF=" + path + " " + settings);
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  };
  const std::string wrong = contents("SIMT_ORDERS=3"), right = contents("");
  std::filesystem::remove(path);
  INFO(wrong << right);
  CHECK(count(wrong, "\"ruleId\"") == 1);
  CHECK(wrong.find("simt/tests/orders.cu") != std::string::npos);
  CHECK(wrong.find("\"startLine\":" + std::to_string(tests::line_of("without a fence"))) !=
        std::string::npos);
  CHECK(count(right, "\"ruleId\"") == 0);
  CHECK(right.find("\"version\":\"2.1.0\"") != std::string::npos);
}
