// The mask of a shuffle in which the whole warp takes part.
#pragma once

namespace reduction {

constexpr unsigned kAllLanes = 0xffffffffu;

}  // namespace reduction
