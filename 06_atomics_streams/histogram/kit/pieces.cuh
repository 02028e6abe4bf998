// Bytes in pieces of 16, whatever the alignment.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace histogram {

// x[0 .. n) as `head` single bytes, then `count` aligned pieces of 16, then the single bytes from
// `tail` on.
struct Pieces {
  std::int64_t head, count, tail;
  const uint4* first;
};

__device__ inline Pieces split_in_pieces(const unsigned char* x, std::int64_t n) {
  const std::int64_t to_boundary = (16 - reinterpret_cast<std::uintptr_t>(x) % 16) % 16;
  Pieces pieces;
  pieces.head = to_boundary < n ? to_boundary : n;
  pieces.count = (n - pieces.head) / 16;
  pieces.tail = pieces.head + 16 * pieces.count;
  pieces.first = reinterpret_cast<const uint4*>(x + pieces.head);
  return pieces;
}

// Calls take(byte) for each of the 4 bytes of a word.
template <class Take>
__device__ inline void each_byte(unsigned word, Take take) {
#pragma unroll
  for (int k = 0; k < 4; ++k) take(word >> 8 * k & 0xff);
}

template <class Take>
__device__ inline void each_byte(uint4 piece, Take take) {
  each_byte(piece.x, take);
  each_byte(piece.y, take);
  each_byte(piece.z, take);
  each_byte(piece.w, take);
}

// True if all 16 bytes are the same: four equal words, and a word that survives rotation by a byte.
__device__ inline bool is_one_byte_repeated(uint4 piece) {
  return piece.x == piece.y && piece.x == piece.z && piece.x == piece.w &&
         piece.x == (piece.x << 8 | piece.x >> 24);
}

// Calls take(byte) for the bytes of x[0 .. n) that belong to no piece: fewer than 32.
template <class Take>
__device__ inline void each_single_byte(const unsigned char* x, std::int64_t n,
                                        const Pieces& pieces, std::int64_t thread, Take take) {
  if (thread < pieces.head) take(x[thread]);
  if (pieces.tail + thread < n) take(x[pieces.tail + thread]);
}

}  // namespace histogram
