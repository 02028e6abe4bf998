// The engine's picture of a running kernel, and the interface through which an observer (the
// checks, the counters) watches it.
//
//   Launch   one kernel<<<grid, block>>>(...)
//   Block    one thread block; runs from start to end on one worker (an OS thread)
//   thread   one CUDA thread; a plain call until it first waits, then a fibre
//   Worker   an OS thread that runs one block at a time
//
// A plain build has no observer. An instrumented build links a function `make_observer()`; the
// engine calls it once, before the first launch, and then calls the observer's members where marked
// below.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fiber.h"
#include "simt/kernel.h"
#include "simt/location.h"
#include "simt/ptx_matrix.h"
#include "simt/shared.h"
#include "simt/state.h"
#include "simt/sync.h"
#include "simt/vector_types.h"
#include "simt/warp_operation.h"

namespace simt {

constexpr unsigned kWarpSize = 32;
constexpr unsigned kMaxThreads = 1024;  // of a block
constexpr int kMaxDevices = 8;
constexpr unsigned kMaxWarps = kMaxThreads / kWarpSize;
constexpr unsigned kAhead = 2;  // so many threads before its turn a thread's stack is fetched

// Shared memory of the block that a worker runs: 48 KiB for `__shared__ T x`, behind it the dynamic
// part. The addresses stay the same for every block of a worker; bank = (address / 4) % 32, and
// both parts start at a multiple of 1024 bytes.
constexpr size_t kDynamicSharedBytes = 228 * 1024;
// The blocks of a cluster run on one worker, each with shared memory of its own: block r of the
// cluster has slot r, this many bytes after the slot before. A block without a cluster has slot 0.
constexpr size_t kSharedSlotBytes = kStaticSharedBytes + kDynamicSharedBytes + 4096;
constexpr unsigned kMaxClusterBlocks = 16;

enum class State : uint8_t {
  kNew,         // not started
  kRunning,     // the worker executes it now
  kReady,       // suspended, may go on
  kBarrier,     // waits in __syncthreads or one of its kin
  kGrid,        // waits in grid.sync()
  kWarp,        // waits in a warp operation for the lanes named in `mask`
  kActiveMask,  // waits in __activemask until no other lane of the warp can arrive
  kYield,       // polled something; goes on after everybody else had a turn
  kNamed,       // waits in bar.sync for barrier `number`
  kMbarrier,    // waits for a phase of the mbarrier at `object`
  kCluster,     // waits in barrier.cluster.wait
  kWarpgroup,   // waits in wgmma for the other threads of its warpgroup
  kPaused,      // the observer paused it (pause_thread); goes on after Observer::warp_idle
  kExited,
};

// What a waiting thread waits for, beside its state.
struct Waiting {
  uint32_t mask = 0;                         // kWarp: the lanes named; kActiveMask: the result
  const WarpOperation* operation = nullptr;  // kWarp: what happens once all are there
  void* payload = nullptr;                   // kWarp, kWarpgroup: its operands and result
  const void* object = nullptr;              // kMbarrier: the mbarrier
  unsigned number = 0;                       // kNamed: which barrier; kMbarrier: the phase's parity
};

// What stands between <<< and >>>, but for the stream: how many blocks of how many threads.
struct LaunchShape {
  dim3 grid, block;
  size_t dynamic_shared = 0;  // bytes
  bool cooperative = false;   // grid.sync() is allowed: all blocks are resident at once
  Location at;                // of the <<<>>>
  dim3 cluster{0, 0, 0};      // blocks of a cluster in each direction; 0: without clusters
};

// How far each stream is known to have come: by its number, so many of its operations. What one
// clock has and another has not may still be under way.
using StreamClock = std::map<unsigned, uint64_t>;

// Where an operation (a kernel, a copy, a fill) stands among those of all streams.
struct Place {
  unsigned stream = 0;
  uint64_t position = 0;  // in its stream; all nodes of a graph have that of its last
  StreamClock clock;      // what it comes after
  uint64_t asked = 0;     // how many operations the host had asked for by then
  bool waits = false;     // the host asked and waited
  bool in_graph = false;  // a node of a graph
  bool comes_after(const Place& other) const {
    if (stream == other.stream) return true;
    const auto found = clock.find(other.stream);
    return found != clock.end() && found->second >= other.position;
  }
};

struct Launch : LaunchShape {
  uint64_t number = 0;  // 1, 2, 3, ... in the order the program asked for them
  int device = 0;
  Kernel* kernel = nullptr;
  unsigned cluster_blocks = 1;  // of one cluster
  uint64_t block_count = 0;
  unsigned threads_per_block = 0;

