// cp.async through its C interface. A GPU copies in the background; here the copy is done at once,
// and waiting finds it done.
#pragma once

#include "simt/cuda.h"

SIMT_INLINE void __pipeline_memcpy_async(void* to_shared, const void* from_global, size_t bytes,
                                         size_t zero_fill = 0) {
  if (bytes > zero_fill) SIMT_NOTE(read, from_global, bytes - zero_fill);
  SIMT_NOTE(write, to_shared, bytes);
  memcpy(to_shared, from_global, bytes - zero_fill);
  memset(static_cast<char*>(to_shared) + bytes - zero_fill, 0, zero_fill);
}
SIMT_INLINE void __pipeline_commit() {}
SIMT_INLINE void __pipeline_wait_prior(size_t) {}
