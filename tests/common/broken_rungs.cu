// tests/main.cpp, verify.hpp, ladder_cases.hpp: what a test program says of rungs that are broken
// on purpose, and that what it has not judged never counts as passed.
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "common/bench/compare.hpp"
#include "common/bench/guarded_array.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/report.hpp"
#include "common/kit/check.cuh"
#include "tests/catch.hpp"
#include "tests/ladder_cases.hpp"
#include "tests/run_command.hpp"
#include "tests/verify.hpp"

namespace {

constexpr const char* kVariable = "BROKEN_ON_PURPOSE";
// The program starts itself with this variable; without it nothing in it is broken.
const bool kIsBroken = std::getenv(kVariable) != nullptr;

// out[i] = i
struct Indices {
  static constexpr const char* name = "indices";
  bench::GuardedArray<float> out;

  explicit Indices(std::int64_t n) : out("out", bench::Role::output, n) {}
  template <class Visit>
  void each_array(Visit visit) {
    visit(out);
  }
  bench::Comparison check() const {
    std::vector<float> expected(out.size());
    for (std::int64_t i = 0; i < out.size(); ++i) expected[i] = static_cast<float>(i);
    return bench::compare(out.fetched(), expected.data(), out.size(), 0.0);
  }
  bench::Sizes sizes() const { return {{"n", out.size()}}; }
  double flops() const { return 0; }
};

enum class Fault { none, one_wrong_element, strays, races, elsewhere, refuses };

__global__ void indices_kernel(float* out, std::int64_t n, Fault fault) {
  __shared__ int shared;
  const int i = static_cast<int>(threadIdx.x);
  if (fault == Fault::races) shared = i;
  if (fault == Fault::strays) out += std::int64_t{1} << 44;
  if (i < n) out[i] = static_cast<float>(i);
  if (fault == Fault::one_wrong_element && i == 1 && n > 1) out[i] = 7;
  if (n < 0) out[0] = static_cast<float>(shared);  // never: so that `shared` is needed
}

#if SIMT_INSTRUMENTED
__global__ void racy_kernel() {
  __shared__ int shared;
  shared = static_cast<int>(threadIdx.x);
}
#endif

bench::Variant<Indices> rung(const std::string& name, Fault fault) {
  if (!kIsBroken) fault = Fault::none;
  return bench::device_variant<Indices>(name, "", [fault](Indices& problem, cudaStream_t stream) {
    if (fault == Fault::elsewhere) stream = nullptr;
    if (fault == Fault::refuses && problem.out.size() == 40) throw kit::Skip("not 40");
    indices_kernel<<<1, 64, 0, stream>>>(problem.out.device_data(), problem.out.size(), fault);
    CUDA_CHECK(cudaGetLastError());
  });
}

bench::Ladder<Indices> ladder() {
  bench::Ladder<Indices> ladder;
  ladder.name = Indices::name;
  ladder.settings = {bench::number("n", "elements", 10, 1, 64)};
  ladder.make = [](const bench::Settings& settings, const bench::RunSettings&) {
    return std::make_unique<Indices>(settings["n"]);
  };
  ladder.variants = {rung("cannot_run_here", Fault::none),
                     rung("right", Fault::none),
                     rung("wrong", Fault::one_wrong_element),
                     rung("elsewhere", Fault::elsewhere),
                     rung("refuses", Fault::refuses),
                     rung("strays", Fault::strays),
                     rung("last", Fault::none)};
  ladder.variants[0].needs.missing = "needs what nobody has";
  return ladder;
}

bool has_device() { return bench::query_device().available; }

}  // namespace

TEST_CASE("every rung, small and large") {
  tests::every_variant_is_right(ladder(), {{{"n", 1}}, {{"n", 40}}});
}

TEST_CASE("every rung, recorded as a graph") {
  tests::every_launch_is_in_its_stream(ladder(), {{"n", 33}});
}

