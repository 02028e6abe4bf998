// simt's engine for a web page: one thread of the browser, one block after the other, counters and
// the race check always on. What a kernel's code calls is declared in simt/include; how a warp
// meets, how accesses are counted and what a race is comes from simt/src, unchanged.
//
// A thread that waits keeps its stack: binaryen's Asyncify lets a call return early, down to
// resume(), and later builds the same calls up again.

#include "engine.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "async.h"
#include "check_order.h"
#include "check_races.h"
#include "dwarf_lines.h"
#include "faults.h"
#include "profile_counters.h"
#include "profile_trace.h"
#include "simt/profile.h"
#include "simt/runtime_api.h"
#include "simt/unit.h"
#include "worker.h"

#define ASYNCIFY(name) __attribute__((import_module("asyncify"), import_name(name)))
extern "C" {
ASYNCIFY("start_unwind") void asyncify_start_unwind(void*);
ASYNCIFY("stop_unwind") void asyncify_stop_unwind();
ASYNCIFY("start_rewind") void asyncify_start_rewind(void*);
ASYNCIFY("stop_rewind") void asyncify_stop_rewind();
}

namespace simt {
namespace {

// What Asyncify is doing: a call returns early, or is built up again.
enum class Calls { kRun, kUnwind, kRewind };
Calls calls = Calls::kRun;
constexpr size_t kStackBytes = 16 << 10, kSavedBytes = 8 << 10;

char* stack_pointer() {
  char* at;
  asm volatile(".globaltype __stack_pointer, i32\n global.get __stack_pointer\n local.set %0"
               : "=r"(at));
  return at;
}
void set_stack_pointer(char* at) {
  asm volatile("local.get %0\n global.set __stack_pointer" : : "r"(at));
}

// What Asyncify keeps of a call that returned early, and the stack of that call's variables.
struct Stack {
  char* saved_at = saved;  // Asyncify wants these two first
  char* saved_end = saved + kSavedBytes;
  char saved[kSavedBytes];
  alignas(16) char variables[kStackBytes];
  char* top = variables + kStackBytes;
  bool begun = false;
};

// Where a thread is in the code: the basic block it entered last, and what it has accessed since.
struct Place {
  uint32_t block = 0, access = 0;
};

struct Thread {
  std::unique_ptr<Stack> stack;
  Place place;
  std::vector<Place> callers;
};

// An array of device memory, and who has accessed it.
struct Array {
  Array(void* memory, size_t bytes)
      : first(reinterpret_cast<uint64_t>(memory)), bytes(bytes), races(bytes) {}
  uint64_t first, bytes;
  GlobalRaces races;
};

// The running launch, its running block, and what is counted.
struct Page {
  Launch* launch = nullptr;
  Block block;
  Thread thread[kMaxThreads];
  std::vector<std::unique_ptr<Stack>> free_stacks;
  char* shared = nullptr;
  WarpTrace traces[kMaxWarps];
  BlockOrder order;
  SharedRaces races{kStaticSharedBytes + kDynamicSharedBytes};
  std::vector<std::unique_ptr<Array>> arrays;
  uint32_t stamp = 0;  // of the launch
  Counters counters;
  uint64_t racing = 0;
  uint32_t at = 0;  // the place in the code that simt_at() named last
  // How often an access of one place raced with an earlier one: each place, and whether it wrote.
  std::map<std::array<uint32_t, 4>, uint32_t> pairs;
};

Page& page() {
  static Page* made = [] {
    auto* fresh = new Page;
    fresh->shared =
        static_cast<char*>(aligned_alloc(1024, kStaticSharedBytes + kDynamicSharedBytes));
    return fresh;
  }();
  return *made;
}

LaunchShape asked;  // by <<<>>>, for the kernel call that follows

// ---- threads ----------------------------------------------------------------------------------

// Runs the thread until it waits or ends. Asyncify leaves this function and the next one alone: one
// begins and ends each early return.
__attribute__((noinline)) void resume(unsigned index) {
  Page& p = page();
  Block& b = p.block;
  Thread& thread = p.thread[index];
  if (!thread.stack) {
    if (p.free_stacks.empty()) p.free_stacks.push_back(std::make_unique<Stack>());
    thread.stack = std::move(p.free_stacks.back());
    p.free_stacks.pop_back();
  }
  Stack& stack = *thread.stack;
  state.block = &b;
  state.thread = index;
  state.lane = index % kWarpSize;
  ::threadIdx = b.thread_index[index];
  b.state[index] = State::kRunning;

  char* own = stack_pointer();
  set_stack_pointer(stack.top);
  if (stack.begun) {
    calls = Calls::kRewind;
    asyncify_start_rewind(&stack);
  }
  stack.begun = true;
  p.launch->kernel->run(p.launch->call.get());
  const bool waits = calls == Calls::kUnwind;
  if (waits) asyncify_stop_unwind();
  calls = Calls::kRun;
  stack.top = stack_pointer();
  set_stack_pointer(own);

  state.block = nullptr;
  if (waits) return;
  b.state[index] = State::kExited;
  ++b.exited;
  p.traces[index / kWarpSize].lane_exited(state.lane);
  stack.top = stack.variables + kStackBytes;
  stack.saved_at = stack.saved;
  stack.begun = false;
  p.free_stacks.push_back(std::move(thread.stack));
}

__attribute__((noinline)) void suspend(State waiting) {
  if (calls == Calls::kRewind) {
    calls = Calls::kRun;
    asyncify_stop_rewind();
    return;
  }
  Page& p = page();
  p.block.state[state.thread] = waiting;
  calls = Calls::kUnwind;
  asyncify_start_unwind(p.thread[state.thread].stack.get());
}

// ---- one block --------------------------------------------------------------------------------

void begin_block(Launch& launch, uint64_t number) {
  Page& p = page();
  Block& b = p.block;
  const dim3 shape = launch.block;
  b.begin(launch, number);
  for (unsigned i = 0; i < b.thread_count; ++i) {
    b.thread_index[i] = {i % shape.x, i / shape.x % shape.y, i / shape.x / shape.y};
    p.thread[i].place = {};
    p.thread[i].callers.clear();
  }
  ::blockIdx = b.index;
  ::blockDim = shape;
  ::gridDim = launch.grid;
  state.shared = p.shared;
  state.shared_offsets = launch.kernel->shared_offsets.data();
  p.races.begin_block(p.order.newest_clock());
  p.order.begin(number, b.thread_count);
  for (unsigned warp = 0; warp < b.warp_count; ++warp) {
    const unsigned lanes = std::min(kWarpSize, b.thread_count - warp * kWarpSize);
    p.traces[warp].begin(lanes == kWarpSize ? ~0u : (1u << lanes) - 1);
  }
}

// Gives every thread that can go on a turn; false: there was none.
bool run_threads() {
  Page& p = page();
  Block& b = p.block;
  bool any = false;
  for (unsigned warp = 0; warp < b.warp_count; ++warp) {
    const unsigned end = std::min(b.thread_count, (warp + 1) * kWarpSize);
    do {
      for (unsigned i = warp * kWarpSize; i < end; ++i) {
        if (b.state[i] != State::kNew && b.state[i] != State::kReady) continue;
        resume(i);
        any = true;
      }
      p.traces[warp].replay(p.counters);
    } while (b.waiting_in_warp[warp] && resolve_warp(b, warp));
  }
  return any;
}

bool release_barrier() {
  Page& p = page();
  Block& b = p.block;
  if (b.at_barrier == 0 || b.at_barrier + b.exited != b.thread_count) return false;
  unsigned warps = 0;
  for (unsigned warp = 0; warp < b.warp_count; ++warp) {
    const unsigned end = std::min(b.thread_count, (warp + 1) * kWarpSize);
    bool stands = false;
    for (unsigned i = warp * kWarpSize; i < end; ++i) {
      stands |= b.state[i] == State::kBarrier;
      if (b.state[i] == State::kBarrier) b.state[i] = State::kReady;
    }
    warps += stands;
  }
  p.counters.count_barrier(warps);
  p.order.barrier();
  b.at_barrier = 0;
  return true;
}

void run_block(Launch& launch, uint64_t number) {
  begin_block(launch, number);
  while (run_threads() || release_barrier()) {
  }
  if (page().block.exited != page().block.thread_count) __builtin_trap();  // a deadlock
}

// ---- accesses ---------------------------------------------------------------------------------

Array* array_at(uint64_t address) {
  for (const auto& array : page().arrays)
    if (address - array->first < array->bytes) return array.get();
  return nullptr;
}

// Notes what the running thread does, and says who it is: for the race check.
Accessor record(uint64_t address, unsigned size, TraceKind kind) {
  Page& p = page();
  Thread& thread = p.thread[state.thread];
  Place& at = thread.place;
  const uint32_t pc = at.block << 6 | std::min(at.access, 63u);
  if (kind != TraceKind::kBasicBlock) ++at.access;
  const auto depth = static_cast<uint16_t>(thread.callers.size());
  p.traces[state.thread / kWarpSize].record(state.lane,
                                            {address, pc, depth, kind, static_cast<uint8_t>(size)});
  const bool loads = kind == TraceKind::kGlobalLoad || kind == TraceKind::kSharedLoad;
  const bool atomic = kind == TraceKind::kGlobalAtomic || kind == TraceKind::kSharedAtomic;
  return {&p.order, state.thread, p.at, !loads, atomic};
}

void note_race(const Rival& then, const Accessor& now) {
  Page& p = page();
  ++p.racing;
  ++p.pairs[{then.pc, then.wrote, now.pc, now.writes}];
}

void on_access(const void* pointer, unsigned size, TraceKind global, TraceKind shared) {
  if (state.block == nullptr) return;
  Page& p = page();
  const auto address = reinterpret_cast<uint64_t>(pointer);
  const uint64_t offset = address - reinterpret_cast<uint64_t>(p.shared);
  Rival rival;
  if (offset < kStaticSharedBytes + kDynamicSharedBytes) {
    const Accessor now = record(address, size, shared);
    if (p.races.access(offset, size, now, &rival)) note_race(rival, now);
  } else if (Array* array = array_at(address)) {
    const Accessor now = record(address, size, global);
    const uint64_t at = address - array->first;
    if (array->races.access(at, size, p.stamp, now, &rival)) note_race(rival, now);
  }
}

void on_read(const void* pointer, unsigned size) {
  on_access(pointer, size, TraceKind::kGlobalLoad, TraceKind::kSharedLoad);
}
void on_write(const void* pointer, unsigned size) {
  on_access(pointer, size, TraceKind::kGlobalStore, TraceKind::kSharedStore);
}

// A copy of a structure: several loads or stores, each as wide as the alignment allows.
void in_pieces(const void* pointer, size_t bytes, void (*each)(const void*, unsigned)) {
  for (auto at = reinterpret_cast<uint64_t>(pointer); bytes > 0;) {
    unsigned piece = 16;
    while (piece > bytes || at % piece != 0) piece /= 2;
    each(reinterpret_cast<const void*>(at), piece);
    at += piece;
    bytes -= piece;
  }
}

}  // namespace

// ---- what kernels call ------------------------------------------------------------------------

void block_barrier(ThreadState&, Location) {
  Page& p = page();
  p.traces[state.thread / kWarpSize].record(state.lane, {0, 0, 0, TraceKind::kBarrier, 0});
  ++p.block.at_barrier;
  suspend(State::kBarrier);
}

void warp_operation(unsigned mask, const WarpOperation& operation, void* payload, Location at) {
  Page& p = page();
  Waiting& w = p.block.waiting[state.thread];
  w.mask = mask;
  w.operation = &operation;
  w.payload = payload;
  p.block.place[state.thread] = at;
  p.traces[state.thread / kWarpSize].record(state.lane, {mask, 0, 0, TraceKind::kWarpSync, 0});
  ++p.block.waiting_in_warp[state.thread / kWarpSize];
  suspend(State::kWarp);
}

void give_way() {}

void note_read(const void* address, unsigned bytes, const void*) { on_read(address, bytes); }
void note_write(const void* address, unsigned bytes, const void*) { on_write(address, bytes); }
void note_atomic(const void* address, unsigned bytes, const void*, Scope) {
  on_access(address, bytes, TraceKind::kGlobalAtomic, TraceKind::kSharedAtomic);
}

// ---- what simt/src calls ----------------------------------------------------------------------

namespace {

struct WarpMeetings : Observer {
  void warp_operation(Block&, unsigned warp, uint32_t lanes, uint32_t) override {
    page().order.warp_sync(warp, lanes);
  }
} meetings;

}  // namespace

Observer* observer = &meetings;

Block::Block() = default;
Block::~Block() = default;
TranslationUnit::TranslationUnit(bool, int) {}
SourceLine line_of_return_address(uint32_t) { return {}; }
void report(const Finding&) { __builtin_trap(); }
void abort_launch(Launch&, int) { __builtin_trap(); }
void fail_kernel(int) { __builtin_trap(); }

// ---- launches ---------------------------------------------------------------------------------

Kernel::Kernel(const char* signature, const char* type_name, LaunchBounds bounds, Run run,
               Clone clone, Destroy destroy, Structures structures, size_t call_bytes)
    : name(signature),
      type_name(type_name),
      bounds(bounds),
      run(run),
      clone(clone),
      destroy(destroy),
      structures(structures),
      call_bytes(call_bytes) {
  place_known_variables(*this);
}

void configure(dim3 grid, dim3 block, size_t dynamic_shared, cudaStream_t, Location) {
  asked.grid = grid;
  asked.block = block;
  asked.dynamic_shared = dynamic_shared;
}

void launch_configured(Kernel& kernel, const void* call) {
  Launch launch;
  static_cast<LaunchShape&>(launch) = asked;
  launch.kernel = &kernel;
  launch.call = std::shared_ptr<const void>(call, [](const void*) {});
  launch.block_count = uint64_t{asked.grid.x} * asked.grid.y * asked.grid.z;
  launch.threads_per_block = asked.block.x * asked.block.y * asked.block.z;
  Page& p = page();
  p.launch = &launch;
  if (++p.stamp == GlobalRaces::kStamps) {
    for (const auto& array : p.arrays) array->races.clear();
    p.stamp = 1;
  }
  p.counters.launches += 1;
  p.counters.warps += launch.block_count * ((launch.threads_per_block + kWarpSize - 1) / kWarpSize);
  p.counters.threads += launch.block_count * launch.threads_per_block;
  for (uint64_t number = 0; number < launch.block_count; ++number) run_block(launch, number);
}

}  // namespace simt

