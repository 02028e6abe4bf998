// openmp: each core takes one contiguous stretch, and the stretches stay in order.
//
// `reduction` would not do: OpenMP may combine the results of the threads in any order. Here
// each result gets a place of its own, and one thread goes through them from the first to the last.
// What is still wrong: a GPU reads its memory many times as fast.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "05_reduction/affine/kit/affine_map.cuh"

#ifdef _OPENMP
#include <omp.h>
#endif

namespace affine {

// maps[0], then maps[1], ... then maps[n - 1]. Host pointer.
inline AffineMap affine_openmp(const AffineMap* maps, std::int64_t n) {
  std::vector<AffineMap> stretches;
#pragma omp parallel
  {
    int threads = 1, thread = 0;
#ifdef _OPENMP
    threads = omp_get_num_threads();
    thread = omp_get_thread_num();
#endif
#pragma omp single
    stretches.resize(threads);  // all wait here until it is done

    const std::int64_t length = (n + threads - 1) / threads;
    const std::int64_t begin = std::min(n, thread * length);
    const std::int64_t end = std::min(n, begin + length);
    AffineMap mine = identity_map();
    for (std::int64_t i = begin; i < end; ++i) mine = then(mine, maps[i]);
    stretches[thread] = mine;
  }
  AffineMap all = identity_map();
  for (const AffineMap& stretch : stretches) all = then(all, stretch);
  return all;
}

}  // namespace affine
