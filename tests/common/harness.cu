// common/bench/harness.cuh, guarded_array.cuh: variants that are wrong on purpose, each of which
// must be caught, on the host and on the device.
#include "common/bench/harness.cuh"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "common/bench/program.cuh"
#include "common/kit/check.cuh"
#include "common/kit/gpu_timer.cuh"
#include "common/kit/phase.hpp"
#include "common/kit/random.cuh"
#include "common/kit/workspace.cuh"
#include "tests/catch.hpp"

#if __has_include(<simt/profile.h>)
#include <simt/profile.h>
#endif

namespace {

// out[i] = 2 * in[i]
struct Doubling {
  static constexpr const char* name = "doubling";
  std::int64_t n;
  bench::GuardedArray<float> in, out;
  std::vector<float> expected;

  explicit Doubling(std::int64_t n)
      : n(n), in("in", bench::Role::input, n), out("out", bench::Role::output, n), expected(n) {
    kit::fill_random(in.pristine(), n, 5);
    for (std::int64_t i = 0; i < n; ++i) expected[i] = 2 * in.pristine()[i];
  }
  template <class Visit>
  void each_array(Visit visit) {
    visit(in);
    visit(out);
  }
  bench::Comparison check() const { return bench::compare(out.fetched(), expected.data(), n, 0.0); }
  bench::Sizes sizes() const { return {{"n", n}}; }
  double bytes() const { return 8.0 * n; }
  double flops() const { return 1.0 * n; }
};

// What a variant may do wrong.
enum class Fault {
  none,
  one_wrong_element,
  one_nan,
  writes_nothing,
  misses_the_last,
  writes_past_the_end,
  writes_before_the_start,
  changes_its_input,
};

// The work, right but for the fault. Everything is done by thread 0: this is about the harness.
__host__ __device__ void double_all(float* in, float* out, std::int64_t n, Fault fault) {
  if (fault == Fault::writes_nothing) return;
  for (std::int64_t i = 0; i < n; ++i) {
    if (fault == Fault::misses_the_last && i == n - 1) continue;
    out[i] = 2 * in[i];
  }
  if (fault == Fault::one_wrong_element) out[n / 2] += 0.5f;
  if (fault == Fault::one_nan) out[n / 2] = nanf("");
  if (fault == Fault::writes_past_the_end) out[n] = 1;
  if (fault == Fault::writes_before_the_start) out[-1] = 1;
  if (fault == Fault::changes_its_input) in[1] = 7;
}

__global__ void double_all_kernel(float* in, float* out, std::int64_t n, Fault fault) {
  if (threadIdx.x == 0) double_all(in, out, n, fault);
}

bench::Variant<Doubling> variant_with(Fault fault, bench::Place place) {
  if (place == bench::Place::cpu) {
    return bench::cpu_variant<Doubling>("on_cpu", "", [fault](Doubling& p) {
      double_all(p.in.host_data(), p.out.host_data(), p.n, fault);
    });
  }
  return bench::device_variant<Doubling>("on_device", "",
                                         [fault](Doubling& p, cudaStream_t stream) {
                                           double_all_kernel<<<1, 32, 0, stream>>>(
                                               p.in.device_data(), p.out.device_data(), p.n, fault);
                                           CUDA_CHECK(cudaGetLastError());
                                         });
}

struct Expectation {
  Fault fault;
  const char* name;
  bench::Status status;
  const char* reason;  // a part of it
};

const std::vector<Expectation> kExpectations = {
    {Fault::none, "nothing wrong", bench::Status::right, ""},
    {Fault::one_wrong_element, "one wrong element", bench::Status::wrong,
     "1 of 1000 wrong, the first at 500"},
    {Fault::one_nan, "one NaN", bench::Status::wrong, "1 of 1000 wrong, the first at 500"},
    {Fault::writes_nothing, "writes nothing", bench::Status::wrong, "(1000 never written)"},
    {Fault::misses_the_last, "misses the last", bench::Status::wrong,
     "1 of 1000 wrong, the first at 999"},
    {Fault::writes_past_the_end, "writes past the end", bench::Status::wrong,
     "wrote past the end of out (1000 elements): at 1000"},
    {Fault::writes_before_the_start, "writes before the start", bench::Status::wrong,
     "wrote before the start of out (1000 elements): at -1"},
    {Fault::changes_its_input, "changes its input", bench::Status::wrong,
     "changed its input in, first at 1"},
};

}  // namespace

TEST_CASE("the harness catches each fault, on the CPU and on the device") {
  const bench::DeviceFacts device = bench::query_device();
  const bench::WorkStream stream(device);
  for (const bench::Place place : {bench::Place::cpu, bench::Place::device}) {
    for (const Expectation& expected : kExpectations) {
      DYNAMIC_SECTION((place == bench::Place::cpu ? "cpu: " : "device: ") << expected.name) {
        if (place == bench::Place::device && !device.available) SKIP_SECTION("needs a GPU");
        Doubling problem(1000);
        const auto verdict =
            bench::verify(problem, variant_with(expected.fault, place), device, stream.get());
        INFO(verdict.reason);
        CHECK(verdict.status == expected.status);
        CHECK(verdict.reason.find(expected.reason) != std::string::npos);
      }
    }
  }
}

TEST_CASE("a fault of one variant does not stain the next") {
  Doubling problem(100);
  const bench::DeviceFacts no_device;
  const auto run = [&](Fault fault) {
    return bench::verify(problem, variant_with(fault, bench::Place::cpu), no_device, nullptr)
        .status;
  };
  CHECK(run(Fault::changes_its_input) == bench::Status::wrong);
  CHECK(run(Fault::none) == bench::Status::right);
  CHECK(run(Fault::writes_past_the_end) == bench::Status::wrong);
  CHECK(run(Fault::none) == bench::Status::right);
}

