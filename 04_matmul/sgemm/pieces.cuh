// What a block computes that stays for all its tiles: some of them whole, then its share of those
// that are shared.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/sgemm/13_shared_round.cuh"
#include "04_matmul/sgemm/tiles.cuh"

// A tile, or a part of its sums.
struct Piece {
  TileOrigin tile;
  int begin, turns;  // of the sums: the first turn, and how many
  bool is_shared;    // others have parts of the same sums
};

// What this block computes, one after the other: every gridDim.x-th whole tile, then its share.
template <class T>
struct Pieces {
  int m, n;
  const Shares& shares;
  int tile;                  // the next whole one
  std::int64_t turn, after;  // the next of its share, and the first that is not in it

  __device__ Pieces(int m, int n, const Shares& shares)
      : m(m), n(n), shares(shares), tile(static_cast<int>(blockIdx.x)), turn(0), after(0) {
    if (shares.parts > 0) {
      turn = shares.begin(tile);
      after = shares.begin(tile + 1);
    }
  }
  __device__ bool next(Piece& piece) {
    int index = tile;
    if (tile < shares.whole) {
      piece.begin = 0;
      piece.turns = shares.turns;
      piece.is_shared = false;
      tile += static_cast<int>(gridDim.x);
    } else if (turn < after) {
      const SharedPiece share = shares.piece_at(turn, after);
      index = share.tile;
      piece.begin = share.begin;
      piece.turns = share.turns;
      piece.is_shared = true;
      turn += piece.turns;
    } else {
      return false;
    }
    piece.tile = tile_in_bands<T::kRows, T::kCols>(m, n, index);
    return true;
  }
};
