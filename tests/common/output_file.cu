// common/bench/output_file.hpp: refused in time, and whole or not at all.
#include "common/bench/output_file.hpp"

#include <sys/stat.h>
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

TEST_CASE("a file is replaced only by what it holds already, and a FIFO keeps nobody waiting") {
  const auto refusal = [](const std::string& file) {
    try {
      bench::require_writable("json", file);
    } catch (const bench::UsageError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string file = folder() + "/a";
  for (const char* mine : {"", "{}", " \n{ \"a\": 1 }"}) {
    bench::write_file(file, mine);
    CHECK(refusal(file).empty());
  }
  for (const char* another : {"# A page", "\x7f\x45LF", "[1]"}) {
    bench::write_file(file, another);
    CHECK(refusal(file) == "--json: " + file + " is no JSON, and would be replaced");
    CHECK(content(file) == another);
  }
  const std::string here = folder(), fifo = here + "/fifo", link = here + "/link";
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  fs::create_symlink("fifo", link);
  for (const std::string& name : {fifo, link}) {
    CHECK(refusal(name) == "--json: " + name + " is a FIFO");
  }
}

TEST_CASE("a file is replaced in one step, with nothing beside it afterwards") {
  const std::string here = folder(), file = here + "/a.json";
  bench::write_file(file, "old");
  bench::write_file(file, "new");
  CHECK(content(file) == "new");
  fs::create_symlink("a.json", here + "/link.json");
  bench::write_file(here + "/link.json", "newer");
  CHECK(fs::is_symlink(here + "/link.json"));
  CHECK(content(file) == "newer");
  fs::remove(here + "/link.json");
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
