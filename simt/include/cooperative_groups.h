// Cooperative groups: thread blocks, tiles of a warp, coalesced threads and grids as objects.
#pragma once

#include "simt/cuda.h"

namespace cooperative_groups {

namespace detail {

SIMT_INLINE unsigned rank_in_block() { return simt::state.thread; }
SIMT_INLINE unsigned block_size() { return blockDim.x * blockDim.y * blockDim.z; }
SIMT_INLINE unsigned long long block_rank_in_grid() {
  return (static_cast<unsigned long long>(blockIdx.z) * gridDim.y + blockIdx.y) * gridDim.x +
         blockIdx.x;
}
SIMT_INLINE unsigned long long grid_blocks() {
  return static_cast<unsigned long long>(gridDim.x) * gridDim.y * gridDim.z;
}
// The lanes of the running warp that exist: the last warp of a block may be short.
SIMT_INLINE unsigned warp_lanes() {
  const unsigned left = block_size() - simt::state.thread / 32 * 32;
  return left >= 32 ? 0xffffffffu : (1u << left) - 1;
}
SIMT_INLINE unsigned lanes_below() { return (1u << simt::state.lane) - 1; }

}  // namespace detail

class thread_block {
 public:
  SIMT_UNWATCHED static void sync(simt::Location at = simt::Location::here()) { __syncthreads(at); }
  struct arrival_token {};
  // There is no time between arriving and waiting here: all of the waiting is done in wait().
  static arrival_token barrier_arrive() { return {}; }
  SIMT_UNWATCHED static void barrier_wait(arrival_token&&,
                                          simt::Location at = simt::Location::here()) {
    sync(at);
  }
  SIMT_UNWATCHED static unsigned thread_rank() { return detail::rank_in_block(); }
  SIMT_UNWATCHED static unsigned size() { return detail::block_size(); }
  SIMT_UNWATCHED static unsigned num_threads() { return detail::block_size(); }
  SIMT_UNWATCHED static dim3 group_index() { return blockIdx; }
  SIMT_UNWATCHED static dim3 thread_index() { return threadIdx; }
  SIMT_UNWATCHED static dim3 group_dim() { return blockDim; }
  SIMT_UNWATCHED static dim3 dim_threads() { return blockDim; }
};
SIMT_INLINE thread_block this_thread_block() { return {}; }

class grid_group {
 public:
  struct arrival_token {};
  SIMT_UNWATCHED static bool is_valid() { return simt::launched_cooperatively(); }
  SIMT_UNWATCHED static void sync(simt::Location at = simt::Location::here()) {
    simt::grid_barrier(at);
  }
  // Who arrives says nothing yet: the whole grid meets at the wait.
  SIMT_UNWATCHED static arrival_token barrier_arrive() { return {}; }
  SIMT_UNWATCHED static void barrier_wait(arrival_token&&,
                                          simt::Location at = simt::Location::here()) {
    sync(at);
  }
  SIMT_UNWATCHED static unsigned long long block_rank() { return detail::block_rank_in_grid(); }
  SIMT_UNWATCHED static unsigned long long num_blocks() { return detail::grid_blocks(); }
  SIMT_UNWATCHED static unsigned long long thread_rank() {
    return block_rank() * detail::block_size() + detail::rank_in_block();
  }
  SIMT_UNWATCHED static unsigned long long size() { return num_blocks() * detail::block_size(); }
  SIMT_UNWATCHED static unsigned long long num_threads() { return size(); }
  SIMT_UNWATCHED static dim3 group_dim() { return gridDim; }
  SIMT_UNWATCHED static dim3 dim_blocks() { return gridDim; }
  SIMT_UNWATCHED static dim3 block_index() { return blockIdx; }
};
SIMT_INLINE grid_group this_grid() { return {}; }

// The blocks of a cluster; a block that was launched without one is a cluster by itself.
class cluster_group {
 public:
  struct arrival_token {};
  SIMT_UNWATCHED static void sync(simt::Location at = simt::Location::here()) {
    simt::ptx::cluster_arrive(true, at);
    simt::ptx::cluster_wait(at);
  }
  SIMT_UNWATCHED static arrival_token barrier_arrive(simt::Location at = simt::Location::here()) {
    simt::ptx::cluster_arrive(true, at);
    return {};
  }
  SIMT_UNWATCHED static void barrier_wait(arrival_token&&,
                                          simt::Location at = simt::Location::here()) {
    simt::ptx::cluster_wait(at);
  }
  SIMT_UNWATCHED static void barrier_wait(simt::Location at = simt::Location::here()) {
    simt::ptx::cluster_wait(at);
  }
  SIMT_UNWATCHED static unsigned block_rank() { return simt::ptx::cluster_rank(); }
  SIMT_UNWATCHED static unsigned num_blocks() { return simt::ptx::cluster_blocks(); }
  SIMT_UNWATCHED static unsigned thread_rank() {
    return block_rank() * detail::block_size() + detail::rank_in_block();
  }
  SIMT_UNWATCHED static unsigned num_threads() { return num_blocks() * detail::block_size(); }
  SIMT_UNWATCHED static unsigned size() { return num_threads(); }
  SIMT_UNWATCHED static dim3 dim_blocks() { return simt::ptx::cluster_shape(); }
  SIMT_UNWATCHED static dim3 dim_threads() {
    const dim3 blocks = dim_blocks();
    return {blocks.x * blockDim.x, blocks.y * blockDim.y, blocks.z * blockDim.z};
  }
  SIMT_UNWATCHED static dim3 block_index() { return simt::ptx::block_in_cluster(); }
  SIMT_UNWATCHED static dim3 thread_index() {
    const dim3 block = block_index();
    return {block.x * blockDim.x + threadIdx.x, block.y * blockDim.y + threadIdx.y,
            block.z * blockDim.z + threadIdx.z};
  }
  // Whose shared memory the address is in, and the same variable in that of block `rank`.
  SIMT_UNWATCHED static unsigned query_shared_rank(const void* address) {
    return simt::ptx::rank_of_shared(address);
  }
  template <class T>
  SIMT_UNWATCHED static T* map_shared_rank(T* address, int rank,
                                           simt::Location at = simt::Location::here()) {
    return static_cast<T*>(simt::ptx::map_shared_rank(address, static_cast<unsigned>(rank), at));
  }
};
SIMT_INLINE cluster_group this_cluster() { return {}; }

// Any set of lanes of one warp; the base of tiles and coalesced groups.
class lane_group {
 public:
  explicit lane_group(unsigned lanes) : lanes_(lanes) {}