TEST_CASE("a NaN makes the maximum error NaN") {
  Doubling problem(10);
  const auto verdict = bench::verify(problem, variant_with(Fault::one_nan, bench::Place::cpu),
                                     bench::DeviceFacts{}, nullptr);
  CHECK(std::isnan(verdict.max_error));
}

TEST_CASE("what cannot run here is skipped with its reason") {
  Doubling problem(10);
  auto variant = variant_with(Fault::none, bench::Place::device);
  bench::DeviceFacts device;
  const auto reason = [&] { return bench::why_skipped(variant, device); };

  CHECK(reason() == "needs a GPU");
  device.available = true;
  device.major = 8;
  device.minor = 0;
  CHECK(reason().empty());
  variant.needs.compute_capability = 86;
  CHECK(reason() == "needs sm_86, this is sm_80");
  variant.needs.compute_capability = 75;
  CHECK(reason().empty());
  variant.needs = {90, true, ""};
  CHECK(reason() == "needs sm_90a, this is sm_80");
  device.major = 10;
  CHECK(reason() == "needs sm_90a, this is sm_100");
  variant.needs.missing = "needs CUB";
  CHECK(reason() == "needs CUB");
}

TEST_CASE("what was compiled for older chips is skipped, not run as an empty kernel") {
  auto variant = variant_with(Fault::none, bench::Place::device);
  bench::DeviceFacts device;
  device.available = true;
  device.major = 9;
  device.code.capability = 75;
  const auto reason = [&] { return bench::why_skipped(variant, device); };

  CHECK(reason().empty());
  variant.needs = bench::needs_sm(80);
  CHECK(reason() == "needs code for sm_80, this program was compiled for sm_75");
  device.code.capability = 90;
  CHECK(reason().empty());
  variant.needs = bench::needs_exactly_sm(90);
  CHECK(reason() == "needs code for sm_90a, this program was compiled for sm_90");
  device.code.for_sm_90a = true;
  CHECK(reason().empty());
  device.code = {};
  CHECK(reason().empty());  // unknown: the launch will tell
}

TEST_CASE("a variant may skip itself; a device may lack what a kernel is made of") {
  Doubling problem(10);
  const bench::DeviceFacts no_device;
  const auto by_itself = bench::cpu_variant<Doubling>(
      "a", "", [](Doubling&) { throw kit::Skip("too large for this lesson"); });
  auto verdict = bench::verify(problem, by_itself, no_device, nullptr);
  CHECK(verdict.status == bench::Status::skipped);
  CHECK(verdict.reason == "too large for this lesson");

  const auto unsupported =
      bench::cpu_variant<Doubling>("b", "", [](Doubling&) { CUDA_CHECK(cudaErrorNotSupported); });
  verdict = bench::verify(problem, unsupported, no_device, nullptr);
  CHECK(verdict.status == bench::Status::skipped);
  CHECK(verdict.reason.find("cudaErrorNotSupported") != std::string::npos);

  bench::DeviceFacts model;
  model.available = true;
  verdict = bench::verify(problem, unsupported, model, nullptr);
  CHECK(verdict.status == bench::Status::skipped);
  CHECK(verdict.reason == "needs instructions of a GPU");
}

TEST_CASE("any other CUDA error ends the run") {
  Doubling problem(10);
  const auto failing =
      bench::cpu_variant<Doubling>("a", "", [](Doubling&) { CUDA_CHECK(cudaErrorInvalidValue); });
  CHECK_THROWS_AS(bench::verify(problem, failing, bench::DeviceFacts{}, nullptr), kit::CudaError);
}

TEST_CASE("after a CUDA error a report names it, and says what was not run") {
  Doubling problem(10);
  int runs_after = 0;
  const std::vector<bench::Variant<Doubling>> variants = {
      variant_with(Fault::none, bench::Place::cpu),
      bench::cpu_variant<Doubling>("broken", "",
                                   [](Doubling&) { CUDA_CHECK(cudaErrorInvalidValue); }),
      bench::cpu_variant<Doubling>("after", "", [&runs_after](Doubling&) { ++runs_after; })};
  const bench::ProblemReport report = bench::run_problem(bench::RunSettings{}, problem, variants);
  CHECK(report.error.rfind("broken: ", 0) == 0);
  CHECK(report.error.find("cudaErrorInvalidValue") != std::string::npos);
  REQUIRE(report.rows.size() == 3);
  CHECK(report.rows[0].verdict.status == bench::Status::right);
  CHECK(report.rows[0].timing.samples == 0);
  CHECK(report.rows[1].verdict.status == bench::Status::wrong);
  CHECK(report.rows[1].verdict.reason.find("cudaErrorInvalidValue") != std::string::npos);
  CHECK(report.rows[2].verdict.status == bench::Status::skipped);
  CHECK(report.rows[2].verdict.reason == "not run, after the error in broken");
  CHECK(runs_after == 0);
  CHECK_THROWS_AS(bench::verify_variants(bench::RunSettings{}, problem, variants, nullptr),
                  bench::VariantFailed);
}

TEST_CASE("a whole problem runs inside a program, and one wrong variant makes its status 1") {
  const auto status_with = [](Fault fault) {
    bench::Ladder<Doubling> ladder;
    ladder.name = Doubling::name;
    ladder.variants = {variant_with(Fault::none, bench::Place::cpu),
                       variant_with(fault, bench::Place::cpu),
                       variant_with(Fault::none, bench::Place::device)};
    ladder.make = [](const auto&, const auto&) { return std::make_unique<Doubling>(1000); };
    char name[] = "program", repeats[] = "--repeats=3";
    char* argv[] = {name, repeats, nullptr};
    return bench::run({"test", "harness", {{ladder}}}, 2, argv);
  };
  CHECK(status_with(Fault::none) == 0);
  CHECK(status_with(Fault::one_wrong_element) == 1);
}

