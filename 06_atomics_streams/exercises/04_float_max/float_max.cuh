// Exercise 06/float_max: the largest float, by a compare-and-swap loop.
#pragma once

#include <cuda_runtime.h>

// *cell = max(*cell, value), atomically. A NaN in `value` is ignored; *cell holds none.
__device__ inline void atomic_max(float* cell, float value) {
  unsigned* const bits = reinterpret_cast<unsigned*>(cell);
  unsigned seen = *reinterpret_cast<volatile unsigned*>(cell);  // what is there, for the moment
  //@ task 1: look, compute, try; if another thread was faster, begin again with what it left
  //@ hint: atomicCAS(bits, seen, new) writes only if the cell still holds `seen`; returns what it held
  //@ hint: if it returns `seen`, the value is in; otherwise compare with what it returned, and try again
  //@ hint: while (value > __uint_as_float(seen)): a NaN is not above anything
  //@ begin
  while (value > __uint_as_float(seen)) {
    const unsigned found = atomicCAS(bits, seen, __float_as_uint(value));
    if (found == seen) break;
    seen = found;
  }
  //@ end
}

__global__ void float_max_kernel(const float* x, int n, float* cell) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomic_max(cell, x[i]);
}

inline void float_max(const float* x, int n, float* cell) {
  float_max_kernel<<<(n + 127) / 128, 128>>>(x, n, cell);
}
