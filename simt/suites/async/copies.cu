// Mistakes with copies in the background, mbarriers and clusters. Each kernel has two forms: with
// the mistake, k<true>, and mended, k<false>. "fault:" marks the line that a tool should name.
#include "suite.cuh"

namespace {

int same(int i) { return i; }
int doubled(int i) { return 2 * i; }

// ---- proxies: threads write by one, TMA reads and writes by another

// What threads wrote goes out by TMA; the fence between the proxies is missing.
template <bool faulty>
__global__ void store_without_fence(const int* in, int* out) {
  __shared__ alignas(128) int tile[128];
  tile[threadIdx.x] = 2 * in[threadIdx.x];
  if (!faulty) PROXY_FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    STORE(out, tile, 512);  // fault: store_without_fence
    STORES_READ();
  }
}

// There is a fence, but in front of the writes.
template <bool faulty>
__global__ void store_fence_too_early(const int* in, int* out) {
  __shared__ alignas(128) int tile[128];
  if (faulty) PROXY_FENCE();
  tile[threadIdx.x] = 2 * in[threadIdx.x];
  if (!faulty) PROXY_FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    STORE(out, tile, 512);  // fault: store_fence_too_early
    STORES_READ();
  }
}

// Threads have used the tile as scratch memory; TMA writes over it without a fence.
template <bool faulty>
__global__ void load_over_written(const int* in, int* out) {
  __shared__ alignas(128) int tile[128];
  __shared__ alignas(8) uint64_t full;
  if (threadIdx.x == 0) INIT(&full, 1);
  tile[threadIdx.x] = 7;
  if (!faulty) PROXY_FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    EXPECT(&full, 512);
    LOAD(tile, in, 512, &full);  // fault: load_over_written
  }
  WAIT(&full, 0);
  out[threadIdx.x] = tile[threadIdx.x];
}

// A stage is read, freed through an mbarrier and filled again; nobody fences between.
template <bool faulty>
__global__ void refill_without_fence(const int* in, int* out) {
  __shared__ alignas(128) int tile[32];
  __shared__ alignas(8) uint64_t full, empty;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    INIT(&empty, 32);
    INIT_FENCE();
  }
  __syncthreads();
  for (int i = 0; i < 4; ++i) {
    if (threadIdx.x < 32) {
      WAIT(&full, i % 2);
      out[32 * i + threadIdx.x] = tile[threadIdx.x];
      if (!faulty) PROXY_FENCE();
      ARRIVE(&empty);
    } else if (threadIdx.x == 32) {
      if (i > 0) WAIT(&empty, (i - 1) % 2);
      EXPECT(&full, 128);
      LOAD(tile, in + 32 * i, 128, &full);  // fault: refill_without_fence
    }
  }
}

// ---- stages: who may use one, and when

// The consumer does not wait for the copy.
template <bool faulty>
__global__ void read_without_wait(const int* in, int* out) {
  __shared__ alignas(128) int tile[128];
  __shared__ alignas(8) uint64_t full;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    EXPECT(&full, 512);
    LOAD(tile, in, 512, &full);
  }
  __syncthreads();
  if (!faulty) WAIT(&full, 0);
  out[threadIdx.x] = tile[threadIdx.x];  // fault: read_without_wait
  if (faulty) WAIT(&full, 0);
}

// It waits for the phase before the first one, which counts as complete.
template <bool faulty>
__global__ void full_parity_inverted(const int* in, int* out) {
  __shared__ alignas(128) int tile[128];
  __shared__ alignas(8) uint64_t full;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    EXPECT(&full, 512);
    LOAD(tile, in, 512, &full);
  }
  __syncthreads();
  WAIT(&full, faulty ? 1 : 0);           // fault: full_parity_inverted
  out[threadIdx.x] = tile[threadIdx.x];  // fault: full_parity_inverted
  if (faulty) WAIT(&full, 0);
}

