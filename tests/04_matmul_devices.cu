// Chapter 04, products that several devices share: every way is right for 2 to 8 devices, also with
// shards that are uneven or empty and when calls follow one another without a wait between, waits
// for nobody for ever, and sends as many bytes as the lesson says. Without a GPU simt has eight
// devices, and its checks look on.
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "04_matmul/sharded/ladder.cu"
#include "common/bench/harness.cuh"
#include "common/kit/check.cuh"
#include "common/kit/devices.cuh"
#include "tests/catch.hpp"
#include "tests/ladder_cases.hpp"
#include "tests/verify.hpp"

using namespace matmul;
using namespace matmul::sharded;

namespace {

// On the devices that are here, or by the case of that name, of so many sections, on eight of
// simt's.
template <class Run>
void on_devices(const std::string& hidden, int sections, Run run) {
  if (kit::kHasGpu && kit::devices_here() >= 2) return run();
  tests::passes_by_itself("SIMT_DEVICES=8", hidden, sections);
}

bool is_here(int devices) { return devices <= kit::devices_here(); }

// All that needs several devices but the peer, which may be missing.
template <class Problem>
bench::Ladder<Problem> rungs(bench::Ladder<Problem> all) {
  const auto is_other = [](const bench::Variant<Problem>& variant) {
    return variant.place == bench::Place::cpu || variant.kind == bench::Kind::peer;
  };
  auto& variants = all.variants;
  variants.erase(std::remove_if(variants.begin(), variants.end(), is_other), variants.end());
  return all;
}
constexpr int kRungs = 6;

bench::Settings::Given size_of(int devices, std::int64_t m, std::int64_t n, std::int64_t k) {
  return {{"m", m}, {"n", n}, {"k", k}, {"devices", devices}};
}

// Shards that are empty, uneven, shorter than a tile and longer than a chunk; columns of several
// tiles and shards of k of several steps; rows that TMA refuses.
std::vector<bench::Settings::Given> sizes() {
  std::vector<bench::Settings::Given> sizes;
  for (const auto& size : {size_of(2, 1, 528, 40), size_of(2, 601, 24, 24), size_of(3, 70, 40, 216),
                           size_of(4, 131, 48, 40), size_of(8, 6, 72, 64), size_of(2, 5, 9, 7),
                           size_of(3, 2, 1, 25)}) {
    if (is_here(static_cast<int>(size.at("devices")))) sizes.push_back(size);
  }
  return sizes;
}

// Those whose kernels wait for another branch of their work, which no graph may hold, left out.
template <class Problem>
bench::Ladder<Problem> rungs_for_graphs(bench::Ladder<Problem> all) {
  auto& variants = all.variants;
  const auto has_flags = [](const bench::Variant<Problem>& variant) {
    return variant.name == "flags" || variant.name == "to_owner";
  };
  variants.erase(std::remove_if(variants.begin(), variants.end(), has_flags), variants.end());
  return all;
}

bool has_tma(const std::string& name) { return name == "flags" || name == "to_owner"; }
bool refuses(const std::string& name, const bench::Settings::Given& size) {
  return has_tma(name) && (size.at("n") % 8 != 0 || size.at("k") % 8 != 0);
}

void gathers_everywhere() {
  tests::every_variant_is_right(rungs(gather_ladder()), sizes(), refuses);
}
void scatters_everywhere() {
  tests::every_variant_is_right(rungs(scatter_ladder()), sizes(), refuses);
}

// One after the other in the team's streams: devices run ahead of each other. Twice, also a rung
// after itself, but those that fill their flags with zeros: simt does not see that the kernel
// before has waited for all of them.
template <class Problem>
void runs_ahead(const bench::Ladder<Problem>& ladder) {
  for (const int devices : {2, 3}) {
    if (!is_here(devices)) continue;
    Problem problem({70, 48, 64}, devices, 3, kit::kHasGpu);
    problem.each_array([](auto& array) { array.reset(bench::Side::device); });
    problem.with_team(nullptr, [&](const Team&, const auto&) {
      for (int call = 0; call < 2; ++call) {
        for (const auto& variant : ladder.variants) {
          if (variant.kind != bench::Kind::rung) continue;
          variant.run(problem, nullptr);
          if (!has_tma(variant.name)) variant.run(problem, nullptr);
        }
      }
    });
    CUDA_CHECK(cudaDeviceSynchronize());
    problem.each_array([](auto& array) {
      array.fetch(bench::Side::device);
      CHECK(array.damage() == "");
    });
    CHECK(problem.check().describe() == "right");
    CHECK(tests::simt_said() == "");
  }
}

// Rank 0 calls by itself, and must not wait for ever.
template <class Launch>
void ends_where_a_peer_never_comes(Launch launch) {
  TeamMemory memory(2, 1);
  cudaStream_t stream = memory.team.devices.streams[0];
  launch(memory.team.peers, stream);
  CHECK(cudaStreamSynchronize(stream) == cudaErrorAssert);
  tests::simt_said();  // the assertion
}

}  // namespace

