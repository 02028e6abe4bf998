// Chapter 04, tensor cores: every variant is right at every size and in both layouts of B, the
// bound lets one rounding pass and nothing else, the swizzle does what the lesson claims.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "04_matmul/bf16/ladder.cu"
#include "04_matmul/bf16/problem.cuh"
#include "common/bench/harness.cuh"
#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"
#include "common/kit/swizzle.cuh"
#include "tests/04_matmul_bf16_hopper.hpp"
#include "tests/catch.hpp"
#include "tests/ladder_cases.hpp"
#include "tests/run_command.hpp"

using namespace matmul;
using namespace matmul::bf16;

namespace {

// One, a warp, the tiles of all rungs (16, 32, 64, 128, 256) each more and less by one; primes;
// tall, wide and deep; sums of one product; rows of whole 16 bytes and tiles that end in them.
const std::vector<Shape> kShapes = {
    {1, 1, 1},       {2, 2, 2},       {3, 3, 3},       {8, 8, 8},       {15, 17, 16},
    {31, 31, 31},    {32, 32, 32},    {33, 33, 33},    {63, 65, 7},     {64, 64, 8},
    {65, 63, 9},     {127, 127, 15},  {128, 128, 16},  {129, 129, 17},  {127, 255, 63},
    {128, 256, 64},  {129, 257, 65},  {101, 103, 107}, {997, 2, 3},     {2, 997, 5},
    {3, 5, 997},     {1, 300, 1},     {300, 1, 1},     {1, 1, 2000},    {64, 72, 504},
    {264, 520, 136}, {136, 264, 8},   {8, 1024, 24},   {255, 511, 127}, {257, 513, 129},
    {256, 8, 2048},  {120, 248, 1000}};

// Rungs that use TMA refuse rows that do not begin on 16 bytes, and nothing else refuses anything.
template <bool kTransposedB>
void check_all_sizes() {
  // What a model GPU checks of a tensor core takes long: there a few shapes must do.
  std::vector<Shape> shapes = {{1, 1, 1},    {3, 3, 3},      {33, 33, 33}, {65, 63, 9},
                               {64, 72, 72}, {129, 129, 17}, {136, 264, 8}};
  if (is_real_gpu()) {
    shapes = kShapes;
    shapes.push_back({1031, 2053, 1021});
    shapes.push_back({2056, 1032, 4104});
  }
  std::vector<bench::Settings::Given> sizes;
  for (const Shape& s : shapes) sizes.push_back({{"m", s.m}, {"n", s.n}, {"k", s.k}});
  std::set<std::string> needs_tma;
  const auto all = ladder<kTransposedB>();
  for (const auto& variant : all.variants) {
    const bool copies = variant.name == "padded_copies" || variant.kind == bench::Kind::chooser;
    if (variant.needs.compute_capability >= 90 && !copies) needs_tma.insert(variant.name);
  }
  const auto refuses = [needs_tma](const std::string& name, const bench::Settings::Given& size) {
    return needs_tma.count(name) > 0 && (size.at("n") % 8 != 0 || size.at("k") % 8 != 0);
  };
  tests::every_variant_is_right(all, sizes, refuses);
}

float chopped(double x) {
  const float nearest = static_cast<float>(x);
  return std::fabs(nearest) > std::fabs(x) ? std::nextafter(nearest, 0.0f) : nearest;
}

// Sets each element of C to f(row of A, column of B, k), inputs as pointers with strides 1 and n.
template <class F>
void set_each(Bf16Gemm<false>& problem, F f) {
  const Shape s = problem.shape;
  std::vector<float> column(s.k), row(s.k);
  for (std::int64_t i = 0; i < s.m * s.n; ++i) {
    for (std::int64_t p = 0; p < s.k; ++p) {
      row[p] = problem.a.pristine()[i / s.n * s.k + p];
      column[p] = problem.b.pristine()[p * s.n + i % s.n];
    }
    problem.c.host_data()[i] = static_cast<Element>(static_cast<float>(f(row, column)));
  }
}

double exact_sum(const std::vector<float>& x, const std::vector<float>& y, std::size_t first,
                 std::size_t last) {
  double sum = 0;
  for (std::size_t p = first; p < last; ++p) sum += 1.0 * x[p] * y[p];
  return sum;
}

}  // namespace

