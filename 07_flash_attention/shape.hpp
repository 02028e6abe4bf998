// The sizes of one attention problem, what follows from them, the tensors a rung gets, and the way
// from d and the mask, known at run time, to kernels compiled for them.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace attention {

// The hardware has powers of two and no others: e^x = 2^(x log2(e)), ln(x) = ln(2) log2(x).
constexpr float kLog2E = 1.44269504f, kLn2 = 0.693147181f;

// How many of the first keys query `row` of a head sees. Causal masks are aligned to the bottom
// right: the last query sees all keys, the one before it all but one.
template <bool kCausal>
__device__ int visible_keys(int row, int n_q, int n_k) {
  return kCausal ? min(n_k, max(0, row + 1 + n_k - n_q)) : n_k;
}

// Q and O are [batch, heads, n_q, d], K and V are [batch, heads, n_k, d], dense and row-major; the
// log-sum-exp is [batch, heads, n_q]. A "head" below means one of the batch * heads independent
// problems. n_q and n_k are at most kMostLength, so that an index within a head fits into 32 bits.
struct Shape {
  static constexpr std::int64_t kMostLength = 1 << 22;

  std::int64_t batch, heads, n_q, n_k;
  int d;
  bool causal;

  std::int64_t all_heads() const { return batch * heads; }
  std::int64_t rows() const { return all_heads() * n_q; }  // of Q and O

  // What Q K^T is multiplied by.
  float scale() const { return 1.0f / std::sqrt(static_cast<float>(d)); }

  // Keys that query `row` of a head may see: the first visible(row), as visible_keys() says.
  std::int64_t visible(std::int64_t row) const {
    if (!causal) return n_k;
    return std::clamp<std::int64_t>(row + 1 + n_k - n_q, 0, n_k);
  }
};

// What a rung gets: pointers of the side it works on. lse[row] = log(sum over visible keys of
// exp(score)), natural logarithm. A row that sees no key has O = 0 and lse = -infinity.
template <class T>
struct Tensors {
  const T* q;
  const T* k;
  const T* v;
  T* o;
  float* lse;
};

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

// Operations of the two products, as the field counts them: a causal mask leaves the area of a
// triangle, n^2 / 2 if n_q = n_k.
inline double flops(const Shape& shape) {
  const double q = static_cast<double>(shape.n_q), k = static_cast<double>(shape.n_k);
  double pairs = q * k;
  if (shape.causal) pairs = q <= k ? q * (k - q) + q * q / 2 : k * k / 2;
  return 4.0 * static_cast<double>(shape.all_heads()) * pairs * shape.d;
}

// Bytes if every element of Q, K, V, O moves once (`each` bytes), and the log-sum-exp.
inline double bytes(const Shape& shape, int each) {
  const std::int64_t rows = shape.n_q + shape.n_k;
  const double elements = 2.0 * static_cast<double>(shape.all_heads()) * shape.d * rows;
  return each * elements + 4.0 * static_cast<double>(shape.rows());
}

}  // namespace attention
