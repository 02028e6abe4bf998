// Who wants to know when the work of a stream begins and ends: study/trace.cuh takes the times.
#pragma once

#include <cuda_runtime.h>

#include <string>

namespace atomics_streams {

class Observer {
 public:
  virtual ~Observer() = default;
  // Around each piece of work that goes into `stream`. `lane`: the row in which it is drawn;
  // `label`: its number there.
  virtual void begin(const std::string& lane, int label, cudaStream_t stream) = 0;
  virtual void end(cudaStream_t stream) = 0;
};

}  // namespace atomics_streams
