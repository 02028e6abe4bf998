// A kernel that commits the error, for every check: the program says so, with the place, and does
// not exit 0. Each runs in a process of its own: this program starts itself with BAD_KERNEL=name.
// What must stay silent is in check_silent.cu.
#include <cooperative_groups.h>
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include <cuda/atomic>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "simt/include/simt/profile.h"
#include "simt/tests/marked_line.hpp"
#include "tests/catch.hpp"
#include "tests/run_command.hpp"

// A variable that other files may see lies elsewhere than a file's own.
__device__ int seen_by_all[4];

namespace {

template <class T>
T* device_array(size_t count, bool filled = true) {
  T* pointer = nullptr;
  REQUIRE(cudaMalloc(&pointer, count * sizeof(T)) == cudaSuccess);
  if (filled) REQUIRE(cudaMemset(pointer, 0, count * sizeof(T)) == cudaSuccess);
  return pointer;
}

// ---- memory

__global__ void read_past_the_end(const float* in, float* out) {
  out[threadIdx.x] = in[threadIdx.x + 1];  // here: out of bounds read
}
__device__ __forceinline__ float load(const float* at) {
  return *at;  // here: load
}
__device__ __noinline__ float load_behind(const float* at) {
  return load(at + 1);  // here: caller of load
}
__global__ void load_through_functions(const float* in, float* out) {
  out[threadIdx.x] = load_behind(in + threadIdx.x);  // here: caller of the caller
}
__global__ void load_once_more(const float* in, float* out) {
  out[threadIdx.x] = 2 * load_behind(in + threadIdx.x);
}
__device__ __forceinline__ void arrive(unsigned long long* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];"  // here: arrive
               ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(barrier))));
}
__global__ void arrive_through_a_function() {
  __shared__ unsigned long long made, never_made;
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(
      static_cast<unsigned>(__cvta_generic_to_shared(&made))));
  arrive(&made);
  arrive(&never_made);  // here: caller of arrive
}
__global__ void load_by_generic_address(float* out) {
  __shared__ float s[32];
  s[threadIdx.x] = 1;
  float v;
  asm volatile("ld.shared.f32 %0, [%1];"  // here: generic address
               : "=f"(v)
               : "l"(&s[threadIdx.x])
               : "memory");
  out[threadIdx.x] = v;
}
__global__ void copy_to_half_an_address(const float4* in) {
  __shared__ float4 s[32];
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"  // here: half an address
               ::"r"(static_cast<unsigned>(reinterpret_cast<size_t>(&s[threadIdx.x]) | 1u << 30)),
               "l"(in + threadIdx.x));
  asm volatile("cp.async.wait_all;");
}
__global__ void fragment_not_waited_for(const half* in, float* out) {
  using namespace nvcuda;
  __shared__ float tile[256];
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
  wmma::fill_fragment(c, 0.f);
  wmma::load_matrix_sync(a, in, 16);
  wmma::load_matrix_sync(b, in, 16);
  wmma::mma_sync(c, a, b, c);
  wmma::store_matrix_sync(tile, c, 16, wmma::mem_row_major);  // here: fragment stored
  for (unsigned i = threadIdx.x; i < 256; i += 32) out[i] = tile[255 - i];
}
__device__ int direct_total(0), direct_other(1);
__global__ void add_without_atomics() {
  direct_total += 1;  // here: a value in parentheses
}
__global__ void add_to_the_second() {
  direct_other += 1;  // here: the second value in parentheses
}
template <class T>
__global__ void count_in_a_static() {
  static __device__ T count;
  if (threadIdx.x == 0) count += 1;  // here: static in a kernel
}
// What it has read is no guess that the swap checks: it has used the data by then.
__device__ void take(const int* data, int* full, int* out) {
  if (*full != 1) return;  // here: used before the swap
  __threadfence();
  *out = *data;
  atomicCAS(full, 1, 0);
}
__device__ void give(int* data, int* full) {
  *data = 42;
  __threadfence();
  atomicExch(full, 1);
}
__global__ void hand_over(int* data, int* full, int* out) {
  if (blockIdx.x == 0)
    give(data, full);
  else
    take(data, full, out);
}
__global__ void hand_over_in_the_block(int* out) {
  __shared__ int data, full;
  if (threadIdx.x == 0) full = 0;
  __syncthreads();
  if (threadIdx.x == 0) give(&data, &full);
  if (threadIdx.x == 32) take(&data, &full, out);
}
__constant__ int table[32];
__global__ void write_to(int* at) {
  at[threadIdx.x] = 1;  // here: constant written
}
__device__ int four_words[4];
__device__ int one_word;
__device__ int filled_words[4] = {1, 2, 3, 4};
__global__ void write_past_a_variable() {
  four_words[blockDim.x + 4] = 1;  // here: past a variable
}
__global__ void write_beside_a_variable_of_all(int i) {
  seen_by_all[i] = 1;  // here: beside a variable of all
}
__global__ void exchange_and_use(int* p, int* out) {
  *out = atomicExch(p, 1);  // here: exchange used
}
__global__ void write_through_null() {
  *static_cast<int*>(nullptr) = 1;  // here: through null
}
__global__ void read_through_null(int* to) {
  const int* from = nullptr;
  *to = *from;  // here: from null
}
__global__ void read_past_a_variable(int* out, int i) {
  *out = filled_words[i];  // here: past a variable with a value
}
__global__ void write_across_a_word() {
  char* byte = reinterpret_cast<char*>(&one_word);
  *reinterpret_cast<int*>(byte + blockDim.x) = 42;  // here: across a word
}
__global__ void count_to(int* n) { atomicAdd(n, 1); }
int read_a_variable() {
  return one_word;  // here: a variable read
}
void write_a_variable(int i) {
  four_words[i] = 1;  // here: a variable written
}
__global__ void write_far_before(int* out, int n) {
  out[n * 1000] = 1;  // here: an index far off
}
__global__ void next_turn_too_early(const int* in, int* out) {
  __shared__ int tile[32];
  int sum = 0;
  for (int turn = 0; turn < 3; ++turn) {
    tile[threadIdx.x] = in[threadIdx.x] + turn;  // here: next turn
    __syncthreads();
    sum += tile[63 - threadIdx.x - 32];
  }
  out[threadIdx.x] = sum;
}
__global__ void write_before_the_start(int* out) {
  out[static_cast<int>(threadIdx.x) - 1] = 1;  // here: out of bounds write
}
__global__ void write_past_shared(int* out) {
  __shared__ int tile[32];
  tile[threadIdx.x + 1024] = 1;  // here: shared out of bounds
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x];
}
__global__ void write_past_dynamic_shared(int* out) {
  extern __shared__ int tile[];
  tile[threadIdx.x] = 1;  // here: dynamic out of bounds
  out[threadIdx.x] = tile[threadIdx.x];
}
__global__ void copy(const float* in, float* out) {
  out[threadIdx.x] = in[threadIdx.x];  // here: read
}
__global__ void read_float4(const float* in, float4* out) {
  out[threadIdx.x] = *reinterpret_cast<const float4*>(in + 1);  // here: misaligned
}
__global__ void sum_unwritten_shared(float* out) {
  __shared__ float sum;
  if (threadIdx.x == 0) out[0] = 0;
  atomicAdd(&sum, 1.0f);  // here: shared unwritten
}
void read_on_the_host(const int* device) {
  printf("%d\n", device[3]);  // here: host read
}

