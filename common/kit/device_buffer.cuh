// SPDX-License-Identifier: MIT
// Device memory that frees itself: DeviceBuffer<float> d_x(n); kernel<<<...>>>(d_x.data(), n);
#pragma once

#include <cstdint>
#include <utility>

#include "common/kit/check.cuh"

namespace kit {

template <class T>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;

  // `count` elements, uninitialised. Throws CudaError when the device has not that much memory.
  explicit DeviceBuffer(std::int64_t count) : count_(count) {
    if (count > 0) CUDA_CHECK(cudaMalloc(&data_, count * sizeof(T)));
  }
  // A failing kernel shows up in whatever call comes next; a destructor has nobody to tell, and
  // every checked call after it reports the same error.
  ~DeviceBuffer() { cudaFree(data_); }

  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }

  T* data() const { return data_; }
  std::int64_t size() const { return count_; }  // elements
  std::int64_t bytes() const { return count_ * static_cast<std::int64_t>(sizeof(T)); }

 private:
  T* data_ = nullptr;
  std::int64_t count_ = 0;
};

}  // namespace kit
