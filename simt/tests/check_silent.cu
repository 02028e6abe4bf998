// Correct programs, the tricky ones above all: the checks must have nothing to say about them.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/semaphore>

#include <string>
#include <vector>

#include "simt/include/simt/profile.h"
#include "tests/catch.hpp"

namespace cg = cooperative_groups;

namespace {

template <class T>
T* device_array(size_t count) {
  T* pointer = nullptr;
  REQUIRE(cudaMalloc(&pointer, count * sizeof(T)) == cudaSuccess);
  return pointer;
}
template <class T>
T* device_array(const std::vector<T>& host) {
  T* pointer = device_array<T>(host.size());
  REQUIRE(cudaMemcpy(pointer, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice) ==
          cudaSuccess);
  return pointer;
}
template <class T>
T* zeros(size_t count) {
  return device_array(std::vector<T>(count));
}
template <class T>
std::vector<T> to_host(const T* device, size_t count) {
  std::vector<T> host(count);
  REQUIRE(cudaMemcpy(host.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost) ==
          cudaSuccess);
  return host;
}

void check_silent() {
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  for (const simt::CheckReport& report : simt::check_reports()) {
    UNSCOPED_INFO(report.message);
    CHECK(report.check == "nothing");
  }
}

// ---- exchanges whose old value nobody takes: a first value for what nobody has written

__global__ void exchange_only(int* p, int* out) {
  __shared__ int box;
  if (threadIdx.x == 0) atomicExch(&box, 3);
  __syncthreads();
  if (threadIdx.x == 1)
    atomicExch_block(p, 1), (void)atomicExch_system(p + 1, box);
  else if (threadIdx.x == 2)
    ::atomicExch(p + 2, 5);
  __syncthreads();
  if (threadIdx.x < 3) out[threadIdx.x] = p[threadIdx.x];
}

// ---- reductions

__global__ void tree_sum(const int* in, int* out) {
  __shared__ int s[256];
  const unsigned t = threadIdx.x;
  s[t] = in[blockIdx.x * 256 + t];
  __syncthreads();
  for (unsigned d = 128; d > 0; d /= 2) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}

__global__ void warp_tail_sum(const int* in, int* out) {
  __shared__ int s[64];
  const unsigned t = threadIdx.x;
  s[t] = in[t];
  __syncthreads();
  if (t < 32) {
    for (unsigned d = 32; d > 0; d /= 2) {
      const int sum = s[t] + s[t + d];
      __syncwarp();
      s[t] = sum;
      __syncwarp();
    }
  }
  if (t == 0) *out = s[0];
}

__global__ void shuffle_sum(const int* in, int* out) {
  __shared__ int of_warp[32];
  int sum = in[blockIdx.x * blockDim.x + threadIdx.x];
  for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < blockDim.x / 32 ? of_warp[threadIdx.x] : 0;
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
    if (threadIdx.x == 0) atomicAdd(out, sum);
  }
}

// A shuffle orders the lanes that take part in it, so it may stand between write and read.
__global__ void shuffle_as_synchronisation(int* out) {
  __shared__ int s[32];
  s[threadIdx.x] = static_cast<int>(threadIdx.x);
  __shfl_sync(0xffffffff, 0, 0);
  out[threadIdx.x] = s[31 - threadIdx.x];
}

__global__ void half_warps(int* out) {
  __shared__ int s[32];
  const unsigned mask = threadIdx.x < 16 ? 0x0000ffffu : 0xffff0000u;
  s[threadIdx.x] = static_cast<int>(threadIdx.x);
  __syncwarp(mask);
  out[threadIdx.x] = s[threadIdx.x ^ 15];
}

// ---- between blocks

__device__ unsigned ticket;

