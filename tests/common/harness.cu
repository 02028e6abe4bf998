// common/harness.cuh, guarded_array.cuh: variants that are wrong on purpose, each of which must be
// caught, on the host and on the device.
#include "common/harness.cuh"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "common/random.cuh"
#include "tests/catch.hpp"

namespace {

// out[i] = 2 * in[i]
struct Doubling {
  static constexpr const char* name = "doubling";
  std::int64_t n;
  common::GuardedArray<float> in, out;
  std::vector<float> expected;

  explicit Doubling(std::int64_t n)
      : n(n), in("in", common::Role::input, n), out("out", common::Role::output, n), expected(n) {
    common::fill_random(in.pristine(), n, 5);
    for (std::int64_t i = 0; i < n; ++i) expected[i] = 2 * in.pristine()[i];
  }
  template <class Visit>
  void each_array(Visit visit) {
    visit(in);
    visit(out);
  }
  common::Comparison check() const {
    return common::compare(out.fetched(), expected.data(), n, 0.0);
  }
  common::Sizes sizes() const { return {{"n", n}}; }
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

common::Variant<Doubling> variant_with(Fault fault, common::Place place) {
  if (place == common::Place::cpu) {
    return common::on_cpu<Doubling>("on_cpu", "", [fault](Doubling& p) {
      double_all(p.in.on_host(), p.out.on_host(), p.n, fault);
    });
  }
  return common::on_device<Doubling>("on_device", "", [fault](Doubling& p, cudaStream_t stream) {
    double_all_kernel<<<1, 32, 0, stream>>>(p.in.on_device(), p.out.on_device(), p.n, fault);
    CUDA_CHECK(cudaGetLastError());
  });
}

struct Expectation {
  Fault fault;
  const char* name;
  common::Status status;
  const char* reason;  // a part of it
};

const std::vector<Expectation> kExpectations = {
    {Fault::none, "nothing wrong", common::Status::right, ""},
    {Fault::one_wrong_element, "one wrong element", common::Status::wrong,
     "1 of 1000 wrong, the first at 500"},
    {Fault::one_nan, "one NaN", common::Status::wrong, "1 of 1000 wrong, the first at 500"},
    {Fault::writes_nothing, "writes nothing", common::Status::wrong, "(1000 never written)"},
    {Fault::misses_the_last, "misses the last", common::Status::wrong,
     "1 of 1000 wrong, the first at 999"},
    {Fault::writes_past_the_end, "writes past the end", common::Status::wrong,
     "wrote past the end of out"},
    {Fault::writes_before_the_start, "writes before the start", common::Status::wrong,
     "wrote before the start of out"},
    {Fault::changes_its_input, "changes its input", common::Status::wrong,
     "changed its input in, first at 1"},
};

}  // namespace

TEST_CASE("the harness catches each fault, on the CPU and on the device") {
  const common::DeviceFacts device = common::query_device();
  const common::WorkStream stream(device);
  for (const common::Place place : {common::Place::cpu, common::Place::device}) {
    for (const Expectation& expected : kExpectations) {
      DYNAMIC_SECTION((place == common::Place::cpu ? "cpu: " : "device: ") << expected.name) {
        if (place == common::Place::device && !device.available) SKIP_TEST("needs a GPU");
        Doubling problem(1000);
        const auto verdict =
            common::verify(problem, variant_with(expected.fault, place), device, stream.get());
        INFO(verdict.reason);
        CHECK(verdict.status == expected.status);
        CHECK(verdict.reason.find(expected.reason) != std::string::npos);
      }
    }
  }
}

TEST_CASE("a fault of one variant does not stain the next") {
  Doubling problem(100);
  const common::DeviceFacts no_device;
  const auto run = [&](Fault fault) {
    return common::verify(problem, variant_with(fault, common::Place::cpu), no_device, nullptr)
        .status;
  };
  CHECK(run(Fault::changes_its_input) == common::Status::wrong);
  CHECK(run(Fault::none) == common::Status::right);
  CHECK(run(Fault::writes_past_the_end) == common::Status::wrong);
  CHECK(run(Fault::none) == common::Status::right);
}

TEST_CASE("a NaN makes the maximum error NaN") {
  Doubling problem(10);
  const auto verdict = common::verify(problem, variant_with(Fault::one_nan, common::Place::cpu),
                                      common::DeviceFacts{}, nullptr);
  CHECK(std::isnan(verdict.max_error));
}

TEST_CASE("what cannot run here is skipped with its reason") {
  Doubling problem(10);
  auto variant = variant_with(Fault::none, common::Place::device);
  common::DeviceFacts device;
  const auto reason = [&] { return common::why_skipped(variant, device); };

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
  auto variant = variant_with(Fault::none, common::Place::device);
  common::DeviceFacts device;
  device.available = true;
  device.major = 9;
  device.code.capability = 75;
  const auto reason = [&] { return common::why_skipped(variant, device); };

  CHECK(reason().empty());
  variant.needs = common::needs_sm(80);
  CHECK(reason() == "needs code for sm_80, this program was compiled for sm_75");
  device.code.capability = 90;
  CHECK(reason().empty());
  variant.needs = common::needs_exactly_sm(90);
  CHECK(reason() == "needs code for sm_90a, this program was compiled for sm_90");
  device.code.for_sm_90a = true;
  CHECK(reason().empty());
  device.code = {};
  CHECK(reason().empty());  // unknown: the launch will tell
}

TEST_CASE("a variant may skip itself; a device may lack what a kernel is made of") {
  Doubling problem(10);
  const common::DeviceFacts no_device;
  const auto by_itself = common::on_cpu<Doubling>(
      "a", "", [](Doubling&) { throw common::Skip("too large for this lesson"); });
  auto verdict = common::verify(problem, by_itself, no_device, nullptr);
  CHECK(verdict.status == common::Status::skipped);
  CHECK(verdict.reason == "too large for this lesson");

  const auto unsupported =
      common::on_cpu<Doubling>("b", "", [](Doubling&) { CUDA_CHECK(cudaErrorNotSupported); });
  verdict = common::verify(problem, unsupported, no_device, nullptr);
  CHECK(verdict.status == common::Status::skipped);
  CHECK(verdict.reason.find("cudaErrorNotSupported") != std::string::npos);

  common::DeviceFacts model;
  model.available = true;
  verdict = common::verify(problem, unsupported, model, nullptr);
  CHECK(verdict.status == common::Status::skipped);
  CHECK(verdict.reason == "needs instructions of a GPU");
}

TEST_CASE("any other CUDA error ends the run") {
  Doubling problem(10);
  const auto failing =
      common::on_cpu<Doubling>("a", "", [](Doubling&) { CUDA_CHECK(cudaErrorInvalidValue); });
  CHECK_THROWS_AS(common::verify(problem, failing, common::DeviceFacts{}, nullptr),
                  common::CudaError);
}

TEST_CASE("a whole problem runs inside a program, and one wrong variant makes its status 1") {
  const auto status_with = [](Fault fault) {
    common::Program program("test", "harness");
    char name[] = "program", repeats[] = "--repeats=3";
    char* argv[] = {name, repeats, nullptr};
    return program.main(2, argv, [fault](common::Program& frame) {
      Doubling problem(1000);
      const std::vector<common::Variant<Doubling>> variants = {
          variant_with(Fault::none, common::Place::cpu),
          variant_with(fault, common::Place::cpu),
          variant_with(Fault::none, common::Place::device),
      };
      common::run_problem(frame, problem, variants);
    });
  };
  CHECK(status_with(Fault::none) == 0);
  CHECK(status_with(Fault::one_wrong_element) == 1);
}

TEST_CASE(
    "what goes wrong only after many runs is found after timing; what is wrong is not timed") {
  int runs = 0;
  const auto tires = common::on_cpu<Doubling>("tires", "", [&runs](Doubling& p) {
    double_all(p.in.on_host(), p.out.on_host(), p.n,
               ++runs > 3 ? Fault::writes_past_the_end : Fault::none);
  });
  common::Program program("test", "harness");
  char name[] = "program", repeats[] = "--repeats=5";
  char* argv[] = {name, repeats, nullptr};
  common::ProblemReport report;
  const int status = program.main(2, argv, [&](common::Program& frame) {
    Doubling problem(1000);
    report = common::run_problem(frame, problem,
                                 {tires, variant_with(Fault::misses_the_last, common::Place::cpu)});
  });
  CHECK(status == 1);
  REQUIRE(report.rows.size() == 2);
  CHECK(runs == 1 + 5 + 1);
  CHECK(report.rows[0].timing.samples == 5);
  CHECK(report.rows[0].verdict.status == common::Status::wrong);
  CHECK(report.rows[0].verdict.reason == "wrote past the end of out (after timing)");
  CHECK(report.rows[1].verdict.status == common::Status::wrong);
  CHECK(report.rows[1].timing.samples == 0);
}

// The same problem, timed in batches.
struct BatchedDoubling : Doubling {
  static constexpr const char* name = "batched_doubling";
  std::vector<int> rotations;

