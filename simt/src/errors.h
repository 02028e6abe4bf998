// The calling thread's last error. record_error(), which sets it, is in simt/runtime_api.h.
#pragma once

#include "engine.h"
#include "simt/runtime_api.h"

namespace simt {

// Called first by every function that waits for the device. In a kernel nothing could wait for
// itself: the launch ends as not supported. In a host function of a stream it is not permitted, and
// this returns so.
cudaError_t check_may_wait(const char* function);

// For a call of the host that asks for what simt does not have: one line that names it; returns
// cudaErrorNotSupported.
cudaError_t not_supported(const char* what, Location at);

// A launch that failed, whose error only cudaGetLastError() tells. One that the program never asked
// for is reported at its end, if there is an observer.
void remember_failed_launch(const Kernel& kernel, const LaunchShape& shape, cudaError_t error);
void report_failed_launches();

// Replaces the last error; returns the old one.
cudaError_t exchange_last_error(cudaError_t error);

}  // namespace simt