TEST_CASE("every variant is right at every size") { check_all_sizes<false>(); }

TEST_CASE("every variant is right at every size, B as n x k") { check_all_sizes<true>(); }

TEST_CASE("every launch is in the stream that was given") {
  const bench::Settings::Given size = {{"m", 72}, {"n", 136}, {"k", 72}};
  tests::every_launch_is_in_its_stream(ladder<true>(), size);
  tests::every_launch_is_in_its_stream(ladder<false>(), size);
}

// Large matrices, which take the checks of no variant minutes: none runs.
TEST_CASE("what a run holds", "[.]") {
  auto nobody = ladder<true>();
  nobody.variants.clear();
  tests::takes_what_it_says(nobody, {{"m", 1}, {"n", 2}, {"k", 1'000'000}});
}

TEST_CASE("a run takes the memory that it says") {
  tests::passes_by_itself("SIMT_THREADS=1", "what a run holds");
}

TEST_CASE("both layouts hold the same matrices") {
  Bf16Gemm<false> rows({5, 7, 11}, 3);
  Bf16Gemm<true> columns({5, 7, 11}, 3);
  bool any_differs = false;
  for (int p = 0; p < 11; ++p) {
    for (int j = 0; j < 7; ++j) {
      const float x = rows.b.pristine()[p * 7 + j], y = columns.b.pristine()[j * 11 + p];
      CHECK(x == y);
      any_differs = any_differs || x != static_cast<float>(rows.b.pristine()[j * 11 + p]);
    }
  }
  CHECK(any_differs);  // a matrix that is its own transpose would prove nothing
  for (int i = 0; i < 35; ++i) CHECK(rows.reference->c.data()[i] == columns.reference->c.data()[i]);
}

TEST_CASE("rungs with 16-byte accesses take matrices that begin anywhere") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  const Shape shape{40, 48, 56};  // rows of whole 16 bytes, but not from an odd address
  const kit::DeviceBuffer<Element> a(40 * 56 + 1), b(56 * 48 + 1), c(40 * 48 + 1);
  const auto check = [&](auto& problem, auto multiply) {
    const auto copy = [](const auto& to, const auto& from) {
      CUDA_CHECK(cudaMemcpy(to.data() + 1, from.pristine(), sizeof(Element) * from.size(),
                            cudaMemcpyHostToDevice));
    };
    copy(a, problem.a);
    copy(b, problem.b);
    multiply(a.data() + 1, b.data() + 1, c.data() + 1, 40, 48, 56, nullptr);
    CUDA_CHECK(cudaDeviceSynchronize());
    problem.c.reset(bench::Side::host);
    CUDA_CHECK(cudaMemcpy(problem.c.host_data(), c.data() + 1, sizeof(Element) * problem.c.size(),
                          cudaMemcpyDeviceToHost));
    CHECK(problem.check().right());
  };
  Bf16Gemm<false> rows(shape, 5, is_real_gpu());
  check(rows, bf16_gemm_wmma);
  check(rows, bf16_gemm_mma_sync);
  check(rows, bf16_gemm_swizzled);
  check(rows, bf16_gemm_multistage<false>);
  Bf16Gemm<true> columns(shape, 5, is_real_gpu());
  check(columns, bf16_gemm_multistage<true>);
}

