// Chapter 02: every variant is right at every size, the lanes do what the lesson says, and the
// program refuses what it must refuse.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <cuda_runtime.h>

// simt's __sincosf is as good as sincosf. A GPU's is not: in the rungs it is as far off as there.
#ifdef __SIMT__
__device__ inline void sincosf_of_a_gpu(float angle, float* sine, float* cosine) {
  sincosf(angle, sine, cosine);
  *sine += 0x1p-22f, *cosine -= 0x1p-22f;
}
#define __sincosf sincosf_of_a_gpu
#endif
#include "02_warp_divergence/branch/ladder.cu"
#include "02_warp_divergence/polar/ladder.cu"
#undef __sincosf
#include "02_warp_divergence/study/barrier.cuh"
#include "02_warp_divergence/study/block_votes.cuh"
#include "02_warp_divergence/study/branch_sweeps.cuh"
#include "02_warp_divergence/study/fast_math.cuh"
#include "02_warp_divergence/study/polar_sweeps.cuh"
#include "02_warp_divergence/study/predication.cuh"
#include "02_warp_divergence/study/syncwarp.cuh"
#include "02_warp_divergence/study/votes.cuh"
#include "common/bench/harness.cuh"
#include "tests/catch.hpp"
#include "tests/ladder_cases.hpp"
#include "tests/run_command.hpp"
#ifdef __SIMT__
#include "simt/include/simt/profile.h"
#endif

using namespace branch;
using namespace polar;
using namespace warp_divergence;

