// The row to compare with: one GPU computes the whole sequence by itself. `size` GPUs cannot be
// more than `size` times as fast, and what they lose to that is what they sent and waited for.
#pragma once

#include <cuda_runtime.h>

#include "07_flash_attention/ring/05_zigzag.cuh"
#include "07_flash_attention/ring/06_wgmma.cuh"
#include "07_flash_attention/ring/problem.cuh"
#include "common/bench/variant.cuh"

namespace ring_attention {

template <class T>
bench::Variant<RingAttention<T>> one_gpu() {
  auto variant = bench::device_variant<RingAttention<T>>(
      "one_gpu", "yardstick: one GPU, the whole sequence",
      [](RingAttention<T>& p, cudaStream_t stream) {
        const attention::Tensors<T> t = p.whole->device_data();
        Shard<T> own{t.q, nullptr, t.o, t.lse, nullptr, nullptr, p.tile_counts()};
        const int n = static_cast<int>(p.shape.n_q), heads = static_cast<int>(p.shape.all_heads());
        const Work work{0, n, n, p.shape.causal, n};
        const auto launch = is_hopper() ? launch_wgmma<T> : launch_zigzag<T>;
        launch(own, t.k, t.v, heads, p.shape.d, n, n, work, true, stream);
      },
      bench::needs_sm(80));
  variant.kind = bench::Kind::ideal;
  variant.flops = [](const RingAttention<T>& p) { return p.flops(); };
  return variant;
}

}  // namespace ring_attention
