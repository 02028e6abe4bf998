// SPDX-License-Identifier: MIT
// Host memory that is not touched before its first use.
//
// std::vector writes zeros with one thread. Untouched pages are placed in the memory of the core
// that first writes them ("first touch"), so a parallel first write serves parallel reads later.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

namespace kit {

template <class T>
class HostBuffer {
  static_assert(std::is_trivially_copyable_v<T>, "the buffer holds raw bytes");

 public:
  HostBuffer() = default;

  // `count` elements, uninitialised, aligned to a page. Throws std::bad_alloc.
  explicit HostBuffer(std::int64_t count)
      : data_(static_cast<T*>(::operator new(count * sizeof(T), kAlignment))), count_(count) {}

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  std::int64_t size() const { return count_; }  // elements
  T& operator[](std::int64_t i) { return data_.get()[i]; }
  const T& operator[](std::int64_t i) const { return data_.get()[i]; }

 private:
  static constexpr std::align_val_t kAlignment{4096};
  struct Release {
    void operator()(T* p) const { ::operator delete(p, kAlignment); }
  };
  std::unique_ptr<T, Release> data_;
  std::int64_t count_ = 0;
};

// Calls visit(begin, length) for each piece of so many bytes; with all cores, in the same static
// partition as a parallel loop over the elements.
template <class Visit>
void in_parallel(std::int64_t bytes, Visit visit) {
  constexpr std::int64_t kPiece = 1 << 20;
#pragma omp parallel for schedule(static)
  for (std::int64_t begin = 0; begin < bytes; begin += kPiece) {
    visit(begin, bytes - begin < kPiece ? bytes - begin : kPiece);
  }
}

// memcpy with all cores.
inline void copy_parallel(void* to, const void* from, std::int64_t bytes) {
  in_parallel(bytes, [=](std::int64_t begin, std::int64_t length) {
    std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin, length);
  });
}

// Whether two pieces of memory hold the same bytes; with all cores.
inline bool equal_parallel(const void* one, const void* other, std::int64_t bytes) {
  std::atomic<bool> equal = true;
  in_parallel(bytes, [&](std::int64_t begin, std::int64_t length) {
    const auto *a = static_cast<const char*>(one), *b = static_cast<const char*>(other);
    if (std::memcmp(a + begin, b + begin, length) != 0) equal = false;
  });
  return equal;
}

}  // namespace kit
