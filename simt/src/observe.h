// The observer of an instrumented program: what stands behind the checks and the counters.
//
//   observe_hooks.cpp   the compiler calls these: before a memory access, in every basic block
//   observe.cpp         the engine calls these: a block starts, a thread waits, memory is allocated
//   observe_block.cpp   what happens to each access of a running block
//   observe_async.cpp   and to its copies and products in the background
//   check_*             what is a violation, and how it is told
//   profile_*           what is counted, and how it is told
//   dwarf_lines.*       code address -> file and line
//
// Each running block has a BlockWatch. Only the worker that runs the block uses it, so it needs no
// locks; what the blocks of a launch share (publications, see check_order.h) is in its LaunchWatch.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "check_async.h"
#include "check_memory.h"
#include "check_order.h"
#include "check_races.h"
#include "check_reports.h"
#include "dwarf_lines.h"
#include "engine.h"
#include "profile_counters.h"
#include "profile_trace.h"

namespace simt {

// How memory is used by one access. kAtomic reads and writes; kAtomicOverwrite is an exchange whose
// old value nobody takes, so what stood there does not matter.
enum class Use : uint8_t {
  kRead,
  kWrite,
  kVolatileRead,
  kVolatileWrite,
  kAtomicLoad,
  kAtomicStore,
  kAtomic,
  kAtomicOverwrite,
};
constexpr bool writes(Use use) {
  return use == Use::kWrite || use == Use::kVolatileWrite || use == Use::kAtomicStore ||
         use == Use::kAtomic || use == Use::kAtomicOverwrite;
}
constexpr bool reads(Use use) { return !writes(use) || use == Use::kAtomic; }
constexpr bool is_atomic(Use use) { return use >= Use::kAtomicLoad; }
constexpr bool is_volatile(Use use) {
  return use == Use::kVolatileRead || use == Use::kVolatileWrite;
}

// One access as the hooks see it.
struct Access {
  uint64_t address;
  uint32_t pc;     // return address into the user's code, relative to the program
  uint16_t size;   // 1, 2, 4, 8 or 16
  uint16_t depth;  // of calls; only for the counters
  Use use;
  bool aligned;            // the code demands an address that is a multiple of the size
  bool continues = false;  // the next piece of the same copy: nothing was carried out in between
  Scope scope = Scope::kSystem;  // of an atomic
  bool compares = false;         // atomicCAS and its kin
};

// A copy of a structure: on a GPU several loads or stores, each as wide as the alignment allows.
// Calls what(address, size, continues) for each.
template <class What>
inline __attribute__((always_inline)) void in_pieces(uint64_t at, uint64_t size, What what) {
  for (bool continues = false; size > 0; continues = true) {
    uint64_t piece = 16;
    while (piece > size || at % piece != 0) piece /= 2;
    what(at, static_cast<unsigned>(piece), continues);
    at += piece;
    size -= piece;
  }
}

// Who has a stamp: a launch (several, if its grid meets), a copy, a fill.
struct Work {
  uint64_t id;  // of a launch: the part of its blocks' ids that is the same for all of them
  std::shared_ptr<const Place> place;
  std::string what;  // "kernel k", "a copy"
  Location at;       // where it was asked for
};

// What the blocks of one launch share.
class LaunchWatch final : public OtherWork {
 public:
  LaunchWatch(const Launch& launch, bool counting);
  bool unordered(const Earlier& then, const Accessor* now) override;

  // A thread looks at a word that the host may have stored.
  void listens();

  // The stamp of the stretch after `phase` grid-wide barriers.
  uint32_t stamp(unsigned phase);

  const std::string name;
  const bool counting;
  const Work work;
  // The host's accesses since it asked for the launch are not ordered before it, unless the kernel
  // has looked at a word of the host's.
  std::atomic<uint64_t> asked;
  std::vector<StructurePointer> structures;
  // With several devices all launches have one.
  ReleaseBoard& board;
  // What is published in shared memory or of barriers there, by all launches.
  uint64_t key(uint64_t of_launch) const { return of_launch ^ (work.id & kKeyBits); }
  // What comes before it; null: with one device.
  const Knowledge* start = nullptr;
  // A block has ended; and all have.
  void learns(BlockOrder& order);
  Knowledge take_learned();

