// The last page of the ladders: which rung a library would take.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "07_flash_attention/decode/08_last_block_merges.cuh"
#include "07_flash_attention/decode/10_tensor.cuh"
#include "07_flash_attention/decode/12_persistent.cuh"
#include "07_flash_attention/decode/13_paged.cuh"
#include "07_flash_attention/decode/14_work_list.cuh"
#include "07_flash_attention/decode/beyond/01_programmatic_launch.cuh"
#include "07_flash_attention/decode/beyond/02_early_lookups.cuh"
#include "07_flash_attention/decode/kit/chunks.cuh"
#include "07_flash_attention/decode/kit/key_ring.cuh"
#include "07_flash_attention/decode/kit/tensor_rows.cuh"
#include "07_flash_attention/decode/problem.cuh"
#include "07_flash_attention/decode/shape.hpp"
#include "common/bench/device_facts.cuh"
#include "common/bench/variant.cuh"
#include "common/kit/launch.cuh"

namespace decode {

// What a block has on sm_90, at most; more than some newer GPUs have.
constexpr int kHopperShared = std::max({sizeof(PersistentShared<64>), sizeof(PersistentShared<128>),
                                        sizeof(EarlyRings<128>), sizeof(EarlyRings<256>)});

// Whether to take one wave of blocks, each with a chunk: if the chunks, which are cut as evenly as
// 64 keys allow, leave few SMs without a block, or cannot be smaller.
inline bool suits_one_wave(const Shape& shape, int sms) {
  const std::int64_t work_tiles = shape.work_tiles(kTensorRows);
  const int keys = choose_keys_of_one_wave(work_tiles, shape.n, sms);
  const std::int64_t blocks = work_tiles * kit::divide_up(shape.n, keys);
  return blocks <= sms && (10 * blocks >= 9 * sms || keys == kLeastKeys);
}

// Caches in one piece. Device pointers, aligned to 16 bytes. compute_capability: the least of the
// device and the code, 90 for sm_90. Returns the name of the rung that does it.
template <class T>
std::string chosen(const Shape& shape, const Tensors<T>& t, int compute_capability,
                   const Scratch& scratch, cudaStream_t stream) {
  if (compute_capability < 80) {
    last_block_merges(shape, t, scratch, stream);
    return "last_block_merges";
  }
  // With d = 256 the rings take more shared memory than some devices have.
  if (shape.d == 256 && kit::most_shared() < static_cast<int>(sizeof(RingShared<256, 16>))) {
    last_block_merges(shape, t, scratch, stream);
    return "last_block_merges";
  }
  if (compute_capability >= 90 && kit::most_shared() >= kHopperShared) {
    if (suits_one_wave(shape, kit::multiprocessor_count())) {
      programmatic_launch(shape, t, scratch, stream);
      return "programmatic_launch";
    }
    // Clusters that stay deal work tiles to all SMs, but at d = 256 they have half of the warps.
    if (shape.d < 256) {
      persistent(shape, t, stream);
      return "persistent";
    }
  }
  tensor(shape, t, scratch, stream);
  return "tensor";
}

// Caches in pages. One sequence leaves nothing to balance, and a window little: it makes lengths
// alike. Others may be alike, too, but they lie on the device. is_settled: what early_lookups asks
// for.
template <class T>
std::string chosen_paged(const Shape& shape, const Tensors<T>& t, const Cache& cache,
                         bool is_settled, int compute_capability, const Scratch& scratch,
                         cudaStream_t stream) {
  if (shape.batch > 1 && cache.window >= shape.n) {
    work_list(shape, t, cache, scratch, stream);
    return "work_list";
  }
  if (is_settled && compute_capability >= 90) {
    early_lookups(shape, t, cache, scratch, stream);
    return "early_lookups";
  }
  paged(shape, t, cache, scratch, stream);
  return "paged";
}

// The least of the device and the code: 90 for sm_90. Asked once.
inline int capability() {
  static const int kCapability = [] {
    const bench::DeviceFacts device = bench::query_device();
    const int of_code = device.code.capability, of_device = device.compute_capability();
    return of_code > 0 ? std::min(of_code, of_device) : of_device;  // 0: unknown
  }();
  return kCapability;
}

// Their rows.
template <class T>
bench::Variant<Decode<T>> chooser() {
  return bench::chooser<Decode<T>>(
      "the rung that a library would take", [](Decode<T>& p, cudaStream_t stream) {
        return chosen(p.shape, p.device_data(), capability(), scratch_of(p), stream);
      });
}

template <class T>
bench::Variant<Decode<T>> paged_chooser() {
  auto variant = bench::chooser<Decode<T>>(
      "the rung that a library would take", [](Decode<T>& p, cudaStream_t stream) {
        return chosen_paged(p.shape, p.device_data(), p.device_cache(), true, capability(),
                            scratch_of(p), stream);
      });
  variant.needs = bench::needs_sm(80);
  return variant;
}

}  // namespace decode
