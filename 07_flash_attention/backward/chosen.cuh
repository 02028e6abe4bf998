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

// The last of `rungs` that this device can run and that is for this d; never two_passes, which is
// slower than the rung before it.
template <class T>
bench::Variant<Backward<T>> chosen(const std::vector<bench::Variant<Backward<T>>>& rungs) {
  return bench::chooser<Backward<T>>(
      "paired at d = 256, errands at 64 and 128, else the last that runs here",
      [rungs](Backward<T>& p, cudaStream_t stream) {
        static const bench::DeviceFacts kDevice = bench::query_device();
        for (auto rung = rungs.rbegin(); rung != rungs.rend(); ++rung) {
          const bool on_device = rung->place == bench::Place::device;
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
