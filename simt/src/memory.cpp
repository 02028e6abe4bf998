#include "memory.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "options.h"
#include "simt/runtime_api.h"
#include "simt/shared.h"

namespace simt {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kAlignment = 256;
// Fresh device memory holds whatever was there before. This byte stands for it, so that a program
// that reads memory it never wrote gets nonsense (as float: -431602080) instead of convenient
// zeros.
constexpr int kGarbage = 0xcd;
constexpr size_t kGarbageBytes = size_t(16)
                                 << 20;  // only so much of it, to keep large buffers cheap

// The range of addresses; of 32 bits (WebAssembly) there are few.
constexpr bool kIs64 = sizeof(void*) == 8;
constexpr size_t kMostAddresses = size_t(1) << (kIs64 ? 42 : 27);
constexpr size_t kFewestAddresses = size_t(1) << (kIs64 ? 32 : 27);

size_t round_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

// Of the heap of device code; null until it is first used.
char *heap_begin = nullptr, *heap_end = nullptr;

struct Pages {
  Allocation allocation;
  char* pages;  // what is mapped for it
  size_t page_bytes;
};

class DeviceMemory {
 public:
  DeviceMemory() {
    for (range_bytes_ = kMostAddresses; range_bytes_ >= kFewestAddresses; range_bytes_ >>= 1) {
      void* range = mmap(nullptr, range_bytes_, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (range == MAP_FAILED) continue;
      range_ = static_cast<char*>(range);
      range_bytes_ -= range_bytes_ / 4;  // the last quarter is the heap of device code
      first_ = next_ = range_ + range_bytes_ / 64;
      return;
    }
    fprintf(stderr, "simt: cannot reserve addresses for device memory\n");
    exit(1);
  }

  bool contains(const void* address) const {
    const char* a = static_cast<const char*>(address);
    return a >= range_ && a < range_ + range_bytes_ + range_bytes_ / 3;
  }

  cudaError_t allocate(void** pointer, size_t bytes, MemoryKind kind, int device, Location at) {
    const size_t pages = round_up(bytes, kPage);
    std::lock_guard<std::mutex> lock(mutex_);
    size_t& used = used_[device];
    if (bytes > options().memory_bytes || used + bytes > options().memory_bytes)
      return cudaErrorMemoryAllocation;
    if (next_ + pages + kPage > range_ + range_bytes_ && !start_over(pages))
      return cudaErrorMemoryAllocation;
    char* first = next_;
    if (mprotect(first, pages, PROT_READ | PROT_WRITE) != 0) return cudaErrorMemoryAllocation;
    // The end of the allocation lies at the end of the last page, as near as the alignment allows,
    // so that running past it hits the unmapped page behind.
    char* start = first + pages - round_up(bytes, kAlignment);
    // Managed memory comes from the host's operating system, which hands out zeros.
    if (kind == MemoryKind::kDevice)
      memset(start, kGarbage, bytes < kGarbageBytes ? bytes : kGarbageBytes);
    Pages& block = blocks_[start];
    block.allocation = {start, bytes, kind, at, "", false};
    block.allocation.device = device;
    block.pages = first;
    block.page_bytes = pages;
    next_ = first + pages + kPage;
    used += bytes;
    *pointer = start;
    if (observer) observer->allocated(block.allocation);
    return cudaSuccess;
  }

  cudaError_t free(void* pointer) {
    if (heap_holds(pointer)) return cudaErrorInvalidValue;
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = blocks_.find(static_cast<char*>(pointer));
    if (found == blocks_.end() || found->second.allocation.freed) return cudaErrorInvalidValue;
    Pages& block = found->second;
    block.allocation.freed = true;
    used_[block.allocation.device] -= block.allocation.bytes;
    // A fresh mapping gives the pages back and makes every later access a fault.
    mmap(block.pages, block.page_bytes, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    if (observer) observer->freed(block.allocation);
    return cudaSuccess;
  }

  void* allocate_in_heap(size_t bytes, size_t alignment, Location at) {
    size_t limit = 0;
    cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize);
    std::lock_guard<std::mutex> lock(mutex_);
    if (heap_next_ == nullptr) {
      heap_next_ = range_ + range_bytes_;
      heap_begin = heap_next_;
      heap_end = heap_next_ + range_bytes_ / 3;  // what the constructor left for it
    }
    if (bytes == 0) bytes = 1;
    const size_t room = round_up(bytes + kHeapGap, alignment < 16 ? 16 : alignment);
    if (bytes > limit || heap_used_ + room > limit) return nullptr;
    // Freed objects are taken again only when there is no fresh room, so that their use is noticed.
    char* start = reinterpret_cast<char*>(
        round_up(reinterpret_cast<size_t>(heap_next_), alignment < 16 ? 16 : alignment));
    auto again = heap_free_.end();
    if (start + room > heap_begin + 4 * limit) {
      again = heap_free_.lower_bound(room);
      while (again != heap_free_.end() && reinterpret_cast<size_t>(again->second) % alignment != 0)
        ++again;
    }
    size_t taken = room;
    if (again != heap_free_.end()) {
      start = again->second;
      taken = again->first;
      heap_free_.erase(again);
      if (taken > room + 1024) {
        heap_free_.emplace(taken - room, start + room);
        taken = room;
      }
    } else {
      if (start + room > heap_end) return nullptr;
      heap_next_ = start + room;
      while (heap_begin + heap_ready_ < heap_next_) {
        constexpr size_t step = 1 << 20;
        if (mprotect(heap_begin + heap_ready_, step, PROT_READ | PROT_WRITE) != 0) return nullptr;
        heap_ready_ += step;
      }
    }
    memset(start, kGarbage, bytes);
    Pages& block = blocks_[start];
    block.allocation = {start, bytes, MemoryKind::kDevice, at, "", false};
    if (state.block) block.allocation.device = state.block->launch->device;
    block.pages = nullptr;
    block.page_bytes = taken;
    heap_used_ += taken;
    if (observer) observer->allocated(block.allocation);
    return start;
  }

  bool free_in_heap(void* pointer) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = blocks_.find(static_cast<char*>(pointer));
    if (found == blocks_.end() || found->second.allocation.freed) return false;
    Pages& block = found->second;
    block.allocation.freed = true;
    heap_used_ -= block.page_bytes;
    heap_free_.emplace(block.page_bytes, static_cast<char*>(pointer));
    if (observer) observer->freed(block.allocation);
    return true;
  }

