// Memory that host and device both see, for tests that are about something else.
#pragma once

#include <cstddef>
#include <vector>

#include "tests/catch.hpp"

template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t size, T value = T()) : size_(size) {
    REQUIRE(cudaMallocManaged(&data_, size * sizeof(T)) == cudaSuccess);
    for (std::size_t i = 0; i < size; ++i) data_[i] = value;
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* get() { return data_; }
  T& operator[](std::size_t i) { return data_[i]; }
  // Waits for the device first.
  std::vector<T> values() {
    REQUIRE(cudaGetLastError() == cudaSuccess);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    return std::vector<T>(data_, data_ + size_);
  }

 private:
  T* data_ = nullptr;
  std::size_t size_;
};
