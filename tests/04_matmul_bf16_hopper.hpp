// Chapter 04, the rungs that only Hopper understands: right at every size, whatever the alignment,
// and again and again. A part of 04_matmul_bf16.cu: so the ladder is compiled once.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "04_matmul/bf16/c_interface.cu"
#include "04_matmul/bf16/chosen.cuh"
#include "04_matmul/bf16/problem.cuh"
#include "common/bench/harness.cuh"
#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"
#include "tests/catch.hpp"
#include "tests/ladder_cases.hpp"
#include "tests/verify.hpp"

using namespace matmul;
using namespace matmul::bf16;

namespace {

// Sizes that TMA can take (n and k multiples of 8), each with something left over: one row; less
// than a k tile; tiles of 64, 128 and 256, and pairs of them, more and less by a little; more
// k tiles than the ring has stages; more tiles than there are SMs, and an odd number of them.
const std::vector<Shape> kAligned = {
    {1, 8, 8},        {2, 8, 64},      {3, 16, 72},     {63, 64, 56},    {64, 64, 64},
    {65, 72, 120},    {127, 120, 128}, {128, 128, 64},  {129, 136, 136}, {128, 256, 256},
    {255, 248, 320},  {256, 256, 384}, {257, 264, 328}, {383, 520, 200}, {384, 512, 1024},
    {1, 2048, 512},   {1031, 8, 264},  {40, 4104, 136}, {8, 8, 8192},    {64, 128, 4096},
    {641, 776, 1288}, {2100, 2056, 72}};

// Of these, what a model GPU can check in a minute.
const std::vector<Shape> kAlignedOfModel = {
    {3, 16, 72}, {65, 72, 120}, {129, 136, 136}, {40, 264, 328}};

// Rows that begin anywhere: TMA refuses these, and with it each rung from `tma` on.
const std::vector<Shape> kUnaligned = {{1, 1, 1},    {2, 2, 2},     {31, 33, 32},  {129, 127, 64},
                                       {64, 64, 63}, {130, 257, 8}, {97, 101, 103}};

bool is_real_gpu() { return bench::query_device().is_real_gpu(); }

const std::vector<Shape>& aligned() { return is_real_gpu() ? kAligned : kAlignedOfModel; }

// The rungs that use TMA, with the device that they need.
template <bool kTransposedB>
std::vector<bench::Variant<Bf16Gemm<kTransposedB>>> tma_rungs() {
  std::vector<bench::Variant<Bf16Gemm<kTransposedB>>> rungs;
  for (const auto& variant : variants<kTransposedB>()) {
    if (variant.kind == bench::Kind::rung && variant.needs.compute_capability >= 90) {
      rungs.push_back(variant);
    }
  }
  return rungs;
}

// Why this machine cannot run all of them; empty if it can.
std::string why_not_here() {
  const bench::DeviceFacts device = bench::query_device();
  for (const auto& variant : tma_rungs<false>()) {
    const std::string reason = bench::why_skipped(variant, device);
    if (!reason.empty()) return reason;
  }
  return "";
}

template <bool kTransposedB>
void check_all(const std::vector<Shape>& shapes, bench::Status expected) {
  const bench::DeviceFacts device = bench::query_device();
  const bench::WorkStream stream(device);
  for (const auto& variant : tma_rungs<kTransposedB>()) {
    DYNAMIC_SECTION(variant.name) {
      const std::string reason = bench::why_skipped(variant, device);
      if (!reason.empty()) SKIP_SECTION(reason);
      for (const Shape& shape : shapes) {
        INFO("m = " << shape.m << ", n = " << shape.n << ", k = " << shape.k);
        Bf16Gemm<kTransposedB> problem(shape, 7, device.is_real_gpu());
        const auto verdict = tests::verify(problem, variant, device, stream.get());
        INFO(verdict.reason);
        if (expected == bench::Status::skipped && variant.name != "padded_copies") {
          REQUIRE(verdict.status == bench::Status::skipped);
          REQUIRE(verdict.reason == "needs rows of 16 bytes");
        } else {
          REQUIRE(verdict.status == bench::Status::right);
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("Hopper rungs are right at every size, B as k x n") {
  check_all<false>(aligned(), bench::Status::right);
}
TEST_CASE("Hopper rungs are right at every size, B as n x k") {
  check_all<true>(aligned(), bench::Status::right);
}
TEST_CASE("Hopper rungs skip what TMA cannot read, or copy it, B as k x n") {
  check_all<false>(kUnaligned, bench::Status::skipped);
}
TEST_CASE("Hopper rungs skip what TMA cannot read, or copy it, B as n x k") {
  check_all<true>(kUnaligned, bench::Status::skipped);
}

TEST_CASE("the C interface multiplies, or says why it does not") {
  const kit::DeviceBuffer<char> scratch(bf16_gemm_scratch(65, 72, 120));
  const auto run = [&](Bf16Gemm<false>& p, cudaStream_t stream) {
    const Shape& s = p.shape;
    REQUIRE(bf16_gemm(p.device_a(), p.device_b(), p.c.device_data(), scratch.data(),
                      static_cast<int>(s.m), static_cast<int>(s.n), static_cast<int>(s.k),
                      stream) == 0);
  };
  const auto variant = bench::device_variant<Bf16Gemm<false>>("chosen", "through C", run,
                                                              bench::needs_exactly_sm(90));
  const bench::DeviceFacts device = bench::query_device();
  const std::string reason = bench::why_skipped(variant, device);
  if (!reason.empty()) SKIP_TEST(reason);
  const bench::WorkStream stream(device);
  Bf16Gemm<false> problem({65, 72, 120}, 7, device.is_real_gpu());
  REQUIRE(tests::verify(problem, variant, device, stream.get()).status == bench::Status::right);
  CHECK(bf16_gemm(nullptr, nullptr, nullptr, scratch.data(), 0, 9, 7, stream.get()) == 1);
}

TEST_CASE("matrices that do not begin on 16 bytes are refused, whatever their rows") {
  const auto at = [](int elements) { return reinterpret_cast<const Element*>(2 * elements); };
  CHECK(have_vector_rows<false>(at(64), at(64), at(64), 80, 88));
  CHECK(have_vector_rows<true>(at(64), at(64), at(64), 80, 88));
  CHECK(!have_vector_rows<false>(at(65), at(64), at(64), 80, 88));
  CHECK(!have_vector_rows<false>(at(64), at(68), at(64), 80, 88));
  CHECK(!have_vector_rows<true>(at(64), at(64), at(66), 80, 88));
  CHECK(!have_vector_rows<false>(at(64), at(64), at(64), 84, 88));
  CHECK(!have_vector_rows<true>(at(64), at(64), at(64), 80, 92));
  CHECK_THROWS_AS(require_vector_rows<false>(at(64), at(64), at(64), 84, 88), kit::Skip);
}

// Three matrices with rows that begin anywhere, filled so that every sum is exact: what lies
// between rows is large, and must neither be read nor written.
template <bool kTransposedB>
struct AnywhereCase {
  int m, n, k;
  int skip[3], between[3];  // elements before A, B and C, and after each of their rows
  std::uint64_t seed;

  struct Matrix {
    int rows, cols, skip;
    std::int64_t pitch;
    std::vector<Element> values;

    std::int64_t at(int i, int j) const { return skip + i * pitch + j; }
  };
  Matrix matrix(int which, int rows, int cols) const {
    Matrix x{rows, cols, skip[which], cols + between[which], {}};
    x.values.assign(x.at(rows, 0), static_cast<Element>(1e30f));
    for (int i = 0; i < rows && which < 2; ++i) {
      for (int j = 0; j < cols; ++j) {
        const float value = 3.99f * kit::random_float(seed + which, x.at(i, j));
        x.values[x.at(i, j)] = static_cast<Element>(static_cast<float>(static_cast<int>(value)));
      }
    }
    return x;
  }

  // How many elements of C, and of what lies around them, are not as they should be. multiply: of
  // (operands, scratch).
  template <class Multiply>
  int wrong(Multiply multiply) const {
    const Matrix a = matrix(0, m, k);
    const Matrix b = kTransposedB ? matrix(1, n, k) : matrix(1, k, n);
    Matrix c = matrix(2, m, n);
    std::vector<Element> expected = c.values;
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < n; ++j) {
        float sum = 0;
        for (int p = 0; p < k; ++p) {
          const auto from_b = b.values[kTransposedB ? b.at(j, p) : b.at(p, j)];
          sum += static_cast<float>(a.values[a.at(i, p)]) * static_cast<float>(from_b);
        }
        expected[c.at(i, j)] = static_cast<Element>(sum);
      }
    }
    const auto copy_of = [](const Matrix& x) {
      kit::DeviceBuffer<Element> copy(static_cast<std::int64_t>(x.values.size()));
      CUDA_CHECK(cudaMemcpy(copy.data(), x.values.data(), copy.bytes(), cudaMemcpyHostToDevice));
      return copy;
    };
    const auto on_a = copy_of(a), on_b = copy_of(b), on_c = copy_of(c);
    const Operands x = {{on_a.data() + a.skip, a.pitch},
                        {on_b.data() + b.skip, b.pitch},
                        {on_c.data() + c.skip, c.pitch}};
    const kit::DeviceBuffer<unsigned char> scratch(scratch_bytes<kTransposedB>(x, m, n, k));
    multiply(x, scratch.data());
    CUDA_CHECK(cudaDeviceSynchronize());
    CUDA_CHECK(cudaMemcpy(c.values.data(), on_c.data(), on_c.bytes(), cudaMemcpyDeviceToHost));
    int count = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      count += std::memcmp(&expected[i], &c.values[i], sizeof expected[i]) != 0;
    }
    return count;
  }
};

template <bool kTransposedB>
void check_anywhere(const AnywhereCase<kTransposedB>& x) {
  INFO("m = " << x.m << ", n = " << x.n << ", k = " << x.k << ", B as n x k: " << kTransposedB);
  INFO("before: " << x.skip[0] << ' ' << x.skip[1] << ' ' << x.skip[2]);
  INFO("between: " << x.between[0] << ' ' << x.between[1] << ' ' << x.between[2]);
  CHECK(x.wrong([&](const Operands& operands, void* scratch) {
    multiply_by_choice<kTransposedB>(operands, x.m, x.n, x.k, scratch, nullptr);
  }) == 0);
  // Tiles that are fitted, too, by their height and by their width.
  const auto check_fitted = [&](auto tile) {
    INFO("tile of " << tile.kTileM << " x " << tile.kTileN);
    CHECK(x.wrong([&](const Operands& operands, void* scratch) {
      const Operands tight = with_tight_rows<kTransposedB>(operands, x.m, x.n, x.k,
                                                           static_cast<Element*>(scratch), nullptr);
      launch_fitted_tile<decltype(tile), kTransposedB>(tight, !can_store(tight.c, x.n), x.m, x.n,
                                                       x.k, nullptr);
    }) == 0);
  };
  check_fitted(FittedTile<Fitted::height, 1, 1, 64, 1>{});  // two k tiles in a stage
  check_fitted(FittedTile<Fitted::height, 2, 1, 112, 1, 2>{});
  check_fitted(FittedTile<Fitted::width, 2, 1, 80, 2>{});
  check_fitted(FittedTile<Fitted::width, 2, 1, 96, 4>{});
  // And the rung that large products take.
  const std::int64_t pitch = x.n + x.between[2];
  if (x.skip[2] % 8 == 0 && pitch % 8 == 0 && x.n % 8 == 0) return;  // TMA can store C
  CHECK(x.wrong([&](const Operands& operands, void* scratch) {
    const Operands tight = with_tight_rows<kTransposedB>(operands, x.m, x.n, x.k,
                                                         static_cast<Element*>(scratch), nullptr);
    multiply_in_full_waves<kTransposedB, true>(tight, x.m, x.n, x.k, nullptr);
  }) == 0);
}

// a: elements before A, B and C, and after each of their rows.
void check_both_layouts(int m, int n, int k, const std::array<int, 6>& a, std::uint64_t seed) {
  check_anywhere<false>({m, n, k, {a[0], a[1], a[2]}, {a[3], a[4], a[5]}, seed});
  check_anywhere<true>({m, n, k, {a[0], a[1], a[2]}, {a[3], a[4], a[5]}, seed});
}

TEST_CASE("rows may begin anywhere") {
  const std::string reason = why_not_here();
  if (!reason.empty()) SKIP_TEST(reason);
  check_both_layouts(1, 1, 1, {0, 0, 0, 0, 0, 0}, 1);
  check_both_layouts(7, 9, 200, {1, 3, 5, 1, 2, 3}, 2);
  check_both_layouts(129, 127, 65, {0, 0, 0, 0, 0, 0}, 3);
  check_both_layouts(16, 75, 72, {0, 0, 0, 0, 5, 5}, 4);  // C is tight but for its right edge
  // Few rows of A: row_shares or k_shares with C anywhere and with rows apart, and
  // direct_fragments.
  check_both_layouts(5, 700, 72, {0, 0, 1, 0, 0, 3}, 5);
  check_both_layouts(17, 600, 40, {8, 16, 0, 8, 8, 8}, 6);
  check_both_layouts(9, 640, 33, {0, 0, 0, 0, 0, 0}, 7);
  check_both_layouts(70, 536, 264, {0, 0, 1, 0, 0, 0}, 8);
  check_both_layouts(8, 8, 2056, {0, 0, 0, 0, 0, 8}, 9);  // split_k, and rows of C apart
  const int more = is_real_gpu() ? 150 : 0;
  for (int i = 0; i < more; ++i) {
    int drawn = 0;
    const auto draw = [&](int below) {
      const float from_0_to_1 = 0.5f * (kit::random_float(i, drawn++) + 1);
      return static_cast<int>(from_0_to_1 * static_cast<float>(below));
    };
    const int m = 1 + draw(700), n = 1 + draw(900), k = 1 + draw(500);
    std::array<int, 6> around;
    for (int& elements : around) elements = draw(3) == 0 ? draw(20) : 0;
    check_both_layouts(m, n, k, around, 10 + i);
  }
}

// Whatever the plan would choose: each tile, and sums shared by each number of blocks.
TEST_CASE("every tile and every way to split a sum is right") {
  const std::string reason = why_not_here();
  if (!reason.empty()) SKIP_TEST(reason);
  const auto check_layout = [](auto transposed) {
    constexpr bool kTransposedB = decltype(transposed)::value;
    const std::vector<Shape> shapes =
        is_real_gpu() ? std::vector<Shape>{{1, 8, 520},       {65, 136, 1096},   {300, 520, 512},
                                           {1032, 1288, 840}, {3000, 1400, 520}, {2180, 2688, 520}}
                      : std::vector<Shape>{{65, 136, 520}};
    for (const Shape& shape : shapes) {
      Bf16Gemm<kTransposedB> problem(shape, 3);
      const auto check = [&](const std::string& what, auto launch) {
        INFO("m = " << shape.m << ", n = " << shape.n << ", k = " << shape.k << ", " << what);
        problem.each_array([](auto& array) { array.reset(bench::Side::device); });
        launch();
        CUDA_CHECK(cudaDeviceSynchronize());
        problem.each_array([](auto& array) { array.fetch(bench::Side::device); });
        CHECK(problem.check().right());
        CHECK(problem.c.damage() == "");
      };
      const int m = static_cast<int>(shape.m), n = static_cast<int>(shape.n),
                k = static_cast<int>(shape.k);
      const Operands x = dense<kTransposedB>(problem.device_a(), problem.device_b(),
                                             problem.c.device_data(), n, k);
      const auto check_tile = [&](auto tile) {
        check("tile of " + std::to_string(tile.kTileM) + " x " + std::to_string(tile.kTileN),
              [&] { launch_by_shape<decltype(tile), kTransposedB, false>(x, m, n, k, nullptr); });
        check("by loads and stores, tile of " + std::to_string(tile.kTileM),
              [&] { launch_by_shape<decltype(tile), kTransposedB, true>(x, m, n, k, nullptr); });
      };
      check_tile(WidePair{});
      check_tile(TallPair{});
      check_tile(Wide{});
      check_tile(Middle{});
      check_tile(Square{});
      check_tile(Small{});
      int fitted = 0;
      each_fitted_tile([&](auto tile) {
        // One of each kind, where a model GPU takes seconds for what a GPU does in microseconds.
        const auto is_kind = [&](int i) { return fitted == i; };
        ++fitted;
        constexpr std::array<int, 11> kKinds = {1, 2, 6, 7, 12, 17, 20, 25, 29, 31, 35};
        if (!is_real_gpu() && std::none_of(kKinds.begin(), kKinds.end(), is_kind)) return;
        check(
            "fitted tile of " + std::to_string(tile.kTileM) + " x " + std::to_string(tile.kTileN),
            [&] { launch_fitted_tile<decltype(tile), kTransposedB>(x, false, m, n, k, nullptr); });
        check("stored by threads, fitted tile of " + std::to_string(tile.kTileM),
              [&] { launch_fitted_tile<decltype(tile), kTransposedB>(x, true, m, n, k, nullptr); });
      });
      const auto check_edge = [&](auto edge) {
        using Edge = decltype(edge);
        if (n % WholeTile::kTileN == 0 || n % WholeTile::kTileN > Edge::kTileN) return;
        check("at the edge " + std::to_string(Edge::kTileN) + " columns",
              [&] { launch_narrow_edge<Edge, kTransposedB>(x, m, n, k, nullptr); });
      };
      check_edge(EdgeTile<64>{});
      check_edge(EdgeTile<128>{});
      const kit::DeviceBuffer<char> partials(kPartialBytes);
      const int clusters = stream_k_clusters<kTransposedB>();
      if (plan_stream_k(m, n, k, clusters).shared > 0) {
        check("stream-k", [&] {
          launch_stream_k<kTransposedB>(x, m, n, k, reinterpret_cast<float4*>(partials.data()),
                                        nullptr);
        });
      }
      each_transposed_form([&](auto whole, auto edge) {
        const std::string rows =
            std::to_string(whole.kTileN) + " and " + std::to_string(edge.kTileN);
        check("transposed, rows of a tile: " + rows, [&] {
          launch_full_waves<decltype(whole), decltype(edge), kTransposedB, false>(x, m, n, k,
                                                                                  nullptr);
        });
        check("the same by loads and stores: " + rows, [&] {
          launch_full_waves<decltype(whole), decltype(edge), kTransposedB, true>(x, m, n, k,
                                                                                 nullptr);
        });
      });
      each_late_form([&](auto whole, auto edge) {
        using Whole = decltype(whole);
        using Edge = decltype(edge);
        const std::string rows =
            std::to_string(Whole::kTileN) + " and " + std::to_string(Edge::kTileN);
        check("stored late, rows of a tile: " + rows,
              [&] { launch_late_store<Whole, Edge, kTransposedB>(x, m, n, k, nullptr); });
      });
      each_split_tile([&](auto tile) {
        using T = decltype(tile);
        const bool is_kind = T::kFitted == 112;  // of one warpgroup, of two, and a pair
        if (!is_real_gpu() && !is_kind) return;
        const int tiles = static_cast<int>(count_tiles<T>(m, n));
        for (const int parts : {1, 2, 3, 8}) {
          const kit::DeviceBuffer<float4> sums(PartialSums<T>{nullptr, tiles, parts}.bytes() / 16);
          check("parts: " + std::to_string(parts) + ", tile of " + std::to_string(T::kTileM) +
                    " x " + std::to_string(T::kTileN) + ", blocks: " + std::to_string(T::kCluster),
                [&] { launch_split_k<T, kTransposedB>(x, m, n, k, parts, sums.data(), nullptr); });
        }
      });
    }
  };
  check_layout(std::false_type{});
  check_layout(std::true_type{});
}

// Each cluster has several tiles, so one waits while the next is computed; with one or three k
// tiles some of its slabs are left over then.
TEST_CASE("late_store: no tile is lost while it waits") {
  const std::string reason = why_not_here();
  if (!reason.empty()) SKIP_TEST(reason);
  const int cols = 256 * (kit::multiprocessor_count() / kClusterSize + 9) + 8;
  for (const int k : is_real_gpu() ? std::vector<int>{64, 136, 328} : std::vector<int>{136}) {
    Bf16Gemm<true> problem({200, cols, k}, 3);
    const Operands x =
        dense<true>(problem.device_a(), problem.device_b(), problem.c.device_data(), cols, k);
    each_late_form([&](auto whole, auto edge) {
      using Whole = decltype(whole);
      using Edge = decltype(edge);
      if (!is_real_gpu() && (Whole::kTileN == 256 || Edge::kTileN == 256)) return;
      INFO("k = " << k << ", rows: " << Whole::kTileN << " and " << Edge::kTileN);
      problem.each_array([](auto& array) { array.reset(bench::Side::device); });
      launch_late_store<Whole, Edge, true>(x, 200, cols, k, nullptr);
      CUDA_CHECK(cudaDeviceSynchronize());
      problem.each_array([](auto& array) { array.fetch(bench::Side::device); });
      CHECK(problem.check().right());
      CHECK(problem.c.damage() == "");
    });
  }
}

TEST_CASE("tile and parts follow the shape") {
  const auto tile = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    std::string size;
    with_cheapest_tile(Product::of<false>(m, n, k), 132, [&](auto t) {
      size = std::to_string(t.kTileM * t.kCluster) + " x " + std::to_string(t.kTileN);
    });
    return size;
  };
  CHECK(tile(8192, 8192, 8192) == "256 x 256");
  CHECK(tile(4096, 4096, 4096) == "256 x 256");
  // 17 tiles of 256 columns would take five rounds, 33 of 128 fit into four.
  CHECK(tile(4000, 4104, 4056) == "512 x 128");
  CHECK(tile(2048, 2048, 2048) == "128 x 256");  // a single round: alone
  CHECK(tile(1024, 1024, 1024) == "64 x 128");

  const auto edge = [](std::int64_t n) { return edge_columns(n); };
  CHECK(edge(4104) == 64);
  CHECK(edge(4200) == 128);
  CHECK(edge(4096) == 0);  // there is none
  CHECK(edge(5000) == 0);  // 136 columns: too many

  // Rows of a whole tile and of those at the edge.
  const auto rows = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    const PairsPlan plan = plan_full_waves(Product::of<false>(m, n, k), 66);
    return std::pair(plan.rows, plan.rows_at_edge);
  };
  CHECK(rows(4096, 4096, 4096) == std::pair(248, 128));  // 256 pairs and 8: four waves
  CHECK(rows(8192, 8192, 8192) == std::pair(248, 256));  // 1024 and 32: sixteen
  CHECK(rows(2560, 2560, 2560) == std::pair(192, 256));  // 120 and 10: two, nearly
  CHECK(rows(4096, 2048, 64) == std::pair(248, 128));

  const auto parts = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    return plan_split_k(Product::of<false>(m, n, k), 132).parts;
  };
  CHECK(next_parts(10, 2) == 3);  // 5 k tiles, then 4
  CHECK(next_parts(10, 3) == 4);
  CHECK(next_parts(10, 5) == 10);  // 2, then 1
  CHECK(next_parts(10, 10) > 1000);
  CHECK(parts(4096, 4096, 4096) == 1);
  CHECK(parts(1024, 1024, 1024) == 1);
  CHECK(parts(512, 512, 512) == 1);
  CHECK(parts(128, 128, 8192) > 8);
  CHECK(parts(768, 768, 8192) == 3);  // 42 tiles of 112 x 128
  for (const std::int64_t m : {1, 64, 100, 1000, 10000}) {
    for (const std::int64_t n : {8, 200, 3000, 40000}) {
      for (const std::int64_t k : {1, 64, 65, 500, 5000, 100000}) {
        const int p = parts(m, n, k);
        CHECK(p <= kit::divide_up(k, kTileK));
        if (p > 1) CHECK(p * m * n * 4 <= kMostSplitBytes);
      }
    }
  }
}

