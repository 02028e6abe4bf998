// Arrays of more than 2^32 elements: an index of 32 bits, signed or not, would write or read in the
// wrong place. They are filled and checked on the device, with a GPU that has room for them;
// without one the same tests run at a size with which a laptop is quick, to hold the tests.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "01_vector_add/03_cuda.cuh"
#include "01_vector_add/08_grid_stride.cuh"
#include "01_vector_add/09_vectorized.cuh"
#include "01_vector_add/10_coarsened.cuh"
#include "02_warp_divergence/polar/03_divergent.cuh"
#include "02_warp_divergence/polar/04_uniform.cuh"
#include "02_warp_divergence/polar/05_vector_store.cuh"
#include "02_warp_divergence/polar/07_coarsened.cuh"
#include "03_coalescing/transpose/03_read_coalesced.cuh"
#include "03_coalescing/transpose/04_write_coalesced.cuh"
#include "03_coalescing/transpose/05_tiled.cuh"
#include "03_coalescing/transpose/06_padded.cuh"
#include "03_coalescing/transpose/07_swizzled.cuh"
#include "03_coalescing/transpose/08_coarsened.cuh"
#include "03_coalescing/transpose/09_vectorized.cuh"
#include "03_coalescing/transpose/10_write_order.cuh"
#include "04_matmul/sgemm/03_naive.cuh"
#include "04_matmul/sgemm/04_coalesced.cuh"
#include "04_matmul/sgemm/05_tiled.cuh"
#include "04_matmul/sgemm/06_thread_tile_1d.cuh"
#include "04_matmul/sgemm/07_register_tile.cuh"
#include "04_matmul/sgemm/08_vectorized.cuh"
#include "04_matmul/sgemm/10_async_copy.cuh"
#include "04_matmul/sgemm/11_large_tile.cuh"
#include "04_matmul/sgemm/14_grouped_tiles.cuh"
#include "05_reduction/sum/03_single_block.cuh"
#include "05_reduction/sum/10_grid_stride.cuh"
#include "05_reduction/sum/12_single_pass.cuh"
#include "05_reduction/sum/13_one_atomic.cuh"
#include "05_reduction/sum/14_tuned.cuh"
#include "06_atomics_streams/histogram/03_global_atomics.cuh"
#include "06_atomics_streams/histogram/04_shared_private.cuh"
#include "06_atomics_streams/histogram/05_vectorized.cuh"
#include "06_atomics_streams/histogram/06_lane_columns.cuh"
#include "06_atomics_streams/histogram/07_runs.cuh"
#include "06_atomics_streams/histogram/08_prefetch.cuh"
#include "07_flash_attention/softmax/04_safe.cuh"
#include "07_flash_attention/softmax/05_online.cuh"
#include "common/bench/device_facts.cuh"
#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"
#include "tests/catch.hpp"

namespace {

using Size = std::int64_t;
using Count = unsigned long long;

constexpr int kBlock = 256;

// A whole number from -8 to 8 that depends on all bits of i, also on those above the 32nd.
__host__ __device__ int number(Size i) {
  auto bits = static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15;
  bits = (bits ^ bits >> 29) * 0xbf58476d1ce4e5b9;
  return static_cast<int>((bits >> 32) % 17) - 8;
}

// y[i] = of(i), for all i < n.
template <class T, class Of>
__global__ void fill_kernel(T* y, Size n, Of of) {
  const Size stride = Size{gridDim.x} * kBlock;
  for (Size i = Size{blockIdx.x} * kBlock + threadIdx.x; i < n; i += stride) y[i] = of(i);
}
template <class T, class Of>
void fill(T* y, Size n, Of of) {
  fill_kernel<<<1024, kBlock>>>(y, n, of);
  CUDA_CHECK(cudaGetLastError());
}

// Adds to *count how many i < n have is_wrong(i).
template <class IsWrong>
__global__ void count_kernel(Size n, IsWrong is_wrong, Count* count) {
  const Size stride = Size{gridDim.x} * kBlock;
  Count own = 0;
  for (Size i = Size{blockIdx.x} * kBlock + threadIdx.x; i < n; i += stride) own += is_wrong(i);
  if (own > 0) atomicAdd(count, own);
}
template <class IsWrong>
Count count(Size n, IsWrong is_wrong) {
  const kit::DeviceBuffer<Count> buffer(1);
  Count host = 0;
  CUDA_CHECK(cudaMemset(buffer.data(), 0, sizeof host));
  count_kernel<<<1024, kBlock>>>(n, is_wrong, buffer.data());
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaMemcpy(&host, buffer.data(), sizeof host, cudaMemcpyDeviceToHost));
  return host;
}

