// Memory functions of the runtime API: allocate, copy, fill, advise.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <list>
#include <map>
#include <mutex>

#include "errors.h"
#include "graph.h"
#include "memory.h"
#include "options.h"
#include "textures.h"

using namespace simt;

namespace {

// Copies of unlocked host memory go through a buffer of the driver: the call returns only when they
// are done. Copies inside the device, and of page-locked memory, return at once.
bool waits_for_copy(const void* to, const void* from, cudaMemcpyKind kind) {
  if (kind == cudaMemcpyDeviceToDevice) return false;
  return is_pageable(kind == cudaMemcpyHostToDevice ? from : to) ||
         (kind == cudaMemcpyHostToHost && is_pageable(from));
}

struct Rows {  // a rectangle of bytes: `height` rows of `width`, `pitch` apart
  size_t to_pitch, from_pitch, width, height;
};

cudaError_t copy_rows(void* to, const void* from, Rows rows, cudaMemcpyKind kind,
                      cudaStream_t handle, bool synchronous, Location at) {
  Device& device = Device::get();
  if (device.fault()) return device.fault();
  CUstream_st* stream = device.stream(handle);
  if (!stream) return cudaErrorInvalidResourceHandle;
  if (rows.height > 1 && (rows.to_pitch < rows.width || rows.from_pitch < rows.width))
    return cudaErrorInvalidPitchValue;
  const bool empty = rows.width == 0 || rows.height == 0;
  const size_t to_bytes = empty ? 0 : rows.to_pitch * (rows.height - 1) + rows.width;
  const size_t from_bytes = empty ? 0 : rows.from_pitch * (rows.height - 1) + rows.width;
  if (cudaError_t e = check_copy(to, from, to_bytes < from_bytes ? from_bytes : to_bytes, &kind)) {
    // The two sides may differ in size: ask again for each.
    cudaMemcpyKind same = kind;
    if (to_bytes == from_bytes || check_copy(to, from, 1, &same)) return e;
    Allocation a;
    if (find_allocation(to, &a) && static_cast<char*>(to) + to_bytes > a.base + a.bytes) return e;
    if (find_allocation(from, &a) && static_cast<const char*>(from) + from_bytes > a.base + a.bytes)
      return e;
  }
  const bool pageable = waits_for_copy(to, from, kind);
  if (synchronous || pageable)
    if (cudaError_t e = check_may_wait("cudaMemcpy")) return e;
  if (synchronous)
    if (cudaError_t e = check_no_capture(stream)) return e;
  if (empty) return cudaSuccess;
  Task task;
  task.kind = Task::kCopy;
  task.waits = pageable || (synchronous && kind != cudaMemcpyDeviceToDevice);
  task.work = [=] {
    for (size_t row = 0; row < rows.height; ++row) {
      char* target = static_cast<char*>(to) + row * rows.to_pitch;
      const char* source = static_cast<const char*>(from) + row * rows.from_pitch;
      memmove(target, source, rows.width);
      if (observer) observer->copied(target, source, rows.width, at);
    }
  };
  // In the legacy default stream a copy between two devices comes after all that was asked of
  // either, and before all that is asked of them later.
  std::vector<int> others;
  if (device.is_legacy(stream) && options().devices > 1)
    for (const int owner : {owner_of(to), owner_of(from)})
      if (owner >= 0 && owner != stream->device) others.push_back(owner);
  for (const int other : others)
    device.make_stream_wait(stream, device.last_of(device.legacy(other)));
  OperationPtr operation;
  if (cudaError_t e = submit(stream, std::move(task), &operation)) return e;
  for (const int other : others) {
    device.make_stream_wait(device.legacy(other), operation);
    device.enqueue(device.legacy(other), Task{});
  }
  if (operation && operation->place->waits) device.wait(operation);
  return cudaSuccess;
}

cudaError_t copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream,
                 bool synchronous, Location at) {
  return copy_rows(to, from, {bytes, bytes, bytes, 1}, kind, stream, synchronous, at);
}

