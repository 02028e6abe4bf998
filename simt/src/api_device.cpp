// What the model GPU says about itself.

#include <atomic>
#include <cstdio>
#include <cstring>

#include "errors.h"
#include "graph.h"
#include "limits.h"
#include "memory.h"
#include "options.h"

using simt::record_error;

namespace simt {
void* driver_function(const char* name);  // tensor_map.cpp
}

namespace {

bool is_device(int device) { return device >= 0 && device < simt::options().devices; }

thread_local int device_of_thread = 0;
std::atomic<bool> peers[simt::kMaxDevices][simt::kMaxDevices];  // whose memory each one may use

size_t limit_values[] = {1024, size_t(1) << 20, size_t(8) << 20, 2, 2048, 128, 0};

}  // namespace

int simt::current_device() { return device_of_thread; }
bool simt::peer_access_enabled(int device, int peer) { return peers[device][peer]; }

cudaError_t cudaGetDeviceCount(int* count) {
  if (!count) return record_error(cudaErrorInvalidValue);
  *count = simt::options().devices;
  return record_error(cudaSuccess);
}

cudaError_t cudaGetDevice(int* device) {
  if (!device) return record_error(cudaErrorInvalidValue);
  *device = device_of_thread;
  return record_error(cudaSuccess);
}

cudaError_t cudaSetDevice(int device) {
  if (!is_device(device)) return record_error(cudaErrorInvalidDevice);
  device_of_thread = device;
  return record_error(cudaSuccess);
}

