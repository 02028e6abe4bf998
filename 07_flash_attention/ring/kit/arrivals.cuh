// A shard that comes piece by piece while a kernel computes with it: behind each piece the copy
// stream writes a flag, on the device that waits for it.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include <cuda/atomic>

#include "common/kit/check.cuh"
#include "common/kit/devices.cuh"
#include "common/kit/toolkit.cuh"

namespace ring_attention {

using Flag = cuda::atomic_ref<unsigned, cuda::thread_scope_system>;

// region pieces
// Each piece has as many heads as all before it: of 16 perhaps 0, 1 | 2, 3 | 4 to 7 | 8 to 15. So
// the first one is here soon, and there are few. It has about first_bytes: small copies take longer
// to begin than to move their bytes.
struct Pieces {
  int heads, unit;  // of all, of the first

  static Pieces of(int heads, std::int64_t bytes_of_head, std::int64_t first_bytes) {
    const std::int64_t unit = first_bytes / std::max<std::int64_t>(bytes_of_head, 1);
    return {heads, static_cast<int>(std::clamp<std::int64_t>(unit, 1, heads))};
  }
  __host__ __device__ int of_head(int head) const {
    int piece = 0;
    for (int units = head / unit; units > 0; units >>= 1) ++piece;
    return piece;
  }
  int count() const { return of_head(heads - 1) + 1; }
  int first_head(int piece) const {
    return piece == 0
               ? 0
               : static_cast<int>(std::min<std::int64_t>(std::int64_t{unit} << (piece - 1), heads));
  }
};
constexpr int kMostPieces = 32;
// endregion

// What a kernel knows of a shard that comes. A flag at least as large as `number` says that its
// piece is here: numbers grow from call to call, so nobody must reset a flag.
struct Arrivals {
  unsigned* flags;  // one for each piece
  unsigned number;
  Pieces pieces;

#if defined(__CUDA_ARCH__)
  // Until the piece is here. If nobody sends it, the kernel ends with an error instead of waiting
  // for ever.
  __device__ __forceinline__ void wait(int piece) const {
    const Flag flag(flags[piece]);
    for (unsigned looks = 0; static_cast<int>(flag.load(cuda::memory_order_acquire) - number) < 0;
         ++looks) {
      if (looks == kit::kMostLooks) __trap();
    }
  }
#endif
};

static __global__ void set_flag_kernel(unsigned* flag, unsigned number) {
  Flag(*flag).store(number, cuda::memory_order_release);
}

// The driver's cuStreamWriteValue32, which takes no SM; null where there is none (simt): then a
// kernel of one thread sets flags, and blocks that wait must leave an SM to it.
using WriteValue = CUresult (*)(cudaStream_t, CUdeviceptr, cuuint32_t, unsigned);
inline WriteValue write_value() {
  static const auto kFunction = []() -> WriteValue {
    try {
      return reinterpret_cast<WriteValue>(kit::driver_function("cuStreamWriteValue32", 12000));
    } catch (const std::runtime_error&) {
      return nullptr;
    }
  }();
  return kFunction;
}

// Writes `number` to a flag of any device, behind all that `stream` was asked for.
inline void set_flag(unsigned* flag, unsigned number, cudaStream_t stream) {
  if (write_value() == nullptr) {
    set_flag_kernel<<<1, 1, 0, stream>>>(flag, number);
    CUDA_CHECK(cudaGetLastError());
    return;
  }
  const CUresult status =
      write_value()(stream, reinterpret_cast<CUdeviceptr>(flag), number, /*flags=*/0);
  if (status != CUDA_SUCCESS) {
    throw std::runtime_error("cuStreamWriteValue32: error " + std::to_string(status));
  }
}

}  // namespace ring_attention