__global__ void last_block_sum(const int* in, int* partial, int* out) {
  __shared__ int sum;
  __shared__ bool last;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, in[blockIdx.x * blockDim.x + threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sum;
    __threadfence();
    last = atomicAdd(&ticket, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  if (threadIdx.x < gridDim.x) atomicAdd(out, partial[threadIdx.x]);
}

// Every thread writes and fences, one takes the ticket and fences for all of them. That it leaves
// the ticket at 0 needs no fence.
__global__ void last_block_of_many_writers(int* partial, int* out) {
  __shared__ bool last;
  partial[blockIdx.x * blockDim.x + threadIdx.x] = 1;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(&ticket, 1u) == gridDim.x - 1;
    if (last) ticket = 0;
    __threadfence();
  }
  __syncthreads();
  if (!last) return;
  for (unsigned b = 0; b < gridDim.x; ++b) {
    atomicAdd(out, partial[b * blockDim.x + threadIdx.x]);
  }
}

// Decoupled look-back, one element per block: flag 1 = the block's own sum, 2 = that of all before
// too.
__device__ unsigned next_tile;

__global__ void scan_by_atomics(const int* in, int* sum, int* prefix, int* flag, int* out) {
  if (threadIdx.x != 0) return;
  const int tile = static_cast<int>(atomicAdd(&next_tile, 1u));
  const int own = in[tile];
  sum[tile] = own;
  __threadfence();
  atomicExch(&flag[tile], 1);
  int before = 0;
  for (int i = tile - 1; i >= 0; --i) {
    int state = 0;
    while (state == 0) state = atomicAdd(&flag[i], 0);
    __threadfence();
    before += state == 2 ? prefix[i] : sum[i];
    if (state == 2) break;
  }
  prefix[tile] = before + own;
  __threadfence();
  atomicExch(&flag[tile], 2);
  out[tile] = before + own;
}

__global__ void scan_by_volatile(const int* in, volatile int* prefix, volatile int* flag,
                                 int* out) {
  if (threadIdx.x != 0) return;
  const int tile = static_cast<int>(atomicAdd(&next_tile, 1u));
  int before = 0;
  if (tile > 0) {
    while (flag[tile - 1] == 0) {
    }
    __threadfence();
    before = prefix[tile - 1];
  }
  prefix[tile] = before + in[tile];
  __threadfence();
  flag[tile] = 1;
  out[tile] = before + in[tile];
}

__device__ int mutex;

// First values in parentheses, and a variable of a function.
__device__ cuda::atomic<int, cuda::thread_scope_device> direct_lock(0);
__device__ cuda::binary_semaphore<cuda::thread_scope_device> direct_semaphore(1);
__device__ int counted_directly(0), by_semaphore;
__global__ void under_direct_locks(int* drawn) {
  static __device__ int tickets;
  if (threadIdx.x != 0) return;
  while (direct_lock.exchange(1, cuda::memory_order_acquire) != 0) {
  }
  counted_directly += 1;
  direct_lock.store(0, cuda::memory_order_release);
  direct_semaphore.acquire();
  by_semaphore += 1;
  direct_semaphore.release();
  drawn[atomicAdd(&tickets, 1)] = 1;
}
__global__ void under_a_lock(int* counter) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(&mutex, 0, 1) != 0) {
  }
  __threadfence();
  *counter = *counter + 1;
  __threadfence();
  atomicExch(&mutex, 0);
}

__global__ void grid_wide(int* a, int* b, int turns) {
  cg::grid_group grid = cg::this_grid();
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  for (int turn = 0; turn < turns; ++turn) {
    b[i] = a[(i + 37) % n] + 1;
    grid.sync();
    a[i] = b[(i + 91) % n];
    grid.sync();
  }
}

// ---- within a block

__global__ void tiles_of_groups(int* out) {
  __shared__ int s[64];
  cg::thread_block block = cg::this_thread_block();
  auto tile = cg::tiled_partition<8>(block);
  s[threadIdx.x] = static_cast<int>(threadIdx.x);
  tile.sync();
  int value = s[threadIdx.x ^ 7];
  for (int d = 4; d > 0; d /= 2) value += tile.shfl_down(value, d);
  block.sync();
  s[threadIdx.x] = value;
  block.sync();
  out[threadIdx.x] = s[threadIdx.x / 8 * 8];
}

// An operator that branches, on values with members: compiled into the program, called by the warp.
struct Best {
  int value, where;
};
__global__ void best_of_warp(const int* in, int* out) {
  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  const Best mine{in[threadIdx.x], static_cast<int>(threadIdx.x)};
  const Best best = cg::reduce(warp, mine, [](const Best& a, const Best& b) {
    if (a.value != b.value) return a.value > b.value ? a : b;
    return a.where < b.where ? a : b;
  });
  if (warp.thread_rank() == 0) *out = best.where;
}

