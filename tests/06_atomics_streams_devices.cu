// Chapter 06, copies between devices: every way is right between any two of up to eight devices, at
// every size and alignment that it takes, also when calls follow one another without a wait
// between, and sends as many bytes over the link as the lesson says. Without a GPU simt has eight
// of them, and its checks look on.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "06_atomics_streams/device_copy/ladder.cu"
#include "common/bench/harness.cuh"
#include "common/kit/check.cuh"
#include "tests/catch.hpp"
#include "tests/ladder_cases.hpp"
#include "tests/run_command.hpp"
#include "tests/verify.hpp"

using namespace device_copy;

namespace {

const std::string kProgram = TEST_BUILD "/06_atomics_streams/ladders";

// On the devices that are here, or by the case of that name, of so many sections, on eight of
// simt's.
template <class Run>
void on_devices(const std::string& hidden, int sections, Run run) {
  if (kit::kHasGpu && kit::devices_here() >= 2) return run();
  tests::passes_by_itself("SIMT_DEVICES=8", hidden, sections);
}

// Around 16 bytes, a block, a piece of TMA's, a chunk; several turns of all of these, and a rest.
constexpr std::int64_t kSizes[] = {0, 1, 15, 16, 17, 257, 1'023, 1'025, 4'097, 20'011};

// And pairs of devices that need 2, 3, 4 and 8 of them.
template <int kWays>
void is_right_everywhere() {
  std::vector<bench::Settings::Given> sizes;
  for (const std::int64_t n : kSizes) sizes.push_back({{"n", n}});
  for (const auto& [from, to] : {std::pair{1, 0}, {2, 0}, {1, 3}, {7, 4}}) {
    if (std::max(from, to) < kit::devices_here()) {
      sizes.push_back({{"n", 5'003}, {"from", from}, {"to", to}});
    }
  }
  tests::every_variant_is_right(ladder<kWays>(), sizes);
}
constexpr int kVariants = 9;

using Rung = void (*)(const Transfer&);
constexpr Rung kRungs[] = {device_copy_through_host,
                           device_copy_chunks,
                           device_copy_copy_engine,
                           [](const Transfer& t) { device_copy_pull(t); },
                           [](const Transfer& t) { device_copy_push(t); },
                           device_copy_tma};

// Bytes in y of what `run` has done, guards looked at.
template <int kWays>
std::vector<Byte> written(DeviceCopy<kWays>& problem, const bench::WorkStream& stream, Rung run) {
  problem.each_array([](auto& array) { array.reset(bench::Side::device); });
  problem.for_each_way(stream.get(), run);
  CUDA_CHECK(cudaStreamSynchronize(stream.get()));
  problem.each_array([](auto& array) {
    array.fetch(bench::Side::device);
    CHECK(array.damage() == "");
  });
  return {problem.y[0].fetched(), problem.y[0].fetched() + problem.n};
}

// From and to addresses that are no multiples of 16, alike or not, nothing but these bytes.
void is_right_unaligned() {
  const bench::WorkStream stream(bench::query_device());
  DeviceCopy<1> problem(3'000, 0, 1, 3);
  static std::int64_t skip_from, skip_to, bytes;
  static Rung rung;
  for (const Rung each : kRungs) {
    rung = each;
    for (const auto& [from, to] : {std::pair{1, 1}, {0, 3}, {16, 16}, {8, 0}}) {
      for (const std::int64_t n : {0, 1, 15, 16, 17, 2'500}) {
        skip_from = from, skip_to = to, bytes = n;
        const auto moved = [](const Transfer& t) {
          Transfer part = t;
          part.from += skip_from;
          part.to += skip_to;
          part.bytes = bytes;
          rung(part);
        };
        INFO("rung " << std::find(kRungs, std::end(kRungs), rung) - kRungs << ", from " << from
                     << ", to " << to << ", " << n << " bytes");
        if (rung == device_copy_tma && (from % 16 != 0 || to % 16 != 0)) {
          CHECK_THROWS_AS(written<1>(problem, stream, moved), kit::Skip);
          CUDA_CHECK(cudaStreamSynchronize(stream.get()));
          continue;
        }
        std::vector<Byte> wanted(problem.n, bench::kPoisonByte);
        std::copy_n(problem.x[0].pristine() + from, n, wanted.begin() + to);
        CHECK(written<1>(problem, stream, moved) == wanted);
      }
    }
  }
  CHECK(tests::simt_said() == "");
}

// Calls of a rung, of all and of some of the bytes, both ways at once.
void follow_one_another() {
  const bench::WorkStream stream(bench::query_device());
  DeviceCopy<2> problem(20'011, 0, 1, 3);
  static Rung rung;
  for (const Rung each : kRungs) {
    rung = each;
    written<2>(problem, stream, [](const Transfer& t) {
      Transfer part = t;
      for (const int share : {3, 1, 2}) {
        part.bytes = t.bytes / share;
        rung(part);
      }
    });
    INFO("rung " << std::find(kRungs, std::end(kRungs), rung) - kRungs);
    CHECK(problem.check().describe() == "right");
    CHECK(tests::simt_said() == "");
  }
}

template <bool kData>
double flag(int one, int other, FlagLies lies) {
  return flag_microseconds<kData>(one, other, lies, kit::kHasGpu ? 1'000 : 20);
}

void flags_arrive() {
  const int other = kit::devices_here() - 1;
  for (const FlagLies lies : {FlagLies::with_who_waits, FlagLies::with_who_tells}) {
    for (const double us : {flag<false>(0, 0, lies), flag<false>(0, other, lies),
                            flag<true>(0, other, lies), flag<true>(other, 0, lies)}) {
      CHECK((kit::kHasGpu ? us > 0 && us < 100 : std::isnan(us)));
    }
  }
  CHECK(tests::simt_said() == "");
}

}  // namespace

TEST_CASE("device_copy: every way between several devices", "[.]") { is_right_everywhere<1>(); }
TEST_CASE("device_exchange: every way between several devices", "[.]") { is_right_everywhere<2>(); }
TEST_CASE("device_copy: addresses that are no multiples of 16", "[.]") { is_right_unaligned(); }
TEST_CASE("device_copy: calls follow one another", "[.]") { follow_one_another(); }
TEST_CASE("device_copy: flags arrive", "[.]") { flags_arrive(); }
TEST_CASE("device_copy: every launch is in its stream on several devices", "[.]") {
  tests::every_launch_is_in_its_stream(ladder<2>(), {{"n", 5'003}});
}

#if SIMT_INSTRUMENTED
TEST_CASE("device_copy: bytes over the link", "[.]") {
  const bench::WorkStream stream(bench::query_device());
  constexpr std::int64_t kBytes = 10'000;
  DeviceCopy<2> problem(kBytes, 0, 1, 3);
  const auto counted = [&](Rung rung) {
    simt::profile_reset();
    written<2>(problem, stream, rung);
    simt::profile_stop();
    return simt::profile("").beside;
  };
  for (const Rung rung : kRungs) {
    INFO("rung " << std::find(kRungs, std::end(kRungs), rung) - kRungs);
    const bool is_pull = rung == kRungs[3];
    const bool is_by_host = rung == device_copy_through_host || rung == device_copy_chunks;
    const auto found = counted(rung);
    CHECK(found.link_read_bytes == (is_pull ? 2 * kBytes : 0));
    CHECK(found.link_written_bytes == (is_pull || is_by_host ? 0 : 2 * kBytes));
  }
  CHECK(counted([](const Transfer& t) { device_copy_tma_by(t, t.target, 2); }).link_read_bytes ==
        2 * kBytes);
}

// Whose flag crosses the link, and who asks over it.
TEST_CASE("device_copy: a flag that is polled where it lies is not asked for over the link",
          "[.]") {
  const auto counted = [&](FlagLies lies) {
    simt::profile_reset();
    flag<false>(0, 1, lies);
    simt::profile_stop();
    return simt::profile("ping_pong_kernel").beside;
  };
  const auto here = counted(FlagLies::with_who_waits), there = counted(FlagLies::with_who_tells);
  CHECK(here.link_read_bytes == 0);
  CHECK(here.link_written_bytes == kPlaces * 2 * 20 * sizeof(unsigned));
  CHECK(there.link_read_bytes >= kPlaces * 2 * 20 * sizeof(unsigned));
  CHECK(there.link_written_bytes == 0);
}

// A kernel that copies where nobody has enabled it is named with its line, and nothing is written.
void names_a_rung(const std::string& file, Rung rung) {
  Byte *from = nullptr, *to = nullptr;
  Transfer t;
  t.bytes = 64;
  for (const int device : {1, 0}) {
    CUDA_CHECK(cudaSetDevice(device));
    CUDA_CHECK(cudaMalloc(device == 0 ? &from : &to, 64));
    CUDA_CHECK(cudaMemset(device == 0 ? from : to, 0, 64));
    CUDA_CHECK(cudaStreamCreate(&t.devices.streams[device]));
  }
  t.from = from, t.to = to;
  rung(t);
  const bool is_pull = rung == kRungs[3];
  CHECK(cudaStreamSynchronize(is_pull ? t.at_target() : t.at_source()) == cudaErrorIllegalAddress);
  const std::string said = tests::simt_said();
  INFO(said);
  CHECK(said.find("[peer-access]") != std::string::npos);
  CHECK(said.find(file) != std::string::npos);
  const std::string call = "cudaDeviceEnablePeerAccess(" + std::string(is_pull ? "0" : "1");
  CHECK(said.find(call) != std::string::npos);
}
TEST_CASE("device_copy: push without access", "[.]") { names_a_rung("07_push.cuh:", kRungs[4]); }
TEST_CASE("device_copy: pull without access", "[.]") { names_a_rung("06_pull.cuh:", kRungs[3]); }
TEST_CASE("device_copy: TMA without access", "[.]") { names_a_rung("08_tma.cuh:", kRungs[5]); }

// Who reads in the target's stream what the source's stream pushes, and waits for nothing, is
// named.
TEST_CASE("device_copy: a reader that does not wait", "[.]") {
  const bench::WorkStream stream(bench::query_device());
  for (const bool waits : {true, false}) {
    DeviceCopy<1> problem(1'000, 0, 1, 3);
    static bool is_waiting;
    is_waiting = waits;
    written<1>(problem, stream, [](const Transfer& t) {
      device_copy_push(t);
      if (is_waiting) t.devices.wait(t.target, t.source);
      CUDA_CHECK(cudaMemcpyAsync(t.staging, t.to, t.bytes, cudaMemcpyDefault, t.at_target()));
    });
    const std::string said = tests::simt_said();
    INFO(said);
    CHECK((said == "") == waits);
    CHECK((said.find("cudaStreamWaitEvent") != std::string::npos) != waits);
  }
}
#endif

TEST_CASE("device_copy: every way is right") {
  on_devices("device_copy: every way between several devices", kVariants, is_right_everywhere<1>);
  on_devices("device_exchange: every way between several devices", kVariants,
             is_right_everywhere<2>);
  on_devices("device_copy: addresses that are no multiples of 16", 1, is_right_unaligned);
  on_devices("device_copy: calls follow one another", 1, follow_one_another);
  on_devices("device_copy: flags arrive", 1, flags_arrive);
}

TEST_CASE("device_copy: events alone hold the order, however late each stream runs") {
  tests::passes_by_itself("SIMT_DEVICES=2 SIMT_STREAMS=deferred",
                          "device_copy: calls follow one another");
}

TEST_CASE("device_copy: every launch is in the stream that was given") {
  tests::passes_by_itself("SIMT_DEVICES=2",
                          "device_copy: every launch is in its stream on several devices",
                          kVariants - 3);
}

TEST_CASE("device_copy: as many bytes as the lesson says") {
  tests::passes_by_itself("SIMT_DEVICES=2", "device_copy: bytes over the link");
  tests::passes_by_itself("SIMT_DEVICES=2", "device_copy: a flag that is polled where it lies*");
}

TEST_CASE("device_copy: mistakes are named") {
  for (const std::string who : {"push", "pull", "TMA"}) {
    tests::passes_by_itself("SIMT_DEVICES=2", "device_copy: " + who + " without access");
  }
  tests::passes_by_itself("SIMT_DEVICES=2", "device_copy: a reader that does not wait");
}

TEST_CASE("device_copy: one device is too few, and one is not two") {
  if (kit::devices_here() < 2) {
    const auto rows = tests::run_command(kProgram + " --verify --n 100 --only device_copy");
    INFO(rows.output);
    CHECK(rows.status == 0);
    CHECK(rows.output.find("needs 2 GPUs, there is ") != std::string::npos);
    const auto sweep = tests::run_command(kProgram + " --sweep flags --only device_copy 2>&1");
    INFO(sweep.output);
    CHECK(sweep.status == 2);
  }
  const auto same = tests::run_command(kProgram + " --n 100 --only device_copy --from 1 2>&1");
  INFO(same.output);
  CHECK(same.status == 2);
  CHECK(same.output.find("--from and --to") != std::string::npos);
}
