// What the checks remember of the copies and products (wgmma) of a block that work in the
// background: made at the first of them, so that other kernels pay nothing.
//
// Shared memory in flight may not be touched: what a copy is still to write, nor, by a write, what
// something is still to read. Copies by cp.async.bulk and wgmma use another path to shared memory,
// the async proxy: between a thread's write and their read, and between a thread's read or write
// and their write, must stand a fence.proxy.async.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "check_shadow.h"
#include "engine.h"

namespace simt {

struct AsyncChecks {
  explicit AsyncChecks(uint64_t shared_bytes);
  void begin_block();

  // ---- in flight
  // How many things in flight will write each word, and read each piece of 16 bytes.
  ShadowArray<uint8_t> writers, readers;
  unsigned flying = 0;
  struct Flight {  // all but cp.async, for messages
    const char* what;
    uint32_t pc;
    bool writes;
    uint64_t begin, end;  // offsets in shared memory
  };
  std::vector<Flight> flights;

  // Per piece: the swizzle with which cp.async.bulk.tensor wrote it.
  static constexpr uint8_t kOther = 255;
  ShadowArray<uint8_t> swizzles;
  ShadowArray<uint32_t> seen;  // per piece: the number of the last wgmma operand that read it
  uint32_t operands = 0;

  // ---- fence.proxy.async
  // Each thread's clock at its last one, and the newest clock of the block then.
  uint32_t fenced[kMaxThreads], block_fenced[kMaxThreads];
  std::unordered_set<uint32_t> copies;  // code addresses whose reads are of the async proxy already

  // ---- mbarrier.init
  // By which thread, and its clock then; and its clock at the fence after it, 0: none yet.
  struct Made {
    unsigned thread;
    uint32_t clock, fenced;
  };
  std::unordered_map<unsigned, Made> mbarriers;  // by offset in shared memory

  // ---- wgmma
  // Its registers are variables on the stacks of threads. Of each word there: who touched it last,
  // and which wgmma it is a register of.
  struct Word {
    uint32_t touched;  // by other code, after the thread's wgmma.fence of this number
    uint32_t pc;       // of that code
    uint32_t product : 31;
    uint32_t of_a : 1;  // not an accumulator
  };
  struct Registers {
    std::unique_ptr<ShadowArray<Word>> words;
    uint32_t fence;  // the last one; 0: none yet
    uint32_t done;   // products that the thread has waited for
  };
  std::vector<Registers> registers;  // per thread
  // Fences and products are numbered through all blocks, so that words need no clearing.
  uint32_t fences = 0, products_before = 0, products = 0;
  bool any_products = false;

  // ---- accesses by other blocks of the cluster, by block and thread: the last one's clock
  struct Remote {
    uint32_t clock, pc;
  };
  std::map<std::pair<uint64_t, unsigned>, Remote> remotes;
};

}  // namespace simt
