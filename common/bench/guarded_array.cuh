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
#include <memory>
#include <string>
#include <utility>

#include "common/bench/compare.hpp"
#include "common/bench/model_counts.cuh"
#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"
#include "common/kit/host_buffer.hpp"

namespace bench {

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
    if (role != Role::output) pristine_ = kit::HostBuffer<T>(count);
  }

  std::int64_t size() const { return count_; }
  T* pristine() { return pristine_.data(); }
  const T* pristine() const { return pristine_.data(); }

  // The working copies; allocated at first use.
  T* host_data() {
    if (host_.size() == 0) host_ = kit::HostBuffer<T>(count_ + 2 * kGuard);
    return host_.data() + kGuard;
  }
  T* device_data() {
    if (device_.size() == 0) device_ = kit::DeviceBuffer<T>(count_ + 2 * kGuard);
    return device_.data() + kGuard;
  }

  // Brings the working copy on `side` into the state that a variant may rely on.
  void reset(Side side) {
    const std::int64_t bytes = count_ * static_cast<std::int64_t>(sizeof(T));
    if (side == Side::host) {
      T* data = host_data();
      std::memset(static_cast<void*>(data - kGuard), kGuardByte, kGuardBytes);
      std::memset(static_cast<void*>(data + count_), kGuardByte, kGuardBytes);
      if (role_ == Role::output) {
        std::memset(static_cast<void*>(data), kPoisonByte, bytes);
      } else {
        kit::copy_parallel(data, pristine_.data(), bytes);
      }
    } else {
      T* data = device_data();
      CUDA_CHECK(cudaMemset(data - kGuard, kGuardByte, kGuardBytes));
      CUDA_CHECK(cudaMemset(data + count_, kGuardByte, kGuardBytes));
      tell_of_guard(data - kGuard, kGuardBytes);
      tell_of_guard(data + count_, kGuardBytes);
      if (role_ == Role::output) {
        CUDA_CHECK(cudaMemset(data, kPoisonByte, bytes));
      } else if (bytes > 0) {
        pin_pristine(bytes);
        CUDA_CHECK(cudaMemcpy(data, pristine_.data(), bytes, cudaMemcpyHostToDevice));
      }
    }
  }

  // Makes the working copy of `side`, guards included, readable through fetched().
  void fetch(Side side) {
    T* data = host_data();
    if (side == Side::device) {
      CUDA_CHECK(cudaMemcpy(data - kGuard, device_data() - kGuard, host_.size() * sizeof(T),
                            cudaMemcpyDeviceToHost));
    }
  }
  const T* fetched() const { return host_.data() + kGuard; }

  // What a variant did to the fetched copy that it must not do, in one line; empty if nothing.
  std::string damage() const {
    const T* data = fetched();
    std::string stray = stray_write(data - kGuard, -kGuard, "before the start");
    if (stray.empty()) stray = stray_write(data + count_, count_, "past the end");
    if (!stray.empty()) return stray;
    if (role_ != Role::input) return "";
    const auto* now = reinterpret_cast<const unsigned char*>(data);
    const auto* before = reinterpret_cast<const unsigned char*>(pristine_.data());
    const std::int64_t bytes = count_ * static_cast<std::int64_t>(sizeof(T));
    if (kit::equal_parallel(now, before, bytes)) return "";
    const std::int64_t first = std::mismatch(now, now + bytes, before).first - now;
    return "changed its input " + name_ + ", first at " + std::to_string(first / sizeof(T));
  }

 private:
  static constexpr std::int64_t kGuardBytes = 4096;  // a page: keeps every alignment CUDA asks for
  static constexpr std::int64_t kGuard = kGuardBytes / sizeof(T);  // elements
  // As a float 3.4e38, as a bfloat16 3.4e38, as a half NaN: whoever reads past an end finds no
  // number that a sum would swallow. And no poison, which a kernel may write that never looked at
  // its input.
  static constexpr unsigned char kGuardByte = 0x7F;
  static_assert(kGuardBytes % sizeof(T) == 0, "guards must keep elements aligned");

  // What was written into the guard that begins at `guard`, where element `first` would lie: "wrote
  // past the end of y (1000 elements): at 1003, and 12 more up to 1015"; empty if nothing was.
  std::string stray_write(const T* guard, std::int64_t first, const char* where) const {
    const auto* bytes = reinterpret_cast<const unsigned char*>(guard);
    const auto touched = [bytes](std::int64_t element) {
      const auto* begin = bytes + element * static_cast<std::int64_t>(sizeof(T));
      return std::any_of(begin, begin + sizeof(T), [](unsigned char b) { return b != kGuardByte; });
    };
    std::int64_t count = 0, lowest = 0, highest = 0;
    for (std::int64_t element = 0; element < kGuard; ++element) {
      if (!touched(element)) continue;
      if (count++ == 0) lowest = first + element;
      highest = first + element;
    }
    if (count == 0) return "";
    std::string text = std::string("wrote ") + where + " of " + name_ + " (" +
                       std::to_string(count_) + " elements): at " + std::to_string(lowest);
    if (count > 1) {
      text += ", and " + std::to_string(count - 1) + " more up to " + std::to_string(highest);
    }
    return text;
  }

  // From where every reset copies: pinned, it comes at the speed of the bus. Memory that cannot be
  // pinned is copied all the same.
  void pin_pristine(std::int64_t bytes) {
    if (pin_ != nullptr) return;
    if (cudaHostRegister(pristine_.data(), bytes, cudaHostRegisterDefault) == cudaSuccess) {
      pin_.reset(pristine_.data());
    } else {
      cudaGetLastError();  // nobody else is to find it
    }
  }
  struct Unpin {
    void operator()(T* data) const { cudaHostUnregister(data); }
  };

  std::string name_;
  Role role_;
  std::int64_t count_;
  kit::HostBuffer<T> pristine_;
  std::unique_ptr<T, Unpin> pin_;  // of pristine_, and so released before it
  kit::HostBuffer<T> host_;
  kit::DeviceBuffer<T> device_;
};

}  // namespace bench
