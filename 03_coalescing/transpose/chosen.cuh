// The last page of the ladder: which rung a library would take.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "03_coalescing/transpose/10_write_order.cuh"
#include "03_coalescing/transpose/beyond/01_aligned_stores.cuh"
#include "03_coalescing/transpose/kit/tiles.cuh"
#include "03_coalescing/transpose/problem.cuh"
#include "common/bench/variant.cuh"

namespace transpose {

// out[c][r] = in[r][c], in: rows x cols. Device pointers, row-major, dense. Returns the name of the
// rung that does it: float4 where every row begins on 16 bytes, else whole sectors.
inline std::string transpose_chosen(const float* in, float* out, std::int64_t rows,
                                    std::int64_t cols, cudaStream_t stream) {
  if (rows_are_aligned(in, out, rows, cols)) {
    transpose_write_order(in, out, rows, cols, stream);
    return "write_order";
  }
  transpose_aligned_stores(in, out, rows, cols, stream);
  return "aligned_stores";
}

// Its row.
inline bench::Variant<Transpose> transpose_chooser() {
  return bench::chooser<Transpose>(
      "a library's choice: by where the rows begin", [](Transpose& p, cudaStream_t stream) {
        return transpose_chosen(p.in.device_data(), p.out.device_data(), p.rows, p.cols, stream);
      });
}

}  // namespace transpose
