// Chapter 04, thin products: every variant is right at every size, and where rows begin anywhere.
#include <cstdint>
#include <string>
#include <vector>

#include "04_matmul/bf16/thin_ladder.cuh"
#include "common/bench/harness.cuh"
#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"
#include "common/kit/launch.cuh"
#include "tests/catch.hpp"
#include "tests/ladder_cases.hpp"
#ifdef __SIMT__
#include "simt/include/simt/profile.h"
#endif

using namespace matmul;
using namespace matmul::bf16;

namespace {

bool is_real_gpu() { return bench::query_device().is_real_gpu(); }

// One element; rows of A up to 8, 16, 32 and 64, and one more; a step of k, a stage and a ring,
// more and less by a little; fewer rows of B than SMs, and more than a tile of 64 for each.
std::vector<bench::Settings::Given> sizes() {
  std::vector<Shape> shapes = {{1, 1, 1},     {3, 17, 33},    {8, 40, 264},
                               {9, 64, 1288}, {33, 136, 392}, {65, 24, 200},
                               {1, 1100, 72}, {2, 8, 4168},   {3, 8520, 264}};
  if (is_real_gpu()) {
    for (const Shape& s : std::vector<Shape>{{16, 4096, 4096},
                                             {1, 11008, 4096},
                                             {7, 33800, 136},
                                             {17, 33792, 72},
                                             {32, 8449, 256},
                                             {64, 20001, 328},
                                             {63, 16896, 264},
                                             {130, 8448, 1032},
                                             {5, 1, 40000},
                                             {4, 4095, 4097}}) {
      shapes.push_back(s);
    }
  }
  std::vector<bench::Settings::Given> sizes;
  for (const Shape& s : shapes) sizes.push_back({{"m", s.m}, {"n", s.n}, {"k", s.k}});
  return sizes;
}

// TMA wants rows of whole 16 bytes: of A, and of B in its layout.
bool has_shares(const std::string& name) { return name == "row_shares" || name == "k_shares"; }
bool refuses(const std::string& name, const bench::Settings::Given& size) {
  return has_shares(name) && size.at("k") % 8 != 0;
}
bool refuses_kn(const std::string& name, const bench::Settings::Given& size) {
  return has_shares(name) && (size.at("k") % 8 != 0 || size.at("n") % 8 != 0);
}

}  // namespace

TEST_CASE("every variant is right with B as n x k") {
  tests::every_variant_is_right(thin_ladder<true>(), sizes(), refuses);
}

TEST_CASE("every variant is right with B as k x n") {
  tests::every_variant_is_right(thin_ladder<false>(), sizes(), refuses_kn);
}

TEST_CASE("every launch is in the stream that was given") {
  const bench::Settings::Given size = {{"m", 16}, {"n", 136}, {"k", 136}};
  tests::every_launch_is_in_its_stream(thin_ladder<true>(), size);
  tests::every_launch_is_in_its_stream(thin_ladder<false>(), size);
}

#if SIMT_INSTRUMENTED
// With one row at a time B would be read for each of them, which no result shows.
TEST_CASE("loads_ahead: each row of B is read once for eight rows of A") {
  constexpr int n = 24, k = 512;
  for (const int m : {1, 2, 8, 9}) {
    INFO(m);
    kit::DeviceBuffer<__nv_bfloat16> a(m * k), b(n * k), c(m * n);
    CUDA_CHECK(cudaMemset(a.data(), 0, a.bytes()));
    CUDA_CHECK(cudaMemset(b.data(), 0, b.bytes()));
    simt::profile_reset();
    bf16_gemm_loads_ahead(a.data(), b.data(), c.data(), m, n, k, nullptr);
    CUDA_CHECK(cudaDeviceSynchronize());
    const std::uint64_t rows = n * m + n * kit::divide_up(m, 8);  // of A for each of B, and of B
    CHECK(simt::profile("loads_ahead").global.load_bytes == rows * k * sizeof(__nv_bfloat16));
    simt::profile_stop();
  }
}
#endif

// Blocks' shares are of one size but for a unit, have no gap, and each unit's block is found; a
// tile is cut into as many parts as others, or at most once.
TEST_CASE("shares of k cover all units") {
  for (const int n : {1, 64, 65, 700, 4096, 8448, 8449, 11008, 32000}) {
    for (const int k : {1, 64, 129, 1000, 4096, 11008}) {
      for (const int unit : {128, 256}) {
        const KShares plan = plan_k_shares(n, k, unit, 132);
        INFO("n " << n << ", k " << k << ", unit " << unit);
        REQUIRE(plan.blocks >= 1);
        REQUIRE(plan.blocks <= 132);
        CHECK(plan.begin(0) == 0);
        CHECK(plan.begin(plan.blocks) == plan.all());
        bool is_right = true;
        for (int block = 0; block < plan.blocks; ++block) {
          const auto first = plan.begin(block), last = plan.begin(block + 1);
          is_right = is_right && last - first >= plan.all() / plan.blocks &&
                     last - first <= plan.all() / plan.blocks + 1 &&
                     plan.block_of(first) == block && plan.block_of(last - 1) == block;
        }
        for (int tile = 0; tile < plan.tiles; ++tile) {
          const auto first = std::int64_t{tile} * plan.units;
          const int parts = plan.block_of(first + plan.units - 1) - plan.block_of(first) + 1;
          is_right =
              is_right && (plan.tiles < 132 ? parts == plan.blocks / plan.tiles : parts <= 2);
        }
        CHECK(is_right);
      }
    }
  }
}
