// common/bench/output_file.hpp: refused in time, and whole or not at all.
#include "common/bench/output_file.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

#include "tests/catch.hpp"

namespace {

namespace fs = std::filesystem;

std::string folder() {
  const std::string path = std::string(TEST_BUILD) + "/tests/common/output_file_files";
  fs::remove_all(path);
  fs::create_directories(path);
  return path;
}

std::string content(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

bool refused(const std::string& file) {
  try {
    bench::require_writable("json", file);
  } catch (const bench::UsageError& error) {
    CHECK(std::string(error.what()) == "--json: cannot write " + file);
    return true;
  }
  return false;
}

}  // namespace

TEST_CASE("what cannot be written is refused, and asking leaves no file behind") {
  const std::string here = folder();
  CHECK_FALSE(refused(""));
  CHECK_FALSE(refused(here + "/new.json"));
  CHECK_FALSE(fs::exists(here + "/new.json"));
  CHECK(refused("/nonexistent/new.json"));
  CHECK(refused(here));  // a folder
  CHECK_FALSE(refused("/dev/null"));
}

TEST_CASE("a file is replaced in one step, with nothing beside it afterwards") {
  const std::string here = folder(), file = here + "/a.json";
  bench::write_file(file, "old");
  bench::write_file(file, "new");
  CHECK(content(file) == "new");
  CHECK(std::distance(fs::directory_iterator(here), fs::directory_iterator()) == 1);
}

TEST_CASE("where writing fails the old file stays whole, and the failure is told") {
  const std::string file = folder() + "/a.json";
  bench::write_file(file, "old");
  try {
    bench::write_file("/dev/full", "text");
    CHECK(false);
  } catch (const std::runtime_error& error) {
    CHECK(std::string(error.what()) == "cannot write /dev/full");
  }
  // The folder takes the temporary file's name: it cannot be opened.
  fs::create_directory(file + "." + std::to_string(getpid()) + ".part");
  CHECK_THROWS_AS(bench::write_file(file, "new"), std::runtime_error);
  CHECK(content(file) == "old");
}
