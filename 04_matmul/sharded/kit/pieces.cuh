// What a thread moves at a time: 16 bytes, or one element where rows do not begin at multiples of
// them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "04_matmul/sharded/kit/team.cuh"

namespace matmul::sharded {

constexpr int kPiece = 8;  // elements

template <int kSize>
struct alignas(kSize * sizeof(Element)) Piece {
  Element element[kSize];
};
template <int kSize>
Piece<kSize>* pieces(Element* first) {
  return reinterpret_cast<Piece<kSize>*>(first);
}
template <int kSize>
const Piece<kSize>* pieces(const Element* first) {
  return reinterpret_cast<const Piece<kSize>*>(first);
}

// Calls run(size) with the size of pieces for rows of so many elements, a constant.
template <class Run>
void with_pieces_of(std::int64_t row, Run run) {
  if (row % kPiece == 0) {
    run(std::integral_constant<int, kPiece>());
  } else {
    run(std::integral_constant<int, 1>());
  }
}

// Blocks of a kernel that meets others, for the rank with the most rows: on every device the same
// number.
inline int push_blocks(const Team& team, const Shards& rows, std::int64_t pieces_of_row) {
  std::int64_t most = 1;
  for (int rank = 0; rank < team.size(); ++rank) {
    most = std::max(most, rows.size(rank) * pieces_of_row);
  }
  return static_cast<int>(
      std::min<std::int64_t>((most + kPushThreads - 1) / kPushThreads, team.push_blocks));
}

}  // namespace matmul::sharded
