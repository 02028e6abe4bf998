// cudaGetLastError and its kin.

#include "graph.h"
#include "simt/runtime_api.h"

namespace simt {
namespace {

thread_local cudaError_t last_error = cudaSuccess;

}  // namespace

// After a fault every call returns the fault. An error that asynchronous work met is returned by
// the next call that succeeds otherwise.
cudaError_t record_error(cudaError_t error) {
  if (cudaError_t fault = Device::get().fault()) error = fault;
  if (error == cudaSuccess) error = Device::get().take_async_error();
  if (error != cudaSuccess && error != cudaErrorNotReady) last_error = error;
  return error;
}

cudaError_t exchange_last_error(cudaError_t error) { return std::exchange(last_error, error); }

}  // namespace simt

// A fault stays with the device, but is the last error only until it is fetched.
cudaError_t cudaGetLastError() {
  const cudaError_t error = simt::exchange_last_error(cudaSuccess);
  return error ? error : simt::Device::get().take_async_error();
}

cudaError_t cudaPeekAtLastError() {
  if (cudaError_t error = simt::Device::get().take_async_error()) simt::last_error = error;
  return simt::last_error;
}

// clang-format off
#define SIMT_NAME(value, name, text) case name: return #name;
#define SIMT_TEXT(value, name, text) case name: return text;
// clang-format on

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) { SIMT_ERRORS(SIMT_NAME) }
  return "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) { SIMT_ERRORS(SIMT_TEXT) }
  return "unrecognized error code";
}