__global__ void private_histogram(const unsigned char* in, unsigned* bins, int n) {
  __shared__ unsigned local[256];
  for (unsigned b = threadIdx.x; b < 256; b += blockDim.x) local[b] = 0;
  __syncthreads();
  const int stride = static_cast<int>(gridDim.x * blockDim.x);
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < n; i += stride) {
    atomicAdd(&local[in[i]], 1u);
  }
  __syncthreads();
  for (unsigned b = threadIdx.x; b < 256; b += blockDim.x) atomicAdd(&bins[b], local[b]);
}

__global__ void double_buffered(const int* in, int* out, int tiles) {
  __shared__ int buffer[2][64];
  const unsigned t = threadIdx.x;
  buffer[0][t] = in[t];
  __syncthreads();
  int sum = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    if (tile + 1 < tiles) buffer[(tile + 1) % 2][t] = in[(tile + 1) * 64 + t];
    sum += buffer[tile % 2][63 - t];
    __syncthreads();
  }
  out[t] = sum;
}

// Many threads may write the same value: one of the writes takes effect, whichever.
__global__ void agree(const int* in, int* found) {
  __shared__ bool any;
  any = false;
  __syncthreads();
  if (in[threadIdx.x] > 0) any = true;
  __syncthreads();
  if (threadIdx.x == 0) *found = any;
}

struct Padded {
  double value;
  int key;  // 4 bytes behind it belong to nobody
};
__global__ void write_members(Padded* items) {
  items[threadIdx.x].value = threadIdx.x;
  items[threadIdx.x].key = static_cast<int>(threadIdx.x);
}
__global__ void copy_structs(const Padded* in, Padded* out) { out[threadIdx.x] = in[threadIdx.x]; }

// ---- what compare-and-swap checks: the first read is a guess

__device__ void add_by_swaps(double* at, double more) {
  auto* word = reinterpret_cast<unsigned long long*>(at);
  unsigned long long seen = *word, assumed = 0;
  do {
    assumed = seen;
    seen = atomicCAS(word, assumed, __double_as_longlong(more + __longlong_as_double(assumed)));
  } while (seen != assumed);
}
__device__ void max_by_swaps(int* at, int value) {
  int seen = *at;
  while (seen < value) {
    const int assumed = seen;
    seen = atomicCAS(at, assumed, value);
    if (seen == assumed) break;
  }
}
__device__ void add_by_ptx(unsigned* at) {
  unsigned seen = *at, assumed = 0;
  do {
    assumed = seen;
    asm volatile("atom.cas.b32 %0, [%1], %2, %3;"
                 : "=r"(seen)
                 : "l"(at), "r"(assumed), "r"(assumed + 1)
                 : "memory");
  } while (seen != assumed);
}
// A push: the fence between guess and swap hands over the element.
struct Element {
  int value, next;
};
__device__ void push(Element* elements, int mine, int* head) {
  elements[mine].value = mine;
  int old = *head, assumed;
  do {
    assumed = old;
    elements[mine].next = assumed;
    __threadfence();
    old = atomicCAS(head, assumed, mine);
  } while (old != assumed);
}
__global__ void pushes(Element* elements, int* head) {
  __shared__ Element own[64];
  __shared__ int own_head;
  if (threadIdx.x == 0) own_head = -1;
  __syncthreads();
  push(own, static_cast<int>(threadIdx.x), &own_head);
  push(elements, static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x), head);
}
__global__ void swaps(double* sum, int* most, unsigned* count) {
  __shared__ double block_sum;
  if (threadIdx.x == 0) block_sum = 0;
  __syncthreads();
  add_by_swaps(&block_sum, 1);
  add_by_swaps(sum, 1);
  max_by_swaps(most, static_cast<int>(threadIdx.x));
  add_by_ptx(count);
  __syncthreads();
  if (threadIdx.x == 0 && block_sum != blockDim.x) *sum = -1;
}

