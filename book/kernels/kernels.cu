// The kernels that run in the page, each on sizes that a reader chooses. They are the rungs' own:
// here is what gives them arrays, launches them and looks at what they leave.
//
// Compiled twice: for the page by build.py, and by simt/nvcc for the test that both count the same.
// Each function answers whether the result is right; counts() says what was counted. `kernel` is
// the place of a name in the list of widgets/kernels.mjs.

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "common/kit/device_buffer.cuh"
#include "common/kit/random.cuh"
#include "simt/profile.h"

// A reader may leave the barriers out, and see what they are for.
static bool keep_barriers = true;
#define __syncthreads() (keep_barriers ? __syncthreads() : void())

#include "01_vector_add/03_cuda.cuh"
#include "01_vector_add/08_grid_stride.cuh"
#include "01_vector_add/09_vectorized.cuh"
#include "02_warp_divergence/branch/03_divergent.cuh"
#include "02_warp_divergence/branch/04_select.cuh"
#include "02_warp_divergence/branch/05_vote.cuh"
#include "02_warp_divergence/branch/06_aligned.cuh"
#include "03_coalescing/copy/03_chunked.cuh"
#include "03_coalescing/copy/04_coalesced.cuh"
#include "03_coalescing/copy/06_vectorized.cuh"
#include "03_coalescing/study/copy_gather.cuh"
#include "03_coalescing/transpose/03_read_coalesced.cuh"
#include "03_coalescing/transpose/04_write_coalesced.cuh"
#include "03_coalescing/transpose/05_tiled.cuh"
#include "03_coalescing/transpose/06_padded.cuh"
#include "03_coalescing/transpose/07_swizzled.cuh"
#include "04_matmul/sgemm/03_naive.cuh"
#include "04_matmul/sgemm/04_coalesced.cuh"
#include "04_matmul/sgemm/05_tiled.cuh"
#include "05_reduction/sum/04_divergent_tree.cuh"
#include "05_reduction/sum/05_conflicting_tree.cuh"
#include "05_reduction/sum/06_sequential_tree.cuh"
#include "05_reduction/sum/07_first_add.cuh"
#include "05_reduction/sum/08_shuffle_down.cuh"

