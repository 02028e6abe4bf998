// A block's tile for mma.sync: its sizes, as template parameters.
#pragma once

namespace matmul::bf16 {

// kTransposedB: B is n x k, and so is its tile. kSlabsB: where B is k x n, its tile lies in slabs
// of 64 columns, as TMA brings it; otherwise its rows lie as they are.
template <bool kTransposedB_, int kTileM_, int kTileN_, int kWarpM_, int kWarpN_, int kTileK_,
          int kStages_, bool kSlabsB_ = false>
struct MmaTile {
  static constexpr bool kTransposedB = kTransposedB_, kSlabsB = kSlabsB_;
  static constexpr int kTileM = kTileM_, kTileN = kTileN_;  // of C, a block
  static constexpr int kWarpM = kWarpM_, kWarpN = kWarpN_;  // of C, a warp
  static constexpr int kTileK = kTileK_;                    // values of k, a stage
  static constexpr int kStages = kStages_;                  // whose tiles are in shared memory
  static constexpr int kWarpsAcross = kTileN / kWarpN;
  static constexpr int kThreads = kTileM / kWarpM * kWarpsAcross * 32;
  static constexpr int kRowsB = kTransposedB ? kTileN : kTileK;  // of B's tile
  static constexpr int kColsB = kTransposedB ? kTileK : kTileN;
  static constexpr int kTileA = kTileM * kTileK, kTileB = kTileK * kTileN;  // elements
  static constexpr int kTileC = kTileM * kTileN, kStage = kTileA + kTileB;
  static constexpr int kRoom = kStages * kStage > kTileC ? kStages* kStage : kTileC;
  static constexpr int kSharedBytes = kRoom * 2;  // for the stages, and later for C's tile
  static constexpr int kPartsA = kWarpM / 16, kPartsB = kWarpN / 16;  // 16 x 16 of a warp
  static_assert(kTileM % kWarpM == 0 && kTileN % kWarpN == 0, "warps fill the tile");
};

}  // namespace matmul::bf16