TEST_CASE("a yardstick that may miss the bound says that it does, is timed, and fails nothing") {
  struct {
    Fault fault;
    bench::Status status;
  } const cases[] = {{Fault::none, bench::Status::right},
                     {Fault::one_wrong_element, bench::Status::outside},
                     {Fault::one_nan, bench::Status::wrong},
                     {Fault::misses_the_last, bench::Status::wrong},
                     {Fault::writes_past_the_end, bench::Status::wrong}};
  for (const auto& [fault, status] : cases) {
    auto yardstick = variant_with(fault, bench::Place::cpu);
    yardstick.kind = bench::Kind::yardstick;
    yardstick.may_miss_bound = true;
    bench::RunSettings settings;
    settings.repeats = 3;
    Doubling problem(1000);
    const auto report = bench::run_problem(settings, problem, {yardstick});
    INFO(static_cast<int>(fault));
    REQUIRE(report.rows.size() == 1);
    CHECK(report.rows[0].verdict.status == status);
    CHECK((report.rows[0].verdict.reason == "") == (status == bench::Status::right));
    CHECK(report.rows[0].timing.samples == (status == bench::Status::wrong ? 0 : 3));
    bench::Ladder<Doubling> ladder;
    ladder.name = Doubling::name;
    ladder.variants = {yardstick};
    ladder.make = [](const auto&, const auto&) { return std::make_unique<Doubling>(1000); };
    char name[] = "program", repeats[] = "--repeats=3";
    char* argv[] = {name, repeats, nullptr};
    CHECK(bench::run({"test", "harness", {{ladder}}}, 2, argv) == (status == bench::Status::wrong));
  }
}

TEST_CASE(
    "what goes wrong only after many runs is found after timing; what is wrong is not timed") {
  int runs = 0;
  const auto tires = bench::cpu_variant<Doubling>("tires", "", [&runs](Doubling& p) {
    double_all(p.in.host_data(), p.out.host_data(), p.n,
               ++runs > 3 ? Fault::writes_past_the_end : Fault::none);
  });
  Doubling problem(1000);
  bench::RunSettings settings;
  settings.repeats = 5;
  const bench::ProblemReport report = bench::run_problem(
      settings, problem, {tires, variant_with(Fault::misses_the_last, bench::Place::cpu)});
  REQUIRE(report.rows.size() == 2);
  CHECK(runs == 1 + 5 + 1);
  CHECK(report.rows[0].timing.samples == 5);
  CHECK(report.rows[0].verdict.status == bench::Status::wrong);
  CHECK(report.rows[0].verdict.reason ==
        "wrote past the end of out (1000 elements): at 1000 (after timing)");
  CHECK(report.rows[1].verdict.status == bench::Status::wrong);
  CHECK(report.rows[1].timing.samples == 0);
}

TEST_CASE("a loop that takes long is timed by the one run in which it is checked") {
  int runs = 0;
  const auto loop = [&runs](double seconds) {
    return bench::cpu_variant<Doubling>("loop", "", [&runs, seconds](Doubling& p) {
      std::this_thread::sleep_for(std::chrono::duration<double>(seconds * ++runs));
      double_all(p.in.host_data(), p.out.host_data(), p.n, Fault::none);
    });
  };
  Doubling problem(10);
  bench::RunSettings settings;  // without a GPU a loop is timed for 0.3 s
  const auto report = bench::run_problem(settings, problem, {loop(0.35)});
  CHECK(runs == 1);
  const bench::Timing& timing = report.rows[0].timing;
  CHECK(timing.samples == 1);
  CHECK(timing.median_ms >= 350);

  runs = 0;
  CHECK(bench::run_problem(settings, problem, {loop(0)}).rows[0].timing.samples > 2);
  runs = 0;
  settings.repeats = 1;  // so many samples were asked for
  CHECK(bench::run_problem(settings, problem, {loop(0.35)}).rows[0].timing.samples == 1);
  CHECK(runs == 3);

  settings = {};
  settings.device.available = true;
  settings.device.clock_ghz = 1;
  CHECK(bench::runs_once(settings, bench::Place::cpu, 1001));
  CHECK_FALSE(bench::runs_once(settings, bench::Place::cpu, 999));
  CHECK_FALSE(bench::runs_once(settings, bench::Place::device, 1001));
}

// The same problem, timed in batches.
struct BatchedDoubling : Doubling {
  static constexpr const char* name = "batched_doubling";
  std::vector<int> rotations;

  using Doubling::Doubling;
  int batch() const { return 5; }
  void rotate(int k) { rotations.push_back(k); }
  double peak_gflops(const bench::DeviceFacts&) const { return 8; }
};

