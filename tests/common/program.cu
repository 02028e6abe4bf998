// common/bench/program.cuh: selection, refusals and exit statuses, within one process.
#include "common/bench/program.cuh"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "common/kit/check.cuh"
#include "tests/catch.hpp"

namespace {

using Body = std::function<void(const bench::RunSettings&, const bench::AnyLadder::Show&)>;

int run_chapter(const bench::Chapter& chapter, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "program");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  return bench::run(chapter, static_cast<int>(arguments.size()), argv.data());
}

bench::AnyLadder ladder_of(const std::string& name, const std::vector<std::string>& variants,
                           const bench::MemoryNeed& need = {}) {
  bench::AnyLadder ladder;
  ladder.name = name;
  for (const std::string& variant : variants) ladder.variants.push_back({variant, "", {}});
  ladder.memory = [need](const bench::Settings&, const bench::RunSettings&) { return need; };
  ladder.run = [](const auto&, const auto&, const auto&, const auto&) {};
  return ladder;
}

// A program whose only ladder runs `body`.
int run(const std::vector<std::string>& arguments, const Body& body) {
  bench::AnyLadder ladder = ladder_of("p", {"a"});
  ladder.run = [body](const bench::RunSettings& run, const auto&, const auto&, const auto& show) {
    body(run, show);
  };
  return run_chapter({"test", "a program for tests", {{ladder}}}, arguments);
}

void nothing(const bench::RunSettings&, const bench::AnyLadder::Show&) {}

// Names that `--only` leaves of two problems: p with a and b, q with b and c.
std::string selection(const std::string& only) {
  std::string text;
  bench::Ladders ladders = {ladder_of("p", {"a", "b"}), ladder_of("q", {"b", "c"})};
  for (bench::AnyLadder& ladder : ladders) {
    const auto variants = ladder.variants;
    ladder.run = [&text, name = ladder.name, variants](const auto&, const auto&, const auto& chosen,
                                                       const auto&) {
      for (std::size_t i = 0; i < variants.size(); ++i) {
        if (chosen[i]) text += name + "/" + variants[i].name + " ";
      }
    };
  }
  const bench::Chapter chapter = {"test", "a program for tests", {ladders}};
  const int status = run_chapter(chapter, only.empty() ? std::vector<std::string>{}
                                                       : std::vector<std::string>{"--only", only});
  return status == 0 ? text : "status " + std::to_string(status);
}

}  // namespace

TEST_CASE("--only selects by variant, by problem, or by both") {
  CHECK(selection("") == "p/a p/b q/b q/c ");
  CHECK(selection("a") == "p/a ");
  CHECK(selection("b") == "p/b q/b ");
  CHECK(selection("q/b,a") == "p/a q/b ");
  CHECK(selection("q") == "q/b q/c ");
}

TEST_CASE("progress is shown where lines can change") {
  CHECK(bench::takes_escapes("xterm"));
  CHECK(!bench::takes_escapes("dumb"));
  CHECK(!bench::takes_escapes(nullptr));
}

TEST_CASE("--only with an unknown name is a usage error") {
  CHECK(selection("nosuch") == "status 2");
  CHECK(selection("a,nosuch") == "status 2");
  CHECK(selection("a,") == "status 2");
}

TEST_CASE("more threads than OpenMP can start are refused") {
#ifdef _OPENMP
  const int before = omp_get_max_threads();
  omp_set_num_threads(kit::kMostThreads);
  CHECK(run({"--help"}, nothing) == 0);
  CHECK_NOTHROW(bench::require_threads());
  omp_set_num_threads(kit::kMostThreads + 1);
  CHECK(run({"--help"}, nothing) == 0);
  CHECK(run({}, [](auto&, auto&) { FAIL("ran with too many threads"); }) == 2);
  omp_set_num_threads(before);
#endif
}

TEST_CASE("exit statuses") {
  CHECK(run({}, nothing) == 0);
  CHECK(run({"--help"}, [](auto&, auto&) { FAIL("--help must not run the program"); }) == 0);
  CHECK(run({}, [](auto&, auto&) { throw bench::UsageError("no"); }) == 2);
  CHECK(run({}, [](auto&, auto&) { throw std::bad_alloc(); }) == 2);
  CHECK(run({}, [](auto&, auto&) { CUDA_CHECK(cudaErrorInvalidValue); }) == 1);
}