// What arrays hold, and what is wrong with results. (Lambdas of the device need an option of nvcc.)
struct Numbers {
  Size first;  // of the sequence
  __device__ float operator()(Size i) const { return static_cast<float>(number(first + i)); }
};
struct Angles {
  __device__ float operator()(Size i) const { return static_cast<float>(number(i)); }
};
struct Bytes {
  __device__ unsigned char operator()(Size i) const {
    return static_cast<unsigned char>(number(i) + 8);
  }
};
struct Nan {
  __device__ float operator()(Size) const { return NAN; }
};
struct WrongSum {
  const float* y;
  Size first;  // of the sequence that was added to that from 0 on
  __device__ Count operator()(Size i) const {
    return !(y[i] == static_cast<float>(number(i) + number(first + i)));
  }
};
struct WrongPoint {
  const float* z;
  __device__ Count operator()(Size i) const {
    const auto angle = static_cast<float>(number(i));
    return !(fabsf(z[2 * i] - cosf(angle)) < 1e-6f && fabsf(z[2 * i + 1] - sinf(angle)) < 1e-6f);
  }
};
struct WrongTransposed {
  const float* out;
  Size rows, cols;
  __device__ Count operator()(Size i) const {
    const Size row = i / cols, col = i % cols;
    return !(out[col * rows + row] == static_cast<float>(number(i)));
  }
};
struct WrongProduct {  // of a column and a row
  const float *a, *b, *c;
  Size cols;
  __device__ Count operator()(Size i) const { return !(c[i] == a[i / cols] * b[i % cols]); }
};
struct IsNumber {
  int which;
  __device__ Count operator()(Size i) const { return number(i) == which; }
};
// An element of a row is exp(x - 8) over the sum of these, if the row has an 8.
struct WrongWeight {
  const float *y, *sums;
  Size columns;
  __device__ Count operator()(Size i) const {
    const float expected = expf(static_cast<float>(number(i)) - 8) / sums[i / columns];
    return !(fabsf(y[i] - expected) <= 1e-5f * expected);
  }
};
struct RowSum {
  Size columns;
  __device__ float operator()(Size row) const {
    double sum = 0;
    for (Size i = row * columns; i < (row + 1) * columns; ++i) {
      sum += exp(static_cast<double>(number(i)) - 8);
    }
    return static_cast<float>(sum);
  }
};

// How far the tests go: above 2^32 on a GPU with room for `bytes_per_element` each and something
// more, else to a size that takes a moment. An odd number each.
Size most(double bytes_per_element) {
  constexpr Size kLarge = (Size{1} << 32) + 4099;
  const auto device = bench::query_device();
  std::size_t free = 0, all = 0;
  if (!device.is_real_gpu() || cudaMemGetInfo(&free, &all) != cudaSuccess) return 70'001;
  return static_cast<double>(free) > bytes_per_element * kLarge + 1e9 ? kLarge : 70'001;
}

template <class Function>
using Rungs = std::vector<std::pair<std::string, std::function<Function>>>;

}  // namespace

TEST_CASE("large: a sum of two arrays") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  const Size n = most(8);
  const kit::DeviceBuffer<float> x(n), y(n);
  fill(x.data(), n, Numbers{n});
  using Add = void(const float*, float*, Size, cudaStream_t);
  using namespace vector_add;
  const auto one_each = [](const float* x, float* y, Size n, cudaStream_t) {
    vector_add_cuda_kernel<<<static_cast<unsigned>((n + kBlock - 1) / kBlock), kBlock>>>(x, y, n);
    CUDA_CHECK(cudaGetLastError());
  };
  for (const auto& [name, add] : Rungs<Add>{{"cuda", one_each},
                                            {"grid_stride", vector_add_grid_stride},
                                            {"vectorized", vector_add_vectorized},
                                            {"coarsened", vector_add_coarsened}}) {
    INFO(name << ", n = " << n);
    fill(y.data(), n, Numbers{0});
    add(x.data(), y.data(), n, nullptr);
    CHECK(count(n, WrongSum{y.data(), n}) == 0);
  }
}