struct Parameters {
  float scale[8];
  int n;
};
__global__ void read_parameter(const int* p, int* out) {
  out[threadIdx.x] = *p;  // here: parameter read
}
__global__ void read_member(const Parameters* p, int* out) {
  out[threadIdx.x] = p->n;  // here: member read
}
__global__ void read_what_one_writes(const int* p, int* q, int* out) {
  out[threadIdx.x] = *p;  // here: scalar race
  if (threadIdx.x == 0) q[0] = 5;
}
__global__ void half_past_the_end(const __half* in, float* out) {
  out[threadIdx.x] = __half2float(in[threadIdx.x + 1]);  // here: half
}
__global__ void bfloat16_past_the_end(const __nv_bfloat16* in, float* out) {
  out[threadIdx.x] = static_cast<float>(in[threadIdx.x + 1]);  // here: bfloat16
}
__global__ void sum_of_halves_past_the_end(const __half* in, __half* out) {
  out[threadIdx.x] = in[threadIdx.x + 1] + in[threadIdx.x];  // here: sum of halves
}
__global__ void add_pairs(const __half2* in, __half2* out) {
  out[threadIdx.x] = __hfma2(in[threadIdx.x], out[threadIdx.x], out[0]);  // here: pair of halves
}
__global__ void add_to_halves(__half* sums) {
  sums[threadIdx.x + 1] += __half(1.0f);  // here: half that is added to
}
__global__ void add_to_one_half(__half* sum) {
  *sum += __half(1.0f);  // here: half of all
}
__global__ void atomic_past_the_end(cuda::atomic<int>* counters) {
  counters[threadIdx.x + 1].fetch_add(1);  // here: libcu++ atomic
}

// ---- synchronisation

__global__ void exit_before_the_barrier(int n) {
  if (static_cast<int>(threadIdx.x) >= n) return;
  __syncthreads();  // here: late barrier
}
__global__ void two_barriers(int* out) {
  if (threadIdx.x < 16) {
    __syncthreads();  // here: two barriers
  } else {
    out[threadIdx.x] = 1;
    __syncthreads();
  }
}
__global__ void wait_for_a_lane_at_the_barrier() {
  if (threadIdx.x != 0) {
    __syncwarp();  // here: stuck lane
  }
  __syncthreads();
}
__global__ void poll_for_ever(int* flag) {
  while (atomicAdd(flag, 0) == 0) {
  }
}
__global__ void poll_while_the_others_sync(int* flag) {
  if (threadIdx.x == 0) {
    while (atomicAdd(flag, 0) == 0) {
    }
  }
  cooperative_groups::this_grid().sync();
}
__global__ void leave_before_grid_sync(unsigned blocks_that_stay, unsigned threads_that_stay) {
  if (blockIdx.x >= blocks_that_stay || threadIdx.x >= threads_that_stay) return;
  cooperative_groups::this_grid().sync();  // here: left alone
}
void launch_leavers(unsigned blocks_that_stay, unsigned threads_that_stay) {
  void* arguments[] = {&blocks_that_stay, &threads_that_stay};
  cudaLaunchCooperativeKernel((void*)leave_before_grid_sync, 4, 64, arguments);
}
__global__ void loop_for_ever(int* out, int n) {
  for (int i = 0; n > 0; i = (i + 1) % n) out[i] = i;  // here: endless
}
__global__ void not_in_its_own_mask(int* out) {
  out[threadIdx.x] =
      __shfl_sync(threadIdx.x < 16 ? 0xffff : 0x0fff0000, 1, 0);  // here: not in mask
}
__global__ void reduce_without_syncwarp(int* out) {
  __shared__ int sum[64];
  sum[threadIdx.x] = static_cast<int>(threadIdx.x);
  __syncthreads();
  if (threadIdx.x >= 32) return;
  sum[threadIdx.x] += sum[threadIdx.x + 32];
  sum[threadIdx.x] += sum[threadIdx.x + 16];
  sum[threadIdx.x] += sum[threadIdx.x + 8];
  sum[threadIdx.x] += sum[threadIdx.x + 4];
  out[threadIdx.x] = sum[0];  // here: end of the reduction
}
__global__ void mask_names_the_exited(int* out) {
  if (threadIdx.x >= 16) return;
  out[threadIdx.x] = __shfl_sync(0xffffffff, 1, 0);  // here: exited in mask
}

// ---- races

