// Partials that say themselves that they are there, without a fence.
//
// A partial travels in words of 64 bits: 32 bits of a value and a bit that says "here I am", like
// the states of a scan's look-back. Value and flag arrive together or not at all.
#pragma once

#include <cuda_runtime.h>
#include <cuda/atomic>

#include <cstdint>
#include <cstring>

#include "05_reduction/sum/kit/reduce.cuh"

namespace reduction {

// A word: this bit, and 32 bits of a value. 0: not there yet.
constexpr std::uint64_t kIsThere = 1ull << 32;
template <class Value>
constexpr int kWordsOf = sizeof(Value) / sizeof(std::uint32_t);

using Word = cuda::atomic_ref<std::uint64_t, cuda::thread_scope_device>;

// Each word is written in one piece and tells all there is to know about itself, so no order among
// them is needed: relaxed.
template <class Value>
__device__ void announce(const Value& value, std::uint64_t* words) {
  std::uint32_t pieces[kWordsOf<Value>];
  std::memcpy(pieces, &value, sizeof value);
#pragma unroll
  for (int w = 0; w < kWordsOf<Value>; ++w) {
    Word(words[w]).store(kIsThere | pieces[w], cuda::std::memory_order_relaxed);
  }
}

// What was announced with these words.
template <class Value>
__device__ Value announced(const std::uint64_t (&words)[kWordsOf<Value>]) {
  std::uint32_t pieces[kWordsOf<Value>];
#pragma unroll
  for (int w = 0; w < kWordsOf<Value>; ++w) pieces[w] = static_cast<std::uint32_t>(words[w]);
  Value value;
  std::memcpy(&value, pieces, sizeof value);
  return value;
}

// The partials of all blocks, combined always in the same order (not that of the blocks: Op must be
// commutative); counts in thread 0. Waits until they are there and leaves all words 0. A thread
// asks for several partials at a time, and again for all of them if one is missing: waiting for one
// after the other would take a trip to the L2 cache for each.
template <class Op, int kBlock>
__device__ typename Op::Value collect(std::uint64_t* words) {
  using Value = typename Op::Value;
  constexpr int kAtOnce = 4, kWords = kWordsOf<Value>;
  Value value = Op::identity();
  for (unsigned first = threadIdx.x; first < gridDim.x; first += kAtOnce * kBlock) {
    // Ask for several partials, and again until none is missing.
    std::uint64_t seen[kAtOnce][kWords];
    bool all_there;
    do {
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const unsigned block = first + i * kBlock;
        const std::uint64_t at = (block < gridDim.x ? block : first) * kWords;  // no branch
#pragma unroll
        for (int w = 0; w < kWords; ++w) {
          seen[i][w] = Word(words[at + w]).load(cuda::std::memory_order_relaxed);
        }
      }
      all_there = true;
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
#pragma unroll
        for (int w = 0; w < kWords; ++w) all_there &= seen[i][w] != 0;
      }
    } while (!all_there);

    // Take them, and leave the words as they were found.
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const unsigned block = first + i * kBlock;
      if (block >= gridDim.x) break;
      value = Op::combine(value, announced<Value>(seen[i]));
#pragma unroll
      for (int w = 0; w < kWords; ++w) {
        Word(words[block * kWords + w]).store(0, cuda::std::memory_order_relaxed);
      }
    }
  }
  return block_reduce<Op, kBlock>(value);
}

}  // namespace reduction