  std::atomic<uint64_t> next_block{0};       // first that no worker has taken yet
  std::atomic<uint64_t> finished_blocks{0};  // run to their end, or dropped after a fault
  std::atomic<bool> aborted{false};          // a fault happened: drop the rest
  std::atomic<uint64_t> waiting_at_grid{0};  // blocks that stand at grid.sync()
  std::atomic<uint64_t> grid_phase{0};       // how many times the whole grid has met there
  std::shared_ptr<const void> call;          // the kernel's body and arguments
  std::shared_ptr<const Place> place;

  void* observer_data = nullptr;  // the observer's own; the engine never touches it

  const char* name() const { return kernel->name.c_str(); }
};

struct BlockAsync;  // async.h
struct Cluster;     // async.h

struct Block {
  Block();
  ~Block();

  Launch* launch = nullptr;
  uint64_t number = 0;  // x + y * gridDim.x + z * gridDim.x * gridDim.y
  uint3 index{};        // blockIdx
  unsigned thread_count = 0;
  unsigned warp_count = 0;

  // Counts of threads by what they do; a thread is in at most one of them.
  unsigned exited = 0;
  unsigned at_barrier = 0;
  unsigned at_grid = 0;
  unsigned yielded = 0;
  uint8_t waiting_in_warp[kMaxWarps] = {};  // lanes of each warp in kWarp, kActiveMask, kPaused

  unsigned barriers_passed = 0;  // how many times the whole block has met at a barrier
  uint64_t sleeps = 0;           // of threads that wait for nobody, see sleep()
  struct Sleeper {
    uint64_t nanoseconds = 0;  // in which it waited for nobody
    bool looked = false;       // at memory, before its last sleep
  };
  std::vector<Sleeper> slept;  // of each thread, once one sleeps

  // __syncthreads_count/and/or: how many threads came to the present barrier with a true predicate;
  // and of the barrier passed last how many came, and how many of them with a true one, which its
  // threads read as they go on.
  unsigned votes = 0;
  unsigned last_voters = 0;
  unsigned last_votes = 0;

  bool woken = false;  // a thread was made kReady by something other than the scheduler
  // Grows with everything that may end another thread's polling; and what it was when the block
  // last let its polling threads go on.
  uint64_t events = 0;
  uint64_t events_seen = 0;

  Cluster* cluster = nullptr;  // null: launched without one
  unsigned cluster_rank = 0;
  std::unique_ptr<BlockAsync> async;  // made when it is first used

  uint64_t grid_phase = 0;   // of the grid.sync() it waits at
  std::vector<char> parked;  // its shared memory, while another block uses the worker
  size_t parked_static = 0;  // how much of it is static

  // The threads, by linear index: x + y * blockDim.x + z * blockDim.x * blockDim.y. One array for
  // each thing, because the scheduler looks at one thing of many threads.
  State state[kMaxThreads];
  Context context[kMaxThreads + kAhead];  // where a suspended thread goes on
  Fiber* fiber[kMaxThreads] = {};         // the stack it lives on, once started
  uint3 thread_index[kMaxThreads];        // threadIdx
  Location place[kMaxThreads];            // of the waiting call, unless it is kYield or kPaused
  Waiting waiting[kMaxThreads];

  void* observer_data = nullptr;  // the observer's own; the engine never touches it

  // Makes it block `block_number` of a launch, whose threads have not begun.
  void begin(Launch& of, uint64_t block_number) {
    launch = &of;
    number = block_number;
    const dim3 grid = of.grid;
    index = {static_cast<unsigned>(number % grid.x),
             static_cast<unsigned>(number / grid.x % grid.y),
             static_cast<unsigned>(number / grid.x / grid.y)};
    thread_count = of.threads_per_block;
    warp_count = (thread_count + kWarpSize - 1) / kWarpSize;
    exited = at_barrier = 0;
    std::memset(waiting_in_warp, 0, sizeof waiting_in_warp);
    std::memset(state, static_cast<int>(State::kNew), thread_count);
  }

