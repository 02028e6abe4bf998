// The last page: which rung copies so many bytes fastest.
#pragma once

#include <cstdint>
#include <string>

#include "06_atomics_streams/device_copy/05_copy_engine.cuh"
#include "06_atomics_streams/device_copy/07_push.cuh"
#include "06_atomics_streams/device_copy/kit/transfer.cuh"

namespace device_copy {

// A launch begins sooner than a copy engine does; behind so many bytes the engine, whose packets
// are larger, has made up for that.
constexpr std::int64_t kPushUpTo = 4 << 20;

// Returns the name of the rung.
inline std::string device_copy_chosen(const Transfer& t) {
  if (t.bytes <= kPushUpTo) {
    device_copy_push(t);
    return "push";
  }
  device_copy_copy_engine(t);
  return "copy_engine";
}

}  // namespace device_copy
