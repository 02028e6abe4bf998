// How the rung for mma.sync cuts up its work.
#pragma once

namespace backward {

// A warp has 16 keys; where d is 256, two warps share 16 keys and each has half of the columns of
// dK and dV, as all of them would be more registers than a thread can have. For dQ a warp has 32
// queries.
template <int kD>
struct MmaTile {
  static constexpr int kWarps = 8, kThreads = 32 * kWarps;
  static constexpr int kSplit = kD == 256 ? 2 : 1;         // warps that share keys
  static constexpr int kCols = kD / kSplit;                // of dK and dV, a warp's
  static constexpr int kKeys = 16 * kWarps / kSplit;       // of a block
  static constexpr int kQueries = kD == 256 ? 32 : 64;     // of a step
  static constexpr int kDqGroups = kQueries / 32;          // of 32 queries
  static constexpr int kDqCols = kD * kDqGroups / kWarps;  // of dQ, a warp's
  static constexpr int kChunks = kD / 8, kSlab = kChunks;  // of 16 bytes, a row's
};

}  // namespace backward
