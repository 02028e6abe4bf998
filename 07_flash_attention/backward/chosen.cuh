// The last page of the ladder: which rung a library would take.
#pragma once

#include <cuda_runtime.h>

#include <vector>

#include "07_flash_attention/backward/problem.cuh"
#include "common/bench/device_facts.cuh"
#include "common/bench/variant.cuh"
#include "common/bench/verify.cuh"
#include "common/kit/check.cuh"

namespace backward {

// The last of `rungs` that this device can run and that is for this d. Rungs whose warpgroups take
// turns only at d = 128, where they are faster; never two_passes, which is slower than the rung
// before it.
template <class T>
bench::Variant<Backward<T>> chosen(const std::vector<bench::Variant<Backward<T>>>& rungs) {
  return bench::chooser<Backward<T>>(
      "paired at d = 256, early_finish at 128, else the last that runs here",
      [rungs](Backward<T>& p, cudaStream_t stream) {
        static const bench::DeviceFacts kDevice = bench::query_device();
        for (auto rung = rungs.rbegin(); rung != rungs.rend(); ++rung) {
          const bool on_device = rung->place == bench::Place::device;
          const bool takes_turns = rung->name == "ping_pong" || rung->name == "early_finish";
          if (takes_turns && p.shape.d != 128) continue;
          if (rung->name == "two_passes") continue;
          if (!on_device || !bench::why_skipped(*rung, kDevice).empty()) continue;
          try {
            rung->run(p, stream);
            return rung->name;
          } catch (const kit::Skip&) {  // for another d, or for want of shared memory
          }
        }
        throw kit::Skip("needs more shared memory");
      });
}

}  // namespace backward