  bool find(const void* address, Allocation* result, size_t slack) {
    const char* a = static_cast<const char*>(address);
    std::lock_guard<std::mutex> lock(mutex_);
    auto after = blocks_.upper_bound(const_cast<char*>(a));
    size_t best = slack + 1;
    auto consider = [&](const Allocation& candidate) {
      const char* end = candidate.base + candidate.bytes;
      size_t distance = a < candidate.base ? candidate.base - a : a >= end ? a - end + 1 : 0;
      if (distance >= best) return;
      best = distance;
      *result = candidate;
    };
    if (after != blocks_.end()) consider(after->second.allocation);
    if (after != blocks_.begin()) consider(std::prev(after)->second.allocation);
    return best <= slack;
  }

  void info(int device, size_t* free_bytes, size_t* total_bytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    *total_bytes = options().memory_bytes;
    *free_bytes = options().memory_bytes - used_[device];
  }

 private:
  // The range is used up: forgets the freed blocks, and looks for a gap that is large enough.
  bool start_over(size_t pages) {
    for (auto i = blocks_.begin(); i != blocks_.end();)
      i = i->second.allocation.freed && i->second.pages ? blocks_.erase(i) : std::next(i);
    char* gap = first_;
    for (auto& [start, block] : blocks_) {
      if (block.pages == nullptr) break;  // the heap
      if (block.pages >= gap + pages + kPage) break;
      gap = block.pages + block.page_bytes + kPage;
    }
    next_ = gap;
    return gap + pages + kPage <= range_ + range_bytes_;
  }

  std::mutex mutex_;
  char* range_ = nullptr;
  size_t range_bytes_ = 0;
  char* first_ = nullptr;  // far behind the start: an index that overflows stays in the range
  char* next_ = nullptr;
  size_t used_[kMaxDevices] = {};
  std::map<char*, Pages> blocks_;  // of the heap: without pages, and page_bytes with the gap

