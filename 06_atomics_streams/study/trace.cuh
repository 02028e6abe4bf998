// Takes the time of everything that goes into a set of streams, with a pair of events around each
// piece of work. The overlap that the lesson shows is measured with this, not assumed.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "06_atomics_streams/kit/observer.hpp"
#include "common/bench/timeline.hpp"
#include "common/kit/check.cuh"

namespace atomics_streams {

class Trace : public Observer {
 public:
  // Times count from the first call of begin().
  void begin(const std::string& lane, int label, cudaStream_t stream) override {
    if (spans_.empty()) CUDA_CHECK(cudaEventRecord(origin_.get(), stream));
    spans_.emplace_back();
    spans_.back().lane = lane;
    spans_.back().label = label;
    CUDA_CHECK(cudaEventRecord(spans_.back().begin.get(), stream));
  }
  void end(cudaStream_t stream) override {
    CUDA_CHECK(cudaEventRecord(spans_.back().end.get(), stream));
  }

  // Call it when all streams are done. The event before a copy is stamped as soon as its stream
  // gets there, though the copy engine may still be busy for another stream. An engine makes one
  // copy at a time, so in the lanes called `engines` a bar starts no earlier than the one before
  // ended. Kernels may truly run side by side: their bars include waiting for room on the SMs.
  bench::Timeline finish(const std::string& problem, const std::string& rung,
                         const std::vector<std::string>& lanes,
                         const std::vector<std::string>& engines) {
    using bench::Bar;
    bench::Timeline timeline{problem, rung, "ms", lanes, {}};
    for (Span& span : spans_) {
      timeline.bars.push_back({span.lane, std::to_string(span.label), since_origin(span.begin),
                               since_origin(span.end)});
    }
    std::sort(timeline.bars.begin(), timeline.bars.end(),
              [](const Bar& a, const Bar& b) { return a.end < b.end; });
    std::map<std::string, double> free_at;
    for (Bar& bar : timeline.bars) {
      if (std::find(engines.begin(), engines.end(), bar.lane) == engines.end()) continue;
      bar.begin = std::max(bar.begin, free_at[bar.lane]);
      free_at[bar.lane] = bar.end;
    }
    return timeline;
  }

 private:
  class Event {
   public:
    Event() { CUDA_CHECK(cudaEventCreate(&event_)); }
    ~Event() { cudaEventDestroy(event_); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    cudaEvent_t get() const { return event_; }

   private:
    cudaEvent_t event_ = nullptr;
  };
  struct Span {
    std::string lane;
    int label = 0;
    Event begin, end;
  };

  double since_origin(const Event& event) const {
    float ms = 0;
    CUDA_CHECK(cudaEventElapsedTime(&ms, origin_.get(), event.get()));
    return ms;
  }

  Event origin_;
  std::deque<Span> spans_;  // a deque: events cannot be moved
};

}  // namespace atomics_streams
