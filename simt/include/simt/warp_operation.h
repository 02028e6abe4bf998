// How the lanes of a warp work together: each lane brings a payload, and when all lanes of the mask
// have arrived, one function sees all the payloads, computes every lane's result, and all go on.
#pragma once

#include "simt/location.h"

namespace simt {

struct WarpOperation {
  const char* name;  // "__shfl_sync"
  // payload[l] belongs to lane l; only the lanes in `lanes` are there.
  void (*combine)(void** payload, unsigned lanes);
  // `.aligned`: all lanes must come from the same place in the source.
  bool aligned = false;
};

// The running lane waits until the lanes of `mask` that still live are here with the same
// operation.
void warp_operation(unsigned mask, const WarpOperation& operation, void* payload, Location at);

}  // namespace simt
