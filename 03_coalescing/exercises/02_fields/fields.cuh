// Exercise 03/fields: particles as a structure of arrays.
#pragma once

#include <cuda_runtime.h>

// A particle has 8 fields: x, y, z, vx, vy, vz, mass, charge, numbered from 0. All x lie side by
// side, then all y, and so on: each field begins `pitch` floats behind the one before. x, y and z
// of all i < n move by dt times vx, vy and vz. `fields` points to device memory.
__global__ void advance_kernel(float* fields, int pitch, int n, float dt) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  //@ task 1: move particle i
  //@ hint: field f of particle i is fields[f * pitch + i]
  //@ hint: position of an axis: field axis; velocity of the same axis: field 3 + axis
  //@ hint: mass and charge are not needed: do not touch them
  //@ begin
  for (int axis = 0; axis < 3; ++axis) {
    fields[axis * pitch + i] += dt * fields[(3 + axis) * pitch + i];
  }
  //@ end
}

inline void advance(float* fields, int pitch, int n, float dt) {
  advance_kernel<<<(n + 127) / 128, 128>>>(fields, pitch, n, dt);
}