TEST_CASE("the bound lets one rounding pass and nothing else") {
  for (const std::int64_t k : {16, 64, 256, 1000, 4096, 8192}) {
    DYNAMIC_SECTION("k = " << k) {
      Bf16Gemm<false> problem({16, 24, k}, 11);
      problem.c.reset(bench::Side::host);
      const std::int64_t count = problem.c.size();
      // What else may go wrong in a sum of thousands is as large as half of a rounding.
      const std::int64_t seen_surely = k <= 1000 ? count / 12 : 0;
      const auto product = [k](const auto& x, const auto& y) { return exact_sum(x, y, 0, k); };
      set_each(problem, product);
      CHECK(problem.check().right());

      // As a tensor core may do it: eight products at a time, then the sum loses its last bits.
      set_each(problem, [k](const auto& x, const auto& y) {
        float sum = 0;
        for (std::int64_t p = 0; p < k; p += 8) {
          sum = chopped(sum + exact_sum(x, y, p, std::min(k, p + 8)));
        }
        return sum;
      });
      CHECK(problem.check().right());

      // As fp32 without tensor cores does it.
      set_each(problem, [k](const auto& x, const auto& y) {
        float sum = 0;
        for (std::int64_t p = 0; p < k; ++p) sum += x[p] * y[p];
        return sum;
      });
      CHECK(problem.check().right());

      // The last step of 16 is missing.
      set_each(problem, [k](const auto& x, const auto& y) { return exact_sum(x, y, 0, k - 16); });
      CHECK(problem.check().wrong > count * 3 / 4);

      // Rounded twice: half of the sum came from another block, in bf16.
      set_each(problem, [k](const auto& x, const auto& y) {
        return static_cast<float>(
                   static_cast<Element>(static_cast<float>(exact_sum(x, y, 0, k / 2)))) +
               exact_sum(x, y, k / 2, k);
      });
      CHECK(problem.check().wrong > seen_surely);

      // Chopped instead of rounded at the end.
      set_each(problem, [&](const auto& x, const auto& y) {
        const float sum = static_cast<float>(product(x, y));
        std::uint32_t bits;
        std::memcpy(&bits, &sum, 4);
        bits &= 0xffff0000u;
        float upper;
        std::memcpy(&upper, &bits, 4);
        return upper;
      });
      CHECK(problem.check().wrong > seen_surely);

      // The sum itself kept in bf16.
      set_each(problem, [k](const auto& x, const auto& y) {
        Element sum = static_cast<Element>(0.0f);
        for (std::int64_t p = 0; p < k; ++p) {
          sum = static_cast<Element>(static_cast<float>(sum) + x[p] * y[p]);
        }
        return static_cast<float>(sum);
      });
      CHECK(problem.check().wrong > count / 4);

      set_each(problem, product);
      problem.c.host_data()[77] = static_cast<Element>(std::nanf(""));
      CHECK(problem.check().wrong == 1);
      CHECK(problem.check().first_wrong == 77);
    }
  }
}

TEST_CASE("half the distance of neighbours in bf16") {
  for (const float x : {1.0f, 1.5f, 1.9921875f, 2.0f, 0.75f, 100.0f, 3e-5f, 40.0f}) {
    const float rounded = static_cast<Element>(x);
    std::uint32_t bits;
    std::memcpy(&bits, &rounded, 4);
    bits += 0x10000;
    float next;
    std::memcpy(&next, &bits, 4);
    CHECK(half_ulp_of_bf16(rounded) == 0.5 * (next - rounded));
  }
}

TEST_CASE("the bound grows with k, and stays below the rounding to bf16") {
  double before = 0;
  for (const std::int64_t k : {1, 4, 16, 64, 256, 1024, 4096}) {
    Bf16Gemm<false> problem({2, 2, k}, 3);
    CHECK(problem.sum_bound(0, 0) > before);
    CHECK(problem.bound(0, 0) > problem.sum_bound(0, 0));
    before = problem.sum_bound(0, 0);
    // Sums of k products of random sign are about sqrt(k) / 3.
    CHECK(before < half_ulp_of_bf16(std::sqrt(1.0 * k)));
  }
}

TEST_CASE("peak and ridge of the tensor cores") {
  bench::DeviceFacts device;
  CHECK(peak_bf16_gflops(device) == 0);
  CHECK(bf16_roof(device).ridge() == 0);
  device.major = 9;
  device.multiprocessors = 132;
  device.clock_ghz = 1.83;  // at which an H100 SXM has its 989 TFLOP/s
  device.peak_bandwidth_gbps = 3350;
  CHECK(std::fabs(peak_bf16_gflops(device) - 989.4e3) < 100);
  CHECK(std::fabs(bf16_roof(device).ridge() - 295.3) < 0.1);
  CHECK(bf16_roof(device).at(100) == 335000);
  device.major = 8;
  device.multiprocessors = 108;
  device.clock_ghz = 1.41;  // A100: 312
  CHECK(std::fabs(peak_bf16_gflops(device) - 311.9e3) < 100);
}

