#include "check_memory.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "options.h"

namespace simt {
namespace {
constexpr uint64_t kPage = 4096;
}

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

bool WatchedMemory::is_guard(uint64_t offset) const {
  auto behind = guards.upper_bound(offset);
  if (behind == guards.begin()) return false;
  --behind;
  return offset - behind->first < behind->second;
}

void WatchedMemory::mark_written(uint64_t offset, uint64_t size, Writer by) {
  if (!written) return;
  std::memset(written->data() + offset, by, size);
  for (const auto& [guard, bytes] : guards) {
    const uint64_t begin = std::max(offset, guard), end = std::min(offset + size, guard + bytes);
    if (begin < end) std::memset(written->data() + begin, kUnwritten, end - begin);
  }
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
  if (in_device_range(allocation.base)) {
    low = std::min(low.load(), memory->base / kPage * kPage);
    high = std::max(high.load(), (memory->base + memory->bytes) / kPage * kPage + kPage);
  }
  const bool shared = memory->is_shared();
  by_base_[memory->base] = std::move(memory);
  ++generation_;
  if (shared) ++shared_lists_;
}

bool MemoryMap::page_is_shared(uint64_t address) {
  const uint64_t page = address / kPage * kPage;
  std::shared_lock<std::shared_mutex> lock(mutex_);
  auto each = by_base_.lower_bound(page + kPage);
  while (each != by_base_.begin()) {
    --each;
    const WatchedMemory& memory = *each->second;
    if (memory.base + memory.bytes <= page) return false;
    if (memory.is_shared()) return true;
  }
  return false;
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
  const bool shared = found->second->is_shared();
  garbage_.push_back(std::move(found->second));
  found->second = std::make_unique<WatchedMemory>(gone);
  ++generation_;
  if (shared) ++shared_lists_;
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

void MemoryMap::filled(const void* to, uint64_t size, Writer by) {
  const auto begin = reinterpret_cast<uint64_t>(to);
  std::shared_lock<std::shared_mutex> lock(mutex_);
  WatchedMemory* memory = find_locked(begin);
  if (memory != nullptr && memory->holds(begin, size)) {
    memory->mark_written(begin - memory->base, size, by);
  }
}

namespace {

bool is_on_device(const void* address) {
  Allocation found;
  return in_device_range(address) ||
         (find_allocation(address, &found) && found.kind == MemoryKind::kSymbol);
}

}  // namespace

void MemoryMap::copied(const void* to, const void* from, uint64_t size) {
  const auto begin = reinterpret_cast<uint64_t>(to), source = reinterpret_cast<uint64_t>(from);
  const bool into_device = is_on_device(to), out_of_device = is_on_device(from);
  if (into_device && !out_of_device) to_device += size;
  if (out_of_device && !into_device) to_host += size;
  std::shared_lock<std::shared_mutex> lock(mutex_);
  WatchedMemory* target = find_locked(begin);
  WatchedMemory* origin = find_locked(source);
  const bool has_writers = origin != nullptr && origin->written && origin->holds(source, size);
  if (target == nullptr || !target->written || !target->holds(begin, size)) {
    if (has_writers && !into_device && *sealed_word() != 0)
      landed_on_host(begin, from, size, origin->written->data() + (source - origin->base));
    return;
  }
  if (!has_writers) {
    target->mark_written(begin - target->base, size, kByHost);
  } else {  // unwritten bytes stay unwritten wherever they are copied
    std::memmove(target->written->data() + (begin - target->base),
                 origin->written->data() + (source - origin->base), size);
  }
}

void MemoryMap::guard(uint64_t address, uint64_t size) {
  std::lock_guard<std::shared_mutex> lock(mutex_);
  WatchedMemory* memory = find_locked(address);
  if (memory == nullptr || !memory->written || !memory->holds(address, size)) return;
  memory->mark_written(address - memory->base, size, kUnwritten);
  memory->guards[address - memory->base] = size;
}

bool MemoryMap::is_guard(uint64_t address) {
  std::shared_lock<std::shared_mutex> lock(mutex_);
  const WatchedMemory* memory = find_locked(address);
  return memory != nullptr && memory->is_guard(address - memory->base);
}

uint64_t MemoryMap::unwritten(uint64_t address, uint64_t size) {
  std::shared_lock<std::shared_mutex> lock(mutex_);
  const WatchedMemory* memory = find_locked(address);
  if (memory == nullptr || !memory->written || !memory->holds(address, size)) return 0;
  const uint8_t* written = memory->written->data() + (address - memory->base);
  if (std::memchr(written, kUnwritten, size) == nullptr) return 0;
  uint64_t sum = 0, run = 0;
  for (uint64_t i = 0; i <= size; ++i) {
    if (i < size && written[i] == kUnwritten && !memory->is_guard(address + i - memory->base)) {
      ++run;
    } else {
      if (run >= 16) sum += run;
      run = 0;
    }
  }
  return sum;
}

void MemoryMap::landed_on_host(uint64_t to, const void* from, uint64_t size,
                               const uint8_t* writers) {
  std::lock_guard<std::mutex> lock(landed_mutex_);
  Landed* piece = nullptr;
  for (uint64_t i = 0; i < size; ++i) {
    const uint64_t place = (to + i) % Landed::kBytes;
    if (piece == nullptr || place == 0) piece = &landed_[(to + i) / Landed::kBytes];
    piece->is[place] = writers[i] == kByKernel;
    piece->bytes[place] = static_cast<const char*>(from)[i];
  }
}

bool MemoryMap::by_kernel(const void* address) {
  const auto at = reinterpret_cast<uint64_t>(address);
  {
    std::shared_lock<std::shared_mutex> lock(mutex_);
    const WatchedMemory* memory = find_locked(at);
    if (memory != nullptr && memory->written)
      return (*memory->written)[at - memory->base] == kByKernel;
  }
  std::lock_guard<std::mutex> lock(landed_mutex_);
  const auto found = landed_.find(at / Landed::kBytes);
  if (found == landed_.end()) return false;
  const auto& [is, bytes] = found->second;
  const uint64_t place = at % Landed::kBytes;
  return is[place] && bytes[place] == *static_cast<const char*>(address);
}

void MemoryMap::clear_races() {
  std::shared_lock<std::shared_mutex> lock(mutex_);
  for (auto& entry : by_base_) {
    if (entry.second->races) entry.second->races->clear();
  }
}

std::vector<Allocation> MemoryMap::living() {
  std::shared_lock<std::shared_mutex> lock(mutex_);
  std::vector<Allocation> found;
  for (const auto& [base, memory] : by_base_) {
    if (!memory->allocation.freed && in_device_range(memory->allocation.base))
      found.push_back(memory->allocation);
  }
  return found;
}

void MemoryMap::sweep() {
  std::lock_guard<std::shared_mutex> lock(mutex_);
  garbage_.clear();
}

}  // namespace simt