TEST_CASE("sharded: a peer never comes before the product", "[.]") {
  ends_where_a_peer_never_comes([](const Peers& peers, cudaStream_t stream) {
    push_rows_kernel<kPiece><<<1, kPushThreads, 0, stream>>>(peers, 0, {});
  });
}
TEST_CASE("sharded: a peer never comes after the product", "[.]") {
  ends_where_a_peer_never_comes([](const Peers& peers, cudaStream_t stream) {
    push_and_add_kernel<kPiece><<<1, kPushThreads, 0, stream>>>(peers, 0, {});
  });
}
TEST_CASE("gather_gemm: every launch is in its stream on several devices", "[.]") {
  tests::every_launch_is_in_its_stream(rungs_for_graphs(rungs(gather_ladder())),
                                       size_of(3, 70, 48, 64));
}
TEST_CASE("gemm_scatter: every launch is in its stream on several devices", "[.]") {
  tests::every_launch_is_in_its_stream(rungs_for_graphs(rungs(scatter_ladder())),
                                       size_of(3, 70, 48, 64));
}
TEST_CASE("gather_gemm: every way on several devices", "[.]") { gathers_everywhere(); }
TEST_CASE("gemm_scatter: every way on several devices", "[.]") { scatters_everywhere(); }
TEST_CASE("sharded: calls run ahead", "[.]") {
  runs_ahead(rungs(gather_ladder()));
  runs_ahead(rungs(scatter_ladder()));
}

#if SIMT_INSTRUMENTED
// What all devices together send over the links, of which flags are a few bytes.
TEST_CASE("sharded: bytes over the links", "[.]") {
  constexpr std::int64_t kRows = 300, kColumns = 64, kDepth = 96;
  const auto counted = [](auto problem, const auto& rung) {
    problem->each_array([](auto& array) { array.reset(bench::Side::device); });
    problem->with_team(nullptr, [](const Team&, const auto&) {});  // makes the team
    CUDA_CHECK(cudaDeviceSynchronize());
    simt::profile_reset();
    problem->with_team(nullptr, rung);
    CUDA_CHECK(cudaDeviceSynchronize());
    simt::profile_stop();
    return simt::profile("").beside.link_written_bytes;
  };
  const Shape shape = {kRows, kColumns, kDepth};
  for (const int devices : {2, 3}) {
    INFO(devices << " devices");
    const double others = devices - 1;
    const auto gathered = [&](auto rung) {
      return counted(std::make_unique<GatherGemm>(shape, devices, 1, false), rung);
    };
    const double of_a = others * kRows * kDepth * sizeof(Element);
    CHECK(gathered(gather_gemm_gather_then_product) == of_a);
    CHECK(gathered(gather_gemm_chunks) == of_a);
    CHECK(gathered(gather_gemm_flags) == Approx(of_a).epsilon(0.01));
    CHECK(gathered(gather_gemm_push_then_product) == Approx(of_a).epsilon(0.01));
    const auto scattered = [&](auto rung) {
      return counted(std::make_unique<GemmScatter>(shape, devices, 1, false), rung);
    };
    const double of_c = others * kRows * kColumns * sizeof(Element);
    CHECK(scattered(gemm_scatter_product_then_scatter) == of_c);
    CHECK(scattered(gemm_scatter_slices) == of_c);
    CHECK(scattered(gemm_scatter_to_owner) == Approx(of_c).epsilon(0.01));
    CHECK(scattered(gemm_scatter_product_then_push) == Approx(of_c).epsilon(0.01));
  }
}
#endif

