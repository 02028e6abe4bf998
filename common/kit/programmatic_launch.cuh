// SPDX-License-Identifier: MIT
// Programmatic dependent launch: a kernel that may begin before the one before it has ended.
#pragma once

#include <cuda_runtime.h>

#include "common/kit/check.cuh"

namespace kit {

// Launches a kernel that waits by griddepcontrol before it relies on what the launch before it in
// its stream does, and that does not end before that one. Its code must be for sm_90 or newer:
// older code cannot wait.
template <class... Parameters, class... Arguments>
void launch_programmatic(void (*kernel)(Parameters...), unsigned blocks, int threads, int shared,
                         cudaStream_t stream, const Arguments&... arguments) {
  cudaLaunchAttribute programmatic;
  programmatic.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  programmatic.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.dynamicSmemBytes = shared;
  config.stream = stream;
  config.attrs = &programmatic;
  config.numAttrs = 1;
  CUDA_CHECK(cudaLaunchKernelEx(&config, kernel, arguments...));
}

}  // namespace kit