TEST_CASE("output that cannot be written is no success, of --help neither") {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{}, {"--help"}}) {
    std::fflush(stdout);
    const int terminal = dup(STDOUT_FILENO), full = open("/dev/full", O_WRONLY);
    dup2(full, STDOUT_FILENO);
    const int status = run(arguments, [](auto&, auto&) { std::printf("a table\n"); });
    dup2(terminal, STDOUT_FILENO);
    close(full);
    close(terminal);
    std::clearerr(stdout);
    CHECK(status == 1);
  }
}

TEST_CASE("a file that cannot be written is refused before anything runs") {
  const auto body = [](auto&, auto&) { FAIL("measured for nothing"); };
  CHECK(run({"--json", "/nonexistent/file.json"}, body) == 2);
  CHECK(run({"--json", "/"}, body) == 2);
  CHECK(run({"--json="}, body) == 2);  // a shell's variable that is empty
  CHECK(run({"--json", "tests/README.md"}, body) == 2);
}

TEST_CASE("the JSON holds every sweep, printed or only recorded") {
  const std::string file = std::string(TEST_BUILD) + "/tests/common/program.json";
  const int status = run({"--json", file}, [](auto&, auto& show) {
    show({bench::Sweep{"p", "printed", {"x"}, {{1}}},
          bench::Sweep{"p", "kept", {"x"}, {{327654632987.0}}, false}});
  });
  CHECK(status == 0);
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  CHECK(text.str().find(R"({"problem":"p","sweep":"printed","points":[{"x":1}]})") !=
        std::string::npos);
  CHECK(text.str().find(R"({"problem":"p","sweep":"kept","points":[{"x":327654632987}]})") !=
        std::string::npos);
}

TEST_CASE("the JSON says with which input, and in which mode, a run was made") {
  const std::string file = std::string(TEST_BUILD) + "/tests/common/mode.json";
  const auto text_of = [&file](std::vector<std::string> arguments, bool cold) {
    arguments.insert(arguments.end(), {"--json", file});
    const auto body = [cold](const bench::RunSettings& settings, auto&) {
      CHECK(settings.cold == cold);
    };
    CHECK(run(arguments, body) == 0);
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  };
  CHECK(text_of({}, true).find(R"("seed":1,"mode":"cold",)") != std::string::npos);
  CHECK(text_of({"--cold", "--seed", "5"}, true).find(R"("seed":5,"mode":"cold",)") !=
        std::string::npos);
  CHECK(text_of({"--warm"}, false).find(R"("seed":1,"mode":"warm",)") != std::string::npos);
}

TEST_CASE("the options --cold and --warm exclude each other") {
  CHECK(run({"--cold", "--warm"}, nothing) == 2);
  CHECK(run({"--warm", "--cold"}, nothing) == 2);
}

TEST_CASE("options that would change nothing are refused") {
  for (const char* how : {"--times", "--cold", "--warm"}) {
    INFO(how);
    CHECK(run({"--verify", how}, nothing) == 2);
    CHECK(run({how}, nothing) == 0);
  }
  CHECK(run({"--verify", "--repeats", "3"}, nothing) == 2);
  CHECK(run({"--verify"}, nothing) == 0);
  CHECK(run({"--quick", "--verify"}, nothing) == 2);
  CHECK(run({"--quick", "--slow"}, nothing) == 2);
  CHECK(run({"--quick", "--repeats", "3"}, nothing) == 2);
  CHECK(run({"--list", "--json", "a.json"}, nothing) == 2);
}

TEST_CASE("a short look is one that was asked for") {
  for (const bool asked : {false, true}) {
    std::vector<std::string> arguments;
    if (asked) arguments.push_back("--quick");
    CHECK(run(arguments, [asked](const bench::RunSettings& settings, auto&) {
            CHECK(settings.quick == asked);
          }) == 0);
  }
}

TEST_CASE("a wrong row makes the status 1, a skipped one does not") {
  const auto status_with = [](bench::Status status) {
    return run({}, [status](auto&, auto& show) {
      bench::ProblemReport report;
      report.rows.resize(1);
      report.rows[0].verdict.status = status;
      show({report});
    });
  };
  CHECK(status_with(bench::Status::right) == 0);
  CHECK(status_with(bench::Status::skipped) == 0);
  CHECK(status_with(bench::Status::wrong) == 1);
}

TEST_CASE("nothing follows a report that a CUDA error cut short, and the status is 1") {
  bool followed = false;
  const int status = run({}, [&followed](auto&, auto& show) {
    bench::ProblemReport report;
    report.problem = "doubling";
    report.rows.resize(1);
    report.error = "tiled: an illegal memory access";
    show({report});
    followed = true;
  });
  CHECK(status == 1);
  CHECK(!followed);
}