TEST_CASE("sharded: every way is right") {
  on_devices("gather_gemm: every way on several devices", kRungs, gathers_everywhere);
  on_devices("gemm_scatter: every way on several devices", kRungs, scatters_everywhere);
  on_devices("sharded: calls run ahead", 1, [] {
    runs_ahead(rungs(gather_ladder()));
    runs_ahead(rungs(scatter_ladder()));
  });
}

TEST_CASE("sharded: as many bytes as the lesson says") {
  tests::passes_by_itself("SIMT_DEVICES=8", "sharded: bytes over the links");
}

TEST_CASE("sharded: every launch is in the stream that was given") {
  for (const char* name : {"gather_gemm", "gemm_scatter"}) {
    tests::passes_by_itself(
        "SIMT_DEVICES=8", std::string(name) + ": every launch is in its stream on several devices",
        kRungs - 1);
  }
}

TEST_CASE("sharded: nobody waits for ever") {
  for (const char* place : {"before", "after"}) {
    tests::passes_by_itself("SIMT_DEVICES=2",
                            std::string("sharded: a peer never comes ") + place + " the product");
  }
}

// By rows of A, ranks, and whether rows are whole pieces.
TEST_CASE("sharded: the rung is chosen by rows and ranks") {
  for (const int ranks : {2, 4, 8}) {
    CHECK(fastest_gather(128, ranks, true, true) == "push_then_product");
    CHECK(fastest_gather(512, ranks, true, false) == "push_then_product");
    CHECK(fastest_gather(128, ranks, false, false) == "gather_then_product");
    CHECK(fastest_gather(1024, ranks, true, true) == "chunks");
    CHECK(fastest_gather(8192, ranks, true, true) == (ranks == 2 ? "flags" : "chunks"));
    CHECK(fastest_gather(8192, ranks, true, false) == "chunks");
  }
  CHECK(fastest_scatter(512, true) == "product_then_push");
  CHECK(fastest_scatter(512, false) == "product_then_scatter");
  CHECK(fastest_scatter(1024, true) == "slices");
}

TEST_CASE("sharded: loops of the CPU and what one device cannot do") {
  const auto check = [](const auto& ladder) {
    bench::RunSettings run;
    run.device = bench::query_device();
    const bench::WorkStream stream(run.device);
    for (const auto& size : {size_of(5, 3, 30, 20), size_of(0, 34, 9, 40)}) {
      const auto problem = ladder.make_problem(size, run);
      for (const auto& variant : ladder.variants) {
        INFO(variant.name);
        const auto verdict = tests::verify(*problem, variant, run.device, stream.get());
        if (variant.place == bench::Place::cpu) {
          CHECK(verdict.status == bench::Status::right);
        } else if (kit::devices_here() < problem->size()) {
          CHECK(verdict.status == bench::Status::skipped);
          CHECK(verdict.reason.find("needs ") == 0);
        }
      }
    }
  };
  check(gather_ladder());
  check(scatter_ladder());
}

// Shards have no gap and differ by a unit at most; chunks cover a shard, and all but the last are
// whole pairs of tiles.
TEST_CASE("sharded: shards and chunks cover all rows") {
  for (const std::int64_t whole : {0, 1, 7, 8, 100, 1000, 1'000'001}) {
    for (const int parts : {1, 2, 3, 7, 8}) {
      for (const Shards& shards : {shards_of_rows(whole, parts), shards_of_columns(whole, parts)}) {
        CHECK(shards.first(0) == 0);
        CHECK(shards.first(parts) == whole);
        for (int i = 0; i < parts; ++i) {
          CHECK(shards.size(i) >= 0);
          CHECK(shards.size(i) <= whole / parts + 2 * shards.unit);
          CHECK(shards.first(i) % shards.unit == 0);
        }
      }
    }
    for (const int ranks : {2, 3, 4, 8}) {
      const Chunks chunks = {whole, ranks};
      std::int64_t rows = 0;
      for (int i = 0; i < chunks.count(); ++i) {
        CHECK(chunks.first(i) == rows);
        CHECK((i + 1 == chunks.count() || chunks.size(i) % kPairRows == 0));
        CHECK(chunks.size(i) > 0);
        rows += chunks.size(i);
      }
      CHECK(rows == whole);
      CHECK(chunks.count() <= (ranks == 2 ? kMostChunks : ranks == 3 ? 2 : 1));
    }
  }
}