  SIMT_UNWATCHED void sync(simt::Location at = simt::Location::here()) const {
    __syncwarp(lanes_, at);
  }
  SIMT_UNWATCHED unsigned thread_rank() const {
    return static_cast<unsigned>(__popc(lanes_ & detail::lanes_below()));
  }
  SIMT_UNWATCHED unsigned size() const { return static_cast<unsigned>(__popc(lanes_)); }
  SIMT_UNWATCHED unsigned num_threads() const { return size(); }

  template <class T>
  SIMT_UNWATCHED T shfl(T value, int source, simt::Location at = simt::Location::here()) const {
    return simt::shuffle("group.shfl", lanes_, value,
                         lane_of(static_cast<unsigned>(source) % size()), at);
  }
  template <class T>
  SIMT_UNWATCHED T shfl_up(T value, unsigned delta,
                           simt::Location at = simt::Location::here()) const {
    const unsigned rank = thread_rank();
    return simt::shuffle("group.shfl_up", lanes_, value,
                         lane_of(rank >= delta ? rank - delta : rank), at);
  }
  template <class T>
  SIMT_UNWATCHED T shfl_down(T value, unsigned delta,
                             simt::Location at = simt::Location::here()) const {
    const unsigned rank = thread_rank();
    return simt::shuffle("group.shfl_down", lanes_, value,
                         lane_of(rank + delta < size() ? rank + delta : rank), at);
  }
  template <class T>
  SIMT_UNWATCHED T shfl_xor(T value, unsigned mask,
                            simt::Location at = simt::Location::here()) const {
    const unsigned rank = thread_rank(), source = rank ^ mask;
    return simt::shuffle("group.shfl_xor", lanes_, value, lane_of(source < size() ? source : rank),
                         at);
  }
  SIMT_UNWATCHED int any(int predicate, simt::Location at = simt::Location::here()) const {
    return simt::ballot("group.any", lanes_, predicate != 0, at) != 0;
  }
  SIMT_UNWATCHED int all(int predicate, simt::Location at = simt::Location::here()) const {
    return simt::ballot("group.all", lanes_, predicate == 0, at) == 0;
  }
  // Bit r belongs to the thread of rank r.
  SIMT_UNWATCHED unsigned ballot(int predicate, simt::Location at = simt::Location::here()) const {
    return ranks_of(simt::ballot("group.ballot", lanes_, predicate != 0, at));
  }
  template <class T>
  SIMT_UNWATCHED unsigned match_any(T value, simt::Location at = simt::Location::here()) const {
    return ranks_of(simt::match("group.match_any", lanes_, value, at));
  }
  template <class T>
  SIMT_UNWATCHED unsigned match_all(T value, int& all_same,
                                    simt::Location at = simt::Location::here()) const {
    const unsigned same = simt::match("group.match_all", lanes_, value, at);
    all_same = same == lanes_;
    return all_same ? ranks_of(lanes_) : 0;
  }

