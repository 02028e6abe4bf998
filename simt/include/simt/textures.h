// Textures: the types, so that code which mentions them builds. The model GPU has none: creating
// one reports cudaErrorNotSupported, and a kernel that reads one fails with it.
#pragma once

#include "simt/runtime_api.h"
#include "simt/sync.h"

typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;

enum cudaChannelFormatKind {
  cudaChannelFormatKindSigned,
  cudaChannelFormatKindUnsigned,
  cudaChannelFormatKindFloat,
  cudaChannelFormatKindNone
};
struct cudaChannelFormatDesc {
  int x, y, z, w;
  cudaChannelFormatKind f;
};
enum cudaResourceType {
  cudaResourceTypeArray,
  cudaResourceTypeMipmappedArray,
  cudaResourceTypeLinear,
  cudaResourceTypePitch2D
};
struct cudaResourceDesc {
  cudaResourceType resType;
  union {
    struct {
      cudaArray_t array;
    } array;
    struct {
      void* devPtr;
      cudaChannelFormatDesc desc;
      size_t sizeInBytes;
    } linear;
    struct {
      void* devPtr;
      cudaChannelFormatDesc desc;
      size_t width, height, pitchInBytes;
    } pitch2D;
  } res;
};
enum cudaTextureAddressMode {
  cudaAddressModeWrap,
  cudaAddressModeClamp,
  cudaAddressModeMirror,
  cudaAddressModeBorder
};
enum cudaTextureFilterMode { cudaFilterModePoint, cudaFilterModeLinear };
enum cudaTextureReadMode { cudaReadModeElementType, cudaReadModeNormalizedFloat };
struct cudaTextureDesc {
  cudaTextureAddressMode addressMode[3];
  cudaTextureFilterMode filterMode;
  cudaTextureReadMode readMode;
  int sRGB;
  float borderColor[4];
  int normalizedCoords;
  unsigned int maxAnisotropy;
};
struct cudaResourceViewDesc;

template <class T>
cudaChannelFormatDesc cudaCreateChannelDesc() {
  return {int(8 * sizeof(T)), 0, 0, 0, cudaChannelFormatKindFloat};
}
inline cudaError_t cudaCreateTextureObject(cudaTextureObject_t*, const cudaResourceDesc*,
                                           const cudaTextureDesc*, const cudaResourceViewDesc*) {
  return simt::record_error(cudaErrorNotSupported);
}
inline cudaError_t cudaDestroyTextureObject(cudaTextureObject_t) {
  return simt::record_error(cudaErrorNotSupported);
}
inline cudaError_t cudaMallocArray(cudaArray_t*, const cudaChannelFormatDesc*, size_t, size_t = 0,
                                   unsigned = 0) {
  return simt::record_error(cudaErrorNotSupported);
}
inline cudaError_t cudaFreeArray(cudaArray_t) { return simt::record_error(cudaErrorNotSupported); }
inline cudaError_t cudaMemcpy2DToArray(cudaArray_t, size_t, size_t, const void*, size_t, size_t,
                                       size_t, cudaMemcpyKind) {
  return simt::record_error(cudaErrorNotSupported);
}

template <class T>
T tex1Dfetch(cudaTextureObject_t, int, simt::Location at = simt::Location::here()) {
  simt::unsupported("a texture (tex1Dfetch)", at.file, at.line);
}
template <class T>
T tex1D(cudaTextureObject_t, float, simt::Location at = simt::Location::here()) {
  simt::unsupported("a texture (tex1D)", at.file, at.line);
}
template <class T>
T tex2D(cudaTextureObject_t, float, float, simt::Location at = simt::Location::here()) {
  simt::unsupported("a texture (tex2D)", at.file, at.line);
}
template <class T>
T tex3D(cudaTextureObject_t, float, float, float, simt::Location at = simt::Location::here()) {
  simt::unsupported("a texture (tex3D)", at.file, at.line);
}
