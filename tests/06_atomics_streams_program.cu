// Chapter 06's program: it runs what it is asked to run, and refuses what it must refuse.
#include <string>

#include "common/bench/device_facts.cuh"
#include "common/bench/ladder.cuh"
#include "tests/catch.hpp"
#include "tests/ladder_cases.hpp"
#include "tests/run_command.hpp"

namespace ladders {
bench::Ladders one_cell(), histogram(), float_max(), lock();
bench::Ladders pipeline(), default_stream(), small_kernels(), pi(), device_copy();
}  // namespace ladders

namespace {

const std::string kProgram = TEST_BUILD "/06_atomics_streams/ladders";

}  // namespace

TEST_CASE("bad arguments of chapter 06: exit status 2 and one line, at once") {
  tests::refuses_bad_arguments(
      kProgram, "--n 10 --only one_cell/sequential",
      {"--n 0", "--n -1", "--n abc", "--n 4294967295", "--n 99999999999999999999", "--n 1.5",
       "--n ''", "--n", "--input nosuch", "--chunks 0", "--chunks 1001", "--rounds 0",
       "--kernels 0"});
}

TEST_CASE("the racy rung is announced as wrong and does not fail the program") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  const auto result = tests::run_command(kProgram + " --n 100000 --verify --only racy");
  INFO(result.output);
  CHECK(result.status == 0);
  CHECK(result.output.find("racy is wrong on purpose and is not judged: expected 3") !=
        std::string::npos);
  CHECK(result.output.find("  run 5: got ") != std::string::npos);
  CHECK(result.output.find("right") == std::string::npos);
}

TEST_CASE("--list names every variant of the chapter under its problem") {
  tests::lists_every_variant(
      kProgram, tests::names_of({ladders::one_cell(), ladders::histogram(), ladders::float_max(),
                                 ladders::lock(), ladders::pipeline(), ladders::default_stream(),
                                 ladders::small_kernels(), ladders::pi(), ladders::device_copy()}));
}

TEST_CASE("a large --n leaves the lock small: its turns are taken one by one") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  const auto result = tests::run_command(kProgram + " --only lock/packed --verify --n 1000000");
  INFO(result.output);
  CHECK(result.status == 0);
  CHECK(result.output.find("lock, n = 65,536") != std::string::npos);
}

TEST_CASE("a small run of chapter 06 is right for each kind of input") {
  for (const char* input : {"uniform", "skewed", "constant"}) {
    const auto result =
        tests::run_command(kProgram + " --n 1000 --verify --only one_cell,histogram" +
                           ",float_max,lock,pi --input " + input);
    INFO(result.output);
    CHECK(result.status == 0);
    CHECK(result.output.find("wrong") == std::string::npos);
  }
}