TEST_CASE("large: points on a circle") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  const Size n = (most(6) + 1) / 2;  // two numbers each
  const kit::DeviceBuffer<float> phi(n), z(2 * n);
  fill(phi.data(), n, Angles{});
  using Points = void(float*);
  const auto as_points = [&](auto run) {
    return
        [&phi, n, run](float* to) { run(phi.data(), reinterpret_cast<float2*>(to), n, nullptr); };
  };
  const auto as_floats = [&](auto run) {
    return [&phi, n, run](float* to) { run(phi.data(), to, n, nullptr); };
  };
  using namespace polar;
  for (const auto& [name, run] : Rungs<Points>{{"divergent", as_floats(polar_divergent)},
                                               {"uniform", as_floats(polar_uniform)},
                                               {"vector_store", as_points(polar_vector_store)},
                                               {"coarsened", as_points(polar_coarsened)}}) {
    INFO(name << ", n = " << n);
    fill(z.data(), 2 * n, Nan{});
    run(z.data());
    CHECK(count(n, WrongPoint{z.data()}) == 0);
  }
}

TEST_CASE("large: a transpose") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  const bool is_large = most(8) > (Size{1} << 32);
  // More than 2^32 elements; rows of any length, and of a multiple of four.
  const std::vector<std::pair<Size, Size>> sizes = {
      {is_large ? 65'537 : 257, is_large ? 65'541 : 261},
      {is_large ? 65'540 : 260, is_large ? 65'544 : 264}};
  for (const auto& [rows, cols] : sizes) {
    const Size n = rows * cols;
    const kit::DeviceBuffer<float> in(n), out(n);
    fill(in.data(), n, Numbers{0});
    using Transpose = void(const float*, float*, Size, Size, cudaStream_t);
    using namespace transpose;
    for (const auto& [name, run] : Rungs<Transpose>{{"read_coalesced", transpose_read_coalesced},
                                                    {"write_coalesced", transpose_write_coalesced},
                                                    {"tiled", transpose_tiled},
                                                    {"padded", transpose_padded},
                                                    {"swizzled", transpose_swizzled},
                                                    {"coarsened", transpose_coarsened},
                                                    {"vectorized", transpose_vectorized},
                                                    {"write_order", transpose_write_order}}) {
      if (cols % 4 != 0 && (name == "vectorized" || name == "write_order")) continue;
      INFO(name << ", " << rows << " x " << cols);
      fill(out.data(), n, Nan{});
      run(in.data(), out.data(), rows, cols, nullptr);
      CHECK(count(n, WrongTransposed{out.data(), rows, cols}) == 0);
    }
  }
}

TEST_CASE("large: a product of a column and a row") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  const bool is_large = most(4) > (Size{1} << 32);
  const int m = is_large ? 65'539 : 259, columns = is_large ? 65'544 : 264;
  for (const int n : {columns, columns - 1}) {
    const Size size = Size{m} * n;
    const kit::DeviceBuffer<float> a(m), b(n), c(size);
    fill(a.data(), m, Numbers{0});
    fill(b.data(), n, Numbers{m});
    using Multiply = void(const float*, const float*, float*, int, int, int, cudaStream_t);
    using namespace matmul::sgemm;
    for (const auto& [name, run] : Rungs<Multiply>{{"naive", sgemm_naive},
                                                   {"coalesced", sgemm_coalesced},
                                                   {"tiled", sgemm_tiled},
                                                   {"thread_tile_1d", sgemm_thread_tile_1d},
                                                   {"register_tile", sgemm_register_tile},
                                                   {"vectorized", sgemm_vectorized},
                                                   {"async_copy", sgemm_async_copy},
                                                   {"large_tile", sgemm_large_tile},
                                                   {"grouped_tiles", sgemm_grouped_tiles}}) {
      INFO(name << ", " << m << " x " << n);
      fill(c.data(), size, Nan{});
      run(a.data(), b.data(), c.data(), m, n, 1, nullptr);
      CHECK(count(size, WrongProduct{a.data(), b.data(), c.data(), n}) == 0);
    }
  }
}

