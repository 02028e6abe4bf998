// The sizes of a batch of sequences that are read at once, what follows from them, and the tensors
// a rung gets.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

namespace prefill {

// Keys [begin, end) of a sequence.
struct KeyRange {
  int begin, end;
};

// Who sees whom in a sequence of n_q queries and n_k keys. The last query belongs to the last key:
// a query's own key is `query + n_k - n_q`. With a causal mask a query sees no key after its own;
// with a window (above 0) of those up to its own only the last `window`.
struct Visibility {
  int n_q, n_k, window;
  bool causal;

  // region keys
  __host__ __device__ KeyRange keys(int query) const {
    const int own = query + n_k - n_q;
    const int up_to_own = own + 1 < 0 ? 0 : own + 1 < n_k ? own + 1 : n_k;
    const int end = causal ? up_to_own : n_k;
    const int begin = window > 0 && own + 1 > window ? own + 1 - window : 0;
    return {begin < end ? begin : end, end};
  }
  // endregion
};

// A sequence: its first token among all queries and among all keys, and how many it has.
struct Sequence {
  int first_q, n_q, first_k, n_k;
};

// Where sequences begin: sequence i has tokens q[i] to q[i + 1] - 1 of all queries, and as many
// keys in the same way; batch + 1 numbers each. In device memory for kernels, in host memory for
// loops.
struct Starts {
  const int *q, *k;

  __host__ __device__ Sequence sequence(int i) const {
    return {q[i], q[i + 1] - q[i], k[i], k[i + 1] - k[i]};
  }
};

// Q and O are [q_tokens, heads, d], K and V are [k_tokens, kv_heads, d], where the tokens of all
// sequences follow one another; the log-sum-exp is [heads, q_tokens]. `group()` neighbouring heads
// share a K/V head. longest: queries of the longest sequence, or more. A "row" is a head of a
// token.
struct Shape {
  static constexpr int kMostTokens = 1 << 22;
  static constexpr int kMostWindow = 1 << 30;

  int batch, heads, kv_heads, q_tokens, k_tokens, longest, d;
  bool causal;
  int window;  // 0: all keys

  __host__ __device__ int group() const { return heads / kv_heads; }
  std::int64_t rows() const { return std::int64_t{q_tokens} * heads; }
  std::int64_t key_rows() const { return std::int64_t{k_tokens} * kv_heads; }
  __host__ __device__ Visibility visibility(const Sequence& sequence) const {
    return {sequence.n_q, sequence.n_k, window, causal};
  }

  // What Q K^T is multiplied by.
  float scale() const { return 1.0f / std::sqrt(static_cast<float>(d)); }
};

// What a rung gets: pointers of the side it works on. lse[head x q_tokens + token] = log(sum over
// the keys of exp(score)), natural logarithm. A row without keys has O = 0 and lse = -infinity.
template <class T>
struct Tensors {
  const T *q, *k, *v;
  T* o;
  float* lse;
};

}  // namespace prefill
