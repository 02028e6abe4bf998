// What happens to one running block: its accesses are checked and written down for the counters.

#include <algorithm>
#include <cstring>

#include "async.h"
#include "dwarf_lines.h"
#include "memory.h"
#include "observe.h"
#include "options.h"
#include "simt/runtime_types.h"
#include "simt/sync.h"
#include "worker.h"

namespace simt {
namespace {

constexpr uint64_t kSharedBytes = kStaticSharedBytes + kDynamicSharedBytes;

const char* verb(Use use) {
  switch (use) {
    case Use::kAtomicOverwrite:
    case Use::kAtomic: return "atomic operation";
    case Use::kWrite:
    case Use::kVolatileWrite:
    case Use::kAtomicStore: return "write";
    default: return "read";
  }
}

std::string bytes_text(const Access& access) {
  return std::string(verb(access.use)) + " of " + std::to_string(access.size) +
         (access.size == 1 ? " byte" : " bytes");
}

const void* pointer(uint64_t address) { return reinterpret_cast<const void*>(address); }

static_assert(kByKernel == 1);
constexpr uint8_t kAllByKernel[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

bool all_zero(const uint8_t* bytes, unsigned count) {
  return std::all_of(bytes, bytes + count, [](uint8_t byte) { return byte == 0; });
}

// Was every byte written, by whomever? Writer has two bits.
bool all_written(const uint8_t* bytes, unsigned size) {
  for (unsigned i = 0; i < size; i += 4) {
    uint32_t four = 0x01010101;
    std::memcpy(&four, bytes + i, std::min(4u, size - i));
    if (((four | four >> 1) & 0x01010101) != 0x01010101) return false;
  }
  return true;
}

// memcmp() == 0 and memcpy() for the few bytes of one access, mostly 4.
bool equal(const uint8_t* a, const uint8_t* b, unsigned size) {
  return size == 4 ? std::memcmp(a, b, 4) == 0 : std::memcmp(a, b, size) == 0;
}
void assign(uint8_t* to, const uint8_t* from, unsigned size) {
  if (size == 4) {
    std::memcpy(to, from, 4);
  } else {
    std::memcpy(to, from, size);
  }
}

TraceKind trace_kind(Use use, bool shared) {
  if (use == Use::kAtomic || use == Use::kAtomicOverwrite)
    return shared ? TraceKind::kSharedAtomic : TraceKind::kGlobalAtomic;
  if (writes(use)) return shared ? TraceKind::kSharedStore : TraceKind::kGlobalStore;
  return shared ? TraceKind::kSharedLoad : TraceKind::kGlobalLoad;
}

// Publications at an address of shared memory belong to one block.
uint64_t board_key(uint64_t block, uint64_t offset) { return ~(block << 20 | offset); }

// Two places in the code; a copy or a fill has none, and is told from others by its stamp.
uint64_t pair_of(uint32_t pc, const Rival& rival) {
  if (rival.pc == 0) return uint64_t{1} << 63 | uint64_t{pc} << 32 | rival.stamp;
  return uint64_t{std::min(pc, rival.pc)} << 32 | std::max(pc, rival.pc);
}

}  // namespace

uint64_t BlockWatch::shared_bytes() { return kSharedBytes; }

BlockWatch::BlockWatch()
    : shared_races_(kSharedBytes), shared_written_(kSharedBytes), loop_pc_(kMaxThreads, 0) {}

inline void BlockWatch::forget_if_changed() {
  const uint64_t now = watcher->memory.generation();
  if (generation_ == now) return;
  generation_ = now;
  std::fill(recent_, recent_ + kRecent, Recent());
}

void BlockWatch::begin(Block& block, LaunchWatch& launch) {
  block_ = &block;
  launch_ = &launch;
  counting_ = launch.counting;
  shared_base_ = reinterpret_cast<uint64_t>(shared_base());
  // Of the worker that runs the block: `state` is one of these variables, the others are near it.
  thread_data_bytes_ = 2 * watcher->thread_data_bytes;
  thread_data_ = reinterpret_cast<uint64_t>(&state) - watcher->thread_data_bytes;
  shared_races_.begin_block(order_.newest_clock());
  order_.begin(block.number, block.thread_count, launch.work.id, launch.start);
  if (device_ != block.launch->device) generation_ = 0;  // what one may touch another may not
  device_ = block.launch->device;
  if (++run_ == 0) {
    shared_written_.clear();
    run_ = 1;
  }
  std::memset(run_bytes_, run_, sizeof run_bytes_);
  begin_in_cluster(block.launch->cluster_blocks);
  grid_phase_ = 0;
  stamp_ = launch.stamp(0);
  forget_if_changed();
  suspects_.clear();
  guesses_.clear();
  std::fill_n(last_access_, block.thread_count, 0);
  unsettled_ = false;
  observe_at_ = 0;
  barrier_at_ = {nullptr, 0};
  barrier_mixed_ = false;
  steps_until_turn_ = kStepsPerTurn;
  std::fill_n(loop_pc_.begin(), block.thread_count, 0);
  if (async_) async_->begin_block();
  if (!counting_) return;
  if (!traces_) traces_ = std::make_unique<WarpTrace[]>(kMaxWarps);
  for (auto& of_threads : efforts_) of_threads.assign(block.thread_count, 0);
  for (unsigned warp = 0; warp < block.warp_count; ++warp) {
    const unsigned lanes = std::min(kWarpSize, block.thread_count - warp * kWarpSize);
    traces_[warp].begin(lanes == kWarpSize ? ~0u : (1u << lanes) - 1);
  }
}

// The table of what blocks of a cluster do in this one's shared memory: a stamp for each block that
// runs, so that what is of the blocks before needs no clearing.
void BlockWatch::begin_in_cluster(unsigned blocks) {
  cluster_stamp_ = 0;
  if (blocks < 2 || !watcher->checking) return;
  if (!cluster_races_) cluster_races_ = std::make_unique<GlobalRaces>(kSharedBytes);
  if (++cluster_blocks_ == GlobalRaces::kStamps) {
    cluster_races_->clear();
    cluster_blocks_ = 1;
  }
  cluster_stamp_ = cluster_blocks_;
}

void BlockWatch::end() {
  if (async_ && !async_->remotes.empty()) check_remotes();
  if (launch_->start != nullptr) launch_->learns(order_);
  for (unsigned i = 0; counting_ && i < kEfforts; ++i)
    counters_.count_efforts(static_cast<Effort>(i), efforts_[i]);
  block_ = nullptr;
  launch_ = nullptr;
}

// ---- accesses ---------------------------------------------------------------------------------

void BlockWatch::access(const Access& access) {
  const uint64_t offset = access.address - shared_base_;
  if (offset < kSharedBytes) {
    if (counting_) record_shared(access, offset);
    // From here to the end nothing may suspend the thread: the access must follow its check.
    if (watcher->checking) access_shared(access, offset);
    return;
  }
  if (access.address - thread_data_ < thread_data_bytes_) return;
  if (in_shared_window(pointer(access.address))) {
    Block* owner = owner_of_shared(pointer(access.address));
    if (watcher->checking && owner != nullptr && watch_of(owner) != nullptr)
      access_remote(access, *watch_of(owner));
    return;
  }
  WatchedMemory* memory = find_memory(access);
  if (memory == nullptr) return;
  // Constant memory has a path and a cache of its own.
  if (counting_ && !memory->allocation.constant) record_global(access, *memory);
  if (watcher->checking) access_global(access, *memory);
}

void BlockWatch::record_shared(const Access& access, uint64_t offset) {
  const TraceKind kind = trace_kind(access.use, true);
  if (access.size > 4) {
    size_t start = 0;
    const Layout type = shared_gaps_at(offset, &start);
    if (type.gaps) return record_members(access, kind, type, offset - start, access.size);
  }
  record({access.address, access.pc, access.depth, kind, static_cast<uint8_t>(access.size)});
}

void BlockWatch::record_global(const Access& access, const WatchedMemory& memory) {
  const TraceKind kind = trace_kind(access.use, false);
  if (is_elsewhere(memory)) count_link(access.size, access.use);
  for (const StructurePointer& argument : launch_->structures) {
    const auto start = reinterpret_cast<uint64_t>(argument.pointer);
    if (!memory.holds(start, 1)) continue;
    const Layout& type = argument.type;
    // The pointer may lead into the middle of an array.
    const uint64_t before = (start - memory.base) % type.bytes;
    return record_members(access, kind, type, access.address - memory.base + type.bytes - before,
                          access.aligned ? access.size : type.alignment);
  }
  record({access.address, access.pc, access.depth, kind, static_cast<uint8_t>(access.size)});
}

// A plain store goes one way, a plain load the other, an atomic both. (So does an exchange whose
// old value nobody takes: a GPU has no reduction that exchanges.)
void BlockWatch::count_link(uint64_t bytes, Use use) {
  if (reads(use) || use == Use::kAtomicOverwrite) counters_.count(Beside::kLinkRead, bytes);
  if (writes(use)) counters_.count(Beside::kLinkWritten, bytes);
}

// Writes down what lies between the gaps, in pieces as wide as their places and `widest` allow.
// `offset` is the access's, from where some object of the type begins.
void BlockWatch::record_members(const Access& access, TraceKind kind, const Layout& type,
                                uint64_t offset, uint64_t widest) {
  const auto is_member = [&](uint64_t byte) {
    return (type.members >> ((offset + byte) % type.bytes) & 1) != 0;
  };
  for (uint64_t at = 0; at < access.size;) {
    uint64_t run = 0;
    while (at + run < access.size && is_member(at + run)) ++run;
    uint64_t piece = run == 0 ? 1 : std::min<uint64_t>(access.size, widest);
    while (run != 0 && (piece > run || (access.address + at) % piece != 0)) piece /= 2;
    if (run != 0)
      record({access.address + at, access.pc, access.depth, kind, static_cast<uint8_t>(piece)});
    at += piece;
  }
}

WatchedMemory* BlockWatch::find_memory(const Access& access) {
  forget_if_changed();
  Recent& recent = recent_[(access.pc ^ access.pc >> 6) % kRecent];
  const uint64_t offset = access.address - recent.base;
  if (offset < recent.bytes && access.size <= recent.bytes - offset) return recent.memory;
  WatchedMemory* memory = look_up(access);
  if (memory != nullptr) recent = {memory->base, memory->bytes, memory};
  return memory;
}

// The memory of an access that may be made; null for what is not the business of the checks. Does
// not return if the access would be a fault.
__attribute__((noinline)) WatchedMemory* BlockWatch::look_up(const Access& access) {
  WatchedMemory* memory = watcher->memory.find(access.address);
  const bool good = memory != nullptr && !memory->allocation.freed && !memory->allocation.guard &&
                    memory->holds(access.address, access.size);
  if (good) {
    if (watcher->checking) check_device(access, *memory);
    return memory;
  }
  const auto is_guard = [&] {
    Allocation beside;
    return among_symbols(access.address) && find_allocation(pointer(access.address), &beside) &&
           beside.guard;
  };
  // What a function has that is `static` is no variable that we know, and is a device's. A judge's
  // program (judge.h) has no use for it, and host code none for a way around the copies.
  const bool is_data = watcher->is_program_data(access.address);
  const bool is_let_pass =
      *sealed_word() == 0 || (watcher->is_program_constant(access.address) && !writes(access.use));
  if (memory == nullptr && !is_guard() && ((is_data && is_let_pass) || is_argument(access))) {
    return nullptr;
  }
  if (!watcher->checking) return nullptr;
  {
    const bool freed = memory != nullptr && memory->allocation.freed;
    Allocation near;
    const bool device = in_device_range(pointer(access.address)) ||
                        nearest_allocation(pointer(access.address), &near);
    const bool before_shared = shared_base_ - access.address <= 4096;
    const char* check = freed                     ? "use-after-free"
                        : device || before_shared ? "out-of-bounds"
                                                  : "host-pointer";
    std::string what = bytes_text(access);
    if (freed) {
      what += heap_holds(pointer(access.address)) ? " after free or delete" : " after it was freed";
    } else if (device || before_shared) {
      what = "out-of-bounds " + what;
    } else {
      what += access.address < 4096 ? " through a null pointer"
              : is_data ? " of a variable of the host in a kernel: is __device__ missing?"
                        : " of host memory in a kernel";
    }
    watcher->report(check, what, access.pc, describe_address(pointer(access.address)));
  }
  fail_kernel(cudaErrorIllegalAddress);
}

// May a kernel on this device use it? Does not return if not.
void BlockWatch::check_device(const Access& access, const WatchedMemory& memory) {
  if (options().devices == 1) return;
  const Allocation& allocation = memory.allocation;
  if (allocation.kind == MemoryKind::kSymbol && !allocation.constant && device_ != 0 &&
      writes(access.use)) {
    watcher->report("unsupported",
                    bytes_text(access) + " of a __device__ variable on device " +
                        std::to_string(device_) + ": each GPU has its own, simt has one for all",
                    access.pc, describe_address(pointer(access.address)));
    fail_kernel(cudaErrorNotSupported);
  }
  if (!is_elsewhere(memory) || peer_access_enabled(device_, allocation.device)) return;
  watcher->report("peer-access",
                  bytes_text(access) + " of the memory of device " +
                      std::to_string(allocation.device) + " on device " + std::to_string(device_) +
                      ", which has not enabled it: cudaSetDevice(" + std::to_string(device_) +
                      "), cudaDeviceEnablePeerAccess(" + std::to_string(allocation.device) + ", 0)",
                  access.pc, describe_address(pointer(access.address)));
  fail_kernel(cudaErrorIllegalAddress);
}

// Arguments of class type are copied by their own constructors from where the launch keeps them.
bool BlockWatch::is_argument(const Access& access) const {
  const void* call = block_->launch->call.get();
  const uint64_t offset = access.address - reinterpret_cast<uint64_t>(call);
  return offset < block_->launch->kernel->call_bytes;
}

bool BlockWatch::shared_in_bounds(uint64_t offset, unsigned size) const {
  if (offset < kStaticSharedBytes) return offset + size <= block_->launch->kernel->static_shared;
  return offset - kStaticSharedBytes + size <= block_->launch->dynamic_shared;
}

void BlockWatch::check_place_in_shared(const Access& access, uint64_t offset) {
  if (access.aligned && access.address % access.size != 0) {
    watcher->report("misaligned", "misaligned " + bytes_text(access) + " of shared memory",
                    access.pc,
                    "offset " + std::to_string(offset) + " is not a multiple of " +
                        std::to_string(access.size));
    fail_kernel(cudaErrorMisalignedAddress);
  }
  if (!shared_in_bounds(offset, access.size)) {
    {
      const bool dynamic = offset >= kStaticSharedBytes;
      const uint64_t at = dynamic ? offset - kStaticSharedBytes : offset;
      const uint64_t size =
          dynamic ? block_->launch->dynamic_shared : block_->launch->kernel->static_shared;
      watcher->report("out-of-bounds", "out-of-bounds " + bytes_text(access) + " of shared memory",
                      access.pc,
                      "byte " + std::to_string(at) + " of " + std::to_string(size) + " bytes of " +
                          (dynamic ? "dynamic" : "static") + " shared memory");
    }
    fail_kernel(cudaErrorIllegalAddress);
  }
}

void BlockWatch::access_shared(const Access& access, uint64_t offset) {
  if (unsettled_ && !access.continues) settle();
  check_place_in_shared(access, offset);
  if (async_ && async_->flying != 0) check_in_flight(access, offset);
  uint8_t* written = shared_written_.data() + offset;
  if (reads(access.use)) {
    if (!equal(written, run_bytes_, access.size)) read_of_unwritten_shared(access, offset);
  }
  if (writes(access.use)) assign(written, run_bytes_, access.size);

  // `volatile` is no excuse here: it does not order the lanes of a warp.
  const unsigned thread = state.thread;
  const Accessor now{&order_, thread, access.pc, writes(access.use), is_atomic(access.use)};
  Rival rival;
  if (access.compares) swaps(shared_races_.own_read(offset, now, last_access_[thread]));
  last_access_[thread] = order_.clock(thread);
  if (shared_races_.access(offset, access.size, now, &rival)) found_race(access, rival, true);
  if (cluster_stamp_ != 0) {
    meet_in_cluster(access, *this, offset);
  } else if (is_atomic(access.use) || is_volatile(access.use)) {
    hand_over(access, launch_->key(board_key(order_.number(), offset)));
  }
}

// An atomic or volatile access: finds what is published under the key, and publishes.
void BlockWatch::hand_over(const Access& access, uint64_t key) {
  order_.observe(key, launch_->board, access.scope);
  if (writes(access.use)) order_.publish(state.thread, key, launch_->board, access.scope);
  observe_at_ = key;
  observe_scope_ = access.scope;
  unsettled_ = true;
}

// ---- shared memory of the blocks of a cluster

// By a thread of this block, to the shared memory of another one.
void BlockWatch::access_remote(const Access& access, BlockWatch& owner) {
  const uint64_t offset = access.address - owner.shared_base_;
  if (unsettled_ && !access.continues) settle();
  check_place_in_shared(access, offset);
  if (owner.async_ && owner.async_->flying != 0) owner.check_in_flight(access, offset);
  const uint8_t* written = owner.shared_written_.data() + offset;
  if (reads(access.use) && !equal(written, owner.run_bytes_, access.size))
    owner.read_of_unwritten_shared(access, offset);
  if (writes(access.use)) owner.copy_wrote(offset, access.size);
  owner.remote_access(*this, access.pc);
  meet_in_cluster(access, owner, offset);
  last_access_[state.thread] = order_.clock(state.thread);
}

// Each block of a cluster has a second table of its shared memory, for accesses of all of them. It
// is asked about those of two blocks, and about those of one in the memory of another.
void BlockWatch::meet_in_cluster(const Access& access, BlockWatch& owner, uint64_t offset) {
  const bool strong = is_atomic(access.use) || is_volatile(access.use);
  const uint64_t key = launch_->key(board_key(owner.order_.number(), offset));
  if (strong) order_.observe(key, launch_->board, access.scope);
  const Accessor now{&order_, state.thread, access.pc,   writes(access.use),
                     strong,  key,          access.scope};
  Rival rival;
  GlobalRaces& races = *owner.cluster_races_;
  if (access.compares)
    swaps(races.own_read(offset, owner.cluster_stamp_, now, last_access_[state.thread]));
  if (races.access(offset, access.size, owner.cluster_stamp_, now, &rival) &&
      (&owner != this || rival.block != order_.number()))
    found_race(access, rival, true);
  if (strong) hand_over(access, key);
}

void BlockWatch::copy_wrote(uint64_t offset, size_t bytes) {
  std::memset(shared_written_.data() + offset, run_, bytes);
}

void BlockWatch::read_of_unwritten_shared(const Access& access, uint64_t offset) {
  const uint8_t* written = shared_written_.data() + offset;
  // Structures have gaps that nobody writes: a wide read is wrong only if none of it was written.
  if (access.size > 4 && std::count(written, written + access.size, run_) > 0) return;
  const SharedName name = shared_variable_at(offset);
  watcher->report(
      "uninitialized", bytes_text(access) + " of shared memory that was not written", access.pc,
      name.name.empty() ? "offset " + std::to_string(offset)
                        : "byte " + std::to_string(offset - name.offset) + " of " + name.name);
}

void BlockWatch::access_global(const Access& access, WatchedMemory& memory) {
  if (unsettled_ && !access.continues) settle();
  if (access.aligned && access.address % access.size != 0) {
    watcher->report("misaligned", "misaligned " + bytes_text(access), access.pc,
                    describe_address(pointer(access.address)) + ", and not a multiple of " +
                        std::to_string(access.size));
    fail_kernel(cudaErrorMisalignedAddress);
  }
  const uint64_t offset = access.address - memory.base;
  if (memory.written) {
    uint8_t* written = memory.written->data() + offset;
    if (reads(access.use) && !all_written(written, access.size)) {
      // Structures have gaps that nobody writes: a wide read is wrong only if none of it was
      // written.
      if (access.size <= 4 || all_zero(written, access.size)) {
        const bool guard = watcher->memory.is_guard(access.address);
        watcher->report(guard ? "out-of-bounds" : "uninitialized",
                        guard ? "out-of-bounds " + bytes_text(access)
                              : bytes_text(access) + " of memory that was not written",
                        access.pc,
                        describe_address(pointer(access.address)) +
                            (guard ? ", a guard beside the array" : ""));
      }
    }
    if (writes(access.use)) assign(written, kAllByKernel, access.size);
  }
  if (writes(access.use) && memory.stamp_of_writes.load(std::memory_order_relaxed) != stamp_)
    memory.stamp_of_writes.store(stamp_, std::memory_order_relaxed);
  const unsigned thread = state.thread;
  const bool strong = is_atomic(access.use) || is_volatile(access.use);
  if (strong && reads(access.use) && memory.allocation.kind != MemoryKind::kDevice)
    launch_->listens();
  if (writes(access.use) && memory.allocation.constant) {
    watcher->report("read-only", bytes_text(access) + " of constant memory in a kernel", access.pc,
                    describe_address(pointer(access.address)));
    fail_kernel(cudaErrorIllegalAddress);
  }
  if (memory.races) {
    // What an atomic finds published at its address is observed before the access is judged.
    if (strong) order_.observe(access.address, launch_->board, access.scope);
    const bool excused = strong && !(options().plain_volatile && is_volatile(access.use));
    // In device memory, and with one stream, all other work comes before or behind.
    const bool alone = memory.allocation.kind == MemoryKind::kDevice &&
                       !watcher->several_streams.load(std::memory_order_relaxed);
    const Accessor now{&order_, thread,         access.pc,    writes(access.use),
                       excused, access.address, access.scope, alone ? nullptr : launch_};
    Rival rival;
    if (access.compares) swaps(memory.races->own_read(offset, stamp_, now, last_access_[thread]));
    if (memory.races->access(offset, access.size, stamp_, now, &rival)) {
      found_race(access, rival, false);
    }
    if (strong) {
      if (writes(access.use)) order_.publish(thread, access.address, launch_->board, access.scope);
      observe_at_ = access.address;
      observe_scope_ = access.scope;
      unsettled_ = true;
    }
  }
  last_access_[thread] = order_.clock(thread);
}

// ---- races ------------------------------------------------------------------------------------

void BlockWatch::swaps(uint32_t guess) {
  if (guess != 0 && guesses_.insert(guess).second) launch_->guesses(guess);
}

void BlockWatch::found_race(const Access& access, const Rival& rival, bool shared) {
  const uint64_t pair = pair_of(access.pc, rival);
  if (reported_races_.count(pair) != 0) return;
  if (rival.wrote && access.use == Use::kWrite && !rival.atomic) {
    unsettled_ = true;
    suspects_.push_back({shared, access, state.thread, rival, {}});
    std::memcpy(suspects_.back().before, pointer(access.address), access.size);
    return;
  }
  reported_races_.insert(pair);
  report_race(access, state.thread, rival, shared);
}

// The access before this event has been carried out.
void BlockWatch::settle() {
  unsettled_ = false;
  if (observe_at_ != 0) order_.observe(observe_at_, launch_->board, observe_scope_);
  observe_at_ = 0;
  for (const Suspect& suspect : suspects_) {
    // Did the suspected write change anything?
    const Access& access = suspect.access;
    if (std::memcmp(suspect.before, pointer(access.address), access.size) == 0) continue;
    if (reported_races_.insert(pair_of(access.pc, suspect.rival)).second)
      report_race(access, suspect.thread, suspect.rival, suspect.shared);
  }
  suspects_.clear();
}

void BlockWatch::announced_range(uint64_t address, uint64_t size, uint32_t pc, Use use) {
  in_pieces(address, size, [&](uint64_t at, unsigned piece, bool continues) {
    access({at, pc, static_cast<uint16_t>(piece), depth_, use, false, continues});
  });
}

// What an atomic access before the fence has found is known only once it has been carried out.
void BlockWatch::fence(Scope scope) {
  if (unsettled_) settle();
  order_.fence(state.thread, scope);
}

void BlockWatch::acquire(Scope scope) {
  if (unsettled_) settle();
  order_.acquire(scope);
}

std::string BlockWatch::thread_name(unsigned thread) const {
  const uint3 index = block_->thread_index[thread];
  return "thread (" + std::to_string(index.x) + "," + std::to_string(index.y) + "," +
         std::to_string(index.z) + ")";
}

void BlockWatch::report_unordered(const Access& access, const Rival& rival) {
  const SourceLine here = line_of_return_address(access.pc);
  CheckReport report;
  report.kernel = launch_->name;
  report.file = here.file;
  report.line = here.line;
  std::string missing;
  if (launch_->work.id != 0 && rival.stamp != 0) {
    const uint64_t there = watcher->id_of(rival.stamp);
    const bool scope = (is_atomic(access.use) && rival.atomic) ||
                       order_.in_reach_of_wider_scopes(LaunchId::block(there, rival.block),
                                                       rival.thread, rival.clock);
    missing = !scope ? "their streams do not wait for one another: record an event, "
                       "cudaStreamWaitEvent; kernels that run at the same time hand over by a "
                       "flag, with fences before its store and behind its load"
              : LaunchId::device(there) == LaunchId::device(launch_->work.id)
                  ? "what has the scope of a block orders nothing for another block"
                  : "what has the scope of a device orders nothing for another device";
  }
  watcher->report_unordered(launch_->work.what + (writes(access.use) ? " writes" : " reads") +
                                ", launched at " + std::string(launch_->work.at.file) + ":" +
                                std::to_string(launch_->work.at.line),
                            to_string(here) + describe_inlined_calls(access.pc), rival,
                            access.address, std::move(report), missing);
}

void BlockWatch::report_race(const Access& access, unsigned thread, const Rival& rival,
                             bool shared) {
  if (rival.of_other_work) return report_unordered(access, rival);
  const dim3 grid = block_->launch->grid;
  const auto block_name = [&](uint64_t number) {
    return "block (" + std::to_string(number % grid.x) + "," +
           std::to_string(number / grid.x % grid.y) + "," +
           std::to_string(number / grid.x / grid.y) + ")";
  };
  const auto does = [](bool wrote, bool atomic, Scope scope) {
    return scope == Scope::kBlock ? " accesses atomically, with block scope"
           : atomic               ? " accesses atomically"
           : wrote                ? " writes"
                                  : " reads";
  };
  const bool atomic = is_atomic(access.use);
  const SourceLine here = line_of_return_address(access.pc),
                   there = line_of_return_address(rival.pc);
  CheckReport report;
  report.check = "race";
  report.kernel = launch_->name;
  report.file = here.file;
  report.line = here.line;
  const char* kind = rival.wrote && writes(access.use) ? "two writes"
                     : rival.wrote                     ? "read after write"
                                                       : "write after read";
  report.message = std::string("error [race]: ") + kind + " in " + (shared ? "shared" : "global") +
                   " memory without synchronisation between\n  kernel " + launch_->name;
  report.message += "\n  at " + to_string(here) + ": " + block_name(block_->number) + ", " +
                    thread_name(thread) + does(writes(access.use), atomic, access.scope) +
                    describe_inlined_calls(access.pc);
  // The thread index of another block follows from the same block shape.
  report.message += "\n  at " + to_string(there) + ": " + block_name(rival.block) + ", " +
                    thread_name(rival.thread) + does(rival.wrote, rival.atomic, rival.scope) +
                    describe_inlined_calls(rival.pc);
  if (shared) {
    const Block* owner = owner_of_shared(pointer(access.address));
    const BlockWatch& owners = owner == nullptr ? *this : *watch_of(owner);
    const uint64_t offset = access.address - owners.shared_base_;
    const SharedName name = shared_variable_at(offset);
    if (!name.name.empty()) {
      report.message += "\n  byte " + std::to_string(offset - name.offset) + " of " + name.name;
      if (cluster_stamp_ != 0) report.message += " of " + block_name(owners.order_.number());
    }
    if (rival.block != block_->number)
      report.message += "\n  no barrier of the cluster, and no mbarrier, stands between";
  } else {
    report.message += "\n  " + describe_address(pointer(access.address));
  }
  if (rival.block != block_->number &&
      (access.scope == Scope::kBlock || rival.scope == Scope::kBlock ||
       order_.in_reach_of_wider_scopes(order_.block_of_launch(rival.block), rival.thread,
                                       rival.clock)))
    report.message += "\n  what has the scope of a block orders nothing for another block";
  // The barrier that stands between the two lines is no help to the next turn.
  const unsigned written = rival.wrote ? there.line : here.line;
  const unsigned read = rival.wrote ? here.line : there.line;
  if (rival.wrote != writes(access.use) && rival.block == block_->number &&
      block_->barriers_passed > 0 && here.file == there.file && written < read) {
    report.message +=
        "\n  if both are in a loop, the write is that of a later turn, and a barrier " +
        std::string("is missing behind the read");
  }
  if (shared) report.message += describe_unexpected_arrivals(*block_);
  const std::vector<std::string> places = {to_string(here), to_string(there)};
  const bool reads_plainly = access.use == Use::kRead, read_plainly = !rival.wrote && !rival.atomic;
  if ((reads_plainly && rival.atomic) || (atomic && read_plainly)) {
    const uint32_t read_at = reads_plainly ? access.pc : rival.pc;
    return launch_->race_with_read(read_at, std::move(report), places);
  }
  watcher->reports.add(std::move(report), places);
}

// ---- waiting ----------------------------------------------------------------------------------

void BlockWatch::record(const TraceEvent& event) {
  const auto count = [this](Effort effort, uint64_t how_much) {
    efforts_[static_cast<unsigned>(effort)][state.thread] += how_much;
  };
  count(Effort::kSteps, 1);
  if (event.kind == TraceKind::kGlobalLoad) count(Effort::kLoadBytes, event.size);
  if (event.kind == TraceKind::kGlobalStore) count(Effort::kStoreBytes, event.size);
  WarpTrace& trace = traces_[state.thread / kWarpSize];
  if (!trace.record(state.lane, event)) return;
  // Who polls has room for a few looks only, and would begin to count them anew after every pause.
  if (state.polls > 0) {
    give_way();
  } else {
    pause_thread();
  }
}

// For an event each lane waits by itself: some come when it is there already, others never ask. So
// nothing is written down that would keep a lane from going on before the others wait, too.
void BlockWatch::event_wait() {
  if (unsettled_) settle();
  steps_until_turn_ = kStepsPerTurn;
  loop_pc_[state.thread] = 0;
}

void BlockWatch::wait(TraceKind kind, uint32_t lanes) {
  event_wait();
  if (counting_) traces_[state.thread / kWarpSize].record(state.lane, {lanes, 0, 0, kind, 0});
}

void BlockWatch::barrier_wait(Location at) {
  if (barrier_at_.file == nullptr) {
    barrier_at_ = at;
  } else {
    barrier_mixed_ |= barrier_at_.line != at.line || std::strcmp(barrier_at_.file, at.file) != 0;
  }
  wait(TraceKind::kBarrier, 0);
}

void BlockWatch::thread_exit() {
  if (unsettled_) settle();
  steps_until_turn_ = kStepsPerTurn;
  loop_pc_[state.thread] = 0;
  if (counting_) traces_[state.thread / kWarpSize].lane_exited(state.lane);
}

void BlockWatch::take_turns(uint32_t pc) {
  steps_until_turn_ = kStepsPerTurn;
  loop_pc_[state.thread] = pc;
  give_way();
}

std::string BlockWatch::describe_loops(SourceLine* first) const {
  for (unsigned thread = 0; thread < block_->thread_count; ++thread) {
    if (loop_pc_[thread] == 0) continue;
    *first = line_of_return_address(loop_pc_[thread]);
    return "\n  " + thread_name(thread) + " loops at " + to_string(*first);
  }
  return "";
}

namespace {
constexpr char kSomeHaveExited[] =
    "some threads have exited without reaching the barrier of the others";
}  // namespace

void BlockWatch::barrier() {
  order_.barrier();
  if (counting_) {
    unsigned warps = 0;
    for (unsigned warp = 0; warp < block_->warp_count; ++warp) {
      const unsigned first = warp * kWarpSize;
      const unsigned last = std::min(first + kWarpSize, block_->thread_count);
      warps += std::any_of(block_->state + first, block_->state + last,
                           [](State state) { return state == State::kBarrier; });
    }
    counters_.count_barrier(warps);
  }
  const Location at = barrier_at_;
  const bool mixed = barrier_mixed_;
  barrier_at_ = {nullptr, 0};
  barrier_mixed_ = false;
  if (!watcher->checking || (!mixed && block_->exited == 0)) return;
  report_divergence(State::kBarrier, at,
                    mixed ? "threads of one block wait at different barriers" : kSomeHaveExited);
}

// Threads of the block wait `at` a barrier in this state.
void BlockWatch::report_divergence(State waiting, Location at, const std::string& what) {
  CheckReport report;
  report.check = "barrier-divergence";
  report.kernel = launch_->name;
  report.file = at.file == nullptr ? "" : at.file;
  report.line = static_cast<unsigned>(at.line);
  report.message = "error [barrier-divergence]: " + what;
  report.message += "\n  kernel " + launch_->name + ", block (" + std::to_string(block_->index.x) +
                    "," + std::to_string(block_->index.y) + "," + std::to_string(block_->index.z) +
                    ")";
  // One line for each place where threads are, with the first of them.
  struct Group {
    std::string place;
    unsigned first, count;
  };
  std::vector<Group> groups;
  for (unsigned i = 0; i < block_->thread_count; ++i) {
    const Location waits_at = block_->place[i];
    const std::string place = block_->state[i] == waiting ? "at " + std::string(waits_at.file) +
                                                                ":" + std::to_string(waits_at.line)
                                                          : "exited";
    const auto same = std::find_if(groups.begin(), groups.end(),
                                   [&](const Group& group) { return group.place == place; });
    if (same == groups.end()) {
      groups.push_back({place, i, 1});
    } else {
      ++same->count;
    }
  }
  for (const Group& group : groups) {
    report.message += "\n  " + group.place + ": " + std::to_string(group.count) +
                      (group.count == 1 ? " thread, " : " threads, first ") +
                      thread_name(group.first);
  }
  const std::string where = report.file + ":" + std::to_string(report.line);
  watcher->reports.add(std::move(report), {where});
}

void BlockWatch::grid_barrier() {
  order_.barrier();
  if (counting_) {
    // On a GPU: all threads of the block meet, one of them arrives with an atomic and polls, and
    // all meet again.
    for (int i = 0; i < 2; ++i) counters_.count_barrier(block_->warp_count);
    const uint64_t address = 0;
    counters_.execute({address, 0, 0, TraceKind::kGlobalAtomic, 4}, 1, &address);
  }
  stamp_ = launch_->stamp(++grid_phase_);
  if (!watcher->checking) return;
  uint64_t missing = 0;
  {
    std::lock_guard<std::mutex> lock(launch_->mutex);
    for (const auto& [passed, blocks] : launch_->ended)
      if (passed < grid_phase_) missing += blocks;
  }
  if (missing == 0 && block_->exited == 0) return;
  const State* first = std::find(block_->state, block_->state + block_->thread_count, State::kGrid);
  report_divergence(State::kGrid, block_->place[first - block_->state],
                    missing == 0
                        ? kSomeHaveExited
                        : std::to_string(missing) +
                              " of the grid's blocks have ended, and "
                              "the others wait for them at grid.sync(): on a GPU for ever");
}

void BlockWatch::warp_idle(unsigned warp) {
  if (counting_) traces_[warp].replay(counters_);
}

}  // namespace simt
