// The sizes of one backward pass, what follows from them, and the tensors a rung gets.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

namespace backward {

// Q, O, dO and dQ are [batch, heads, n_q, d]; K, V, dK and dV are [batch, kv_heads, n_k, d]; the
// log-sum-exp is [batch, heads, n_q]; all dense and row-major. `group()` neighbouring query heads
// share a K/V head, whose gradients are sums over all of them. n_q and n_k are at most kMostLength,
// so that an index within a head fits into 32 bits. Kernels take a Shape by value.
struct Shape {
  static constexpr std::int64_t kMostLength = 1 << 22;

  std::int64_t batch, heads, kv_heads;
  int n_q, n_k, d;
  bool causal;

  __host__ __device__ std::int64_t all_heads() const { return batch * heads; }
  __host__ __device__ std::int64_t all_kv_heads() const { return batch * kv_heads; }
  __host__ __device__ int group() const { return static_cast<int>(heads / kv_heads); }
  __host__ __device__ std::int64_t rows() const { return all_heads() * n_q; }
  __host__ __device__ std::int64_t keys() const { return all_kv_heads() * n_k; }

  // What Q K^T is multiplied by.
  __host__ __device__ float scale() const { return 1.0f / sqrtf(static_cast<float>(d)); }

  // Whether query `row` of a head sees `key`. A causal mask is aligned to the bottom right: the
  // last query sees all keys, the one before it all but one.
  __host__ __device__ bool sees(int row, int key) const {
    return row < n_q && key < n_k && (!causal || key <= row + n_k - n_q);
  }
  // Query `row` sees the first visible(row) keys, any `row` at all.
  __host__ __device__ int visible(int row) const {
    const int keys = causal ? row + 1 + n_k - n_q : n_k;
    return keys < 0 ? 0 : keys < n_k ? keys : n_k;
  }
  // The first query that sees `key`; n_q or more if none does.
  __host__ __device__ int first_row(int key) const {
    const int row = causal ? key + n_q - n_k : 0;
    return row < 0 ? 0 : row;
  }
};

// What a rung gets: pointers of the side it works on. lse[row] = log(sum over visible keys of
// exp(score)), as the forward pass leaves it: natural logarithm, -infinity for a row that sees no
// key, whose O is 0.
template <class T>
struct Tensors {
  const T *q, *k, *v, *o, *d_o;
  const float* lse;
  T *dq, *dk, *dv;
};

// Pairs of a query and a key it sees, as the field counts them: a causal mask leaves the area of a
// triangle, n^2 / 2 if n_q = n_k.
inline double pairs(const Shape& shape) {
  const double q = shape.n_q, k = shape.n_k;
  const double of_head = !shape.causal ? q * k : q <= k ? q * (k - q) + q * q / 2 : k * k / 2;
  return static_cast<double>(shape.all_heads()) * of_head;
}
// Operations of five products: S, dP, dV, dK, dQ. The forward pass has two of them.
inline double flops(const Shape& shape) { return 10.0 * pairs(shape) * shape.d; }

// Bytes if each element of the eight tensors moves once (`each` bytes), and the log-sum-exp.
inline double bytes(const Shape& shape, int each) {
  const double rows = static_cast<double>(shape.rows()), keys = static_cast<double>(shape.keys());
  return each * 4.0 * shape.d * (rows + keys) + 4.0 * rows;
}

}  // namespace backward
