// What simt's engine has of an operating system and of a processor, for a web page: stacks that a
// thread can leave and come back to, the places in the code, and the end of a program. All else is
// simt/src, unchanged.
//
// A thread that waits keeps its stack. simt's fibres switch processor registers, which WebAssembly
// hides; here binaryen's Asyncify lets all calls return early, down to run_fiber(), and later
// builds them up again. A place in the code is a number: edit.mjs puts it into simt_site before
// every call.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <new>
#include <stdexcept>
#include <string>
#include <typeinfo>
#include <vector>

#include "check_reports.h"
#include "dwarf_lines.h"
#include "faults.h"
#include "fiber.h"
#include "options.h"
#include "simt/runtime_types.h"
#include "worker.h"

#define IMPORT(module, name) __attribute__((import_module(module), import_name(name)))
#define EXPORT(name) __attribute__((export_name(name), used))

extern "C" {
IMPORT("asyncify", "start_unwind") void asyncify_start_unwind(void*);
IMPORT("asyncify", "stop_unwind") void asyncify_stop_unwind();
IMPORT("asyncify", "start_rewind") void asyncify_start_rewind(void*);
IMPORT("asyncify", "stop_rewind") void asyncify_stop_rewind();
// Calls fiber_body(), and returns when it does, or when it was left.
IMPORT("page", "call_fiber") void call_fiber();
IMPORT("page", "leave_fiber") void leave_fiber();
// Whether the program has had its time, at this place. (It does not return then.)
IMPORT("page", "look_at_clock") void look_at_clock(uintptr_t site);
// All memory is used, at this place: an endless loop makes simt remember ever more. (It does not
// return.)
IMPORT("page", "out_of_memory") void out_of_memory(uintptr_t site);

uintptr_t simt_site = 0;  // where the running code is
}