// The producer never waits until a stage is free.
template <bool faulty>
__global__ void refill_without_wait(const int* in, int* out) {
  __shared__ alignas(128) int tile[32];
  __shared__ alignas(8) uint64_t full, empty;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    INIT(&empty, 32);
    INIT_FENCE();
  }
  __syncthreads();
  for (int i = 0; i < 2; ++i) {
    if (threadIdx.x < 32) {
      WAIT(&full, i % 2);
      out[32 * i + threadIdx.x] = tile[threadIdx.x];
      PROXY_FENCE();
      ARRIVE(&empty);
    } else if (threadIdx.x == 32) {
      if (i == 1) WAIT(&full, 0);
      if (i == 1 && !faulty) WAIT(&empty, 0);
      EXPECT(&full, 128);
      LOAD(tile, in + 32 * i, 128, &full);  // fault: refill_without_wait
    }
  }
}

// It begins with parity 0, as the consumer does: the phase that nobody can complete before it.
template <bool faulty>
__global__ void empty_parity_inverted(const int* in, int* out) {
  __shared__ alignas(128) int tile[32];
  __shared__ alignas(8) uint64_t full, empty;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    INIT(&empty, 32);
    INIT_FENCE();
  }
  __syncthreads();
  for (int i = 0; i < 2; ++i) {
    if (threadIdx.x < 32) {
      WAIT(&full, i % 2);
      out[32 * i + threadIdx.x] = tile[threadIdx.x];
      PROXY_FENCE();
      ARRIVE(&empty);
    } else if (threadIdx.x == 32) {
      if (i == 1) WAIT(&full, 0);
      WAIT(&empty, faulty ? i % 2 : (i + 1) % 2);  // fault: empty_parity_inverted
      EXPECT(&full, 128);
      LOAD(tile, in + 32 * i, 128, &full);
    }
  }
}

// The source of a TMA store is written again while the store may still read it.
template <bool faulty>
__global__ void store_source_reused(const int* in, int* out) {
  __shared__ alignas(128) int tile[128];
  tile[threadIdx.x] = 2 * in[threadIdx.x];
  PROXY_FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    STORE(out, tile, 512);
    if (!faulty) STORES_READ();
  }
  __syncthreads();
  tile[threadIdx.x] = 0;  // fault: store_source_reused
}

// Somebody waits for the store, but not the thread that asked for it.
template <bool faulty>
__global__ void store_waited_by_another(const int* in, int* out) {
  __shared__ alignas(128) int tile[128];
  tile[threadIdx.x] = 2 * in[threadIdx.x];
  PROXY_FENCE();
  __syncthreads();
  if (threadIdx.x == 0) STORE(out, tile, 512);
  if (threadIdx.x == (faulty ? 32 : 0)) STORES_READ();
  __syncthreads();
  tile[threadIdx.x] = 0;  // fault: store_waited_by_another
}

// ---- mbarriers: arrivals and bytes

// expect_tx alone is no arrival.
template <bool faulty>
__global__ void expect_without_arrive(const int* in, int* out) {
  __shared__ alignas(128) int tile[128];
  __shared__ alignas(8) uint64_t full;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    EXPECT_ONLY(&full, 512);
    LOAD(tile, in, 512, &full);
    if (!faulty) ARRIVE(&full);
  }
  WAIT(&full, 0);  // fault: expect_without_arrive
  out[threadIdx.x] = tile[threadIdx.x];
}

// More bytes are promised than come.
template <bool faulty>
__global__ void bytes_too_many(const int* in, int* out) {
  __shared__ alignas(128) int tile[128];
  __shared__ alignas(8) uint64_t full;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    EXPECT(&full, faulty ? 1024 : 512);
    LOAD(tile, in, 512, &full);
  }
  WAIT(&full, 0);  // fault: bytes_too_many
  out[threadIdx.x] = tile[threadIdx.x];
}

// Fewer are.
template <bool faulty>
__global__ void bytes_too_few(const int* in, int* out) {
  __shared__ alignas(128) int tile[128];
  __shared__ alignas(8) uint64_t full;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    EXPECT(&full, faulty ? 256 : 512);
    LOAD(tile, in, 512, &full);
  }
  WAIT(&full, 0);  // fault: bytes_too_few
  out[threadIdx.x] = tile[threadIdx.x];
}

// The stage is freed by every thread of a warp; the mbarrier counts one arrival for the warp.
template <bool faulty>
__global__ void arrivals_too_many(const int* in, int* out) {
  __shared__ alignas(8) uint64_t empty;
  if (threadIdx.x == 0) INIT(&empty, faulty ? 1 : 32);
  __syncthreads();
  if (threadIdx.x < 32) ARRIVE(&empty);
  WAIT(&empty, 0);  // fault: arrivals_too_many
  out[threadIdx.x] = in[threadIdx.x];
}

