// wgmma with every type of element, both majors, all swizzles, A in registers. The tests of
// common/kit/ptx run the same functions as the lessons' kernels; here are the forms beside them.
#include <cstdint>
#include <cstring>
#include <vector>

#include "device_array.hpp"
#include "tests/catch.hpp"

namespace {

constexpr int kRows = 64, kColumns = 16;

enum Kind { kBf16, kTf32, kE4m3, kE5m2, kS8, kF16ToF16, kBf16Registers, kBf16Negative };

int depth_of(Kind kind) {
  return kind == kTf32 ? 8 : kind == kE4m3 || kind == kE5m2 || kind == kS8 ? 32 : 16;
}
int bytes_of(Kind kind) { return 32 / depth_of(kind); }

int element_a(int row, int k) { return (row * 7 + k * 3) % 5 - 2; }
int element_b(int k, int column) { return (k * 5 + column * 11) % 7 - 3; }

uint32_t encoded(Kind kind, int value) {
  const float f = static_cast<float>(value);
  uint32_t bits;
  memcpy(&bits, &f, 4);
  switch (kind) {
    case kTf32: return bits;
    case kS8: return static_cast<uint8_t>(value);
    case kE4m3: {  // small whole numbers: bias 7, three bits of mantissa
      if (value == 0) return 0;
      const int exponent = int(bits >> 23 & 255) - 127;
      return (bits >> 31) << 7 | uint32_t(exponent + 7) << 3 | (bits >> 20 & 7);
    }
    case kE5m2: {  // the upper half of an fp16
      if (value == 0) return 0;
      const int exponent = int(bits >> 23 & 255) - 127;
      return (bits >> 31) << 7 | uint32_t(exponent + 15) << 2 | (bits >> 21 & 3);
    }
    case kF16ToF16: {
      if (value == 0) return 0;
      const int exponent = int(bits >> 23 & 255) - 127;
      return (bits >> 31) << 15 | uint32_t(exponent + 15) << 10 | (bits >> 13 & 1023);
    }
    default: return bits >> 16;
  }
}

// How a tile lies in shared memory.
struct Layout {
  int swizzle;  // bytes; 0: none
  bool mn_major;
};

uint64_t swizzle_code(int bytes) {
  return bytes == 128 ? 1 : bytes == 64 ? 2 : bytes == 32 ? 3 : 0;
}

// Puts element (row along M or N, k) into the image; returns the descriptor without the address.
uint64_t fill(std::vector<char>& image, Layout layout, Kind kind, int rows, bool is_a) {
  const int bytes = bytes_of(kind), depth = depth_of(kind);
  int leading = 0, stride = 0;
  const auto place = [&](int row, int k) -> size_t {
    const int s = layout.swizzle;
    size_t at;
    if (!layout.mn_major) {
      const int byte = k * bytes;
      if (s == 0) {
        leading = 128, stride = 256;
        return row % 8 * 16 + row / 8 * stride + byte / 16 * leading + byte % 16;
      }
      stride = 8 * s;
      at = size_t(row % 8 * s + row / 8 * stride + byte);
    } else {
      const int byte = row * bytes;
      if (s == 0) {
        stride = 128, leading = 128 * (rows * bytes / 16);
        return k % 8 * 16 + byte / 16 * stride + k / 8 * leading + byte % 16;
      }
      stride = 8 * s, leading = 2 * stride;  // 16 values of k are two groups of eight
      at = size_t(k % 8 * s + k / 8 * stride + byte / s * leading + byte % s);
    }
    const unsigned bits = s == 128 ? 7 : s == 64 ? 3 : 1;
    return at ^ (at >> 7 & bits) << 4;
  };
  for (int row = 0; row < rows; ++row)
    for (int k = 0; k < depth; ++k) {
      const uint32_t value = encoded(kind, is_a ? element_a(row, k) : element_b(k, row));
      const size_t at = place(row, k);
      if (image.size() < at + 4) image.resize(at + 4);
      memcpy(&image[at], &value, bytes);
    }
  image.resize(8192);
  return uint64_t(leading >> 4) << 16 | uint64_t(stride >> 4) << 32 |
         swizzle_code(layout.swizzle) << 62;
}

#define SIMT_TEST_D(letter)                                                                 \
  "+" letter(d[0]), "+" letter(d[1]), "+" letter(d[2]), "+" letter(d[3]), "+" letter(d[4]), \
      "+" letter(d[5]), "+" letter(d[6]), "+" letter(d[7])
#define SIMT_TEST_WGMMA(shape, more, letter, ...)                                               \
  asm volatile(                                                                                 \
      "wgmma.fence.sync.aligned; { .reg .pred p; setp.ne.b32 p, %10, 0;"                        \
      "wgmma.mma_async.sync.aligned." shape " {%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, p" more \
      "; }"                                                                                     \
      : SIMT_TEST_D(letter)                                                                     \
      : "l"(a), "l"(b), "r"(accumulate)__VA_ARGS__)

template <int kTransA, int kTransB>
__global__ void wgmma_kernel(Kind kind, const char* a_image, const char* b_image, uint64_t a,
                             uint64_t b, float* out, int accumulate) {
  extern __shared__ __align__(1024) char tiles[];
  for (int i = threadIdx.x; i < 8192; i += blockDim.x) {
    tiles[i] = a_image[i];
    tiles[8192 + i] = b_image[i];
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  a |= (__cvta_generic_to_shared(tiles) & 0x3ffff) >> 4;
  b |= (__cvta_generic_to_shared(tiles + 8192) & 0x3ffff) >> 4;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const auto store = [&](int i, float value) {
    out[(16 * warp + lane / 4 + 8 * (i / 2 % 2)) * kColumns + 8 * (i / 4) + 2 * (lane % 4) +
        i % 2] = value;
  };
  if (kind == kS8) {
    int d[8];
    for (int& x : d) x = 1000;
    SIMT_TEST_WGMMA("m64n16k32.s32.s8.s8", "", "r");
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int i = 0; i < 8; ++i) store(i, static_cast<float>(d[i]));
    return;
  }
  if (kind == kF16ToF16) {
    unsigned d[4] = {0x63d063d0, 0x63d063d0, 0x63d063d0, 0x63d063d0};  // 1000
    asm volatile(
        "wgmma.fence.sync.aligned; { .reg .pred p; setp.ne.b32 p, %6, 0;"
        "wgmma.mma_async.sync.aligned.m64n16k16.f16.f16.f16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, "
        "0; }"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "l"(a), "l"(b), "r"(accumulate));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int i = 0; i < 8; ++i) {
      float value;
      asm("cvt.f32.f16 %0, %1;"
          : "=f"(value)
          : "h"(static_cast<unsigned short>(d[i / 2] >> 16 * (i % 2))));
      store(i, value);
    }
    return;
  }
  float d[8];
  for (float& x : d) x = 1000;
  if (kind == kBf16) {
    SIMT_TEST_WGMMA("m64n16k16.f32.bf16.bf16", ", 1, 1, %11, %12", "f", , "n"(kTransA),
                    "n"(kTransB));
  } else if (kind == kBf16Negative) {
    SIMT_TEST_WGMMA("m64n16k16.f32.bf16.bf16", ", -1, 1, %11, %12", "f", , "n"(kTransA),
                    "n"(kTransB));
  } else if (kind == kTf32) {
    SIMT_TEST_WGMMA("m64n16k8.f32.tf32.tf32", ", 1, 1", "f");
  } else if (kind == kE4m3) {
    SIMT_TEST_WGMMA("m64n16k32.f32.e4m3.e4m3", ", 1, 1", "f");
  } else if (kind == kE5m2) {
    SIMT_TEST_WGMMA("m64n16k32.f32.e5m2.e5m2", ", 1, 1", "f");
  } else {
    unsigned r[4];  // rows l / 4 and + 8, columns 2 (l % 4) and + 8, from the unswizzled tile
    for (int i = 0; i < 4; ++i) {
      const int row = 16 * warp + lane / 4 + 8 * (i % 2), byte = 4 * (lane % 4) + 16 * (i / 2);
      r[i] = *reinterpret_cast<const unsigned*>(tiles + row % 8 * 16 + row / 8 * 256 +
                                                byte / 16 * 128 + byte % 16);
    }
    asm volatile(
        "wgmma.fence.sync.aligned; { .reg .pred p; setp.ne.b32 p, %13, 0;"
        "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7}, "
        "{%8, %9, %10, %11}, %12, p, 1, 1, 0; }"
        : SIMT_TEST_D("f")
        : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "l"(b), "r"(accumulate));
  }
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  for (int i = 0; i < 8; ++i) store(i, d[i]);
}

