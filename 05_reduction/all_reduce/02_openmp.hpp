// openmp: the elements divided among the cores.
//
// No two elements have anything to do with one another, so each core takes a piece of all arrays.
// What is still wrong: the memory of one CPU, where GPUs have one each.
#pragma once

#include <cstdint>

#include "05_reduction/all_reduce/kit/vector.cuh"

namespace all_reduce {

// As the loop, with the same bits: the order within an element stays.
template <class T>
void all_reduce_openmp(const T* const* x, T* const* y, int size, std::int64_t n) {
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < n; ++i) {
    float sum = 0;
    for (int r = 0; r < size; ++r) sum += to_float(x[r][i]);
    for (int r = 0; r < size; ++r) y[r][i] = from_float<T>(sum);
  }
}

}  // namespace all_reduce