cudaError_t fill(void* to, size_t pitch, int value, size_t width, size_t height,
                 cudaStream_t handle, Location at) {
  Device& device = Device::get();
  if (device.fault()) return device.fault();
  CUstream_st* stream = device.stream(handle);
  if (!stream) return cudaErrorInvalidResourceHandle;
  if (width == 0 || height == 0) return cudaSuccess;
  if (cudaError_t e = check_device_range(to, pitch * (height - 1) + width)) return e;
  Task task;
  task.kind = Task::kFill;
  task.work = [=] {
    for (size_t row = 0; row < height; ++row) {
      char* target = static_cast<char*>(to) + row * pitch;
      memset(target, value, width);
      if (observer) observer->filled(target, width, at);
    }
  };
  return submit(stream, std::move(task));
}

cudaError_t allocate(void** pointer, size_t bytes, MemoryKind kind, Location at) {
  if (!pointer) return cudaErrorInvalidValue;
  if (cudaError_t fault = Device::get().fault()) return fault;
  if (cudaError_t e = check_no_capture_anywhere()) return e;
  *pointer = nullptr;
  return bytes == 0 ? cudaSuccess : allocate_device(pointer, bytes, kind, current_device(), at);
}

}  // namespace

// ---- allocation -------------------------------------------------------------------------------

cudaError_t cudaMalloc(void** pointer, size_t bytes, Location at) {
  return record_error(allocate(pointer, bytes, MemoryKind::kDevice, at));
}

cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned flags, Location at) {
  if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost)
    return record_error(cudaErrorInvalidValue);
  return record_error(allocate(pointer, bytes, MemoryKind::kManaged, at));
}

cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height,
                            Location at) {
  if (!pointer || !pitch) return record_error(cudaErrorInvalidValue);
  constexpr size_t kRowAlignment = 512;
  *pitch = (width + kRowAlignment - 1) / kRowAlignment * kRowAlignment;
  return record_error(allocate(pointer, *pitch * height, MemoryKind::kDevice, at));
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* pointer, cudaExtent extent, Location at) {
  if (!pointer) return record_error(cudaErrorInvalidValue);
  pointer->xsize = extent.width;
  pointer->ysize = extent.height;
  return cudaMallocPitch(&pointer->ptr, &pointer->pitch, extent.width, extent.height * extent.depth,
                         at);
}

cudaError_t cudaMallocHost(void** pointer, size_t bytes, unsigned, Location at) {
  if (!pointer) return record_error(cudaErrorInvalidValue);
  if (cudaError_t e = check_no_capture_anywhere()) return record_error(e);
  *pointer = nullptr;
  return record_error(bytes == 0 ? cudaSuccess : allocate_host(pointer, bytes, at));
}

cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned flags, Location at) {
  return cudaMallocHost(pointer, bytes, flags, at);
}

cudaError_t cudaFree(void* pointer) {
  if (cudaError_t e = check_may_wait(__func__)) return record_error(e);
  if (cudaError_t fault = Device::get().fault()) return record_error(fault);
  if (!pointer) return record_error(cudaSuccess);
  if (cudaError_t e = check_no_capture_anywhere()) return record_error(e);
  const int owner = owner_of(pointer);
  if (owner < 0) {
    Device::get().wait_for_all();
  } else {
    Device::get().wait_for_device(owner);  // its kernels may still use it
  }
  return record_error(free_device(pointer));
}

cudaError_t cudaFreeHost(void* pointer) {
  if (cudaError_t e = check_may_wait(__func__)) return record_error(e);
  if (!pointer) return record_error(cudaSuccess);
  Device::get().wait_for_all();
  return record_error(free_host(pointer));
}

// The memory is there at once; only its end is in stream order.
cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream, Location at) {
  CUstream_st* s = Device::get().stream(stream);
  if (!s) return record_error(cudaErrorInvalidResourceHandle);
  if (s->capture) return record_error(not_supported("memory allocated by a graph", at));
  return cudaMalloc(pointer, bytes, at);
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t handle, Location at) {
  CUstream_st* stream = Device::get().stream(handle);
  if (!stream) return record_error(cudaErrorInvalidResourceHandle);
  if (stream->capture) return record_error(not_supported("memory freed by a graph", at));
  if (!pointer) return record_error(cudaSuccess);
  Allocation a;
  if (!find_allocation(pointer, &a) || a.base != pointer || a.freed || !in_device_range(pointer))
    return record_error(cudaErrorInvalidValue);
  Task task;
  task.kind = Task::kFill;
  task.work = [pointer, a, at] {
    if (observer) observer->stream_frees(a, at);
    if (cudaError_t e = free_device(pointer)) Device::get().set_async_error(e);
  };
  return record_error(submit(stream, std::move(task)));
}

cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned, Location at) {
  if (!pointer || bytes == 0) return record_error(cudaErrorInvalidValue);
  return record_error(register_host(pointer, bytes, at));
}

cudaError_t cudaHostUnregister(void* pointer) { return record_error(unregister_host(pointer)); }

cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  Allocation a;
  if (!device || !find_allocation(host, &a) || a.kind != MemoryKind::kPinned)
    return record_error(cudaErrorInvalidValue);
  *device = host;
  return record_error(cudaSuccess);
}

cudaError_t cudaHostGetFlags(unsigned* flags, void* host) {
  Allocation a;
  if (!flags || !find_allocation(host, &a) || a.kind != MemoryKind::kPinned)
    return record_error(cudaErrorInvalidValue);
  *flags = cudaHostAllocMapped;
  return record_error(cudaSuccess);
}

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  if (!free_bytes || !total_bytes) return record_error(cudaErrorInvalidValue);
  memory_info(current_device(), free_bytes, total_bytes);
  return record_error(cudaSuccess);
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  if (!attributes) return record_error(cudaErrorInvalidValue);
  *attributes = cudaPointerAttributes{};
  void* p = const_cast<void*>(pointer);
  Allocation a;
  if (!find_allocation(pointer, &a) || a.freed) {
    attributes->type = cudaMemoryTypeUnregistered;
    attributes->device = cudaInvalidDeviceId;
    return record_error(cudaSuccess);
  }
  attributes->device = a.device;
  switch (a.kind) {
    case MemoryKind::kDevice:
    case MemoryKind::kSymbol:
      attributes->type = cudaMemoryTypeDevice;
      attributes->devicePointer = p;
      break;
    case MemoryKind::kManaged:
      attributes->type = cudaMemoryTypeManaged;
      attributes->devicePointer = attributes->hostPointer = p;
      break;
    case MemoryKind::kPinned:
      attributes->type = cudaMemoryTypeHost;
      attributes->devicePointer = attributes->hostPointer = p;
      break;
  }
  return record_error(cudaSuccess);
}

// ---- copying and filling ----------------------------------------------------------------------

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, Location at) {
  return record_error(copy(to, from, bytes, kind, nullptr, true, at));
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream, Location at) {
  return record_error(copy(to, from, bytes, kind, stream, false, at));
}

cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                         size_t width, size_t height, cudaMemcpyKind kind, Location at) {
  return record_error(
      copy_rows(to, from, {to_pitch, from_pitch, width, height}, kind, nullptr, true, at));
}

cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                              size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream,
                              Location at) {
  return record_error(
      copy_rows(to, from, {to_pitch, from_pitch, width, height}, kind, stream, false, at));
}

namespace {

// One side of a copy of a box. In an array positions are counted in texels, here in bytes.
struct BoxSide {
  char* memory;
  cudaPos position;
  size_t pitch, rows, slices;
};

cudaError_t side_of_box(cudaArray_t array, const cudaPitchedPtr& pointer, cudaPos position,
                        BoxSide* side) {
  if ((array != nullptr) == (pointer.ptr != nullptr)) return cudaErrorInvalidValue;
  *side = {static_cast<char*>(pointer.ptr), position, pointer.pitch, pointer.ysize, SIZE_MAX};
  if (!array) return cudaSuccess;
  if (!is_array(array)) return cudaErrorInvalidResourceHandle;
  position.x *= texel_bytes(array->format);
  *side = {array->data, position, array->pitch, array->rows(), array->slices()};
  return cudaSuccess;
}

bool is_inside(const BoxSide& side, const cudaExtent& bytes) {
  return side.position.x + bytes.width <= side.pitch &&
         side.position.y + bytes.height <= side.rows &&
         side.position.z + bytes.depth <= side.slices;
}

cudaError_t copy_box(const cudaMemcpy3DParms* p, cudaStream_t stream, bool synchronous,
                     Location at) {
  if (!p) return cudaErrorInvalidValue;
  BoxSide from, to;
  if (cudaError_t e = side_of_box(p->srcArray, p->srcPtr, p->srcPos, &from)) return e;
  if (cudaError_t e = side_of_box(p->dstArray, p->dstPtr, p->dstPos, &to)) return e;
  cudaExtent box = p->extent;  // in texels, if there is an array
  if (p->srcArray && p->dstArray &&
      texel_bytes(p->srcArray->format) != texel_bytes(p->dstArray->format))
    return cudaErrorInvalidValue;
  if (cudaArray_t array = p->srcArray ? p->srcArray : p->dstArray)
    box.width *= texel_bytes(array->format);
  if ((p->srcArray && !is_inside(from, box)) || (p->dstArray && !is_inside(to, box)))
    return cudaErrorInvalidValue;
  for (size_t z = 0; z < box.depth; ++z) {
    auto row = [&](const BoxSide& side) {
      return side.memory + ((side.position.z + z) * side.rows + side.position.y) * side.pitch +
             side.position.x;
    };
    if (cudaError_t e = copy_rows(row(to), row(from), {to.pitch, from.pitch, box.width, box.height},
                                  p->kind, stream, synchronous, at))
      return e;
  }
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* parameters, Location at) {
  return record_error(copy_box(parameters, nullptr, true, at));
}

cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* parameters, cudaStream_t stream,
                              Location at) {
  return record_error(copy_box(parameters, stream, false, at));
}