namespace {

const std::string kProgram = TEST_BUILD "/02_warp_divergence/ladders";

// Sizes around a warp, half a warp (two threads an angle), a block, the tiles of the coarsened and
// of the tiled rung, primes, and one that needs many blocks. Those past 5000 only where kernels run
// at full speed.
std::vector<std::int64_t> lengths() {
  std::vector<std::int64_t> lengths = {1,    2,    3,    15,   16,   17,   31,   32,
                                       33,   127,  128,  129,  255,  256,  257,  1021,
                                       1023, 1024, 1025, 2047, 2048, 2049, 4999, 20'011};
#if !SIMT_INSTRUMENTED
  lengths.insert(lengths.end(), {100'003, 1'000'000});
#endif
  return lengths;
}

}  // namespace

TEST_CASE("polar: every variant is right at every size") {
  std::vector<bench::Settings::Given> sizes;
  for (const std::int64_t n : lengths()) sizes.push_back({{"n", n}});
  tests::every_variant_is_right(polar::ladder(), sizes);
}

TEST_CASE("branch: every variant is right at every size, whatever part is expensive") {
  std::vector<bench::Settings::Given> sizes;
  for (const std::int64_t n : lengths()) {
    for (const std::int64_t percent : {0, 2, 50, 100}) {
      sizes.push_back({{"n", n}, {"percent", percent}});
    }
  }
  tests::every_variant_is_right(branch::ladder(), sizes);
}

TEST_CASE("branch: every variant is right when the expensive elements come in runs") {
  std::vector<bench::Settings::Given> sizes;
  for (const std::int64_t n : lengths()) {
    for (const std::int64_t run : {5, 32, 300}) {
      sizes.push_back({{"n", n}, {"percent", 20}, {"run", run}});
    }
  }
  tests::every_variant_is_right(branch::ladder(), sizes);
}

TEST_CASE("every launch is in the stream that was given") {
  tests::every_launch_is_in_its_stream(polar::ladder(), {{"n", 5003}});
  tests::every_launch_is_in_its_stream(branch::ladder(), {{"n", 5003}});
}

TEST_CASE("what a run holds", "[.]") {
  tests::takes_what_it_says(polar::ladder(), {{"n", 200'003}});
  tests::takes_what_it_says(branch::ladder(), {{"n", 200'003}});
}

TEST_CASE("a run takes the memory that it says") {
  tests::passes_by_itself("SIMT_THREADS=1", "what a run holds");
}

TEST_CASE("the angles cover [-pi, pi] and do not leave it") {
  const Polar problem(100'000, 1);
  double least = 0, most = 0;
  for (std::int64_t i = 0; i < problem.n; ++i) {
    least = std::fmin(least, problem.phi.pristine()[i]);
    most = std::fmax(most, problem.phi.pristine()[i]);
  }
  CHECK(least >= -M_PI);
  CHECK(least < -0.999 * M_PI);
  CHECK(most <= M_PI);
  CHECK(most > 0.999 * M_PI);
}

TEST_CASE("the expensive elements are as many and lie as the options say") {
  CHECK(Branch(10'000, 0, 1, 3).expensive == 0);
  CHECK(Branch(10'000, 100, 1, 3).expensive >= 9'990);  // a zero has no sign to set
  const Branch few(1'000'000, 2, 1, 3);
  CHECK(few.expensive > 19'000);
  CHECK(few.expensive < 21'000);
  const Branch runs(10'000, 50, 32, 3);
  for (std::int64_t i = 0; i < runs.n; ++i) {
    const std::int64_t head = i / 32 * 32;
    REQUIRE(is_expensive(runs.x.pristine()[i]) == is_expensive(runs.x.pristine()[head]));
  }
}

TEST_CASE("the paths, which kernels and reference share, have 1 and 256 steps") {
  for (const float x : {-0.75f, -0.0f, 0.0f, 0.5f}) {
    float v = x;
    for (int step = 0; step < 256; ++step) v = std::fmaf(v, v, -1.9f);
    CHECK(expensive_path(x) == v);
    CHECK(cheap_path(x) == std::fmaf(x, x, -1.9f));
    CHECK(is_expensive(x) == (x == -0.75f));
  }
}

TEST_CASE("the check of problem B notices one rounding too many") {
  // What a kernel that multiplies and adds in two steps would return.
  int differ = 0;
  for (int k = 1; k <= 100; ++k) {
    float fused = -0.01f * static_cast<float>(k), separate = fused;
    for (int step = 0; step < kExpensiveSteps; ++step) {
      fused = advance(fused);
      volatile float square = separate * separate;
      separate = square - 1.9f;
    }
    differ += fused != separate;
  }
  CHECK(differ > 95);
}

TEST_CASE("fast math stays within its bounds") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
#ifdef __SIMT__
  const std::int64_t step = 1'000'003;  // the host's sine stands in for the GPU's
#else
  const std::int64_t step = 1;  // every float of the range
#endif
  for (const float limit : {1.0f, Polar::kLargestAngle, 10000.0f}) {
    const std::vector<double> errors = fast_math_errors(limit, step);
    REQUIRE(errors.size() == kFastFunctions);
    for (int f = 0; f < kFastFunctions; ++f) {
      INFO(kFastFunctionNames[f] << " within " << limit);
      CHECK(errors[f] <= fast_math_bound(f, limit));
      CHECK(errors[f] > 0);  // a measured zero would be no measurement
    }
#ifndef __SIMT__
    // The bounds are no tighter and not much looser than what the chip does.
    if (limit > 2) CHECK(errors[0] > 0.9 * fast_math_bound(0, limit));
    CHECK(std::fabs(errors[0] - errors[2]) <= 1e-7);
    CHECK(std::fabs(errors[1] - errors[3]) <= 1e-7);
#endif
  }
}

TEST_CASE("the bounds of fast math are those of the programming guide, then those derived") {
  CHECK(std::fabs(std::log2(fast_math_bound(0, M_PI)) + 21.41) < 1e-9);
  CHECK(std::fabs(std::log2(fast_math_bound(1, M_PI)) + 21.19) < 1e-9);
  CHECK(fast_math_bound(0, 10000) > 1.17e-3);
  CHECK(fast_math_bound(0, 10000) < 1.18e-3);
}

TEST_CASE("votes: any, all and ballot") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  const WarpVotes none = votes_of_lanes(0, 0);
  CHECK(none.any == 0);
  CHECK(none.all == 0);
  CHECK(none.ballot == 0);
  const WarpVotes some = votes_of_lanes(5, 8);
  CHECK(some.any != 0);
  CHECK(some.all == 0);
  CHECK(some.ballot == 0xE0);
  const WarpVotes all = votes_of_lanes(0, 32);
  CHECK(all.any != 0);
  CHECK(all.all != 0);
  CHECK(all.ballot == 0xFFFFFFFF);
}

TEST_CASE("block votes: count, and, or; also of an incomplete warp") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  for (const int length : {1, 31, 100, 1024}) {
    INFO("length = " << length);
    std::vector<float> values(length, 1.0f);
    CHECK(votes_of_block(values).negative == 0);
    CHECK(votes_of_block(values).all_small == 1);
    CHECK(votes_of_block(values).any_zero == 0);
    values.back() = -20.0f;
    CHECK(votes_of_block(values).negative == 1);
    CHECK(votes_of_block(values).all_small == 0);
    values.back() = 0.0f;
    CHECK(votes_of_block(values).any_zero == 1);
  }
}

TEST_CASE("a barrier that all threads reach serves a short last part") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  for (const int n : {1, 63, 64, 65, 100, 128}) {
    INFO("n = " << n);
    std::vector<int> values(n);
    for (int i = 0; i < n; ++i) values[i] = 3 * i + 1;
    const std::vector<int> out = reversed_in_blocks(values, reverse_kernel);
    for (int i = 0; i < n; ++i) {
      const int begin = i / kBarrierBlock * kBarrierBlock;
      const int length = std::min(kBarrierBlock, n - begin);
      REQUIRE(out[i] == values[begin + length - 1 - (i - begin)]);
    }
  }
}

TEST_CASE("lanes pass on and wait for each other") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  const std::vector<int> received = passed_on();
  for (int lane = 0; lane < 32; ++lane) {
    const int from = (lane + 1) % 32;
    CHECK(received[lane] == (from % 2 == 0 ? 100 : 200) + from);
  }
  CHECK(waited_for() == 42);
}

TEST_CASE("an `if` and a choice compute the same, and take time") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  CHECK(predication_cycles<4, false>(1) > 0);
  CHECK(predication_cycles<4, true>(1) > 0);
#ifndef __SIMT__
  // A body of 64 steps is a branch: a warp in which nobody wants it skips it.
  CHECK(predication_cycles<64, false>(0) < 0.5 * predication_cycles<64, false>(1));
  // One lane that wants it costs as much as all 32.
  CHECK(predication_cycles<64, false>(1) > 0.8 * predication_cycles<64, false>(32));
#endif
}

TEST_CASE("bad arguments: exit status 2 and one line, at once") {
  tests::refuses_bad_arguments(
      kProgram, "--n 10 --only polar/sequential",
      {"--n 0", "--n -1", "--n abc", "--n 99999999999999999", "--n 99999999999999999999", "--n 1.5",
       "--n ''", "--n", "--percent -1", "--percent 101", "--run 0", "--step 0",
       "--sweep percent --only polar"});
}

TEST_CASE("--list prints one variant a line") {
  tests::lists_every_variant(kProgram, tests::names_of(polar::ladder(), branch::ladder()));
}

TEST_CASE("a small run is right and prints every variant and the errors of fast math") {
  const std::string quick = "--n 1000 --repeats 2 --step 1000003";
  tests::small_run_is_right(kProgram, quick, tests::names_of(polar::ladder(), branch::ladder()));
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  const auto result = tests::run_command(kProgram + " " + quick + " --only fast_math");
  CHECK(result.output.find("__sincosf cos on [-10000, 10000]: ") != std::string::npos);
  const bool says_whose = result.output.find("sine and cosine of the host") != std::string::npos;
  CHECK(says_whose == !bench::query_device().is_real_gpu());
  const auto other = tests::run_command(kProgram + " " + quick + " --only uniform");
  CHECK(other.output.find("__sincosf") == std::string::npos);
}

TEST_CASE("every demo and sweep runs") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  for (const char* arguments :
       {"--demo votes", "--demo block_votes", "--demo barrier", "--demo syncwarp", "--sweep steps",
        "--sweep pieces --n 3000 --repeats 1", "--sweep percent --n 3000 --repeats 1",
        "--sweep run --n 3000 --repeats 1"}) {
    INFO(arguments);
    const auto result = tests::run_command(kProgram + " " + arguments);
    CHECK(result.status == 0);
    CHECK(result.lines >= 2);
  }
}

TEST_CASE("--json holds both problems and the errors of fast math") {
  const std::string file = TEST_BUILD "/tests/02_warp_divergence.json";
  const auto run =
      tests::run_command(kProgram + " --n 1000 --repeats 2 --seed 9 --step 1000003 --json " + file);
  REQUIRE(run.status == 0);
  const auto check = tests::run_command(
      "python3 -c '"
      "import json, sys\n"
      "r = json.load(open(sys.argv[1]))\n"
      "assert r[\"seed\"] == 9\n"
      "for row in r[\"rows\"]:\n"
      "  assert row[\"status\"] == \"right\" or (row[\"status\"] == \"skipped\" and "
      "row[\"reason\"])\n"
      "print(len([1 for row in r[\"rows\"] if row[\"problem\"] in (\"polar\", \"branch\")]))' " +
      file + " 2>&1");
  INFO(check.output);
  CHECK(check.status == 0);
  const auto names = tests::names_of(polar::ladder(), branch::ladder());
  CHECK(check.output == std::to_string(names.size()) + "\n");
}
