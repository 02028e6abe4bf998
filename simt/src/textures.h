// What a cudaArray_t and a cudaTextureObject_t stand for.
#pragma once

#include "simt/texture_types.h"

struct cudaArray {
  char* data;
  cudaExtent extent;  // in texels; 0 in a dimension that it does not have
  cudaChannelFormatDesc format;
  unsigned flags;
  size_t pitch;  // bytes of a row

  size_t rows() const { return extent.height ? extent.height : 1; }
  size_t slices() const { return extent.depth ? extent.depth : 1; }
};

namespace simt {

// Is it one that cudaMallocArray made, and nobody freed?
bool is_array(cudaArray_const_t array);

struct Texture {
  cudaResourceDesc resource;
  cudaTextureDesc description;
  // The texels, whatever memory they are in.
  const char* data;
  int dimensions;  // 0: linear memory
  size_t size[3];  // in texels, 1 where there is no such dimension
  size_t pitch;    // bytes of a row
  cudaChannelFormatDesc format;
  cudaChannelFormatKind result;  // of a fetch: normalized integers are floats
};

int channels_of(const cudaChannelFormatDesc& format);
size_t texel_bytes(const cudaChannelFormatDesc& format);

// Null if there is no such texture object, or no more.
const Texture* find_texture(cudaTextureObject_t texture);

}  // namespace simt