__constant__ int table[4] = {1, 2, 3, 4};
__device__ int device_table[4] = {1, 2, 3, 4};
__device__ int told_table[4] = {1, 2, 3, 4};
__device__ const int fixed_table[4] = {1, 2, 3, 4};
__managed__ int both_sides;
__global__ void read_last(const int* in, int* out) { *out = in[3] + fixed_table[3] + both_sides; }
__global__ void use_variables(int* out) {
  device_table[threadIdx.x] += table[threadIdx.x];
  out[threadIdx.x] = device_table[threadIdx.x];
}

// An argument that is copied by code of its own.
struct View {
  int* data;
  int first;
  View(int* data, int first) : data(data), first(first) {}
  View(const View& other) : data(other.data), first(other.first) {}
};
__global__ void through_a_view(View view) { view.data[threadIdx.x] = view.first + 1; }

__global__ void increment(int* data) { data[threadIdx.x] += 1; }

__global__ void swap_bytes(unsigned char* out) {
  __shared__ unsigned char s[64];
  s[threadIdx.x] = static_cast<unsigned char>(threadIdx.x);
  out[threadIdx.x] = s[threadIdx.x];
}

// ---- libcu++

__global__ void meet_at_a_barrier_object(int* out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ int s[64];
  if (threadIdx.x == 0) init(&barrier, 64);
  __syncthreads();
  for (int turn = 0; turn < 3; ++turn) {
    s[threadIdx.x] = static_cast<int>(threadIdx.x) + turn;
    barrier.arrive_and_wait();
    out[threadIdx.x] = s[63 - threadIdx.x];
    auto token = barrier.arrive();
    barrier.wait(std::move(token));
  }
}

__global__ void release_and_acquire(int* data, int* flag, int* out) {
  if (threadIdx.x != 0) return;
  cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
  if (blockIdx.x == 0) {
    *data = 42;
    ready.store(1, cuda::std::memory_order_release);
  } else {
    while (ready.load(cuda::std::memory_order_acquire) == 0) {
    }
    *out = *data;
  }
}

// Two lanes poll in turns. The one that finds the flag had given way in the middle of a load, and
// the other lane has done things in between.
__global__ void acquire_after_giving_way(int* data, int* flag, int* out) {
  __shared__ int done;
  if (threadIdx.x == 0) done = 0;
  __syncthreads();
  cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
  cuda::atomic_ref<int, cuda::thread_scope_block> finished(done);
  if (blockIdx.x == 1) {
    if (threadIdx.x != 0) return;
    *data = 42;
    for (int i = 0; i < 50; ++i) __nanosleep(100);
    ready.store(1, cuda::std::memory_order_release);
  } else if (threadIdx.x == 0) {
    while (ready.load(cuda::std::memory_order_acquire) == 0) {
    }
    *out = *data;
    finished.store(1, cuda::std::memory_order_release);
  } else if (threadIdx.x == 1) {
    while (finished.load(cuda::std::memory_order_acquire) == 0) {
    }
  }
}

__global__ void ticket_with_an_order(int* data, int* count, int* out) {
  if (threadIdx.x != 0) return;
  cuda::atomic_ref<int, cuda::thread_scope_device> counter(*count);
  data[blockIdx.x] = 1;
  const int last = static_cast<int>(gridDim.x) - 1;
  if (counter.fetch_add(1, cuda::std::memory_order_acq_rel) != last) return;
  int sum = 0;
  for (int i = 0; i <= last; ++i) sum += data[i];
  *out = sum;
}

// Every operation that may be an acquire, one after the other as a turn is handed from block to
// block: an exchange, two compare-and-swaps, an operator, a fence beside a relaxed load, a wait.
__global__ void turns_in_every_way(int* sum, int* turn) {
  if (threadIdx.x != 0) return;
  const cuda::atomic_ref<int, cuda::thread_scope_device> at(*turn);
  const int own = static_cast<int>(blockIdx.x);
  int expected = own;
  if (own == 0) at.store(0);
  if (own == 1) {
    while (!at.compare_exchange_strong(expected, own, cuda::std::memory_order_acquire)) {
      expected = own;
    }
  } else if (own == 2) {
    while (!at.compare_exchange_weak(expected, own, cuda::std::memory_order_relaxed,
                                     cuda::std::memory_order_acquire)) {
      expected = own;
    }
    at.exchange(own, cuda::std::memory_order_acq_rel);
  } else if (own == 3) {
    while (at.load(cuda::std::memory_order_relaxed) != own) {
    }
    cuda::atomic_thread_fence(cuda::std::memory_order_acquire, cuda::thread_scope_device);
  } else if (own == 4) {
    while ((at += 0) != own) {
    }
  } else if (own == 5) {
    while (at != own) at.wait(own - 1);
  }
  *sum = *sum + 1;
  at.fetch_add(1, cuda::std::memory_order_release);
}

