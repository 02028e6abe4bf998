// Arrays and texture objects: the functions of the host, and the fetches of a kernel.
#pragma once

#include <cstdint>
#include <type_traits>

#include "simt/build_mode.h"
#include "simt/location.h"
#include "simt/math.h"
#include "simt/runtime_api.h"
#include "simt/texture_types.h"

cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* format, size_t width,
                            size_t height = 0, unsigned int flags = 0,
                            simt::Location at = simt::Location::here());
cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* format,
                              cudaExtent extent, unsigned int flags = 0,
                              simt::Location at = simt::Location::here());
cudaError_t cudaFreeArray(cudaArray_t array);
cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* format, cudaExtent* extent, unsigned int* flags,
                             cudaArray_t array);
cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* format, cudaArray_const_t array);
cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch,
                                size_t width, size_t height, cudaMemcpyKind kind,
                                simt::Location at = simt::Location::here());
cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void* from,
                                     size_t pitch, size_t width, size_t height, cudaMemcpyKind kind,
                                     cudaStream_t stream = nullptr,
                                     simt::Location at = simt::Location::here());
cudaError_t cudaMemcpy2DFromArray(void* to, size_t pitch, cudaArray_const_t from, size_t x,
                                  size_t y, size_t width, size_t height, cudaMemcpyKind kind,
                                  simt::Location at = simt::Location::here());
cudaError_t cudaMemcpy2DFromArrayAsync(void* to, size_t pitch, cudaArray_const_t from, size_t x,
                                       size_t y, size_t width, size_t height, cudaMemcpyKind kind,
                                       cudaStream_t stream = nullptr,
                                       simt::Location at = simt::Location::here());
cudaError_t cudaCreateTextureObject(cudaTextureObject_t* texture, const cudaResourceDesc* resource,
                                    const cudaTextureDesc* description,
                                    const cudaResourceViewDesc* view,
                                    simt::Location at = simt::Location::here());
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture);
cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc* resource,
                                             cudaTextureObject_t texture);
cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc* description,
                                            cudaTextureObject_t texture);

namespace simt {

struct Fetch {
  cudaTextureObject_t texture;
  const char* function;
  int dimensions;  // 0: tex1Dfetch, of linear memory
  double at[3];
  cudaChannelFormatDesc wanted;  // the format of the result's type
  Location place;
  const void* caller;
};
// Writes four channels: the bits of a float, or an integer.
void fetch(const Fetch& fetch, uint32_t* channels);

template <class T>
SIMT_UNWATCHED T texel_of(const Fetch& what) {
  using Channel = typename Texel<T>::Channel;
  static_assert(Texel<T>::channels > 0, "a texture has no texels of this type");
  uint32_t channels[4];
  fetch(what, channels);
  Channel parts[Texel<T>::channels];
  for (int i = 0; i < Texel<T>::channels; ++i) {
    if constexpr (std::is_same<Channel, float>::value)
      parts[i] = bits_as<float>(channels[i]);
    else
      parts[i] = static_cast<Channel>(channels[i]);
  }
  T result;
  memcpy(&result, parts, sizeof result);
  return result;
}

}  // namespace simt

#if SIMT_INSTRUMENTED
#define SIMT_CALLER __builtin_return_address(0)
#else
#define SIMT_CALLER nullptr
#endif
#define SIMT_FETCH(name, dimensions, parameters, ...)                                              \
  template <class T>                                                                               \
  SIMT_INLINE T name(cudaTextureObject_t texture, SIMT_LIST parameters,                            \
                     simt::Location at = simt::Location::here()) {                                 \
    return simt::texel_of<T>(                                                                      \
        {texture, #name, dimensions, {__VA_ARGS__}, cudaCreateChannelDesc<T>(), at, SIMT_CALLER}); \
  }                                                                                                \
  template <class T>                                                                               \
  SIMT_INLINE void name(T* result, cudaTextureObject_t texture, SIMT_LIST parameters,              \
                        simt::Location at = simt::Location::here()) {                              \
    *result = simt::texel_of<T>(                                                                   \
        {texture, #name, dimensions, {__VA_ARGS__}, cudaCreateChannelDesc<T>(), at, SIMT_CALLER}); \
  }
#define SIMT_LIST(...) __VA_ARGS__
SIMT_FETCH(tex1Dfetch, 0, (int x), double(x))
SIMT_FETCH(tex1D, 1, (float x), x)
SIMT_FETCH(tex2D, 2, (float x, float y), x, y)
SIMT_FETCH(tex3D, 3, (float x, float y, float z), x, y, z)
#undef SIMT_LIST
#undef SIMT_FETCH
#undef SIMT_CALLER
