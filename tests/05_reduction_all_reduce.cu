// Chapter 05, all-reduce: every way is right for 2 to 8 devices at every size, also when calls
// follow one another without a wait between, and sends as many bytes as the lesson says. Without a
// GPU simt has eight of them, and its checks look on.
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "05_reduction/all_reduce/ladder.cu"
#include "common/bench/harness.cuh"
#include "common/kit/check.cuh"
#include "tests/catch.hpp"
#include "tests/ladder_cases.hpp"
#include "tests/verify.hpp"

using namespace all_reduce;

namespace {

// On the devices that are here, or by the case of that name, of so many sections, on eight of
// simt's.
template <class Run>
void on_devices(const std::string& hidden, int sections, Run run) {
  if (kit::kHasGpu && devices_here() >= 2) return run();
  tests::passes_by_itself("SIMT_DEVICES=8", hidden, sections);
}

std::vector<int> teams(std::initializer_list<int> wanted) {
  std::vector<int> sizes;
  for (const int size : wanted) {
    if (size <= devices_here()) sizes.push_back(size);
  }
  return sizes;
}

// All that needs several devices but the peer, which may be missing.
template <class T>
bench::Ladder<AllReduce<T>> rungs() {
  bench::Ladder<AllReduce<T>> all = ladder<T>();
  all.variants.pop_back();
  all.variants.erase(all.variants.begin(), all.variants.begin() + 2);
  return all;
}
constexpr int kRungs = 9;

// Around a vector of 16 bytes, a block, slices that are empty or short, and several turns.
template <class T>
void is_right_everywhere() {
  std::vector<bench::Settings::Given> sizes;
  for (const int size : teams({2, 3, 4, 8})) {
    for (const std::int64_t n : {0, 1, 9, 33, 127}) sizes.push_back({{"n", n}, {"devices", size}});
  }
  for (const std::int64_t n : {1'025, 4'099}) {
    for (const int size : teams({2, 3})) sizes.push_back({{"n", n}, {"devices", size}});
  }
  tests::every_variant_is_right(rungs<T>(), sizes);
}

// One after the other in the team's streams, with an inbox for a few vectors, so that messages go
// in pieces and blocks of several devices run ahead of each other.
void runs_ahead() {
  for (const int size : teams({2, 4})) {
    AllReduce<float> problem(1'003, size, 3, 100);
    problem.each_array([](auto& array) { array.reset(bench::Side::device); });
    const Team<float>& team = problem.team();
    // On a CPU two turns, the second with words for a few threads only.
    for (int call = 0; call < 6; ++call) all_reduce_packets(team, 513 + 17 * call);
    for (int call = 0; call < 2; ++call) {
      all_reduce_one_shot_push(team, problem.n);
      all_reduce_packets(team, problem.n);
      all_reduce_two_shot(team, problem.n);
      all_reduce_pieces(team, problem.n);
      all_reduce_packets(team, problem.n / 2);
      all_reduce_ring(team, problem.n);
      all_reduce_one_shot_pull(team, problem.n);
      all_reduce_gather(team, problem.n);
      all_reduce_through_host(team, problem.n);
      all_reduce_one_shot_push(team, problem.n / 3);
      all_reduce_one_shot_push(team, problem.n);
    }
    for_each_rank(team,
                  [](int, cudaStream_t stream) { CUDA_CHECK(cudaStreamSynchronize(stream)); });
    problem.each_array([](auto& array) {
      array.fetch(bench::Side::device);
      CHECK(array.damage() == "");
    });
    CHECK(problem.check().describe() == "right");
    CHECK(tests::simt_said() == "");
  }
}

// Rank 0 calls by itself, and must not wait for ever.
void ends_where_a_peer_never_comes() {
  AllReduce<float> problem(33, 2, 3);
  const Team<float>& team = problem.team();
  one_shot_pull_kernel<float><<<1, kThreads, 0, team.streams[0]>>>(team.peers, 0, problem.n);
  CHECK(cudaStreamSynchronize(team.streams[0]) == cudaErrorAssert);
  tests::simt_said();  // the assertion
}

}  // namespace

TEST_CASE("all_reduce: a peer never comes", "[.]") { ends_where_a_peer_never_comes(); }
TEST_CASE("all_reduce: every way on several devices", "[.]") { is_right_everywhere<float>(); }
TEST_CASE("all_reduce_bf16: every way on several devices", "[.]") {
  is_right_everywhere<__nv_bfloat16>();
}
TEST_CASE("all_reduce: calls run ahead", "[.]") { runs_ahead(); }
TEST_CASE("all_reduce: every launch is in its stream on several devices", "[.]") {
  tests::every_launch_is_in_its_stream(rungs<float>(), {{"n", 1'001}, {"devices", 3}});
}

#if SIMT_INSTRUMENTED
// What all devices together send over the links, of which flags are a few bytes.
TEST_CASE("all_reduce: bytes over the links", "[.]") {
  constexpr std::int64_t kCount = 1'536;
  constexpr double kArray = kCount * sizeof(float);
  for (const int size : teams({2, 3})) {
    AllReduce<float> problem(kCount, size, 3);
    problem.each_array([](auto& array) { array.reset(bench::Side::device); });
    const Team<float>& team = problem.team();
    const auto counted = [&](void (*rung)(const Team<float>&, std::int64_t)) {
      simt::profile_reset();
      rung(team, problem.n);
      for_each_rank(team,
                    [](int, cudaStream_t stream) { CUDA_CHECK(cudaStreamSynchronize(stream)); });
      simt::profile_stop();
      return simt::profile("").beside;
    };
    INFO(size << " devices");
    const double others = size - 1.0;
    CHECK(counted(all_reduce_ring<float>).link_written_bytes == 2 * others * kArray);
    CHECK(counted(all_reduce_pieces<float>).link_written_bytes == 2 * others * kArray);
    CHECK(counted(all_reduce_gather<float>).link_written_bytes == 2 * others * kArray);
    CHECK(counted(all_reduce_packets<float>).link_written_bytes == 2 * size * others * kArray);
    const auto pulled = counted(all_reduce_one_shot_pull<float>);
    CHECK(pulled.link_read_bytes == size * others * kArray);
    const auto pushed = counted(all_reduce_one_shot_push<float>);
    CHECK(pushed.link_read_bytes == 0);
    CHECK(pushed.link_written_bytes == Approx(size * others * kArray).epsilon(0.03));
    CHECK(counted(all_reduce_two_shot<float>).link_written_bytes ==
          Approx(2 * others * kArray).epsilon(0.03));
  }
}
#endif

TEST_CASE("all_reduce: every way is right") {
  on_devices("all_reduce: every way on several devices", kRungs, is_right_everywhere<float>);
  on_devices("all_reduce_bf16: every way on several devices", kRungs,
             is_right_everywhere<__nv_bfloat16>);
  on_devices("all_reduce: calls run ahead", 1, runs_ahead);
}

TEST_CASE("all_reduce: every launch is in the stream that was given") {
  tests::passes_by_itself("SIMT_DEVICES=8",
                          "all_reduce: every launch is in its stream on several devices", kRungs);
}

TEST_CASE("all_reduce: nobody waits for ever") {
  tests::passes_by_itself("SIMT_DEVICES=2", "all_reduce: a peer never comes");
}

TEST_CASE("all_reduce: as many bytes as the lesson says") {
  tests::passes_by_itself("SIMT_DEVICES=8", "all_reduce: bytes over the links");
}

// Bytes of one device's array. What it sends to all others in one shot decides; the copy engines
// pay between two devices alone.
TEST_CASE("all_reduce: the rung is chosen by bytes and ranks") {
  CHECK(fastest(0, 2) == "packets");
  CHECK(fastest(512 << 10, 2) == "packets");
  CHECK(fastest(1 << 20, 2) == "one_shot_push");
  CHECK(fastest(4 << 20, 2) == "two_shot");
  CHECK(fastest(256 << 20, 2) == "pieces");
  CHECK(fastest(std::int64_t{1} << 34, 2) == "pieces");
  CHECK(fastest(64 << 10, 4) == "packets");
  CHECK(fastest(256 << 10, 4) == "one_shot_push");
  CHECK(fastest(1 << 20, 4) == "two_shot");
  for (const int ranks : {3, 4, 8}) CHECK(fastest(std::int64_t{1} << 30, ranks) == "two_shot");
}

TEST_CASE("all_reduce: loops of the CPU, and what one device cannot do") {
  bench::RunSettings run;
  run.device = bench::query_device();
  const bench::WorkStream stream(run.device);
  const auto problem = ladder<float>().make_problem({{"n", 1'003}, {"devices", 5}}, run);
  const auto two_devices = ladder<float>().make_problem({{"n", 17}}, run);
  CHECK(two_devices->size() == std::max(2, devices_here()));
  for (const auto& variant : ladder<float>().variants) {
    INFO(variant.name);
    const auto verdict = tests::verify(*problem, variant, run.device, stream.get());
    if (variant.place == bench::Place::cpu) {
      CHECK(verdict.status == bench::Status::right);
    } else if (devices_here() < 5) {
      CHECK(verdict.status == bench::Status::skipped);
      CHECK(verdict.reason.find("needs ") == 0);
    }
  }
}
