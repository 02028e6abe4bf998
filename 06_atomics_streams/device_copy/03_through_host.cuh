// through_host: to the host's memory, and from there to the other device.
//
// It needs nothing between the devices, so it runs on any machine. The host's memory is pinned, so
// both copies are asynchronous; an event makes the second one wait for the first. What is still
// wrong: all bytes take the bus to the host, one way and then the other, and while one half of the
// way is busy the other half is idle.
#pragma once

#include <cuda_runtime.h>

#include "06_atomics_streams/device_copy/kit/transfer.cuh"
#include "common/kit/check.cuh"

namespace device_copy {

inline void device_copy_through_host(const Transfer& t) {
  CUDA_CHECK(cudaMemcpyAsync(t.staging, t.from, t.bytes, cudaMemcpyDeviceToHost, t.at_source()));
  t.devices.wait(t.target, t.source);
  CUDA_CHECK(cudaMemcpyAsync(t.to, t.staging, t.bytes, cudaMemcpyHostToDevice, t.at_target()));
  t.devices.wait(t.source, t.target);  // the next call will overwrite the host's memory
}

}  // namespace device_copy