__global__ void sum_without_atomics(int* sum) {
  *sum += 1;  // here: racy sum
}
__global__ void all_blocks_write(int* out) {
  if (threadIdx.x == 0) out[0] = static_cast<int>(blockIdx.x) + 1;  // here: block race
}
__global__ void reverse_without_barrier(int* data) {
  __shared__ int tile[64];
  tile[threadIdx.x] = data[threadIdx.x];
  data[threadIdx.x] = tile[63 - threadIdx.x];  // here: missing barrier
}
__global__ void reuse_without_barrier(int* out) {
  __shared__ int tile[64];
  int sum = 0;
  for (int turn = 0; turn < 3; ++turn) {
    // The tile of the turn before may still be read.
    tile[threadIdx.x] = static_cast<int>(threadIdx.x) + turn;  // here: missing second barrier
    __syncthreads();
    sum += tile[63 - threadIdx.x];
  }
  out[threadIdx.x] = sum;
}
__global__ void warp_tail_without_syncwarp(int* out) {
  __shared__ volatile int s[64];
  s[threadIdx.x] = static_cast<int>(threadIdx.x);
  __syncthreads();
  if (threadIdx.x < 32) {
    for (int d = 32; d > 0; d /= 2)
      s[threadIdx.x] = s[threadIdx.x] + s[threadIdx.x + d];  // here: warp tail
  }
  if (threadIdx.x == 0) out[0] = s[0];
}
__global__ void syncwarp_with_half_a_mask(int* out) {
  __shared__ int s[32];
  s[threadIdx.x] = 1;
  __syncwarp(threadIdx.x < 16 ? 0x0000ffff : 0xffff0000);
  out[threadIdx.x] = s[31 - threadIdx.x];  // here: half warp
}
__device__ unsigned ticket;
__global__ void last_block_without_fence(int* partial, int* out) {
  if (threadIdx.x != 0) return;
  partial[blockIdx.x] = 1;
  // __threadfence() is missing here.
  if (atomicAdd(&ticket, 1u) != gridDim.x - 1) return;
  int sum = 0;
  for (unsigned i = 0; i < gridDim.x; ++i) {
    sum += partial[i];  // here: no fence
  }
  *out = sum;
}
__global__ void last_block_without_second_fence(int* partial, int* out) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = 1;
    __threadfence();
    last = atomicAdd(&ticket, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  // __threadfence() is missing here.
  if (last && threadIdx.x < gridDim.x) out[threadIdx.x] = partial[threadIdx.x];  // here: 2nd fence
}
// mistake: 1: relaxed instead of acquire, by PTX; 2: the same, by libcu++; 3: a volatile flag and
// no fence; 4: a ticket that is a release alone
__global__ void flag_without_acquire(int* data, int* flag, int mistake) {
  if (threadIdx.x != 0) return;
  const cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
  if (blockIdx.x == 0) {
    *data = 42;
    ready.fetch_add(1, cuda::std::memory_order_release);
    return;
  }
  int seen = 0;
  while (seen == 0) {
    if (mistake == 1)
      asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
    if (mistake == 2) seen = ready.load(cuda::std::memory_order_relaxed);
    if (mistake == 3) seen = *static_cast<volatile int*>(flag);
    if (mistake == 4) seen = ready.fetch_add(0, cuda::std::memory_order_release);
  }
  data[1] = *data;  // here: no acquire
}
__global__ void consumer_without_fence(int* out) {
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
    *out = data;  // here: consumer
  }
}
__global__ void atomic_and_plain(int* data) {
  if (threadIdx.x == 0 && blockIdx.x == 0) atomicExch(data, 7);
  if (blockIdx.x == 1) {
    data[1 + threadIdx.x] = *data;  // here: plain flag
  }
}
__global__ void neighbours_without_grid_sync(int* data, int* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  data[i] = static_cast<int>(i);
  out[i] = data[(i + blockDim.x) % n];  // here: grid race
}

__global__ void relaxed_where_release_is_needed(int* data, int* flag) {
  if (threadIdx.x != 0) return;
  cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
  if (blockIdx.x == 0) {
    *data = 42;
    ready.store(1, cuda::std::memory_order_relaxed);
  } else {
    while (ready.load(cuda::std::memory_order_relaxed) == 0) {
    }
    data[1] = *data;  // here: relaxed flag
  }
}

// ---- mbarriers, named barriers, copies in the background

// clang-format off
__device__ unsigned address_of(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }

// The wait of thread 0: for the phase of this parity.
#define WAIT(barrier, parity) asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra W; }" ::"r"(address_of(barrier)), "r"(parity) : "memory")
#define INIT(barrier, count) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address_of(barrier)), "r"(count))
#define ARRIVE(barrier, count) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" ::"r"(address_of(barrier)), "r"(count) : "memory")
#define EXPECT(barrier, bytes) asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address_of(barrier)), "r"(bytes) : "memory")
#define LOAD(to, from, bytes, barrier) asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(address_of(to)), "l"(from), "r"(bytes), "r"(address_of(barrier)) : "memory")
#define LOAD_BOX(to, map, x, y, barrier) asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(address_of(to)), "l"(map), "r"(x), "r"(y), "r"(address_of(barrier)) : "memory")
#define STORE(to, from, bytes) asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::"l"(to), "r"(address_of(from)), "r"(bytes) : "memory")

