// Chapter 04, the rungs that only Hopper understands: right at every size, whatever the alignment,
// and again and again.
#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "04_matmul/bf16/hopper_variants.cuh"
#include "common/harness.cuh"
#include "tests/catch.hpp"

namespace {

// Sizes that the copy engine can take (n and k multiples of 8), each with something left over: one
// row; less than a step; tiles of 64, 128 and 256, and pairs of them, more and less by a little;
// more steps than the ring has stages; more tiles than there are SMs, and an odd number of them.
const std::vector<Shape> kAligned = {
    {1, 8, 8},        {2, 8, 64},      {3, 16, 72},     {63, 64, 56},    {64, 64, 64},
    {65, 72, 120},    {127, 120, 128}, {128, 128, 64},  {129, 136, 136}, {128, 256, 256},
    {255, 248, 320},  {256, 256, 384}, {257, 264, 328}, {383, 520, 200}, {384, 512, 1024},
    {1, 2048, 512},   {1031, 8, 264},  {40, 4104, 136}, {8, 8, 8192},    {64, 128, 4096},
    {641, 776, 1288}, {2100, 2056, 72}};

// Rows that begin anywhere: the rungs must leave these to another.
const std::vector<Shape> kUnaligned = {{1, 1, 1},    {2, 2, 2},     {31, 33, 32},  {129, 127, 64},
                                       {64, 64, 63}, {130, 257, 8}, {97, 101, 103}};

template <bool kTransposedB>
void check_all(const std::vector<Shape>& shapes) {
  const common::DeviceFacts device = common::query_device();
  const common::WorkStream stream(device);
  for (const auto& variant : bf16_gemm_hopper_variants<kTransposedB>()) {
    DYNAMIC_SECTION(variant.name) {
      const std::string reason = common::why_skipped(variant, device);
      if (!reason.empty()) SKIP_TEST(reason);
      for (const Shape& shape : shapes) {
        INFO("m = " << shape.m << ", n = " << shape.n << ", k = " << shape.k);
        Bf16Gemm<kTransposedB> problem(shape, 7);
        const auto verdict = common::verify(problem, variant, device, stream.get());
        INFO(verdict.reason);
        REQUIRE(verdict.status == common::Status::right);
      }
    }
  }
}

}  // namespace

TEST_CASE("Hopper rungs are right at every size, B as k x n") { check_all<false>(kAligned); }
TEST_CASE("Hopper rungs are right at every size, B as n x k") { check_all<true>(kAligned); }
TEST_CASE("Hopper rungs are right where TMA cannot read, B as k x n") {
  check_all<false>(kUnaligned);
}
TEST_CASE("Hopper rungs are right where TMA cannot read, B as n x k") {
  check_all<true>(kUnaligned);
}

