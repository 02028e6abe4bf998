// SPDX-License-Identifier: MIT
// What toolkits from CUDA 12.0 to 13 write differently, each under one name. No other file asks
// which toolkit compiles it.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <string>

#include "common/kit/check.cuh"

namespace kit {

// Where pages of managed memory may lie. CUDA 13 names a place by type and number; CUDA 12 by
// number alone.
#if CUDART_VERSION >= 13000
using ManagedPlace = cudaMemLocation;
inline ManagedPlace on_device(int device) { return {cudaMemLocationTypeDevice, device}; }
inline ManagedPlace on_host() { return {cudaMemLocationTypeHost, 0}; }
#else
using ManagedPlace = int;
inline ManagedPlace on_device(int device) { return device; }
inline ManagedPlace on_host() { return cudaCpuDeviceId; }
#endif

// Asks the driver to move pages of managed memory now.
inline cudaError_t prefetch(const void* p, std::size_t bytes, ManagedPlace place) {
#if CUDART_VERSION >= 13000
  return cudaMemPrefetchAsync(p, bytes, place, 0);
#else
  return cudaMemPrefetchAsync(p, bytes, place);
#endif
}

// A function of the driver, as it was in CUDA `version` (12000 for 12.0). Asked for at run time, a
// program that uses it needs no -lcuda and starts where there is no driver.
inline void* driver_function(const std::string& name, unsigned version) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found;
#if CUDART_VERSION >= 12050
  CUDA_CHECK(cudaGetDriverEntryPointByVersion(name.c_str(), &function, version, cudaEnableDefault,
                                              &found));
#else
  (void)version;  // it gives a function as it was in the toolkit's own version
  CUDA_CHECK(cudaGetDriverEntryPoint(name.c_str(), &function, cudaEnableDefault, &found));
#endif
  if (found != cudaDriverEntryPointSuccess) throw std::runtime_error("the driver has no " + name);
  return function;
}

// Adds to four floats in global memory, aligned to 16 bytes, to each of them atomically: with one
// instruction on sm_90 or newer, which the toolkit knows since CUDA 12.1.
__device__ __forceinline__ void add_four(float4* to, float4 x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 && CUDART_VERSION >= 12010
  atomicAdd(to, x);
#else
  auto* floats = reinterpret_cast<float*>(to);
  atomicAdd(floats, x.x);
  atomicAdd(floats + 1, x.y);
  atomicAdd(floats + 2, x.z);
  atomicAdd(floats + 3, x.w);
#endif
}

}  // namespace kit