cudaError_t cudaInitDevice(int device, unsigned, unsigned) {
  return record_error(is_device(device) ? cudaSuccess : cudaErrorInvalidDevice);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
  using namespace simt;
  if (!p) return record_error(cudaErrorInvalidValue);
  if (!is_device(device)) return record_error(cudaErrorInvalidDevice);
  *p = cudaDeviceProp{};
  snprintf(p->name, sizeof p->name, "simt model GPU (CPU)");
  p->totalGlobalMem = options().memory_bytes;
  p->sharedMemPerBlock = kSharedPerBlock;
  p->regsPerBlock = kRegistersPerMultiprocessor;
  p->warpSize = kWarpSize;
  p->memPitch = 0x7fffffff;
  p->maxThreadsPerBlock = kMaxThreads;
  p->maxThreadsDim[0] = p->maxThreadsDim[1] = kMaxThreads;
  p->maxThreadsDim[2] = kMaxBlockZ;
  p->maxGridSize[0] = kMaxGridX;
  p->maxGridSize[1] = p->maxGridSize[2] = kMaxGridYZ;
  p->totalConstMem = kConstantBytes;
  p->major = chip().architecture / 10;
  p->minor = chip().architecture % 10;
  p->textureAlignment = 512;
  p->texturePitchAlignment = 32;
  p->surfaceAlignment = 512;
  p->multiProcessorCount = chip().multiprocessors;
  p->canMapHostMemory = 1;
  p->concurrentKernels = 1;
  p->asyncEngineCount = 3;
  p->unifiedAddressing = 1;
  p->memoryBusWidth = 5120;
  p->l2CacheSize = chip().l2_bytes;
  p->maxThreadsPerMultiProcessor = chip().threads_per_multiprocessor;
  p->streamPrioritiesSupported = 1;
  p->globalL1CacheSupported = 1;
  p->localL1CacheSupported = 1;
  p->sharedMemPerMultiprocessor = chip().shared_per_multiprocessor;
  p->regsPerMultiprocessor = kRegistersPerMultiprocessor;
  p->managedMemory = 1;
  p->concurrentManagedAccess = 1;
  p->computePreemptionSupported = 1;
  p->canUseHostPointerForRegisteredMem = 1;
  p->cooperativeLaunch = 1;
  p->clusterLaunch = chip().cluster_blocks > 1;
  p->sharedMemPerBlockOptin = chip().shared_per_block;
  p->maxBlocksPerMultiProcessor = chip().blocks_per_multiprocessor;
  p->reservedSharedMemPerBlock = chip().shared_reserved;
  p->hostRegisterSupported = 1;
  p->memoryPoolsSupported = 1;
  p->hostNumaId = -1;
  p->pciBusID = device;
  p->reserved[0] = 1;  // in CUDA 12's form: deviceOverlap
  p->reserved[1] = 2;  // and singleToDoublePrecisionPerfRatio
  return record_error(cudaSuccess);
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (!value) return record_error(cudaErrorInvalidValue);
  cudaDeviceProp p;
  if (cudaError_t e = cudaGetDeviceProperties(&p, device)) return e;
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock: *value = p.maxThreadsPerBlock; break;
    case cudaDevAttrMaxBlockDimX: *value = p.maxThreadsDim[0]; break;
    case cudaDevAttrMaxBlockDimY: *value = p.maxThreadsDim[1]; break;
    case cudaDevAttrMaxBlockDimZ: *value = p.maxThreadsDim[2]; break;
    case cudaDevAttrMaxGridDimX: *value = p.maxGridSize[0]; break;
    case cudaDevAttrMaxGridDimY: *value = p.maxGridSize[1]; break;
    case cudaDevAttrMaxGridDimZ: *value = p.maxGridSize[2]; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = int(p.sharedMemPerBlock); break;
    case cudaDevAttrTotalConstantMemory: *value = int(p.totalConstMem); break;
    case cudaDevAttrWarpSize: *value = p.warpSize; break;
    case cudaDevAttrMaxPitch: *value = int(p.memPitch); break;
    case cudaDevAttrMaxRegistersPerBlock: *value = p.regsPerBlock; break;
    // Time is not modelled, so there is no clock rate to report, and none to compute a peak from.
    case cudaDevAttrClockRate: *value = 0; break;
    case cudaDevAttrMemoryClockRate: *value = 0; break;
    case cudaDevAttrTextureAlignment: *value = int(p.textureAlignment); break;
    case cudaDevAttrGpuOverlap: *value = 1; break;
    case cudaDevAttrMultiProcessorCount: *value = p.multiProcessorCount; break;
    case cudaDevAttrCanMapHostMemory: *value = p.canMapHostMemory; break;
    case cudaDevAttrComputeMode: *value = cudaComputeModeDefault; break;
    case cudaDevAttrConcurrentKernels: *value = p.concurrentKernels; break;
    case cudaDevAttrGlobalMemoryBusWidth: *value = p.memoryBusWidth; break;
    case cudaDevAttrL2CacheSize: *value = p.l2CacheSize; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = p.maxThreadsPerMultiProcessor; break;
    case cudaDevAttrAsyncEngineCount: *value = p.asyncEngineCount; break;
    case cudaDevAttrUnifiedAddressing: *value = p.unifiedAddressing; break;
    case cudaDevAttrComputeCapabilityMajor: *value = p.major; break;
    case cudaDevAttrComputeCapabilityMinor: *value = p.minor; break;
    case cudaDevAttrStreamPrioritiesSupported: *value = p.streamPrioritiesSupported; break;
    case cudaDevAttrGlobalL1CacheSupported: *value = p.globalL1CacheSupported; break;
    case cudaDevAttrLocalL1CacheSupported: *value = p.localL1CacheSupported; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      *value = int(p.sharedMemPerMultiprocessor);
      break;
    case cudaDevAttrMaxRegistersPerMultiprocessor: *value = p.regsPerMultiprocessor; break;
    case cudaDevAttrManagedMemory: *value = p.managedMemory; break;
    case cudaDevAttrSingleToDoublePrecisionPerfRatio: *value = 2; break;
    case cudaDevAttrConcurrentManagedAccess: *value = p.concurrentManagedAccess; break;
    case cudaDevAttrComputePreemptionSupported: *value = p.computePreemptionSupported; break;
    case cudaDevAttrCanUseHostPointerForRegisteredMem: *value = 1; break;
    case cudaDevAttrCooperativeLaunch: *value = p.cooperativeLaunch; break;
    case cudaDevAttrClusterLaunch: *value = p.clusterLaunch; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = int(p.sharedMemPerBlockOptin); break;
    case cudaDevAttrHostRegisterSupported: *value = 1; break;
    case cudaDevAttrMaxBlocksPerMultiprocessor: *value = p.maxBlocksPerMultiProcessor; break;
    case cudaDevAttrReservedSharedMemoryPerBlock: *value = int(p.reservedSharedMemPerBlock); break;
    case cudaDevAttrMemoryPoolsSupported: *value = p.memoryPoolsSupported; break;
    case cudaDevAttrHostNumaId: *value = p.hostNumaId; break;
    case cudaDevAttrPciBusId: *value = p.pciBusID; break;
    default: *value = 0;  // features that the model GPU lacks
  }
  return record_error(cudaSuccess);
}

cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp*) { return cudaGetDevice(device); }

cudaError_t cudaDeviceSynchronize() {
  if (cudaError_t e = simt::check_may_wait(__func__)) return record_error(e);
  if (cudaError_t e = simt::check_no_capture_anywhere()) return record_error(e);
  simt::Device::get().wait_for_device(device_of_thread);
  return record_error(cudaSuccess);
}

// Also clears a sticky error, which on a real GPU needs a new process in some cases.
cudaError_t cudaDeviceReset() {
  if (cudaError_t e = simt::check_may_wait(__func__)) return record_error(e);
  simt::Device::get().wait_for_all();
  simt::Device::get().clear_fault();
  simt::exchange_last_error(cudaSuccess);
  return cudaSuccess;
}

cudaError_t cudaSetDeviceFlags(unsigned) { return record_error(cudaSuccess); }
cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  *flags = cudaDeviceMapHost;
  return record_error(cudaSuccess);
}

cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  if (unsigned(limit) > cudaLimitPersistingL2CacheSize)
    return record_error(cudaErrorUnsupportedLimit);
  limit_values[limit] = value;
  return record_error(cudaSuccess);
}
cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  if (unsigned(limit) > cudaLimitPersistingL2CacheSize)
    return record_error(cudaErrorUnsupportedLimit);
  *value = limit_values[limit];
  return record_error(cudaSuccess);
}

cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return record_error(cudaSuccess); }
cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  *config = cudaFuncCachePreferNone;
  return record_error(cudaSuccess);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return record_error(cudaSuccess);
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (!is_device(device) || !is_device(peer)) return record_error(cudaErrorInvalidDevice);
  *can = device != peer;
  return record_error(cudaSuccess);
}

// Of the current device to the memory of another one.
static cudaError_t set_peer_access(int peer, bool enabled) {
  if (!is_device(peer) || peer == device_of_thread) return cudaErrorInvalidDevice;
  if (peers[device_of_thread][peer].exchange(enabled) == enabled)
    return enabled ? cudaErrorPeerAccessAlreadyEnabled : cudaErrorPeerAccessNotEnabled;
  if (simt::observer) simt::observer->peer_access_changed();
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  return record_error(flags != 0 ? cudaErrorInvalidValue : set_peer_access(peer, true));
}
cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  return record_error(set_peer_access(peer, false));
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int device,
                                      int peer) {
  if (!value) return record_error(cudaErrorInvalidValue);
  if (!is_device(device) || !is_device(peer) || device == peer)
    return record_error(cudaErrorInvalidDevice);
  *value = attribute == cudaDevP2PAttrAccessSupported ||
           attribute == cudaDevP2PAttrNativeAtomicSupported;
  return record_error(cudaSuccess);
}

cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device) {
  if (!is_device(device)) return record_error(cudaErrorInvalidDevice);
  snprintf(id, size_t(length), "0000:%02x:00.0", unsigned(device));
  return record_error(cudaSuccess);
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = 13000;
  return record_error(cudaSuccess);
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = 13000;
  return record_error(cudaSuccess);
}

cudaError_t cudaProfilerStart() { return record_error(cudaSuccess); }
cudaError_t cudaProfilerStop() { return record_error(cudaSuccess); }

// There is no driver below the runtime, but for the functions of it that programs look up by name.
cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long,
                                    cudaDriverEntryPointQueryResult* result) {
  if (!symbol || !function) return record_error(cudaErrorInvalidValue);
  *function = simt::driver_function(symbol);
  if (result)
    *result = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return record_error(cudaSuccess);
}
cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned,
                                             unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* result) {
  return cudaGetDriverEntryPoint(symbol, function, flags, result);
}
