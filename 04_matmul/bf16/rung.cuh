// How a rung on the device becomes a variant.
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "04_matmul/bf16/problem.cuh"
#include "common/variant.cuh"

// A rung on the device: void run(a, b, c, m, n, k, stream).
template <bool kTransposedB, class Run>
common::Variant<Bf16Gemm<kTransposedB>> bf16_gemm_rung(const std::string& name,
                                                       const std::string& idea, Run run,
                                                       common::Needs needs) {
  return common::on_device<Bf16Gemm<kTransposedB>>(
      name, idea,
      [run](Bf16Gemm<kTransposedB>& p, cudaStream_t stream) {
        run(p.device_a(), p.device_b(), p.c.on_device(), static_cast<int>(p.shape.m),
            static_cast<int>(p.shape.n), static_cast<int>(p.shape.k), stream);
      },
      needs);
}
