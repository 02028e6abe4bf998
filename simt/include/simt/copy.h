// A copy made by a device function, reported to the observer as one read and one write.
#pragma once

#include <cstddef>
#include <cstring>

#include "simt/build_mode.h"

namespace simt {

SIMT_INLINE void copy_bytes(void* to, const void* from, size_t bytes) {
  SIMT_NOTE(read, from, bytes);
  SIMT_NOTE(write, to, bytes);
  memcpy(to, from, bytes);
}

}  // namespace simt
