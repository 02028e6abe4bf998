// Work that a student's host code puts into streams. It is recorded by stream capture, so what
// comes before what is known exactly, whatever one machine would have done on one day; then it
// runs.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "tools/exercise/runner.hpp"

namespace exercise {

class Stages {
 public:
  static constexpr int kMostStreams = 16;

  explicit Stages(int streams) : count_(streams) {
    for (int s = 0; s < count_; ++s) {
      require(cudaStreamCreateWithFlags(&streams_[s], cudaStreamNonBlocking), "cudaStreamCreate");
    }
    require(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreate");
  }
  Stages(const Stages&) = delete;
  Stages& operator=(const Stages&) = delete;

  const cudaStream_t* streams() const { return streams_; }

  // From here on all work in the streams is recorded. Allocate before.
  void record() {
    require(cudaStreamBeginCapture(streams_[0], cudaStreamCaptureModeRelaxed), "capture");
    require(cudaEventRecord(event_, streams_[0]), "cudaEventRecord");
    for (int s = 1; s < count_; ++s) join(streams_[s]);
  }

  // Puts a stage of a chunk, one copy or one launch, into the stream. reads, writes: a bit for each
  // buffer that it uses.
  template <class Enqueue>
  void add(const char* what, int chunk, cudaStream_t stream, std::uint32_t reads,
           std::uint32_t writes, Enqueue enqueue) {
    add(what + (" of chunk " + std::to_string(chunk)), stream, reads, writes, enqueue);
  }
  template <class Enqueue>
  void add(const std::string& name, cudaStream_t stream, std::uint32_t reads, std::uint32_t writes,
           Enqueue enqueue) {
    Stage stage = {name, reads, writes, nullptr, 1, std::vector<bool>(stages_.size())};
    for_each_before(stream, [&](std::size_t k) {
      for (std::size_t i = 0; i < stages_[k].after.size(); ++i) {
        if (stages_[k].after[i]) stage.after[i] = true;
      }
      stage.after[k] = true;
      if (stage.place <= stages_[k].place) stage.place = stages_[k].place + 1;
    });
    for (std::size_t k = 0; k < stages_.size(); ++k) {
      const Stage& earlier = stages_[k];
      const bool meet = (earlier.writes & (reads | writes)) != 0 || (earlier.reads & writes) != 0;
      if (meet && !stage.after[k]) refuse(stage, earlier);
    }
    enqueue();
    stages_.push_back(stage);
    stages_.back().node = *last_of(stream).first;
  }

  // How many pairs there are of which one is sure to have ended before the other begins.
  int orders() const {
    int count = 0;
    for (const Stage& stage : stages_) {
      for (const bool comes_before : stage.after) count += comes_before;
    }
    return count;
  }

  // Runs what was recorded. Returns the most stages that come one after the other.
  int run() {
    for (int s = 1; s < count_; ++s) {
      require(cudaEventRecord(event_, streams_[s]), "cudaEventRecord");
      join(streams_[0]);
    }
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    require(cudaStreamEndCapture(streams_[0], &graph), "a call of the pipeline failed");
    require(cudaGraphInstantiateWithFlags(&executable, graph, 0), "cudaGraphInstantiate");
    require(cudaGraphLaunch(executable, streams_[0]), "cudaGraphLaunch");
    require(cudaStreamSynchronize(streams_[0]), "the work in the streams failed");
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
    int longest = 0;
    for (const Stage& stage : stages_) longest = stage.place > longest ? stage.place : longest;
    return longest;
  }

 private:
  struct Stage {
    std::string name;
    std::uint32_t reads, writes;
    cudaGraphNode_t node;
    int place;                // in the longest chain that ends with it
    std::vector<bool> after;  // the stages that are sure to have ended before it begins
  };
  struct Nodes {
    const cudaGraphNode_t* first;
    std::size_t count;
  };

  void join(cudaStream_t stream) const {
    require(cudaStreamWaitEvent(stream, event_, 0), "cudaStreamWaitEvent");
  }

  // What the next piece of work in the stream would wait for.
  static Nodes last_of(cudaStream_t stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    Nodes nodes = {nullptr, 0};
    require(cudaStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &nodes.first, nullptr,
                                     &nodes.count),
            "cudaStreamGetCaptureInfo");
    if (status != cudaStreamCaptureStatusActive) {
      throw std::runtime_error("use the streams that are given, and let the host wait for none");
    }
    return nodes;
  }
  template <class Use>
  void for_each_before(cudaStream_t stream, Use use) const {
    const Nodes nodes = last_of(stream);
    for (std::size_t n = 0; n < nodes.count; ++n) {
      for (std::size_t k = 0; k < stages_.size(); ++k) {
        if (stages_[k].node == nodes.first[n]) use(k);
      }
    }
  }

  [[noreturn]] static void refuse(const Stage& stage, const Stage& earlier) {
    throw std::runtime_error(stage.name + " does not wait for " + earlier.name +
                             ", which uses the same memory");
  }

  int count_;
  cudaStream_t streams_[kMostStreams] = {};
  cudaEvent_t event_ = nullptr;
  std::vector<Stage> stages_;
};

}  // namespace exercise