namespace {
// Every chunk has a place of its own in its row, and eight rows of a column, as ldmatrix reads
// them, or 128 bytes of neighbouring chunks, as copies store them, are in eight different bank
// groups.
template <int kCols>
void check_swizzle() {
  INFO(kCols);
  constexpr int kChunks = kCols / 8;
  const auto bank_group = [](int offset) { return offset / 8 % 8; };
  std::set<int> all;
  for (int row = 0; row < 32; ++row) {
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      const int offset = kit::swizzled<kCols>(row, 8 * chunk);
      CHECK(offset / kCols == row);
      all.insert(offset);
    }
  }
  CHECK(all.size() == 32 * kChunks);
  for (int row = 0; row < 32; row += 8) {
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      std::set<int> groups;
      for (int i = 0; i < 8; ++i)
        groups.insert(bank_group(kit::swizzled<kCols>(row + i, 8 * chunk)));
      CHECK(groups.size() == 8);
    }
  }
  for (int first = 0; first < 32 * kChunks; first += 8) {
    std::set<int> groups;
    for (int i = first; i < first + 8; ++i) {
      groups.insert(bank_group(kit::swizzled<kCols>(i / kChunks, i % kChunks * 8)));
    }
    CHECK(groups.size() == 8);
  }
}
}  // namespace

TEST_CASE("the swizzle loses nothing and spreads a column over all banks") {
  check_swizzle<32>();
  check_swizzle<64>();
  check_swizzle<128>();
  check_swizzle<256>();
}

TEST_CASE("one core refuses what takes minutes") {
  for (const auto& variant : variants<false>()) {
    const bool is_one_core = variant.name == "sequential";
    CHECK((variant.slow_above < 2.0 * 8192 * 8192 * 8192) == is_one_core);
    if (is_one_core) CHECK(variant.slow_above >= 2.0 * 4096 * 4096 * 4096);  // defines "x seq"
  }
}

// Takes a minute: at night, and for one commit of nine (.ci/run).
TEST_CASE("no rung spills registers on sm_90a, and ptxas serialises nothing", "[.nvcc]") {
  const auto nvcc = tests::run_command(
      "command -v nvcc || (test -x /usr/local/cuda/bin/nvcc && echo /usr/local/cuda/bin/nvcc)");
  if (nvcc.status != 0) SKIP_TEST("needs nvcc");
  const std::string source = TEST_BUILD "/tests/04_matmul_bf16_spills";
  std::ofstream(source) << "#include \"04_matmul/bf16/ladder.cu\"\n"
                           "void use() { matmul::bf16::variants<false>(); "
                           "matmul::bf16::variants<true>(); }\n";
  const auto compiled = tests::run_command(
      nvcc.output.substr(0, nvcc.output.find('\n')) +
      " -std=c++17 -O3 -I. -gencode=arch=compute_90a,code=sm_90a -Xptxas -v -cubin -x cu " +
      source + " -o " + source + ".cubin 2>&1");
  INFO(compiled.output);
  REQUIRE(compiled.status == 0);
  const auto count = [&](const std::string& words) {
    int found = 0;
    for (std::size_t at = 0; (at = compiled.output.find(words, at)) != std::string::npos; ++at) {
      ++found;
    }
    return found;
  };
  const int kernels = count("bytes spill loads");
  // wmma, mma_sync and swizzled twice, multistage eight times; in both layouts of B eight rungs
  // from tma to in_flight, programmatic_launch, two edges of narrow_edge, stream_k, six forms of
  // late_store and, twice, for C that TMA stores or not, six tiles of by_shape and four forms of
  // full_waves, and 13 tiles of split_k and 37 fitted tiles; what adds up the parts of these 13;
  // the copies of padded_copies; two forms each of warp_per_row and loads_ahead and three of
  // direct_fragments, twice, four of row_shares and, in both layouts, of k_shares; two yardsticks;
  // and the kernel of common/ that only tells for which architecture it was compiled.
  CHECK(kernels == 3 * 2 + 8 + (8 + 1 + 2 + 1 + 6 + 2 * (6 + 4) + 13 + 37) * 2 + 13 + 1 + 7 * 2 +
                       3 * 4 + 2 + 1);
  CHECK(count("0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads") == kernels);
  // "Potential performance loss" of wgmma or setmaxnreg; C7519 only tells of a missing estimate.
  CHECK(count("(C75") == count("(C7519)"));
}