TEST_CASE("a batch rotates its inputs, is timed per launch, and has a roof of its own") {
  int launches = 0;
  const auto count_launches = bench::device_variant<BatchedDoubling>(
      "counting", "", [&launches](BatchedDoubling&, cudaStream_t) { ++launches; });
  BatchedDoubling problem(1'000'000);  // 1e6 operations

  bench::Row row;
  row.timing.samples = 1;
  row.timing.median_ms = 0.25;  // so 4 GFLOP/s
  std::vector<bench::Row> rows = {row};
  bench::DeviceFacts device;
  device.peak_bandwidth_gbps = 1e9;
  bench::derive_figures(problem, {count_launches}, device, rows);
  CHECK(rows[0].percent_of_roof == 50.0);

  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  kit::GpuTimer timer;
  const auto sampler = bench::make_sampler(problem, count_launches, nullptr,
                                           static_cast<bench::L2Flush*>(nullptr), &timer, nullptr);
  CHECK(sampler() >= 0);
  CHECK(launches == 1);
  CHECK(sampler() >= 0);  // of an empty launch a sample has as many as it may
  CHECK(launches == 1 + 5);
  CHECK(problem.rotations == std::vector<int>{0, 0, 1, 2, 3, 4});
  problem.rotations.clear();
  bench::verify(problem, count_launches, bench::query_device(), nullptr);
  CHECK(problem.rotations == std::vector<int>{0});
}

TEST_CASE("phases of a round trip are summarised one by one") {
  const std::vector<kit::Phases> samples = {
      {{"in", 1.0, 8e6}, {"kernel", 2.0, 8e6, true}, {"free", 9.0}},
      {{"in", 3.0, 8e6}, {"kernel", 2.0, 8e6, true}, {"free", 7.0}},
  };
  const auto rows = bench::summarize_phases(samples, 8.0);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].name == "in");
  CHECK(rows[0].median_ms == 2.0);
  CHECK(rows[0].gbps == 4.0);
  CHECK(std::isnan(rows[0].percent_of_roof));  // not limited by device memory
  CHECK(rows[1].percent_of_roof == 50.0);
  CHECK(rows[2].median_ms == 8.0);
  CHECK(std::isnan(rows[2].gbps));
}

TEST_CASE("rates and ratios follow from the times") {
  Doubling problem(1'000'000);  // 8e6 bytes, 1e6 operations
  const auto row_of = [](double ms) {
    bench::Row row;
    row.verdict.status = bench::Status::right;
    row.timing.median_ms = ms;
    row.timing.samples = 10;
    return row;
  };
  std::vector<bench::Variant<Doubling>> variants(7);
  variants[0].kind = bench::Kind::baseline;
  variants[0].place = bench::Place::cpu;
  variants[1].name = "cpu yardstick";
  variants[1].place = bench::Place::cpu;
  variants[1].kind = bench::Kind::yardstick;
  variants[2].name = "rung";
  variants[2].place = bench::Place::device;
  variants[3].name = "peer";
  variants[3].place = bench::Place::device;
  variants[3].kind = bench::Kind::peer;
  variants[4] = variants[5] = variants[3];
  variants[6].name = "device yardstick";
  variants[6].place = bench::Place::device;
  variants[6].kind = bench::Kind::yardstick;
  variants[6].bytes = [](const Doubling&) { return 4e6; };
  variants[1].flops = [](const Doubling&) { return 8e6; };
  std::vector<bench::Row> rows = {row_of(8),   row_of(4),   row_of(0.5), row_of(2.0),
                                  row_of(1.0), row_of(3.0), row_of(0.25)};
  bench::DeviceFacts device;
  device.peak_bandwidth_gbps = 32;
  bench::derive_figures(problem, variants, device, rows);

  CHECK(rows[0].gbps == 1.0);
  CHECK(rows[0].percent_of_roof == 50.0);  // of the yardstick's 2 GB/s
  CHECK(rows[2].gbps == 16.0);
  CHECK(rows[2].gflops == 2.0);
  CHECK(rows[2].percent_of_roof == 50.0);  // of the device's 32 GB/s
  CHECK(rows[2].speedup == 16.0);
  CHECK(rows[6].gbps == 16.0);        // counted by its own bytes
  CHECK(std::isnan(rows[6].gflops));  // a yardstick that says nothing of operations
  CHECK(rows[1].gflops == 2.0);       // and one that does
  // To the best peer, of what runs where it does; no yardstick is compared.
  const double unknown = bench::kUnknown;
  const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  const double ratio[] = {unknown, unknown, 2.0, 0.5, 1.0, 1.0 / 3, unknown};
  const double speedup[] = {1.0, unknown, 16.0, 4.0, 8.0, 8.0 / 3, unknown};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CAPTURE(i);
    CHECK(same(rows[i].ratio_to_peer, ratio[i]));
    CHECK(same(rows[i].speedup, speedup[i]));
  }
}

// What a sampler does, one letter a call: f the flush, [ and ] the clock, x the variant.
struct Log {
  std::string calls;
  std::set<cudaStream_t> streams;
  void note(char call, cudaStream_t stream) {
    calls += call;
    streams.insert(stream);
  }
  struct Flush {
    Log* log;
    void enqueue(cudaStream_t stream) { log->note('f', stream); }
  };
  // Between start and stop some milliseconds pass.
  struct Timer {
    Log* log;
    double ms = 30;
    void start(cudaStream_t stream) { log->note('[', stream); }
    void stop(cudaStream_t stream) { log->note(']', stream); }
    double elapsed_ms() const { return ms; }
  };
  template <class Problem>
  bench::Variant<Problem> variant() {
    return bench::device_variant<Problem>("logged", "",
                                          [this](Problem&, cudaStream_t s) { note('x', s); });
  }
};

TEST_CASE("flush, clock and variant of a sample are in the stream that was given") {
  const auto stream = reinterpret_cast<cudaStream_t>(8);  // nobody uses it
  Log log;
  Log::Flush flush{&log};
  Log::Timer timer{&log};
  Doubling plain(10);
  BatchedDoubling batched(10);
  bench::make_sampler(plain, log.variant<Doubling>(), stream, &flush, &timer, nullptr)();
  bench::make_sampler(batched, log.variant<BatchedDoubling>(), stream, &flush, &timer, nullptr)();
  CHECK(log.calls == "f[x][x]");
  CHECK(log.streams == std::set<cudaStream_t>{stream});
}

