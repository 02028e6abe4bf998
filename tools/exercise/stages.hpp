// Work that a student's host code puts into streams. It is recorded by stream capture, so what
// comes before what is known exactly, whatever one machine would have done on one day; then it
// runs.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tools/exercise/runner.hpp"

namespace exercise {

class Stages {
 public:
  // With so many streams.
  explicit Stages(int streams) : streams_(streams) {
    for (cudaStream_t& each : streams_) {
      require(cudaStreamCreateWithFlags(&each, cudaStreamNonBlocking), "cudaStreamCreate");
    }
    require(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreate");
  }
  Stages(const Stages&) = delete;
  Stages& operator=(const Stages&) = delete;

  const std::vector<cudaStream_t>& streams() const { return streams_; }

  // From here on all work in the streams is recorded. Allocate before.
  void record() {
    require(cudaStreamBeginCapture(streams_[0], cudaStreamCaptureModeRelaxed), "capture");
    require(cudaEventRecord(event_, streams_[0]), "cudaEventRecord");
    for (cudaStream_t each : streams_) join(each, streams_[0]);
  }

  // Puts a piece of work, one copy or one launch, into the stream. It is called `name`, and reads
  // and writes buffers, which have names too.
  template <class Enqueue>
  void add(const std::string& name, cudaStream_t stream, const std::vector<std::string>& reads,
           const std::vector<std::string>& writes, Enqueue enqueue) {
    Stage stage{name, {}, 1, reads, writes};
    for (cudaGraphNode_t node : last_of(stream)) {
      const Stage& before = stages_.at(number_.at(node));
      stage.after.insert(before.after.begin(), before.after.end());
      stage.after.insert(number_.at(node));
      stage.place = std::max(stage.place, before.place + 1);
    }
    for (std::size_t k = 0; k < stages_.size(); ++k) {
      const bool share = meet(stages_[k].writes, stage.reads) ||
                         meet(stages_[k].reads, stage.writes) ||
                         meet(stages_[k].writes, stage.writes);
      if (share && stage.after.count(k) == 0) {
        throw std::runtime_error(name + " does not wait for " + stages_[k].name +
                                 ", which uses the same memory");
      }
    }
    enqueue();
    number_[last_of(stream).at(0)] = stages_.size();
    stages_.push_back(stage);
  }

  // Runs what was recorded. Returns the most stages that come one after the other.
  int run() {
    for (std::size_t k = 1; k < streams_.size(); ++k) {
      require(cudaEventRecord(event_, streams_[k]), "cudaEventRecord");
      join(streams_[0], streams_[k]);
    }
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    require(cudaStreamEndCapture(streams_[0], &graph),
            "the host waited for a stream, or a stream that is not one of those given was used");
    require(cudaGraphInstantiateWithFlags(&executable, graph, 0), "cudaGraphInstantiate");
    require(cudaGraphLaunch(executable, streams_[0]), "cudaGraphLaunch");
    require(cudaStreamSynchronize(streams_[0]), "the work in the streams failed");
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
    int longest = 0;
    for (const Stage& stage : stages_) longest = std::max(longest, stage.place);
    return longest;
  }

 private:
  struct Stage {
    std::string name;
    std::set<std::size_t> after;  // the stages that are sure to have ended before it begins
    int place;                    // in the longest chain that ends with it
    std::vector<std::string> reads, writes;
  };

  static bool meet(const std::vector<std::string>& a, const std::vector<std::string>& b) {
    return std::any_of(a.begin(), a.end(), [&](const std::string& each) {
      return std::find(b.begin(), b.end(), each) != b.end();
    });
  }
  void join(cudaStream_t stream, cudaStream_t with) const {
    if (stream != with) require(cudaStreamWaitEvent(stream, event_, 0), "cudaStreamWaitEvent");
  }
  // What the next piece of work in the stream would wait for.
  static std::vector<cudaGraphNode_t> last_of(cudaStream_t stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    const cudaGraphNode_t* nodes = nullptr;
    std::size_t count = 0;
    require(cudaStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &nodes, nullptr, &count),
            "cudaStreamGetCaptureInfo");
    if (status != cudaStreamCaptureStatusActive) {
      throw std::runtime_error("use the streams that are given, and do not wait for them");
    }
    return {nodes, nodes + count};
  }

  std::vector<cudaStream_t> streams_;
  cudaEvent_t event_ = nullptr;
  std::vector<Stage> stages_;
  std::map<cudaGraphNode_t, std::size_t> number_;  // of the stage that a node is
};

}  // namespace exercise