TEST_CASE("Hopper rungs take matrices that begin anywhere") {
  const common::DeviceFacts device = common::query_device();
  for (const auto& variant : bf16_gemm_hopper_variants<false>()) {
    const std::string reason = common::why_skipped(variant, device);
    if (!reason.empty()) SKIP_TEST(reason);
  }
  const Shape shape{72, 80, 88};  // rows of whole 16 bytes, but not from an odd address
  Bf16Gemm<false> problem(shape, 5);
  const common::DeviceBuffer<bf16> a(problem.a.size() + 1), b(problem.b.size() + 1),
      c(problem.c.size() + 1);
  CUDA_CHECK(cudaMemcpy(a.data() + 1, problem.a.pristine(), sizeof(bf16) * problem.a.size(),
                        cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(b.data() + 1, problem.b.pristine(), sizeof(bf16) * problem.b.size(),
                        cudaMemcpyHostToDevice));
  using Multiply = void (*)(const bf16*, const bf16*, bf16*, int, int, int, cudaStream_t);
  const Multiply rungs[] = {
      bf16_gemm_wgmma<false>,
      bf16_gemm_ring<false>,
      bf16_gemm_large_tile<false>,
      bf16_gemm_persistent<false>,
      bf16_gemm_multicast<false>,
      bf16_gemm_async_store<false>,
      bf16_gemm_early_start<false>,
      bf16_gemm_by_shape<false>,
      bf16_gemm_split_sum<false>,
      bf16_gemm_narrow_edge<false>,
      [](const bf16* a, const bf16* b, bf16* c, int m, int n, int k, cudaStream_t stream) {
        bf16_gemm_shared_round<false>(a, b, c, m, n, k, nullptr, stream);
      },
      [](const bf16* a, const bf16* b, bf16* c, int m, int n, int k, cudaStream_t stream) {
        bf16_gemm_even_rounds<false>(a, b, c, m, n, k, nullptr, stream);
      }};
  for (const Multiply multiply : rungs) {
    CUDA_CHECK(cudaMemset(c.data(), 0xff, c.bytes()));  // NaN
    multiply(a.data() + 1, b.data() + 1, c.data() + 1, 72, 80, 88, nullptr);
    problem.c.reset(common::Side::host);
    CUDA_CHECK(cudaMemcpy(problem.c.on_host(), c.data() + 1, sizeof(bf16) * problem.c.size(),
                          cudaMemcpyDeviceToHost));
    CHECK(problem.check().right());
  }
}

// Whatever the plan would choose: each tile, and sums shared by each number of blocks.
TEST_CASE("every tile and every way to share a sum is right") {
  const common::DeviceFacts device = common::query_device();
  for (const auto& variant : bf16_gemm_hopper_variants<false>()) {
    const std::string reason = common::why_skipped(variant, device);
    if (!reason.empty()) SKIP_TEST(reason);
  }
  const auto check_layout = [](auto transposed) {
    constexpr bool kTransposedB = decltype(transposed)::value;
    for (const Shape shape :
         {Shape{1, 8, 520}, Shape{65, 136, 1096}, Shape{300, 520, 512}, Shape{1032, 1288, 840},
          Shape{3000, 1400, 520}, Shape{2180, 2688, 520}}) {
      Bf16Gemm<kTransposedB> problem(shape, 3);
      const auto check = [&](const std::string& what, auto launch) {
        INFO("m = " << shape.m << ", n = " << shape.n << ", k = " << shape.k << ", " << what);
        problem.each_array([](auto& array) { array.reset(common::Side::device); });
        launch();
        CUDA_CHECK(cudaDeviceSynchronize());
        problem.each_array([](auto& array) { array.fetch(common::Side::device); });
        CHECK(problem.check().right());
        CHECK(problem.c.damage().empty());
      };
      const int m = static_cast<int>(shape.m), n = static_cast<int>(shape.n),
                k = static_cast<int>(shape.k);
      const auto check_tile = [&](auto tile) {
        check("tile of " + std::to_string(tile.kRows) + " x " + std::to_string(tile.kCols), [&] {
          launch_by_shape<decltype(tile), kTransposedB>(problem.device_a(), problem.device_b(),
                                                        problem.c.on_device(), m, n, k, nullptr);
        });
      };
      check_tile(WidePair{});
      check_tile(TallPair{});
      check_tile(Wide{});
      check_tile(Middle{});
      check_tile(Square{});
      check_tile(Small{});
      const auto check_edge = [&](auto edge) {
        using Edge = decltype(edge);
        if (n % WholeTile::kCols == 0 || n % WholeTile::kCols > Edge::kCols) return;
        check("at the edge " + std::to_string(Edge::kCols) + " columns", [&] {
          launch_narrow_edge<Edge, kTransposedB>(problem.device_a(), problem.device_b(),
                                                 problem.c.on_device(), m, n, k, nullptr);
        });
      };
      check_edge(EdgeTile<64>{});
      check_edge(EdgeTile<128>{});
      const common::DeviceBuffer<char> pieces(kBytesOfPieces);
      const int clusters = clusters_that_share<kTransposedB>();
      if (share_pairs(m, n, k, clusters).pairs.count() > clusters) {
        check("shared round", [&] {
          launch_shared_round<kTransposedB>(problem.device_a(), problem.device_b(),
                                            problem.c.on_device(), m, n, k,
                                            reinterpret_cast<float4*>(pieces.data()), nullptr);
        });
      }
      each_turned_form([&](auto whole, auto edge) {
        const std::string rows = std::to_string(whole.kCols) + " and " + std::to_string(edge.kCols);
        check("turned, rows of a tile: " + rows, [&] {
          launch_even_rounds<decltype(whole), decltype(edge), kTransposedB>(
              problem.device_a(), problem.device_b(), problem.c.on_device(), m, n, k, nullptr);
        });
      });
      for (const int parts : {1, 2, 3, 4, 8}) {
        check("parts: " + std::to_string(parts), [&] {
          launch_split_sum<kTransposedB>(problem.device_a(), problem.device_b(),
                                         problem.c.on_device(), m, n, k, parts, nullptr);
        });
      }
    }
  };
  check_layout(std::false_type{});
  check_layout(std::true_type{});
}

TEST_CASE("tile and parts follow the shape") {
  const auto tile = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    std::string size;
    with_tile_by_shape(Product::of<false>(m, n, k), 132, [&](auto t) {
      size = std::to_string(t.kRows * t.kBlocksOfCluster) + " x " + std::to_string(t.kCols);
    });
    return size;
  };
  CHECK(tile(8192, 8192, 8192) == "256 x 256");
  CHECK(tile(4096, 4096, 4096) == "256 x 256");
  // 17 tiles of 256 columns would take five rounds, 33 of 128 fit into four.
  CHECK(tile(4000, 4104, 4056) == "512 x 128");
  CHECK(tile(2048, 2048, 2048) == "128 x 256");  // a single round: alone
  CHECK(tile(1024, 1024, 1024) == "64 x 128");

  const auto edge = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    return plan_edge(Product::of<false>(m, n, k), 132).cols;
  };
  CHECK(edge(4000, 4104, 4056) == 64);
  CHECK(edge(4096, 4200, 4096) == 128);
  CHECK(edge(4096, 4096, 4096) == 0);  // there is none
  CHECK(edge(5000, 5000, 5000) == 0);  // 136 columns: too many
  CHECK(edge(2000, 264, 2000) == 0);   // too few tiles

  const auto is_shared = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    return is_round_shared(Product::of<false>(m, n, k), 132, 66);
  };
  CHECK(is_shared(5000, 5000, 5000));        // six rounds and four pairs
  CHECK(!is_shared(4096, 4096, 4096));       // three rounds and 58 pairs of 66
  CHECK(!is_shared(256, 256 * 132, 16384));  // two full rounds
  CHECK(!is_shared(2048, 2048, 16384));      // less than a round

  // Rows of a whole tile and of those at the edge; 0: the rungs before are left to choose.
  const auto rows = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    const RoundsPlan plan = plan_even_rounds(Product::of<false>(m, n, k), 132, 66);
    return std::pair(plan.rows, plan.rows_at_edge);
  };
  CHECK(rows(4096, 4096, 4096) == std::pair(248, 128));  // 256 pairs and 8: four rounds
  CHECK(rows(8192, 8192, 8192) == std::pair(248, 256));  // 1024 and 32: sixteen
  CHECK(rows(2560, 2560, 2560) == std::pair(192, 256));  // 120 and 10: two, nearly
  CHECK(rows(4096, 2048, 64) == std::pair(248, 128));
  CHECK(rows(5000, 5000, 5000) == std::pair(0, 0));  // shared rounds are better
  CHECK(rows(2048, 2048, 2048) == std::pair(0, 0));  // less than a round

  const RoomForParts room = {66, 30, 14};
  const auto parts = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    return parts_of_sum(Product::of<false>(m, n, k), 132, room);
  };
  CHECK(parts(4096, 4096, 4096) == 1);
  CHECK(parts(1024, 1024, 1024) == 1);
  CHECK(parts(512, 512, 512) == 1);
  CHECK(parts(128, 128, 8192) == 8);
  CHECK(parts(120, 136, 4104) == 8);
  CHECK(parts(64, 4096, 4096) == 2);  // 32 clusters of four would not fit at once
  for (const std::int64_t m : {1, 64, 100, 1000, 10000}) {
    for (const std::int64_t n : {8, 200, 3000, 40000}) {
      for (const std::int64_t k : {1, 64, 65, 500, 5000, 100000}) {
        const int p = parts(m, n, k);
        CHECK(p <= divide_up(k, kStep));
        if (p > 1) CHECK(divide_up(m, 64) * divide_up(n, 128) <= room[p / 4]);
      }
    }
  }
}

