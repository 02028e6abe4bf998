// What the launches of this ladder share.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "common/cuda_check.cuh"
#include "common/variant.cuh"

// The hardware has powers of two and no others: e^x = 2^(x log2(e)), ln(x) = ln(2) log2(x).
constexpr float kLog2E = 1.44269504f, kLn2 = 0.693147181f;

// Parts of size `part` that cover `whole`.
__host__ __device__ constexpr int divide_up(std::int64_t whole, int part) {
  return static_cast<int>((whole + part - 1) / part);
}

// Calls launch(std::integral_constant<int, d>()) for the d that kernels are compiled for.
template <class Launch>
void with_head_dim(int d, Launch launch) {
  switch (d) {
    case 64: return launch(std::integral_constant<int, 64>());
    case 128: return launch(std::integral_constant<int, 128>());
    case 256: return launch(std::integral_constant<int, 256>());
    default: throw std::invalid_argument("d must be 64, 128 or 256, not " + std::to_string(d));
  }
}

// The same with a second choice that is known at compile time: launch(d, causal).
template <class Launch>
void with_head_dim(int d, bool causal, Launch launch) {
  with_head_dim(d, [&](auto head_dim) {
    causal ? launch(head_dim, std::true_type{}) : launch(head_dim, std::false_type{});
  });
}

// The most dynamic shared memory that a block of this device may have.
inline int most_shared() {
  int device = 0, most = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  return most;
}

// Lets a kernel have this much dynamic shared memory; above 48 KB it must be asked for. Throws
// common::Skip where there is not so much.
template <class Kernel>
void allow_shared(Kernel kernel, int bytes) {
  static const int most = most_shared();
  if (bytes > most) {
    throw common::Skip("needs " + std::to_string(bytes / 1024) + " KB of shared memory a block");
  }
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
}

// How many of the first keys query `row` of a head sees; see AttentionShape::visible.
template <bool kCausal>
__device__ int visible_keys(int row, int n_q, int n_k) {
  return kCausal ? min(n_k, max(0, row + 1 + n_k - n_q)) : n_k;
}
