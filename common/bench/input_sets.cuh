// Several copies of a problem's inputs on the device, for launches that take them in turn.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <vector>

#include "common/bench/guarded_array.cuh"
#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"

namespace bench {

// As many sets as it takes that one is out of every cache when its turn comes again. They have the
// same content: what is random stays random. Set 0 is the problem's own arrays, which are passed in
// each time; the others are made at first use.
template <class T, int kArrays>
class InputSets {
 public:
  using Array = GuardedArray<T>;
  static constexpr double kBytes = 2e8;  // that the others take: more than twice any L2 of today

  // Makes set k, modulo their number, the current one.
  void rotate(int k, const std::array<const Array*, kArrays>& arrays) {
    double set_bytes = 0;
    for (const Array* array : arrays) set_bytes += sizeof(T) * static_cast<double>(array->size());
    current_ = k % (1 + static_cast<int>(std::min(63.0, kBytes / set_bytes)));
    while (static_cast<int>(more_.size()) < current_) {
      more_.emplace_back();
      for (int i = 0; i < kArrays; ++i) more_.back()[i] = copy_of(*arrays[i]);
    }
  }

  // Device pointer to array i of the current set; own: array i of set 0.
  const T* device_data(int i, Array& own) const {
    return current_ == 0 ? own.device_data() : more_[current_ - 1][i].data();
  }

 private:
  static kit::DeviceBuffer<T> copy_of(const Array& from) {
    kit::DeviceBuffer<T> copy(from.size());
    CUDA_CHECK(cudaMemcpy(copy.data(), from.pristine(), copy.bytes(), cudaMemcpyHostToDevice));
    return copy;
  }

  std::vector<std::array<kit::DeviceBuffer<T>, kArrays>> more_;
  int current_ = 0;
};

}  // namespace bench
