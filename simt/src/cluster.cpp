// Clusters: blocks that run together on one worker and reach each other's shared memory. And the
// barriers that have a name or a cluster.

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "async.h"
#include "device.h"
#include "faults.h"
#include "simt/ptx.h"
#include "simt/runtime_types.h"
#include "worker.h"

namespace simt {

Block::Block() = default;
Block::~Block() = default;

void BlockAsync::begin(unsigned threads) {
  for (NamedBarrier& barrier : named) barrier = {};
  for (Warpgroup& group : warpgroups) {
    group.products.clear();
    group.done = 0;
  }
  products.clear();
  registers.clear();
  mbarrier_waiters = 0;
  arrivals.clear();
  bulk.clear();
  copies.clear();
  threads_with_small = 0;
  lone = {};
  std::fill_n(cluster_phase, threads, 0);
  std::fill_n(fenced_mbarriers, threads, false);
}

BlockAsync& async_of(Block& block) {
  if (!block.async) {
    block.async = std::make_unique<BlockAsync>();
    block.async->begin(block.thread_count);
  }
  return *block.async;
}

void publish(uint64_t key) {
  if (observer) observer->publish(key);
}
void receive(uint64_t key) {
  if (observer) observer->receive(key);
}
void pass_on(uint64_t key, uint64_t to) {
  if (observer) observer->pass_on(key, to);
}

void refuse_instruction(const char* check, const std::string& what, Location at, int cuda_error,
                        const std::string& more) {
  report(
      {check,
       describe_current_thread() + ": " + what + " at " + at.file + ":" + std::to_string(at.line),
       cuda_error, at, nullptr, more});
  fail_kernel(cuda_error);
}

// ---- the shared memories of a worker ------------------------------------------------------------

// Slot r, with unmapped pages behind it. All are reserved at once, so that an address says its
// slot.
char* Worker::slot(unsigned rank) {
  if (!slots_) {
    const size_t page = 4096;
    void* all = mmap(nullptr, kMaxClusterBlocks * kSharedSlotBytes + page, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) {
      fprintf(stderr, "simt: no memory for the blocks' shared memory\n");
      exit(1);
    }
    slots_ = static_cast<char*>(all) + page;
  }
  for (; mapped_slots_ <= rank; ++mapped_slots_) {
    if (mprotect(slots_ + mapped_slots_ * kSharedSlotBytes,
                 kStaticSharedBytes + kDynamicSharedBytes, PROT_READ | PROT_WRITE) != 0) {
      fprintf(stderr, "simt: no memory for the blocks' shared memory\n");
      exit(1);
    }
  }
  return slots_ + rank * kSharedSlotBytes;
}

static size_t offset_in_window(const void* address) {
  const char* window = state.shared - state.block->cluster_rank * kSharedSlotBytes;
  return static_cast<size_t>(static_cast<const char*>(address) - window);
}

bool in_shared_window(const void* address) {
  return offset_in_window(address) < kMaxClusterBlocks * kSharedSlotBytes;
}

Block* owner_of_shared(const void* address) {
  const size_t offset = offset_in_window(address);
  const size_t rank = offset / kSharedSlotBytes;
  if (rank >= kMaxClusterBlocks ||
      offset % kSharedSlotBytes >= kStaticSharedBytes + kDynamicSharedBytes)
    return nullptr;
  Block* own = state.block;
  if (rank == own->cluster_rank) return own;
  if (!own->cluster || rank >= own->cluster->members.size()) return nullptr;
  return own->cluster->members[rank];
}

SharedPlace shared_place(const void* address, unsigned alignment, const char* instruction,
                         Location at) {
  Block* block = owner_of_shared(address);
  if (!block)
    refuse_instruction("out-of-bounds",
                       std::string(instruction) + " of an address outside of shared memory", at,
                       cudaErrorIllegalAddress);
  const size_t offset = offset_in_window(address) % kSharedSlotBytes;
  if (offset % alignment != 0)
    refuse_instruction("misaligned",
                       std::string(instruction) + " of an address in shared memory that is not a " +
                           "multiple of " + std::to_string(alignment),
                       at, cudaErrorMisalignedAddress);
  return {block, static_cast<unsigned>(offset)};
}

// ---- running a cluster --------------------------------------------------------------------------

Block* Worker::new_block() {
  if (free_blocks_.empty()) {
    all_blocks_.push_back(std::make_unique<Block>());
    free_blocks_.push_back(all_blocks_.back().get());
  }
  Block* block = free_blocks_.back();
  free_blocks_.pop_back();
  return block;
}

// Returns the block of rank 0, which stands for the cluster where the worker parks and resumes.
Block* Worker::start_cluster(Launch& launch, uint64_t number) {
  if (free_clusters_.empty()) free_clusters_.push_back(std::make_unique<Cluster>());
  Cluster* cluster = free_clusters_.back().release();
  free_clusters_.pop_back();
  cluster->barrier = {};
  cluster->members.clear();
  const dim3 shape = launch.cluster, grid = launch.grid;
  const uint64_t across = grid.x / shape.x, down = grid.y / shape.y;
  const uint64_t x = number % across * shape.x, y = number / across % down * shape.y,
                 z = number / across / down * shape.z;
  for (unsigned rank = 0; rank < launch.cluster_blocks; ++rank) {
    Block* member = new_block();
    const uint64_t in_x = rank % shape.x, in_y = rank / shape.x % shape.y,
                   in_z = rank / shape.x / shape.y;
    begin_block(*member, launch, ((z + in_z) * grid.y + y + in_y) * grid.x + x + in_x);
    member->cluster = cluster;
    member->cluster_rank = rank;
    member->woken = true;
    cluster->members.push_back(member);
    async_of(*member);
  }
  for (Block* member : cluster->members) {
    if (!observer) break;
    enter(*member);
    observer->block_begin(*member);
  }
  return cluster->members[0];
}

uint64_t progress_of(const Block& block) {
  uint64_t sum = 0;
  for_each_member(block, [&](const Block& member) {
    sum += member.exited + member.barriers_passed + member.at_grid + member.events + member.sleeps;
  });
  return sum;
}

bool stands_at_grid(const Block& block) {
  bool all = true, any = false;
  for_each_member(block, [&](const Block& member) {
    all &= member.at_grid + member.exited == member.thread_count;
    any |= member.at_grid != 0;
  });
  return all && any;
}

Turn Worker::run_cluster(Cluster& cluster) {
  Block& lead = *cluster.members[0];
  for (uint64_t seen = progress_of(lead);;) {
    bool any = false, finished = true, polling = false;
    for (Block* member : cluster.members) {
      if (member->exited == member->thread_count) continue;
      if (member->woken) {
        member->woken = false;
        any = true;
        enter(*member);
        switch (run_block(*member)) {
          case Turn::kAborted: return Turn::kAborted;
          case Turn::kPolling:
            polling = true;
            member->woken = true;
            break;
          default: break;
        }
      }
      finished &= member->exited == member->thread_count;
    }
    if (finished) return Turn::kFinished;
    if (stands_at_grid(lead)) return Turn::kAtGrid;
    if (polling) {
      const uint64_t now = progress_of(lead);
      if (now == seen) return Turn::kPolling;
      seen = now;
      continue;
    }
    if (any || release_cluster_barrier(lead)) continue;
    std::string text;
    Location at;
    for (Block* member : cluster.members) {
      if (member->exited == member->thread_count) continue;
      text += (text.empty() ? "" : "\n") + describe_waiting(*member);
      if (at.line == 0) at = waiting_place(*member);
    }
    report({"deadlock", text, cudaErrorLaunchTimeout, at, &lead});
    abort_launch(*lead.launch, cudaErrorLaunchTimeout);
    return Turn::kAborted;
  }
}

void Worker::finish_cluster(Cluster& cluster) {
  Launch& launch = *cluster.members[0]->launch;
  for (Block* member : cluster.members) {
    if (observer) {
      enter(*member);
      observer->block_end(*member);
    }
  }
  leave(*cluster.members[0]);
  for (Block* member : cluster.members) {
    owner_[member->cluster_rank] = nullptr;
    member->cluster = nullptr;
    free_blocks_.push_back(member);
  }
  const uint64_t count = cluster.members.size();
  free_clusters_.emplace_back(&cluster);
  Device::get().block_finished(launch, count);
}

// ---- the barrier of the cluster -----------------------------------------------------------------

namespace {

ClusterBarrier& cluster_barrier(Block& block) {
  return block.cluster ? block.cluster->barrier : async_of(block).lone;
}

unsigned threads_of_cluster(const Block& block) {
  return block.thread_count * (block.cluster ? unsigned(block.cluster->members.size()) : 1u);
}

// Of a phase, for a thread that has waited may come again before another one has looked at what
// those before it published. Nobody is two phases ahead.
uint64_t cluster_key(const Block& block, uint32_t phase) {
  const Block& lead = block.cluster ? *block.cluster->members[0] : block;
  return ~(lead.number << 20 | (0xfffe0 + phase % 2));
}

void complete_cluster_phase(Block& block) {
  ClusterBarrier& barrier = cluster_barrier(block);
  ++barrier.phase;
  barrier.arrived = 0;
  for_each_member(block, [&](Block& member) {
    ++member.events;
    for (unsigned i = 0; i < member.thread_count; ++i)
      if (member.state[i] == State::kCluster) wake(member, i);
  });
}

}  // namespace

// Threads that have exited need not come.
bool release_cluster_barrier(Block& block) {
  ClusterBarrier& barrier = cluster_barrier(block);
  if (barrier.arrived == 0) return false;
  bool all = true;
  for_each_member(block, [&](Block& member) {
    for (unsigned i = 0; i < member.thread_count; ++i)
      all &= member.state[i] == State::kExited || async_of(member).cluster_phase[i] > barrier.phase;
  });
  if (all) complete_cluster_phase(block);
  return all;
}

namespace ptx {

void cluster_arrive(bool release, Location at) {
  Block& b = *state.block;
  uint32_t& come = async_of(b).cluster_phase[state.thread];
  ClusterBarrier& barrier = cluster_barrier(b);
  if (come > barrier.phase)
    refuse_instruction("cluster-barrier", "barrier.cluster.arrive twice without a wait", at,
                       cudaErrorLaunchFailure);
  if (release && observer) observer->mbarrier_fence();
  // Without release, fence.mbarrier_init still hands over what the thread has initialised.
  bool& fenced = async_of(b).fenced_mbarriers[state.thread];
  if (release || fenced) publish(cluster_key(b, barrier.phase));
  fenced = false;
  come = barrier.phase + 1;
  if (++barrier.arrived == threads_of_cluster(b)) complete_cluster_phase(b);
}

void cluster_wait(Location at) {
  Block& b = *state.block;
  if (cluster_barrier(b).phase < async_of(b).cluster_phase[state.thread])
    state.worker->wait_for_event(State::kCluster, at);
  receive(cluster_key(*state.block, async_of(*state.block).cluster_phase[state.thread] - 1));
}

unsigned cluster_rank() { return state.block->cluster_rank; }
unsigned cluster_blocks() {
  return state.block->cluster ? unsigned(state.block->cluster->members.size()) : 1;
}
bool in_cluster() { return state.block->cluster != nullptr; }
dim3 cluster_shape() { return state.block->cluster ? state.block->launch->cluster : dim3(1, 1, 1); }
uint3 block_in_cluster() {
  const dim3 shape = cluster_shape();
  const unsigned rank = state.block->cluster_rank;
  return {rank % shape.x, rank / shape.x % shape.y, rank / shape.x / shape.y};
}
uint3 cluster_index() {
  const dim3 shape = cluster_shape();
  return {blockIdx.x / shape.x, blockIdx.y / shape.y, blockIdx.z / shape.z};
}
dim3 grid_clusters() {
  const dim3 shape = cluster_shape();
  return {gridDim.x / shape.x, gridDim.y / shape.y, gridDim.z / shape.z};
}

void* map_shared_rank(const void* pointer, unsigned rank, Location at) {
  if (rank >= cluster_blocks())
    refuse_instruction(
        "cluster",
        "block " + std::to_string(rank) + " of a cluster of " + std::to_string(cluster_blocks()),
        at, cudaErrorIllegalAddress);
  const size_t offset = offset_in_window(pointer);
  if (offset >= kMaxClusterBlocks * kSharedSlotBytes)
    refuse_instruction("cluster", "an address outside of shared memory is mapped to another block",
                       at, cudaErrorIllegalAddress);
  return state.shared - state.block->cluster_rank * kSharedSlotBytes + rank * kSharedSlotBytes +
         offset % kSharedSlotBytes;
}

unsigned rank_of_shared(const void* pointer) {
  return static_cast<unsigned>(offset_in_window(pointer) / kSharedSlotBytes);
}

char* shared_of_rank(unsigned address, Location at) {
  const unsigned rank = (address >> kRankShift) - 1, offset = address & ((1u << kRankShift) - 1);
  if (rank >= cluster_blocks() || offset >= kSharedSlotBytes)
    refuse_instruction("shared-address",
                       "an instruction of shared memory gets an address of none, half of a generic "
                       "one, say: __cvta_generic_to_shared makes them",
                       at, cudaErrorIllegalAddress);
  return static_cast<char*>(map_shared_rank(state.shared + offset, rank, at));
}

void refuse_generic_address(unsigned long long address, Location at) {
  const auto* pointer = reinterpret_cast<const void*>(address);
  refuse_instruction("shared-address",
                     std::string("an instruction of shared memory gets a generic address") +
                         (__isShared(pointer) ? ": __cvta_generic_to_shared is missing"
                                              : ", and not one of shared memory"),
                     at, cudaErrorIllegalAddress);
}

unsigned shared_address(const void* pointer) {
  const size_t offset = offset_in_window(pointer);
  const size_t rank = offset / kSharedSlotBytes;
  if (rank >= kMaxClusterBlocks || rank == state.block->cluster_rank)
    return static_cast<unsigned>(static_cast<const char*>(pointer) - state.shared);
  return static_cast<unsigned>((rank + 1) << kRankShift | offset % kSharedSlotBytes);
}

bool is_in_shared_cluster(const void* pointer) { return owner_of_shared(pointer) != nullptr; }

// ---- named barriers -----------------------------------------------------------------------------

namespace {

uint64_t named_key(const Block& block, unsigned barrier) {
  return ~(block.number << 20 | (0xffff0 + barrier));
}

// The running thread comes to the barrier. True: it was the last.
bool come(unsigned number, unsigned threads, Location at) {
  Block& b = *state.block;
  if (number >= kNamedBarriers || threads % kWarpSize != 0)
    refuse_instruction("named-barrier",
                       number >= kNamedBarriers
                           ? "named barrier " + std::to_string(number) + " of 16"
                           : "named barrier for " + std::to_string(threads) +
                                 " threads, which is not a multiple of 32",
                       at, cudaErrorLaunchFailure);
  NamedBarrier& barrier = async_of(b).named[number];
  if (threads == 0) threads = b.warp_count * kWarpSize;
  if (barrier.arrived == 0) barrier.expected = threads;
  if (barrier.expected != threads)
    refuse_instruction("named-barrier",
                       "named barrier " + std::to_string(number) + " for " +
                           std::to_string(threads) + " threads, where others said " +
                           std::to_string(barrier.expected),
                       at, cudaErrorLaunchFailure);
  publish(named_key(b, number));
  ++b.events;
  // Barriers count whole warps: the last lane of a short warp comes for those that do not exist.
  const bool last_thread = state.thread + 1 == b.thread_count;
  barrier.arrived += 1 + (last_thread ? b.warp_count * kWarpSize - b.thread_count : 0);
  if (barrier.arrived < barrier.expected) return false;
  barrier.arrived = 0;
  if (observer) observer->named_barrier(threads / kWarpSize);
  for (unsigned i = 0; i < b.thread_count; ++i)
    if (b.state[i] == State::kNamed && b.waiting[i].number == number) wake(b, i);
  return true;
}

}  // namespace

void named_barrier_sync(unsigned barrier, unsigned threads, Location at) {
  Block& b = *state.block;
  if (barrier == 0 && (threads == 0 || threads == b.warp_count * kWarpSize)) {
    block_barrier(state, at);
    return;
  }
  if (!come(barrier, threads, at)) {
    b.waiting[state.thread].number = barrier;
    state.worker->wait_for_event(State::kNamed, at);
  }
  receive(named_key(*state.block, barrier));
}

void named_barrier_arrive(unsigned barrier, unsigned threads, Location at) {
  come(barrier, threads, at);
}

}  // namespace ptx
}  // namespace simt
