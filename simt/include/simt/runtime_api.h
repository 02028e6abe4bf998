// The CUDA runtime API that the model GPU answers. Every function returns cudaSuccess or the error
// that CUDA returns in the same place; simt/README.md lists what is missing.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "simt/kernel.h"
#include "simt/location.h"
#include "simt/runtime_types.h"
#include "simt/state.h"

namespace simt {
void use_per_thread_default_stream();
cudaError_t copy_to_symbol(const void* symbol, size_t symbol_bytes, const void* from, size_t bytes,
                           size_t offset, cudaMemcpyKind kind, cudaStream_t stream, bool wait);
cudaError_t copy_from_symbol(void* to, const void* symbol, size_t symbol_bytes, size_t bytes,
                             size_t offset, cudaMemcpyKind kind, cudaStream_t stream, bool wait);
cudaError_t symbol_address(void** pointer, const void* symbol, size_t symbol_bytes);
cudaError_t record_error(cudaError_t error);
// What an allocation fills in, whatever it points to (`const float*` too).
template <class T>
void** untyped(T** pointer) {
  return reinterpret_cast<void**>(const_cast<std::remove_cv_t<T>**>(pointer));
}
}  // namespace simt

// ---- errors
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);

// ---- devices
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaInitDevice(int device, unsigned int device_flags, unsigned int flags);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* wanted);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaDeviceReset();
cudaError_t cudaSetDeviceFlags(unsigned int flags);
cudaError_t cudaGetDeviceFlags(unsigned int* flags);
cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value);
cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit);
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache config);
cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config);
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest);
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags);
cudaError_t cudaDeviceDisablePeerAccess(int peer);
cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int device,
                                      int peer);
cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device);
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaProfilerStart();
cudaError_t cudaProfilerStop();
cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* result = nullptr);
cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function,
                                             unsigned int version, unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* result = nullptr);

// ---- memory
cudaError_t cudaMalloc(void** pointer, size_t bytes, simt::Location at = simt::Location::here());
cudaError_t cudaMallocManaged(void** pointer, size_t bytes,
                              unsigned int flags = cudaMemAttachGlobal,
                              simt::Location at = simt::Location::here());
cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height,
                            simt::Location at = simt::Location::here());
cudaError_t cudaMalloc3D(cudaPitchedPtr* pointer, cudaExtent extent,
                         simt::Location at = simt::Location::here());
cudaError_t cudaMallocHost(void** pointer, size_t bytes, unsigned int flags = 0,
                           simt::Location at = simt::Location::here());
cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned int flags,
                          simt::Location at = simt::Location::here());
cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream,
                            simt::Location at = simt::Location::here());
cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t pool,
                                    cudaStream_t stream,
                                    simt::Location at = simt::Location::here());
cudaError_t cudaFree(void* pointer);
cudaError_t cudaFreeHost(void* pointer);
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream,
                          simt::Location at = simt::Location::here());
cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned int flags,
                             simt::Location at = simt::Location::here());
cudaError_t cudaHostUnregister(void* pointer);
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned int flags);
cudaError_t cudaHostGetFlags(unsigned int* flags, void* host);
cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer);

template <class T>
cudaError_t cudaMalloc(T** pointer, size_t bytes, simt::Location at = simt::Location::here()) {
  return cudaMalloc(simt::untyped(pointer), bytes, at);
}
template <class T>
cudaError_t cudaMallocManaged(T** pointer, size_t bytes, unsigned int flags = cudaMemAttachGlobal,
                              simt::Location at = simt::Location::here()) {
  return cudaMallocManaged(simt::untyped(pointer), bytes, flags, at);
}
template <class T>
cudaError_t cudaMallocPitch(T** pointer, size_t* pitch, size_t width, size_t height,
                            simt::Location at = simt::Location::here()) {
  return cudaMallocPitch(simt::untyped(pointer), pitch, width, height, at);
}
template <class T>
cudaError_t cudaMallocHost(T** pointer, size_t bytes, unsigned int flags = 0,
                           simt::Location at = simt::Location::here()) {
  return cudaMallocHost(simt::untyped(pointer), bytes, flags, at);
}
template <class T>
cudaError_t cudaHostAlloc(T** pointer, size_t bytes, unsigned int flags,
                          simt::Location at = simt::Location::here()) {
  return cudaHostAlloc(simt::untyped(pointer), bytes, flags, at);
}
template <class T>
cudaError_t cudaMallocAsync(T** pointer, size_t bytes, cudaStream_t stream,
                            simt::Location at = simt::Location::here()) {
  return cudaMallocAsync(simt::untyped(pointer), bytes, stream, at);
}
template <class T>
cudaError_t cudaMallocFromPoolAsync(T** pointer, size_t bytes, cudaMemPool_t pool,
                                    cudaStream_t stream,
                                    simt::Location at = simt::Location::here()) {
  return cudaMallocFromPoolAsync(simt::untyped(pointer), bytes, pool, stream, at);
}
template <class T>
cudaError_t cudaHostGetDevicePointer(T** device, void* host, unsigned int flags) {
  return cudaHostGetDevicePointer(simt::untyped(device), host, flags);
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                       simt::Location at = simt::Location::here());
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream = nullptr,
                            simt::Location at = simt::Location::here());
cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                         size_t width, size_t height, cudaMemcpyKind kind,
                         simt::Location at = simt::Location::here());
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                              size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream = nullptr,
                              simt::Location at = simt::Location::here());
cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* parameters,
                         simt::Location at = simt::Location::here());
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* parameters, cudaStream_t stream = nullptr,
                              simt::Location at = simt::Location::here());
cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t bytes,
                           simt::Location at = simt::Location::here());
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                                size_t bytes, cudaStream_t stream = nullptr,
                                simt::Location at = simt::Location::here());
cudaError_t cudaMemset(void* to, int value, size_t bytes,
                       simt::Location at = simt::Location::here());
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream = nullptr,
                            simt::Location at = simt::Location::here());
cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height,
                         simt::Location at = simt::Location::here());
cudaError_t cudaMemset3D(cudaPitchedPtr to, int value, cudaExtent extent,
                         simt::Location at = simt::Location::here());
cudaError_t cudaMemset3DAsync(cudaPitchedPtr to, int value, cudaExtent extent,
                              cudaStream_t stream = nullptr,
                              simt::Location at = simt::Location::here());
cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream = nullptr,
                              simt::Location at = simt::Location::here());
cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, cudaMemLocation location,
                                 unsigned int flags, cudaStream_t stream = nullptr);
cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise advice,
                          cudaMemLocation location);
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* pointer, size_t bytes = 0,
                                     unsigned int flags = cudaMemAttachSingle);
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device);
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device);
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool);
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties);
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool);
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value);
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value);
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes_to_keep);

inline cudaPitchedPtr make_cudaPitchedPtr(void* pointer, size_t pitch, size_t xsize, size_t ysize) {
  return {pointer, pitch, xsize, ysize};
}
inline cudaPos make_cudaPos(size_t x, size_t y, size_t z) { return {x, y, z}; }
inline cudaExtent make_cudaExtent(size_t w, size_t h, size_t d) { return {w, h, d}; }

template <class T>
cudaError_t cudaMemcpyToSymbol(const T& symbol, const void* from, size_t bytes, size_t offset = 0,
                               cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
  return simt::copy_to_symbol(&symbol, sizeof(T), from, bytes, offset, kind, nullptr, true);
}
template <class T>
cudaError_t cudaMemcpyToSymbolAsync(const T& symbol, const void* from, size_t bytes, size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t stream = nullptr) {
  return simt::copy_to_symbol(&symbol, sizeof(T), from, bytes, offset, kind, stream, false);
}
template <class T>
cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, size_t bytes, size_t offset = 0,
                                 cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
  return simt::copy_from_symbol(to, &symbol, sizeof(T), bytes, offset, kind, nullptr, true);
}
template <class T>
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const T& symbol, size_t bytes, size_t offset,
                                      cudaMemcpyKind kind, cudaStream_t stream = nullptr) {
  return simt::copy_from_symbol(to, &symbol, sizeof(T), bytes, offset, kind, stream, false);
}
template <class T>
cudaError_t cudaGetSymbolAddress(void** pointer, const T& symbol) {
  return simt::symbol_address(pointer, &symbol, sizeof(T));
}
template <class T>
cudaError_t cudaGetSymbolSize(size_t* bytes, const T& symbol) {
  void* pointer;
  *bytes = sizeof(T);
  return simt::symbol_address(&pointer, &symbol, sizeof(T));
}