TEST_CASE("a plan that is remembered is that of its own product") {
  // Far more products than there are places, and each twice.
  for (int round = 0; round < 2; ++round) {
    for (const int k : {64, 512, 4096, 8192}) {
      for (int m = 64; m <= 1024; m += 192) {
        for (int n = 64; n <= 1024; n += 192) {
          for (const double reads : {1.0, 1.25}) {
            for (const bool transposed : {false, true}) {
              const Product product(m, n, k, reads, 1, transposed);
              const SplitPlan plan = plan_split_k(product, 132),
                              made = make_split_plan(product, 132);
              CHECK(std::tie(plan.tile, plan.parts, plan.cycles) ==
                    std::tie(made.tile, made.parts, made.cycles));
              for (const bool is_loose : {false, true}) {
                CHECK(cheapest_rung(product, {132, 66}, is_loose) ==
                      find_cheapest_rung(product, {132, 66}, is_loose));
              }
            }
          }
        }
      }
    }
  }
  const Product product(256, 256, 16384, 1, 1, true);
  CHECK(plan_split_k(product, 132).parts > plan_split_k(product, 16).parts);  // of another device
}

// With the numbers of an H200.
TEST_CASE("the chooser takes the rung that should be fastest") {
  const auto chosen = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    return cheapest_rung(Product::of<false>(m, n, k), {132, 66}, false);
  };
  CHECK(chosen(4096, 4096, 4096) == "late_store");
  CHECK(chosen(8192, 8192, 8192) == "late_store");
  CHECK(chosen(16384, 4096, 512) == "late_store");
  CHECK(chosen(16384, 4096, 128) != "late_store");  // two k tiles: too few
  CHECK(chosen(2560, 2560, 2560) == "fitted_tile");
  CHECK(chosen(4104, 4104, 4104) == "fitted_tile");
  CHECK(chosen(5000, 5000, 5000) == "fitted_tile");      // five waves of 152 x 256
  CHECK(chosen(512, 128256, 4096) == "stream_k");        // 1002 pairs: 15 waves and twelve
  CHECK(chosen(256, 256 * 132, 16384) == "late_store");  // two full waves
  CHECK(chosen(2048, 2048, 2048) == "by_shape");         // less than a wave
  CHECK(chosen(2048, 2048, 16384) == "by_shape");
  CHECK(chosen(1024, 1024, 1024) == "by_shape");
  CHECK(chosen(512, 512, 512) == "fitted_tile");  // 64 tiles of 64 x 64
  CHECK(chosen(128, 128, 8192) == "split_k");
  CHECK(chosen(120, 136, 4104) == "split_k");
  CHECK(chosen(160, 8192, 8192) == "fitted_tile");  // 128 tiles of 160 x 64
  CHECK(chosen(768, 768, 8192) == "split_k");
  CHECK(chosen(40, 5120, 5120) == "split_k");      // a whole tile would have rows outside
  CHECK(chosen(704, 904, 3000) == "fitted_tile");  // a wave of small ones
  CHECK(chosen(4000, 4104, 4056) == "narrow_edge");
  // The tiles at its edge are narrow: where rows do not begin at sectors, loading them takes longer
  // than to multiply them.
  CHECK(chosen(1736, 2312, 3000) == "fitted_tile");
  // Where TMA cannot store C, stream_k and narrow_edge cannot either.
  const auto chosen_for_loose = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    return cheapest_rung(Product::of<false>(m, n, k), {132, 66}, true);
  };
  CHECK(chosen_for_loose(4096, 4096, 4096) == "full_waves");
  CHECK(chosen_for_loose(5000, 5000, 5000) != "stream_k");
  CHECK(chosen_for_loose(16383, 1025, 65) == "fitted_tile");  // nobody waits for a slab of C
  CHECK(chosen(16383, 1025, 65) != "fitted_tile");
  CHECK(chosen_for_loose(120, 136, 4104) == "split_k");

  const auto thin = [](int m, int n, int k) {
    return thin_rung<true>(dense<true>(nullptr, nullptr, nullptr, n, k), m, n, k, 132);
  };
  CHECK(thin(32, 4096, 4096) == "row_shares");
  CHECK(thin(33, 4096, 4096) == "");
  CHECK(thin(128, 5632, 8192) == "");
  CHECK(thin(128, 5640, 8192) == "k_shares");
  CHECK(thin(129, 5640, 8192) == "");
}