// ---- what the compiler calls: see simt/src/observe_hooks.cpp ----------------------------------

using namespace simt;

extern "C" {

#define ACCESS_HOOKS(size)                                        \
  void __tsan_read##size(void* p) { on_read(p, size); }           \
  void __tsan_write##size(void* p) { on_write(p, size); }         \
  void __tsan_unaligned_read##size(void* p) { on_read(p, size); } \
  void __tsan_unaligned_write##size(void* p) { on_write(p, size); }
ACCESS_HOOKS(1)
ACCESS_HOOKS(2)
ACCESS_HOOKS(4)
ACCESS_HOOKS(8)
ACCESS_HOOKS(16)

// clang calls these where a structure is copied; the second one is newer clangs'.
void* __real_memcpy(void* to, const void* from, size_t bytes);
void* __wrap_memcpy(void* to, const void* from, size_t bytes) {
  if (state.block != nullptr) {
    in_pieces(from, bytes, on_read);
    in_pieces(to, bytes, on_write);
  }
  return __real_memcpy(to, from, bytes);
}
void* __tsan_memcpy(void* to, const void* from, size_t bytes) {
  return __wrap_memcpy(to, from, bytes);
}

void __sanitizer_cov_trace_pc_guard_init(uint32_t* begin, uint32_t* end) {
  static uint32_t number = 0;
  for (uint32_t* guard = begin; guard < end; ++guard) *guard = ++number;
}
void __sanitizer_cov_trace_pc_guard(uint32_t* guard) {
  if (state.block == nullptr) return;
  page().thread[state.thread].place = {*guard, 0};
  record(0, 0, TraceKind::kBasicBlock);
}

// places.mjs has put it in front of every call in a file of a chapter.
void simt_at(uint32_t place) { page().at = place; }

// Asked for by the compiler, of no use here.
void* emscripten_return_address(int) { return nullptr; }
void __tsan_init() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_func_entry(void*) {
  if (state.block == nullptr) return;
  Thread& thread = page().thread[state.thread];
  thread.callers.push_back(thread.place);
}
void __tsan_func_exit() {
  if (state.block == nullptr) return;
  Thread& thread = page().thread[state.thread];
  thread.place = thread.callers.back();
  thread.callers.pop_back();
}
}

