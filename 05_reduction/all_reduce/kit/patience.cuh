// A peer that never comes (its program died, its launch failed) must not let the others wait for
// ever.
#pragma once

#include <cassert>

#include "common/kit/check.cuh"

namespace all_reduce {

// Looks at a flag, half a microsecond each: about 20 s. On a CPU the others move between two looks.
constexpr unsigned kMostLooks = kit::kHasGpu ? 1u << 25 : 1u << 18;

// Counts them. At the last one the kernel ends with cudaErrorAssert, and this line.
class Patience {
 public:
  __device__ void look() {
    ++looks_;
    assert(looks_ < kMostLooks && "a peer has not come to this call");
  }

 private:
  unsigned looks_ = 0;
};

}  // namespace all_reduce
