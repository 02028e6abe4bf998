// Zeroed memory that costs nothing until it is touched: for records kept beside the program's
// memory.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

namespace simt {

template <class T>
class ShadowArray {
 public:
  explicit ShadowArray(size_t count) : count_(count) {
    if (is_small()) {
      data_ = static_cast<T*>(std::calloc(1, bytes()));
      if (data_ == nullptr) throw std::bad_alloc();
      return;
    }
    void* memory = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<T*>(memory);
  }
  ShadowArray(const ShadowArray&) = delete;
  ShadowArray& operator=(const ShadowArray&) = delete;
  ~ShadowArray() {
    if (is_small()) {
      std::free(data_);
    } else {
      munmap(data_, bytes());
    }
  }

  T& operator[](size_t i) { return data_[i]; }
  T* data() { return data_; }
  // Everything is zero again, and the memory is given back.
  void clear() {
    if (is_small()) {
      std::memset(static_cast<void*>(data_), 0, bytes());
    } else {
      madvise(data_, bytes(), MADV_DONTNEED);
    }
  }

 private:
  // Small ones come from the heap: there may be one for every object of a kernel.
  bool is_small() const { return bytes() < 64 * 1024; }
  size_t bytes() const { return count_ * sizeof(T) + 1; }  // at least one byte, as mmap wants it

  size_t count_;
  T* data_;
};

}  // namespace simt
