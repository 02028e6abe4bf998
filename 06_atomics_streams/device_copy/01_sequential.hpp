// sequential: the loop.
//
// The host has one memory, so there is no way to go: it is what every byte must look like
// afterwards, and the time that one core takes. Compilers make a memcpy of this loop. What is still
// wrong: one core.
#pragma once

#include <cstdint>

namespace device_copy {

// to[i] = from[i] for every i < bytes. Host pointers.
inline void device_copy_sequential(const unsigned char* from, unsigned char* to,
                                   std::int64_t bytes) {
  for (std::int64_t i = 0; i < bytes; ++i) to[i] = from[i];
}

}  // namespace device_copy
