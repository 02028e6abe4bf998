// 16 bytes of an array, and sums of such pieces. Sums are in fp32, in the order in which add() is
// called, and rounded once.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace all_reduce {

__host__ __device__ inline float to_float(float x) { return x; }
__host__ __device__ inline float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }
template <class T>
__host__ __device__ T from_float(float x) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return x;
  } else {
    return __float2bfloat16(x);
  }
}

template <class T>
struct alignas(16) Vector {
  static constexpr int kSize = 16 / sizeof(T);
  T element[kSize];
};

// Vectors that n elements take, the last one perhaps in part.
template <class T>
__host__ __device__ std::int64_t vectors_of(std::int64_t n) {
  return (n + Vector<T>::kSize - 1) / Vector<T>::kSize;
}

// Vector v of an array of n elements that is aligned to 16 bytes; behind its end come zeros.
template <class T>
__device__ Vector<T> load(const T* x, std::int64_t v, std::int64_t n) {
  constexpr int kSize = Vector<T>::kSize;
  if ((v + 1) * kSize <= n) return reinterpret_cast<const Vector<T>*>(x)[v];
  Vector<T> vector;
#pragma unroll
  for (int e = 0; e < kSize; ++e) {
    vector.element[e] = v * kSize + e < n ? x[v * kSize + e] : from_float<T>(0);
  }
  return vector;
}

// The same for storing: nothing is written behind the end.
template <class T>
__device__ void store(T* y, std::int64_t v, std::int64_t n, const Vector<T>& vector) {
  constexpr int kSize = Vector<T>::kSize;
  if ((v + 1) * kSize <= n) {
    reinterpret_cast<Vector<T>*>(y)[v] = vector;
    return;
  }
#pragma unroll
  for (int e = 0; e < kSize; ++e) {
    if (v * kSize + e < n) y[v * kSize + e] = vector.element[e];
  }
}

template <class T>
struct Sum {
  float of[Vector<T>::kSize] = {};

  __device__ void add(const Vector<T>& vector) {
#pragma unroll
    for (int e = 0; e < Vector<T>::kSize; ++e) of[e] += to_float(vector.element[e]);
  }
  __device__ Vector<T> rounded() const {
    Vector<T> vector;
#pragma unroll
    for (int e = 0; e < Vector<T>::kSize; ++e) vector.element[e] = from_float<T>(of[e]);
    return vector;
  }
};

}  // namespace all_reduce
