// The tile of the rungs that scan in shared memory.
#pragma once

namespace scan {

constexpr int kScanTile = 1024;  // elements

}  // namespace scan