// The same by PTX: one block after the other.
__global__ void turns_by_ptx(int* sum, int* turn) {
  if (threadIdx.x != 0) return;
  int counted = 0;
  while (counted < static_cast<int>(blockIdx.x)) {
    if (blockIdx.x % 2 == 0) {
      asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(counted) : "l"(turn) : "memory");
    } else {
      asm volatile("atom.acquire.gpu.global.or.b32 %0, [%1], 0;"
                   : "=r"(counted)
                   : "l"(turn)
                   : "memory");
    }
  }
  *sum = *sum + 1;
  asm volatile("red.release.gpu.global.add.s32 [%0], 1;" ::"l"(turn) : "memory");
}

__global__ void copies_in_flight(const int* in, int* out) {
  __shared__ int s[2][32];
  auto pipe = cuda::make_pipeline();
  int sum = 0;
  for (int turn = 0; turn < 4; ++turn) {
    pipe.producer_acquire();
    cuda::memcpy_async(&s[turn % 2][threadIdx.x], &in[turn * 32 + threadIdx.x], sizeof(int), pipe);
    pipe.producer_commit();
    cuda::pipeline_consumer_wait_prior<0>(pipe);
    __syncthreads();
    sum += s[turn % 2][31 - threadIdx.x];
    pipe.consumer_release();
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

__global__ void copy_by_the_group(const int* in, int* out) {
  __shared__ int s[64];
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, s, in, sizeof(int) * 64);
  cg::wait(block);
  out[threadIdx.x] = s[63 - threadIdx.x];
}

// One warp produces, the other consumes; the flag is in shared memory.
__global__ void producer_consumer(int* out) {
  __shared__ int data;
  __shared__ int flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    data = 42;
    __threadfence_block();
    atomicExch(&flag, 1);
  } else if (threadIdx.x == 32) {
    while (atomicAdd(&flag, 0) == 0) {
    }
    __threadfence_block();
    *out = data;
  }
}

std::vector<int> ones(size_t n) { return std::vector<int>(n, 1); }

}  // namespace

TEST_CASE("reductions") {
  int* in = device_array(ones(2048));
  int* out = zeros<int>(8);
  SECTION("tree") {
    tree_sum<<<8, 256>>>(in, out);
    CHECK(to_host(out, 8) == std::vector<int>(8, 256));
  }
  SECTION("warp tail") {
    warp_tail_sum<<<1, 64>>>(in, out);
    CHECK(to_host(out, 1)[0] == 64);
  }
  SECTION("shuffles") {
    shuffle_sum<<<8, 256>>>(in, out);
    CHECK(to_host(out, 1)[0] == 2048);
  }
  check_silent();
}

TEST_CASE("warps") {
  int* out = zeros<int>(64);
  SECTION("a shuffle between write and read") {
    shuffle_as_synchronisation<<<1, 32>>>(out);
    CHECK(to_host(out, 1)[0] == 31);
  }
  SECTION("half warps by mask") {
    half_warps<<<1, 32>>>(out);
    CHECK(to_host(out, 1)[0] == 15);
  }
  SECTION("tiles of cooperative groups") {
    tiles_of_groups<<<1, 64>>>(out);
    CHECK(to_host(out, 1)[0] == 28);
  }
  SECTION("a reduction with an operator of one's own") {
    std::vector<int> in(32, 1);
    in[20] = in[23] = 5;
    best_of_warp<<<1, 32>>>(device_array(in), out);
    CHECK(to_host(out, 1)[0] == 20);
  }
  check_silent();
}

