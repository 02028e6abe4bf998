// openmp: a piece for each core.
//
// A copy does nothing but load and store, and one core cannot have as many of them in flight as the
// memory could serve. What is still wrong: it is the wrong memory. The bytes that GPUs work on lie
// in theirs.
#pragma once

#include <cstdint>

namespace device_copy {

// As the loop.
inline void device_copy_openmp(const unsigned char* from, unsigned char* to, std::int64_t bytes) {
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < bytes; ++i) to[i] = from[i];
}

}  // namespace device_copy
