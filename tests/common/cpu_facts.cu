// common/bench/cpu_facts.hpp: the memory that a run may count on.
#include "common/bench/cpu_facts.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/catch.hpp"

namespace {

std::string folder() {
  const std::string path = std::string(TEST_BUILD) + "/tests/common/cpu_facts_files";
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path);
  return path;
}

}  // namespace

TEST_CASE("this machine has a model, threads and memory") {
  const bench::CpuFacts facts = bench::query_cpu();
  CHECK_FALSE(facts.model.empty());
  CHECK(facts.threads >= 1);
  CHECK(facts.available_bytes > 0);
}

TEST_CASE("a container's limit is found") {
  const std::string here = folder();
  CHECK(bench::container_bytes(here) == -1);
  std::ofstream(here + "/memory.max") << "max\n";
  std::ofstream(here + "/memory.current") << "1000\n";
  CHECK(bench::container_bytes(here) == -1);
  std::ofstream(here + "/memory.max") << "5000\n";
  CHECK(bench::container_bytes(here) == 4000);
  CHECK(bench::query_cpu(here).available_bytes == 4000);
  std::ofstream(here + "/memory.current") << "6000\n";
  CHECK(bench::container_bytes(here) == 0);
  CHECK(bench::query_cpu("/nonexistent").available_bytes > 4000);
}