// Whatever is left over at the edge, each row of C is in one tile.
TEST_CASE("turned tiles cover all rows") {
  each_turned_form([](auto whole, auto edge) {
    for (int m = 1; m <= 1100; ++m) {
      const EdgeOrder pairs = turned_pairs<decltype(whole), decltype(edge)>(m, 520);
      const int left = m - pairs.whole.across * whole.kCols;
      INFO("m = " << m << ", tiles of " << whole.kCols << " rows, at the edge " << edge.kCols);
      REQUIRE(left <= edge.kCols);
      REQUIRE(left > -whole.kCols);
      REQUIRE(pairs.whole.down == 3);  // of 256 columns each
      REQUIRE(pairs.at_edge == (left > 0 ? divide_up(520, 2 * edge.kRows) : 0));
    }
  });
}

// No pair is cut twice, every step is somebody's, and a piece's neighbour has the rest.
TEST_CASE("shares are as long as a pair and cover all steps") {
  for (const int clusters : {3, 5, 66, 72}) {
    for (const int across : {1, 7, 73, 200}) {
      const PairShares shares = share_pairs(300, 256 * across, 1000, clusters);
      if (shares.pairs.count() <= clusters || shares.shared == 0) continue;
      CHECK((shares.pairs.count() - shares.shared) % clusters == 0);
      CHECK(shares.shared < 2 * clusters);
      CHECK(shares.begin(0) == 0);
      CHECK(shares.begin(clusters) == std::int64_t{shares.shared} * shares.steps);
      for (int c = 0; c < clusters; ++c) {
        CHECK(shares.begin(c + 1) - shares.begin(c) >= shares.steps);
      }
    }
  }
}

