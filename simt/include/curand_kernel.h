// cuRAND's device generators: XORWOW (the default) and Philox4_32_10, with the same sequences as on
// a GPU.
#pragma once

#include "simt/cuda.h"

namespace simt {
// Moves the state of XORWOW, five words that are linear over GF(2), forward by n * 2^67 or n steps.
void xorwow_skip_subsequences(unsigned v[5], unsigned long long n);
void xorwow_skip(unsigned v[5], unsigned long long n);
}  // namespace simt

#define CURAND_2POW32_INV (2.3283064e-10f)
#define CURAND_2POW32_INV_2PI (2.3283064e-10f * 6.2831855f)
#define CURAND_2POW53_INV_DOUBLE (1.1102230246251565e-16)

// A second normal number is left over from every pair that the Box-Muller transform makes.
struct simt_spare_normal {
  bool there = false;
  float value = 0;
  bool there_double = false;
  double value_double = 0;
};

// ---- XORWOW -----------------------------------------------------------------------------------

struct curandStateXORWOW {
  unsigned d, v[5];
  simt_spare_normal spare;
};
typedef curandStateXORWOW curandStateXORWOW_t;
typedef curandStateXORWOW curandState_t;
typedef curandStateXORWOW curandState;

inline void skipahead(unsigned long long n, curandStateXORWOW* state) {
  simt::xorwow_skip(state->v, n);
  state->d += 362437u * static_cast<unsigned>(n);
}
// A subsequence has 2^67 numbers, a multiple of the period of d.
inline void skipahead_sequence(unsigned long long n, curandStateXORWOW* state) {
  simt::xorwow_skip_subsequences(state->v, n);
}

inline void curand_init(unsigned long long seed, unsigned long long subsequence,
                        unsigned long long offset, curandStateXORWOW* state) {
  const unsigned s0 = static_cast<unsigned>(seed) ^ 0xaad26b49u;
  const unsigned s1 = static_cast<unsigned>(seed >> 32) ^ 0xf7dcefddu;
  const unsigned t0 = 1099087573u * s0, t1 = 2591861531u * s1;
  state->d = 6615241u + t1 + t0;
  state->v[0] = 123456789u + t0;
  state->v[1] = 362436069u ^ t0;
  state->v[2] = 521288629u + t1;
  state->v[3] = 88675123u ^ t1;
  state->v[4] = 5783321u + t0;
  skipahead_sequence(subsequence, state);
  skipahead(offset, state);
  state->spare = simt_spare_normal();
}

inline unsigned curand(curandStateXORWOW* state) {
  unsigned* v = state->v;
  const unsigned t = v[0] ^ (v[0] >> 2);
  v[0] = v[1], v[1] = v[2], v[2] = v[3], v[3] = v[4];
  v[4] = (v[4] ^ (v[4] << 4)) ^ (t ^ (t << 1));
  state->d += 362437u;
  return v[4] + state->d;
}

// ---- Philox: ten rounds of multiplication turn a counter and a key into four numbers ----------

struct curandStatePhilox4_32_10 {
  uint4 counter, output;
  uint2 key;
  unsigned used;  // of the four numbers in `output`
  simt_spare_normal spare;
};
typedef curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;

namespace simt {

inline uint4 philox(uint4 c, uint2 key) {
  for (int round = 0; round < 10; ++round) {
    const unsigned low0 = 0xD2511F53u * c.x, high0 = __umulhi(0xD2511F53u, c.x);
    const unsigned low1 = 0xCD9E8D57u * c.z, high1 = __umulhi(0xCD9E8D57u, c.z);
    c = {high1 ^ c.y ^ key.x, low1, high0 ^ c.w ^ key.y, low0};
    key.x += 0x9E3779B9u;
    key.y += 0xBB67AE85u;
  }
  return c;
}

// Adds to the lower or the upper half of the 128-bit counter.
inline void advance_low(uint4* c, unsigned long long n) {
  const unsigned long long low = (static_cast<unsigned long long>(c->y) << 32 | c->x) + n;
  c->x = static_cast<unsigned>(low);
  c->y = static_cast<unsigned>(low >> 32);
  if (low < n && ++c->z == 0) ++c->w;
}
inline void advance_high(uint4* c, unsigned long long n) {
  const unsigned long long high = (static_cast<unsigned long long>(c->w) << 32 | c->z) + n;
  c->z = static_cast<unsigned>(high);
  c->w = static_cast<unsigned>(high >> 32);
}
inline unsigned nth(uint4 v, unsigned n) {
  return n == 0 ? v.x : n == 1 ? v.y : n == 2 ? v.z : v.w;
}

}  // namespace simt