  SIMT_UNWATCHED unsigned lanes() const { return lanes_; }

 protected:
  // The lane of the thread with this rank.
  SIMT_UNWATCHED unsigned lane_of(unsigned rank) const {
    unsigned rest = lanes_;
    while (rank-- > 0) rest &= rest - 1;
    return rest ? static_cast<unsigned>(__builtin_ctz(rest)) : simt::state.lane;
  }
  SIMT_UNWATCHED unsigned ranks_of(unsigned lane_set) const {
    unsigned ranks = 0;
    for (unsigned rank = 0; rank < size(); ++rank) ranks |= (lane_set >> lane_of(rank) & 1) << rank;
    return ranks;
  }

  unsigned lanes_;
};

// Some group whose kind is only known at run time.
class thread_group {
 public:
  thread_group(const thread_block&) : whole_block_(true), lanes_(0) {}
  thread_group(const lane_group& group) : whole_block_(false), lanes_(group.lanes()) {}

  SIMT_UNWATCHED void sync(simt::Location at = simt::Location::here()) const {
    if (whole_block_)
      thread_block::sync(at);
    else
      lanes_.sync(at);
  }
  SIMT_UNWATCHED unsigned thread_rank() const {
    return whole_block_ ? thread_block::thread_rank() : lanes_.thread_rank();
  }
  SIMT_UNWATCHED unsigned size() const {
    return whole_block_ ? thread_block::size() : lanes_.size();
  }
  SIMT_UNWATCHED unsigned num_threads() const { return size(); }
  SIMT_UNWATCHED bool whole_block() const { return whole_block_; }
  const lane_group& lanes() const { return lanes_; }

 private:
  bool whole_block_;
  lane_group lanes_;
};

// `Size` consecutive threads of a block: a power of two up to 32.
template <unsigned Size, class Parent = void>
class thread_block_tile : public lane_group {
  static_assert(Size >= 1 && Size <= 32 && (Size & (Size - 1)) == 0,
                "tiles have 1, 2, 4, 8, 16 or 32 threads");

 public:
  explicit thread_block_tile(unsigned lanes) : lane_group(lanes) {}
  // Forgets the parent.
  template <class Other>
  thread_block_tile(const thread_block_tile<Size, Other>& other) : lane_group(other.lanes()) {}