  // A plain read that goes before a compare-and-swap of the same word is a first guess: the swap
  // finds out whether it was right. That the read at a place in the code is one is known only when
  // the swap comes, so what races with it is told when the launch has ended.
  void guesses(uint32_t pc);
  void race_with_read(uint32_t pc, CheckReport report, std::vector<std::string> places);
  void tell_races_with_reads();

  std::mutex mutex;
  std::vector<std::unique_ptr<class BlockWatch>>
      idle;  // finished blocks' watches, to be used again
  // Of a cooperative launch: how many blocks have ended, by the grid-wide barriers they had passed.
  std::map<unsigned, uint64_t> ended;

 private:
  struct RaceWithRead {
    uint32_t pc;
    CheckReport report;
    std::vector<std::string> places;
  };
  // The keys are inverted numbers of a block and 20 bits; these are ones in all of them.
  static constexpr uint64_t kKeyBits = uint64_t{0x7ffff} << 44;
  ReleaseBoard own_board_;
  Knowledge learned_;
  std::set<const Knowledge*> joined_;
  std::vector<RaceWithRead> races_with_reads_;
  std::unordered_set<uint32_t> guesses_;

  std::mutex stamp_mutex_;
  std::vector<uint32_t> stamps_;
};

class BlockWatch {
 public:
  BlockWatch();

  void begin(Block& block, LaunchWatch& launch);
  void end();
  Counters& counters() { return counters_; }

  // By the running thread.
  void access(const Access& access);
  void basic_block(uint32_t pc, uint16_t depth) {
    depth_ = depth;
    if (counting_) record({0, pc, depth, TraceKind::kBasicBlock, 0});
    if (--steps_until_turn_ == 0) take_turns(pc);
  }
  // An access that a device function of our headers announces, on behalf of the code that called
  // it.
  void announced(uint64_t address, unsigned size, uint32_t pc, Use use, Scope scope,
                 bool compares) {
    access({address, pc, static_cast<uint16_t>(size), depth_, use, true, false, scope, compares});
  }
  void announced_range(uint64_t address, uint64_t size, uint32_t pc, Use use);
  void fence(Scope scope = Scope::kSystem);
  void release(Scope scope) { order_.release(state.thread, scope); }
  void acquire(Scope scope);
  void publish(uint64_t key) {
    order_.publish_all(state.thread, launch_->key(key), launch_->board);
  }
  void receive(uint64_t key) { order_.receive(launch_->key(key), launch_->board); }
  void pass_on(uint64_t key, uint64_t to) {
    launch_->board.pass_on(launch_->key(key), launch_->key(to));
  }
  void event_wait();
  // A copy in the background has written to this block's shared memory.
  void copy_wrote(uint64_t offset, size_t bytes);
  void count(Beside what, uint64_t how_much) {
    if (counting_) counters_.count(what, how_much);
  }
  void named_barrier(unsigned warps) {
    if (counting_) counters_.count_barrier(warps);
  }
  // What works beside the threads (observe_async.cpp). own: asked for by a thread of this block.
  void takes_off(const InFlight& flight, bool own);
  bool copies_global(uint64_t address, uint64_t bytes, bool is_write, uint32_t pc);
  void copy_reads(uint64_t address, uint64_t bytes, uint32_t pc);
  void lands(const InFlight& flight);
  void proxy_fence();
  void product_fence();
  void product(uint32_t number, const ProductRegisters& given, uint32_t pc);
  void products_done(uint32_t count);
  bool has_products() const { return async_ && async_->any_products; }
  void local_access(uint64_t address, unsigned size, uint32_t pc, bool is_write);
  void mbarrier_made(unsigned offset);
  void mbarrier_fence();
  // Of an mbarrier of this block.
  const char* mbarrier_unseen(BlockWatch& user, unsigned offset, bool by_copy);
  // By a thread of the accessor's block, to this one's shared memory.
  void remote_access(BlockWatch& accessor, uint32_t pc);
  void barrier_wait(Location at);
  void grid_wait() { wait(TraceKind::kBarrier, 0); }
  unsigned grid_barriers() const { return grid_phase_; }  // passed so far
  void warp_wait(uint32_t lanes) { wait(TraceKind::kWarpSync, lanes); }
  void thread_exit();

