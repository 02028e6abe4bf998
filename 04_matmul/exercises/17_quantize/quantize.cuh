// Exercise 04/quantize: 128 floats become 128 bytes of E4M3 and one scale.
#pragma once

#include <cuda_fp8.h>
#include <cuda_runtime.h>

constexpr int kShare = 128;         // neighbours of x that share a scale
constexpr int kMine = kShare / 32;  // of them, a lane's
constexpr int kWarps = 4;           // of a block of threads

// Every 128 neighbours of x share a scale; the last ones may be fewer. Their scale is the largest
// size among them over 448, or 1 if all of them are 0. q[i] is x[i] over its scale, rounded to the
// nearest number of E4M3. x and q have n elements, scales one for each 128 of them; all are in
// device memory, aligned to 16 bytes. The largest size of 128 is 0, or between 2^-80 and 2^80.
__global__ void quantize_kernel(const float* x, __nv_fp8_e4m3* q, float* scales, int n) {
  const int group = blockIdx.x * kWarps + threadIdx.x / 32;  // of 128 neighbours: this warp's
  const int lane = threadIdx.x % 32;
  float mine[kMine] = {}, scale = 1;
  //@ task 1: load this lane's four elements of the group; what lies past the end of x stays 0
  //@ hint: the group begins at x[group * kShare]
  //@ hint: lanes that load neighbours need the fewest sectors: lane, lane + 32, lane + 64, lane + 96
  //@ begin
  for (int i = 0; i < kMine; ++i) {
    const int at = group * kShare + 32 * i + lane;
    if (at < n) mine[i] = x[at];
  }
  //@ end
  //@ task 2: the scale of the group, in every lane; one lane stores it
  //@ hint: the largest size of the lane's four: fmaxf and fabsf
  //@ hint: of all lanes: largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, s)), s = 16, 8, ... 1
  //@ hint: 0 / 0 is NaN: a group of zeros has the scale 1; and a warp past the end has no group
  //@ begin
  float largest = 0;
  for (const float each : mine) largest = fmaxf(largest, fabsf(each));
  for (int s = 16; s > 0; s /= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, s));
  if (largest > 0) scale = largest / 448;
  if (lane == 0 && group * kShare < n) scales[group] = scale;
  //@ end
  //@ task 3: divide, round and store
  //@ hint: what is still in registers is not loaded again
  //@ hint: __nv_fp8_e4m3(number) rounds to nearest
  //@ answer: 448 / 1000 is above 2^-6 and keeps four bits; 448 / 1000000 is below 2^-10: it is 0
  //@ begin
  for (int i = 0; i < kMine; ++i) {
    const int at = group * kShare + 32 * i + lane;
    if (at < n) q[at] = __nv_fp8_e4m3(mine[i] / scale);
  }
  //@ end
}

inline void quantize(const float* x, __nv_fp8_e4m3* q, float* scales, int n) {
  constexpr int kPerBlock = kWarps * kShare;
  quantize_kernel<<<(n + kPerBlock - 1) / kPerBlock, 32 * kWarps>>>(x, q, scales, n);
}
