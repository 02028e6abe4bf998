// How the rungs for mma.sync cut up their work.
#pragma once

namespace attention {

// A warp has 32 queries of its own, so every key it fetches from shared memory serves twice; 16
// where d is 256, or O alone would fill its registers. kTileN: keys.
template <int kD_, int kWarps_ = kD_ == 256 ? 8 : 4, int kTileN_ = kD_ == 256 ? 32 : 64>
struct MmaTile {
  static constexpr int kD = kD_, kWarps = kWarps_, kTileN = kTileN_;
  static constexpr int kWarpRows = kD == 256 ? 16 : 32;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kTileM = kWarpRows * kWarps;  // queries
  static constexpr int kBlocks = 8 / kWarps;         // that share an SM
  static constexpr int kRowGroups = kWarpRows / 16;  // of 16 queries, as mma takes them
  static constexpr int kChunks = kD / 8;             // of 16 bytes, in a row

  // Dynamic shared memory: a tile of Q, and `buffers` of K and of V.
  static constexpr int kQBytes = kTileM * kD * 2, kKvBytes = kTileN * kD * 2;
  static constexpr int shared_bytes(int buffers) { return kQBytes + 2 * buffers * kKvBytes; }
};

}  // namespace attention