namespace simt {

void fiber_entry();

// ---- fibres -----------------------------------------------------------------------------------

namespace {

constexpr size_t kSavedBytes = 16 << 10;

// At the low end of a fibre's memory: what Asyncify keeps of the calls that returned early.
struct Stack {
  char* saved_at;  // Asyncify wants these two first
  char* saved_end;
  char* top;
  bool begun;
  void (*entry)();
  char saved[kSavedBytes];
};

// What Asyncify is doing: a call returns early, or is built up again.
enum class Calls { kRun, kUnwind, kRewind };
Calls calls = Calls::kRun;
Stack* running = nullptr;  // null: the scheduler is
Context wanted = nullptr;  // where a fibre goes that is left

char* stack_pointer() {
  char* at;
  asm volatile(".globaltype __stack_pointer, i32\n global.get __stack_pointer\n local.set %0"
               : "=r"(at));
  return at;
}
void set_stack_pointer(char* at) {
  asm volatile("local.get %0\n global.set __stack_pointer" : : "r"(at));
}

}  // namespace

Context make_context(char* stack_high, void (*entry)()) {
  auto* stack = reinterpret_cast<Stack*>(stack_high);
  stack->saved_at = stack->saved;
  stack->saved_end = stack->saved + kSavedBytes;
  stack->top = stack_high;
  stack->begun = false;
  stack->entry = entry;
  return stack;
}

const void* lowest_used(Context context) { return static_cast<Stack*>(context)->top; }

// Asyncify leaves this function and the next but one alone: one begins and ends each early return.
__attribute__((noinline)) static Context run_fiber(Stack* stack) {
  char* own = stack_pointer();
  set_stack_pointer(stack->top);
  running = stack;
  wanted = nullptr;
  if (stack->begun) {
    calls = Calls::kRewind;
    asyncify_start_rewind(stack);
  }
  stack->begun = true;
  call_fiber();
  if (calls == Calls::kUnwind) asyncify_stop_unwind();
  calls = Calls::kRun;
  running = nullptr;
  stack->top = stack_pointer();
  set_stack_pointer(own);
  return wanted;
}

extern "C" EXPORT("fiber_body") void fiber_body() { fiber_entry(); }

// The scheduler's own context is null: it goes on when a fibre goes nowhere else.
extern "C" __attribute__((noinline)) void simt_switch_context(Context* save, Context to) {
  if (calls == Calls::kRewind) {
    calls = Calls::kRun;
    asyncify_stop_rewind();
    return;
  }
  if (running != nullptr) {
    *save = running;
    wanted = to;
    calls = Calls::kUnwind;
    asyncify_start_unwind(running);
    return;
  }
  *save = nullptr;
  while (to != nullptr) to = run_fiber(static_cast<Stack*>(to));
}

void leave_for(Context to) {
  wanted = to;
  leave_fiber();
  __builtin_unreachable();
}

FiberPool::~FiberPool() = default;

Fiber* FiberPool::take() {
  if (free_.empty()) grow();
  Fiber* fiber = free_.back();
  free_.pop_back();
  return fiber;
}

void FiberPool::reset(Fiber* fiber) { fiber->context = make_context(fiber->high, entry_); }

void FiberPool::grow() {
  constexpr size_t kVariables = 32 << 10;
  auto* memory = static_cast<char*>(aligned_alloc(16, kVariables + sizeof(Stack)));
  auto* fiber = new Fiber{memory, memory + kVariables, nullptr};
  reset(fiber);
  all_.push_back(fiber);
  free_.push_back(fiber);
}

// ---- work -------------------------------------------------------------------------------------

// The page's one worker works while the host waits (host/condition_variable).
void work_a_little() {
  static Worker* worker = nullptr;
  static ThreadState own;
  static bool at_work = false;
  if (at_work) return;
  at_work = true;
  std::swap(state, own);
  if (worker == nullptr) {
    worker = new Worker(0);
    worker->begin();
  }
  worker->step();
  std::swap(state, own);
  at_work = false;
}

// A hook lets nobody else run: that it might would make every access a place to wait at.
void go_on() {}

// SIMT_ORDERS is for programs that an operating system can start again.
void pass_on_reports(const std::vector<CheckReports::Entry>&) {}
std::vector<CheckReports::Entry> reports_of_earlier_runs() { return {}; }

void install_fault_handlers() {}
void use_alternate_stack() {}

// ---- places -----------------------------------------------------------------------------------

namespace {

std::vector<uint32_t> callers[kMaxThreads];  // of each thread: where its calls were made

// Of each place, and of where the functions there were called that the compiler has put into one
// another.
std::vector<std::vector<SourceLine>>& sites() {
  static auto* read = [] {
    auto* all = new std::vector<std::vector<SourceLine>>;
    std::ifstream stream("sites");
    for (std::string line; std::getline(stream, line);) {
      all->emplace_back();
      for (size_t at = 0; at < line.size();) {
        const size_t end = std::min(line.find('\t', at), line.size());
        const size_t colon = line.rfind(':', end);
        all->back().push_back(
            {line.substr(at, colon - at), unsigned(std::atoi(line.c_str() + colon + 1)), 0});
        at = end + 1;
      }
    }
    return all;
  }();
  return *read;
}

bool is_ours(const SourceLine& line) { return line.file.find("simt/include/") != line.file.npos; }

}  // namespace

uint64_t program_base() { return 0; }

SourceLine line_of_return_address(uint32_t site) {
  if (site >= sites().size()) return {};
  for (const SourceLine& line : sites()[site])
    if (!is_ours(line)) return line;
  return {};
}

std::vector<SourceLine> inlined_calls(uint32_t site) {
  std::vector<SourceLine> calls;
  if (site >= sites().size()) return calls;
  for (const SourceLine& line : sites()[site])
    if (!is_ours(line)) calls.push_back(line);
  if (!calls.empty()) calls.erase(calls.begin());
  return calls;
}

std::vector<SourceLine> lines_of_calls() {
  std::vector<uint32_t> from = callers[state.thread];
  from.push_back(simt_site);
  std::vector<SourceLine> lines;
  for (size_t i = from.size(); i-- > 0;) {
    if (from[i] >= sites().size()) continue;
    for (const SourceLine& line : sites()[from[i]])
      if (!is_ours(line)) lines.push_back(line);
  }
  return lines;
}

std::string to_string(const SourceLine& line) {
  return line.file.empty() ? "unknown line" : line.file + ":" + std::to_string(line.line);
}

// ---- what the compiler calls, beside what is in simt/src/observe_hooks.cpp --------------------

// How far up the running code stands: 16 bytes for every call that has led to it.
void* page_frame() {
  const size_t depth = state.block == nullptr ? 0 : callers[state.thread].size();
  return state.stack_high - 16 * depth;
}

extern "C" {

void __tsan_func_entry(void*) {
  if (state.block != nullptr) callers[state.thread].push_back(simt_site);
}
void __tsan_func_exit() {
  if (state.block == nullptr) return;
  simt_site = callers[state.thread].back();
  callers[state.thread].pop_back();
}

// clang asks for these where a structure is cleared or moved.
void __tsan_read_range(void* p, size_t bytes);
void __tsan_write_range(void* p, size_t bytes);
void* __tsan_memset(void* to, int value, size_t bytes) {
  __tsan_write_range(to, bytes);
  return std::memset(to, value, bytes);
}
void* __tsan_memmove(void* to, void* from, size_t bytes) {
  __tsan_read_range(from, bytes);
  __tsan_write_range(to, bytes);
  return std::memmove(to, from, bytes);
}

void count_block();
void __sanitizer_cov_trace_pc() {
  static uint32_t blocks = 0;
  if (++blocks % (1 << 20) == 0) look_at_clock(simt_site);
  count_block();
}

// ---- ends -------------------------------------------------------------------------------------

// A fibre stopped at what is no instruction of WebAssembly's.
EXPORT("fiber_trapped") void fiber_trapped(int divides, int overflows) {
  wanted = nullptr;
  // (Worker::leave_after_fault() would leave, and we have.)
  const char* what = divides     ? ": integer division by zero"
                     : overflows ? ": local variables or recursion overflow the thread's stack"
                                 : ": illegal access";
  report({divides     ? "division"
          : overflows ? "stack"
                      : "memory",
          describe_current_thread() + what, cudaErrorLaunchFailure});
  abort_launch(*state.block->launch, cudaErrorLaunchFailure);
}

int getpid() { return 1; }
[[noreturn]] void __stack_chk_fail() { __builtin_trap(); }
void* __cxa_allocate_exception(size_t bytes) { return malloc(bytes); }
void __cxa_free_exception(void* object) { free(object); }
// Nobody catches here.
[[noreturn]] void __cxa_throw(void* object, std::type_info* type, void (*)(void*)) {
  if (*type == typeid(std::bad_alloc)) out_of_memory(simt_site);
  const bool known = *type == typeid(std::runtime_error) || *type == typeid(std::logic_error);
  const char* says = known ? static_cast<std::exception*>(object)->what() : type->name();
  fflush(stdout);
  fprintf(stderr, "exercise: %s\n", says);
  _Exit(3);
}
}

}  // namespace simt