  SIMT_UNWATCHED static constexpr unsigned size() { return Size; }
  SIMT_UNWATCHED static constexpr unsigned num_threads() { return Size; }
  SIMT_UNWATCHED static unsigned thread_rank() { return simt::state.lane % Size; }
  SIMT_UNWATCHED unsigned meta_group_rank() const { return detail::rank_in_block() / Size; }
  SIMT_UNWATCHED unsigned meta_group_size() const {
    return (detail::block_size() + Size - 1) / Size;
  }
};

template <unsigned Size, class Parent>
SIMT_INLINE thread_block_tile<Size, Parent> tiled_partition(const Parent&) {
  const unsigned tile =
      Size == 32 ? 0xffffffffu : ((1u << (Size % 32)) - 1) << simt::state.lane / Size * Size;
  return thread_block_tile<Size, Parent>(tile & detail::warp_lanes());
}

// Tiles of a size known at run time: consecutive threads by rank.
SIMT_INLINE thread_group tiled_partition(const thread_group& parent, unsigned size) {
  if (parent.whole_block()) {
    const unsigned first = simt::state.lane / size * size;
    return lane_group((size >= 32 ? 0xffffffffu : ((1u << size) - 1) << first) &
                      detail::warp_lanes());
  }
  unsigned mine = 0, rank = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!(parent.lanes().lanes() >> lane & 1)) continue;
    if (rank++ / size == parent.thread_rank() / size) mine |= 1u << lane;
  }
  return lane_group(mine);
}

class coalesced_group : public lane_group {
 public:
  explicit coalesced_group(unsigned lanes) : lane_group(lanes) {}
  coalesced_group(const lane_group& group) : lane_group(group) {}
  SIMT_UNWATCHED unsigned meta_group_rank() const { return 0; }
  SIMT_UNWATCHED unsigned meta_group_size() const { return 1; }
};

// The threads of the warp that run together here.
SIMT_INLINE coalesced_group coalesced_threads(simt::Location at = simt::Location::here()) {
  return coalesced_group(simt::active_mask(at));
}

// Those of the group that bring the same label.
template <class Label>
SIMT_INLINE coalesced_group labeled_partition(const lane_group& group, Label label,
                                              simt::Location at = simt::Location::here()) {
  return coalesced_group(simt::match("labeled_partition", group.lanes(), label, at));
}
SIMT_INLINE coalesced_group binary_partition(const lane_group& group, bool predicate,
                                             simt::Location at = simt::Location::here()) {
  return labeled_partition(group, static_cast<int>(predicate), at);
}

template <class Group>
SIMT_INLINE void sync(const Group& group, simt::Location at = simt::Location::here()) {
  group.sync(at);
}
SIMT_INLINE void sync(const thread_block&, simt::Location at = simt::Location::here()) {
  __syncthreads(at);
}

// Runs the function in one thread of the group.
template <class Group, class Function>
SIMT_INLINE void invoke_one(const Group& group, Function&& function) {
  if (group.thread_rank() == 0) function();
}

// memcpy by the whole group, in the background where a GPU does so; wait() waits for all of these
// copies, wait_prior() for all but the last ones.
template <class Group, class T>
SIMT_INLINE void memcpy_async(const Group& group, T* to, const T* from, size_t bytes,
                              simt::Location at = simt::Location::here()) {
  simt::ptx::copy_async(to, from, bytes, group.thread_rank(), group.size(), at,
                        __builtin_return_address(0));
  simt::ptx::cp_async_commit_group();
}
// As many elements as both sides have.
template <class Group, class T>
SIMT_INLINE void memcpy_async(const Group& group, T* to, size_t to_count, const T* from,
                              size_t from_count, simt::Location at = simt::Location::here()) {
  simt::ptx::copy_async(to, from, sizeof(T) * (to_count < from_count ? to_count : from_count),
                        group.thread_rank(), group.size(), at, __builtin_return_address(0));
  simt::ptx::cp_async_commit_group();
}
template <class Group>
SIMT_INLINE void wait(const Group& group, simt::Location at = simt::Location::here()) {
  simt::ptx::cp_async_wait_all();
  group.sync(at);
}
template <unsigned Stages, class Group>
SIMT_INLINE void wait_prior(const Group& group, simt::Location at = simt::Location::here()) {
  simt::ptx::cp_async_wait_group(Stages);
  group.sync(at);
}

}  // namespace cooperative_groups

#include "cooperative_groups/reduce.h"
#include "cooperative_groups/scan.h"
