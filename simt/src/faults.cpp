// What can go wrong in a kernel, and how the program hears of it: a line on stderr, and a sticky
// error that ends the launch.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>

#include "faults.h"
#include "options.h"
#include "simt/runtime_types.h"
#include "worker.h"

namespace simt {

Observer* observer = nullptr;

void note_read(const void* address, unsigned bytes, const void* pc) {
  if (observer && state.block) observer->read(address, bytes, pc);
}
void note_write(const void* address, unsigned bytes, const void* pc) {
  if (observer && state.block) observer->write(address, bytes, pc);
}
void note_atomic(const void* address, unsigned bytes, const void* pc, Scope scope) {
  if (observer && state.block) observer->atomic(address, bytes, pc, scope);
}
void note_atomic_cas(const void* address, unsigned bytes, const void* pc, Scope scope) {
  if (observer && state.block) observer->atomic_cas(address, bytes, pc, scope);
}
void note_atomic_overwrite(const void* address, unsigned bytes, const void* pc, Scope scope) {
  if (observer && state.block) observer->atomic_overwrite(address, bytes, pc, scope);
}
void note_atomic_load(const void* address, unsigned bytes, const void* pc, Scope scope) {
  if (observer && state.block) observer->atomic_load(address, bytes, pc, scope);
}
void note_atomic_store(const void* address, unsigned bytes, const void* pc, Scope scope) {
  if (observer && state.block) observer->atomic_store(address, bytes, pc, scope);
}
void note_release(Scope scope) {
  if (observer && state.block) observer->release(scope);
}
void note_acquire(Scope scope) {
  if (observer && state.block) observer->acquire(scope);
}

// ---- messages ---------------------------------------------------------------------------------

void report(const std::string& text) {
  fflush(stdout);
  fprintf(stderr, "simt: %s\n", text.c_str());
}

void report(const Finding& finding) {
  if (observer && observer->finding(finding)) return;
  static std::mutex mutex;
  static std::set<std::string> seen;
  std::lock_guard<std::mutex> lock(mutex);
  // Once a place, whichever thread comes there first.
  const Location at = finding.at;
  const std::string place = std::string(at.file) + ":" + std::to_string(at.line);
  if (seen.insert(at.line ? finding.check + place : finding.message).second)
    report(finding.message + finding.more);
}

std::string describe_current_thread() {
  const Block& b = *state.block;
  const uint3 t = b.thread_index[state.thread];
  char text[160];
  snprintf(text, sizeof text, ", block (%u,%u,%u), thread (%u,%u,%u)", b.index.x, b.index.y,
           b.index.z, t.x, t.y, t.z);
  return "kernel " + name_with_device(*b.launch) + text;
}

std::string name_with_device(const Launch& launch) {
  std::string name = launch.name();
  if (options().devices > 1) name += " on device " + std::to_string(launch.device);
  return name;
}

std::string describe_waiting(const Block& b) {
  // Threads that wait for the same thing at the same place share a line.
  std::map<std::string, std::vector<unsigned>> groups;
  for (unsigned i = 0; i < b.thread_count; ++i) {
    const Waiting& w = b.waiting[i];
    char place[300];
    snprintf(place, sizeof place, " at %s:%d", b.place[i].file, b.place[i].line);
    std::string what;
    switch (b.state[i]) {
      case State::kExited: what = "have exited"; break;
      case State::kBarrier: what = std::string("wait in __syncthreads") + place; break;
      case State::kGrid: what = std::string("wait in grid.sync()") + place; break;
      case State::kNamed:
        what = "wait for named barrier " + std::to_string(w.number) + place + ", at which " +
               std::to_string(b.async->named[w.number].arrived) + " of " +
               std::to_string(b.async->named[w.number].expected) + " threads have come";
        break;
      case State::kMbarrier:
        what = "wait for parity " + std::to_string(w.number) + " of " +
               describe_mbarrier(b, w.object) + place;
        break;
      case State::kCluster: what = std::string("wait in barrier.cluster.wait") + place; break;
      case State::kWarpgroup:
        what = std::string("wait for the other threads of their warpgroup, which lack a wgmma,") +
               place;
        break;
      case State::kWarp: {
        char mask[40];
        snprintf(mask, sizeof mask, ", mask 0x%08x", w.mask);
        what = std::string("wait in ") + w.operation->name + place + mask;
        break;
      }
      default: what = "poll memory or an atomic"; break;
    }
    groups[what].push_back(i);
  }
  char head[160];
  snprintf(head, sizeof head, ", block (%u,%u,%u): no thread can go on", b.index.x, b.index.y,
           b.index.z);
  std::string text = "deadlock in kernel " + name_with_device(*b.launch) + head;
  for (const auto& [what, threads] : groups) {
    const uint3 first = b.thread_index[threads.front()];
    char line[120];
    snprintf(line, sizeof line, "\n  %zu thread%s, first (%u,%u,%u): ", threads.size(),
             threads.size() == 1 ? "" : "s", first.x, first.y, first.z);
    text += line + what;
  }
  return text + describe_unexpected_arrivals(b);
}

Location waiting_place(const Block& b) {
  Location at;
  for (unsigned i = 0; i < b.thread_count; ++i) {
    switch (b.state[i]) {
      case State::kNamed:
      case State::kMbarrier:
      case State::kCluster:
      case State::kWarpgroup:
      case State::kWarp: return b.place[i];
      case State::kBarrier:
      case State::kGrid:
        if (at.line == 0) at = b.place[i];
        break;
      default: break;
    }
  }
  return at;
}

// ---- ends of a launch -------------------------------------------------------------------------

void fail_kernel(int cuda_error) {
  abort_launch(*state.block->launch, cuda_error);
  state.worker->leave_after_fault();
}

void trap(Location at) {
  if (!state.block) abort();
  report({"trap",
          describe_current_thread() + ": __trap() at " + at.file + ":" + std::to_string(at.line),
          cudaErrorLaunchFailure, at});
  fail_kernel(cudaErrorLaunchFailure);
}

void unsupported(const char* feature, const char* file, int line) {
  std::string where = *file ? std::string(file) + ":" + std::to_string(line) + ": " : "";
  std::string text = where + feature + " is not supported without a GPU";
  if (!state.block) {
    report(text + ", and host code cannot use it either");
    exit(1);
  }
  report({"unsupported",
          text + " (kernel " + state.block->launch->name() + ")",
          cudaErrorNotSupported,
          {file, line}});
  fail_kernel(cudaErrorNotSupported);
}

}  // namespace simt

// assert() in a kernel ends the launch; on the host it ends the program as ever.
extern "C" void __assert_fail(const char* expression, const char* file, unsigned line,
                              const char* function) noexcept {
  std::string name = function ? function : "";
  // A kernel's body is a lambda inside it (see simt/kernel.h); the name of the kernel is enough.
  if (size_t lambda = name.find("::<lambda"); lambda != std::string::npos)
    name = "void " + name.substr(0, lambda);
  fflush(stdout);
  if (!simt::state.block) {
    fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, name.c_str(), expression);
    abort();
  }
  const simt::Block& b = *simt::state.block;
  const uint3 t = b.thread_index[simt::state.thread];
  char where[120];
  snprintf(where, sizeof where, "block: [%u,%u,%u], thread: [%u,%u,%u]", b.index.x, b.index.y,
           b.index.z, t.x, t.y, t.z);
  simt::report({"assert",
                std::string(file) + ":" + std::to_string(line) + ": " + name + ": " + where +
                    " Assertion `" + expression + "` failed.",
                cudaErrorAssert,
                {file, static_cast<int>(line)}});
  simt::fail_kernel(cudaErrorAssert);
}
