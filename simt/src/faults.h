// How a launch ends before its time.
#pragma once

#include "engine.h"

namespace simt {

// Ends a launch with an error: sticky, except for cudaErrorNotSupported.
void abort_launch(Launch& launch, int error);

// The signal handlers that turn a segmentation fault in a kernel into cudaErrorIllegalAddress. They
// run on a stack of their own, one for each OS thread.
void install_fault_handlers();
void use_alternate_stack();

}  // namespace simt