  using Doubling::Doubling;
  int batch() const { return 5; }
  void rotate(int k) { rotations.push_back(k); }
  double peak_gflops(const common::DeviceFacts&) const { return 8; }
};

TEST_CASE("a batch rotates its inputs, is timed per launch, and has a roof of its own") {
  int launches = 0;
  const auto count_launches = common::on_device<BatchedDoubling>(
      "counting", "", [&launches](BatchedDoubling&, cudaStream_t) { ++launches; });
  BatchedDoubling problem(1'000'000);  // 1e6 operations

  common::Row row;
  row.timing.samples = 1;
  row.timing.median_ms = 0.25;  // so 4 GFLOP/s
  std::vector<common::Row> rows = {row};
  common::DeviceFacts device;
  device.peak_bandwidth_gbps = 1e9;
  common::derive_figures(problem, {count_launches}, device, rows);
  CHECK(rows[0].percent_of_roof == 50.0);

  if (!common::query_device().available) SKIP_TEST("needs a GPU");
  common::GpuTimer timer;
  const auto sampler =
      common::make_sampler(problem, count_launches, nullptr, nullptr, &timer, nullptr);
  CHECK(sampler() >= 0);
  CHECK(launches == 5);
  CHECK(problem.rotations == std::vector<int>{0, 1, 2, 3, 4});
  problem.rotations.clear();
  common::verify(problem, count_launches, common::query_device(), nullptr);
  CHECK(problem.rotations == std::vector<int>{0});
}

TEST_CASE("phases of a round trip are summarised one by one") {
  const std::vector<common::Phases> samples = {
      {{"in", 1.0, 8e6}, {"kernel", 2.0, 8e6, true}, {"free", 9.0}},
      {{"in", 3.0, 8e6}, {"kernel", 2.0, 8e6, true}, {"free", 7.0}},
  };
  const auto rows = common::summarize_phases(samples, 8.0);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].name == "in");
  CHECK(rows[0].median_ms == 2.0);
  CHECK(rows[0].gbps == 4.0);
  CHECK(std::isnan(rows[0].percent_of_roof));  // not limited by device memory
  CHECK(rows[1].percent_of_roof == 50.0);
  CHECK(std::isnan(rows[2].gbps));
}

