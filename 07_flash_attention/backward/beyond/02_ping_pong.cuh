// ping_pong: the warpgroups take turns in beginning a step of longest_first.
//
// There nobody waits for the other warpgroup, but nothing keeps the two apart either: when both ask
// for S at once, both get it late, and both are at their exponentials at once. Here a warpgroup
// issues S and dP in its turn, and passes the turn on when S is there: while it computes weights,
// the other one multiplies. It is what `ping_pong` of the forward pass does. The price is a barrier
// more a step: a little faster at d = 128, mostly level at 64, and slower at 256, where both share
// their keys.
#pragma once

#include <cuda_runtime.h>

#include "07_flash_attention/backward/kit/dq_parts.cuh"
#include "07_flash_attention/backward/kit/hopper_tile.cuh"
#include "07_flash_attention/backward/kit/ping_pong_kernel.cuh"
#include "07_flash_attention/backward/kit/row_facts.cuh"
#include "07_flash_attention/backward/shape.hpp"

namespace backward {

// Device pointers, aligned to 16 bytes. scratch: row_facts_and_dq_scratch(shape) floats.
template <class T, int kD>
void ping_pong(const Shape& shape, const Tensors<T>& t, float* scratch, cudaStream_t stream) {
  using Tile = HopperTile<T, kD>;
  const Arguments<T> args = prepare(shape, t, scratch, true, stream);
  launch_ping_pong<Tile>(args, NobodyWaits(), stream);
  finish_dq_parts<Tile>(args, stream);
}

}  // namespace backward