  // ---- the heap
  static constexpr size_t kHeapGap = 16;  // behind every object, so that running past it is seen
  char* heap_next_ = nullptr;
  size_t heap_ready_ = 0;  // bytes that may be used already
  size_t heap_used_ = 0;
  std::multimap<size_t, char*> heap_free_;  // by size
};

DeviceMemory& device_memory() {
  static DeviceMemory* memory = new DeviceMemory;  // the workers may outlive static objects
  return *memory;
}

// Page-locked host memory and the program's __device__ and __constant__ variables.
class NamedRanges {
 public:
  void add(const Allocation& range) {
    std::lock_guard<std::mutex> lock(mutex_);
    ranges_[range.base] = range;
  }
  bool remove(const void* base, Allocation* removed) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = ranges_.find(static_cast<const char*>(base));
    if (found == ranges_.end()) return false;
    *removed = found->second;
    ranges_.erase(found);
    return true;
  }
  // Its address has been told to the program.
  void tell(const void* base) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = ranges_.find(static_cast<const char*>(base));
    if (found != ranges_.end()) found->second.asked = true;
  }
  // The range, no guard, that ends or begins nearest to the address.
  bool nearest(const void* address, Allocation* result) {
    const char* a = static_cast<const char*>(address);
    std::lock_guard<std::mutex> lock(mutex_);
    auto behind = ranges_.upper_bound(a);
    auto before = behind;
    while (behind != ranges_.end() && behind->second.guard) ++behind;
    while (before != ranges_.begin() && std::prev(before)->second.guard) --before;
    const bool any_before = before != ranges_.begin(), any_behind = behind != ranges_.end();
    if (any_before) *result = std::prev(before)->second;
    if (any_behind && (!any_before || behind->first - a < a - (result->base + result->bytes)))
      *result = behind->second;
    return any_before || any_behind;
  }
  template <class Function>
  void for_each(Function f) {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [base, range] : ranges_) f(range);
  }
  bool find(const void* address, Allocation* result) {
    const char* a = static_cast<const char*>(address);
    std::lock_guard<std::mutex> lock(mutex_);
    auto after = ranges_.upper_bound(a);
    if (after == ranges_.begin()) return false;
    const Allocation& candidate = std::prev(after)->second;
    *result = candidate;
    const char* end = candidate.base + candidate.bytes;
    if (a < end) return true;
    // What lies between a guard and a variable, for the sake of their alignment, is the guard's.
    if (after == ranges_.end() || after->first - end >= 64) return false;
    if (!candidate.guard) *result = after->second;
    return candidate.guard != after->second.guard;
  }

 private:
  std::mutex mutex_;
  std::map<const char*, Allocation> ranges_;
};

NamedRanges& pinned() {
  static NamedRanges* ranges = new NamedRanges;
  return *ranges;
}
NamedRanges& symbols() {
  static NamedRanges* ranges = new NamedRanges;
  return *ranges;
}
thread_local int symbols_in_use = 0;  // by cudaMemcpyToSymbol and its kin

}  // namespace

// ---- looking up -------------------------------------------------------------------------------

bool in_device_range(const void* address) { return device_memory().contains(address); }

bool find_allocation(const void* address, Allocation* found) {
  if (in_device_range(address)) return device_memory().find(address, found, 0);
  return symbols().find(address, found) || pinned().find(address, found);
}

bool nearest_allocation(const void* address, Allocation* found) {
  if (in_device_range(address)) return device_memory().find(address, found, kPage);
  return find_allocation(address, found);
}