TEST_CASE("large: a sum") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  using namespace reduction;
  const Size n = most(5);
  const kit::DeviceBuffer<float> x(n), result(1), partials(n / kTunedTile + 100'000);
  const kit::DeviceBuffer<unsigned> counter(1);
  CUDA_CHECK(cudaMemset(counter.data(), 0, sizeof(unsigned)));
  fill(x.data(), n, Numbers{0});
  double expected = 0;  // floats hold all sums on the way: they stay far below 2^24
  for (int which = -8; which <= 8; ++which) {
    expected += which * static_cast<double>(count(n, IsNumber{which}));
  }
  REQUIRE(std::fabs(expected) < 1e7);
  using Sum = void();
  const auto in_parts = [&](auto run) {
    return [&, run] { run(x.data(), result.data(), n, partials.data(), nullptr); };
  };
  const auto counted = [&](auto run) {
    return [&, run] { run(x.data(), result.data(), n, partials.data(), counter.data(), nullptr); };
  };
  const auto alone = [&](auto run) {
    return [&, run] { run(x.data(), result.data(), n, nullptr); };
  };
  for (const auto& [name, run] : Rungs<Sum>{{"single_block", alone(sum_single_block)},
                                            {"grid_stride", in_parts(sum_grid_stride)},
                                            {"single_pass", counted(sum_single_pass<Plus>)},
                                            {"one_atomic", alone(sum_one_atomic)},
                                            {"tuned", counted(sum_tuned<Plus>)}}) {
    INFO(name << ", n = " << n);
    run();
    float sum = NAN;
    CUDA_CHECK(cudaMemcpy(&sum, result.data(), sizeof sum, cudaMemcpyDeviceToHost));
    CHECK(sum == expected);
  }
}

TEST_CASE("large: a histogram, as far as its counts of 32 bits go") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  using namespace histogram;
  const Size n = std::min(most(1), (Size{1} << 32) - 3);
  const kit::DeviceBuffer<unsigned char> x(n);
  const kit::DeviceBuffer<unsigned> counts(kBins);
  fill(x.data(), n, Bytes{});
  std::vector<unsigned> expected(kBins);
  for (int which = -8; which <= 8; ++which) {
    expected[which + 8] = static_cast<unsigned>(count(n, IsNumber{which}));
  }
  using Histogram = void(const unsigned char*, Size, unsigned*, cudaStream_t);
  for (const auto& [name, run] : Rungs<Histogram>{{"global_atomics", histogram_global_atomics},
                                                  {"shared_private", histogram_shared_private},
                                                  {"vectorized", histogram_vectorized},
                                                  {"lane_columns", histogram_lane_columns},
                                                  {"runs", histogram_runs},
                                                  {"prefetch", histogram_prefetch}}) {
    INFO(name << ", n = " << n);
    run(x.data(), n, counts.data(), nullptr);
    std::vector<unsigned> got(kBins);
    CUDA_CHECK(
        cudaMemcpy(got.data(), counts.data(), kBins * sizeof(unsigned), cudaMemcpyDeviceToHost));
    CHECK(got == expected);
  }
}

TEST_CASE("large: a softmax") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  const bool is_large = most(8) > (Size{1} << 32);
  const Size rows = is_large ? 65'539 : 69, columns = is_large ? 65'537 : 1'025;
  const Size n = rows * columns;
  const kit::DeviceBuffer<float> x(n), y(n), sums(rows);
  fill(x.data(), n, Numbers{0});
  fill(sums.data(), rows, RowSum{columns});
  using Softmax = void(const float*, float*, Size, Size, cudaStream_t);
  for (const auto& [name, run] :
       Rungs<Softmax>{{"safe", softmax::safe}, {"online", softmax::online}}) {
    INFO(name << ", " << rows << " x " << columns);
    fill(y.data(), n, Nan{});
    run(x.data(), y.data(), rows, columns, nullptr);
    CHECK(count(n, WrongWeight{y.data(), sums.data(), columns}) == 0);
  }
}
