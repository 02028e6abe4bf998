// one_matrix: a block takes 32 keys and lets all queries pass by; only dS is stored.
//
// A tile of P and dS lies in shared memory, where the block that made it uses it at once. dK and dV
// of the block's keys are sums over queries, and stay in registers from the first query to the
// last. So nobody reads P again, and it is not stored. dQ is a sum over keys, which belong to other
// blocks: for dQ = dS K each tile of dS goes to memory. What is still wrong: one float for every
// pair.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/product.cuh"
#include "07_flash_attention/backward/kit/row_stats.cuh"
#include "07_flash_attention/backward/kit/tile.cuh"
#include "07_flash_attention/backward/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace backward {

template <class T, int kD>
__global__ void __launch_bounds__(kTileThreads) one_matrix_kernel(Arguments<T> args, float* ds) {
  const auto& shape = args.shape;
  extern __shared__ float shared[];
  auto& tile = *reinterpret_cast<FloatTile<kD>*>(shared);
  const int own = threadIdx.x / kTeam;
  const float scale = shape.scale();
  const int key_tiles = kit::divide_up(shape.n_k, kTileRows);
  const std::int64_t kv_head = blockIdx.x / key_tiles;
  const int first_key = static_cast<int>(blockIdx.x % key_tiles) * kTileRows;
  // The block's keys and values stay to the end.
  load_tile(tile.k, args.k + kv_head * shape.n_k * kD, first_key, shape.n_k);
  load_tile(tile.v, args.v + kv_head * shape.n_k * kD, first_key, shape.n_k);

  float dk[FloatTile<kD>::kCols] = {}, dv[FloatTile<kD>::kCols] = {};
  for (int g = 0; g < shape.group(); ++g) {
    const std::int64_t head = kv_head * shape.group() + g, first = head * shape.n_q;
    // All queries: dS is wanted of those, too, that see none of these keys.
    for (int first_row = 0; first_row < shape.n_q; first_row += kTileRows) {
      load_tile(tile.q, args.q + first * kD, first_row, shape.n_q);
      load_tile(tile.d_o, args.d_o + first * kD, first_row, shape.n_q);
      __syncthreads();
      weigh_tile(tile, shape, args.rows, head, first_row, first_key);
      __syncthreads();
      // A thread owns a key in the sums over queries.
      add_product<true>(dv, tile.p, tile.d_o);
      add_product<true>(dk, tile.ds, tile.q);
      // Neighbouring lanes store dS of neighbouring keys.
      const int key = threadIdx.x % kTileRows;
      for (int row = threadIdx.x / kTileRows; row < kTileRows; row += kTileThreads / kTileRows) {
        if (first_row + row >= shape.n_q || first_key + key >= shape.n_k) continue;
        ds[(first + first_row + row) * shape.n_k + first_key + key] = scale * tile.ds[row][key];
      }
      __syncthreads();  // the tile may be written again
    }
  }

  if (first_key + own >= shape.n_k) return;
  const std::int64_t key = kv_head * shape.n_k + first_key + own;
  store_row(args.dk + key * kD, dk, scale);
  store_row(args.dv + key * kD, dv, 1);
}

// Device pointers. scratch: one_matrix_scratch(shape) floats, dS and the log-sum-exp and D of rows.
inline std::int64_t one_matrix_scratch(const Shape& shape) {
  return shape.rows() * shape.n_k + row_stats_scratch(shape);
}
template <class T, int kD>
void one_matrix(const Shape& shape, const Tensors<T>& t, float* scratch, cudaStream_t stream) {
  float* ds = scratch;
  const Arguments<T> args = prepare(shape, t, ds + shape.rows() * shape.n_k, false, stream);
  const auto kernel = one_matrix_kernel<T, kD>;
  constexpr int kShared = sizeof(FloatTile<kD>);
  kit::allow_shared(kernel, kShared);
  const auto blocks = shape.all_kv_heads() * kit::divide_up(shape.n_k, kTileRows);
  kernel<<<static_cast<unsigned>(blocks), kTileThreads, kShared, stream>>>(args, ds);
  CUDA_CHECK(cudaGetLastError());
  const Product dq{shape.all_heads(), shape.n_q, kD, shape.n_k, 1, shape.group()};
  multiply<false, false>(ds, t.k, t.dq, dq, stream);
}

}  // namespace backward