// mistake: 1: waits for the wrong phase, 2: does not wait, 3: an address that is not a multiple of
// 16.
__global__ void load_wrongly(const int* in, int* out, int mistake) {
  __shared__ alignas(128) int tile[64];
  __shared__ alignas(8) uint64_t full;
  INIT(&full, 1);
  EXPECT(&full, 256);
  LOAD(tile, in + (mistake == 3), 256, &full);  // here: copy of an odd address
  if (mistake != 2) WAIT(&full, 0);
  if (mistake == 1) WAIT(&full, 1);  // here: the wrong phase
  out[0] = tile[5];  // here: read before the copy
}
// 256 bytes in, or out; mistake: 1: they are more than there are in shared memory.
__global__ void load_far(const int* in, int mistake) {
  __shared__ alignas(8) uint64_t full;
  __shared__ alignas(128) int tile[32];
  INIT(&full, 1);
  EXPECT(&full, mistake ? 256 : 128);
  LOAD(tile, in, mistake ? 256 : 128, &full);  // here: bulk load
  WAIT(&full, 0);
}
__global__ void store_far(int* out) {
  __shared__ alignas(128) int tile[64];
  for (int i = 0; i < 64; ++i) tile[i] = i;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  STORE(out, tile, 256);  // here: bulk store
}
// Each block writes a row of 16 numbers; the last thread of block 0 has them all copied.
// `ordered`: it has seen that all are there.
__global__ void gather_rows(int* rows, int* arrived, int* out, bool ordered, bool by_box,
                            const __grid_constant__ CUtensorMap map) {
  __shared__ alignas(128) int tile[8][16];
  __shared__ alignas(8) uint64_t full;
  rows[16 * blockIdx.x + threadIdx.x] = 1;  // here: row written
  asm volatile("fence.proxy.async;" ::: "memory");
  __threadfence();
  __syncthreads();
  if (threadIdx.x != 0) return;
  atomicAdd(arrived, 1);
  if (blockIdx.x != 0) return;
  while (atomicAdd(arrived, 0) != 8) {
  }
  if (ordered) __threadfence();
  INIT(&full, 1);
  EXPECT(&full, 512);
  if (by_box)
    LOAD_BOX(tile, &map, 0, 0, &full);  // here: box of rows
  else
    LOAD(tile, rows, 512, &full);  // here: rows in a line
  WAIT(&full, 0);
  *out = tile[7][15];
}
// The map says 64 rows, and there are 60.
__global__ void load_box_far(const __grid_constant__ CUtensorMap map, int row) {
  __shared__ alignas(128) int tile[8][16];
  __shared__ alignas(8) uint64_t full;
  INIT(&full, 1);
  EXPECT(&full, 512);
  LOAD_BOX(tile, &map, 0, row, &full);  // here: box
  WAIT(&full, 0);
}
CUtensorMap map_of_64_rows(int* rows) {
  alignas(64) CUtensorMap map;
  const cuuint64_t sizes[] = {16, 64}, pitches[] = {64};
  const cuuint32_t box[] = {16, 8}, steps[] = {1, 1};
  cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, rows, sizes, pitches, box, steps,
                         CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                         CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return map;
}
void gather(bool ordered, bool by_box) {
  int* rows = device_array<int>(64 * 16);
  gather_rows<<<8, 16>>>(rows, device_array<int>(1), device_array<int>(1), ordered, by_box,
                         map_of_64_rows(rows));
}
__global__ void wait_for_too_many_bytes(const int* in, int* out) {
  __shared__ alignas(128) int tile[64];
  __shared__ alignas(8) uint64_t full;
  INIT(&full, 1);
  EXPECT(&full, 512);
  LOAD(tile, in, 256, &full);
  WAIT(&full, 0);  // here: bytes that never come
  out[0] = tile[5];
}
__global__ void arrive_without_init() {
  __shared__ alignas(8) uint64_t barrier;
  ARRIVE(&barrier, 1);  // here: no mbarrier
}
__global__ void arrive_too_often() {
  __shared__ alignas(8) uint64_t barrier;
  INIT(&barrier, 2);
  ARRIVE(&barrier, 3);  // here: too many arrivals
}
__global__ void named_barrier_of_two_sizes() {
  if (threadIdx.x < 32) asm volatile("bar.sync 1, 64;");
  if (threadIdx.x >= 32) asm volatile("bar.sync 1, 96;");  // here: another size
}
__global__ void named_barrier_nobody_fills() {
  asm volatile("bar.sync 2, 128;");  // here: half of the named barrier
}
__global__ void matrix_without_all_lanes(unsigned* out) {
  __shared__ alignas(16) unsigned short tile[64];
  if (threadIdx.x >= 16) return;
  for (int i = 0; i < 4; ++i) tile[4 * threadIdx.x + i] = 1;
  __syncwarp(0xffff);
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(out[0]) : "r"(address_of(&tile[8 * (threadIdx.x % 8)])));  // here: lanes gone
}
__global__ void product_of_some_lanes(float* out) {
  float d[4] = {};
  if (threadIdx.x < 31) asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %4}, {%4}, {%0, %1, %2, %3};" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(0));  // here: a lane that goes on
  out[threadIdx.x] = d[0];
}
__global__ void wmma_of_half_a_warp(float* out) {
  nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, __half, nvcuda::wmma::row_major> a;
  nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, __half, nvcuda::wmma::row_major> b;
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> c;
  nvcuda::wmma::fill_fragment(a, __half(1));
  nvcuda::wmma::fill_fragment(b, __half(1));
  nvcuda::wmma::fill_fragment(c, 0.0f);
  nvcuda::wmma::mma_sync(c, a, b, c);  // here: half a warp
  out[threadIdx.x] = c.x[0];
}
__global__ void arrive_twice_at_the_cluster(int* out) {
  if (threadIdx.x == 0) return;
  asm volatile("barrier.cluster.arrive.aligned;");
  asm volatile("barrier.cluster.arrive.aligned;");  // here: two arrivals
  out[0] = 1;
}
#undef WAIT
#undef INIT
#undef ARRIVE
#undef EXPECT
#undef LOAD
// clang-format on

struct Bad {
  const char* check;
  const char* place;  // the line that is marked so; null: the report has no line
  std::function<void()> run;
  int status = 1;
};

Bad without_acquire(int mistake) {
  return {"race", "no acquire", [mistake] {
            flag_without_acquire<<<2, 32>>>(device_array<int>(2), device_array<int>(1), mistake);
          }};
}

