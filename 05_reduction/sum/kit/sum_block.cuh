// The size of a block, which most rungs of the sum have in common.
#pragma once

namespace reduction {

constexpr int kSumBlock = 256;  // threads

}  // namespace reduction