struct WithScratch : Doubling {
  kit::Workspace workspace;
  using Doubling::Doubling;
  double scratch_bytes() const { return workspace.asked_bytes(); }
  void forget_scratch() { workspace.forget(); }
};

TEST_CASE("a row has the extra memory of its own variant, not that of the one before") {
  bench::RunSettings settings;
  settings.device = bench::query_device();
  if (!settings.device.available) SKIP_TEST("needs a GPU");
  settings.verify_only = true;
  const auto asks_for = [](std::int64_t bytes) {
    return bench::device_variant<WithScratch>("a", "", [bytes](WithScratch& p, cudaStream_t s) {
      if (bytes > 0) p.workspace.get<char>(bytes);
      double_all_kernel<<<1, 32, 0, s>>>(p.in.device_data(), p.out.device_data(), p.n, Fault::none);
    });
  };
  WithScratch problem(10);
  const auto rows = bench::run_problem(settings, problem, {asks_for(1000), asks_for(0)}).rows;
  CHECK(rows[0].extra_bytes == 1000);
  CHECK(rows[1].extra_bytes == 0);
}

TEST_CASE("a cold sample flushes before its clock starts; a warm one does not flush") {
  Doubling problem(10);
  Log log;
  Log::Flush flush{&log};
  Log::Timer timer{&log};
  const auto variant = log.variant<Doubling>();
  CHECK(bench::make_sampler(problem, variant, nullptr, &flush, &timer, nullptr)() == 30);
  CHECK(log.calls == "f[x]");
  log.calls.clear();
  Log::Flush* none = nullptr;
  CHECK(bench::make_sampler(problem, variant, nullptr, none, &timer, nullptr)() == 30);
  CHECK(log.calls == "[x]");
}

// A clock that stands still but for the milliseconds that a variant says it takes. How often the
// cache was flushed, and by how many objects.
struct OwnClock {
  inline static double now_ms = 0;
  double begin_ms = 0, end_ms = 0;
  void start(cudaStream_t) { begin_ms = now_ms; }
  void stop(cudaStream_t) { end_ms = now_ms; }
  double elapsed_ms() const {
    CUDA_CHECK(cudaDeviceSynchronize());  // or launches of the warm-up pile up
    return end_ms - begin_ms;
  }
};
struct CountedFlush {
  inline static int made = 0, enqueued = 0;
  explicit CountedFlush(const bench::DeviceFacts&) { ++made; }
  void enqueue(cudaStream_t) { ++enqueued; }
};

// A right variant that takes a second when it is cold, twice, and then `ms`, `4 * ms`, `2 * ms`,
// and again from the start: any three in a row have their median at 2 * ms.
bench::Variant<Doubling> variant_of_length(const std::string& name, bench::Kind kind, double ms,
                                           int* runs) {
  const auto right = variant_with(Fault::none, bench::Place::device).run;
  auto variant = bench::device_variant<Doubling>(
      name, "",
      [right, ms, runs, calls = std::make_shared<int>(0)](Doubling& p, cudaStream_t stream) {
        right(p, stream);
        ++*runs;
        const int call = (*calls)++, factors[] = {1, 4, 2};
        OwnClock::now_ms += call < 2 ? 1000 : ms * factors[call % 3];
      });
  variant.kind = kind;
  return variant;
}

TEST_CASE("what the clock says reaches the JSON: of each row its own, warm, behind a flush") {
  bench::RunSettings settings;
  settings.device = bench::query_device();
  if (!settings.device.available) SKIP_TEST("needs a GPU");
  settings.device.clock_ghz = 1;  // a model's rows are treated as a chip's
  settings.device.peak_bandwidth_gbps = 8e-4;
  settings.device.peak_fp32_gflops = 1;
  settings.repeats = 3;
  Doubling problem(1000);  // 8000 bytes, 1000 operations
  int runs = 0;
  const std::vector<bench::Variant<Doubling>> variants = {
      variant_of_length("ours", bench::Kind::rung, 10, &runs),
      variant_of_length("theirs", bench::Kind::peer, 5, &runs),
      variant_of_length("their_other", bench::Kind::peer, 20, &runs),
      variant_with(Fault::none, bench::Place::cpu),
  };
  const bench::WorkStream stream(settings.device);
  for (const bool cold : {true, false}) {
    const kit::CpuTimer clock;
    settings.cold = cold;
    runs = CountedFlush::made = CountedFlush::enqueued = 0;
    auto rows = bench::verify_variants(settings, problem, variants, stream.get());
    bench::time_variants<CountedFlush, OwnClock>(settings, problem, variants, stream.get(), rows);
    bench::derive_figures(problem, variants, settings.device, rows);
    const int sampled = runs - 2 * 3;  // each was checked before and after
    CHECK(sampled > 3 * 3);            // some of them to warm up
    CHECK(clock.elapsed_ms() >= 500);  // clocks need that long to rise
    CHECK(CountedFlush::made == (cold ? 1 : 0));
    CHECK(CountedFlush::enqueued == (cold ? sampled : 0));
    CHECK(rows[3].place == "cpu");
    if (!cold) continue;  // from here on nothing takes a second any more
    rows.pop_back();      // its times are those of this machine
    bench::JsonWriter json;
    json.begin_array();
    bench::write_json(json, bench::ProblemReport{"doubling", problem.sizes(), false, rows});
    json.end_array();
    CHECK(
        json.text() ==
        R"([{"problem":"doubling","name":"ours","kind":"rung","place":"device","sizes":{"n":1000},)"
        R"("median_ms":20,"min_ms":10,"max_ms":40,"samples":3,"gbps":0.0004,"gflops":5e-05,)"
        R"("percent_of_roof":50,"speedup":null,"ratio_to_peer":0.5,"extra_bytes":null,)"
        R"("max_error":0,"status":"right","reason":"","phases":[]},)"
        R"({"problem":"doubling","name":"theirs","kind":"peer","place":"device","sizes":{"n":1000},)"
        R"("median_ms":10,"min_ms":5,"max_ms":20,"samples":3,"gbps":0.0008,"gflops":0.0001,)"
        R"("percent_of_roof":100,"speedup":null,"ratio_to_peer":1,"extra_bytes":null,)"
        R"("max_error":0,"status":"right","reason":"","phases":[]},)"
        R"({"problem":"doubling","name":"their_other","kind":"peer","place":"device",)"
        R"("sizes":{"n":1000},"median_ms":40,"min_ms":20,"max_ms":80,"samples":3,"gbps":0.0002,)"
        R"("gflops":2.5e-05,"percent_of_roof":25,"speedup":null,"ratio_to_peer":0.25,)"
        R"("extra_bytes":null,"max_error":0,"status":"right","reason":"","phases":[]}])");
  }
}