  // By the scheduler.
  void barrier();
  void grid_barrier();
  void warp_operation(unsigned warp, uint32_t lanes) { order_.warp_sync(warp, lanes); }
  void warp_idle(unsigned warp);

  // Where the threads that loop without an end were seen last; "" if there are none.
  std::string describe_loops(SourceLine* first) const;

 private:
  void wait(TraceKind kind, uint32_t lanes);
  void record(const TraceEvent& event);
  void record_shared(const Access& access, uint64_t offset);
  void record_global(const Access& access, const WatchedMemory& memory);
  void record_members(const Access& access, TraceKind kind, const Layout& type, uint64_t offset,
                      uint64_t widest);
  void take_turns(uint32_t pc);

  // Alignment and bounds in the shared memory of a block of this launch.
  void check_place_in_shared(const Access& access, uint64_t offset);
  void access_shared(const Access& access, uint64_t offset);
  void access_remote(const Access& access, BlockWatch& owner);
  void meet_in_cluster(const Access& access, BlockWatch& owner, uint64_t offset);
  void begin_in_cluster(unsigned blocks);
  void hand_over(const Access& access, uint64_t key);
  void read_of_unwritten_shared(const Access& access, uint64_t offset);
  void access_global(const Access& access, WatchedMemory& memory);
  // Device code frees memory, too, so what a block met may belong to another by now.
  void forget_if_changed();
  WatchedMemory* find_memory(const Access& access);
  WatchedMemory* look_up(const Access& access);
  // Is it the memory of another device?
  bool is_elsewhere(const WatchedMemory& memory) const {
    return memory.allocation.device != device_ && memory.allocation.kind == MemoryKind::kDevice;
  }
  void check_device(const Access& access, const WatchedMemory& memory);
  void count_link(uint64_t bytes, Use use);

  bool is_argument(const Access& access) const;
  bool shared_in_bounds(uint64_t offset, unsigned size) const;
  void report_divergence(State waiting, Location at, const std::string& what);
  void report_race(const Access& access, unsigned thread, const Rival& rival, bool shared);
  void swaps(uint32_t guess);
  void report_unordered(const Access& access, const Rival& rival);
  void found_race(const Access& access, const Rival& rival, bool shared);
  void settle();
  AsyncChecks& async();
  static uint64_t shared_bytes();
  bool in_flight(uint64_t offset, unsigned bytes, bool writes) const;
  std::string flight_text(uint64_t offset, unsigned bytes, bool writes) const;
  void check_in_flight(const Access& access, uint64_t offset);
  void check_bounds(const InFlight& flight, uint32_t pc);
  void check_overlap(const InFlight& flight, uint32_t pc);
  void check_overwritten(const InFlight& flight, uint32_t pc, bool own);
  std::string unfenced_use(const InFlight& flight);
  void check_source(const InFlight& flight, uint32_t pc, bool own);
  bool check_piece(const InFlight& flight, uint32_t pc, unsigned offset);
  void found_async_race(const InFlight& flight, uint32_t pc, const Rival& rival);
  void check_remotes();
  std::string thread_name(unsigned thread) const;

  Block* block_ = nullptr;
  LaunchWatch* launch_ = nullptr;
  bool counting_ = false;
  int device_ = 0;
  uint64_t shared_base_ = 0;
  // The worker's thread-local data, with threadIdx and the like in it.
  uint64_t thread_data_ = 0, thread_data_bytes_ = 0;

  // ---- checks
  BlockOrder order_;
  SharedRaces shared_races_;
  std::unique_ptr<GlobalRaces> cluster_races_;  // once the block is of a cluster
  uint32_t cluster_stamp_ = 0;                  // in that; 0: it is not
  uint32_t cluster_blocks_ = 0;                 // that have used it since it was empty
  // Per byte of shared memory the number of the block that wrote it last, modulo 255.
  ShadowArray<uint8_t> shared_written_;
  uint8_t run_ = 0;
  uint8_t run_bytes_[16];
  uint32_t stamp_ = 0;
  unsigned grid_phase_ = 0;

  // The memory that an access at some code address met last: mostly it meets the same again.
  struct Recent {
    uint64_t base = 0, bytes = 0;
    WatchedMemory* memory = nullptr;
  };
  static constexpr unsigned kRecent = 64;
  Recent recent_[kRecent];
  uint64_t generation_ = 0;

