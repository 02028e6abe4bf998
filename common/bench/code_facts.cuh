// What the kernels of this program were compiled for. A GPU also runs code for older ones, in which
// `#if __CUDA_ARCH__ >= 800` leaves out what they lack: such a kernel would do nothing.
#pragma once

#include <cuda_runtime.h>

namespace bench {

struct CodeFacts {
  int capability = 0;       // __CUDA_ARCH__ / 10 of what the device would run; 0 if unknown
  bool for_sm_90a = false;  // with the instructions that only 9.0 has
};

// Never launched: its attributes say which of the program's versions the device would run, and only
// the one for sm_90a has a variable in shared memory. (A template, so that every source that
// includes this may hold it.)
template <class Unused = void>
__global__ void compiled_for_kernel() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  __shared__ volatile char mark;
  mark = 1;
#endif
}

// Of the current device. Unknown if the program has nothing that it could run: the first launch
// will say so.
inline CodeFacts query_code() {
  cudaFuncAttributes attributes = {};
  if (cudaFuncGetAttributes(&attributes, compiled_for_kernel<>) != cudaSuccess) {
    cudaGetLastError();
    return {};
  }
  return {attributes.ptxVersion, attributes.sharedSizeBytes > 0};
}

}  // namespace bench
