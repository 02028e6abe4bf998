// cooperative_groups: the groups of threads get names, and the whole grid can wait.
//
// A group is an object: the block, a tile of 32 threads, the grid. cg::reduce sums over one without
// a mask that one could get wrong. grid.sync() lets all blocks meet inside a kernel. That needs all
// of them on the chip at once, or those that wait would keep the others out for ever: a cooperative
// launch refuses a grid that does not fit. What is still wrong: everybody waits, where in
// `single_pass` nobody did.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "05_reduction/kit/operators.cuh"
#include "05_reduction/sum/kit/grid.cuh"
#include "05_reduction/sum/kit/reduce.cuh"
#include "common/kit/check.cuh"

#if __has_include(<cooperative_groups.h>) && __has_include(<cooperative_groups/reduce.h>)
#define SUM_HAS_COOPERATIVE_GROUPS 1
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#endif

namespace reduction {

#ifdef SUM_HAS_COOPERATIVE_GROUPS

template <class Op>
__global__ void sum_cooperative_groups_kernel(const float* x, typename Op::Value* result,
                                              std::int64_t n, typename Op::Value* partials) {
  namespace cg = cooperative_groups;
  const cg::grid_group grid = cg::this_grid();
  const cg::thread_block block = cg::this_thread_block();
  const cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);

  const auto stride = static_cast<std::int64_t>(grid.size());
  const auto own = strided_reduce<Op>(x, n, static_cast<std::int64_t>(grid.thread_rank()), stride);
  using Value = typename Op::Value;
  const auto of_warp = cg::reduce(warp, own, [](Value a, Value b) { return Op::combine(a, b); });
  const unsigned warps = block.size() / warp.size();
  if (warp.thread_rank() == 0) {
    partials[blockIdx.x * warps + block.thread_rank() / warp.size()] = of_warp;
  }
  grid.sync();  // also makes the partials visible to all

  if (blockIdx.x == 0) {
    auto value = Op::identity();
    for (unsigned i = block.thread_rank(); i < gridDim.x * warps; i += block.size()) {
      value = Op::combine(value, partials[i]);
    }
    value = block_reduce<Op, kSumBlock>(value);
    if (block.thread_rank() == 0) *result = value;
  }
}

// *result = x[0] combined with ... x[n - 1], the identity for n = 0. Device pointers; partials: a
// value per warp.
template <class Op>
void sum_cooperative_groups(const float* x, typename Op::Value* result, std::int64_t n,
                            typename Op::Value* partials, cudaStream_t stream) {
  const int blocks = blocks_that_fit(sum_cooperative_groups_kernel<Op>, n);
  void* arguments[] = {&x, &result, &n, &partials};
  const auto kernel = reinterpret_cast<const void*>(&sum_cooperative_groups_kernel<Op>);
  CUDA_CHECK(
      cudaLaunchCooperativeKernel(kernel, dim3(blocks), dim3(kSumBlock), arguments, 0, stream));
}
#endif

}  // namespace reduction