const std::map<std::string, Bad>& bad_kernels() {
  static const std::map<std::string, Bad> list = {
      {"read past the end",
       {"out-of-bounds", "out of bounds read",
        [] { read_past_the_end<<<1, 32>>>(device_array<float>(32), device_array<float>(32)); }}},
      {"past the end, through functions",
       {"out-of-bounds", "load",
        [] {
          load_through_functions<<<1, 32>>>(device_array<float>(32), device_array<float>(32));
        }}},
      {"unwritten memory in two kernels",
       {"uninitialized", "load",
        [] {
          const float* in = device_array<float>(33, false);
          load_through_functions<<<1, 32>>>(in, device_array<float>(32));
          load_once_more<<<1, 32>>>(in, device_array<float>(32));
        }}},
      {"an arrival, through a function",
       {"mbarrier", "arrive", [] { arrive_through_a_function<<<1, 1>>>(); }}},
      {"a generic address for shared memory",
       {"shared-address", "generic address",
        [] { load_by_generic_address<<<1, 32>>>(device_array<float>(32)); }}},
      {"half of a generic address for shared memory",
       {"shared-address", "half an address",
        [] { copy_to_half_an_address<<<1, 32>>>(device_array<float4>(32)); }}},
      {"an index far off",
       {"out-of-bounds", "an index far off",
        [] { write_far_before<<<1, 1>>>(device_array<int>(32), -1500000); }}},
      {"a fragment stored, and no __syncwarp",
       {"race", "fragment stored",
        [] {
          fragment_not_waited_for<<<1, 32>>>(device_array<half>(256), device_array<float>(256));
        }}},
      {"a variable whose value stands in parentheses",
       {"race", "a value in parentheses", [] { add_without_atomics<<<4, 64>>>(); }}},
      {"the second of two such variables",
       {"race", "the second value in parentheses", [] { add_to_the_second<<<4, 64>>>(); }}},
      {"a static variable of a kernel",
       {"race", "static in a kernel", [] { count_in_a_static<int><<<8, 32>>>(); }}},
      {"a look that is used before the swap",
       {"race", "used before the swap",
        [] {
          hand_over<<<2, 1>>>(device_array<int>(1), device_array<int>(1), device_array<int>(1));
        }}},
      {"a look in shared memory that is used before the swap",
       {"race", "used before the swap",
        [] { hand_over_in_the_block<<<1, 64>>>(device_array<int>(1)); }}},
      {"constant memory written",
       {"read-only", "constant written",
        [] {
          void* address = nullptr;
          cudaGetSymbolAddress(&address, table);
          write_to<<<1, 32>>>(static_cast<int*>(address));
        }}},
      {"past the end of a variable",
       {"out-of-bounds", "past a variable", [] { write_past_a_variable<<<1, 1>>>(); }}},
      {"past the end of a variable with a value",
       {"out-of-bounds", "past a variable with a value",
        [] { read_past_a_variable<<<1, 1>>>(device_array<int>(1), 4); }}},
      {"past the end of a variable of all files",
       {"out-of-bounds", "beside a variable of all",
        [] { write_beside_a_variable_of_all<<<1, 1>>>(5); }}},
      {"before a variable of all files",
       {"out-of-bounds", "beside a variable of all",
        [] { write_beside_a_variable_of_all<<<1, 1>>>(-2); }}},
      {"an int across the end of a variable",
       {"out-of-bounds", "across a word", [] { write_across_a_word<<<1, 1>>>(); }}},
      {"a variable of the device, read by the host",
       {"device-variable", "a variable read",
        [] {
          device_array<int>(1);
          printf("%d\n", read_a_variable());
        }}},
      {"a variable of the device, written by the host",
       {"device-variable", "a variable written",
        [] {
          device_array<int>(1);
          write_a_variable(2);
        }}},
      {"the address of a variable in host code",
       {"host-pointer", "address on the host",
        [] {
          count_to<<<1, 32>>>(&one_word);  // here: address on the host
        }}},
      {"past the end of managed memory, on the host",
       {"out-of-bounds", "past managed memory",
        [] {
          int* managed = nullptr;
          cudaMallocManaged(&managed, 4096);
          managed[1024] = 1;  // here: past managed memory
        },
        128 + SIGSEGV}},  // as on a GPU
      {"beside managed memory, on its last page",
       {"out-of-bounds", "on the page",
        [] {
          int* managed = nullptr;
          for (int i = 0; i < 12; ++i) cudaMallocManaged(&managed, 400);
          const int index = 100;
          managed[index] = 1;  // here: on the page
        }}},
      {"before managed memory",
       {"out-of-bounds", "before managed",
        [] {
          double* managed = nullptr;
          cudaMallocManaged(&managed, 400);
          const volatile int before = -1;
          const int index = before;
          printf("%g\n", managed[index]);  // here: before managed
        }}},
      {"no barrier at the end of a turn",
       {"race", "next turn",
        [] { next_turn_too_early<<<1, 32>>>(device_array<int>(32), device_array<int>(32)); }}},
      {"write before the start",
       {"out-of-bounds", "out of bounds write",
        [] { write_before_the_start<<<1, 32>>>(device_array<int>(32)); }}},
      {"write past shared memory",
       {"out-of-bounds", "shared out of bounds",
        [] { write_past_shared<<<1, 32>>>(device_array<int>(32)); }}},
      {"write past dynamic shared memory",
       {"out-of-bounds", "dynamic out of bounds",
        [] { write_past_dynamic_shared<<<1, 32, 64>>>(device_array<int>(32)); }}},
      {"use after free",
       {"use-after-free", "read",
        [] {
          float *in = device_array<float>(32), *out = device_array<float>(32);
          cudaFree(in);
          copy<<<1, 32>>>(in, out);
        }}},
      {"host memory in a kernel",
       {"host-pointer", "read",
        [] {
          static std::vector<float> host(32);
          copy<<<1, 32>>>(host.data(), device_array<float>(32));
        }}},
      {"null pointer",
       {"host-pointer", "read", [] { copy<<<1, 32>>>(nullptr, device_array<float>(32)); }}},
      {"a null pointer that the compiler sees",
       {"host-pointer", "through null", [] { write_through_null<<<1, 1>>>(); }}},
      {"a read through null that the compiler sees",
       {"host-pointer", "from null", [] { read_through_null<<<1, 1>>>(device_array<int>(1)); }}},
      {"device memory on the host",
       {"device-pointer", "host read", [] { read_on_the_host(device_array<int>(32)); }}},
      {"unwritten global memory",
       {"uninitialized", "read",
        [] { copy<<<1, 32>>>(device_array<float>(32, false), device_array<float>(32)); }}},
      {"copy of unwritten global memory",
       {"uninitialized", "read",
        [] {
          float* in = device_array<float>(32);
          cudaMemcpy(in, device_array<float>(32, false), 128, cudaMemcpyDeviceToDevice);
          copy<<<1, 32>>>(in, device_array<float>(32));
        }}},
      {"an exchange that takes what nobody wrote",
       {"uninitialized", "exchange used",
        [] { exchange_and_use<<<1, 1>>>(device_array<int>(1, false), device_array<int>(1)); }}},
      {"unwritten shared memory",
       {"uninitialized", "shared unwritten",
        [] { sum_unwritten_shared<<<1, 32>>>(device_array<float>(1)); }}},
      {"misaligned float4",
       {"misaligned", "misaligned",
        [] { read_float4<<<1, 1>>>(device_array<float>(32), device_array<float4>(32)); }}},
      {"unwritten parameter",
       {"uninitialized", "parameter read",
        [] { read_parameter<<<1, 32>>>(device_array<int>(1, false), device_array<int>(32)); }}},
      {"freed parameter",
       {"use-after-free", "parameter read",
        [] {
          int *in = device_array<int>(1), *out = device_array<int>(32);
          cudaFree(in);
          read_parameter<<<1, 32>>>(in, out);
        }}},
      {"parameters on the host",
       {"host-pointer", "member read",
        [] {
          static std::vector<Parameters> host(1);
          read_member<<<1, 32>>>(host.data(), device_array<int>(32));
        }}},
      {"a parameter that one thread writes",
       {"race", "scalar race",
        [] {
          int* p = device_array<int>(1);
          read_what_one_writes<<<1, 64>>>(p, p, device_array<int>(64));
        }}},
      {"half past the end",
       {"out-of-bounds", "half",
        [] {
          half_past_the_end<<<1, 128>>>(device_array<__half>(128), device_array<float>(128));
        }}},
      {"bfloat16 past the end",
       {"out-of-bounds", "bfloat16",
        [] {
          bfloat16_past_the_end<<<1, 128>>>(device_array<__nv_bfloat16>(128),
                                            device_array<float>(128));
        }}},
      {"sum of halves past the end",
       {"out-of-bounds", "sum of halves",
        [] {
          sum_of_halves_past_the_end<<<1, 128>>>(device_array<__half>(128),
                                                 device_array<__half>(128));
        }}},
      {"a pair of halves that nobody wrote",
       {"uninitialized", "pair of halves",
        [] { add_pairs<<<1, 32>>>(device_array<__half2>(32, false), device_array<__half2>(32)); }}},
      {"a half that is added to past the end",
       {"out-of-bounds", "half that is added to",
        [] { add_to_halves<<<1, 64>>>(device_array<__half>(64)); }}},
      {"a half that all threads add to",
       {"race", "half of all", [] { add_to_one_half<<<1, 64>>>(device_array<__half>(1)); }}},
      {"libcu++ atomic past the end",
       {"out-of-bounds", "libcu++ atomic",
        [] { atomic_past_the_end<<<1, 64>>>(device_array<cuda::atomic<int>>(64)); }}},
      {"a launch that fails unseen",
       {"launch", "unseen launch",
        [] {
          float* data = device_array<float>(32);
          copy<<<1, 2048>>>(data, data);  // here: unseen launch
        }}},
      {"exit before the barrier",
       {"barrier-divergence", "late barrier", [] { exit_before_the_barrier<<<1, 64>>>(40); }}},
      {"two barriers",
       {"barrier-divergence", "two barriers",
        [] { two_barriers<<<1, 32>>>(device_array<int>(32)); }}},
      {"a lane that never comes",
       {"deadlock", "stuck lane", [] { wait_for_a_lane_at_the_barrier<<<1, 32>>>(); }}},
      {"polling for ever",
       {"deadlock", nullptr, [] { poll_for_ever<<<1, 1>>>(device_array<int>(1)); }}},
      {"polling while the others wait at grid.sync",
       {"deadlock", nullptr,
        [] {
          int* flag = device_array<int>(1);
          void* arguments[] = {&flag};
          cudaLaunchCooperativeKernel((void*)poll_while_the_others_sync, 1, 32, arguments);
        }}},
      {"a block that ends before grid.sync",
       {"barrier-divergence", "left alone", [] { launch_leavers(3, 64); }}},
      {"threads that end before grid.sync",
       {"barrier-divergence", "left alone", [] { launch_leavers(4, 63); }}},
      {"looping for ever",
       {"deadlock", "endless", [] { loop_for_ever<<<1, 1>>>(device_array<int>(200), 200); }}},
      {"a lane outside of its mask",
       {"warp-mask", "not in mask", [] { not_in_its_own_mask<<<1, 32>>>(device_array<int>(32)); }}},
      {"exited lanes in the mask",
       {"warp-mask", "exited in mask",
        [] { mask_names_the_exited<<<1, 32>>>(device_array<int>(32)); }}},
      {"exited lanes in the mask of many blocks",
       {"warp-mask", "exited in mask",
        [] { mask_names_the_exited<<<100, 64>>>(device_array<int>(32)); }}},
      {"reduction without __syncwarp",
       {"race", "end of the reduction",
        [] { reduce_without_syncwarp<<<50, 64>>>(device_array<int>(32)); }}},
      {"sum without atomics",
       {"race", "racy sum", [] { sum_without_atomics<<<1, 2>>>(device_array<int>(1)); }}},
      {"all blocks write one word",
       {"race", "block race", [] { all_blocks_write<<<4, 32>>>(device_array<int>(1)); }}},
      {"all blocks write one word of a large array",
       {"race", "block race", [] { all_blocks_write<<<4, 32>>>(device_array<int>(15 << 20)); }}},
      {"missing barrier",
       {"race", "missing barrier",
        [] { reverse_without_barrier<<<1, 64>>>(device_array<int>(64)); }}},
      {"missing second barrier",
       {"race", "missing second barrier",
        [] { reuse_without_barrier<<<1, 64>>>(device_array<int>(64)); }}},
      {"warp tail without __syncwarp",
       {"race", "warp tail", [] { warp_tail_without_syncwarp<<<1, 64>>>(device_array<int>(1)); }}},
      {"__syncwarp of half a warp",
       {"race", "half warp", [] { syncwarp_with_half_a_mask<<<1, 32>>>(device_array<int>(32)); }}},
      {"last block without a fence",
       {"race", "no fence",
        [] { last_block_without_fence<<<8, 32>>>(device_array<int>(8), device_array<int>(1)); }}},
      {"last block without its second fence",
       {"race", "2nd fence",
        [] {
          const unsigned zero = 0;
          cudaMemcpyToSymbol(ticket, &zero, sizeof zero);
          last_block_without_second_fence<<<8, 32>>>(device_array<int>(8), device_array<int>(8));
        }}},
      {"flag read without acquire, PTX", without_acquire(1)},
      {"flag read without acquire, libcu++", without_acquire(2)},
      {"volatile flag without a fence", without_acquire(3)},
      {"release where both are needed", without_acquire(4)},
      {"flag in shared memory that is read without a fence",
       {"race", "consumer", [] { consumer_without_fence<<<1, 64>>>(device_array<int>(1)); }}},
      {"atomic write, plain read",
       {"race", "plain flag", [] { atomic_and_plain<<<2, 32>>>(device_array<int>(64)); }}},
      {"flag without release",
       {"race", "relaxed flag",
        [] {
          relaxed_where_release_is_needed<<<2, 32>>>(device_array<int>(2), device_array<int>(1));
        }}},
      {"blocks read each other without grid sync",
       {"race", "grid race",
        [] {
          neighbours_without_grid_sync<<<4, 32>>>(device_array<int>(128), device_array<int>(128));
        }}},
      {"bytes that never come",
       {"deadlock", "bytes that never come",
        [] { wait_for_too_many_bytes<<<1, 1>>>(device_array<int>(64), device_array<int>(1)); }}},
      {"wait for the wrong phase",
       {"deadlock", "the wrong phase",
        [] { load_wrongly<<<1, 1>>>(device_array<int>(64), device_array<int>(1), 1); }}},
      {"copy in the background without a wait",
       {"uninitialized", "read before the copy",
        [] { load_wrongly<<<1, 1>>>(device_array<int>(64), device_array<int>(1), 2); }}},
      {"copy in the background of an odd address",
       {"misaligned", "copy of an odd address",
        [] { load_wrongly<<<1, 1>>>(device_array<int>(65), device_array<int>(1), 3); }}},
      {"copy in the background past the end",
       {"out-of-bounds", "bulk load", [] { load_far<<<1, 1>>>(device_array<int>(20), 0); }}},
      {"copy in the background beyond shared memory",
       {"out-of-bounds", "bulk load", [] { load_far<<<1, 1>>>(device_array<int>(64), 1); }}},
      {"copy in the background of freed memory",
       {"use-after-free", "bulk load",
        [] {
          int* in = device_array<int>(64);
          cudaFree(in);
          load_far<<<1, 1>>>(in, 0);
        }}},
      {"copy in the background of host memory",
       {"host-pointer", "bulk load",
        [] {
          static std::vector<int> host(64);
          load_far<<<1, 1>>>(host.data() + 4 - reinterpret_cast<uintptr_t>(host.data()) % 16 / 4,
                             0);
        }}},
      {"copy in the background that writes past the end",
       {"out-of-bounds", "bulk store", [] { store_far<<<1, 1>>>(device_array<int>(60)); }}},
      {"a copy in the background of what other blocks write",
       {"race", "rows in a line", [] { gather(false, false); }}},
      {"a box of what other blocks write", {"race", "box of rows", [] { gather(false, true); }}},
      {"a box of rows that there are not",
       {"out-of-bounds", "box",
        [] { load_box_far<<<1, 1>>>(map_of_64_rows(device_array<int>(60 * 16)), 56); }}},
      {"arrival without mbarrier.init",
       {"mbarrier", "no mbarrier", [] { arrive_without_init<<<1, 1>>>(); }}},
      {"more arrivals than a phase has",
       {"mbarrier", "too many arrivals", [] { arrive_too_often<<<1, 1>>>(); }}},
      {"a named barrier of two sizes",
       {"named-barrier", "another size", [] { named_barrier_of_two_sizes<<<1, 64>>>(); }}},
      {"a named barrier that nobody fills",
       {"deadlock", "half of the named barrier", [] { named_barrier_nobody_fills<<<1, 64>>>(); }}},
      {"ldmatrix without all lanes",
       {"divergent", "lanes gone",
        [] { matrix_without_all_lanes<<<1, 32>>>(device_array<unsigned>(1)); }}},
      {"mma.sync without a lane that goes on",
       {"divergent", "a lane that goes on",
        [] { product_of_some_lanes<<<1, 32>>>(device_array<float>(32)); }}},
      {"wmma by half a warp",
       {"divergent", "half a warp",
        [] { wmma_of_half_a_warp<<<1, 16>>>(device_array<float>(16)); }}},
      {"two arrivals at the barrier of the cluster",
       {"cluster-barrier", "two arrivals",
        [] { arrive_twice_at_the_cluster<<<1, 32>>>(device_array<int>(1)); }}},
  };
  return list;
}