// ---- streams and events
cudaError_t cudaStreamCreate(cudaStream_t* stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags = 0);
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int* flags);
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority);
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data,
                                  unsigned int flags);
cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID attribute,
                                   const cudaStreamAttrValue* value);
cudaError_t cudaStreamGetAttribute(cudaStream_t stream, cudaStreamAttrID attribute,
                                   cudaStreamAttrValue* value);
cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from);
cudaError_t cudaCtxResetPersistingL2Cache();
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data);
cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned int flags);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream = nullptr,
                                     unsigned int flags = 0);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end);

// ---- kernels
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function);
cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value);
cudaError_t cudaFuncSetCacheConfig(const void* function, cudaFuncCache config);
cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                             size_t dynamic_shared = 0, cudaStream_t stream = nullptr,
                             simt::Location at = simt::Location::here());
cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block,
                                        void** arguments, size_t dynamic_shared = 0,
                                        cudaStream_t stream = nullptr,
                                        simt::Location at = simt::Location::here());
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function,
                                void** arguments, simt::Location at = simt::Location::here());
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function,
                                                          int block_size, size_t dynamic_shared);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, const void* function, int block_size, size_t dynamic_shared, unsigned int flags);
cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* function,
                                                      int blocks, int block_size);
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* function,
                                           const cudaLaunchConfig_t* config);
cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, const void* function,
                                                 const cudaLaunchConfig_t* config);

// The same for kernels given by name.
template <class... Parameter>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, void (*kernel)(Parameter...)) {
  return cudaFuncGetAttributes(attributes, const_cast<const void*>(simt::kernel_handle(kernel)));
}
template <class... Parameter>
cudaError_t cudaFuncSetAttribute(void (*kernel)(Parameter...), cudaFuncAttribute attribute,
                                 int value) {
  return cudaFuncSetAttribute(const_cast<const void*>(simt::kernel_handle(kernel)), attribute,
                              value);
}
template <class... Parameter>
cudaError_t cudaFuncSetCacheConfig(void (*kernel)(Parameter...), cudaFuncCache config) {
  return cudaFuncSetCacheConfig(const_cast<const void*>(simt::kernel_handle(kernel)), config);
}
template <class... Parameter>
cudaError_t cudaLaunchKernel(void (*kernel)(Parameter...), dim3 grid, dim3 block, void** arguments,
                             size_t dynamic_shared = 0, cudaStream_t stream = nullptr,
                             simt::Location at = simt::Location::here()) {
  return cudaLaunchKernel(const_cast<const void*>(simt::kernel_handle(kernel)), grid, block,
                          arguments, dynamic_shared, stream, at);
}
template <class... Parameter>
cudaError_t cudaLaunchCooperativeKernel(void (*kernel)(Parameter...), dim3 grid, dim3 block,
                                        void** arguments, size_t dynamic_shared = 0,
                                        cudaStream_t stream = nullptr,
                                        simt::Location at = simt::Location::here()) {
  return cudaLaunchCooperativeKernel(const_cast<const void*>(simt::kernel_handle(kernel)), grid,
                                     block, arguments, dynamic_shared, stream, at);
}
template <class... Parameter, class... Argument>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameter...),
                               Argument&&... arguments) {
  std::tuple<std::decay_t<Parameter>...> converted(std::forward<Argument>(arguments)...);
  void* pointers[sizeof...(Parameter) + 1] = {};
  std::apply(
      [&](auto&... value) {
        int i = 0;
        ((pointers[i++] = const_cast<void*>(static_cast<const void*>(&value))), ...);
        (void)i;
      },
      converted);
  return cudaLaunchKernelExC(config, const_cast<const void*>(simt::kernel_handle(kernel)),
                             pointers);
}
template <class... Parameter>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void (*kernel)(Parameter...),
                                                          int block_size, size_t dynamic_shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      blocks, const_cast<const void*>(simt::kernel_handle(kernel)), block_size, dynamic_shared);
}
template <class... Parameter>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks,
                                                                   void (*kernel)(Parameter...),
                                                                   int block_size,
                                                                   size_t dynamic_shared,
                                                                   unsigned int flags) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
      blocks, const_cast<const void*>(simt::kernel_handle(kernel)), block_size, dynamic_shared,
      flags);
}
template <class... Parameter>
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, void (*kernel)(Parameter...),
                                           const cudaLaunchConfig_t* config) {
  return cudaOccupancyMaxActiveClusters(
      clusters, const_cast<const void*>(simt::kernel_handle(kernel)), config);
}
template <class... Parameter>
cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, void (*kernel)(Parameter...),
                                                 const cudaLaunchConfig_t* config) {
  return cudaOccupancyMaxPotentialClusterSize(
      size, const_cast<const void*>(simt::kernel_handle(kernel)), config);
}
template <class... Parameter>
cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, void (*kernel)(Parameter...),
                                                      int blocks, int block_size) {
  return cudaOccupancyAvailableDynamicSMemPerBlock(
      bytes, const_cast<const void*>(simt::kernel_handle(kernel)), blocks, block_size);
}