  // Two writes of the same value are no race; whether they are shows only after the store, so a
  // suspected write waits here until the next event of the block: all pieces of it, if it is wide.
  struct Suspect {
    bool shared;
    Access access;
    unsigned thread;
    Rival rival;
    unsigned char before[16];
  };
  std::vector<Suspect> suspects_;
  // An atomic or volatile access may meet what another block publishes between our hook and the
  // access itself, so it observes at the next event of the block, too.
  uint64_t observe_at_ = 0;
  Scope observe_scope_ = Scope::kSystem;
  bool unsettled_ = false;                       // one of the two is waiting
  std::unordered_set<uint64_t> reported_races_;  // pairs of code addresses
  std::unordered_set<uint32_t> guesses_;         // code addresses, see LaunchWatch::guesses()
  // Each thread's clock at its last access. A read then and a swap now: nothing but fences lies
  // between, and what they order the read before is the swap alone.
  uint32_t last_access_[kBlockThreads];
  std::unique_ptr<AsyncChecks> async_;  // once the block does something in the background

  // Do the threads of the block wait at one and the same barrier?
  Location barrier_at_{nullptr, 0};
  bool barrier_mixed_ = false;

  // A thread that loops without ever waiting lets the others run after this many basic blocks.
  static constexpr uint32_t kStepsPerTurn = 1u << 20;
  uint32_t steps_until_turn_ = kStepsPerTurn;
  std::vector<uint32_t> loop_pc_;  // per thread: where it was when it last took a turn, 0: never

  // ---- counters
  uint16_t depth_ = 0;  // of the basic block that was entered last
  std::unique_ptr<WarpTrace[]> traces_;
  std::vector<uint64_t> efforts_[kEfforts];  // of each thread
  Counters counters_;
};

// What the whole program shares.
class Watcher final : public Observer {
 public:
  Watcher();

  void launch_begin(Launch& launch) override;
  void launch_end(Launch& launch) override;
  void block_begin(Block& block) override;
  void block_end(Block& block) override;
  void barrier(Block& block) override;
  void grid_barrier(Block& block) override;
  void warp_operation(Block& block, unsigned warp, uint32_t lanes, uint32_t named) override;
  void warp_idle(Block& block, unsigned warp) override;
  void barrier_wait(Barrier barrier, Location at) override;
  void grid_wait(Location at) override;
  void warp_wait(uint32_t named, const WarpOperation& operation, Location at) override;
  void thread_exit() override;
  void read(const void* address, unsigned bytes, const void* pc) override;
  void write(const void* address, unsigned bytes, const void* pc) override;
  void range(const void* address, size_t bytes, bool writes, const void* pc) override;
  void atomic(const void* address, unsigned bytes, const void* pc, Scope scope) override;
  void atomic_cas(const void* address, unsigned bytes, const void* pc, Scope scope) override;
  void atomic_overwrite(const void* address, unsigned bytes, const void* pc, Scope scope) override;
  void atomic_load(const void* address, unsigned bytes, const void* pc, Scope scope) override;
  void atomic_store(const void* address, unsigned bytes, const void* pc, Scope scope) override;
  void fence(Scope scope) override;
  void release(Scope scope) override;
  void acquire(Scope scope) override;
  void publish(uint64_t key) override;
  void receive(uint64_t key) override;
  void pass_on(uint64_t key, uint64_t to) override;
  std::string place_of_call(const void* pc) override;
  void event_wait() override;
  void named_barrier(unsigned warps) override;
  void copy_wrote(const void* address, size_t bytes) override;
  void count(Beside what, uint64_t how_much) override;
  void takes_off(const InFlight& flight) override;
  bool copies_global(const void* address, size_t bytes, bool is_write, const void* pc) override;
  void copy_reads(const void* address, size_t bytes, const void* pc) override;
  void lands(const InFlight& flight) override;
  void proxy_fence() override;
  void product_fence() override;
  void product(uint32_t number, const ProductRegisters& given, const void* pc) override;
  void products_done(uint32_t count) override;
  void mbarrier_made(unsigned offset) override;
  void mbarrier_fence() override;
  const char* mbarrier_unseen(Block& owner, unsigned offset, bool by_copy) override;
  void remote_access(Block& owner, const void* pc) override;
  bool fault(const void* address, const void* pc, bool is_write) override;
  bool finding(const Finding& finding) override;
  void allocated(const Allocation& allocation) override;
  void freed(const Allocation& allocation) override;
  void copied(void* to, const void* from, size_t bytes, Location at) override;
  void filled(void* to, size_t bytes, Location at) override;
  void stream_frees(const Allocation& allocation, Location at) override;
  void task_begins(const std::shared_ptr<const Place>& place) override;
  void task_ends() override;
  void host_asks() override;
  void second_stream() override { several_streams = true; }
  void peer_access_changed() override { memory.changed(); }
  void program_end() override;