// One lane arrives for its warp; the mbarrier counts all of its threads.
template <bool faulty>
__global__ void arrivals_too_few(const int* in, int* out) {
  __shared__ alignas(8) uint64_t empty;
  if (threadIdx.x == 0) INIT(&empty, faulty ? 32 : 1);
  __syncthreads();
  if (threadIdx.x == 0) ARRIVE(&empty);
  WAIT(&empty, 0);  // fault: arrivals_too_few
  out[threadIdx.x] = in[threadIdx.x];
}

// Nothing stands between the init of an mbarrier and another thread's use of it.
template <bool faulty>
__global__ void init_without_barrier(const int* in, int* out) {
  __shared__ alignas(8) uint64_t done;
  if (threadIdx.x == 0) INIT(&done, blockDim.x);
  if (!faulty) __syncthreads();
  ARRIVE(&done);  // fault: init_without_barrier
  WAIT(&done, 0);
  out[threadIdx.x] = in[threadIdx.x];
}

// A barrier shows it to threads; a copy that another thread asks for needs the fence as well.
template <bool faulty>
__global__ void init_without_fence(const int* in, int* out) {
  __shared__ alignas(128) int tile[128];
  __shared__ alignas(8) uint64_t full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    if (!faulty) INIT_FENCE();
  }
  __syncthreads();
  if (threadIdx.x == 32) {
    EXPECT(&full, 512);
    LOAD(tile, in, 512, &full);  // fault: init_without_fence
  }
  WAIT(&full, 0);
  out[threadIdx.x] = tile[threadIdx.x];
}

// ---- clusters of two blocks

// One block loads for both; the other one has not armed its mbarrier.
template <bool faulty>
__global__ void __cluster_dims__(2, 1, 1) receiver_not_armed(const int* in, int* out) {
  __shared__ alignas(128) int tile[128];
  __shared__ alignas(8) uint64_t full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    INIT_FENCE();
    if (!faulty || blockIdx.x == 0) EXPECT(&full, 512);
  }
  CLUSTER_ARRIVE();
  CLUSTER_WAIT();
  if (blockIdx.x == 0 && threadIdx.x == 0) LOAD_BOTH(tile, in, 512, &full);
  WAIT(&full, 0);  // fault: receiver_not_armed
  out[128 * blockIdx.x + threadIdx.x] = tile[threadIdx.x];
  CLUSTER_ARRIVE();
  CLUSTER_WAIT();
}
int same_in_both(int i) { return i % 128; }

// A block ends; its neighbour still arrives at an mbarrier in it.
template <bool faulty>
__global__ void __cluster_dims__(2, 1, 1) ends_too_early(const int* in, int* out) {
  __shared__ alignas(8) uint64_t told;
  unsigned theirs;
  if (threadIdx.x == 0) {
    INIT(&told, 1);
    INIT_FENCE();
  }
  CLUSTER_ARRIVE();
  CLUSTER_WAIT();
  PEER(theirs, &told);
  out[32 * blockIdx.x + threadIdx.x] = in[32 * blockIdx.x + threadIdx.x];
  if (threadIdx.x == 0) ARRIVE_AT(theirs);  // fault: ends_too_early
  if (!faulty) {
    WAIT(&told, 0);
    CLUSTER_ARRIVE();
    CLUSTER_WAIT();
  }
}

// The cluster's barrier is split: the peer's mbarrier is used between arrive and wait.
template <bool faulty>
__global__ void __cluster_dims__(2, 1, 1) barrier_split(const int* in, int* out) {
  __shared__ alignas(8) uint64_t told;
  unsigned theirs;
  if (threadIdx.x == 0) INIT(&told, 1);
  PEER(theirs, &told);
  CLUSTER_ARRIVE();
  if (!faulty) CLUSTER_WAIT();
  if (threadIdx.x == 0) ARRIVE_AT(theirs);  // fault: barrier_split
  if (faulty) CLUSTER_WAIT();
  WAIT(&told, 0);
  out[32 * blockIdx.x + threadIdx.x] = in[32 * blockIdx.x + threadIdx.x];
  CLUSTER_ARRIVE();
  CLUSTER_WAIT();
}

