// What the lock protects, and a record of nothing.
#pragma once

#include <cuda_runtime.h>

#include <limits>

namespace lock {

constexpr float kLowest = -std::numeric_limits<float>::infinity();
constexpr unsigned kNowhere = 0xffffffffu;

// What the lock protects.
struct Record {
  float largest;
  unsigned index;
};

__global__ void lock_start_kernel(Record* record) { *record = {kLowest, kNowhere}; }

}  // namespace lock
