// sequential: the loop.
//
// Every rank gets the sum of what all ranks have, element by element, in the order of the ranks: in
// another order float addition rounds to other numbers. A CPU has one memory, so there is
// nothing to send. What is still wrong: one core.
#pragma once

#include <cstdint>

#include "05_reduction/all_reduce/kit/vector.cuh"

namespace all_reduce {

// y[r][i] = x[0][i] + ... + x[size - 1][i] for every r < size and i < n, summed in fp32. Host
// pointers.
template <class T>
void all_reduce_sequential(const T* const* x, T* const* y, int size, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    float sum = 0;
    for (int r = 0; r < size; ++r) sum += to_float(x[r][i]);
    for (int r = 0; r < size; ++r) y[r][i] = from_float<T>(sum);
  }
}

}  // namespace all_reduce
