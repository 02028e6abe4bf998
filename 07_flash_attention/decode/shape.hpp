// The sizes of one step of decoding, what follows from them, and the tensors a rung gets.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "common/kit/ptx/prefetch.cuh"

namespace decode {

// Some of the query heads that share a K/V head.
struct WorkTile {
  std::int64_t kv_head, first_row;  // of all batch x kv_heads, of all batch x heads
  int count;
};

// Each sequence has one new token, whose query heads look at up to n tokens in the caches. Q and O
// are [batch, heads, d], the log-sum-exp is [batch, heads]; `group()` neighbouring query heads
// share a K/V head. A "row" is a query head of all, a "K/V head" one of batch x kv_heads. Kernels
// take a Shape by value.
struct Shape {
  static constexpr std::int64_t kMostLength = 1 << 22;

  std::int64_t batch, heads, kv_heads;
  int n, d;

  // In 32 bits, as work_tile(): a kernel divides before it can ask for anything.
  __host__ __device__ int group() const {
    return static_cast<int>(heads) / static_cast<int>(kv_heads);
  }
  __host__ __device__ std::int64_t rows() const { return batch * heads; }
  __host__ __device__ std::int64_t all_kv_heads() const { return batch * kv_heads; }

  // What Q K^T is multiplied by.
  __host__ __device__ float scale() const { return 1.0f / sqrtf(static_cast<float>(d)); }

  // A group in work tiles of at most `most` rows: how many there are in all, and which is the i-th.
  __host__ __device__ std::int64_t work_tiles(int most) const {
    return all_kv_heads() * ((group() + most - 1) / most);
  }
  __host__ __device__ WorkTile work_tile(std::int64_t i, int most) const {
    const int of_group = (group() + most - 1) / most, at = static_cast<int>(i);
    const int kv_head = at / of_group, first = at % of_group * most, left = group() - first;
    return {kv_head, std::int64_t{kv_head} * group() + first, left < most ? left : most};
  }
};

// What a rung gets: pointers of the side it works on. K and V are the caches, [batch, kv_heads, n,
// d] where they lie in one piece. lse[row] = log(sum over the keys of exp(score)), natural
// logarithm. A row without keys has O = 0 and lse = -infinity.
template <class T>
struct Tensors {
  const T *q, *k, *v;
  T* o;
  float* lse;
};

// Where the tokens of a sequence are, if not in one piece: in pages of `page` tokens, [pages,
// kv_heads, page, d]. table[sequence x pages_each + i] is the page of tokens i x page and
// following. A query sees the tokens from first() on, up to end(): the newest `window` of
// lengths[sequence]. Caches in one piece are the case of one page a sequence.
struct Cache {
  const int *lengths, *table;
  int page, pages_each, window;

  __host__ __device__ int end(std::int64_t sequence) const { return lengths[sequence]; }
  __host__ __device__ int first(std::int64_t sequence) const { return first_of(end(sequence)); }
  // That of a sequence of `length` tokens.
  __host__ __device__ int first_of(int length) const {
    return length > window ? length - window : 0;
  }
  // The row of K and of V that belongs to a token of a K/V head. A token behind the last of its
  // sequence's pages_each pages gets a row of that page. There are fewer than 2^31 rows:
  // in 32 bits, as Shape::group().
  __host__ __device__ std::int64_t row(const Shape& shape, std::int64_t kv_head, int token) const {
    const int head_of_all = static_cast<int>(kv_head), heads = static_cast<int>(shape.kv_heads);
    const int sequence = head_of_all / heads, head = head_of_all - sequence * heads;
    const int i = token / page, last = pages_each - 1;
    const int at = table[std::int64_t{sequence} * pages_each + (i < last ? i : last)];
    return (at * heads + head) * page + (token - i * page);
  }
  // Has L2 fetch what the table says of tokens [begin, end), so that later lookups find it there: a
  // thread asks for a sector, eight numbers, at a time. By all kThreads threads of a block.
  template <int kThreads>
  __device__ void prefetch_table(std::int64_t sequence, int begin, int end) const {
    const int* of_sequence = table + sequence * pages_each;
    const int end_page = (end + page - 1) / page;
    for (int i = begin / page + 8 * threadIdx.x; i < end_page; i += 8 * kThreads) {
      ptx::prefetch_l2(of_sequence + i);
    }
  }
};

}  // namespace decode