// With the numbers of an H200.
TEST_CASE("the fitted tile fills the waves") {
  const auto taken = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    const int place = plan_fitted_tile(Product::of<true>(m, n, k), 132, false).tile;
    std::pair<int, int> size;
    int i = 0;
    each_fitted_tile([&](auto tile) {
      if (i++ == place) size = {tile.kTileM, tile.kTileN};
    });
    return size;
  };
  CHECK(taken(2056, 2056, 2056) == std::pair(176, 192));  // 12 x 11 tiles: one wave
  CHECK(taken(2304, 2304, 2304) == std::pair(168, 128));  // 14 x 18: two, nearly
  CHECK(taken(2200, 2200, 2200) == std::pair(160, 256));  // 14 x 9: one, nearly
  CHECK(taken(4104, 4104, 4104) == std::pair(176, 192));  // 24 x 22: four
  CHECK(taken(2560, 2560, 2560) == std::pair(208, 128));  // 13 x 20: two, nearly
  CHECK(taken(128, 14336, 4096) == std::pair(128, 128));  // 112, in clusters of four: one
  CHECK(taken(1536, 1536, 8192) == std::pair(144, 128));  // 11 x 12: one
  // Few tiles: small ones.
  CHECK(taken(384, 1024, 1024) == std::pair(64, 64));
  CHECK(taken(448, 2688, 5376) == std::pair(160, 64));
}

