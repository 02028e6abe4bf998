// Zeroed memory that costs nothing until it is touched: for records kept beside the program's
// memory.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>

namespace simt {

template <class T>
class ShadowArray {
 public:
  explicit ShadowArray(size_t count) : count_(count) {
    void* memory = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<T*>(memory);
  }
  ShadowArray(const ShadowArray&) = delete;
  ShadowArray& operator=(const ShadowArray&) = delete;
  ~ShadowArray() { munmap(data_, bytes()); }

  T& operator[](size_t i) { return data_[i]; }
  T* data() { return data_; }
  // Everything is zero again, and the memory is given back.
  void clear() { madvise(data_, bytes(), MADV_DONTNEED); }

 private:
  size_t bytes() const { return count_ * sizeof(T) + 1; }  // at least one byte, as mmap wants it

  size_t count_;
  T* data_;
};

}  // namespace simt
