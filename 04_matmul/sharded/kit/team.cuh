// The devices that share a product: their streams, and the product of one of them.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <functional>

#include "04_matmul/sharded/kit/shards.hpp"
#include "common/kit/check.cuh"
#include "common/kit/devices.cuh"

namespace matmul::sharded {

using Element = __nv_bfloat16;
using kit::kMostDevices;
// A kernel that meets others, and its blocks. On a CPU fewer threads and blocks show the same.
constexpr int kPushThreads = kit::kHasGpu ? 512 : 64;
constexpr int kPushBlocksPerSm = 2;
constexpr int kMostPushBlocks = kit::kHasGpu ? 320 : 8;

// C = A B' in the stream, of device `rank`, which is the current one. A is m x k, B is n x k, C is
// m x n, all dense and row-major, in the memory of that device. A size may be 0.
using Multiply = std::function<void(int rank, const Element* a, const Element* b, Element* c,
                                    std::int64_t m, std::int64_t n, std::int64_t k, cudaStream_t)>;

// What kernels need to meet those of other devices (common/kit/meet.cuh). All are zero before the
// first call.
struct Peers {
  int size = 0;                         // devices
  unsigned* flags[kMostDevices] = {};   // kMostPushBlocks x kMostDevices
  unsigned* epochs[kMostDevices] = {};  // kMostPushBlocks: how often each block has met the others
};

struct Team {
  kit::Devices devices;  // their streams are for products
  kit::Devices copies;   // the same devices; streams for copies
  Multiply multiply;     // a library's where there is one: here copies matter
  Peers peers;
  int push_blocks = 1;  // of kernels that meet: as many as all devices can hold at once

  int size() const { return devices.size(); }

  // What the copy streams are asked for from now on comes after what was asked of the streams for
  // products of all devices.
  void start_copies() const {
    record_products();
    for (int rank = 0; rank < size(); ++rank) {
      for (int other = 0; other < size(); ++other) {
        CUDA_CHECK(cudaStreamWaitEvent(copies.streams[rank], devices.events[other], 0));
      }
    }
  }
  // The same for the streams for products themselves.
  void start_products() const {
    record_products();
    for (int rank = 0; rank < size(); ++rank) {
      for (int other = 0; other < size(); ++other) {
        if (other == rank) continue;
        CUDA_CHECK(cudaStreamWaitEvent(devices.streams[rank], devices.events[other], 0));
      }
    }
  }
  // What the copy stream of `rank` is asked for from now on comes after what its stream for
  // products was asked for.
  void copy_after_product(int rank) const {
    CUDA_CHECK(cudaEventRecord(devices.events[rank], devices.streams[rank]));
    CUDA_CHECK(cudaStreamWaitEvent(copies.streams[rank], devices.events[rank], 0));
  }
  // What the stream of `rank` is asked for from now on comes after what the copy stream of `other`
  // was asked for.
  void wait_for_copies(int rank, int other) const {
    CUDA_CHECK(cudaEventRecord(copies.events[other], copies.streams[other]));
    CUDA_CHECK(cudaStreamWaitEvent(devices.streams[rank], copies.events[other], 0));
  }

 private:
  void record_products() const {
    for (int rank = 0; rank < size(); ++rank) {
      CUDA_CHECK(cudaEventRecord(devices.events[rank], devices.streams[rank]));
    }
  }
};

// A copy of elements to another device, or to the same, in a stream of the one that has them. As
// cudaMemcpyPeerAsync, which no graph may hold: the pointers tell whose memory it is.
inline void push(Element* to, const Element* from, std::int64_t count, cudaStream_t stream) {
  if (count == 0) return;
  CUDA_CHECK(cudaMemcpyAsync(to, from, count * sizeof(Element), cudaMemcpyDefault, stream));
}

// region gather
// All of A times the own columns of B'. Rank r has rows.size(r) rows of A, its columns of B'
// and the same columns of C. Device pointers, aligned to 16 bytes.
struct GatherProduct {
  std::int64_t m, n, k;
  Shards rows, columns;            // of m, of n
  const Element* a[kMostDevices];  // rows.size(r) x k
  const Element* b[kMostDevices];  // columns.size(r) x k: a row for each column of the product
  Element* c[kMostDevices];        // m x columns.size(r)
  Element* whole_a[kMostDevices];  // m x k: room for the rows of all
  unsigned* flags[kMostDevices];   // kMostDevices x kMostChunks
};
// endregion

// region scatter
// Rank r has columns ks.first(r) .. of A and of B, so its product is one addend of all of C. It is
// to have its rows of the sum.
struct ProductScatter {
  std::int64_t m, n, k;
  Shards rows, ks;                 // of m, of k
  const Element* a[kMostDevices];  // m x ks.size(r)
  const Element* b[kMostDevices];  // n x ks.size(r)
  Element* c[kMostDevices];        // rows.size(r) x n
  Element* addend[kMostDevices];   // m x n: room for the own product
  Element* slots[kMostDevices];    // what each rank sends: slot s is that of rank s
  unsigned* flags[kMostDevices];   // ranks x scatter_flags(rows.size(r), n)

  // Slots lie apart by whole pieces of 16 bytes.
  std::int64_t slot_elements(int rank) const { return (rows.size(rank) * n + 7) / 8 * 8; }
  Element* slot(int rank, int sender) const { return slots[rank] + sender * slot_elements(rank); }
};
// endregion

}  // namespace matmul::sharded