namespace {

// The devices that a copy names must be there, and have what it copies.
cudaError_t check_devices(const void* to, int to_device, const void* from, int from_device) {
  for (const int device : {to_device, from_device})
    if (device < 0 || device >= options().devices) return cudaErrorInvalidDevice;
  const bool good = owner_of(to) == to_device && owner_of(from) == from_device;
  return good ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace

cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t bytes,
                           Location at) {
  if (cudaError_t e = check_devices(to, to_device, from, from_device)) return record_error(e);
  return cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToDevice, at);
}

cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                                size_t bytes, cudaStream_t stream, Location at) {
  if (cudaError_t e = check_devices(to, to_device, from, from_device)) return record_error(e);
  return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream, at);
}

cudaError_t cudaMemset(void* to, int value, size_t bytes, Location at) {
  return record_error(fill(to, bytes, value, bytes, 1, nullptr, at));
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream, Location at) {
  return record_error(fill(to, bytes, value, bytes, 1, stream, at));
}
cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height,
                         Location at) {
  return record_error(fill(to, pitch, value, width, height, nullptr, at));
}
cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream, Location at) {
  return record_error(fill(to, pitch, value, width, height, stream, at));
}

// Layers of ysize rows, of which the box takes the first.
static cudaError_t fill_box(cudaPitchedPtr to, int value, cudaExtent extent, cudaStream_t stream,
                            Location at) {
  if (extent.height > to.ysize && extent.depth > 1) return cudaErrorInvalidValue;
  for (size_t z = 0; z < extent.depth; ++z) {
    char* layer = static_cast<char*>(to.ptr) + z * to.pitch * to.ysize;
    if (cudaError_t e = fill(layer, to.pitch, value, extent.width, extent.height, stream, at))
      return e;
  }
  return cudaSuccess;
}
cudaError_t cudaMemset3D(cudaPitchedPtr to, int value, cudaExtent extent, Location at) {
  return record_error(fill_box(to, value, extent, nullptr, at));
}
cudaError_t cudaMemset3DAsync(cudaPitchedPtr to, int value, cudaExtent extent, cudaStream_t stream,
                              Location at) {
  return record_error(fill_box(to, value, extent, stream, at));
}

// ---- __device__ and __constant__ variables ----------------------------------------------------

namespace simt {
namespace {

// The front end registers the variables at namespace scope; others are taken at their word here.
void know_symbol(const void* symbol, size_t bytes) {
  if (!is_symbol(symbol, bytes)) Symbol(symbol, bytes, "a device variable", Symbol::Space::kFixed);
}

}  // namespace

cudaError_t copy_to_symbol(const void* symbol, size_t symbol_bytes, const void* from, size_t bytes,
                           size_t offset, cudaMemcpyKind kind, cudaStream_t stream, bool wait) {
  if (offset + bytes > symbol_bytes) return record_error(cudaErrorInvalidValue);
  if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToDevice &&
      kind != cudaMemcpyDefault)
    return record_error(cudaErrorInvalidMemcpyDirection);
  know_symbol(symbol, symbol_bytes);
  char* to = static_cast<char*>(const_cast<void*>(symbol)) + offset;
  const UseOfSymbols use;
  return record_error(copy(to, from, bytes, kind, stream, wait, {}));
}

