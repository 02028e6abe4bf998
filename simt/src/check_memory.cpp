#include "check_memory.h"

#include <algorithm>
#include <cstring>
#include <mutex>

namespace simt {

WatchedMemory::WatchedMemory(const Allocation& allocation)
    : allocation(allocation),
      base(reinterpret_cast<uint64_t>(allocation.base)),
      bytes(allocation.bytes) {
  if (allocation.freed) return;
  if (allocation.kind == MemoryKind::kDevice) {
    written = std::make_unique<ShadowArray<uint8_t>>(bytes);
  }
  if (bytes <= GlobalRaces::kMaxBytes) races = std::make_unique<GlobalRaces>(bytes);
}

void WatchedMemory::mark_written(uint64_t offset, uint64_t size) {
  if (written) std::memset(written->data() + offset, 1, size);
}

void MemoryMap::add_locked(const Allocation& allocation) {
  auto memory = std::make_unique<WatchedMemory>(allocation);
  if (!allocation.freed && memory->races == nullptr) ++unwatched_;
  // Addresses are used again: what was freed there is forgotten.
  auto next = by_base_.lower_bound(memory->base);
  if (next != by_base_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second->bytes > memory->base) next = before;
  }
  while (next != by_base_.end() && next->first < memory->base + memory->bytes) {
    garbage_.push_back(std::move(next->second));
    next = by_base_.erase(next);
  }
  if (allocation.kind == MemoryKind::kDevice) {
    low = std::min(low.load(), memory->base);
    high = std::max(high.load(), memory->base + memory->bytes);
  }
  by_base_[memory->base] = std::move(memory);
  ++generation_;
}

void MemoryMap::allocated(const Allocation& allocation) {
  std::lock_guard<std::shared_mutex> lock(mutex_);
  add_locked(allocation);
}

void MemoryMap::freed(const Allocation& allocation) {
  std::lock_guard<std::shared_mutex> lock(mutex_);
  const auto found = by_base_.find(reinterpret_cast<uint64_t>(allocation.base));
  if (found == by_base_.end()) return;
  // The entry stays for use-after-free, without what costs memory.
  Allocation gone = allocation;
  gone.freed = true;
  garbage_.push_back(std::move(found->second));
  found->second = std::make_unique<WatchedMemory>(gone);
  ++generation_;
}

WatchedMemory* MemoryMap::find_locked(uint64_t address) {
  auto after = by_base_.upper_bound(address);
  if (after == by_base_.begin()) return nullptr;
  WatchedMemory* memory = std::prev(after)->second.get();
  return memory->holds(address, 1) ? memory : nullptr;
}

WatchedMemory* MemoryMap::find(uint64_t address) {
  {
    std::shared_lock<std::shared_mutex> lock(mutex_);
    if (WatchedMemory* memory = find_locked(address)) return memory;
  }
  // Variables and pinned memory become known when they are first used.
  Allocation allocation;
  if (!find_allocation(reinterpret_cast<const void*>(address), &allocation)) return nullptr;
  std::lock_guard<std::shared_mutex> lock(mutex_);
  if (WatchedMemory* memory = find_locked(address)) return memory;
  add_locked(allocation);
  return find_locked(address);
}

void MemoryMap::filled(const void* to, uint64_t size) {
  const auto begin = reinterpret_cast<uint64_t>(to);
  std::shared_lock<std::shared_mutex> lock(mutex_);
  WatchedMemory* memory = find_locked(begin);
  if (memory != nullptr && memory->holds(begin, size)) {
    memory->mark_written(begin - memory->base, size);
  }
}

void MemoryMap::copied(const void* to, const void* from, uint64_t size) {
  const auto begin = reinterpret_cast<uint64_t>(to), source = reinterpret_cast<uint64_t>(from);
  std::shared_lock<std::shared_mutex> lock(mutex_);
  WatchedMemory* target = find_locked(begin);
  WatchedMemory* origin = find_locked(source);
  if (target == nullptr || !target->written || !target->holds(begin, size)) return;
  if (origin == nullptr || !origin->written || !origin->holds(source, size)) {
    target->mark_written(begin - target->base, size);
  } else {  // unwritten bytes stay unwritten wherever they are copied
    std::memmove(target->written->data() + (begin - target->base),
                 origin->written->data() + (source - origin->base), size);
  }
}

void MemoryMap::clear_races() {
  std::shared_lock<std::shared_mutex> lock(mutex_);
  for (auto& entry : by_base_) {
    if (entry.second->races) entry.second->races->clear();
  }
}

void MemoryMap::sweep() {
  std::lock_guard<std::shared_mutex> lock(mutex_);
  garbage_.clear();
}

}  // namespace simt