  // Do all threads that still live stand at grid.sync()?
  bool stands_at_grid() const { return at_grid != 0 && at_grid + exited == thread_count; }
};

// ---- who runs now -----------------------------------------------------------------------------

// The block and thread that run on this OS thread; null and 0 outside of kernels (`state.block` and
// `state.thread` of simt/state.h are the same values, readable without a call).
inline Block* current_block() { return state.block; }
inline unsigned current_thread() { return state.thread; }

// Shared memory of the worker that calls: [base, base + kStaticSharedBytes + kDynamicSharedBytes).
inline char* shared_base() { return state.shared; }

// Static shared memory of a kernel, as far as it is known before its first launch.
void place_known_variables(Kernel& kernel);

// The `__shared__` variable at a byte offset from shared_base() in the running kernel, or an empty
// name. Dynamic shared memory is called "dynamic shared memory".
struct SharedName {
  std::string name;
  size_t offset = 0;  // of its first byte
  size_t bytes = 0;
  Strides strides = {};
  // What lies there, if its elements have this size: "empty[1]"; else "byte 8 of stages[2]".
  std::string element_at(size_t place, size_t size) const;
};
SharedName shared_variable_at(size_t offset);
SharedName shared_variable_at(const Block& block, size_t offset);
// How its elements lie, if they have gaps, and where it begins.
Layout shared_gaps_at(size_t offset, size_t* start);

// ---- device memory ----------------------------------------------------------------------------

enum class MemoryKind : uint8_t { kDevice, kManaged, kPinned, kSymbol };

struct Allocation {
  const char* base = nullptr;
  size_t bytes = 0;
  MemoryKind kind = MemoryKind::kDevice;
  Location at;            // where it was allocated
  std::string name;       // of a __device__ or __constant__ variable
  bool freed = false;     // found again after cudaFree, until its addresses are reused
  bool constant = false;  // a __constant__ variable
  bool fixed = false;     // a variable that is `const`: the host may read it
  bool guard = false;     // no variable, but bytes beside one
  bool asked = false;     // cudaGetSymbolAddress has told its address
  int device = 0;         // whose memory it is, if it is kDevice
};

// Has `device` enabled its kernels to use the memory of device `peer`? (api_device.cpp)
bool peer_access_enabled(int device, int peer);

// Is the address inside the range reserved for cudaMalloc and cudaMallocManaged, allocated or not?
bool in_device_range(const void* address);

// Where the __device__ and __constant__ variables lie, and others of the program between them.
extern std::atomic<uint64_t> symbols_low, symbols_high;
inline bool among_symbols(uint64_t address) {
  return address >= symbols_low.load(std::memory_order_relaxed) &&
         address < symbols_high.load(std::memory_order_relaxed);
}

// The allocation that holds the address: live or freed device memory, pinned host memory, or a
// __device__, __constant__ or __managed__ variable. False: none. Safe from any thread.
bool find_allocation(const void* address, Allocation* found);

// Like find_allocation, for an address just outside: the allocation that ends or starts nearest
// within 4 KiB.
bool nearest_allocation(const void* address, Allocation* found);

// "address is byte 16 of 64 bytes freed, allocated at a.cu:12", or what else is known about it.
std::string describe_address(const void* address);

// ---- observer ---------------------------------------------------------------------------------

// What the engine notices by itself, with or without an observer.
struct Finding {
  const char* check;    // "deadlock", "barrier-divergence", "warp-mask", "assert", "trap", ...
  std::string message;  // one or more lines, without a trailing newline
  int cuda_error = 0;   // the error that the launch ends with, 0 if it goes on
  Location at = {};     // in the user's source, if known
  const Block* block = nullptr;  // what it is about, if not the running block
  std::string more = {};     // lines for behind those that say where `at` was called, each begun
                             // by a newline
  const void* pc = nullptr;  // a return address in the user's code, where nobody passes an `at`
};

// Shared memory that something in the background writes or reads: a copy, or a wgmma, which reads
// pieces of 16 bytes here and there.
struct InFlight {
  Block* owner = nullptr;  // of the shared memory; null: nothing to be watched
  unsigned offset = 0, bytes = 0;
  std::vector<unsigned> pieces;  // instead of offset and bytes: offsets of 16 bytes each
  bool writes = false;
  bool async_proxy = true;  // all but cp.async
  unsigned swizzle = 0;     // of what is written, or of how a wgmma reads it: bytes; 0: none
  bool tensor = false;      // written by cp.async.bulk.tensor, or read by wgmma: `swizzle` counts
  const char* what = "";    // "cp.async.bulk"
  const void* pc = nullptr;
};

// What one thread brings to a wgmma: accumulators, and four registers of A or null.
struct ProductRegisters {
  void* const* d;
  size_t d_count;
  const ptx::ARegister* a;
};

// What the counters add up of the work beside the threads.
enum class Beside : uint8_t {
  kTmaLoad,         // bytes
  kTmaStore,        // bytes
  kMulticast,       // bytes that a multicast need not read again
  kTensor,          // operations: a product and a sum are two
  kStageWait,       // waits for an mbarrier
  kStageWaitFound,  // those of them that found the phase complete
  kLinkRead,        // bytes of another device's memory
  kLinkWritten,
};
constexpr unsigned kBesideKinds = 8;

class Observer {
 public:
  virtual ~Observer() = default;

