// The device memory that the program has allocated, with what the checks remember of each byte.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

#include "check_races.h"
#include "check_shadow.h"
#include "engine.h"

namespace simt {

struct WatchedMemory {
  explicit WatchedMemory(const Allocation& allocation);

  Allocation allocation;
  uint64_t base, bytes;
  // One per byte, 1 once it was written; null: whatever is there counts as written (host memory,
  // and variables, which start at zero).
  std::unique_ptr<ShadowArray<uint8_t>> written;
  std::unique_ptr<GlobalRaces> races;        // null: too large to be checked
  std::atomic<uint32_t> stamp_of_writes{0};  // of the last write by a thread

  bool holds(uint64_t address, uint64_t size) const {
    return address - base < bytes && size <= bytes - (address - base);
  }
  void mark_written(uint64_t offset, uint64_t size);
};

// All of them. Safe from any thread; an entry stays valid until no launch runs any more.
class MemoryMap {
 public:
  void allocated(const Allocation& allocation);
  void freed(const Allocation& allocation);
  void filled(const void* to, uint64_t size);
  void copied(const void* to, const void* from, uint64_t size);

  // The memory that holds the address, freed or not; null: none.
  WatchedMemory* find(uint64_t address);

  // Changes whenever an address may have got another owner.
  uint64_t generation() const { return generation_.load(std::memory_order_relaxed); }
  // Forgets all accesses (the race check's stamps have run out).
  void clear_races();
  // Arrays so far that were too large to be checked for races.
  uint64_t unwatched() const { return unwatched_.load(std::memory_order_relaxed); }
  // Gives back what was freed. Only while no launch runs.
  void sweep();

  // All memory from cudaMalloc lies in [low, high).
  std::atomic<uint64_t> low{~uint64_t{0}}, high{0};

 private:
  WatchedMemory* find_locked(uint64_t address);
  void add_locked(const Allocation& allocation);

  std::shared_mutex mutex_;
  std::map<uint64_t, std::unique_ptr<WatchedMemory>> by_base_;
  std::vector<std::unique_ptr<WatchedMemory>> garbage_;
  std::atomic<uint64_t> generation_{1};
  std::atomic<uint64_t> unwatched_{0};
};

}  // namespace simt
