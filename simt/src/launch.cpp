// From a kernel call on the host to an operation in a stream.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>

#include "errors.h"
#include "graph.h"
#include "launch.h"
#include "limits.h"

namespace simt {
namespace {

// Requests whose kernel call is still to come. A stack: computing the arguments of one launch may
// launch another kernel.
thread_local std::vector<LaunchRequest> requests;
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
               Clone clone, Destroy destroy, Structures structures, size_t call_bytes)
    : name(kernel_name(signature)),
      type_name(type_name),
      bounds(bounds),
      run(run),
      clone(clone),
      destroy(destroy),
      structures(structures),
      call_bytes(call_bytes) {
  place_known_variables(*this);
}

void configure(dim3 grid, dim3 block, size_t dynamic_shared, cudaStream_t stream, Location at) {
  requests.push_back({{grid, block, dynamic_shared, false, at}, stream, cudaSuccess, nullptr});
}

// ---- launching --------------------------------------------------------------------------------

// Checks a launch as the driver does; cudaSuccess or the error.
static cudaError_t check_launch(const Kernel& kernel, const LaunchShape& shape) {
  const dim3 g = shape.grid, b = shape.block;
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
  if (shape.dynamic_shared > allowed ||
      kernel.static_shared + shape.dynamic_shared > chip().shared_per_block)
    return cudaErrorInvalidValue;
  if (kernel.static_shared > kStaticSharedBytes) {
    report({"shared-memory",
            "kernel " + kernel.name + " has " + std::to_string(kernel.static_shared) +
                " bytes of static shared " +
                "memory; at most 49152 are possible (nvcc refuses to link it)",
            cudaErrorInvalidValue, shape.at});
    return cudaErrorInvalidValue;
  }
  if (shape.cluster.x != 0) {
    const dim3 c = shape.cluster;
    if (chip().cluster_blocks == 1) return cudaErrorNotSupported;
    const uint64_t blocks = uint64_t(c.x) * c.y * c.z;
    if (blocks == 0 || blocks > (kernel.large_clusters ? kMaxClusterBlocks : chip().cluster_blocks))
      return cudaErrorInvalidClusterSize;
    if (g.x % c.x != 0 || g.y % c.y != 0 || g.z % c.z != 0) return cudaErrorInvalidClusterSize;
  }
  if (shape.cooperative) {
    const int resident = resident_blocks(kernel, static_cast<int>(threads), shape.dynamic_shared);
    if (uint64_t(g.x) * g.y * g.z > uint64_t(resident) * chip().multiprocessors)
      return cudaErrorCooperativeLaunchTooLarge;
  }
  return cudaSuccess;
}

// Whether such a launch works depends on the version of CUDA, so it is refused, and always named.
static void report_elsewhere(const Kernel& kernel, const LaunchShape& shape, int of_stream) {
  report({"launch",
          "kernel " + kernel.name + " is launched at " + shape.at.file + ":" +
              std::to_string(shape.at.line) + " into a stream of device " +
              std::to_string(of_stream) + ", and the current device is " +
              std::to_string(current_device()) +
              ".\n  By the CUDA Programming Guide such a launch fails, and so it does here. " +
              "CUDA 13.0 runs the kernel on the stream's device.\n" + "  cudaSetDevice(" +
              std::to_string(of_stream) + ") before the launch is always right.",
          cudaErrorInvalidResourceHandle, shape.at});
}

void launch_configured(Kernel& kernel, const void* call) {
  if (query) {
    query->result_ = &kernel;
    return;
  }
  if (requests.empty()) {
    report({"launch",
            "kernel " + kernel.name + " is called without <<<grid, block>>>, which nvcc " +
                "refuses to compile",
            cudaErrorMissingConfiguration});
    record_error(cudaErrorMissingConfiguration);
    return;
  }
  LaunchRequest request = requests.back();
  if (state.block)
    unsupported("launching a kernel from a kernel (dynamic parallelism)", request.shape.at.file,
                request.shape.at.line);
  requests.pop_back();
  const unsigned* own = kernel.bounds.cluster;
  if (own[0] != 0) {
    const dim3 asked = request.shape.cluster;
    if (asked.x != 0 && (asked.x != own[0] || asked.y != own[1] || asked.z != own[2]))
      request.error = cudaErrorInvalidClusterSize;
    request.shape.cluster = dim3(own[0], own[1], own[2]);
  }
  if (Device::get().fault()) {
    record_error(Device::get().fault());
    return;
  }
  cudaError_t error = request.error ? request.error : check_launch(kernel, request.shape);
  CUstream_st* stream = Device::get().stream(request.stream);
  const bool elsewhere = stream && stream->device != current_device();
  if (!stream || elsewhere) error = cudaErrorInvalidResourceHandle;
  if (error) {
    if (elsewhere)
      report_elsewhere(kernel, request.shape, stream->device);
    else if (error == cudaErrorNotSupported)
      report({"unsupported",
              "kernel " + kernel.name + ": thread block clusters are not supported " +
                  "on the model GPU (sm_" + std::to_string(chip().architecture) + ")",
              error});
    else if (!request.error_is_returned)
      remember_failed_launch(kernel, request.shape, error);
    record_error(error);
    return;
  }
  Task task;
  task.kind = Task::kKernel;
  task.device = current_device();
  task.kernel = &kernel;
  task.shape = request.shape;
  task.call = std::shared_ptr<const void>(
      kernel.clone(call), [&kernel](const void* copy) { kernel.destroy(const_cast<void*>(copy)); });
  if (request.record) {
    *request.record = std::move(task);
    return;
  }
  // The kernel may have failed already; that is for a later call to tell.
  if (cudaError_t refused = submit(stream, std::move(task))) record_error(refused);
}

// ---- kernels by pointer -----------------------------------------------------------------------

KernelQuery::KernelQuery() : outer_(query) { query = this; }
KernelQuery::~KernelQuery() { query = outer_; }

void register_kernel(const void* function, KernelHandle handle) {
  std::lock_guard<std::mutex> lock(handles_mutex);
  handles()[function] = handle;
}

static bool find_handle(const void* function, KernelHandle* handle) {
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
  requests.push_back(request);
  requests.back().error_is_returned = true;
  cudaError_t before = exchange_last_error(cudaSuccess);
  handle.call(function, arguments);
  cudaError_t error = exchange_last_error(before);
  return error ? record_error(error) : cudaSuccess;
}

}  // namespace simt
