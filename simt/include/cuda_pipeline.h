// cp.async through its C interface: late, as the instruction itself.
#pragma once

#include "simt/cuda.h"
#include "simt/ptx.h"

SIMT_INLINE void __pipeline_memcpy_async(void* to_shared, const void* from_global, size_t bytes,
                                         size_t zero_fill = 0,
                                         simt::Location at = simt::Location::here()) {
  simt::ptx::cp_async(to_shared, from_global, unsigned(bytes), unsigned(bytes - zero_fill), at,
                      __builtin_return_address(0));
}
SIMT_INLINE void __pipeline_commit() { simt::ptx::cp_async_commit_group(); }
SIMT_INLINE void __pipeline_wait_prior(size_t groups) {
  simt::ptx::cp_async_wait_group(unsigned(groups));
}