TEST_CASE("the tiles of a tall matrix come row by row if they are one wave") {
  CHECK(one_wave_schedule(1920, 384, 128, 64, 132).group_rows == 1);
  CHECK(one_wave_schedule(1920, 384, 128, 64, 89).group_rows == 16);  // 90 tiles
  CHECK(one_wave_schedule(384, 1920, 128, 64, 132).group_rows == 16);
}

// Whatever is left over at the edge, each row of C is in one tile.
TEST_CASE("transposed tiles cover all rows") {
  each_transposed_form([](auto whole, auto edge) {
    for (int m = 1; m <= 1100; ++m) {
      const EdgeSchedule pairs = transposed_pairs<decltype(whole), decltype(edge)>(m, 520);
      const int left = m - pairs.whole.across * whole.kTileN;
      INFO("m = " << m << ", tiles of " << whole.kTileN << " rows, at the edge " << edge.kTileN);
      REQUIRE(left <= edge.kTileN);
      REQUIRE(left > -whole.kTileN);
      REQUIRE(pairs.whole.down == 3);  // of 256 columns each
      REQUIRE(pairs.at_edge == (left > 0 ? kit::divide_up(520, 2 * edge.kTileM) : 0));
    }
  });
}

// No pair is cut twice, every k tile is somebody's, and a neighbour has the rest of a pair.
TEST_CASE("Stream-K's shares are as long as a pair and cover all k tiles") {
  for (const int clusters : {3, 5, 66, 72}) {
    for (const int across : {1, 7, 73, 200}) {
      const StreamKPlan plan = plan_stream_k(300, 256 * across, 1000, clusters);
      if (plan.pairs.count() <= clusters) CHECK(plan.shared == 0);
      if (plan.shared == 0) continue;
      CHECK((plan.pairs.count() - plan.shared) % clusters == 0);
      CHECK(plan.shared < 2 * clusters);
      CHECK(plan.begin(0) == 0);
      CHECK(plan.begin(clusters) == std::int64_t{plan.shared} * plan.k_tiles);
      for (int c = 0; c < clusters; ++c) {
        CHECK(plan.begin(c + 1) - plan.begin(c) >= plan.k_tiles);
      }
    }
  }
}

