// Chapter 04, products in fp8: every variant is right at every size and with every way to scale, a
// missing scale is noticed, and sums that stay in the tensor cores lose digits as k grows.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "04_matmul/fp8/chosen.cuh"
#include "04_matmul/fp8/ladder.cu"
#include "04_matmul/fp8/problem.cuh"
#include "common/bench/harness.cuh"
#include "tests/catch.hpp"
#include "tests/ladder_cases.hpp"

using namespace matmul;
using namespace matmul::fp8;

namespace {

bool is_real_gpu() { return bench::query_device().is_real_gpu(); }

// One element; C at every alignment; blocks of scales, tiles of 64, 128 and 256 and pairs of them,
// more and less by a little; more k tiles than a ring has stages.
std::vector<bench::Settings::Given> sizes() {
  std::vector<Shape> shapes = {
      {1, 1, 1}, {7, 5, 32}, {65, 72, 137}, {130, 129, 272}, {260, 40, 528}};
  if (is_real_gpu()) {
    for (const Shape& s : std::vector<Shape>{{64, 64, 64},
                                             {127, 128, 112},
                                             {128, 256, 128},
                                             {257, 263, 640},
                                             {1, 4096, 512},
                                             {4096, 1, 512},
                                             {1031, 2053, 1008},
                                             {2056, 1032, 4112},
                                             {8, 8, 16384}}) {
      shapes.push_back(s);
    }
  }
  std::vector<bench::Settings::Given> sizes;
  for (const Shape& s : shapes) sizes.push_back({{"m", s.m}, {"n", s.n}, {"k", s.k}});
  return sizes;
}

// cuBLASLt wants rows of C, and of A's scales of blocks, of whole 16 bytes.
bool refuses(const std::string& name, const bench::Settings::Given& size) {
  return name.rfind("cublaslt", 0) == 0 && size.at("n") % 8 != 0;
}
bool refuses_blocks(const std::string& name, const bench::Settings::Given& size) {
  return refuses(name, size) || (name == "cublaslt" && size.at("m") % 4 != 0);
}

// The root mean square of what a variant's result is off, over that of the result.
template <class Problem>
double relative_error(Problem& problem, const std::string& name) {
  const auto all = variants<Problem>();
  const auto verdict =
      tests::verify(problem, tests::variant_named(all, name), bench::query_device(), nullptr);
  CHECK(verdict.status == bench::Status::right);
  return 1e-3 * thousandths_off(problem, problem.c.fetched());
}

}  // namespace

TEST_CASE("every variant is right at every size, one scale a matrix") {
  tests::every_variant_is_right(ladder<Fp8Gemm<Scaling::tensor>>(), sizes(), refuses);
}

TEST_CASE("every variant is right at every size, A in E5M2") {
  tests::every_variant_is_right(ladder<Fp8Gemm<Scaling::tensor, __nv_fp8_e5m2>>(), sizes(),
                                refuses);
}

TEST_CASE("every variant is right at every size, a scale a row") {
  tests::every_variant_is_right(ladder<Fp8Gemm<Scaling::rows>>(), sizes(), refuses);
}

TEST_CASE("every variant is right at every size, a scale a block") {
  tests::every_variant_is_right(ladder<Fp8Gemm<Scaling::blocks>>(), sizes(), refuses_blocks);
}

// Every tile, and every sum whole and in parts, which have fewer k tiles than some tiles have
// workers.
template <class Problem>
void every_tile_is_right(const std::vector<Shape>& shapes) {
  const auto device = bench::query_device();
  kit::Workspace memory;
  int tile = 0;
  each_shaped_tile([&](auto, double) {
    for (const Shape& shape : shapes) {
      Problem problem(shape, 11, device.is_real_gpu());
      for (const int parts : {1, 3}) {
        const auto run = [&](const auto& x, cudaStream_t stream) {
          const ShapePlan plan = {tile, parts, 0};
          float* const sums = memory.get<float>(bytes_of_parts(plan, x.m, x.n) / 4);
          multiply_as_planned<ScalesOf<Problem>>(x, plan, sums, stream);
        };
        const auto variant = rung<Problem>("by_shape", "", run, bench::needs_exactly_sm(90));
        const auto verdict = tests::verify(problem, variant, device, nullptr);
        INFO("tile " << tile << ", m = " << shape.m << ", parts: " << parts << ": "
                     << verdict.reason);
        CHECK(verdict.status == bench::Status::right);
      }
    }
    ++tile;
  });
}