// The block size that keeps the most threads resident on a multiprocessor; of equal ones the
// largest.
template <class Kernel, class SharedBytes>
cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int* min_grid, int* block_size,
                                                           Kernel kernel, SharedBytes shared_bytes,
                                                           int limit = 0) {
  int device, multiprocessors, max_threads;
  cudaFuncAttributes attributes;
  if (cudaError_t e = cudaGetDevice(&device)) return e;
  if (cudaError_t e =
          cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device))
    return e;
  if (cudaError_t e =
          cudaDeviceGetAttribute(&max_threads, cudaDevAttrMaxThreadsPerMultiProcessor, device))
    return e;
  if (cudaError_t e = cudaFuncGetAttributes(&attributes, kernel)) return e;
  int largest = attributes.maxThreadsPerBlock;
  if (limit > 0 && limit < largest) largest = limit;
  int best_threads = 0;
  for (int rounded = (largest + warpSize - 1) / warpSize * warpSize; rounded > 0;
       rounded -= warpSize) {
    const int size = rounded < largest ? rounded : largest;
    int blocks = 0;
    if (cudaError_t e = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, size,
                                                                      shared_bytes(size)))
      return e;
    if (blocks * size > best_threads) {
      best_threads = blocks * size;
      *block_size = size;
      *min_grid = blocks * multiprocessors;
    }
    if (best_threads == max_threads) break;
  }
  return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int* min_grid, int* block_size, Kernel kernel,
                                               size_t dynamic_shared = 0, int limit = 0) {
  return cudaOccupancyMaxPotentialBlockSizeVariableSMem(
      min_grid, block_size, kernel, [=](int) { return dynamic_shared; }, limit);
}

// ---- graphs
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status);
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                     unsigned long long* id = nullptr, cudaGraph_t* graph = nullptr,
                                     const cudaGraphNode_t** dependencies = nullptr,
                                     const cudaGraphEdgeData** edges = nullptr,
                                     size_t* count = nullptr);
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode);
cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned int flags);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t original);
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count);
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type);
cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count);
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                              cudaGraphEdgeData* edges, size_t* count);
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* nodes,
                                         cudaGraphEdgeData* edges, size_t* count);
cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* nodes,
                                           cudaGraphEdgeData* edges, size_t* count);
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to, const cudaGraphEdgeData* edges,
                                     size_t count);
cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                  const cudaGraphNode_t* dependencies, size_t count);
cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* dependencies, size_t count,
                                   const cudaKernelNodeParams* parameters);
cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph,
                                     const cudaGraphNode_t* dependencies, size_t count, void* to,
                                     const void* from, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* dependencies, size_t count,
                                   const cudaMemsetParams* parameters);
cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                 const cudaGraphNode_t* dependencies, size_t count,
                                 const cudaHostNodeParams* parameters);
cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                       const cudaGraphNode_t* dependencies, size_t count,
                                       cudaGraph_t child);
cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node,
                                         const cudaKernelNodeParams* parameters);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long flags = 0);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 cudaGraphNode_t* error_node, char* log, size_t log_bytes);
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph,
                                          unsigned long long flags = 0);
cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream);
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream);
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* parameters);
cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t executable, cudaGraphNode_t node,
                                    unsigned int enabled);
cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t executable, cudaGraphNode_t node,
                                    unsigned int* enabled);
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* result);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable);

#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM)
namespace simt {
inline const bool per_thread_default_stream = (use_per_thread_default_stream(), true);
}
#endif
