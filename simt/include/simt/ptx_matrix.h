// Matrix instructions: ldmatrix, stmatrix, movmatrix, mma (src/matrix.cpp) and wgmma
// (src/wgmma.cpp).
#pragma once

#include <cstdint>

#include "simt/build_mode.h"
#include "simt/location.h"

namespace simt {

// To the counters, once for a warp.
void note_tensor_operations(unsigned long long count);

namespace ptx {

enum class Element : unsigned char {
  f16,
  bf16,
  tf32,
  f32,
  f64,
  s8,
  u8,
  s4,
  u4,
  e4m3,
  e5m2,
  s32,
  u32,
  b32,
  s64,
  u64,
  b64,
};

// Loads `count` 8 x 8 matrices of 16-bit elements. Lane l gives the address of row l % 8 of matrix
// l / 8.
void ldmatrix(unsigned* registers, unsigned count, bool transposed, const void* row,
              Location at = Location::here());
void stmatrix(const unsigned* registers, unsigned count, bool transposed, void* row,
              Location at = Location::here());
unsigned movmatrix(unsigned value, Location at = Location::here());

struct Mma {
  int m, n, k;
  Element d, a, b, c;
  bool satfinite;
  int d_registers, a_registers, b_registers, c_registers;
};
// Of WMMA: d += a b, all row-major.
void add_products_of_wmma(Element type, bool half_result, int rows, int columns, int k,
                          const float* a, const float* b, float* d);
void mma(const Mma& shape, unsigned* d, const unsigned* a, const unsigned* b, const unsigned* c,
         Location at = Location::here());
void mma(const Mma& shape, unsigned long long* d, const unsigned long long* a,
         const unsigned long long* b, const unsigned long long* c, Location at = Location::here());

struct Wgmma {
  int n, k;
  Element d, a, b;
  int d_registers;
  bool satfinite;  // integers stop at the ends of their range
};
// A register of A: its value when the wgmma is asked for, and, in a build with checks, the variable
// that it was read from, if it has a place of its own.
struct ARegister {
  unsigned value;
  const void* place;
};
// d = scale_a a * scale_b b (+ d if `accumulate`). a: four registers, or null and a descriptor.
void wgmma(const Wgmma& shape, void* const* d, const ARegister* a, uint64_t a_tile, uint64_t b_tile,
           bool accumulate, int scale_a, int scale_b, int transposed_a, int transposed_b,
           Location at = Location::here());
void wgmma_fence(Location at = Location::here());
void wgmma_commit_group(Location at = Location::here());
void wgmma_wait_group(unsigned pending, Location at = Location::here());

}  // namespace ptx
}  // namespace simt
