// The device memory that the program has allocated, with what the checks remember of each byte.
#pragma once

#include <algorithm>
#include <atomic>
#include <bitset>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "check_races.h"
#include "check_shadow.h"
#include "engine.h"

namespace simt {

// Who wrote a byte last. A copy from the host brings what the host made; a fill counts as a kernel.
enum Writer : uint8_t { kUnwritten = 0, kByKernel = 1, kByHost = 2 };

struct WatchedMemory {
  explicit WatchedMemory(const Allocation& allocation);

  Allocation allocation;
  uint64_t base, bytes;
  // One per byte, kByKernel or kByHost once it was written; null: whatever is there counts as
  // written (host memory, and variables, which start at zero).
  std::unique_ptr<ShadowArray<uint8_t>> written;
  std::unique_ptr<GlobalRaces> races;        // null: too large to be checked
  std::atomic<uint32_t> stamp_of_writes{0};  // of the last write by a thread
  std::map<uint64_t, uint64_t> guards;       // offset and bytes, see simt::guard()

  bool holds(uint64_t address, uint64_t size) const {
    return address - base < bytes && size <= bytes - (address - base);
  }
  // May the host use it, and a kernel, too?
  bool is_shared() const {
    return !allocation.freed &&
           (allocation.kind == MemoryKind::kManaged || allocation.kind == MemoryKind::kPinned);
  }
  void mark_written(uint64_t offset, uint64_t size, Writer by);
  bool is_guard(uint64_t offset) const;
};

// All of them. Safe from any thread; an entry stays valid until no launch runs any more.
class MemoryMap {
 public:
  void allocated(const Allocation& allocation);
  void freed(const Allocation& allocation);
  void filled(const void* to, uint64_t size, Writer by);
  void copied(const void* to, const void* from, uint64_t size);
  // What simt::guard() says; and was it said of this byte? Guards count as unwritten.
  void guard(uint64_t address, uint64_t size);
  bool is_guard(uint64_t address);
  // How many of these bytes nobody wrote: gaps of structures, smaller than 16 bytes, do not count.
  uint64_t unwritten(uint64_t address, uint64_t size);

  // The memory that holds the address, freed or not; null: none.
  WatchedMemory* find(uint64_t address);

  // Changes whenever an address may have got another owner.
  uint64_t generation() const { return generation_.load(std::memory_order_relaxed); }
  void changed() { ++generation_; }
  // Forgets all accesses (the race check's stamps have run out).
  void clear_races();
  // Arrays so far that were too large to be checked for races.
  uint64_t unwatched() const { return unwatched_.load(std::memory_order_relaxed); }
  // Memory from cudaMalloc and its kin, and of the device's heap, that is not freed.
  std::vector<Allocation> living();
  // Gives back what was freed. Only while no launch runs.
  void sweep();

  // Was the byte written last by a kernel, or is it host memory that a copy has brought it to from
  // there, and is it as the copy left it?
  bool by_kernel(const void* address);
  // Bytes that were copied between host and device.
  std::atomic<uint64_t> to_device{0}, to_host{0};

  // Is there managed or page-locked memory in the page of this address? Asked at every access of
  // the host: each thread keeps what it was told of the pages that it used last.
  bool host_shares(uint64_t address) {
    const uint64_t lists = shared_lists_.load(std::memory_order_relaxed);
    if (lists == 0) return false;
    const uint64_t key = (lists << 36 | address >> 12) << 1;
    uint64_t& known = pages_[(address >> 12) % kPages];
    if ((known & ~uint64_t{1}) != key) known = key | (page_is_shared(address) ? 1 : 0);
    return (known & 1) != 0;
  }
  // Calls what(memory, offset, bytes) for the part of the range that one known allocation holds.
  template <class What>
  void with(uint64_t address, uint64_t bytes, What what) {
    std::shared_lock<std::shared_mutex> lock(mutex_);
    WatchedMemory* memory = find_locked(address);
    if (memory == nullptr || memory->allocation.freed || memory->races == nullptr) return;
    const uint64_t offset = address - memory->base;
    what(*memory, offset, std::min(bytes, memory->bytes - offset));
  }

  // All memory from cudaMalloc and cudaMallocManaged lies in [low, high), with its pages.
  std::atomic<uint64_t> low{~uint64_t{0}}, high{0};

 private:
  WatchedMemory* find_locked(uint64_t address);
  void add_locked(const Allocation& allocation);
  bool page_is_shared(uint64_t address);
  void landed_on_host(uint64_t to, const void* from, uint64_t size, const uint8_t* writers);

  static constexpr unsigned kPages = 512;
  inline static thread_local uint64_t pages_[kPages] = {};
  std::atomic<uint64_t> shared_lists_{0};  // changes with what the host shares; 0: nothing so far
  std::shared_mutex mutex_;
  std::map<uint64_t, std::unique_ptr<WatchedMemory>> by_base_;
  // Host addresses that copies have brought a kernel's bytes to, with these bytes, by pieces of
  // memory. Only for a judge.
  struct Landed {
    static constexpr uint64_t kBytes = 256;
    std::bitset<kBytes> is;
    char bytes[kBytes];
  };
  std::mutex landed_mutex_;
  std::unordered_map<uint64_t, Landed> landed_;
  std::vector<std::unique_ptr<WatchedMemory>> garbage_;
  std::atomic<uint64_t> generation_{1};
  std::atomic<uint64_t> unwatched_{0};
};

}  // namespace simt
