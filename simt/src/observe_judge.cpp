// What a judge asks (simt/judge.h).

#include "simt/judge.h"

#include <unistd.h>

#include <cstring>

#include "observe.h"
#include "options.h"

namespace simt {

HostCopies host_copies() {
  if (watcher == nullptr) return {0, 0};
  return {watcher->memory.to_device.load(), watcher->memory.to_host.load()};
}

size_t not_by_kernels(const void* address, const void* before, size_t bytes, size_t* first) {
  size_t found = 0;
  const auto* now = static_cast<const char*>(address);
  const auto* then = static_cast<const char*>(before);
  for (size_t i = 0; i < bytes; ++i) {
    if (now[i] == then[i]) continue;
    if (watcher != nullptr && watcher->memory.by_kernel(now + i)) continue;
    if (found++ == 0) *first = i;
  }
  return found;
}

const char* seal() { return sealed_word(); }

void end_of_program(int status) {
  bool wrong = false;
  if (watcher != nullptr) {
    watcher->program_end();
    wrong = watcher->reports.any_errors();
  }
  fflush(nullptr);
  _exit(status == 0 && wrong ? 1 : status);
}

}  // namespace simt
