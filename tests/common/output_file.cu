// common/bench/output_file.hpp: refused in time, and whole or not at all.
#include "common/bench/output_file.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

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

// A process that writes the file again and again, until it is killed.
pid_t start_writer(const std::string& file, const std::string& text) {
  const pid_t writer = fork();
  if (writer == 0) {
    for (;;) bench::write_file(file, text);
  }
  return writer;
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

TEST_CASE("a symbolic link stays one, and the file that it names is replaced") {
  const std::string here = folder(), file = here + "/a.json", link = here + "/link.json";
  bench::write_file(file, "old");
  fs::create_symlink("a.json", link);
  bench::write_file(link, "new");
  CHECK(content(file) == "new");
  CHECK(fs::is_symlink(link));
  CHECK(std::distance(fs::directory_iterator(here), fs::directory_iterator()) == 2);
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

// SIGKILL is what a system without memory sends. Nothing can be done then, so it must have been
// done before: at any time the file is that of one run, whole.
TEST_CASE("runs that write one file at once, and are killed while they do, leave a whole file") {
  const std::string file = folder() + "/a.json";
  const std::vector<std::string> texts = {std::string(300'000, 'a'), std::string(200'000, 'b')};
  bench::write_file(file, texts[0]);
  for (int round = 0; round < 20; ++round) {
    std::vector<pid_t> writers;
    for (const std::string& text : texts) writers.push_back(start_writer(file, text));
    std::this_thread::sleep_for(std::chrono::milliseconds(5 + round));
    for (const pid_t writer : writers) {
      kill(writer, SIGKILL);
      int status = 0;
      REQUIRE(waitpid(writer, &status, 0) == writer);
      REQUIRE(WIFSIGNALED(status));  // it had not given up
    }
    const std::string left = content(file);
    REQUIRE((left == texts[0] || left == texts[1]));
  }
}
