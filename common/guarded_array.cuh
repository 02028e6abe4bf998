// One array of a problem, together with what it takes to prove that a variant treated it well.
//
// The array exists up to three times: the pristine content every variant must find, a working copy
// on the host and one on the device. Before a variant runs, its copy is reset: inputs get the
// pristine content, outputs are filled with NaN. Guard words lie before and after each copy.
// Afterwards fetch() brings the result to the host and damage() tells whether the variant wrote
// outside the array or changed an input.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "common/compare.hpp"
#include "common/cuda_check.cuh"
#include "common/device_buffer.cuh"
#include "common/host_buffer.hpp"

namespace common {

enum class Role {
  input,   // read, must not change
  output,  // written, poisoned with NaN before each run
  in_out,  // read and overwritten
};

enum class Side { host, device };

template <class T>
class GuardedArray {
 public:
  // `count` elements. For an input or in_out array, fill pristine() before the first reset.
  GuardedArray(std::string name, Role role, std::int64_t count)
      : name_(std::move(name)), role_(role), count_(count) {
    if (role != Role::output) pristine_ = HostBuffer<T>(count);
  }

  std::int64_t size() const { return count_; }
  T* pristine() { return pristine_.data(); }
  const T* pristine() const { return pristine_.data(); }

  // The working copies; allocated at first use.
  T* on_host() {
    if (host_.size() == 0) host_ = HostBuffer<T>(count_ + 2 * kGuard);
    return host_.data() + kGuard;
  }
  T* on_device() {
    if (device_.size() == 0) device_ = DeviceBuffer<T>(count_ + 2 * kGuard);
    return device_.data() + kGuard;
  }

  // Brings the working copy on `side` into the state that a variant may rely on.
  void reset(Side side) {
    const std::int64_t bytes = count_ * static_cast<std::int64_t>(sizeof(T));
    if (side == Side::host) {
      T* data = on_host();
      std::memset(static_cast<void*>(data - kGuard), kGuardByte, kGuardBytes);
      std::memset(static_cast<void*>(data + count_), kGuardByte, kGuardBytes);
      if (role_ == Role::output) {
        std::memset(static_cast<void*>(data), kPoisonByte, bytes);
      } else {
        copy_parallel(data, pristine_.data(), bytes);
      }
    } else {
      T* data = on_device();
      CUDA_CHECK(cudaMemset(data - kGuard, kGuardByte, kGuardBytes));
      CUDA_CHECK(cudaMemset(data + count_, kGuardByte, kGuardBytes));
      if (role_ == Role::output) {
        CUDA_CHECK(cudaMemset(data, kPoisonByte, bytes));
      } else if (bytes > 0) {
        CUDA_CHECK(cudaMemcpy(data, pristine_.data(), bytes, cudaMemcpyHostToDevice));
      }
    }
  }

  // Makes the working copy of `side`, guards included, readable through fetched().
  void fetch(Side side) {
    T* data = on_host();
    if (side == Side::device) {
      CUDA_CHECK(cudaMemcpy(data - kGuard, on_device() - kGuard, host_.size() * sizeof(T),
                            cudaMemcpyDeviceToHost));
    }
  }
  const T* fetched() const { return host_.data() + kGuard; }

  // What a variant did to the fetched copy that it must not do, in one line; empty if nothing.
  std::string damage() const {
    const T* data = fetched();
    if (!is_guard(data - kGuard)) return "wrote before the start of " + name_;
    if (!is_guard(data + count_)) return "wrote past the end of " + name_;
    if (role_ != Role::input) return "";
    const auto* now = reinterpret_cast<const unsigned char*>(data);
    const auto* before = reinterpret_cast<const unsigned char*>(pristine_.data());
    const std::int64_t bytes = count_ * static_cast<std::int64_t>(sizeof(T));
    if (std::memcmp(now, before, bytes) == 0) return "";
    const std::int64_t first = std::mismatch(now, now + bytes, before).first - now;
    return "changed its input " + name_ + ", first at " + std::to_string(first / sizeof(T));
  }

 private:
  static constexpr std::int64_t kGuardBytes = 4096;  // a page: keeps every alignment CUDA asks for
  static constexpr std::int64_t kGuard = kGuardBytes / sizeof(T);  // elements
  static constexpr unsigned char kGuardByte = 0xA5;
  static_assert(kGuardBytes % sizeof(T) == 0, "guards must keep elements aligned");

  static bool is_guard(const T* begin) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(begin);
    return std::all_of(bytes, bytes + kGuardBytes,
                       [](unsigned char byte) { return byte == kGuardByte; });
  }

  std::string name_;
  Role role_;
  std::int64_t count_;
  HostBuffer<T> pristine_;
  HostBuffer<T> host_;
  DeviceBuffer<T> device_;
};

}  // namespace common