// ---- what kernels.cu calls --------------------------------------------------------------------

cudaError_t cudaMalloc(void** pointer, size_t bytes, Location) {
  *pointer = aligned_alloc(256, (bytes + 255) / 256 * 256);
  page().arrays.push_back(std::make_unique<Array>(*pointer, bytes));
  return cudaSuccess;
}

cudaError_t cudaFree(void* pointer) {
  auto& arrays = page().arrays;
  const auto first = reinterpret_cast<uint64_t>(pointer);
  arrays.erase(std::remove_if(arrays.begin(), arrays.end(),
                              [&](const auto& array) { return array->first == first; }),
               arrays.end());
  free(pointer);
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind, Location) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}

cudaError_t cudaGetLastError() { return cudaSuccess; }

namespace simt {

void profile_reset() {
  page().counters.clear();
  page().pairs.clear();
  page().racing = 0;
}
KernelProfile profile(const std::string& name) { return page().counters.profile(name); }
std::vector<CheckReport> check_reports() {
  CheckReport races;
  races.check = "race";
  races.count = page().racing;
  return {races};
}

}  // namespace simt

// ---- what run.mjs calls -----------------------------------------------------------------------

extern "C" {

// How many pairs of places raced in the last run; then five numbers of each: the earlier place,
// whether it wrote, the later one, whether that wrote, how often. A place is line + 4096 * file.
const uint32_t* races() {
  static std::vector<uint32_t> all;
  all.assign(1, static_cast<uint32_t>(page().pairs.size()));
  for (const auto& [pair, times] : page().pairs) {
    all.insert(all.end(), pair.begin(), pair.end());
    all.push_back(times);
  }
  return all.data();
}

// The files, a line each: places.mjs has left them.
extern const char simt_files[];
const char* files() { return simt_files; }
}
