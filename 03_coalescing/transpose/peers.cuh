// The library's transpose: cublasSgeam, C = alpha op(A) + beta op(B), with beta = 0.
#pragma once

#include <cuda_runtime.h>

#include <climits>
#include <memory>

#include "03_coalescing/transpose/problem.cuh"
#include "common/variant.cuh"

#if __has_include(<cublas_v2.h>)
#include "common/cublas_handle.hpp"
#endif

inline common::Variant<Transpose> transpose_peer() {
  common::Variant<Transpose> peer;
  peer.name = "cublas_sgeam";
  peer.idea = "peer: cublasSgeam";
  peer.place = common::Place::device;
  peer.kind = common::Kind::peer;
#if __has_include(<cublas_v2.h>)
  const auto handle = std::make_shared<common::CublasHandle>();
  peer.run = [handle](Transpose& p, cudaStream_t stream) -> common::Phases {
    if (p.rows > INT_MAX || p.cols > INT_MAX) throw common::Skip("its sizes are of type int");
    common::CublasHandle::check(cublasSetStream(handle->get(), stream), "cublasSetStream");
    // cuBLAS counts by columns: our rows x cols matrix is its cols x rows matrix with leading
    // dimension cols, and our output is its rows x cols matrix. B is not read when beta is 0.
    const int rows = static_cast<int>(p.rows), cols = static_cast<int>(p.cols);
    const float one = 1, zero = 0;
    common::CublasHandle::check(
        cublasSgeam(handle->get(), CUBLAS_OP_T, CUBLAS_OP_N, rows, cols, &one, p.in.on_device(),
                    cols, &zero, p.out.on_device(), rows, p.out.on_device(), rows),
        "cublasSgeam");
    return {};
  };
#else
  peer.needs.missing = "needs cuBLAS, which comes with the CUDA Toolkit";
#endif
  return peer;
}
