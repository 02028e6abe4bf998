// prefill_kernel: the kernel of the forward pass, as it is, for one query.
//
// The forward pass takes a tile of 32 queries of a head through all keys, 32 at a time, by way of
// shared memory: each key that was loaded serves 32 queries. When a prompt is read (the "prefill")
// there are as many queries as keys. In decoding a head has one. The tile's other 31 rows are
// zeros, and they are multiplied like the first. What is still wrong: 31 of 32 products are for
// nothing, and each query head reads caches that it shares with others.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/decode/shape.hpp"
#include "07_flash_attention/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace decode {

constexpr int kPrefillRows = 32, kPrefillKeys = 32, kPrefillThreads = 256;
constexpr int kPrefillTeam = kPrefillThreads / kPrefillRows;  // neighbouring lanes share a query

template <class T, int kD>
struct PrefillTile {
  static constexpr int kPitch = kD + 8;  // eight rows start in eight groups of banks
  T q[kPrefillRows][kPitch], k[kPrefillKeys][kPitch], v[kPrefillKeys][kPitch];
  float p[kPrefillRows][kPrefillKeys + 8];
};

// Copies rows from row `first` of a matrix of `rows` rows, 16 bytes at a time; past the last,
// zeros.
template <class T, int kRows, int kPitch>
__device__ void load_rows(T (&to)[kRows][kPitch], const T* from, int first, int rows) {
  constexpr int kChunks = (kPitch - 8) / 8;
  const uint4* chunks = reinterpret_cast<const uint4*>(from) + first * kChunks;
  for (int i = threadIdx.x; i < kRows * kChunks; i += kPrefillThreads) {
    const bool inside = first + i / kChunks < rows;
    *reinterpret_cast<uint4*>(&to[i / kChunks][i % kChunks * 8]) = inside ? chunks[i] : uint4{};
  }
}

template <class T, int kD>
__global__ void __launch_bounds__(kPrefillThreads)
    decode_prefill_kernel(Tensors<T> t, Shape shape) {
  extern __shared__ uint4 dynamic_chunks[];
  auto& tile = *reinterpret_cast<PrefillTile<T, kD>*>(dynamic_chunks);
  const int row = threadIdx.x / kPrefillTeam, member = threadIdx.x % kPrefillTeam;
  const std::int64_t head = blockIdx.x, keys_at = head / shape.group() * shape.n * kD;
  load_rows(tile.q, t.q + head * kD, 0, 1);  // there is one query

  float o[kD / kPrefillTeam] = {}, largest = -INFINITY, sum = 0;
  for (int first = 0; first < shape.n; first += kPrefillKeys) {
    load_rows(tile.k, t.k + keys_at, first, shape.n);
    load_rows(tile.v, t.v + keys_at, first, shape.n);
    __syncthreads();

    // A thread's scores are those of every eighth key.
    float s[kPrefillKeys / kPrefillTeam] = {}, tile_max = -INFINITY;
    for (int c = 0; c < kD; ++c) {
      const float q = static_cast<float>(tile.q[row][c]);
      for (int i = 0; i < kPrefillKeys / kPrefillTeam; ++i) {
        s[i] += q * static_cast<float>(tile.k[member + kPrefillTeam * i][c]);
      }
    }
    for (int i = 0; i < kPrefillKeys / kPrefillTeam; ++i) {
      s[i] = first + member + kPrefillTeam * i < shape.n ? shape.scale() * s[i] : -INFINITY;
      tile_max = fmaxf(tile_max, s[i]);
    }

    // The softmax goes on: what was summed so far is brought to the scale of the new maximum.
    for (int step = kPrefillTeam / 2; step > 0; step /= 2) {
      tile_max = fmaxf(tile_max, __shfl_xor_sync(0xffffffff, tile_max, step));
    }
    const float new_max = fmaxf(largest, tile_max), correction = expf(largest - new_max);
    largest = new_max;
    sum *= correction;
    for (int i = 0; i < kPrefillKeys / kPrefillTeam; ++i) {
      const float weight = expf(s[i] - new_max);
      sum += weight;
      tile.p[row][member + kPrefillTeam * i] = weight;
    }
    __syncwarp();  // the threads of a query are a part of a warp

    // A thread's columns of O are every eighth.
#pragma unroll
    for (int i = 0; i < kD / kPrefillTeam; ++i) {
      o[i] *= correction;
      for (int j = 0; j < kPrefillKeys; ++j) {
        o[i] += tile.p[row][j] * static_cast<float>(tile.v[j][member + kPrefillTeam * i]);
      }
    }
    __syncthreads();  // the tiles may be written again
  }

  // A thread has added up its own weights only.
  for (int step = kPrefillTeam / 2; step > 0; step /= 2) {
    sum += __shfl_xor_sync(0xffffffff, sum, step);
  }
  if (row > 0) return;  // nobody asked for the other rows
#pragma unroll
  for (int i = 0; i < kD / kPrefillTeam; ++i) {
    t.o[head * kD + member + kPrefillTeam * i] = T(o[i] / sum);
  }
  if (member == 0) t.lse[head] = largest + logf(sum);
}

// Device pointers, aligned to 16 bytes.
template <class T>
void prefill_kernel(const Shape& shape, const Tensors<T>& t, cudaStream_t stream) {
  attention::with_head_dim(shape.d, [&](auto head_dim) {
    const auto kernel = decode_prefill_kernel<T, head_dim>;
    constexpr int kShared = sizeof(PrefillTile<T, decltype(head_dim)::value>);
    kit::allow_shared(kernel, kShared);
    kernel<<<static_cast<unsigned>(shape.rows()), kPrefillThreads, kShared, stream>>>(t, shape);
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace decode