  // A launch starts and ends on some worker, before its first and after its last block. Launches of
  // different streams may overlap.
  virtual void launch_begin(Launch&) {}
  virtual void launch_end(Launch&) {}

  // The rest of this group is called on the worker that runs the block; several workers call at
  // the same time, each for its own block.
  virtual void block_begin(Block&) {}
  virtual void block_end(Block&) {}
  virtual void thread_exit(Block&, unsigned /*thread*/) {}

  // Every live thread of the block stands at a barrier (state kBarrier, `at`, `barrier`); the
  // others have exited. Called before they go on.
  virtual void barrier(Block&) {}
  // All blocks of the grid stand at grid.sync(); called once for each block before it goes on.
  virtual void grid_barrier(Block&) {}
  // The lanes in `lanes` of the warp meet in a warp operation (shuffle, vote, __syncwarp, ...) that
  // named the lanes in `named`; those in `named` but not in `lanes` have exited. Called before the
  // operation is carried out; lane l is thread warp * 32 + l; waiting[] says where.
  virtual void warp_operation(Block&, unsigned /*warp*/, uint32_t /*lanes*/, uint32_t /*named*/) {}

  // No lane of the warp can run on before something is resolved: called after every run of its
  // lanes, before its warp operations are carried out and before paused lanes go on.
  virtual void warp_idle(Block&, unsigned /*warp*/) {}

  // By the running thread, when it starts to wait, and when it ends.
  virtual void barrier_wait(Barrier, Location) {}
  virtual void grid_wait(Location) {}
  virtual void warp_wait(uint32_t /*named*/, const WarpOperation&, Location) {}
  virtual void thread_exit() {}

