// Chapter 04, thin products: every variant is right at every size, and where rows begin anywhere.
#include <string>
#include <vector>

#include "04_matmul/bf16/thin_ladder.cuh"
#include "common/bench/harness.cuh"
#include "tests/catch.hpp"
#include "tests/ladder_cases.hpp"

using namespace matmul;
using namespace matmul::bf16;

namespace {

bool is_real_gpu() { return bench::query_device().is_real_gpu(); }

// One element; rows of A up to 8, 16, 32 and 64, and one more; a step of k, a stage and a ring,
// more and less by a little; fewer rows of B than SMs, and more than one tile for each.
std::vector<bench::Settings::Given> sizes() {
  std::vector<Shape> shapes = {{1, 1, 1},      {3, 17, 33},   {8, 40, 264},  {9, 64, 1288},
                               {33, 136, 392}, {65, 24, 200}, {1, 1100, 72}, {2, 8, 4168}};
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

// TMA wants rows of whole 16 bytes.
bool refuses(const std::string& name, const bench::Settings::Given& size) {
  return name == "row_shares" && size.at("k") % 8 != 0;
}

}  // namespace

TEST_CASE("every variant is right at every size") {
  tests::every_variant_is_right(thin_ladder(), sizes(), refuses);
}

TEST_CASE("every launch is in the stream that was given") {
  tests::every_launch_is_in_its_stream(thin_ladder(), {{"m", 16}, {"n", 136}, {"k", 136}});
}