TEST_CASE("a sweep has the median of each kernel, and none of one that is wrong") {
  bench::RunSettings settings;
  settings.device = bench::query_device();
  if (!settings.device.available) SKIP_TEST("needs a GPU");
  settings.repeats = 3;
  int calls = 0;
  const auto sleeps = bench::cpu_variant<Doubling>("sleeps", "", [&calls](Doubling& p) {
    std::this_thread::sleep_for(std::chrono::milliseconds(calls++ % 3 * 20));
    double_all(p.in.host_data(), p.out.host_data(), p.n, Fault::none);
  });
  Doubling problem(1000);
  CHECK(bench::time_sweep(settings, problem, {sleeps}).at(0) >= 20);
  try {
    bench::time_sweep(settings, problem, {variant_with(Fault::one_nan, bench::Place::cpu)});
    CHECK(false);
  } catch (const std::runtime_error& error) {
    CHECK(std::string(error.what()).find("on_cpu: 1 of 1000 wrong") == 0);
  }
  auto unable = variant_with(Fault::none, bench::Place::cpu);
  unable.needs.missing = "needs a library";
  CHECK_THROWS_AS(bench::time_sweep(settings, problem, {unable}), std::runtime_error);
}

TEST_CASE("device samples are cold by default, on a chip that has a cache") {
  bench::RunSettings settings;
  settings.device.available = true;
  settings.device.clock_ghz = 1;
  CHECK(bench::wants_flush(settings, bench::Place::device));
  CHECK_FALSE(bench::wants_flush(settings, bench::Place::cpu));
  CHECK_FALSE(bench::wants_flush(settings, bench::Place::round_trip));
  settings.device.clock_ghz = 0;  // a model of a GPU
  CHECK_FALSE(bench::wants_flush(settings, bench::Place::device));
  settings.device.clock_ghz = 1;
  settings.cold = false;
  CHECK_FALSE(bench::wants_flush(settings, bench::Place::device));
}

TEST_CASE("the buffer that flushes the cache is a part of what a run takes") {
  bench::RunSettings settings;
  settings.device.available = true;
  settings.device.clock_ghz = 1;
  settings.device.l2_bytes = 1 << 20;
  const auto free_bytes = [] {
    std::size_t free = 0, all = 0;
    CUDA_CHECK(cudaMemGetInfo(&free, &all));
    return static_cast<double>(free);
  };
  if (bench::query_device().available) {
    const double before = free_bytes();
    const bench::L2Flush flush(settings.device);
    CHECK(before - free_bytes() <= bench::flush_bytes(settings));
  }
  CHECK(bench::flush_bytes(settings) == 4 * settings.device.l2_bytes);
  bench::Ladder<Doubling> ladder;
  CHECK(bench::need_of(ladder, bench::Settings({}, {}, true), settings).device == 4 << 20);
  ladder.memory = [](const auto&, const auto&) { return bench::MemoryNeed{7, 9}; };
  const auto need = bench::need_of(ladder, bench::Settings({}, {}, true), settings);
  CHECK(need.host == 7);
  CHECK(need.device == 9 + (4 << 20));
  settings.verify_only = true;  // nothing is timed
  CHECK(bench::flush_bytes(settings) == 0);
}

TEST_CASE("a flush writes to all of its buffer, in the stream that it was given") {
  bench::DeviceFacts facts = bench::query_device();
  if (!facts.available) SKIP_TEST("needs a GPU");
  struct Seen : bench::L2Flush {
    using L2Flush::buffer_;
    using L2Flush::L2Flush;
  };
  facts.l2_bytes = 1000;
  Seen flush(facts);
  std::vector<char> content(4 * facts.l2_bytes, 1);
  REQUIRE(flush.buffer_.bytes() == static_cast<std::int64_t>(content.size()));
  CUDA_CHECK(cudaMemcpy(flush.buffer_.data(), content.data(), content.size(), cudaMemcpyDefault));
  const bench::WorkStream stream(facts);
  cudaGraph_t graph = nullptr;
  std::size_t nodes = 0;
  CUDA_CHECK(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeRelaxed));
  flush.enqueue(stream.get());
  CUDA_CHECK(cudaStreamEndCapture(stream.get(), &graph));
  CUDA_CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  CHECK(nodes == 1);
  CUDA_CHECK(cudaGraphDestroy(graph));
  flush.enqueue(stream.get());
  CUDA_CHECK(cudaStreamSynchronize(stream.get()));
  CUDA_CHECK(cudaMemcpy(content.data(), flush.buffer_.data(), content.size(), cudaMemcpyDefault));
  CHECK(std::count(content.begin(), content.end(), 0) == 4 * facts.l2_bytes);
}