  // By the running thread, from the device functions in our headers (whose own accesses are not
  // instrumented). pc: the return address into the user's code.
  virtual void read(const void* /*address*/, unsigned /*bytes*/, const void* /*pc*/) {}
  virtual void write(const void* /*address*/, unsigned /*bytes*/, const void* /*pc*/) {}
  virtual void range(const void* /*address*/, size_t /*bytes*/, bool /*writes*/,
                     const void* /*pc*/) {}
  virtual void atomic(const void* /*address*/, unsigned /*bytes*/, const void* /*pc*/, Scope) {}
  virtual void atomic_cas(const void* /*address*/, unsigned /*bytes*/, const void* /*pc*/, Scope) {}
  virtual void atomic_overwrite(const void* /*address*/, unsigned /*bytes*/, const void* /*pc*/,
                                Scope) {}
  virtual void atomic_load(const void* /*address*/, unsigned /*bytes*/, const void* /*pc*/, Scope) {
  }
  virtual void atomic_store(const void* /*address*/, unsigned /*bytes*/, const void* /*pc*/,
                            Scope) {}
  virtual void fence(Scope) {}
  // The running thread's next atomic access is a release; its last one was an acquire.
  virtual void release(Scope) {}
  virtual void acquire(Scope) {}
  // mbarriers, named barriers and barriers of a cluster: the running thread says under this key
  // that all it did so far is done, or learns all that was said so under it.
  virtual void publish(uint64_t /*key*/) {}
  virtual void receive(uint64_t /*key*/) {}
  virtual void pass_on(uint64_t /*key*/, uint64_t /*to*/) {}
  // The running thread starts to wait for one of these.
  virtual void event_wait() {}
  // The running thread was the last to come to a named barrier of so many warps.
  virtual void named_barrier(unsigned /*warps*/) {}
  // A copy in the background has written these bytes of shared memory or of device memory.
  virtual void copy_wrote(const void* /*address*/, size_t /*bytes*/) {}
  // By the running thread.
  virtual void count(Beside, uint64_t /*how_much*/) {}
  // The running thread has asked for it (the last one of a wgmma); and, by anybody, it is done.
  virtual void takes_off(const InFlight&) {}
  // The running thread has asked for a copy of these bytes of global memory, or into them. True: of
  // what is copied from there, copy_reads shall be told piece by piece.
  virtual bool copies_global(const void* /*address*/, size_t /*bytes*/, bool /*writes*/,
                             const void* /*pc*/) {
    return false;
  }
  virtual void copy_reads(const void* /*address*/, size_t /*bytes*/, const void* /*pc*/) {}
  virtual void lands(const InFlight&) {}
  // The running thread: fence.proxy.async; wgmma.fence; a wgmma, its n-th, with these registers; a
  // wait after which its first n are done.
  virtual void proxy_fence() {}
  virtual void product_fence() {}
  virtual void product(uint32_t /*number*/, const ProductRegisters&, const void* /*pc*/) {}
  virtual void products_done(uint32_t /*count*/) {}
  // The line of the call that returns to `pc`, in the function that is no part of another one
  // there: most often the kernel.
  virtual std::string place_of_call(const void* /*pc*/) { return "unknown line"; }
  // The running thread: mbarrier.init of the mbarrier at this offset of its block's shared memory;
  // and what makes it seen beyond the block, fence.mbarrier_init or more.
  virtual void mbarrier_made(unsigned /*offset*/) {}
  virtual void mbarrier_fence() {}
  // The running thread uses an mbarrier, or asks for a copy that will. Returns why its
  // mbarrier.init may not be seen yet, or null.
  virtual const char* mbarrier_unseen(Block& /*owner*/, unsigned /*offset*/, bool /*by_copy*/) {
    return nullptr;
  }
  // The running thread touches shared memory of another block of its cluster.
  virtual void remote_access(Block& /*owner*/, const void* /*pc*/) {}

  // A kernel thread (or, with no current block, host code) touched memory that it may not touch.
  // Called in the signal handler; true: the observer has reported it.
  virtual bool fault(const void* /*address*/, const void* /*pc*/, bool /*is_write*/) {
    return false;
  }

  // Something the engine itself found (see Finding). True: the observer has reported it.
  virtual bool finding(const Finding&) { return false; }

  // A worker carries out a copy, a fill or a host function, and has done so.
  virtual void task_begins(const std::shared_ptr<const Place>&) {}
  virtual void task_ends() {}
  // A host thread is about to ask for an operation; and it has asked for one in a second stream.
  virtual void host_asks() {}
  virtual void second_stream() {}
  // Peer access was enabled or disabled.
  virtual void peer_access_changed() {}

  // Host side, by the calling host thread or, for stream-ordered work, when the work is done.
  virtual void allocated(const Allocation&) {}
  virtual void freed(const Allocation&) {}
  virtual void copied(void* /*to*/, const void* /*from*/, size_t /*bytes*/, Location) {}
  virtual void filled(void* /*to*/, size_t /*bytes*/, Location) {}
  // cudaFreeAsync, before freed().
  virtual void stream_frees(const Allocation&, Location) {}

  // Called once at the end of the program, after the device has come to rest.
  virtual void program_end() {}
};

// Defined by the observer in an instrumented build; absent (weak) in a plain one.
std::unique_ptr<Observer> make_observer() __attribute__((weak));

// The one observer, or null.
extern Observer* observer;

// The observer's tool: suspends the running thread; the worker goes on with the warp's other lanes,
// then calls warp_idle() and lets the paused lanes go on. Other blocks get a turn in between when
// the whole block does nothing but pause.
void pause_thread();

// ---- faults -----------------------------------------------------------------------------------

// "vadd", or with several devices "vadd on device 1".
std::string name_with_device(const Launch& launch);
// "kernel vadd, block (0,0,0), thread (3,0,0)" of the running thread.
std::string describe_current_thread();

// One line on stderr, "simt: ...", printed in one piece.
void report(const std::string& text);

// Passes a finding to the observer; without one, or if it declines, prints it. The same text is
// printed once.
void report(const Finding& finding);

// Ends the launch of the running thread with a sticky error, as a fault on a GPU does
// (cudaErrorNotSupported alone is not sticky); does not return.
[[noreturn]] void fail_kernel(int cuda_error);

}  // namespace simt
