// chunks: through the host still, but a chunk comes in while the one before it goes out.
//
// The chunks go through a few slots of the host's memory, as in the pipeline of streams: a slot's
// chunk leaves when it has arrived, and the next one comes when it has left. Both halves of the way
// are busy, so it takes little more than half as long. What is still wrong: the way. The bus to the
// host is slower than the link between the devices.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "06_atomics_streams/device_copy/kit/transfer.cuh"
#include "common/kit/check.cuh"

namespace device_copy {

inline void device_copy_chunks(const Transfer& t) {
  for (std::int64_t begin = 0, chunk = 0; begin < t.bytes; begin += kChunkBytes, ++chunk) {
    const std::int64_t bytes = std::min(kChunkBytes, t.bytes - begin);
    const int slot = static_cast<int>(chunk % kSlots);
    Byte* const host = t.staging + slot * kChunkBytes;
    if (chunk >= kSlots) CUDA_CHECK(cudaStreamWaitEvent(t.at_source(), t.left[slot], 0));
    CUDA_CHECK(cudaMemcpyAsync(host, t.from + begin, bytes, cudaMemcpyDeviceToHost, t.at_source()));

    t.devices.wait(t.target, t.source);  // it has arrived
    CUDA_CHECK(cudaMemcpyAsync(t.to + begin, host, bytes, cudaMemcpyHostToDevice, t.at_target()));
    CUDA_CHECK(cudaEventRecord(t.left[slot], t.at_target()));
  }
  t.devices.wait(t.source, t.target);  // the next call will overwrite the slots
}

}  // namespace device_copy
