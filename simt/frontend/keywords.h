// CUDA's keywords, defined in front of every .cu file. g++ takes host and device code as one, so
// most of them vanish. Those that begin with
// __simt_ are left for the front end, which sees the text after the preprocessor.
#pragma once

#define __SIMT__ 1

#define __CUDACC__ 1
#define __NVCC__ 1
#if SIMT_CUDA == 12  // for programs of older books
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 9
#define CUDART_VERSION 12090
#define CUDA_VERSION 12090
#else
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define CUDART_VERSION 13000
#define CUDA_VERSION 13000
#endif
#define __CUDACC_VER_BUILD__ 0
#define __CUDACC_EXTENDED_LAMBDA__ 1
#define __CUDACC_RELAXED_CONSTEXPR__ 1
// Host and device code are compiled together for the model GPU, so code under __CUDA_ARCH__ is
// seen. simt/nvcc defines SIMT_ARCH; for 90, what nvcc defines for sm_90a.
#define __CUDA_ARCH__ (SIMT_ARCH * 10)
#define __CUDA_ARCH_LIST__ (SIMT_ARCH * 10)
#if SIMT_ARCH == 90
#define __CUDA_ARCH_FEAT_SM90_ALL 1
#define __CUDA_ARCH_SPECIFIC__ 900
#define __CUDA_ARCH_FAMILY_SPECIFIC__ 900
#endif

#define __global__ __simt_global__
#define __device__ __simt_device__
#define __shared__ __simt_shared__
#define __constant__ __simt_constant__
#define __managed__ __simt_managed__
#define __launch_bounds__(...) __simt_launch_bounds__(__VA_ARGS__)
#define __cluster_dims__(...) __simt_cluster_dims__(__VA_ARGS__)
#define __host__
#define __grid_constant__
#define __maxnreg__(...)
#define __block_size__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __builtin_align__(bytes) __attribute__((aligned(bytes)))
#define __inline_hint__
#define CUDARTAPI
#define CUDART_CB
#define CUDAAPI
#define __nv_pure__
