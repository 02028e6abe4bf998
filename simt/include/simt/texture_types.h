// The types of arrays and texture objects, and the format of a texel.
#pragma once

#include "simt/runtime_types.h"

typedef unsigned long long cudaTextureObject_t;
typedef struct cudaMipmappedArray* cudaMipmappedArray_t;

enum cudaChannelFormatKind {
  cudaChannelFormatKindSigned,
  cudaChannelFormatKindUnsigned,
  cudaChannelFormatKindFloat,
  cudaChannelFormatKindNone
};
struct cudaChannelFormatDesc {  // bits of each channel; 0: there is none
  int x, y, z, w;
  cudaChannelFormatKind f;
};

#define cudaArrayDefault 0x00
#define cudaArrayLayered 0x01
#define cudaArraySurfaceLoadStore 0x02
#define cudaArrayCubemap 0x04
#define cudaArrayTextureGather 0x08

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
      cudaMipmappedArray_t mipmap;
    } mipmap;
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
struct cudaResourceViewDesc;

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
  cudaTextureFilterMode mipmapFilterMode;
  float mipmapLevelBias;
  float minMipmapLevelClamp;
  float maxMipmapLevelClamp;
  int disableTrilinearOptimization;
  int seamlessCubemap;
};

// ---- which types are texels: one, two or four channels of 8, 16 or 32 bits
namespace simt {

template <class T>
struct Texel {
  using Channel = int;
  static constexpr int channels = 0;
  static constexpr cudaChannelFormatKind kind = cudaChannelFormatKindNone;
};
#define SIMT_TEXEL(T, channel, count, format)                                    \
  template <>                                                                    \
  struct Texel<T> {                                                              \
    using Channel = channel;                                                     \
    static constexpr int channels = count;                                       \
    static constexpr cudaChannelFormatKind kind = cudaChannelFormatKind##format; \
  };
#define SIMT_TEXELS(name, channel, format) \
  SIMT_TEXEL(channel, channel, 1, format)  \
  SIMT_TEXEL(name##1, channel, 1, format)  \
  SIMT_TEXEL(name##2, channel, 2, format)  \
  SIMT_TEXEL(name##4, channel, 4, format)
SIMT_TEXEL(char, char, 1, Signed)
SIMT_TEXELS(char, signed char, Signed)
SIMT_TEXELS(uchar, unsigned char, Unsigned)
SIMT_TEXELS(short, short, Signed)
SIMT_TEXELS(ushort, unsigned short, Unsigned)
SIMT_TEXELS(int, int, Signed)
SIMT_TEXELS(uint, unsigned int, Unsigned)
SIMT_TEXELS(float, float, Float)
#undef SIMT_TEXELS
#undef SIMT_TEXEL

}  // namespace simt

inline cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                                   cudaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}
template <class T>
cudaChannelFormatDesc cudaCreateChannelDesc() {
  using Texel = simt::Texel<T>;
  const int bits = 8 * int(sizeof(typename Texel::Channel));
  return {Texel::channels > 0 ? bits : 0, Texel::channels > 1 ? bits : 0,
          Texel::channels > 2 ? bits : 0, Texel::channels > 3 ? bits : 0, Texel::kind};
}
inline cudaChannelFormatDesc cudaCreateChannelDescHalf() {
  return {16, 0, 0, 0, cudaChannelFormatKindFloat};
}
inline cudaChannelFormatDesc cudaCreateChannelDescHalf2() {
  return {16, 16, 0, 0, cudaChannelFormatKindFloat};
}
inline cudaChannelFormatDesc cudaCreateChannelDescHalf4() {
  return {16, 16, 16, 16, cudaChannelFormatKindFloat};
}