inline void skipahead(unsigned long long n, curandStatePhilox4_32_10* state) {
  state->used += static_cast<unsigned>(n & 3);
  n /= 4;
  if (state->used > 3) {
    ++n;
    state->used -= 4;
  }
  simt::advance_low(&state->counter, n);
  state->output = simt::philox(state->counter, state->key);
}
inline void skipahead_sequence(unsigned long long n, curandStatePhilox4_32_10* state) {
  simt::advance_high(&state->counter, n);
  state->output = simt::philox(state->counter, state->key);
}

inline void curand_init(unsigned long long seed, unsigned long long subsequence,
                        unsigned long long offset, curandStatePhilox4_32_10* state) {
  state->counter = {0, 0, 0, 0};
  state->key = {static_cast<unsigned>(seed), static_cast<unsigned>(seed >> 32)};
  state->used = 0;
  state->spare = simt_spare_normal();
  skipahead_sequence(subsequence, state);
  skipahead(offset, state);
}

inline unsigned curand(curandStatePhilox4_32_10* state) {
  const unsigned result = simt::nth(state->output, state->used++);
  if (state->used == 4) {
    simt::advance_low(&state->counter, 1);
    state->output = simt::philox(state->counter, state->key);
    state->used = 0;
  }
  return result;
}

inline uint4 curand4(curandStatePhilox4_32_10* state) {
  const uint4 old = state->output;
  simt::advance_low(&state->counter, 1);
  state->output = simt::philox(state->counter, state->key);
  const uint4 next = state->output;
  switch (state->used) {
    case 1: return {old.y, old.z, old.w, next.x};
    case 2: return {old.z, old.w, next.x, next.y};
    case 3: return {old.w, next.x, next.y, next.z};
    default: return old;
  }
}

// ---- distributions ----------------------------------------------------------------------------

namespace simt {

// In (0, 1]: never 0, so that its logarithm exists.
inline float uniform_from(unsigned x) { return x * CURAND_2POW32_INV + CURAND_2POW32_INV / 2.0f; }
inline double uniform_double_from(unsigned x, unsigned y) {
  const unsigned long long bits = x ^ static_cast<unsigned long long>(y) << (53 - 32);
  return static_cast<double>(bits) * CURAND_2POW53_INV_DOUBLE + CURAND_2POW53_INV_DOUBLE / 2.0;
}
inline float2 normals_from(unsigned x, unsigned y) {
  const float u = uniform_from(x);
  const float angle = y * CURAND_2POW32_INV_2PI + CURAND_2POW32_INV_2PI / 2;
  const float radius = sqrtf(-2.0f * logf(u));
  return {radius * sinf(angle), radius * cosf(angle)};
}

}  // namespace simt

template <class State>
inline float curand_uniform(State* state) {
  return simt::uniform_from(curand(state));
}
namespace simt {
// 53 random bits from two numbers.
template <class State>
inline double fine_uniform(State* state) {
  const unsigned x = curand(state);
  return uniform_double_from(x, curand(state));
}
}  // namespace simt

inline double curand_uniform_double(curandStateXORWOW* state) { return simt::fine_uniform(state); }
// Philox spends a single number on it: 32 random bits.
inline double curand_uniform_double(curandStatePhilox4_32_10* state) {
  return curand(state) * 0x1p-32 + 0x1p-33;
}
template <class State>
inline float curand_normal(State* state) {
  if (state->spare.there) {
    state->spare.there = false;
    return state->spare.value;
  }
  const unsigned x = curand(state);
  const float2 pair = simt::normals_from(x, curand(state));
  state->spare.there = true;
  state->spare.value = pair.y;
  return pair.x;
}
template <class State>
inline float2 curand_normal2(State* state) {
  const unsigned x = curand(state);
  return simt::normals_from(x, curand(state));
}
template <class State>
inline double curand_normal_double(State* state) {
  if (state->spare.there_double) {
    state->spare.there_double = false;
    return state->spare.value_double;
  }
  const double u = simt::fine_uniform(state);
  const double v = simt::fine_uniform(state);
  const double radius = sqrt(-2.0 * log(u));
  state->spare.there_double = true;
  state->spare.value_double = radius * cospi(2.0 * v);
  return radius * sinpi(2.0 * v);
}
template <class State>
inline float curand_log_normal(State* state, float mean, float deviation) {
  return expf(mean + deviation * curand_normal(state));
}
inline float4 curand_uniform4(curandStatePhilox4_32_10* state) {
  const uint4 x = curand4(state);
  return {simt::uniform_from(x.x), simt::uniform_from(x.y), simt::uniform_from(x.z),
          simt::uniform_from(x.w)};
}
inline float4 curand_normal4(curandStatePhilox4_32_10* state) {
  const uint4 x = curand4(state);
  const float2 a = simt::normals_from(x.x, x.y), b = simt::normals_from(x.z, x.w);
  return {a.x, a.y, b.x, b.y};
}