TEST_CASE("a GPU that another process has for itself makes the status 1") {
  // What the first call that needs the device returns then.
  CHECK(run({}, [](auto&, auto&) { CUDA_CHECK(cudaErrorDevicesUnavailable); }) == 1);
}

TEST_CASE("sizes that cannot fit are refused") {
  const auto needs = [](double host_bytes, double device_bytes) {
    return run_chapter({"test", "", {{ladder_of("p", {"a"}, {host_bytes, device_bytes})}}}, {});
  };
  CHECK(needs(1e3, 1e3) == 0);
  CHECK(needs(1e18, 1e3) == 2);
  const bench::DeviceFacts device = bench::query_device();
  if (!device.available) return;
  CHECK(needs(1e3, 1e18) == 2);
  if (device.is_real_gpu()) return;
  // Here the host's memory is the device's, too: each part fits, and both do not.
  const double free = bench::query_cpu().available_bytes;
  CHECK(needs(0.2 * free, 0.2 * free) == 0);
  CHECK(needs(0.8 * free, 0.4 * free) == 2);
}

TEST_CASE("threads that wait on the CPU take stacks there, as many as the device holds") {
  bench::DeviceFacts device;
  CHECK(bench::stacks_of(1000, device) == 0);  // no kernel runs
  device = bench::query_device();
  if (!device.available) return;
  if (device.is_real_gpu()) {
    CHECK(bench::stacks_of(1e6, device) == 0);
    return;
  }
  CHECK(bench::stacks_of(1000, device) > 1000 * 4096.0);  // a page each
  const double all = 1.0 * device.multiprocessors * device.max_threads_per_multiprocessor;
  CHECK(bench::stacks_of(1e12, device) == bench::stacks_of(all, device));
}

TEST_CASE("each fact of the device has its name in the JSON") {
  bench::DeviceFacts device;
  device.available = true;
  device.name = "a GPU";
  device.major = 9;
  device.minor = 1;
  device.multiprocessors = 2;
  device.peak_bandwidth_gbps = 3;
  device.peak_fp32_gflops = 4;
  device.l2_bytes = 5;
  device.memory_bytes = 6;
  device.runtime_version = 13010;
  device.driver_version = 12080;
  const auto json_of = [](const bench::DeviceFacts& facts) {
    bench::JsonWriter json;
    json.begin_object();
    bench::write_members(json, facts);
    json.end_object();
    return json.text();
  };
  CHECK(json_of(device) ==
        R"({"device":{"name":"a GPU","compute_capability":"9.1","multiprocessors":2,)"
        R"("peak_bandwidth_gbps":3,"peak_fp32_gflops":4,"l2_bytes":5,"memory_bytes":6},)"
        R"("toolkit":"13.1","driver":"12.8"})");
  device.available = false;
  CHECK(json_of(device) == R"({"device":null,"toolkit":"13.1","driver":"12.8"})");
}

TEST_CASE("a commit says whether its sources were changed since") {
  namespace fs = std::filesystem;
  const std::string folder = std::string(TEST_BUILD) + "/tests/common/a repository's sources";
  fs::remove_all(folder);
  fs::create_directories(folder);
  std::ofstream(folder + "/a.cu") << "int a;\n";
  const auto git = [&folder](const std::string& words) {
    const std::string command = "git -C " + bench::shell_word(folder) + " -c user.name=a " +
                                "-c user.email=a@b -c commit.gpgsign=false " + words;
    REQUIRE(std::system((command + " >/dev/null 2>&1").c_str()) == 0);
  };
  git("init");
  git("add a.cu");
  git("commit -m first");
  const std::string clean = bench::commit_of(folder);
  CHECK(clean.size() == 12);
  CHECK(clean.find_first_not_of("0123456789abcdef") == std::string::npos);
  std::ofstream(folder + "/a.cu") << "int b;\n";
  CHECK(bench::commit_of(folder) == clean + "-dirty");
  CHECK(bench::commit_of("/nonexistent") == "unknown");
}

TEST_CASE("the commit is that of the program's sources, wherever it is started") {
  const std::string here = bench::commit();
  const int folder = open(".", O_RDONLY);
  REQUIRE(chdir("/") == 0);
  const std::string elsewhere = bench::commit();
  REQUIRE(fchdir(folder) == 0);
  close(folder);
  CHECK(elsewhere == here);
}
