// What stands in front of a .cu or .cuh file when an editor reads it (make editor): simt's headers,
// with CUDA's keywords as clang has them, and no code made of anything. Every function without a
// keyword counts as one for both sides: a kernel may call it, as g++ lets it under simt/nvcc.
#pragma once

#include "keywords.h"
#undef __global__
#undef __device__
#undef __shared__
#undef __constant__
#undef __host__
#undef __launch_bounds__
#undef __cluster_dims__
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __host__ __attribute__((host))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __cluster_dims__(...)

#pragma clang force_cuda_host_device begin
#include <bits/exception.h>
#include <stdlib.h>
#pragma clang force_cuda_host_device end
// The compiler itself declares these for the host, and its own header adds those for the device.
#include <new>
#pragma clang force_cuda_host_device begin

#include "simt/cuda.h"

// What <<<>>> calls.
unsigned cudaConfigureCall(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = nullptr);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared = 0,
                                     cudaStream_t stream = nullptr);