std::string describe_address(const void* address) {
  char text[400];
  Allocation found;
  const bool inside = find_allocation(address, &found);
  if (inside && found.guard) symbols().nearest(address, &found);
  if (!inside && !nearest_allocation(address, &found) &&
      !(in_device_range(address) && device_memory().find(address, &found, SIZE_MAX - 1))) {
    const auto before_shared =
        reinterpret_cast<uint64_t>(shared_base()) - reinterpret_cast<uint64_t>(address);
    if (before_shared <= 4096) {
      snprintf(text, sizeof text, "address is %llu bytes before the block's shared memory",
               static_cast<unsigned long long>(before_shared));
    } else {
      if (address == nullptr) return "the address is null";
      snprintf(
          text, sizeof text, "address %p is %s", address,
          in_device_range(address) ? "in no allocation of device memory" : "not device memory");
    }
    return text;
  }
  char what[200];
  if (found.name.empty()) {
    std::string place = "at " + std::string(found.at.file) + ":" + std::to_string(found.at.line);
    if (options().devices > 1 && found.kind == MemoryKind::kDevice)
      place = "on device " + std::to_string(found.device) + " " + place;
    snprintf(what, sizeof what, "%zu bytes %s %s", found.bytes,
             found.freed ? "freed, allocated" : "allocated", place.c_str());
  } else {
    snprintf(what, sizeof what, "variable %s of %zu bytes", found.name.c_str(), found.bytes);
  }
  const auto offset = reinterpret_cast<int64_t>(address) - reinterpret_cast<int64_t>(found.base);
  const auto size = static_cast<int64_t>(found.bytes);
  if (offset < 0) {
    snprintf(text, sizeof text, "address is %lld bytes before %s", -static_cast<long long>(offset),
             what);
  } else if (offset >= size) {
    snprintf(text, sizeof text, "address is %lld bytes past the end of %s",
             static_cast<long long>(offset - size), what);
  } else {
    snprintf(text, sizeof text, "address is byte %lld of %s", static_cast<long long>(offset), what);
  }
  return text;
}

std::atomic<uint64_t> symbols_low{~uint64_t{0}}, symbols_high{0};

Symbol::Symbol(const void* address, size_t bytes, const char* name, Space space) {
  Allocation variable{static_cast<const char*>(address),
                      bytes,
                      space == Space::kManaged ? MemoryKind::kManaged : MemoryKind::kSymbol,
                      {},
                      name,
                      false,
                      space == Space::kConstant};
  variable.fixed = space == Space::kFixed;
  variable.guard = space == Space::kGuard;
  symbols().add(variable);
  if (space == Space::kManaged || space == Space::kFixed) return;
  const auto begin = reinterpret_cast<uint64_t>(address);
  if (begin < symbols_low) symbols_low = begin;
  if (begin + bytes > symbols_high) symbols_high = begin + bytes;
}

void know_static(const void* address, size_t bytes, const char* name) {
  if (state.block == nullptr) return;
  // The front end calls this in every thread, so what a worker has met need not be looked up again.
  constexpr size_t kMet = 64;
  static thread_local const void* met[kMet];
  const void*& last = met[reinterpret_cast<uintptr_t>(address) / 4 % kMet];
  if (last == address) return;
  last = address;
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  if (!is_symbol(address, bytes)) Symbol(address, bytes, name);
}

void tell_symbol_address(const void* symbol) { symbols().tell(symbol); }

void for_each_symbol(const std::function<void(const Allocation&)>& f) { symbols().for_each(f); }

UseOfSymbols::UseOfSymbols() { ++symbols_in_use; }
UseOfSymbols::~UseOfSymbols() { --symbols_in_use; }

bool is_symbol(const void* address, size_t bytes) {
  Allocation a;
  return symbols().find(address, &a) &&
         static_cast<const char*>(address) + bytes <= a.base + a.bytes;
}

bool is_pageable(const void* address) {
  Allocation a;
  return !in_device_range(address) && !find_allocation(address, &a);
}

// ---- allocating -------------------------------------------------------------------------------

cudaError_t allocate_device(void** pointer, size_t bytes, MemoryKind kind, int device,
                            Location at) {
  return device_memory().allocate(pointer, bytes, kind, device, at);
}
cudaError_t free_device(void* pointer) { return device_memory().free(pointer); }
void* heap_allocate(size_t bytes, size_t alignment, Location at) {
  return device_memory().allocate_in_heap(bytes, alignment, at);
}
bool heap_free(void* pointer) { return device_memory().free_in_heap(pointer); }
bool heap_holds(const void* pointer) { return pointer >= heap_begin && pointer < heap_end; }
void memory_info(int device, size_t* free_bytes, size_t* total_bytes) {
  device_memory().info(device, free_bytes, total_bytes);
}
int owner_of(const void* address) {
  Allocation a;
  return find_allocation(address, &a) && a.kind == MemoryKind::kDevice ? a.device : -1;
}