tests::CommandResult run(const std::string& name, const std::string& environment = "") {
  return tests::run_command("SIMT_TIMEOUT=1 " + environment + " BAD_KERNEL='" + name + "' " +
                            tests::this_program() + " 'run BAD_KERNEL' 2>&1");
}

}  // namespace

TEST_CASE("run BAD_KERNEL", "[.]") {
  const char* name = getenv("BAD_KERNEL");
  REQUIRE(name != nullptr);
  if (std::string(name) == "a race in 65 MB") {
    all_blocks_write<<<4, 32>>>(device_array<int>(65 << 18));
  } else {
    bad_kernels().at(name).run();
  }
  printf("sync: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  if (getenv("ASKED_FOR") != nullptr) simt::check_reports();
}

TEST_CASE("every error is named with its place and spoils the exit status") {
  for (const auto& [name, bad] : bad_kernels()) {
    DYNAMIC_SECTION(name) {
      const tests::CommandResult result = run(name);
      INFO(result.output);
      CHECK(result.status == bad.status);
      CHECK(result.output.find(std::string("simt: error [") + bad.check + "]") !=
            std::string::npos);
      if (bad.place != nullptr) {
        const std::string place =
            "simt/tests/check_errors.cu:" + std::to_string(tests::line_of(bad.place));
        CHECK(result.output.find(place) != std::string::npos);
      }
      CHECK(result.output.find(" error", result.output.rfind("\nsimt: ")) != std::string::npos);
    }
  }
}

TEST_CASE(
    "a program that asks for the reports is not ended by them, and the last line counts them") {
  const tests::CommandResult result = run("missing barrier", "ASKED_FOR=1");
  INFO(result.output);
  CHECK(result.status == 0);
  CHECK(result.output.find(
            "\nsimt: 1 kernel checked, 2 errors found, of which the program knows\n") !=
        std::string::npos);
}

TEST_CASE("the runtime returns the error that a GPU would") {
  const auto error_of = [](const char* name) {
    const std::string output = run(name).output;
    const size_t begin = output.find("sync: ");
    if (begin == std::string::npos) return output;
    return output.substr(begin + 6, output.find('\n', begin) - begin - 6);
  };
  CHECK(error_of("read past the end") == "cudaErrorIllegalAddress");
  CHECK(error_of("use after free") == "cudaErrorIllegalAddress");
  CHECK(error_of("host memory in a kernel") == "cudaErrorIllegalAddress");
  CHECK(error_of("misaligned float4") == "cudaErrorMisalignedAddress");
  CHECK(error_of("a lane that never comes") == "cudaErrorLaunchTimeout");
  CHECK(error_of("missing barrier") == "cudaSuccess");
}

TEST_CASE("a report names kernel, block and thread") {
  const tests::CommandResult result = run("read past the end");
  INFO(result.output);
  CHECK(result.output.find("kernel read_past_the_end, block (0,0,0), thread (31,0,0)") !=
        std::string::npos);
  CHECK(result.output.find("0 bytes past the end of 128 bytes allocated at") != std::string::npos);
}

TEST_CASE("a report says how far away an address is, and which turn of a loop is too early") {
  const tests::CommandResult far = run("an index far off");
  INFO(far.output);
  CHECK(far.output.find("address is 6000000000 bytes before 128 bytes allocated at") !=
        std::string::npos);
  const tests::CommandResult turn = run("no barrier at the end of a turn");
  INFO(turn.output);
  CHECK(turn.output.find("a barrier is missing behind the read") != std::string::npos);
  const tests::CommandResult once = run("missing barrier");
  INFO(once.output);
  CHECK(once.output.find("later turn") == std::string::npos);
}

TEST_CASE("a report says who called the function that it names") {
  const auto called_at = [](const char* place) {
    return "called at simt/tests/check_errors.cu:" + std::to_string(tests::line_of(place));
  };
  const std::string loads = run("past the end, through functions").output;
  INFO(loads);
  const size_t caller = loads.find(called_at("caller of load"));
  CHECK(caller != std::string::npos);
  CHECK(loads.find(called_at("caller of the caller"), caller) != std::string::npos);
  const std::string arrives = run("an arrival, through a function").output;
  INFO(arrives);
  CHECK(arrives.find(called_at("caller of arrive")) != std::string::npos);
  CHECK(arrives.find("the mbarrier never_made") != std::string::npos);
}

TEST_CASE("what lies past a variable is told by its name") {
  const tests::CommandResult result = run("past the end of a variable");
  INFO(result.output);
  CHECK(result.output.find("address is 4 bytes past the end of variable four_words of 16 bytes") !=
        std::string::npos);
}

TEST_CASE("a copy or a fill by a variable's address in host code fails") {
  int host[4] = {};
  CHECK(cudaMemcpy(host, four_words, 16, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
  CHECK(cudaMemset(&one_word, 0, 4) == cudaErrorInvalidValue);
  CHECK(cudaMemcpyToSymbol(four_words, host, 16) == cudaSuccess);
  CHECK(cudaMemcpyFromSymbol(host, four_words, 16) == cudaSuccess);
  void* address = nullptr;
  CHECK(cudaGetSymbolAddress(&address, four_words) == cudaSuccess);
  CHECK(cudaMemset(address, 0, 16) == cudaSuccess);
  cudaGetLastError();
}

TEST_CASE("one place is reported once, however often it is wrong") {
  const tests::CommandResult result = run("unwritten global memory");
  const size_t first = result.output.find("simt: error [");
  REQUIRE(first != std::string::npos);
  CHECK(result.output.find("simt: error [", first + 1) == std::string::npos);
}

TEST_CASE("one place in two kernels is reported for each of them") {
  const tests::CommandResult result = run("unwritten memory in two kernels");
  INFO(result.output);
  for (const char* kernel : {"kernel load_through_functions, ", "kernel load_once_more, "}) {
    const size_t first = result.output.find(kernel);
    REQUIRE(first != std::string::npos);
    CHECK(result.output.find(kernel, first + 1) == std::string::npos);
  }
  CHECK(result.output.find("\nsimt: 2 errors\n") != std::string::npos);
}

TEST_CASE("one missing __syncwarp is told line by line, not pair by pair") {
  const tests::CommandResult result = run("reduction without __syncwarp");
  INFO(result.output);
  int reports = 0;
  for (size_t at = 0; (at = result.output.find("simt: error [race]", at)) != std::string::npos;
       ++at)
    ++reports;
  CHECK(reports > 0);
  CHECK(reports <= 5);  // five lines
}

TEST_CASE("a mask that is wrong in every block is reported once") {
  const tests::CommandResult result = run("exited lanes in the mask of many blocks");
  INFO(result.output);
  const size_t first = result.output.find("simt: error [");
  REQUIRE(first != std::string::npos);
  CHECK(result.output.find("simt: error [", first + 1) == std::string::npos);
}

TEST_CASE("copies in the background of what was written before are no race") {
  for (const bool by_box : {false, true}) {
    gather(true, by_box);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
  }
}

TEST_CASE("a failed launch that the program asked about is no error") {
  device_array<int>(1);
  copy<<<1, 2048>>>(nullptr, nullptr);
  CHECK(cudaPeekAtLastError() == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
}

TEST_CASE("an array that is too large to be checked for races is told") {
  const std::string said = "checked, no errors found; not looked for: races in 1 large array\n";
  const tests::CommandResult larger = run("a race in 65 MB");
  INFO(larger.output);
  CHECK(larger.output.find(said) != std::string::npos);
  CHECK(larger.status == 0);
}

TEST_CASE("SIMT_CHECK=0 switches the checks off") {
  const tests::CommandResult result = run("missing barrier", "SIMT_CHECK=0");
  INFO(result.output);
  CHECK(result.status == 0);
  CHECK(result.output.find("simt:") == std::string::npos);
}

TEST_CASE("reports and counters that cannot be written are told, and spoil the exit status") {
  for (const std::string variable : {"SIMT_CHECK_JSON", "SIMT_PROFILE_JSON"}) {
    for (const std::string file : {"/dev/full", "/nonexistent/a.json"}) {
      const tests::CommandResult result = run("a race in 65 MB", variable + "=" + file);
      INFO(result.output);
      CHECK(result.status == 1);
      CHECK(result.output.find("simt: " + variable + "=" + file + ": ") != std::string::npos);
    }
  }
}

TEST_CASE("SIMT_CHECK_JSON writes the reports to a file") {
  const std::string path = std::string(TEST_BUILD) + "/check_errors.json";
  run("missing barrier", "SIMT_CHECK_JSON=" + path);
  const std::string json = tests::run_command("cat " + path).output;
  INFO(json);
  CHECK(json.find("\"errors\":2") != std::string::npos);  // it also reads what is not yet written
  CHECK(json.find("\"check\":\"race\"") != std::string::npos);
  CHECK(json.find("\"line\":" + std::to_string(tests::line_of("missing barrier"))) !=
        std::string::npos);
  CHECK(json.find("\"kernel\":\"reverse_without_barrier\"") != std::string::npos);
}
