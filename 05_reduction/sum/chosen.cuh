// The last page of the ladder: which rung a library would take.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "05_reduction/sum/12_single_pass.cuh"
#include "05_reduction/sum/beyond/02_early_ticket.cuh"
#include "05_reduction/sum/problem.cuh"
#include "common/bench/variant.cuh"
#include "common/kit/launch.cuh"

namespace reduction {

// *result = x[0] combined with ... x[n - 1], the identity for n = 0. Device pointers; scratch
// memory as for both rungs. Returns the name of the rung that does it: the fastest for a sum, or
// the one that takes any alignment.
template <class Op>
std::string sum_chosen(const float* x, typename Op::Value* result, std::int64_t n,
                       typename Op::Value* partials, std::uint64_t* words, unsigned* counter,
                       cudaStream_t stream) {
  if (kit::is_aligned_to_16(x)) {
    sum_early_ticket<Op>(x, result, n, words, counter, stream);
    return "early_ticket";
  }
  sum_single_pass<Op>(x, result, n, partials, counter, stream);
  return "single_pass";
}

template <class Op>
bench::Variant<Reduction<Op>> sum_chooser() {
  using Problem = Reduction<Op>;
  static_assert(kEarlyTile >= Problem::kElementsOfValue, "words for every block");
  static_assert(kWordsOf<typename Op::Value> == Problem::kWordsOfValue, "and for its whole value");
  return bench::chooser<Problem>("a library's choice: by alignment", [](Problem& p,
                                                                        cudaStream_t stream) {
    return sum_chosen<Op>(p.x.device_data(), p.result.device_data(), p.n, p.partials.device_data(),
                          p.words.device_data(), p.counter.device_data(), stream);
  });
}

}  // namespace reduction