TEST_CASE("rates and ratios follow from the times") {
  Doubling problem(1'000'000);  // 8e6 bytes, 1e6 operations
  const auto row_of = [](double ms) {
    common::Row row;
    row.verdict.status = common::Status::right;
    row.timing.median_ms = ms;
    row.timing.samples = 10;
    return row;
  };
  std::vector<common::Variant<Doubling>> variants(6);
  variants[0].name = "sequential";
  variants[0].place = common::Place::cpu;
  variants[1].name = "cpu yardstick";
  variants[1].place = common::Place::cpu;
  variants[1].kind = common::Kind::yardstick;
  variants[2].name = "rung";
  variants[2].place = common::Place::device;
  variants[3].name = "slow peer";
  variants[3].place = common::Place::device;
  variants[3].kind = common::Kind::peer;
  variants[4] = variants[3];
  variants[5].name = "device yardstick";
  variants[5].place = common::Place::device;
  variants[5].kind = common::Kind::yardstick;
  variants[5].bytes = [](const Doubling&) { return 4e6; };
  variants[1].flops = [](const Doubling&) { return 8e6; };
  std::vector<common::Row> rows = {row_of(8),   row_of(4),   row_of(0.5),
                                   row_of(2.0), row_of(1.0), row_of(0.25)};
  common::DeviceFacts device;
  device.peak_bandwidth_gbps = 32;
  common::derive_figures(problem, variants, device, rows);

  CHECK(rows[0].gbps == 1.0);
  CHECK(rows[0].percent_of_roof == 50.0);  // of the yardstick's 2 GB/s
  CHECK(rows[2].gbps == 16.0);
  CHECK(rows[2].gflops == 2.0);
  CHECK(rows[2].percent_of_roof == 50.0);  // of the device's 32 GB/s
  CHECK(rows[2].speedup == 16.0);
  CHECK(rows[2].ratio_to_peer == 2.0);  // to the better peer
  CHECK(rows[5].gbps == 16.0);          // counted by its own bytes
  CHECK(std::isnan(rows[5].gflops));    // a yardstick that says nothing of operations
  CHECK(rows[1].gflops == 2.0);         // and one that does
  CHECK(std::isnan(rows[5].speedup));
  CHECK(std::isnan(rows[5].ratio_to_peer));
}