// A barrier that is a phase off, or a stage freed too early, often shows only once in many runs.
// The first shape has more tiles than SMs, for the second eight blocks share each sum, the third
// has turned tiles in even rounds.
template <bool kTransposedB>
void check_a_hundred_launches() {
  const common::DeviceFacts device = common::query_device();
  const common::WorkStream stream(device);
  for (const auto& variant : bf16_gemm_hopper_variants<kTransposedB>()) {
    DYNAMIC_SECTION(variant.name) {
      const std::string reason = common::why_skipped(variant, device);
      if (!reason.empty()) SKIP_TEST(reason);
      for (const Shape shape :
           {Shape{1100, 1288, 712}, Shape{120, 136, 4104}, Shape{4096, 2048, 64}}) {
        INFO("m = " << shape.m << ", n = " << shape.n << ", k = " << shape.k);
        Bf16Gemm<kTransposedB> problem(shape, 9);
        const auto verdict = common::verify(problem, variant, device, stream.get());
        INFO(verdict.reason);
        REQUIRE(verdict.status == common::Status::right);
        const std::vector<bf16> first(problem.c.fetched(), problem.c.fetched() + problem.c.size());
        for (int i = 0; i < 10; ++i) {
          problem.c.reset(common::Side::device);
          CUDA_CHECK(cudaDeviceSynchronize());
          for (int j = 0; j < 10; ++j) variant.run(problem, stream.get());
          CUDA_CHECK(cudaStreamSynchronize(stream.get()));
          problem.c.fetch(common::Side::device);
          REQUIRE(std::memcmp(problem.c.fetched(), first.data(), first.size() * sizeof(bf16)) == 0);
        }
      }
    }
  }
}
TEST_CASE("a hundred launches in a row neither hang nor differ, B as k x n") {
  check_a_hundred_launches<false>();
}
TEST_CASE("a hundred launches in a row neither hang nor differ, B as n x k") {
  check_a_hundred_launches<true>();
}

// Two streams at once, each with its own memory for pieces: which piece of a tile comes first is a
// matter of chance, the result is not.
TEST_CASE("shared rounds in two streams do not differ") {
  const common::DeviceFacts device = common::query_device();
  for (const auto& variant : bf16_gemm_hopper_variants<false>()) {
    const std::string reason = common::why_skipped(variant, device);
    if (!reason.empty()) SKIP_TEST(reason);
  }
  Bf16Gemm<false> problem(Shape{2180, 2312, 1096}, 11);
  problem.each_array([](auto& array) { array.reset(common::Side::device); });
  struct Lane {
    common::WorkStream stream;
    common::DeviceBuffer<char> pieces{kBytesOfPieces};
    common::DeviceBuffer<bf16> c;
    explicit Lane(const common::DeviceFacts& device, std::int64_t size) : stream(device), c(size) {}
  };
  Lane lanes[] = {Lane(device, problem.c.size()), Lane(device, problem.c.size())};
  std::vector<bf16> result(problem.c.size());
  for (int i = 0; i < 100; ++i) {
    for (const Lane& lane : lanes) {
      CUDA_CHECK(cudaMemsetAsync(lane.c.data(), 0xff, lane.c.bytes(), lane.stream.get()));
      launch_shared_round<false>(problem.device_a(), problem.device_b(), lane.c.data(), 2180, 2312,
                                 1096, reinterpret_cast<float4*>(lane.pieces.data()),
                                 lane.stream.get());
    }
    for (const Lane& lane : lanes) {
      CUDA_CHECK(cudaStreamSynchronize(lane.stream.get()));
      CUDA_CHECK(cudaMemcpy(result.data(), lane.c.data(), lane.c.bytes(), cudaMemcpyDeviceToHost));
      if (i == 0 && &lane == &lanes[0]) {
        problem.c.reset(common::Side::host);
        std::copy(result.begin(), result.end(), problem.c.on_host());
        REQUIRE(problem.check().right());
      }
      REQUIRE(std::memcmp(result.data(), problem.c.on_host(), lane.c.bytes()) == 0);
    }
  }
}
