// Arrays and texture objects, as the host makes them.

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <set>

#include "device.h"
#include "errors.h"
#include "memory.h"
#include "simt/textures.h"
#include "textures.h"

using namespace simt;

namespace {

std::mutex arrays_mutex;
std::set<cudaArray_const_t> arrays;

// A kernel may look up its texture while the host makes another.
constexpr size_t kMostTextures = 1 << 16;
std::array<std::atomic<const Texture*>, kMostTextures> textures{};
std::mutex textures_mutex;
size_t next_texture = 0;

// One, two or four channels of the same size, which the hardware knows.
bool is_texel(const cudaChannelFormatDesc& format) {
  const int bits = format.x, count = channels_of(format);
  const bool whole = format.f == cudaChannelFormatKindFloat ? bits == 16 || bits == 32
                                                            : bits == 8 || bits == 16 || bits == 32;
  const int rest[3] = {format.y, format.z, format.w};
  for (int i = 0; i < 3; ++i)
    if (rest[i] != (i + 1 < count ? bits : 0)) return false;
  return whole && count != 3 && format.f <= cudaChannelFormatKindFloat;
}

cudaError_t make_array(cudaArray_t* array, const cudaChannelFormatDesc* format, cudaExtent extent,
                       unsigned flags, Location at) {
  if (!array || !format || extent.width == 0) return cudaErrorInvalidValue;
  if (extent.depth > 0 && extent.height == 0 && !(flags & cudaArrayLayered))
    return cudaErrorInvalidValue;
  if (flags & cudaArrayLayered) return not_supported("an array of layers", at);
  if (flags & cudaArrayCubemap) return not_supported("an array of cube maps", at);
  if (flags & ~unsigned(cudaArraySurfaceLoadStore | cudaArrayTextureGather))
    return cudaErrorInvalidValue;
  if (!is_texel(*format)) return cudaErrorInvalidChannelDescriptor;
  auto made = std::make_unique<cudaArray>();
  *made = {nullptr, extent, *format, flags, extent.width * texel_bytes(*format)};
  void* memory = nullptr;
  const size_t bytes = made->pitch * made->rows() * made->slices();
  if (cudaError_t e = cudaMalloc(&memory, bytes, at)) return e;
  made->data = static_cast<char*>(memory);
  *array = made.release();
  std::lock_guard<std::mutex> lock(arrays_mutex);
  arrays.insert(*array);
  return cudaSuccess;
}

// Where `width` bytes at x, y of an array lie, for a copy of `height` rows; null if not all of it.
char* rows_of(cudaArray_const_t array, size_t x, size_t y, size_t width, size_t height) {
  const bool fits = is_array(array) && array->slices() == 1 && x + width <= array->pitch &&
                    y + height <= array->rows();
  return fits ? array->data + y * array->pitch + x : nullptr;
}

// ---- texture objects: where the texels are

cudaError_t use_array(const cudaResourceDesc& resource, Texture* texture) {
  const cudaArray_t array = resource.res.array.array;
  if (!is_array(array)) return cudaErrorInvalidResourceHandle;
  texture->data = array->data;
  texture->format = array->format;
  texture->pitch = array->pitch;
  texture->dimensions = array->extent.depth ? 3 : array->extent.height ? 2 : 1;
  texture->size[0] = array->extent.width;
  texture->size[1] = array->rows();
  texture->size[2] = array->slices();
  return cudaSuccess;
}

// Textures begin where cudaMalloc's memory may begin.
constexpr size_t kAlignment = 256;

cudaError_t use_memory(const void* memory, size_t bytes, Texture* texture) {
  if (!is_texel(texture->format)) return cudaErrorInvalidChannelDescriptor;
  if (!memory || reinterpret_cast<size_t>(memory) % kAlignment != 0) return cudaErrorInvalidValue;
  texture->data = static_cast<const char*>(memory);
  return check_device_range(memory, bytes);
}

cudaError_t use_linear(const cudaResourceDesc& resource, Texture* texture) {
  const auto& linear = resource.res.linear;
  texture->format = linear.desc;
  if (cudaError_t e = use_memory(linear.devPtr, linear.sizeInBytes, texture)) return e;
  texture->dimensions = 0;
  texture->size[0] = linear.sizeInBytes / texel_bytes(linear.desc);
  texture->size[1] = texture->size[2] = 1;
  return texture->size[0] ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t use_pitched(const cudaResourceDesc& resource, Texture* texture) {
  const auto& image = resource.res.pitch2D;
  constexpr size_t kPitchAlignment = 32;
  texture->format = image.desc;
  const size_t row = image.width * texel_bytes(image.desc);
  if (row == 0 || image.height == 0 || image.pitchInBytes < row ||
      image.pitchInBytes % kPitchAlignment != 0)
    return cudaErrorInvalidValue;
  texture->dimensions = 2;
  texture->pitch = image.pitchInBytes;
  texture->size[0] = image.width;
  texture->size[1] = image.height;
  texture->size[2] = 1;
  return use_memory(image.devPtr, image.pitchInBytes * (image.height - 1) + row, texture);
}

cudaError_t use_resource(const cudaResourceDesc& resource, Texture* texture, Location at) {
  switch (resource.resType) {
    case cudaResourceTypeArray: return use_array(resource, texture);
    case cudaResourceTypeLinear: return use_linear(resource, texture);
    case cudaResourceTypePitch2D: return use_pitched(resource, texture);
    case cudaResourceTypeMipmappedArray: return not_supported("a mipmapped array", at);
  }
  return cudaErrorInvalidValue;
}

// ---- texture objects: what a fetch makes of them

cudaError_t check_description(Texture* texture, Location at) {
  const cudaTextureDesc& how = texture->description;
  if (how.sRGB) return not_supported("a texture with sRGB", at);
  const bool is_float = texture->format.f == cudaChannelFormatKindFloat;
  // Integers of 32 bits stay what they are.
  const bool becomes_float =
      how.readMode == cudaReadModeNormalizedFloat && !is_float && texture->format.x < 32;
  texture->result = becomes_float ? cudaChannelFormatKindFloat : texture->format.f;
  if (texture->dimensions > 0 && how.filterMode == cudaFilterModeLinear &&
      texture->result != cudaChannelFormatKindFloat)
    return cudaErrorInvalidFilterSetting;
  return cudaSuccess;
}

cudaError_t make_texture(cudaTextureObject_t* handle, const cudaResourceDesc* resource,
                         const cudaTextureDesc* description, const cudaResourceViewDesc* view,
                         Location at) {
  if (!handle || !resource || !description) return cudaErrorInvalidValue;
  if (view) return not_supported("a resource view of a texture", at);
  auto made = std::make_unique<Texture>();
  made->resource = *resource;
  made->description = *description;
  if (cudaError_t e = use_resource(*resource, made.get(), at)) return e;
  if (cudaError_t e = check_description(made.get(), at)) return e;
  std::lock_guard<std::mutex> lock(textures_mutex);
  for (size_t tried = 0; tried < kMostTextures; ++tried) {
    const size_t place = next_texture++ % kMostTextures;
    if (textures[place]) continue;
    textures[place] = made.release();
    *handle = place + 1;
    return cudaSuccess;
  }
  return cudaErrorMemoryAllocation;
}

}  // namespace

namespace simt {

bool is_array(cudaArray_const_t array) {
  std::lock_guard<std::mutex> lock(arrays_mutex);
  return arrays.count(array) != 0;
}

const Texture* find_texture(cudaTextureObject_t handle) {
  return handle >= 1 && handle <= kMostTextures ? textures[handle - 1].load() : nullptr;
}

}  // namespace simt

cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* format, size_t width,
                            size_t height, unsigned flags, Location at) {
  return record_error(make_array(array, format, {width, height, 0}, flags, at));
}

cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* format,
                              cudaExtent extent, unsigned flags, Location at) {
  return record_error(make_array(array, format, extent, flags, at));
}

cudaError_t cudaFreeArray(cudaArray_t array) {
  if (!array) return record_error(cudaSuccess);
  if (!is_array(array)) return record_error(cudaErrorInvalidResourceHandle);
  if (cudaError_t e = cudaFree(array->data)) return record_error(e);
  std::lock_guard<std::mutex> lock(arrays_mutex);
  arrays.erase(array);
  delete array;
  return record_error(cudaSuccess);
}

cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* format, cudaExtent* extent, unsigned* flags,
                             cudaArray_t array) {
  if (!is_array(array)) return record_error(cudaErrorInvalidResourceHandle);
  if (format) *format = array->format;
  if (extent) *extent = array->extent;
  if (flags) *flags = array->flags;
  return record_error(cudaSuccess);
}

cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* format, cudaArray_const_t array) {
  if (!format) return record_error(cudaErrorInvalidValue);
  if (!is_array(array)) return record_error(cudaErrorInvalidResourceHandle);
  *format = array->format;
  return record_error(cudaSuccess);
}

cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch,
                                size_t width, size_t height, cudaMemcpyKind kind, Location at) {
  char* rows = rows_of(to, x, y, width, height);
  if (!rows) return record_error(cudaErrorInvalidValue);
  return cudaMemcpy2D(rows, to->pitch, from, pitch, width, height, kind, at);
}

cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void* from,
                                     size_t pitch, size_t width, size_t height, cudaMemcpyKind kind,
                                     cudaStream_t stream, Location at) {
  char* rows = rows_of(to, x, y, width, height);
  if (!rows) return record_error(cudaErrorInvalidValue);
  return cudaMemcpy2DAsync(rows, to->pitch, from, pitch, width, height, kind, stream, at);
}

cudaError_t cudaMemcpy2DFromArray(void* to, size_t pitch, cudaArray_const_t from, size_t x,
                                  size_t y, size_t width, size_t height, cudaMemcpyKind kind,
                                  Location at) {
  const char* rows = rows_of(from, x, y, width, height);
  if (!rows) return record_error(cudaErrorInvalidValue);
  return cudaMemcpy2D(to, pitch, rows, from->pitch, width, height, kind, at);
}

cudaError_t cudaMemcpy2DFromArrayAsync(void* to, size_t pitch, cudaArray_const_t from, size_t x,
                                       size_t y, size_t width, size_t height, cudaMemcpyKind kind,
                                       cudaStream_t stream, Location at) {
  const char* rows = rows_of(from, x, y, width, height);
  if (!rows) return record_error(cudaErrorInvalidValue);
  return cudaMemcpy2DAsync(to, pitch, rows, from->pitch, width, height, kind, stream, at);
}

cudaError_t cudaCreateTextureObject(cudaTextureObject_t* texture, const cudaResourceDesc* resource,
                                    const cudaTextureDesc* description,
                                    const cudaResourceViewDesc* view, Location at) {
  return record_error(make_texture(texture, resource, description, view, at));
}

// Kernels may still fetch from it.
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture) {
  if (cudaError_t e = check_may_wait(__func__)) return record_error(e);
  if (!find_texture(texture)) return record_error(cudaErrorInvalidValue);
  Device::get().wait_for_all();
  delete textures[texture - 1].exchange(nullptr);
  return record_error(cudaSuccess);
}

cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc* resource,
                                             cudaTextureObject_t texture) {
  const Texture* found = find_texture(texture);
  if (!resource || !found) return record_error(cudaErrorInvalidValue);
  *resource = found->resource;
  return record_error(cudaSuccess);
}

cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc* description,
                                            cudaTextureObject_t texture) {
  const Texture* found = find_texture(texture);
  if (!description || !found) return record_error(cudaErrorInvalidValue);
  *description = found->description;
  return record_error(cudaSuccess);
}
