// A fetch: which texels a coordinate means, and what becomes of their values.

#include "textures.h"

#include <cmath>
#include <cstring>
#include <string>

#include "engine.h"
#include "faults.h"
#include "simt/small_float.h"
#include "simt/textures.h"

namespace simt {
namespace {

constexpr long long kOutside = -1;

// The texel that number i of a dimension means, or kOutside.
long long addressed(long long i, long long size, cudaTextureAddressMode mode) {
  switch (mode) {
    case cudaAddressModeWrap: return (i % size + size) % size;
    case cudaAddressModeMirror: {
      const long long back_and_forth = (i % (2 * size) + 2 * size) % (2 * size);
      return back_and_forth < size ? back_and_forth : 2 * size - 1 - back_and_forth;
    }
    case cudaAddressModeBorder: return i >= 0 && i < size ? i : kOutside;
    case cudaAddressModeClamp: break;
  }
  return i < 0 ? 0 : i < size ? i : size - 1;
}

// The one or two texels of a dimension that a coordinate means, and the share of the second.
struct Position {
  long long first, second;
  double share;
};

Position position(const Texture& texture, int dimension, double coordinate) {
  const cudaTextureDesc& how = texture.description;
  const long long size = static_cast<long long>(texture.size[dimension]);
  cudaTextureAddressMode mode = how.addressMode[dimension];
  if (how.normalizedCoords)
    coordinate *= static_cast<double>(size);
  else if (mode == cudaAddressModeWrap || mode == cudaAddressModeMirror)
    mode = cudaAddressModeClamp;  // the other two are for normalized coordinates
  const bool linear = how.filterMode == cudaFilterModeLinear;
  if (linear) coordinate -= 0.5;
  if (!std::isfinite(coordinate)) coordinate = 0;
  const long long low = saturated<int>(std::floor(coordinate));
  // The hardware keeps 8 bits of the share.
  const double rest = coordinate - std::floor(coordinate);
  const double share = linear ? std::nearbyint(rest * 256) / 256 : 0;
  return {addressed(low, size, mode), share > 0 ? addressed(low + 1, size, mode) : 0, share};
}

float normalized(int32_t value, int bits, bool is_signed) {
  const float largest = static_cast<float>((1 << (is_signed ? bits - 1 : bits)) - 1);
  return fmaxf(static_cast<float>(value) / largest, -1.0f);
}

// One channel as it lies in memory, made a float's bits or an integer of 32 bits.
uint32_t channel(const Texture& texture, const char* address) {
  const int bits = texture.format.x;
  const bool is_signed = texture.format.f == cudaChannelFormatKindSigned;
  uint32_t value = 0;
  memcpy(&value, address, static_cast<size_t>(bits / 8));
  if (texture.format.f == cudaChannelFormatKindFloat)
    return bits == 16 ? bits_as<uint32_t>(float_from_half_bits(static_cast<uint16_t>(value)))
                      : value;
  if (is_signed && bits == 8) value = static_cast<uint32_t>(static_cast<int8_t>(value));
  if (is_signed && bits == 16) value = static_cast<uint32_t>(static_cast<int16_t>(value));
  if (texture.result != cudaChannelFormatKindFloat) return value;
  return bits_as<uint32_t>(normalized(static_cast<int32_t>(value), bits, is_signed));
}

// The texel at x, y, z, or the border's colour.
void load(const Texture& texture, const long long at[3], const void* caller, uint32_t* channels) {
  const bool outside = at[0] == kOutside || at[1] == kOutside || at[2] == kOutside;
  const int count = channels_of(texture.format);
  const size_t bytes = texel_bytes(texture.format);
  const char* texel = texture.data + size_t(at[0]) * bytes;
  if (!outside) {
    texel += (size_t(at[2]) * texture.size[1] + size_t(at[1])) * texture.pitch;
    note_read(texel, static_cast<unsigned>(bytes), caller);
  }
  for (int i = 0; i < count; ++i)
    channels[i] = outside ? bits_as<uint32_t>(texture.description.borderColor[i])
                          : channel(texture, texel + size_t(i) * bytes / size_t(count));
}

[[noreturn]] void refuse(const Fetch& fetch, const char* why) {
  const std::string call = std::string(fetch.function) + " at " + fetch.place.file + ":" +
                           std::to_string(fetch.place.line);
  if (!state.block) {
    report(call + ": host code cannot fetch from a texture");
    exit(1);
  }
  report({"texture", describe_current_thread() + ": " + call + ": " + why, cudaErrorLaunchFailure,
          fetch.place});
  fail_kernel(cudaErrorLaunchFailure);
}

const Texture& checked_texture(const Fetch& fetch) {
  const Texture* texture = state.block ? find_texture(fetch.texture) : nullptr;
  if (!texture) refuse(fetch, "there is no such texture object");
  if (texture->dimensions != fetch.dimensions)
    refuse(fetch,
           "the texture is of another kind: tex1Dfetch is for linear memory, tex1D, tex2D "
           "and tex3D for as many dimensions");
  if (texture->result != fetch.wanted.f ||
      (texture->result != cudaChannelFormatKindFloat && texture->format.x != fetch.wanted.x) ||
      channels_of(texture->format) < channels_of(fetch.wanted))
    refuse(fetch, "the texture's texels are of another type");
  return *texture;
}

// The weighted sum of the texels around the place, which are one, two, four or eight.
void filter(const Texture& texture, const Position positions[3], const void* caller,
            uint32_t* channels) {
  float sum[4] = {};
  for (int corner = 0; corner < 8; ++corner) {
    long long at[3];
    double weight = 1;
    for (int i = 0; i < 3; ++i) {
      const bool second = corner >> i & 1;
      at[i] = second ? positions[i].second : positions[i].first;
      weight *= second ? positions[i].share : 1 - positions[i].share;
    }
    if (weight == 0) continue;
    uint32_t texel[4];
    load(texture, at, caller, texel);
    for (int i = 0; i < channels_of(texture.format); ++i)
      sum[i] += static_cast<float>(weight) * bits_as<float>(texel[i]);
  }
  memcpy(channels, sum, sizeof sum);
}

}  // namespace

int channels_of(const cudaChannelFormatDesc& format) {
  return (format.x > 0) + (format.y > 0) + (format.z > 0) + (format.w > 0);
}

size_t texel_bytes(const cudaChannelFormatDesc& format) {
  return static_cast<size_t>(format.x + format.y + format.z + format.w) / 8;
}

void fetch(const Fetch& fetch, uint32_t* channels) {
  const Texture& texture = checked_texture(fetch);
  memset(channels, 0, 4 * sizeof *channels);
  if (texture.dimensions == 0) {  // beyond linear memory there are zeros
    const long long at[3] = {static_cast<long long>(fetch.at[0]), 0, 0};
    if (at[0] >= 0 && at[0] < static_cast<long long>(texture.size[0]))
      load(texture, at, fetch.caller, channels);
    return;
  }
  Position positions[3] = {};
  for (int i = 0; i < texture.dimensions; ++i) positions[i] = position(texture, i, fetch.at[i]);
  const long long first[3] = {positions[0].first, positions[1].first, positions[2].first};
  if (texture.description.filterMode == cudaFilterModeLinear)
    filter(texture, positions, fetch.caller, channels);
  else
    load(texture, first, fetch.caller, channels);
}

}  // namespace simt