TEST_CASE("a sample of a batch is the time of one launch; of slow ones it has fewer") {
  BatchedDoubling problem(10);  // five launches at most
  Log log;
  Log::Flush* none = nullptr;
  Log::Timer timer{&log};
  const auto variant = log.variant<BatchedDoubling>();
  const auto sampler = bench::make_sampler(problem, variant, nullptr, none, &timer, nullptr);
  const auto sample = [&](double ms) {
    timer.ms = ms;
    log.calls.clear();
    return sampler();
  };
  CHECK(sample(1) == 1);
  CHECK(log.calls == "[x]");
  CHECK(sample(17) == 3.4);  // 5 at 1 ms: the batch is no larger
  CHECK(log.calls == "[xxxxx]");
  CHECK(sample(30) == 10);  // 3 at 3.4 ms are 10 ms and more
  CHECK(log.calls == "[xxx]");
  CHECK(sample(60) == 60);  // one at 10 ms
  CHECK(log.calls == "[x]");
  CHECK(sample(60) == 60);
  CHECK(log.calls == "[x]");
}

TEST_CASE("the stream of the variants does not wait for the legacy default stream") {
  const bench::DeviceFacts device = bench::query_device();
  if (!device.available) SKIP_TEST("needs a GPU");
  const bench::WorkStream stream(device);
  unsigned flags = 0;
  CUDA_CHECK(cudaStreamGetFlags(stream.get(), &flags));
  CHECK(flags == cudaStreamNonBlocking);
}

__global__ void write_late_kernel(float* out, std::int64_t n, const float* in) {
  for (std::int64_t i = threadIdx.x; i < n; i += blockDim.x) out[i] = 2 * in[i];
}

TEST_CASE("a variant is judged by what it leaves when all its streams are done") {
  const bench::DeviceFacts device = bench::query_device();
  if (!device.available) SKIP_TEST("needs a GPU");
  cudaStream_t other;
  CUDA_CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  const auto elsewhere =
      bench::device_variant<Doubling>("elsewhere", "", [other](Doubling& p, cudaStream_t) {
        write_late_kernel<<<1, 32, 0, other>>>(p.out.device_data(), p.n, p.in.device_data());
        CUDA_CHECK(cudaGetLastError());
      });
  Doubling problem(1 << 20);
  const bench::WorkStream stream(device);
  for (int run = 0; run < 5; ++run) {
    CHECK(bench::verify(problem, elsewhere, device, stream.get()).status == bench::Status::right);
  }
  CUDA_CHECK(cudaStreamDestroy(other));
}

TEST_CASE("what cannot run is not run") {
  int runs = 0;
  auto variant = bench::cpu_variant<Doubling>("counted", "", [&runs](Doubling&) { ++runs; });
  variant.needs.missing = "needs a library";
  Doubling problem(10);
  const auto verdict = bench::verify(problem, variant, bench::DeviceFacts{}, nullptr);
  CHECK(verdict.status == bench::Status::skipped);
  CHECK(verdict.reason == "needs a library");
  CHECK(runs == 0);
}

TEST_CASE("--verify runs a variant twice: one that is right only the first time is wrong") {
  int runs = 0;
  const auto once = bench::cpu_variant<Doubling>("once", "", [&runs](Doubling& p) {
    double_all(p.in.host_data(), p.out.host_data(), p.n,
               ++runs > 1 ? Fault::misses_the_last : Fault::none);
  });
  Doubling problem(1000);
  bench::RunSettings settings;
  settings.verify_only = true;
  const auto report = bench::run_problem(settings, problem, {once});
  REQUIRE(report.rows.size() == 1);
  CHECK(runs == 2);
  CHECK(report.rows[0].verdict.status == bench::Status::wrong);
  CHECK(report.rows[0].verdict.reason.find("the first at 999") != std::string::npos);
  CHECK(report.rows[0].verdict.reason.find("(in the second run)") != std::string::npos);
  CHECK(report.rows[0].timing.samples == 0);
}

TEST_CASE("what takes minutes is skipped, unless slow variants are asked for") {
  auto variant = variant_with(Fault::none, bench::Place::cpu);
  variant.slow_above = 999;  // the problem has 1000 operations
  Doubling problem(1000);
  bench::RunSettings settings;
  settings.verify_only = true;
  const auto status = [&] {
    return bench::run_problem(settings, problem, {variant}).rows[0].verdict.status;
  };
  CHECK(status() == bench::Status::skipped);
  settings.slow = true;
  CHECK(status() == bench::Status::right);
  settings.slow = false;
  variant.slow_above = 1000;
  CHECK(status() == bench::Status::right);
}

TEST_CASE("a short look leaves out loops of half the length, and takes fewer samples") {
  bench::RunSettings careful, quick;
  careful.device.available = quick.device.available = true;
  careful.device.clock_ghz = quick.device.clock_ghz = 1;  // a real GPU
  quick.quick = true;
  const auto why = bench::why_too_slow;
  CHECK(why(quick, 500, 1000).empty());
  CHECK(why(quick, 501, 1000) == "too slow for --quick (runs without it)");
  CHECK(why(careful, 501, 1000).empty());
  CHECK(why(quick, 1001, 1000) == "too slow for this size (--slow runs it)");

  for (const auto place : {bench::Place::cpu, bench::Place::device, bench::Place::round_trip}) {
    const bench::MeasurePlan plan = bench::plan_of(careful, place);
    CHECK(plan.min_samples == bench::MeasurePlan{}.min_samples);
    CHECK(plan.seconds_each == 1);
    CHECK(plan.warm_up_seconds == (place == bench::Place::device ? 0.5 : 0));
    const bench::MeasurePlan short_plan = bench::plan_of(quick, place);
    CHECK(short_plan.min_samples == 5);
    CHECK(short_plan.seconds_each == 0.2);
    CHECK(short_plan.warm_up_seconds == (place == bench::Place::device ? 0.1 : 0));
  }
}

