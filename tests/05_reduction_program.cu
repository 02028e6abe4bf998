// Chapter 05's program: it runs what it is asked to run, and refuses what it must refuse.
#include <string>

#include "common/bench/device_facts.cuh"
#include "common/bench/ladder.cuh"
#include "tests/catch.hpp"
#include "tests/ladder_cases.hpp"
#include "tests/run_command.hpp"

namespace ladders {
bench::Ladders sum(), affine(), scan(), all_reduce();
}

namespace {

const std::string kProgram = TEST_BUILD "/05_reduction/ladders";

}  // namespace

TEST_CASE("bad arguments: exit status 2 and one line, at once") {
  tests::refuses_bad_arguments(
      kProgram, "--n 10 --only scan/sequential",
      {"--n 0", "--n -1", "--n abc", "--n 99999999999999", "--n 99999999999999999999",
       "--n 1000000000000", "--n 1.5", "--n ''", "--n", "--sweep tiles --only scan"});
}

TEST_CASE("--list and a small run name every variant, and a table of errors ends the sums") {
  const auto names =
      tests::names_of({ladders::sum(), ladders::affine(), ladders::scan(), ladders::all_reduce()});
  tests::lists_every_variant(kProgram, names);
  tests::small_run_is_right(kProgram, "--n 5000 --repeats 2", names);
  const auto sums = tests::run_command(kProgram + " --n 5000 --repeats 2 --only sum");
  CHECK(sums.output.find("error of a sum of floats") != std::string::npos);
  const auto some = tests::run_command(kProgram + " --n 5000 --repeats 2 --only sum/@end");
  CHECK(some.status == 0);
  CHECK(some.output.find("error of a sum of floats") == std::string::npos);
}

TEST_CASE("sweeps print a table each") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  const auto tiles = tests::run_command(kProgram + " --sweep tiles --n 20000 --repeats 1");
  INFO(tiles.output);
  CHECK(tiles.status == 0);
  CHECK(tiles.output.find("sum, swept over tiles") != std::string::npos);
  const auto size = tests::run_command(kProgram + " --sweep size --n 65536 --repeats 1");
  INFO(size.output);
  CHECK(size.status == 0);
  CHECK(size.output.find("sum, swept over size") != std::string::npos);
  CHECK(size.output.find("scan, swept over size") != std::string::npos);
}

TEST_CASE("--only takes a problem, a variant, or both") {
  const auto result =
      tests::run_command(kProgram + " --n 1000 --repeats 2 --only affine,scan/openmp");
  CHECK(result.status == 0);
  CHECK(result.output.find("\naffine, ") != std::string::npos);
  CHECK(result.output.find("\nscan, ") != std::string::npos);
  CHECK(result.output.find("\nsum, ") == std::string::npos);
  CHECK(result.output.find("\nblelloch ") == std::string::npos);
}