cudaError_t allocate_host(void** pointer, size_t bytes, Location at) {
  void* memory = aligned_alloc(kPage, round_up(bytes, kPage));
  if (!memory) return cudaErrorMemoryAllocation;
  const Allocation a{static_cast<char*>(memory), bytes, MemoryKind::kPinned, at, "", false};
  pinned().add(a);
  *pointer = memory;
  if (observer) observer->allocated(a);
  return cudaSuccess;
}

cudaError_t free_host(void* pointer) {
  Allocation a;
  if (!pinned().remove(pointer, &a)) return cudaErrorInvalidValue;
  if (observer) observer->freed(a);
  free(pointer);
  return cudaSuccess;
}

cudaError_t register_host(void* pointer, size_t bytes, Location at) {
  Allocation a;
  if (pinned().find(pointer, &a)) return cudaErrorHostMemoryAlreadyRegistered;
  a = {static_cast<char*>(pointer), bytes, MemoryKind::kPinned, at, "", false};
  pinned().add(a);
  if (observer) observer->allocated(a);
  return cudaSuccess;
}

cudaError_t unregister_host(void* pointer) {
  Allocation a;
  if (!pinned().remove(pointer, &a)) return cudaErrorHostMemoryNotRegistered;
  if (observer) observer->freed(a);
  return cudaSuccess;
}

// ---- checking copies --------------------------------------------------------------------------

namespace {

enum class Side { kHost, kDevice, kEither, kWrong };
thread_local std::string failure;

// Where the bytes lie; kWrong: partly outside of an allocation.
Side side_of(const void* address, size_t bytes) {
  Allocation a;
  if (!find_allocation(address, &a)) return in_device_range(address) ? Side::kWrong : Side::kHost;
  if (a.freed || static_cast<const char*>(address) + bytes > a.base + a.bytes) return Side::kWrong;
  switch (a.kind) {
    case MemoryKind::kDevice: return Side::kDevice;
    // A variable's address in host code is that of the host's own.
    case MemoryKind::kSymbol: return a.asked || symbols_in_use > 0 ? Side::kDevice : Side::kHost;
    default: return Side::kEither;  // managed and page-locked memory belong to both
  }
}

}  // namespace

std::string why_copy_fails() { return failure; }

cudaError_t check_copy(const void* to, const void* from, size_t bytes, cudaMemcpyKind* kind) {
  failure.clear();
  if (static_cast<unsigned>(*kind) > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
  if (bytes == 0) return cudaSuccess;
  if (!to || !from) return cudaErrorInvalidValue;
  const Side target = side_of(to, bytes), source = side_of(from, bytes);
  if (target == Side::kWrong || source == Side::kWrong) {
    const void* begin = target == Side::kWrong ? to : from;
    failure = "of the last of its " + std::to_string(bytes) + " bytes the " +
              describe_address(static_cast<const char*>(begin) + bytes - 1);
    return cudaErrorInvalidValue;
  }
  const bool to_device = *kind == cudaMemcpyHostToDevice || *kind == cudaMemcpyDeviceToDevice;
  const bool from_device = *kind == cudaMemcpyDeviceToHost || *kind == cudaMemcpyDeviceToDevice;
  if (*kind == cudaMemcpyDefault) {
    const bool d = target == Side::kDevice, s = source == Side::kDevice;
    *kind = d ? (s ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice)
              : (s ? cudaMemcpyDeviceToHost : cudaMemcpyHostToHost);
    return cudaSuccess;
  }
  // Host memory where device memory should be is an error. The other way round CUDA goes by the
  // address.
  if (to_device && target == Side::kHost) {
    failure = "it goes to the device, and its target is host memory";
    return cudaErrorInvalidValue;
  }
  if (from_device && source == Side::kHost) {
    failure = "it comes from the device, and its source is host memory";
    return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}

cudaError_t check_device_range(const void* address, size_t bytes) {
  if (bytes == 0) return cudaSuccess;
  const Side side = side_of(address, bytes);
  return side == Side::kDevice || side == Side::kEither ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace simt
