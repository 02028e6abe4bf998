// Chapter 03: the transpose, for any rows x cols, with its sectors and bank conflicts counted.
#include <string>
#include <utility>
#include <vector>

#include "03_coalescing/study/pitch_demo.cuh"
#include "03_coalescing/transpose/ladder.cu"
#include "common/bench/harness.cuh"
#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"
#include "common/kit/random.cuh"
#include "simt/include/simt/profile.h"
#include "tests/catch.hpp"
#include "tests/ladder_cases.hpp"
#include "tests/verify.hpp"

using namespace transpose;

namespace {

using Shape = std::pair<std::int64_t, std::int64_t>;  // rows, cols

// One element, vectors, one less and one more than a tile of 32 and of 64, primes, multiples of 4
// that are none of a tile, and of a sector, tall and wide; 111 rows end 1 before a tile of 56, so
// that the pieces moved back reach into one more tile.
const std::vector<Shape> kShapes = {
    {1, 1},     {1, 2},     {3, 1},    {2, 3},    {1, 31},   {32, 1},   {33, 1},
    {31, 33},   {32, 32},   {33, 31},  {63, 65},  {64, 64},  {65, 63},  {64, 128},
    {4, 4},     {4, 100},   {36, 68},  {60, 124}, {8, 72},   {97, 61},  {127, 131},
    {1, 1021},  {1021, 1},  {2, 509},  {509, 3},  {129, 64}, {64, 129}, {130, 66},
    {121, 119}, {120, 120}, {112, 57}, {111, 57}, {248, 33}};

// Copies a pitched matrix into a dense one: a warp along a row, one thread per element.
__global__ void pitch_read_kernel(float* base, std::size_t pitch, float* dense, std::int64_t rows,
                                  std::int64_t cols) {
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t r = blockIdx.y;
  if (r < rows && c < cols) dense[r * cols + c] = *pitched_element(base, pitch, r, c);
}

#if SIMT_INSTRUMENTED
simt::KernelProfile counts(Transpose& problem, const std::string& name) {
  simt::profile_reset();
  for (const auto& variant : transpose::ladder().variants) {
    if (variant.name != name) continue;
    const auto verdict = tests::verify(problem, variant, bench::query_device(), nullptr);
    REQUIRE(verdict.status == bench::Status::right);
  }
  const auto profile = simt::profile("transpose_" + name + "_kernel");
  simt::profile_stop();
  REQUIRE(profile.launches == 1);
  return profile;
}
#endif

}  // namespace

TEST_CASE("transpose: every variant is right for every shape") {
  std::vector<bench::Settings::Given> sizes;
  for (const auto& [rows, cols] : kShapes) sizes.push_back({{"rows", rows}, {"cols", cols}});
  // What moves float4 only refuses rows that begin elsewhere; no other rung stands in.
  tests::every_variant_is_right(transpose::ladder(), sizes, [](const auto& name, const auto& size) {
    const bool is_aligned = size.at("rows") % 4 == 0 && size.at("cols") % 4 == 0;
    return (name == "vectorized" || name == "write_order") && !is_aligned;
  });
}

TEST_CASE("transpose: the chooser says whom it took") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  const kit::DeviceBuffer<float> in(64 * 64 + 1), out(64 * 64 + 1);
  CUDA_CHECK(cudaMemset(in.data(), 0, in.bytes()));
  CHECK(transpose_chosen(in.data(), out.data(), 64, 64, nullptr) == "write_order");
  CHECK(transpose_chosen(in.data() + 1, out.data(), 64, 64, nullptr) == "aligned_stores");
  CHECK(transpose_chosen(in.data(), out.data() + 1, 64, 64, nullptr) == "aligned_stores");
  CHECK(transpose_chosen(in.data(), out.data(), 63, 64, nullptr) == "aligned_stores");
  CHECK(transpose_chosen(in.data(), out.data(), 64, 63, nullptr) == "aligned_stores");
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE("transpose: more rows than gridDim.y allows blocks") {
  const bench::DeviceFacts device = bench::query_device();
  if (!device.available) SKIP_TEST("needs a GPU");
  const bench::WorkStream stream(device);
  Transpose problem(2'100'000, 4, 3);
  for (const auto& variant : transpose::ladder().variants) {
    if (!device.is_real_gpu() && variant.name != "vectorized") continue;  // slow there
    INFO(variant.name);
    if (!bench::why_skipped(variant, device).empty()) continue;
    CHECK(tests::verify(problem, variant, device, stream.get()).status == bench::Status::right);
  }
}