template <int kTransA = 0, int kTransB = 0>
void check(Kind kind, Layout layout_a, Layout layout_b) {
  std::vector<char> a, b;
  const uint64_t descriptor_a = fill(a, layout_a, kind, kRows, true);
  const uint64_t descriptor_b = fill(b, layout_b, kind, kColumns, false);
  DeviceArray<char> a_image(a.size()), b_image(b.size());
  memcpy(a_image.get(), a.data(), a.size());
  memcpy(b_image.get(), b.data(), b.size());
  for (int accumulate = 0; accumulate < 2; ++accumulate) {
    DeviceArray<float> out(kRows * kColumns);
    wgmma_kernel<kTransA, kTransB><<<1, 128, 16384>>>(
        kind, a_image.get(), b_image.get(), descriptor_a, descriptor_b, out.get(), accumulate);
    const auto d = out.values();
    for (int row = 0; row < kRows; ++row)
      for (int column = 0; column < kColumns; ++column) {
        int sum = 0;
        for (int k = 0; k < depth_of(kind); ++k) sum += element_a(row, k) * element_b(k, column);
        if (kind == kBf16Negative) sum = -sum;
        INFO("kind " << kind << ", row " << row << ", column " << column);
        REQUIRE(d[row * kColumns + column] == sum + 1000 * accumulate);
      }
  }
}

}  // namespace

TEST_CASE("wgmma: K-major tiles of every type, with every swizzle") {
  for (Kind kind : {kBf16, kTf32, kE4m3, kE5m2, kS8, kF16ToF16, kBf16Negative})
    for (int swizzle : {0, 32, 64, 128})
      check(kind, {swizzle, false}, {swizzle == 0 ? 128 : swizzle, false});
}

TEST_CASE("wgmma: A in registers") { check(kBf16Registers, {0, false}, {64, false}); }

TEST_CASE("wgmma: MN-major tiles of A and of B, with every swizzle") {
  for (int swizzle : {0, 32, 64, 128}) {
    check<1, 0>(kBf16, {swizzle, true}, {128, false});
    check<0, 1>(kBf16, {128, false}, {swizzle, true});
  }
}
