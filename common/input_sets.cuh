// Several copies of the two inputs on the device, for launches that take them in turn.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <vector>

#include "common/cuda_check.cuh"
#include "common/device_buffer.cuh"
#include "common/guarded_array.cuh"

// As many sets as it takes that one is out of every cache when its turn comes again. They have the
// same content: what is random stays random. Set 0 is the problem's own arrays, which are passed in
// each time; the others are made at first use.
template <class T>
class InputSets {
 public:
  using Array = common::GuardedArray<T>;
  static constexpr double kBytes = 2e8;  // that the others take: more than twice any L2 of today

  // Makes set k, modulo their number, the current one.
  void rotate(int k, const Array& a, const Array& b) {
    const double set_bytes = sizeof(T) * static_cast<double>(a.size() + b.size());
    current_ = k % (1 + static_cast<int>(std::min(63.0, kBytes / set_bytes)));
    while (static_cast<int>(more_.size()) < current_) more_.push_back({copy_of(a), copy_of(b)});
  }

  // Device pointers to the inputs of the current set.
  const T* device_a(Array& a) const {
    return current_ == 0 ? a.on_device() : more_[current_ - 1].a.data();
  }
  const T* device_b(Array& b) const {
    return current_ == 0 ? b.on_device() : more_[current_ - 1].b.data();
  }

 private:
  struct Set {
    common::DeviceBuffer<T> a, b;
  };

  static common::DeviceBuffer<T> copy_of(const Array& from) {
    common::DeviceBuffer<T> copy(from.size());
    CUDA_CHECK(cudaMemcpy(copy.data(), from.pristine(), copy.bytes(), cudaMemcpyHostToDevice));
    return copy;
  }

  std::vector<Set> more_;
  int current_ = 0;
};