TEST_CASE("blocks that wait for blocks") {
  const int n = 64;
  const unsigned zero = 0;
  cudaMemcpyToSymbol(ticket, &zero, sizeof zero);
  cudaMemcpyToSymbol(next_tile, &zero, sizeof zero);
  int *out = zeros<int>(n), *in = device_array(ones(n * 64));
  SECTION("the last block finishes") {
    last_block_sum<<<32, 64>>>(in, device_array<int>(32), out);
    CHECK(to_host(out, 1)[0] == 2048);
  }
  SECTION("the last block finishes, all threads fence") {
    last_block_of_many_writers<<<32, 64>>>(device_array<int>(2048), out);
    CHECK(to_host(out, 1)[0] == 2048);
  }
  SECTION("decoupled look-back with atomics") {
    scan_by_atomics<<<n, 32>>>(in, device_array<int>(n), device_array<int>(n), zeros<int>(n), out);
    CHECK(to_host(out, n)[n - 1] == n);
  }
  SECTION("decoupled look-back with volatile and fences") {
    scan_by_volatile<<<n, 32>>>(in, device_array<int>(n), zeros<int>(n), out);
    CHECK(to_host(out, n)[n - 1] == n);
  }
  SECTION("the first guess of a compare-and-swap") {
    double* sum = zeros<double>(1);
    unsigned* count = zeros<unsigned>(1);
    swaps<<<32, 64>>>(sum, out, count);
    CHECK(to_host(sum, 1)[0] == 2048);
    CHECK(to_host(out, 1)[0] == 63);
    CHECK(to_host(count, 1)[0] == 2048);
  }
  SECTION("a guess, a fence and a compare-and-swap") {
    int* head = device_array(std::vector<int>{-1});
    Element* elements = device_array<Element>(2048);
    pushes<<<32, 64>>>(elements, head);
    int pushed = 0;
    const int first = to_host(head, 1)[0];
    const std::vector<Element> all = to_host(elements, 2048);
    for (int at = first; at != -1 && pushed <= 2048; at = all[at].next) ++pushed;
    CHECK(pushed == 2048);
  }
  SECTION("a lock") {
    for (int i = 0; i < 20; ++i) under_a_lock<<<50, 32>>>(out);
    CHECK(to_host(out, 1)[0] == 1000);
  }
  SECTION("locks whose first value stands in parentheses") {
    under_direct_locks<<<50, 32>>>(out);
    CHECK(to_host(out, 50) == ones(50));
  }
  SECTION("grid.sync") {
    int *a = zeros<int>(256), *b = device_array<int>(256), turns = 5;
    void* arguments[] = {&a, &b, &turns};
    CHECK(cudaLaunchCooperativeKernel((void*)grid_wide, dim3(4), dim3(64), arguments) ==
          cudaSuccess);
    CHECK(to_host(a, 256) == std::vector<int>(256, 5));
  }
  check_silent();
}

TEST_CASE("shared memory") {
  int* out = zeros<int>(64);
  SECTION("private histograms") {
    std::vector<unsigned char> bytes(5000);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i % 7);
    unsigned* bins = zeros<unsigned>(256);
    private_histogram<<<4, 128>>>(device_array(bytes), bins, 5000);
    CHECK(to_host(bins, 256)[0] == 715);
  }
  SECTION("double buffering") {
    double_buffered<<<1, 64>>>(device_array(ones(64 * 5)), out, 5);
    CHECK(to_host(out, 64) == std::vector<int>(64, 5));
  }
  SECTION("all threads write the same value") {
    agree<<<1, 64>>>(device_array(ones(64)), out);
    CHECK(to_host(out, 1)[0] == 1);
  }
  SECTION("bytes") {
    unsigned char* bytes = device_array<unsigned char>(64);
    swap_bytes<<<1, 64>>>(bytes);
    CHECK(to_host(bytes, 64)[63] == 63);
  }
  SECTION("producer and consumer") {
    producer_consumer<<<1, 64>>>(out);
    CHECK(to_host(out, 1)[0] == 42);
  }
  check_silent();
}

