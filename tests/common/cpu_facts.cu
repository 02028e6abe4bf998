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
  std::filesystem::create_directories(path + "/memory");
  return path;
}

}  // namespace

TEST_CASE("this machine has a model, threads and memory") {
  const bench::CpuFacts facts = bench::query_cpu();
  CHECK_FALSE(facts.model.empty());
  CHECK(facts.threads >= 1);
  CHECK(facts.available_bytes > 0);
}

TEST_CASE("a container's limit is found, in both versions of control groups") {
  const std::string two = folder();
  CHECK(bench::container_bytes(two) == -1);
  std::ofstream(two + "/memory.max") << "max\n";
  std::ofstream(two + "/memory.current") << "1000\n";
  CHECK(bench::container_bytes(two) == -1);
  std::ofstream(two + "/memory.max") << "5000\n";
  CHECK(bench::container_bytes(two) == 4000);
  CHECK(bench::query_cpu(two).available_bytes == 4000);
  std::ofstream(two + "/memory.current") << "6000\n";
  CHECK(bench::container_bytes(two) == 0);
  std::ofstream(two + "/memory.stat") << "anon 5000\ninactive_file 900\n";
  CHECK(bench::container_bytes(two) == 0);
  std::ofstream(two + "/memory.stat") << "anon 5000\ninactive_file 1500\n";
  CHECK(bench::container_bytes(two) == 500);
  // Groups below: the tightest counts, whichever it is.
  std::filesystem::create_directories(two + "/a/b");
  CHECK(bench::group_bytes(two, "/a/b") == 500);
  std::ofstream(two + "/a/memory.max") << "300\n";
  std::ofstream(two + "/a/memory.current") << "100\n";
  CHECK(bench::group_bytes(two, "/a/b") == 200);
  CHECK(bench::group_bytes(two, "/a") == 200);
  CHECK(bench::group_bytes(two, "/") == 500);
  CHECK(bench::group_bytes(two, "") == 500);
  const std::string one = folder();
  std::ofstream(one + "/memory/memory.limit_in_bytes") << "7000\n";
  std::ofstream(one + "/memory/memory.usage_in_bytes") << "500\n";
  CHECK(bench::container_bytes(one) == 6500);
  CHECK(bench::query_cpu("/nonexistent").available_bytes > 6500);
}