TEST_CASE("by_shape is right with every tile and a scale a row") {
  every_tile_is_right<Fp8Gemm<Scaling::rows>>({{67, 201, 400}});
}

TEST_CASE("by_shape is right with every tile and a scale a block") {
  every_tile_is_right<Fp8Gemm<Scaling::blocks>>({{130, 200, 528}});
}

TEST_CASE("by_shape is right with every tile and A in E5M2") {
  every_tile_is_right<Fp8Gemm<Scaling::tensor, __nv_fp8_e5m2>>({{5, 136, 384}});
}

TEST_CASE("every launch is in the stream that was given") {
  const bench::Settings::Given size = {{"m", 136}, {"n", 136}, {"k", 144}};
  tests::every_launch_is_in_its_stream(ladder<Fp8Gemm<Scaling::tensor>>(), size);
  tests::every_launch_is_in_its_stream(ladder<Fp8Gemm<Scaling::rows>>(), size);
  tests::every_launch_is_in_its_stream(ladder<Fp8Gemm<Scaling::blocks>>(), size);
}

TEST_CASE("the table and the shifts know all bytes") {
  const auto e4m3 = table_of_numbers<__nv_fp8_e4m3>();
  const auto e5m2 = table_of_numbers<__nv_fp8_e5m2>();
  for (int byte = 0; byte < 256; ++byte) {
    __nv_fp8_e4m3 x;
    __nv_fp8_e5m2 y;
    x.__x = y.__x = static_cast<unsigned char>(byte);
    const float as_e4m3 = static_cast<float>(x), as_e5m2 = static_cast<float>(y);
    INFO(byte);
    CHECK((e4m3[byte] == as_e4m3 || (std::isnan(e4m3[byte]) && std::isnan(as_e4m3))));
    CHECK((e5m2[byte] == as_e5m2 || (std::isnan(e5m2[byte]) && std::isnan(as_e5m2))));
    float wide = 0;
    widen(&x, &wide, 1);
    if (!std::isnan(as_e4m3)) CHECK(std::memcmp(&wide, &as_e4m3, sizeof wide) == 0);
  }
}

TEST_CASE("a missing scale is wrong, and so is a product that was left out") {
  Fp8Gemm<Scaling::blocks> problem({9, 11, 400}, 3);
  const auto correct = [&](const float* scales_a, int k) {
    Product<> x = problem.host_product();
    problem.each_array([](auto& array) { array.reset(bench::Side::host); });
    std::vector<float> changed(problem.scales_a.pristine(),
                               problem.scales_a.pristine() + problem.scales_a.size());
    if (scales_a != nullptr) changed.assign(scales_a, scales_a + changed.size());
    x.scales_a = changed.data();
    std::vector<__nv_fp8_e4m3> a(problem.a.pristine(), problem.a.pristine() + problem.a.size());
    for (int i = 0; i < x.m; ++i) {
      for (int p = k; p < x.k; ++p) a[i * x.k + p].__x = 0;
    }
    x.a = a.data();
    fp8_gemm_sequential(x, Scaling::blocks);
    return problem.check().right();
  };
  CHECK(correct(nullptr, 400));
  std::vector<float> doubled(problem.scales_a.pristine(),
                             problem.scales_a.pristine() + problem.scales_a.size());
  doubled[problem.layout.index_a(4, 399)] *= 2;
  CHECK_FALSE(correct(doubled.data(), 400));
  CHECK_FALSE(correct(nullptr, 399));
}

TEST_CASE("sums in the tensor cores lose digits with k, promoted ones do not") {
  Fp8Gemm<Scaling::tensor> problem({64, 128, 16384}, 5, is_real_gpu());
  // Rounding to bf16 alone makes 1.66e-3.
  CHECK(relative_error(problem, "promoted") < 1.75e-3);
  CHECK(relative_error(problem, "wgmma") > 2.5e-3);
}