cudaError_t copy_from_symbol(void* to, const void* symbol, size_t symbol_bytes, size_t bytes,
                             size_t offset, cudaMemcpyKind kind, cudaStream_t stream, bool wait) {
  if (offset + bytes > symbol_bytes) return record_error(cudaErrorInvalidValue);
  if (kind != cudaMemcpyDeviceToHost && kind != cudaMemcpyDeviceToDevice &&
      kind != cudaMemcpyDefault)
    return record_error(cudaErrorInvalidMemcpyDirection);
  know_symbol(symbol, symbol_bytes);
  const char* from = static_cast<const char*>(symbol) + offset;
  const UseOfSymbols use;
  return record_error(copy(to, from, bytes, kind, stream, wait, {}));
}

cudaError_t symbol_address(void** pointer, const void* symbol, size_t symbol_bytes) {
  if (!pointer) return record_error(cudaErrorInvalidValue);
  know_symbol(symbol, symbol_bytes);
  tell_symbol_address(symbol);
  *pointer = const_cast<void*>(symbol);
  return record_error(cudaSuccess);
}

}  // namespace simt

// ---- advice: there is one memory, so all of it is already where it is wanted ------------------

namespace {

cudaError_t check_managed(const void* pointer, size_t bytes) {
  Allocation a;
  if (bytes == 0 || !find_allocation(pointer, &a) || a.kind != MemoryKind::kManaged ||
      static_cast<const char*>(pointer) + bytes > a.base + a.bytes)
    return cudaErrorInvalidValue;
  return cudaSuccess;
}

bool is_location(cudaMemLocation location) {
  if (location.type == cudaMemLocationTypeDevice)
    return location.id >= 0 && location.id < options().devices;
  return location.type >= cudaMemLocationTypeHost &&
         location.type <= cudaMemLocationTypeHostNumaCurrent;
}

}  // namespace

cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, cudaMemLocation location,
                                 unsigned flags, cudaStream_t handle) {
  CUstream_st* stream = Device::get().stream(handle);
  if (!stream) return record_error(cudaErrorInvalidResourceHandle);
  if (!is_location(location)) return record_error(cudaErrorInvalidDevice);
  if (flags != 0) return record_error(cudaErrorInvalidValue);
  if (cudaError_t e = check_managed(pointer, bytes)) return record_error(e);
  return record_error(submit(stream, Task{}));
}

cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise advice,
                          cudaMemLocation location) {
  if (advice < cudaMemAdviseSetReadMostly || advice > cudaMemAdviseUnsetAccessedBy)
    return record_error(cudaErrorInvalidValue);
  const bool needs_location = advice != cudaMemAdviseSetReadMostly &&
                              advice != cudaMemAdviseUnsetReadMostly &&
                              advice != cudaMemAdviseUnsetPreferredLocation;
  if (needs_location && !is_location(location)) return record_error(cudaErrorInvalidDevice);
  return record_error(check_managed(pointer, bytes));
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t handle, void* pointer, size_t, unsigned) {
  CUstream_st* stream = Device::get().stream(handle);
  if (!stream) return record_error(cudaErrorInvalidResourceHandle);
  if (cudaError_t e = check_managed(pointer, 1)) return record_error(e);
  return record_error(submit(stream, Task{}));
}

// ---- memory pools: each device has one, and programs make more; none keeps anything back --------

struct CUmemPoolHandle_st {
  int device = 0;
  bool made = false;  // by the program
  unsigned long long release_threshold = 0;
  std::map<const void*, size_t> blocks;  // of a pool that the program has made: what it gave out
};

