// cudaGetLastError and its kin.

#include <cstring>
#include <map>
#include <mutex>
#include <thread>

#include "device.h"
#include "errors.h"
#include "memory.h"
#include "simt/discarded.h"

namespace simt {
namespace {

thread_local cudaError_t last_error = cudaSuccess;

// Failed launches, and failed calls whose result nobody took, by the OS thread that asked for them,
// until it asks for its last error.
std::mutex unseen_mutex;
std::multimap<std::thread::id, Finding> unseen;

void forget_failed_launches() {
  std::lock_guard<std::mutex> lock(unseen_mutex);
  unseen.erase(std::this_thread::get_id());
}

}  // namespace

// After a fault every call returns the fault. An error that asynchronous work met is returned by
// the next call that succeeds otherwise.
cudaError_t record_error(cudaError_t error) {
  if (cudaError_t fault = Device::get().fault()) error = fault;
  if (error == cudaSuccess) error = Device::get().take_async_error();
  if (error != cudaSuccess && error != cudaErrorNotReady) last_error = error;
  return error;
}

cudaError_t not_supported(const char* what, Location at) {
  report({"unsupported",
          std::string(at.file) + ":" + std::to_string(at.line) + ": " + what +
              " is not supported without a GPU",
          cudaErrorNotSupported, at});
  return cudaErrorNotSupported;
}

cudaError_t check_may_wait(const char* function) {
  if (state.block) unsupported((std::string(function) + " in a kernel").c_str(), "", 0);
  return state.worker ? cudaErrorNotPermitted : cudaSuccess;
}

void remember_failed_launch(const Kernel& kernel, const LaunchShape& shape, cudaError_t error) {
  const auto text = [](dim3 d) {
    return "(" + std::to_string(d.x) + "," + std::to_string(d.y) + "," + std::to_string(d.z) + ")";
  };
  const std::string what = "the launch of kernel " + kernel.name + " at " + shape.at.file + ":" +
                           std::to_string(shape.at.line) +
                           " failed, and nobody asked why: " + cudaGetErrorString(error) +
                           "\n  grid " + text(shape.grid) + ", block " + text(shape.block) + ", " +
                           std::to_string(shape.dynamic_shared) + " bytes of dynamic shared memory";
  std::lock_guard<std::mutex> lock(unseen_mutex);
  unseen.emplace(std::this_thread::get_id(), Finding{"launch", what, error, shape.at});
}

void remember_discarded(cudaError_t error, Discarded call) {
  // What a kernel met has been told already, and comes back from every call.
  if (state.block || Device::get().fault() || error == cudaErrorNotReady ||
      error == cudaErrorNotSupported)
    return;
  const std::string place = std::string(call.at.file) + ":" + std::to_string(call.at.line);
  std::string reason;
  if (std::strncmp(call.function, "cudaMemcpy", 10) == 0 &&
      std::strstr(call.function, "Symbol") == nullptr)
    reason = why_copy_fails();
  if (!reason.empty()) reason = "\n  " + reason;
  const std::string what = std::string(call.function) + " at " + place +
                           " failed, and nobody looked: " + cudaGetErrorName(error) + ", " +
                           cudaGetErrorString(error) + reason;
  std::lock_guard<std::mutex> lock(unseen_mutex);
  unseen.emplace(std::this_thread::get_id(), Finding{"api-error", what, error, call.at});
}

void report_failed_launches() {
  std::lock_guard<std::mutex> lock(unseen_mutex);
  if (observer)
    for (const auto& [thread, finding] : unseen) report(finding);
  unseen.clear();
}

cudaError_t exchange_last_error(cudaError_t error) { return std::exchange(last_error, error); }

}  // namespace simt

// A fault stays with the device, but is the last error only until it is fetched.
cudaError_t cudaGetLastError() {
  simt::forget_failed_launches();
  const cudaError_t error = simt::exchange_last_error(cudaSuccess);
  return error ? error : simt::Device::get().take_async_error();
}

cudaError_t cudaPeekAtLastError() {
  simt::forget_failed_launches();
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