TEST_CASE("of two sections, the first one loses the device") {
  CHECK(1 + 2 == 3);  // outside of the sections: it belongs to each of them
  if (!has_device()) SKIP_TEST("needs a GPU");
  SECTION("first, with a comma") {
    Indices problem(33);
    const auto strays = rung("strays", Fault::strays);
    const auto verdict = tests::verify(problem, strays, bench::query_device(), nullptr);
    CHECK(verdict.status == bench::Status::right);
  }
  SECTION("second") { CHECK(!kIsBroken); }
}

TEST_CASE("without sections, it \"loses\" the [device], too") {
  if (!has_device()) SKIP_TEST("needs a GPU");
  indices_kernel<<<1, 1>>>(nullptr, 0, Fault::none);
  if (kIsBroken) indices_kernel<<<1, 64>>>(nullptr, 64, Fault::strays);
  CUDA_CHECK(cudaDeviceSynchronize());
  CHECK(has_device());
}

TEST_CASE("a race that spoils no result") {
#if !SIMT_INSTRUMENTED
  SKIP_TEST("the race check needs simt");
#else
  SECTION("is told of a rung") {
    Indices problem(64);
    const auto verdict =
        tests::verify(problem, rung("races", Fault::races), bench::query_device(), nullptr);
    CHECK(verdict.status == bench::Status::right);
  }
  SECTION("is told of a kernel that no rung has") {
    if (kIsBroken) racy_kernel<<<1, 64>>>();
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
  }
#endif
}

TEST_CASE("a signal ends the program, which says what it has found so far") {
  const std::string self = TEST_BUILD "/tests/common/broken_rungs 'a signal*' 2>/dev/null";
  SECTION("found before it") { CHECK(true); }
  SECTION("its own section") {
    if (kIsBroken && std::getenv(kVariable) == std::string("signal")) std::abort();
    CHECK(true);
  }
  SECTION("never reached") {
    if (kIsBroken) SKIP_TEST("by itself");
    const auto result = tests::run_command(std::string(kVariable) + "=signal " + self);
    CHECK(result.status == 128 + SIGABRT);
    CHECK(result.output.find("its own section (") != std::string::npos);
    CHECK(result.output.find("\n1 passed, 1 failed, 0 skipped\n") != std::string::npos);
  }
}

TEST_CASE("each rung that is broken has one line, and what follows a lost device is not judged") {
  if (kIsBroken) SKIP_TEST("by itself");
  if (!has_device()) SKIP_TEST("needs a GPU");
  const auto result = tests::run_command(std::string(kVariable) + "=1 tools/run_tests.sh " +
                                         TEST_BUILD "/tests/common/broken_rungs 2>/dev/null");
  CHECK(result.status == 1);
  // The beginning of each line below that of the program, and a part of it.
  struct Line {
    std::string begin, part;
  };
#if SIMT_INSTRUMENTED
  const std::string races = "simt: error [race]", error = "simt: error [";
#else
  const std::string races, error = "IllegalAddress";
#endif
  std::vector<Line> lines = {
      {"    failed indices/wrong, n = 40: 1 of 40 wrong, the first at 1: expected 1, got 7", ""},
      {"    failed every rung, small and large > indices/refuses (",
       "): CHECK( surprise == \"\" ), which is \"n = 40: not 40\" == \"\""},
      {"    failed indices/strays, n = 1: ", error},
      {"    failed indices/elsewhere, n = 33: replayed from a graph of its stream: 33 of 33 wrong",
       ""},
      {"    failed without sections, it \"loses\" the [device], too", error}};
  if (!races.empty()) {
    lines.push_back({"    failed indices/races, n = 64: ", races});
    lines.push_back({"    failed a race that spoils no result > is told of a kernel", races});
  }
  lines.push_back({"(V=1 shows all that the programs said that failed.)", ""});
  lines.push_back(
      {races.empty() ? "6 passed, 8 failed, 8 skipped" : "6 passed, 10 failed, 7 skipped", ""});
  CAPTURE(result.output);
  std::istringstream output(result.output);
  std::string line;
  std::getline(output, line);
  for (const Line& expected : lines) {
    std::getline(output, line);
    INFO(line);
    CHECK(line.compare(0, expected.begin.size(), expected.begin) == 0);
    CHECK(line.find(expected.part) != std::string::npos);
  }
}