// The cluster meets relaxed, which shows nothing; nobody has fenced the init.
template <bool faulty>
__global__ void __cluster_dims__(2, 1, 1) init_met_relaxed(const int* in, int* out) {
  __shared__ alignas(8) uint64_t told;
  unsigned theirs;
  if (threadIdx.x == 0) {
    INIT(&told, 1);
    if (!faulty) INIT_FENCE();
  }
  PEER(theirs, &told);
  CLUSTER_ARRIVE_RELAXED();
  CLUSTER_WAIT();
  if (threadIdx.x == 0) ARRIVE_AT(theirs);  // fault: init_met_relaxed
  WAIT(&told, 0);
  out[32 * blockIdx.x + threadIdx.x] = in[32 * blockIdx.x + threadIdx.x];
  CLUSTER_ARRIVE();
  CLUSTER_WAIT();
}

// ---- cp.async

// A thread reads its own copy without a wait.
template <bool faulty>
__global__ void copy_without_wait(const int* in, int* out) {
  __shared__ alignas(16) int tile[128];
  COPY_4(&tile[threadIdx.x], in + threadIdx.x);
  COPIES_COMMIT();
  if (!faulty) COPIES_WAIT(0);
  out[threadIdx.x] = tile[threadIdx.x];  // fault: copy_without_wait
}

// Two groups are under way; the count of those that may be so still is one too high at the end.
template <bool faulty>
__global__ void copy_group_count(const int* in, int* out) {
  __shared__ alignas(16) int tile[2][128];
  for (int stage = 0; stage < 2; ++stage) {
    COPY_4(&tile[stage][threadIdx.x], in + 128 * stage + threadIdx.x);
    COPIES_COMMIT();
  }
  COPIES_WAIT(1);
  out[threadIdx.x] = tile[0][threadIdx.x];
  COPIES_WAIT(faulty ? 1 : 0);
  out[128 + threadIdx.x] = tile[1][threadIdx.x];  // fault: copy_group_count
}

// A wait is for the thread's own copies; those of others need a barrier behind it.
template <bool faulty>
__global__ void copy_of_another(const int* in, int* out) {
  __shared__ alignas(16) int tile[128];
  COPY_4(&tile[threadIdx.x], in + threadIdx.x);
  COPIES_COMMIT();
  COPIES_WAIT(0);
  if (!faulty) __syncthreads();
  out[threadIdx.x] = tile[127 - threadIdx.x];  // fault: copy_of_another
}
int reversed(int i) { return 127 - i; }

constexpr Pair kPairs[] = {
    PAIR(store_without_fence, 1, 128, 128, doubled),
    PAIR(store_fence_too_early, 1, 128, 128, doubled),
    PAIR(load_over_written, 1, 128, 128, same),
    PAIR(refill_without_fence, 1, 64, 128, same),
    PAIR(read_without_wait, 1, 128, 128, same),
    PAIR(full_parity_inverted, 1, 128, 128, same),
    PAIR(refill_without_wait, 1, 64, 64, same),
    PAIR(empty_parity_inverted, 1, 64, 64, same),
    PAIR(store_source_reused, 1, 128, 128, doubled),
    PAIR(store_waited_by_another, 1, 128, 128, doubled),
    PAIR(expect_without_arrive, 1, 128, 128, same),
    PAIR(bytes_too_many, 1, 128, 128, same),
    PAIR(bytes_too_few, 1, 128, 128, same),
    PAIR(arrivals_too_many, 1, 64, 64, same),
    PAIR(arrivals_too_few, 1, 64, 64, same),
    PAIR(init_without_barrier, 1, 64, 64, same),
    PAIR(init_without_fence, 1, 128, 128, same),
    PAIR(receiver_not_armed, 2, 128, 256, same_in_both),
    PAIR(ends_too_early, 2, 32, 64, same),
    PAIR(barrier_split, 2, 32, 64, same),
    PAIR(init_met_relaxed, 2, 32, 64, same),
    PAIR(copy_without_wait, 1, 128, 128, same),
    PAIR(copy_group_count, 1, 128, 256, same),
    PAIR(copy_of_another, 1, 128, 128, reversed),
};

}  // namespace

int main(int argc, char** argv) { return run_suite(kPairs, argc, argv); }