namespace {

std::mutex pools_mutex;
std::list<CUmemPoolHandle_st> made_pools;
cudaMemPool_t current_pool[kMaxDevices];  // null: the default one

CUmemPoolHandle_st& default_pool(int device) {
  static CUmemPoolHandle_st pools[kMaxDevices];
  pools[device].device = device;
  return pools[device];
}

bool is_pool(cudaMemPool_t pool) {
  for (int device = 0; device < options().devices; ++device)
    if (pool == &default_pool(device)) return true;
  return std::any_of(made_pools.begin(), made_pools.end(),
                     [&](const auto& made) { return &made == pool; });
}

size_t bytes_in_use(const CUmemPoolHandle_st& pool) {
  size_t free_bytes = 0, bytes = 0;
  if (!pool.made) {
    memory_info(pool.device, &free_bytes, &bytes);
    return bytes - free_bytes;
  }
  for (const auto& [address, size] : pool.blocks) {
    Allocation a;
    if (find_allocation(address, &a) && a.base == address && !a.freed) bytes += size;
  }
  return bytes;
}

}  // namespace

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  if (!pool) return record_error(cudaErrorInvalidValue);
  if (device < 0 || device >= options().devices) return record_error(cudaErrorInvalidDevice);
  *pool = &default_pool(device);
  return record_error(cudaSuccess);
}
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  if (cudaError_t e = cudaDeviceGetDefaultMemPool(pool, device)) return e;
  std::lock_guard<std::mutex> lock(pools_mutex);
  if (current_pool[device]) *pool = current_pool[device];
  return record_error(cudaSuccess);
}
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  if (device < 0 || device >= options().devices) return record_error(cudaErrorInvalidDevice);
  std::lock_guard<std::mutex> lock(pools_mutex);
  if (!is_pool(pool) || pool->device != device) return record_error(cudaErrorInvalidValue);
  current_pool[device] = pool;
  return record_error(cudaSuccess);
}
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  if (!pool || !properties || properties->allocType != cudaMemAllocationTypePinned ||
      properties->location.type != cudaMemLocationTypeDevice)
    return record_error(cudaErrorInvalidValue);
  if (properties->handleTypes != cudaMemHandleTypeNone) return record_error(cudaErrorNotSupported);
  if (!is_location(properties->location)) return record_error(cudaErrorInvalidDevice);
  std::lock_guard<std::mutex> lock(pools_mutex);
  made_pools.emplace_back();
  *pool = &made_pools.back();
  (*pool)->device = properties->location.id;
  (*pool)->made = true;
  return record_error(cudaSuccess);
}
// What it gave out stays until it is freed.
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  std::lock_guard<std::mutex> lock(pools_mutex);
  if (!is_pool(pool) || !pool->made) return record_error(cudaErrorInvalidValue);
  if (current_pool[pool->device] == pool) current_pool[pool->device] = nullptr;
  made_pools.remove_if([&](const auto& made) { return &made == pool; });
  return record_error(cudaSuccess);
}
cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t pool,
                                    cudaStream_t stream, Location at) {
  CUstream_st* s = Device::get().stream(stream);
  if (!s) return record_error(cudaErrorInvalidResourceHandle);
  std::lock_guard<std::mutex> lock(pools_mutex);
  if (!is_pool(pool) || pool->device != s->device) return record_error(cudaErrorInvalidValue);
  const cudaError_t error = cudaMallocAsync(pointer, bytes, stream, at);
  if (error == cudaSuccess && pool->made) pool->blocks[*pointer] = bytes;
  return error;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  std::lock_guard<std::mutex> lock(pools_mutex);
  if (!value || !is_pool(pool)) return record_error(cudaErrorInvalidValue);
  if (attribute == cudaMemPoolAttrReleaseThreshold)
    pool->release_threshold = *static_cast<unsigned long long*>(value);
  return record_error(cudaSuccess);
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  std::lock_guard<std::mutex> lock(pools_mutex);
  if (!value || !is_pool(pool)) return record_error(cudaErrorInvalidValue);
  auto* number = static_cast<unsigned long long*>(value);
  switch (attribute) {
    case cudaMemPoolAttrReleaseThreshold: *number = pool->release_threshold; break;
    case cudaMemPoolAttrReservedMemCurrent:
    case cudaMemPoolAttrUsedMemCurrent: *number = bytes_in_use(*pool); break;
    default: *number = 0;
  }
  return record_error(cudaSuccess);
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t) {
  std::lock_guard<std::mutex> lock(pools_mutex);
  return record_error(is_pool(pool) ? cudaSuccess : cudaErrorInvalidValue);
}
