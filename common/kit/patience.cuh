// SPDX-License-Identifier: MIT
// A peer that never comes (its program died, its launch failed) must not let the others wait for
// ever.
#pragma once

#include <cassert>

#include "common/kit/devices.cuh"

namespace kit {

// Counts looks at a flag. After the last one the kernel ends with cudaErrorAssert, and this line.
class Patience {
 public:
  __device__ void look() {
    ++looks_;
    assert(looks_ < kMostLooks && "a peer has not come to this call");
  }

 private:
  unsigned looks_ = 0;
};

}  // namespace kit
