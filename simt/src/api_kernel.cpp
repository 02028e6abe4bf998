// Functions about kernels: attributes, launches by pointer, occupancy.

#include <algorithm>

#include "launch.h"
#include "limits.h"
#include "simt/runtime_api.h"

using namespace simt;

namespace {

int max_threads(const Kernel& kernel) {
  return kernel.bounds.max_threads > 0 ? std::min<int>(kernel.bounds.max_threads, kMaxThreads)
                                       : int(kMaxThreads);
}

int round_up(int value, int unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

// ---- occupancy: a block stays resident until its last thread ends, so the multiprocessor must
// have room for all of its warps, registers and shared memory at once. Each resource allows some
// number of blocks; the scarcest decides.
int simt::resident_blocks(const Kernel& kernel, int threads, size_t dynamic_shared) {
  const int warps = (threads + int(kWarpSize) - 1) / int(kWarpSize);
  const int by_warps = chip().threads_per_multiprocessor / int(kWarpSize) / warps;

  // Registers are handed out per warp, and each of the four schedulers has its own quarter of them.
  const int registers_per_warp = round_up(kAssumedRegisters * int(kWarpSize), kRegisterUnit);
  const int warps_by_registers = kRegistersPerMultiprocessor / 4 / registers_per_warp * 4;
  const int by_registers = warps_by_registers / warps;

  const size_t wanted = kernel.static_shared + dynamic_shared + chip().shared_reserved;
  const size_t shared = (wanted + kSharedUnit - 1) / kSharedUnit * kSharedUnit;
  const int by_shared = int(chip().shared_per_multiprocessor / shared);

  return std::min(std::min(by_warps, by_registers),
                  std::min(by_shared, chip().blocks_per_multiprocessor));
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function,
                                                          int block_size, size_t dynamic_shared) {
  const Kernel* kernel = find_kernel(function);
  if (!kernel) return record_error(cudaErrorInvalidResourceHandle);
  if (!blocks || block_size <= 0) return record_error(cudaErrorInvalidValue);
  if (block_size > int(kMaxThreads) ||
      kernel->static_shared + dynamic_shared > chip().shared_per_block) {
    *blocks = 0;
    return record_error(cudaSuccess);
  }
  *blocks = resident_blocks(*kernel, block_size, dynamic_shared);
  return record_error(cudaSuccess);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, const void* function, int block_size, size_t dynamic_shared, unsigned) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, block_size,
                                                       dynamic_shared);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* function,
                                                      int blocks, int block_size) {
  const Kernel* kernel = find_kernel(function);
  if (!kernel) return record_error(cudaErrorInvalidResourceHandle);
  if (!bytes || blocks <= 0 || block_size <= 0) return record_error(cudaErrorInvalidValue);
  const size_t share =
      chip().shared_per_multiprocessor / size_t(blocks) / kSharedUnit * kSharedUnit;
  const size_t taken = kernel->static_shared + chip().shared_reserved;
  const size_t most = size_t(kernel->max_dynamic_shared) - kernel->static_shared;
  *bytes = share > taken ? std::min(share - taken, most) : 0;
  return record_error(cudaSuccess);
}

// ---- clusters: all blocks of one must be resident at once, on the multiprocessors of one group.

static unsigned cluster_size(const cudaLaunchConfig_t& config) {
  for (unsigned i = 0; i < config.numAttrs; ++i)
    if (config.attrs[i].id == cudaLaunchAttributeClusterDimension) {
      const auto& c = config.attrs[i].val.clusterDim;
      return c.x * c.y * c.z;
    }
  return 1;
}

cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* function,
                                           const cudaLaunchConfig_t* config) {
  const Kernel* kernel = find_kernel(function);
  if (!kernel) return record_error(cudaErrorInvalidResourceHandle);
  if (!clusters || !config) return record_error(cudaErrorInvalidValue);
  *clusters = 0;
  if (chip().cluster_blocks == 1) return record_error(cudaErrorNotSupported);
  const dim3 b = config->blockDim;
  const unsigned size = cluster_size(*config);
  if (size == 0 || size > kMaxClusterBlocks) return record_error(cudaErrorInvalidClusterSize);
  if (kernel->static_shared + config->dynamicSmemBytes > chip().shared_per_block)
    return record_error(cudaErrorInvalidValue);
  const int blocks = resident_blocks(*kernel, int(b.x * b.y * b.z), config->dynamicSmemBytes);
  *clusters = blocks * chip().multiprocessors / int(size);
  return record_error(cudaSuccess);
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, const void* function,
                                                 const cudaLaunchConfig_t* config) {
  const Kernel* kernel = find_kernel(function);
  if (!kernel) return record_error(cudaErrorInvalidResourceHandle);
  if (!size || !config) return record_error(cudaErrorInvalidValue);
  *size = 0;
  if (chip().cluster_blocks == 1) return record_error(cudaErrorNotSupported);
  *size = int(kernel->large_clusters ? kMaxClusterBlocks : chip().cluster_blocks);
  return record_error(cudaSuccess);
}

// ---- attributes -------------------------------------------------------------------------------

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  const Kernel* kernel = find_kernel(function);
  if (!kernel) return record_error(cudaErrorInvalidResourceHandle);
  if (!attributes) return record_error(cudaErrorInvalidValue);
  *attributes = cudaFuncAttributes{};
  attributes->sharedSizeBytes = kernel->static_shared;
  attributes->maxThreadsPerBlock = max_threads(*kernel);
  attributes->numRegs = kAssumedRegisters;
  attributes->ptxVersion = attributes->binaryVersion = chip().architecture;
  attributes->maxDynamicSharedSizeBytes = kernel->max_dynamic_shared;
  attributes->preferredShmemCarveout = kernel->preferred_carveout;
  return record_error(cudaSuccess);
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  Kernel* kernel = find_kernel(function);
  if (!kernel) return record_error(cudaErrorInvalidResourceHandle);
  switch (attribute) {
    case cudaFuncAttributeMaxDynamicSharedMemorySize:
      if (value < 0 || size_t(value) + kernel->static_shared > chip().shared_per_block)
        return record_error(cudaErrorInvalidValue);
      kernel->max_dynamic_shared = value;
      return record_error(cudaSuccess);
    case cudaFuncAttributePreferredSharedMemoryCarveout:
      if (value < -1 || value > 100) return record_error(cudaErrorInvalidValue);
      kernel->preferred_carveout = value;
      return record_error(cudaSuccess);
    case cudaFuncAttributeNonPortableClusterSizeAllowed:
      if (chip().cluster_blocks == 1) return record_error(cudaErrorNotSupported);
      kernel->large_clusters = value != 0;
      return record_error(cudaSuccess);
    default: return record_error(cudaErrorInvalidValue);
  }
}

cudaError_t cudaFuncSetCacheConfig(const void* function, cudaFuncCache) {
  return record_error(find_kernel(function) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

// ---- launches by pointer ----------------------------------------------------------------------

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                             size_t dynamic_shared, cudaStream_t stream, Location at) {
  LaunchRequest request;
  request.shape = {grid, block, dynamic_shared, false, at};
  request.stream = stream;
  return launch_by_pointer(function, request, arguments);
}

cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block,
                                        void** arguments, size_t dynamic_shared,
                                        cudaStream_t stream, Location at) {
  LaunchRequest request;
  request.shape = {grid, block, dynamic_shared, true, at};
  request.stream = stream;
  return launch_by_pointer(function, request, arguments);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function,
                                void** arguments, Location at) {
  if (!config) return record_error(cudaErrorInvalidValue);
  LaunchRequest request;
  request.shape = {config->gridDim, config->blockDim, config->dynamicSmemBytes, false, at};
  request.stream = config->stream;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const cudaLaunchAttribute& attribute = config->attrs[i];
    if (attribute.id == cudaLaunchAttributeCooperative)
      request.shape.cooperative = attribute.val.cooperative != 0;
    if (attribute.id == cudaLaunchAttributeClusterDimension) {
      const auto& c = attribute.val.clusterDim;
      request.shape.cluster = dim3(c.x, c.y, c.z);
    }
  }
  return launch_by_pointer(function, request, arguments);
}
