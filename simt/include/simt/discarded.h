// What simt's front end puts behind a call of the CUDA API whose result nobody takes, in a build
// with checks: `(cudaFree(p), simt::discarded("cudaFree"));`.
#pragma once

#include "simt/location.h"
#include "simt/runtime_types.h"

namespace simt {

struct Discarded {
  const char* function;
  Location at;
};
constexpr Discarded discarded(const char* function, Location at = Location::here()) {
  return {function, at};
}
// Remembers the failure until the program asks for its last error, or ends.
void remember_discarded(cudaError_t error, Discarded call);

inline void operator,(cudaError_t error, Discarded call) {
  if (error != cudaSuccess) remember_discarded(error, call);
}

}  // namespace simt