TEST_CASE("transpose: one matrix that is not aligned to 16 bytes, then the other, then both") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  constexpr std::int64_t rows = 72, cols = 68;
  using Kernel = void (*)(const float*, float*, std::int64_t, std::int64_t, cudaStream_t);
  const std::vector<float> zeros(rows * cols + 8);
  const std::vector<std::pair<int, int>> shifts = {{1, 0}, {0, 1}, {2, 2}, {3, 5}};
  for (const auto& [in_shift, out_shift] : shifts) {
    INFO("in + " << in_shift << ", out + " << out_shift);
    std::vector<float> in(rows * cols + 8), out(rows * cols + 8);
    kit::fill_random(in.data(), rows * cols + 8, 3);
    const kit::DeviceBuffer<float> d_in(rows * cols + 8), d_out(rows * cols + 8);
    const float* from = d_in.data() + in_shift;
    float* to = d_out.data() + out_shift;
    CUDA_CHECK(cudaMemcpy(d_in.data(), in.data(), d_in.bytes(), cudaMemcpyHostToDevice));
    for (const Kernel transpose : {transpose_vectorized, transpose_write_order}) {
      CHECK_THROWS_AS(transpose(from, to, rows, cols, nullptr), kit::Skip);
    }
    for (const Kernel transpose : {transpose_coarsened, transpose_aligned_stores}) {
      CUDA_CHECK(cudaMemcpy(d_out.data(), zeros.data(), d_out.bytes(), cudaMemcpyHostToDevice));
      transpose(from, to, rows, cols, nullptr);
      CUDA_CHECK(cudaMemcpy(out.data(), d_out.data(), d_out.bytes(), cudaMemcpyDeviceToHost));
      int wrong = 0;
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t c = 0; c < cols; ++c) {
          wrong += out[out_shift + c * rows + r] != in[in_shift + r * cols + c];
        }
      }
      CHECK(wrong == 0);
      for (int i = 0; i < out_shift; ++i) CHECK(out[i] == 0);
      for (std::int64_t i = out_shift + rows * cols; i < rows * cols + 8; ++i) CHECK(out[i] == 0);
    }
  }
}

TEST_CASE("transpose: sectors per request") {
#if SIMT_INSTRUMENTED
  Transpose problem(64, 128, 5);
  const auto check = [&](const std::string& name, double load, double store) {
    INFO(name);
    const auto global = counts(problem, name).global;
    CHECK(global.load_sectors_per_request() == load);
    CHECK(global.store_sectors_per_request() == store);
  };
  check("read_coalesced", 4, 32);
  check("write_coalesced", 32, 4);
  for (const char* name : {"tiled", "padded", "swizzled", "coarsened"}) check(name, 4, 4);
  for (const char* name : {"vectorized", "write_order"}) check(name, 16, 16);
#else
  SKIP_TEST("counters need simt");
#endif
}

TEST_CASE("transpose: aligned stores write no sector twice, whatever the length of a row") {
#if SIMT_INSTRUMENTED
  for (const auto& [rows, cols] : std::vector<Shape>{{121, 67}, {200, 65}, {57, 64}, {1, 70}}) {
    INFO(rows << " x " << cols);
    Transpose problem(rows, cols, 5);
    std::uint64_t sectors = 0;  // that the rows of the output lie in, row by row
    for (std::int64_t c = 0; c < cols; ++c) sectors += ((c + 1) * rows + 7) / 8 - c * rows / 8;
    const auto aligned = counts(problem, "aligned_stores");
    CHECK(aligned.global.store_sectors == sectors);
    CHECK(aligned.shared.load_max_degree == 1);
    CHECK(aligned.shared.store_max_degree == 1);
    if (rows % 8 != 0 && rows > 64)
      CHECK(counts(problem, "coarsened").global.store_sectors > sectors);
  }
#else
  SKIP_TEST("counters need simt");
#endif
}

TEST_CASE("transpose: a tile column is a 32-way bank conflict; padding and swizzling end it") {
#if SIMT_INSTRUMENTED
  Transpose problem(64, 128, 5);
  const auto tiled = counts(problem, "tiled").shared;
  CHECK(tiled.load_conflict_degree() == 32.0);
  CHECK(tiled.load_max_degree == 32);
  CHECK(tiled.store_conflict_degree() == 1.0);
  for (const char* name : {"padded", "swizzled", "coarsened", "vectorized", "write_order"}) {
    INFO(name);
    const auto shared = counts(problem, name).shared;
    CHECK(shared.load_conflict_degree() == 1.0);
    CHECK(shared.load_max_degree == 1);
    CHECK(shared.store_conflict_degree() == 1.0);
  }
#else
  SKIP_TEST("counters need simt");
#endif
}

TEST_CASE("pitch: the address of element (r, c)") {
  alignas(float) char bytes[64] = {};
  float* base = reinterpret_cast<float*>(bytes);
  CHECK(pitched_element(base, 32, 0, 0) == base);
  CHECK(pitched_element(base, 32, 1, 0) == base + 8);
  CHECK(pitched_element(base, 32, 1, 3) == base + 11);
}

TEST_CASE("pitch: a pitched matrix keeps its rows apart and its elements in place") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  constexpr std::int64_t rows = 5, cols = 37;
  const PitchedMatrix matrix(rows, cols);
  CHECK(matrix.pitch() >= cols * sizeof(float));
  CHECK(matrix.pitch() % 32 == 0);  // every row begins with a sector
  std::vector<float> in(rows * cols), out(rows * cols);
  kit::fill_random(in.data(), rows * cols, 3);
  const std::size_t row_bytes = cols * sizeof(float);
  CUDA_CHECK(cudaMemcpy2D(matrix.base(), matrix.pitch(), in.data(), row_bytes, row_bytes, rows,
                          cudaMemcpyHostToDevice));
  const kit::DeviceBuffer<float> dense(rows * cols);
  pitch_read_kernel<<<dim3(2, rows), 32>>>(matrix.base(), matrix.pitch(), dense.data(), rows, cols);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaMemcpy(out.data(), dense.data(), dense.bytes(), cudaMemcpyDeviceToHost));
  CHECK(out == in);
}