// A barrier that is a phase off, or a stage freed too early, often shows only once in many runs.
// The first shape has more tiles than SMs, for the second eight blocks share each sum, the third
// fills all waves with transposed tiles.
template <bool kTransposedB>
void check_a_hundred_launches() {
  const bench::DeviceFacts device = bench::query_device();
  if (!device.is_real_gpu()) SKIP_TEST("a hundred launches take too long without a GPU");
  const bench::WorkStream stream(device);
  for (const auto& variant : tma_rungs<kTransposedB>()) {
    DYNAMIC_SECTION(variant.name) {
      const std::string reason = bench::why_skipped(variant, device);
      if (!reason.empty()) SKIP_SECTION(reason);
      for (const Shape shape :
           {Shape{1100, 1288, 712}, Shape{120, 136, 4104}, Shape{4096, 2048, 64}}) {
        INFO("m = " << shape.m << ", n = " << shape.n << ", k = " << shape.k);
        Bf16Gemm<kTransposedB> problem(shape, 9);
        const auto verdict = tests::verify(problem, variant, device, stream.get());
        INFO(verdict.reason);
        REQUIRE(verdict.status == bench::Status::right);
        const std::vector<Element> first(problem.c.fetched(),
                                         problem.c.fetched() + problem.c.size());
        for (int i = 0; i < 10; ++i) {
          problem.c.reset(bench::Side::device);
          CUDA_CHECK(cudaDeviceSynchronize());
          for (int j = 0; j < 10; ++j) variant.run(problem, stream.get());
          CUDA_CHECK(cudaStreamSynchronize(stream.get()));
          problem.c.fetch(bench::Side::device);
          REQUIRE(std::memcmp(problem.c.fetched(), first.data(), first.size() * sizeof(Element)) ==
                  0);
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

// Two streams at once, each with its own memory for partial sums: which of a tile comes first is a
// matter of chance, the result is not.
TEST_CASE("Stream-K in two streams does not differ") {
  const std::string reason = why_not_here();
  if (!reason.empty()) SKIP_TEST(reason);
  if (!is_real_gpu()) SKIP_TEST("a hundred launches take too long without a GPU");
  const bench::DeviceFacts device = bench::query_device();
  Bf16Gemm<false> problem(Shape{2180, 2312, 1096}, 11);
  problem.each_array([](auto& array) { array.reset(bench::Side::device); });
  CUDA_CHECK(cudaDeviceSynchronize());
  struct Lane {
    bench::WorkStream stream;
    kit::DeviceBuffer<char> partials{kPartialBytes};
    kit::DeviceBuffer<Element> c;
    explicit Lane(const bench::DeviceFacts& device, std::int64_t size) : stream(device), c(size) {}
  };
  Lane lanes[] = {Lane(device, problem.c.size()), Lane(device, problem.c.size())};
  std::vector<Element> result(problem.c.size());
  for (int i = 0; i < 100; ++i) {
    for (const Lane& lane : lanes) {
      CUDA_CHECK(cudaMemsetAsync(lane.c.data(), 0xff, lane.c.bytes(), lane.stream.get()));
      launch_stream_k<false>(
          dense<false>(problem.device_a(), problem.device_b(), lane.c.data(), 2312, 1096), 2180,
          2312, 1096, reinterpret_cast<float4*>(lane.partials.data()), lane.stream.get());
    }
    for (const Lane& lane : lanes) {
      CUDA_CHECK(cudaStreamSynchronize(lane.stream.get()));
      CUDA_CHECK(cudaMemcpy(result.data(), lane.c.data(), lane.c.bytes(), cudaMemcpyDeviceToHost));
      if (i == 0 && &lane == &lanes[0]) {
        problem.c.reset(bench::Side::host);
        std::copy(result.begin(), result.end(), problem.c.host_data());
        REQUIRE(problem.check().right());
      }
      REQUIRE(std::memcmp(result.data(), problem.c.host_data(), lane.c.bytes()) == 0);
    }
  }
}
