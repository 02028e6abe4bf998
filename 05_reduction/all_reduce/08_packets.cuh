// packets: four bytes of data and the number of the message in one word of eight.
//
// A word of eight bytes is stored and loaded in one piece, so who finds the number of this message
// in it has the data, too: no fence, no flag, no barrier, one trip over the link. Each thread polls
// the words that it adds. Two halves of the memory in turn, as before. What is still wrong: half of
// the bytes on the link are numbers, so for large messages it takes twice as long.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>

#include <cuda/atomic>

#include "05_reduction/all_reduce/kit/team.cuh"
#include "05_reduction/all_reduce/kit/vector.cuh"
#include "common/kit/check.cuh"
#include "common/kit/patience.cuh"

namespace all_reduce {

// The elements of four bytes: one float or two bf16.
template <class T>
struct Word {
  static constexpr int kSize = 4 / sizeof(T);
  T element[kSize];
};
template <class T>
__device__ Word<T> load_word(const T* x, std::int64_t word, std::int64_t n) {
  Word<T> loaded;
  for (int e = 0; e < Word<T>::kSize; ++e) {
    const std::int64_t i = word * Word<T>::kSize + e;
    loaded.element[e] = i < n ? x[i] : from_float<T>(0);
  }
  return loaded;
}

template <class T>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    packets_kernel(Peers<T> peers, int rank, std::int64_t n) {
  using Packet = cuda::atomic_ref<std::uint64_t, cuda::thread_scope_system>;
  constexpr int kSize = Word<T>::kSize;
  constexpr std::int64_t kSlots = std::int64_t{kMostBlocks} * kThreads;
  unsigned* const kept = peers.epochs[rank] + blockIdx.x;
  unsigned epoch = *kept;
  const std::int64_t words = (n + kSize - 1) / kSize;
  const std::int64_t mine = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::int64_t grid = std::int64_t{gridDim.x} * kThreads;
  const auto slot = [&](int from) { return (epoch % 2 * peers.size + from) * kSlots + mine; };

  // All threads count all turns.
  for (std::int64_t first = 0; first < words; first += grid) {
    ++epoch;
    const std::int64_t word = first + mine;
    // Later turns send zeros where no words are left: a thread that waited for nobody could fill
    // the half again, in the next call, from which a slower peer still has to read.
    if (word >= words && first == 0) continue;
    // The own word to everybody. Nothing else is to be seen before it: relaxed is enough.
    const Word<T> own = load_word(peers.x[rank], word, n);
    std::uint32_t bits;
    memcpy(&bits, &own, sizeof bits);
    for (int r = 0; r < peers.size; ++r) {
      if (r == rank) continue;
      Packet(peers.packets[r][slot(rank)])
          .store(std::uint64_t{epoch} << 32 | bits, cuda::memory_order_relaxed);
    }

    // The others' words, in the order of the ranks. Who is slower is waited for, word by word.
    float sum[kSize] = {};
    for (int r = 0; r < peers.size; ++r) {
      Word<T> from = own;
      if (r != rank) {
        Packet packet(peers.packets[rank][slot(r)]);
        std::uint64_t found = packet.load(cuda::memory_order_relaxed);
        for (Patience patience; found >> 32 != epoch; patience.look()) {
          found = packet.load(cuda::memory_order_relaxed);
        }
        bits = static_cast<std::uint32_t>(found);
        memcpy(&from, &bits, sizeof bits);
      }
      for (int e = 0; e < kSize; ++e) sum[e] += to_float(from.element[e]);
    }

    // The last word of bf16 may be one element too long.
    for (int e = 0; e < kSize; ++e) {
      const std::int64_t i = word * kSize + e;
      if (i < n) peers.y[rank][i] = from_float<T>(sum[e]);
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) *kept = epoch;
}

// y of every rank = the sum of all x, in the order of the ranks. In the streams of the team.
template <class T>
void all_reduce_packets(const Team<T>& team, std::int64_t n) {
  if (n == 0) return;
  for_each_rank(team, [&](int rank, cudaStream_t stream) {
    packets_kernel<T>
        <<<team.blocks_for((n + Word<T>::kSize - 1) / Word<T>::kSize), kThreads, 0, stream>>>(
            team.peers, rank, n);
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace all_reduce
