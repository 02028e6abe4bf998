// From a kernel call on the host to a task: what the runtime's own functions need of it.
#pragma once

#include "device.h"

namespace simt {

// What a kernel call on the host asks for.
struct LaunchRequest {
  LaunchShape shape;
  cudaStream_t stream = nullptr;
  cudaError_t error = cudaSuccess;  // found in its attributes already
  Task* record = nullptr;           // fill this in (a graph's node) instead of launching
  bool error_is_returned = false;   // to the caller; else cudaGetLastError() alone tells of it
};

// The kernel behind a pointer that kernel_handle() registered, or null.
Kernel* find_kernel(const void* function);

// Calls the kernel behind such a pointer.
cudaError_t launch_by_pointer(const void* function, const LaunchRequest& request, void** arguments);

}  // namespace simt