  // ---- host, streams, copies (check_streams.cpp)
  // Does nothing order the work with this stamp before the work at `place`?
  bool unordered_work(uint32_t stamp, const Place& place);
  // Of the launch that has it.
  uint64_t id_of(uint32_t stamp);
  // All that comes before an operation at the place.
  Knowledge known_before(const Place& place);
  // The host has seen, by a volatile or an atomic read of this address, what some work stored
  // there.
  void host_sees(uint64_t address);
  void host_shares(uint64_t address, unsigned size, uint32_t pc, Use use);
  // The host touches what lies among the program's variables.
  void host_touches_variable(uint64_t address, uint32_t pc, Use use);
  // "x.cu:3: kernel k reads" and the like.
  std::string describe_work(const Rival& rival);
  void report_unordered(const std::string& now, const std::string& place, const Rival& rival,
                        uint64_t address, CheckReport report, const std::string& missing);

  // Are launches that begin now counted?
  static bool is_counting();

  // Has the program asked for anything in more than one stream?
  std::atomic<bool> several_streams{false};

  // By host code that touches an address between memory.low and memory.high.
  void report_leaks();
  void host_access(uint64_t address, uint32_t pc, bool is_write);
  void beyond_managed(const Allocation& near, const void* address, uint32_t pc, bool is_write);
  void check_arguments(const Launch& launch);
  // A report about the running thread at the code address.
  void report(const char* check, const std::string& what, uint32_t pc, const std::string& more);
  uint32_t new_stamp(const Work& work);
  // In the program's own image? And there what stays as it is, such as a table that is constexpr?
  bool is_program_data(uint64_t address) const;
  bool is_program_constant(uint64_t address) const;

  const bool checking;
  MemoryMap memory;
  CheckReports reports;
  ProfileBook book;
  ReleaseBoard board;  // of all launches, with several devices
  const uint64_t program_base;
  const uint64_t thread_data_bytes;  // of the program's thread-local variables, in each OS thread

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<BlockWatch>> idle_;
  int launches_running_ = 0;
  uint32_t next_stamp_ = 1;
  std::mutex stamp_mutex_;
  std::vector<Work> works_ = std::vector<Work>(GlobalRaces::kStamps);
  static constexpr unsigned kKept = 64;
  // Of these, since those that the host has waited for were forgotten.
  std::atomic<unsigned> kept_{0};
  // For which the host is known to have waited.
  std::vector<std::atomic<bool>> waited_ = std::vector<std::atomic<bool>>(GlobalRaces::kStamps);

  // With several devices: what launches began with, and what is known where they have ended, by
  // stream and position.
  void forget_launches();
  std::mutex knowledge_mutex_;
  std::vector<std::unique_ptr<const Knowledge>> starts_;
  std::map<unsigned, std::map<uint64_t, Knowledge>> ends_;

  void work_touches(uint64_t address, uint64_t bytes, bool writes, const char* what, Location at);
};

// "\n  called at x.cu:3" and the like, for a code address in functions that were inlined.
std::string describe_inlined_calls(uint32_t pc);

// Is it one of the running thread's own variables? They are registers or local memory, which the
// checks do not look at.
inline bool is_local(uint64_t address) {
  const auto stack = reinterpret_cast<uint64_t>(state.stack_low);
  return address - stack < reinterpret_cast<uint64_t>(state.stack_high) - stack;
}

// Null before the first use of the device.
extern Watcher* watcher;

inline BlockWatch* watch_of(const Block* block) {
  return static_cast<BlockWatch*>(block->observer_data);
}

}  // namespace simt
