// copy_engine: one copy, over the link.
//
// Where a device may use the memory of another one, cudaMemcpyAsync with cudaMemcpyDefault finds
// out by the pointers where they lie, and a copy engine of the source sends the bytes over the
// link. No SM works, and the host sees none of the bytes. What is still wrong: it copies and does
// nothing else, and each copy takes about two microseconds, however short it is.
#pragma once

#include <cuda_runtime.h>

#include "06_atomics_streams/device_copy/kit/transfer.cuh"
#include "common/kit/check.cuh"

namespace device_copy {

// cudaMemcpyPeerAsync(to, target, from, source, bytes, stream) does the same, but a stream that
// records a graph refuses it.
inline void device_copy_copy_engine(const Transfer& t) {
  CUDA_CHECK(cudaMemcpyAsync(t.to, t.from, t.bytes, cudaMemcpyDefault, t.at_source()));
}

}  // namespace device_copy
