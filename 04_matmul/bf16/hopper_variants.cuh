// The rungs that only Hopper understands (wgmma, TMA), in reading order. B as k x n or, if
// kTransposedB, as n x k.
#pragma once

#include <vector>

#include "04_matmul/bf16/problem.cuh"
#include "04_matmul/bf16/rung.cuh"
#include "common/variant.cuh"

template <bool kTransposedB>
std::vector<common::Variant<Bf16Gemm<kTransposedB>>> bf16_gemm_hopper_variants() {
  return {};
}