namespace {

constexpr int kCounts = 18;

using Numbers = std::vector<float>;

Numbers random_numbers(std::int64_t n, int seed) {
  Numbers values(n);
  for (std::int64_t i = 0; i < n; ++i) values[i] = kit::random_float(seed, i);
  return values;
}

// An array of the device that begins `offset` floats after a boundary of 256 bytes.
class Array {
 public:
  explicit Array(const Numbers& values, int offset = 0)
      : buffer_(offset + values.size()), offset_(offset), count_(values.size()) {
    CUDA_CHECK(cudaMemcpy(data(), values.data(), bytes(), cudaMemcpyHostToDevice));
  }
  float* data() const { return buffer_.data() + offset_; }
  Numbers fetched() const {
    Numbers values(count_);
    CUDA_CHECK(cudaMemcpy(values.data(), data(), bytes(), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  std::size_t bytes() const { return count_ * sizeof(float); }

  kit::DeviceBuffer<float> buffer_;
  int offset_;
  std::size_t count_;
};

// For one run, barriers as a reader asks for them.
class Barriers {
 public:
  explicit Barriers(int kept) { keep_barriers = kept != 0; }
  ~Barriers() { keep_barriers = true; }
};

// What the checks found in the last run.
std::vector<simt::CheckReport> reports;

enum Answer { kWrong, kRight, kRefused };

// What an output holds before: a number that no result is.
Numbers untouched(std::int64_t n) { return Numbers(n, -12345.0f); }

int blocks_for(std::int64_t n, int of_each) {
  return static_cast<int>((n + of_each - 1) / of_each);
}

}  // namespace

extern "C" {

// One thread an element, grid_stride, vectorized. The last two have `blocks` blocks.
Answer run_vector_add(int kernel, int n, int block, int blocks, int offset) {
  if (kernel == 2 && offset % 4 != 0) return kRefused;
  const Numbers a = random_numbers(n, 1), b = random_numbers(n, 2);
  const Array x(a, offset), y(b, offset);
  simt::profile_reset();
  using namespace vector_add;
  if (kernel == 0) vector_add_cuda_kernel<<<blocks_for(n, block), block>>>(x.data(), y.data(), n);
  if (kernel == 1) vector_add_grid_stride_kernel<<<blocks, block>>>(x.data(), y.data(), n);
  if (kernel == 2) vector_add_vectorized_kernel<<<blocks, block>>>(x.data(), y.data(), n);
  const Numbers sums = y.fetched();
  for (int i = 0; i < n; ++i)
    if (sums[i] != a[i] + b[i]) return kWrong;
  return kRight;
}

// divergent, select, vote, aligned. `run` elements in a row take the same path, `percent` of all
// the expensive one.
Answer run_branch(int kernel, int n, int percent, int run) {
  Numbers values = random_numbers(n, 3);
  for (int i = 0; i < n; ++i) {
    const bool expensive = 50 + 50 * kit::random_float(4, i / run) < percent;
    values[i] = expensive ? -std::fabs(values[i]) : std::fabs(values[i]);
  }
  const Array x(values), y(untouched(n));
  simt::profile_reset();
  using namespace branch;
  const int block = 256, grid = blocks_for(n, block);
  if (kernel == 0) branch_divergent_kernel<<<grid, block>>>(x.data(), y.data(), n);
  if (kernel == 1) branch_select_kernel<<<grid, block>>>(x.data(), y.data(), n);
  if (kernel == 2) branch_vote_kernel<<<grid, block>>>(x.data(), y.data(), n);
  if (kernel == 3) branch_aligned_kernel<<<grid, block>>>(x.data(), y.data(), n);
  const Numbers results = y.fetched();
  for (int i = 0; i < n; ++i) {
    const float wanted =
        is_expensive(values[i]) ? expensive_path(values[i]) : cheap_path(values[i]);
    if (results[i] != wanted) return kWrong;
  }
  return kRight;
}

// chunked, coalesced, vectorized, and the one that reads `stride` floats apart. The input begins
// `offset` floats after a boundary; in place, the output begins kShift floats behind the input.
Answer run_copy(int kernel, int n, int stride, int offset, int in_place) {
  constexpr int kShift = 4;
  if (kernel == 2 && offset % 4 != 0) return kRefused;
  if (kernel != 3) stride = 1;
  const Numbers values = random_numbers(std::int64_t{n} * stride + kShift, 5);
  const Array x(values, offset), own(untouched(n));
  float* const y = in_place ? x.data() + kShift : own.data();
  simt::profile_reset();
  constexpr int kBlock = 256, kItems = 8;
  const int grid = blocks_for(n, kBlock * kItems);
  using namespace coalesced_copy;
  if (kernel == 0) copy_chunked_kernel<kBlock, kItems><<<grid, kBlock>>>(x.data(), y, n);
  if (kernel == 1) copy_coalesced_kernel<kBlock, kItems><<<grid, kBlock>>>(x.data(), y, n);
  if (kernel == 2) {
    const int threads = n / 4 + n % 4;
    copy_vectorized_kernel<<<blocks_for(threads, kBlock), kBlock>>>(x.data(), y, n);
  }
  if (kernel == 3) copy_gather(x.data(), y, n, stride, 0, nullptr);
  const Numbers copied = in_place ? x.fetched() : own.fetched();
  const int first = in_place ? kShift : 0;
  for (int i = 0; i < n; ++i)
    if (copied[first + i] != values[i * stride]) return kWrong;
  return kRight;
}

// read_coalesced, write_coalesced, tiled, padded, swizzled.
Answer run_transpose(int kernel, int rows, int cols, int barriers) {
  const Barriers as_asked(barriers);
  const Numbers values = random_numbers(std::int64_t{rows} * cols, 6);
  const Array in(values), out(untouched(std::int64_t{rows} * cols));
  simt::profile_reset();
  using namespace transpose;
  constexpr int kTile = 32, kThin = 8;
  const dim3 square(kTile, kTile), thin(kTile, kThin);
  const int tiles = tile_count(rows, cols, kTile, kTile);
  if (kernel == 0)
    transpose_read_coalesced_kernel<kThin, kTile>
        <<<tile_count(rows, cols, kThin, kTile), thin>>>(in.data(), out.data(), rows, cols);
  if (kernel == 1)
    transpose_write_coalesced_kernel<kTile, kThin>
        <<<tile_count(rows, cols, kTile, kThin), thin>>>(in.data(), out.data(), rows, cols);
  if (kernel == 2)
    transpose_tiled_kernel<kTile><<<tiles, square>>>(in.data(), out.data(), rows, cols);
  if (kernel == 3)
    transpose_padded_kernel<kTile><<<tiles, square>>>(in.data(), out.data(), rows, cols);
  if (kernel == 4)
    transpose_swizzled_kernel<kTile><<<tiles, square>>>(in.data(), out.data(), rows, cols);
  const Numbers result = out.fetched();
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < cols; ++c)
      if (result[c * rows + r] != values[r * cols + c]) return kWrong;
  return kRight;
}

// naive, coalesced, tiled: C = A B, of m x k and k x n.
Answer run_product(int kernel, int m, int n, int k, int barriers) {
  const Barriers as_asked(barriers);
  const Numbers left = random_numbers(std::int64_t{m} * k, 8);
  const Numbers right = random_numbers(std::int64_t{k} * n, 9);
  const Array a(left), b(right), c(untouched(std::int64_t{m} * n));
  simt::profile_reset();
  using namespace matmul::sgemm;
  constexpr int kTile = 32;
  const dim3 square(kTile, kTile);
  const int tiles = blocks_for(m, kTile) * blocks_for(n, kTile);
  if (kernel == 0) sgemm_naive_kernel<<<tiles, square>>>(a.data(), b.data(), c.data(), m, n, k);
  if (kernel == 1) sgemm_coalesced_kernel<<<tiles, square>>>(a.data(), b.data(), c.data(), m, n, k);
  if (kernel == 2)
    sgemm_tiled_kernel<kTile><<<tiles, square>>>(a.data(), b.data(), c.data(), m, n, k);
  const Numbers result = c.fetched();
  for (int row = 0; row < m; ++row)
    for (int col = 0; col < n; ++col) {
      double wanted = 0;
      for (int p = 0; p < k; ++p) wanted += double{left[row * k + p]} * right[p * n + col];
      if (!(std::fabs(result[row * n + col] - wanted) < 1e-4)) return kWrong;
    }
  return kRight;
}

// One pass of a sum, a partial sum of each tile: divergent_tree, conflicting_tree, sequential_tree,
// first_add, shuffle_down.
Answer run_sum(int kernel, int n, int barriers) {
  using namespace reduction;
  constexpr SumPass kPasses[] = {sum_divergent_tree_kernel, sum_conflicting_tree_kernel,
                                 sum_sequential_tree_kernel, sum_first_add_kernel,
                                 sum_shuffle_down_kernel};
  const Barriers as_asked(barriers);
  const int tile = kernel < 3 ? kSumBlock : 2 * kSumBlock, tiles = blocks_for(n, tile);
  const Numbers values = random_numbers(n, 7);
  const Array x(values), sums(untouched(tiles));
  simt::profile_reset();
  kPasses[kernel]<<<tiles, kSumBlock>>>(x.data(), sums.data(), n);
  const Numbers results = sums.fetched();
  for (int t = 0; t < tiles; ++t) {
    double wanted = 0;
    for (int i = t * tile; i < n && i < (t + 1) * tile; ++i) wanted += values[i];
    if (!(std::fabs(results[t] - wanted) < 1e-4)) return kWrong;
  }
  return kRight;
}

// What was counted in the last run, in the order of COUNTS in run.mjs.
const double* counts() {
  const simt::KernelProfile p = simt::profile("");
  reports = simt::check_reports();
  std::uint64_t races = 0;
  for (const simt::CheckReport& report : reports)
    if (report.check == "race") races += report.count;
  static double result[kCounts];
  double* next = result;
  for (const std::uint64_t count :
       {p.instructions, p.instruction_lanes, p.global.load_requests, p.global.load_lanes,
        p.global.load_sectors, p.global.load_bytes_used, p.global.store_requests,
        p.global.store_lanes, p.global.store_sectors, p.global.store_bytes_used,
        p.shared.load_requests + p.shared.store_requests,
        p.shared.load_lanes + p.shared.store_lanes,
        p.shared.load_wavefronts + p.shared.store_wavefronts,
        p.shared.load_groups + p.shared.store_groups, p.atomics.shared_requests,
        p.atomics.shared_lanes, p.barriers, races})
    *next++ = static_cast<double>(count);
  return result;
}
}