TEST_CASE("a chooser's row says whom it took") {
  const auto chooser = bench::chooser<Doubling>("picks", [](Doubling& p, cudaStream_t) {
    double_all(p.in.host_data(), p.out.host_data(), p.n, Fault::none);
    return p.n > 100 ? "large" : "small";
  });
  auto on_host = chooser;  // so that it runs without a GPU, too
  on_host.place = bench::Place::cpu;
  bench::RunSettings settings;
  settings.verify_only = true;
  for (const std::int64_t n : {10, 1000}) {
    Doubling problem(n);
    const auto report = bench::run_problem(settings, problem, {on_host});
    CHECK(report.rows[0].verdict.status == bench::Status::right);
    CHECK(report.rows[0].chose == (n > 100 ? "large" : "small"));
    CHECK(report.rows[0].kind == "chooser");
  }
}

TEST_CASE("the CPU's rows are timed; kernels on a GPU, or if somebody insists") {
  bench::RunSettings settings;
  settings.device.available = true;
  settings.device.clock_ghz = 1;
  for (const auto place : {bench::Place::device, bench::Place::round_trip}) {
    settings.device.clock_ghz = 1;
    settings.time_model = false;
    CHECK(bench::wants_time(settings, place));
    settings.device.clock_ghz = 0;  // a model of a GPU
    CHECK_FALSE(bench::wants_time(settings, place));
    CHECK(bench::wants_time(settings, bench::Place::cpu));
    settings.time_model = true;
    CHECK(bench::wants_time(settings, place));
  }
}

TEST_CASE("what a model GPU runs is run twice, and timed only if somebody insists") {
  bench::RunSettings settings;
  settings.device = bench::query_device();
  if (!settings.device.available || settings.device.is_real_gpu()) SKIP_TEST("needs a model GPU");
  settings.repeats = 2;
  int runs = 0;
  const auto tires =
      bench::device_variant<Doubling>("tires", "", [&runs](Doubling& p, cudaStream_t stream) {
        double_all_kernel<<<1, 32, 0, stream>>>(
            p.in.device_data(), p.out.device_data(), p.n,
            ++runs == 2 ? Fault::one_wrong_element : Fault::none);
      });
  Doubling problem(1000);
  const auto untimed = bench::run_problem(settings, problem, {tires}).rows[0];
  CHECK(untimed.timing.samples == 0);
  CHECK(untimed.verdict.reason.find("(in the second run)") != std::string::npos);
  CHECK(runs == 2);
  settings.time_model = true;
  CHECK(bench::run_problem(settings, problem, {tires}).rows[0].timing.samples == 2);
}

#if SIMT_INSTRUMENTED
TEST_CASE("a count takes all that it is called after") {
  simt::KernelProfile k;
  k.launches = k.instructions = 1;
  k.global.load_sectors = 1;
  k.global.store_sectors = 2;
  k.beside.tma_load_bytes = 1000;
  k.beside.tma_store_bytes = 3000;
  k.shared.load_wavefronts = 10;
  k.shared.store_wavefronts = 20;
  k.shared.load_groups = 5;
  k.shared.store_groups = 1;
  k.atomics.global_requests = 7;
  k.atomics.shared_requests = 40;
  const bench::Counts counts = bench::difference({}, k);
  CHECK(counts.moved_bytes == 3 * 32 + 4000);
  CHECK(counts.conflict == 5);
  CHECK(counts.atomics == 47);
}
TEST_CASE("a row has the counts of its own kernels, where somebody counts") {
  bench::RunSettings settings;
  settings.device = bench::query_device();
  settings.verify_only = true;
  auto unable = variant_with(Fault::none, bench::Place::device);
  unable.needs.missing = "needs a library";
  Doubling problem(1000);
  const auto run = [&] {
    return bench::run_problem(settings, problem,
                              {variant_with(Fault::none, bench::Place::device),
                               variant_with(Fault::none, bench::Place::cpu), unable,
                               variant_with(Fault::writes_nothing, bench::Place::device)})
        .rows;
  };
  CHECK_FALSE(run()[0].counts.any());

  simt::profile_reset();
  const auto rows = run();
  simt::profile_stop();
  const bench::Counts& one_thread = rows[0].counts;
  CHECK(one_thread.moved_bytes == 2 * 1000 * 32);  // in and out, each float alone in its sector
  CHECK(one_thread.load_sectors == 1);
  CHECK(one_thread.store_sectors == 1);
  CHECK(one_thread.active_lanes > 1);
  CHECK(one_thread.active_lanes < 2);
  for (const double none : {one_thread.conflict, one_thread.barriers, one_thread.atomics,
                            one_thread.tensor_operations}) {
    CHECK(std::isnan(none));
  }
  CHECK_FALSE(rows[1].counts.any());
  CHECK_FALSE(rows[2].counts.any());
  CHECK(rows[3].counts.any());
  CHECK(std::isnan(rows[3].counts.moved_bytes));
  CHECK(rows[3].verdict.status == bench::Status::wrong);
}
#endif
