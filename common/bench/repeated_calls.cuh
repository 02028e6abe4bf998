// Times of calls so short that asking for one takes longer than its kernels.
#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <utility>
#include <vector>

#include "common/bench/measure.hpp"
#include "common/kit/check.cuh"
#include "common/kit/gpu_timer.cuh"

namespace bench {

// Many calls as one piece of work, whose time is divided by their number: in one CUDA graph, or
// asked for one after the other. A kernel that waits for what another branch of a graph does must
// not stand in one, since nothing promises that both run at the same time.
class RepeatedCalls {
 public:
  // ask(): asks for `calls` calls, after what was asked of `stream` and before what is asked of it
  // later. What is made once must have been made: nothing may be allocated while a graph is
  // recorded.
  RepeatedCalls(int calls, bool in_graph, cudaStream_t stream, std::function<void()> ask)
      : calls_(calls), stream_(stream), ask_(std::move(ask)) {
    if (!in_graph) return;
    cudaGraph_t graph = nullptr;
    CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    ask_();
    CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
    CUDA_CHECK(cudaGraphInstantiate(&graph_, graph, 0));
    CUDA_CHECK(cudaGraphDestroy(graph));
  }
  ~RepeatedCalls() {
    if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
  }
  RepeatedCalls(const RepeatedCalls&) = delete;
  RepeatedCalls& operator=(const RepeatedCalls&) = delete;

  // Milliseconds of one call, when all of them were made once.
  double sample_ms() {
    timer_.start(stream_);
    if (graph_ != nullptr) {
      CUDA_CHECK(cudaGraphLaunch(graph_, stream_));
    } else {
      ask_();
    }
    timer_.stop(stream_);
    return timer_.elapsed_ms() / calls_;
  }

  // The median of so many samples, after one that warms up.
  double median_ms(int samples) {
    sample_ms();
    std::vector<double> ms(samples);
    for (double& sample : ms) sample = sample_ms();
    return summarize(ms).median_ms;
  }

 private:
  int calls_;
  cudaStream_t stream_;
  std::function<void()> ask_;
  cudaGraphExec_t graph_ = nullptr;
  kit::GpuTimer timer_;
};

}  // namespace bench