TEST_CASE("libcu++") {
  int *out = zeros<int>(64), *data = zeros<int>(64), *flag = zeros<int>(1);
  SECTION("barrier") {
    meet_at_a_barrier_object<<<1, 64>>>(out);
    CHECK(to_host(out, 1)[0] == 65);
  }
  SECTION("release and acquire") {
    release_and_acquire<<<2, 32>>>(data, flag, out);
    CHECK(to_host(out, 1)[0] == 42);
  }
  SECTION("acquire by a thread that gave way") {
    acquire_after_giving_way<<<2, 32>>>(data, flag, out);
    CHECK(to_host(out, 1)[0] == 42);
  }
  SECTION("ticket") {
    ticket_with_an_order<<<8, 32>>>(data, flag, out);
    CHECK(to_host(out, 1)[0] == 8);
  }
  SECTION("acquire in every way") {
    turns_in_every_way<<<6, 32>>>(data, flag);
    CHECK(to_host(data, 1)[0] == 6);
  }
  SECTION("acquire by PTX") {
    turns_by_ptx<<<16, 32>>>(data, flag);
    CHECK(to_host(data, 1)[0] == 16);
  }
  SECTION("pipeline") {
    copies_in_flight<<<1, 32>>>(device_array(ones(128)), out);
    CHECK(to_host(out, 1)[0] == 4);
  }
  SECTION("memcpy_async of a group") {
    copy_by_the_group<<<1, 64>>>(device_array(ones(64)), out);
    CHECK(to_host(out, 1)[0] == 1);
  }
  check_silent();
}

TEST_CASE("memory of every kind") {
  int* out = zeros<int>(64);
  SECTION("structures with gaps") {
    Padded *a = device_array<Padded>(32), *b = device_array<Padded>(32);
    write_members<<<1, 32>>>(a);
    copy_structs<<<1, 32>>>(a, b);
    CHECK(to_host(b, 32)[31].key == 31);
  }
  SECTION("exchanges only") {
    exchange_only<<<1, 32>>>(device_array<int>(3), out);
    CHECK(to_host(out, 3) == std::vector<int>{1, 3, 5});
  }
  SECTION("variables") {
    use_variables<<<1, 4>>>(out);
    CHECK(to_host(out, 4)[3] == 8);
  }
  SECTION("variables by their address, and those that the host may touch") {
    void* address = nullptr;
    REQUIRE(cudaGetSymbolAddress(&address, told_table) == cudaSuccess);
    both_sides = 3;
    read_last<<<1, 1>>>(static_cast<int*>(address), out);
    CHECK(to_host(out, 1)[0] == 11);
    volatile int i = 2;
    CHECK(both_sides + fixed_table[i] == 6);
  }
  SECTION("arguments of class type") {
    through_a_view<<<1, 32>>>(View(out, 4));
    CHECK(to_host(out, 1)[0] == 5);
  }
  SECTION("managed memory, on both sides") {
    int* managed = nullptr;
    REQUIRE(cudaMallocManaged(&managed, 128) == cudaSuccess);
    for (int i = 0; i < 32; ++i) managed[i] = i;
    increment<<<1, 32>>>(managed);
    cudaDeviceSynchronize();
    CHECK(managed[31] == 32);
    cudaFree(managed);
  }
  SECTION("pinned memory") {
    int* pinned = nullptr;
    REQUIRE(cudaMallocHost(&pinned, 128) == cudaSuccess);
    for (int i = 0; i < 32; ++i) pinned[i] = i;
    increment<<<1, 32>>>(pinned);
    cudaDeviceSynchronize();
    CHECK(pinned[31] == 32);
    cudaFreeHost(pinned);
  }
  SECTION("memory that is freed and given out again") {
    for (int i = 0; i < 20; ++i) {
      int* data = zeros<int>(32);
      increment<<<1, 32>>>(data);
      cudaDeviceSynchronize();
      cudaFree(data);
    }
  }
  SECTION("one kernel after the other, in two streams") {
    cudaStream_t a, b;
    cudaStreamCreate(&a);
    cudaStreamCreate(&b);
    int* other = zeros<int>(64);
    for (int i = 0; i < 10; ++i) {
      increment<<<1, 32, 0, a>>>(out);
      increment<<<1, 32, 0, b>>>(other);
    }
    cudaDeviceSynchronize();
    CHECK(to_host(out, 1)[0] == 10);
    cudaStreamDestroy(a);
    cudaStreamDestroy(b);
  }
  check_silent();
}
