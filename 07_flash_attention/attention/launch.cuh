// What the launches of this ladder share.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "common/launch.cuh"

// The hardware has powers of two and no others: e^x = 2^(x log2(e)), ln(x) = ln(2) log2(x).
constexpr float kLog2E = 1.44269504f, kLn2 = 0.693147181f;

using common::allow_shared;
using common::divide_up;

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

// How many of the first keys query `row` of a head sees; see AttentionShape::visible.
template <bool kCausal>
__device__ int visible_keys(int row, int n_q, int n_k) {
  return kCausal ? min(n_k, max(0, row + 1 + n_k - n_q)) : n_k;
}
