// The layout of static shared memory: which __shared__ variable lies where in which kernel.

#include "simt/shared.h"

#include <cstring>
#include <mutex>

#include "engine.h"
#include "simt/runtime_types.h"

namespace simt {
namespace {

std::vector<const SharedVariable*>& variables() {
  static std::vector<const SharedVariable*> list;
  return list;
}
std::mutex layout_mutex;
bool any_gaps = false;

// Is the variable declared in the kernel's own body? A local type's mangled name begins with that
// of the function around it: the body "Z1kPfEUlPfE_" and the variable "ZZ1kPfENKUlPfE_clES_E3tag".
bool declared_in(const SharedVariable& variable, const Kernel& kernel) {
  const char* body = strchr(kernel.type_name, 'Z');
  const char* owner = strchr(variable.owner, 'Z');
  if (!body || !owner || owner[0] != 'Z' || owner[1] != 'Z') return false;
  const char* lambda = strstr(body, "EUl");  // the function's part ends before its lambda
  if (!lambda) return false;
  const size_t function = lambda - body + 1;
  return strncmp(owner + 1, body, function) == 0;
}

int place(Kernel& kernel, const SharedVariable& variable) {
  const size_t offset =
      (kernel.static_shared + variable.alignment - 1) / variable.alignment * variable.alignment;
  kernel.static_shared = offset + variable.bytes;
  __atomic_store_n(&kernel.shared_offsets[variable.number], static_cast<int>(offset),
                   __ATOMIC_RELEASE);
  return static_cast<int>(offset);
}

}  // namespace

SharedVariable::SharedVariable(const char* owner, const char* name, size_t bytes, size_t alignment,
                               Layout element, const Strides& strides)
    : owner(owner),
      name(name),
      bytes(bytes),
      alignment(alignment),
      element(element),
      strides(strides) {
  any_gaps |= element.gaps;
  number = static_cast<int>(variables().size());
  variables().push_back(this);
}

void place_known_variables(Kernel& kernel) {
  std::lock_guard<std::mutex> lock(layout_mutex);
  kernel.shared_offsets.assign(variables().size(), -1);
  for (const SharedVariable* variable : variables())
    if (declared_in(*variable, kernel)) place(kernel, *variable);
}

int place_shared_variable(const SharedVariable& variable) {
  Kernel& kernel = *state.block->launch->kernel;
  int offset;
  size_t bytes;
  {
    std::lock_guard<std::mutex> lock(layout_mutex);
    offset = kernel.shared_offsets[variable.number];
    if (offset < 0) offset = place(kernel, variable);
    bytes = kernel.static_shared;
  }
  if (bytes > kStaticSharedBytes) {
    report({"shared-memory",
            "kernel " + kernel.name + " needs " + std::to_string(bytes) +
                " bytes of static shared memory; there are 49152",
            cudaErrorLaunchOutOfResources});
    fail_kernel(cudaErrorLaunchOutOfResources);
  }
  return offset;
}

// Of the variable, and of none but those of the kernel.
static const SharedVariable* variable_at(const Kernel& kernel, size_t offset, size_t* start) {
  std::lock_guard<std::mutex> lock(layout_mutex);
  for (const SharedVariable* variable : variables()) {
    const int place = kernel.shared_offsets[variable->number];
    if (place < 0 || offset - size_t(place) >= variable->bytes) continue;
    *start = size_t(place);
    return variable;
  }
  return nullptr;
}

Layout shared_gaps_at(size_t offset, size_t* start) {
  if (!any_gaps) return {};
  const SharedVariable* variable = variable_at(*state.block->launch->kernel, offset, start);
  return variable ? variable->element : Layout();
}

SharedName shared_variable_at(size_t offset) { return shared_variable_at(*state.block, offset); }

SharedName shared_variable_at(const Block& block, size_t offset) {
  if (offset >= kStaticSharedBytes)
    return {"dynamic shared memory", kStaticSharedBytes, block.launch->dynamic_shared, {}};
  size_t start;
  const SharedVariable* variable = variable_at(*block.launch->kernel, offset, &start);
  return variable ? SharedName{variable->name, start, variable->bytes, variable->strides}
                  : SharedName();
}

std::string SharedName::element_at(size_t place, size_t size) const {
  size_t inside = place - offset, unit = bytes;
  std::string text = name;
  for (size_t stride : strides.bytes) {
    if (stride == 0) break;
    text += "[" + std::to_string(inside / stride) + "]";
    inside %= stride;
    unit = stride;
  }
  return unit == size ? text : "byte " + std::to_string(inside) + " of " + text;
}

}  // namespace simt
