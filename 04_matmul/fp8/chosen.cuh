// The last row of the ladder: which rung a library would take.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>

#include "04_matmul/fp8/beyond/01_two_accumulators.cuh"
#include "04_matmul/fp8/beyond/02_by_shape.cuh"
#include "04_matmul/fp8/kit/epilogue.cuh"
#include "04_matmul/fp8/kit/fp8_tile.cuh"
#include "04_matmul/fp8/kit/scale_blocks.cuh"
#include "04_matmul/fp8/kit/shape_plan.cuh"
#include "04_matmul/fp8/problem.cuh"
#include "04_matmul/fp8/product.cuh"
#include "04_matmul/kit/cluster.cuh"
#include "04_matmul/kit/scaling.cuh"
#include "common/bench/variant.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/workspace.cuh"

namespace matmul::fp8 {

// How long two_accumulators should take with tiles of 128 x tile_n: waves of pairs, and each k tile
// of a pair has its time. Measured on an H200.
inline double us_of_two_accumulators(Scaling scaling, std::int64_t m, std::int64_t n,
                                     std::int64_t k, int tile_n, int sms) {
  const std::int64_t pairs =
      std::int64_t{kit::divide_up(m, 128 * kClusterSize)} * kit::divide_up(n, tile_n);
  const double waves = kit::divide_up(pairs, std::max(1, sms / kClusterSize));
  const double step = (tile_n == 256 ? 0.627 : 0.496) * (scaling == Scaling::blocks ? 1.15 : 1);
  return 2.7 +
         std::max(1.0 * n * k / kBytesPerUs, waves * (kit::divide_up(k, kTileK) * step + 2.6));
}

// C = A B'; Scales: TensorScales, RowScales or BlockScales. Device pointers; sizes up to 2e9.
// memory(bytes): this launch's until it has ended. Returns the name of the rung that does it.
template <class Scales, class ElementA, class Memory>
std::string multiply_by_choice(const Product<ElementA>& x, Memory memory, cudaStream_t stream) {
  const int sms = kit::multiprocessor_count();
  const ShapePlan plan = plan_by_shape(Scales::kScaling, x.m, x.n, x.k, sms);
  const double wide = us_of_two_accumulators(Scales::kScaling, x.m, x.n, x.k, 256, sms);
  const double narrower = us_of_two_accumulators(Scales::kScaling, x.m, x.n, x.k, 192, sms);
  if (plan.us < std::min(wide, narrower)) {
    multiply_as_planned<Scales>(x, plan, memory(bytes_of_parts(plan, x.m, x.n)), stream);
    return "by_shape";
  }
  if (wide <= narrower) {
    fp8_gemm_two_accumulators<Scales>(x, stream);
  } else {
    fp8_gemm_two_accumulators<Scales, 192>(x, stream);
  }
  return "two_accumulators";
}

template <class Problem>
using ScalesOf = std::conditional_t<
    Problem::scaling == Scaling::blocks, BlockScales,
    std::conditional_t<Problem::scaling == Scaling::rows, RowScales, TensorScales>>;

// Memory for parts of sums, which is allocated once.
struct PartsMemory {
  kit::Workspace workspace;
  float* operator()(std::int64_t bytes) const { return workspace.get<float>(bytes / 4); }
};

template <class Problem>
bench::Variant<Problem> by_shape() {
  const auto run = [memory = PartsMemory()](const auto& x, cudaStream_t stream) {
    fp8_gemm_by_shape<ScalesOf<Problem>>(x, memory, stream);
  };
  return rung<Problem>("by_shape", "tiles for few rows, for few tiles and for full waves (sm_90a)",
                       run, bench::needs_exactly_sm(90));
}

template <class Problem>
bench::Variant<Problem> chosen() {
  const auto run = [memory = PartsMemory()](Problem& p, cudaStream_t stream) {
    return multiply_by_choice<ScalesOf<Problem>>(p.device_product(), memory, stream);
  };
  auto variant = bench::chooser<Problem>("a library's choice: the rung by the shape", run);
  variant.needs = bench::needs_exactly_sm(90);
  return variant;
}

}  // namespace matmul::fp8
