// The library's transpose: cublasSgeam, C = alpha op(A) + beta op(B), with beta = 0.
#pragma once

#include <cuda_runtime.h>

#include <climits>
#include <memory>

#include "03_coalescing/transpose/problem.cuh"
#include "common/bench/variant.cuh"
#include "common/kit/check.cuh"

#if __has_include(<cublas_v2.h>)
#include "common/bench/cublas_handle.hpp"
#endif

namespace transpose {

inline bench::Variant<Transpose> transpose_peer() {
  bench::Variant<Transpose> peer;
  peer.name = "cublas_sgeam";
  peer.idea = "peer: cublasSgeam";
  peer.place = bench::Place::device;
  peer.kind = bench::Kind::peer;
#if __has_include(<cublas_v2.h>)
  const auto handle = std::make_shared<bench::CublasHandle>();
  peer.run = [handle](Transpose& p, cudaStream_t stream) {
    if (p.rows > INT_MAX || p.cols > INT_MAX) throw kit::Skip("its sizes are of type int");
    bench::CublasHandle::check(cublasSetStream(handle->get(), stream), "cublasSetStream");
    // cuBLAS counts by columns: our rows x cols matrix is its cols x rows matrix with leading
    // dimension cols, and our output is its rows x cols matrix. B is not read when beta is 0.
    const int rows = static_cast<int>(p.rows), cols = static_cast<int>(p.cols);
    const float one = 1, zero = 0;
    bench::CublasHandle::check(
        cublasSgeam(handle->get(), CUBLAS_OP_T, CUBLAS_OP_N, rows, cols, &one, p.in.device_data(),
                    cols, &zero, p.out.device_data(), rows, p.out.device_data(), rows),
        "cublasSgeam");
  };
#else
  peer.needs.missing = "needs cuBLAS, which comes with the CUDA Toolkit";
#endif
  return peer;
}

}  // namespace transpose
