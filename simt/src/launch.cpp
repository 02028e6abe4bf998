// From a kernel call on the host to an operation in a stream.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>

#include "device.h"
#include "graph.h"
#include "limits.h"

namespace simt {
namespace {

struct Configuration {
  dim3 grid, block;
  size_t dynamic_shared;
  cudaStream_t stream;
  bool cooperative;
  cudaError_t error;  // of cudaLaunchKernelExC's attributes
  Location at;
};

// Configurations whose kernel call is still to come. A stack: computing the arguments of one launch
// may launch another kernel.
thread_local std::vector<Configuration> configurations;
thread_local KernelQuery* query = nullptr;

// "void matmul(const float*, int) [with int TILE = 16; T = float]" -> "matmul<16, float>"
std::string kernel_name(const std::string& signature) {
  size_t start = 0, parameters = signature.size();
  int depth = 0;
  for (size_t i = 0; i < signature.size(); ++i) {
    const char c = signature[i];
    if (c == '<') ++depth;
    if (c == '>') --depth;
    if (c == ' ' && depth == 0) start = i + 1;
    if (c == '(' && depth == 0) {
      parameters = i;
      break;
    }
  }
  std::string name = signature.substr(start, parameters - start);
  const std::string anonymous = "{anonymous}::";
  for (size_t at; (at = name.find(anonymous)) != std::string::npos;)
    name.erase(at, anonymous.size());
  size_t with = signature.rfind(" [with ");
  if (with == std::string::npos || name.find('<') != std::string::npos) return name;
  std::string values;
  std::string list = signature.substr(with + 7, signature.size() - with - 8);
  for (size_t i = 0; i < list.size();) {
    size_t end = list.find("; ", i);
    if (end == std::string::npos) end = list.size();
    std::string one = list.substr(i, end - i);
    size_t equals = one.find(" = ");
    if (equals != std::string::npos)
      values += (values.empty() ? "" : ", ") + one.substr(equals + 3);
    i = end + 2;
  }
  return name + "<" + values + ">";
}

std::map<const void*, KernelHandle>& handles() {
  static std::map<const void*, KernelHandle> map;
  return map;
}
std::mutex handles_mutex;

}  // namespace

Kernel::Kernel(const char* signature, const char* type_name, LaunchBounds bounds, Run run,
               Clone clone, Destroy destroy)
    : name(kernel_name(signature)),
      type_name(type_name),
      bounds(bounds),
      run(run),
      clone(clone),
      destroy(destroy) {
  place_known_variables(*this);
}

void configure(dim3 grid, dim3 block, size_t dynamic_shared, cudaStream_t stream, Location at) {
  configurations.push_back({grid, block, dynamic_shared, stream, false, cudaSuccess, at});
}

// ---- launching
// --------------------------------------------------------------------------------------

cudaError_t check_launch(const Task& task) {
  const Kernel& kernel = *task.kernel;
  const dim3 g = task.grid, b = task.block;
  // CUDA 13 calls all of these an invalid value (CUDA 12: an invalid configuration).
  if (g.x == 0 || g.y == 0 || g.z == 0 || b.x == 0 || b.y == 0 || b.z == 0)
    return cudaErrorInvalidValue;
  if (g.x > kMaxGridX || g.y > kMaxGridYZ || g.z > kMaxGridYZ) return cudaErrorInvalidValue;
  if (b.x > kMaxThreads || b.y > kMaxThreads || b.z > kMaxBlockZ) return cudaErrorInvalidValue;
  const uint64_t threads = uint64_t(b.x) * b.y * b.z;
  if (threads > kMaxThreads) return cudaErrorInvalidValue;
  if (kernel.bounds.max_threads > 0 && threads > uint64_t(kernel.bounds.max_threads))
    return cudaErrorInvalidValue;
  // Without the attribute, static and dynamic shared memory have 48 KiB together.
  const size_t allowed =
      std::max(size_t(kernel.max_dynamic_shared),
               kSharedPerBlock - std::min(kSharedPerBlock, kernel.static_shared));
  if (task.dynamic_shared > allowed ||
      kernel.static_shared + task.dynamic_shared > kSharedPerBlockOptIn)
    return cudaErrorInvalidValue;
  if (kernel.bounds.clusters) return cudaErrorNotSupported;
  if (task.cooperative) {
    const int resident = resident_blocks(kernel, static_cast<int>(threads), task.dynamic_shared);
    if (uint64_t(g.x) * g.y * g.z > uint64_t(resident) * kMultiprocessors)
      return cudaErrorCooperativeLaunchTooLarge;
  }
  return cudaSuccess;
}

void launch_configured(Kernel& kernel, const void* call) {
  if (query) {
    query->result_ = &kernel;
    return;
  }
  if (state.block) unsupported("launching a kernel from a kernel (dynamic parallelism)", "", 0);
  if (configurations.empty()) {
    record_error(cudaErrorMissingConfiguration);
    return;
  }
  const Configuration c = configurations.back();
  configurations.pop_back();
  Task task;
  task.kind = Task::kKernel;
  task.kernel = &kernel;
  task.grid = c.grid;
  task.block = c.block;
  task.dynamic_shared = c.dynamic_shared;
  task.cooperative = c.cooperative;
  task.at = c.at;
  if (Device::get().fault()) {
    record_error(Device::get().fault());
    return;
  }
  cudaError_t error = c.error ? c.error : check_launch(task);
  CUstream_st* stream = Device::get().stream(c.stream);
  if (!stream) error = cudaErrorInvalidResourceHandle;
  if (error) {
    if (error == cudaErrorNotSupported)
      report({"unsupported",
              "kernel " + kernel.name + ": thread block clusters are not supported " +
                  "on the model GPU (compute capability 8.0)",
              error});
    record_error(error);
    return;
  }
  task.call = std::shared_ptr<const void>(
      kernel.clone(call), [&kernel](const void* copy) { kernel.destroy(const_cast<void*>(copy)); });
  // The kernel may have failed already; that is for a later call to tell.
  if (cudaError_t refused = submit(stream, std::move(task))) record_error(refused);
}

// ---- kernels by pointer
// -------------------------------------------------------------------------------

KernelQuery::KernelQuery() : outer_(query) { query = this; }
KernelQuery::~KernelQuery() { query = outer_; }

void register_kernel(const void* function, KernelHandle handle) {
  std::lock_guard<std::mutex> lock(handles_mutex);
  handles()[function] = handle;
}

bool find_handle(const void* function, KernelHandle* handle) {
  std::lock_guard<std::mutex> lock(handles_mutex);
  auto found = handles().find(function);
  if (found == handles().end()) return false;
  *handle = found->second;
  return true;
}

Kernel* find_kernel(const void* function) {
  KernelHandle handle;
  if (!find_handle(function, &handle)) return nullptr;
  return handle.identify(function);
}

cudaError_t launch_by_pointer(const void* function, const LaunchRequest& request,
                              void** arguments) {
  KernelHandle handle;
  if (!find_handle(function, &handle)) return record_error(cudaErrorInvalidResourceHandle);
  configurations.push_back({request.grid, request.block, request.dynamic_shared, request.stream,
                            request.cooperative, request.error, request.at});
  cudaError_t before = exchange_last_error(cudaSuccess);
  handle.call(function, arguments);
  cudaError_t error = exchange_last_error(before);
  return error ? record_error(error) : cudaSuccess;
}

}  // namespace simt
