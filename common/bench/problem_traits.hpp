// What a problem must offer, and what it may offer.
//
// A Problem offers:
//   name                   static constexpr const char*
//   sizes()                Sizes, for the report
//   bytes(), flops()       what any solution must move and compute; 0 if it does not matter
//   each_array(visit)      calls visit(array) for every GuardedArray it has
//   check()                Comparison of the fetched outputs with the reference
// and, for work that is limited by arithmetic and not by memory, all or none of
//   batch()                launches per sample, at most: one alone would be too short to time well
//   rotate(k)              makes input set k the current one (k counts the launches of a sample),
//                          so that a batch does not find its inputs in the cache; 0 is checked
//   peak_gflops(device)    the most operations per second of the units these variants use, in 1e9
// and, where variants take device memory beside the problem's arrays, both of
//   scratch_bytes()        what the last run asked for
//   forget_scratch()       before the next one
#pragma once

#include <type_traits>
#include <utility>

namespace bench {

// Whether a problem has batch(), rotate() and peak_gflops().
template <class Problem, class = void>
struct IsBatched : std::false_type {};
template <class Problem>
struct IsBatched<Problem, std::void_t<decltype(std::declval<Problem>().batch())>> : std::true_type {
};

// Whether a problem has scratch_bytes() and forget_scratch().
template <class Problem, class = void>
struct HasScratch : std::false_type {};
template <class Problem>
struct HasScratch<Problem, std::void_t<decltype(std::declval<Problem>().scratch_bytes())>>
    : std::true_type {};

}  // namespace bench
