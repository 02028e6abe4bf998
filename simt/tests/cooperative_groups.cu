// Cooperative groups, pipelines and barriers.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda_pipeline.h>

#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>

#include "simt/tests/device_array.hpp"
#include "tests/catch.hpp"

namespace cg = cooperative_groups;

__global__ void block_and_tiles(int* out) {
  cg::thread_block block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  auto tile = cg::tiled_partition<8>(warp);
  int* mine = out + block.thread_rank() * 8;
  mine[0] = int(block.size());
  mine[1] = int(warp.meta_group_rank());
  mine[2] = int(tile.thread_rank());
  mine[3] = tile.shfl(int(block.thread_rank()), 2);
  mine[4] = cg::reduce(tile, int(block.thread_rank()), cg::plus<int>());
  mine[5] = cg::inclusive_scan(tile, 1);
  mine[6] = cg::exclusive_scan(warp, int(warp.thread_rank()), cg::greater<int>());
  mine[7] = int(tile.ballot(tile.thread_rank() == 1)) * 10 + tile.any(false);
  block.sync();
}

TEST_CASE("blocks and tiles") {
  DeviceArray<int> out(64 * 8);
  block_and_tiles<<<1, dim3(16, 4)>>>(out.get());
  auto values = out.values();
  for (int t = 0; t < 64; ++t) {
    const int* mine = &values[t * 8];
    REQUIRE(mine[0] == 64);
    REQUIRE(mine[1] == t / 32);
    REQUIRE(mine[2] == t % 8);
    REQUIRE(mine[3] == t / 8 * 8 + 2);
    REQUIRE(mine[4] == t / 8 * 64 + 28);
    REQUIRE(mine[5] == t % 8 + 1);
    REQUIRE(mine[6] == (t % 32 ? t % 32 - 1 : 0));
    REQUIRE(mine[7] == 20);
  }
}

__global__ void coalesced(int* out, int* counter) {
  const int t = threadIdx.x;
  if (t % 3 == 0) {
    cg::coalesced_group group = cg::coalesced_threads();
    out[t * 3] = int(group.size());
    out[t * 3 + 1] = int(group.thread_rank());
    // One atomic for the whole group.
    int first = 0;
    if (group.thread_rank() == 0) first = atomicAdd(counter, int(group.size()));
    out[t * 3 + 2] = group.shfl(first, 0) + int(group.thread_rank());
  }
}

TEST_CASE("coalesced groups") {
  DeviceArray<int> out(32 * 3), counter(1, 100);
  coalesced<<<1, 32>>>(out.get(), counter.get());
  auto values = out.values();
  for (int t = 0; t < 32; t += 3) {
    REQUIRE(values[t * 3] == 11);
    REQUIRE(values[t * 3 + 1] == t / 3);
    REQUIRE(values[t * 3 + 2] == 100 + t / 3);
  }
  CHECK(counter.values()[0] == 111);
}

__global__ void partitions(int* out) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  auto by_label = cg::labeled_partition(warp, int(threadIdx.x) % 3);
  auto by_half = cg::binary_partition(warp, threadIdx.x < 10);
  cg::thread_group generic = cg::tiled_partition(cg::this_thread_block(), 4);
  generic.sync();
  out[threadIdx.x * 3] = int(by_label.size());
  out[threadIdx.x * 3 + 1] = int(by_half.size());
  out[threadIdx.x * 3 + 2] = int(generic.thread_rank());
}

TEST_CASE("partitions by label") {
  DeviceArray<int> out(32 * 3);
  partitions<<<1, 32>>>(out.get());
  auto values = out.values();
  CHECK(values[0] == 11);
  CHECK(values[2 * 3] == 10);
  CHECK(values[3 * 3 + 1] == 10);
  CHECK(values[20 * 3 + 1] == 22);
  CHECK(values[7 * 3 + 2] == 3);
}

// Each block adds its neighbour's value, again and again: only right if the whole grid meets every
// time.
__global__ void grid_steps(int* data, int steps) {
  cg::grid_group grid = cg::this_grid();
  __shared__ int kept;
  if (threadIdx.x == 0) kept = int(blockIdx.x);
  for (int s = 0; s < steps; ++s) {
    const int neighbour = data[(blockIdx.x + 1) % gridDim.x];
    grid.sync();
    if (threadIdx.x == 0) data[blockIdx.x] = neighbour;
    grid.sync();
  }
  if (threadIdx.x == 0) data[blockIdx.x] += kept * 1000;
}

TEST_CASE("the whole grid meets at grid.sync()") {
  const int blocks = 20;
  DeviceArray<int> data(blocks);
  for (int i = 0; i < blocks; ++i) data[i] = i;
  int* pointer = data.get();
  int steps = 5;
  void* arguments[] = {&pointer, &steps};
  REQUIRE(cudaLaunchCooperativeKernel((void*)grid_steps, dim3(blocks), dim3(64), arguments) ==
          cudaSuccess);
  auto values = data.values();
  for (int i = 0; i < blocks; ++i) REQUIRE(values[i] == (i + 5) % blocks + i * 1000);
  CHECK(cudaLaunchCooperativeKernel(grid_steps, dim3(132 * 32 + 1), dim3(64), arguments) ==
        cudaErrorCooperativeLaunchTooLarge);
  CHECK(cudaGetLastError() == cudaErrorCooperativeLaunchTooLarge);
}

__global__ void grid_in_two_steps(int* data) {
  auto grid = cg::this_grid();
  data[grid.thread_rank()] = static_cast<int>(grid.thread_rank());
  auto token = grid.barrier_arrive();
  const unsigned long long last = grid.num_threads() - 1;
  grid.barrier_wait(std::move(token));
  const int mirrored = data[last - grid.thread_rank()];
  grid.sync();
  data[grid.thread_rank()] = mirrored;
}

TEST_CASE("a grid may arrive first, and wait later") {
  DeviceArray<int> data(640);
  int* pointer = data.get();
  void* arguments[] = {&pointer};
  REQUIRE(cudaLaunchCooperativeKernel((void*)grid_in_two_steps, dim3(10), dim3(64), arguments) ==
          cudaSuccess);
  const auto values = data.values();
  for (int i = 0; i < 640; ++i) REQUIRE(values[i] == 639 - i);
}

__global__ void fill_whole_gpu(int* sum) {
  atomicAdd(sum, 1);
  cg::this_grid().sync();
  if (cg::this_grid().thread_rank() == 0) sum[1] = sum[0];
}

TEST_CASE("a cooperative grid may fill the whole model GPU") {
  DeviceArray<int> sum(2, 0);
  int* pointer = sum.get();
  void* arguments[] = {&pointer};
  int blocks = 0;
  REQUIRE(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill_whole_gpu, 64, 0) ==
          cudaSuccess);
  blocks *= 132;
  REQUIRE(cudaLaunchCooperativeKernel(fill_whole_gpu, dim3(blocks), dim3(64), arguments) ==
          cudaSuccess);
  CHECK(sum.values()[1] == blocks * 64);
}

// Some threads of a block may poll while others stand at grid.sync() already.
__global__ void wait_in_the_block_then_sync(int* value, int* out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  if (threadIdx.x == 0) {
    init(&barrier, blockDim.x);
    if (blockIdx.x == 0) *value = 1;
  }
  cg::this_grid().sync();
  if (blockIdx.x == 0) {
    barrier.arrive_and_wait();
    if (threadIdx.x == 0) *value = 2;
  }
  cg::this_grid().sync();
  out[blockIdx.x * blockDim.x + threadIdx.x] = *value;
}
__global__ void wait_for_the_other_block_then_sync(int* value, int* flag, int* out) {
  if (blockIdx.x == 0 && threadIdx.x == 0) *value = 1;
  cg::this_grid().sync();
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    while (atomicAdd(flag, 0) == 0) {
    }
    *value = 2;
  }
  if (blockIdx.x == 1 && threadIdx.x == 0) {
    for (int i = 0; i < 20; ++i) __nanosleep(100);
    atomicExch(flag, 1);
  }
  cg::this_grid().sync();
  out[blockIdx.x * blockDim.x + threadIdx.x] = *value;
}

TEST_CASE("nobody passes grid.sync() before a thread that still polls") {
  DeviceArray<int> value(1, 0), flag(1, 0), out(128, 0);
  int *v = value.get(), *f = flag.get(), *o = out.get();
  const auto all_read_two = [&] {
    for (const int read : out.values()) {
      if (read != 2) return false;
    }
    return true;
  };
  void* in_block[] = {&v, &o};
  REQUIRE(cudaLaunchCooperativeKernel((void*)wait_in_the_block_then_sync, 2, 64, in_block) ==
          cudaSuccess);
  CHECK(all_read_two());
  void* in_grid[] = {&v, &f, &o};
  REQUIRE(cudaLaunchCooperativeKernel((void*)wait_for_the_other_block_then_sync, 2, 64, in_grid) ==
          cudaSuccess);
  CHECK(all_read_two());
}

// ---- cp.async, cuda::pipeline, cuda::barrier --------------------------------------------------

__global__ void pipeline_primitives(const float4* in, float* out, int n) {
  __shared__ float4 stage[2][32];
  const int t = threadIdx.x;
  __pipeline_memcpy_async(&stage[0][t], &in[t], sizeof(float4));
  __pipeline_commit();
  float sum = 0;
  for (int i = 0; i < n; ++i) {
    if (i + 1 < n)
      __pipeline_memcpy_async(&stage[(i + 1) % 2][t], &in[(i + 1) * 32 + t], sizeof(float4));
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    const float4 v = stage[i % 2][31 - t];
    sum += v.x + v.y + v.z + v.w;
    __syncthreads();
  }
  out[t] = sum;
}

TEST_CASE("double buffering with cp.async") {
  const int n = 4;
  DeviceArray<float4> in(32 * n);
  for (int i = 0; i < 32 * n; ++i) in[i] = make_float4(i, 0, 1, 0);
  DeviceArray<float> out(32);
  pipeline_primitives<<<1, 32>>>(in.get(), out.get(), n);
  CHECK(out.values()[0] == (31 + 63 + 95 + 127) + 4);
}

__global__ void block_pipeline(const int* in, int* out, int n) {
  constexpr int kStages = 2;
  __shared__ int buffer[kStages][64];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kStages> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  int sum = 0, loaded = 0;
  for (int i = 0; i < n; ++i) {
    for (; loaded < n && loaded < i + kStages; ++loaded) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, buffer[loaded % kStages], in + loaded * 64, sizeof(int) * 64, pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    sum += buffer[i % kStages][63 - threadIdx.x];
    pipe.consumer_release();
  }
  out[threadIdx.x] = sum;
}

TEST_CASE("a pipeline between the threads of a block") {
  const int n = 6;
  DeviceArray<int> in(64 * n), out(64);
  for (int i = 0; i < 64 * n; ++i) in[i] = i;
  block_pipeline<<<1, 64>>>(in.get(), out.get(), n);
  int expected = 0;
  for (int i = 0; i < n; ++i) expected += i * 64 + 63;
  CHECK(out.values()[0] == expected);
}

__global__ void producer_and_consumers(int* out, int n) {
  using barrier = cuda::barrier<cuda::thread_scope_block>;
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ barrier full, empty;
  __shared__ int slot;
  if (threadIdx.x == 0) {
    init(&full, blockDim.x);
    init(&empty, blockDim.x);
  }
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    if (threadIdx.x < 32) {  // the first warp produces
      empty.arrive_and_wait();
      if (threadIdx.x == 0) slot = i * i;
      (void)full.arrive();
    } else {
      (void)empty.arrive();
      full.arrive_and_wait();
      sum += slot;
    }
  }
  out[threadIdx.x] = sum;
}

TEST_CASE("cuda::barrier with producers and consumers") {
  DeviceArray<int> out(96);
  producer_and_consumers<<<1, 96>>>(out.get(), 10);
  auto values = out.values();
  CHECK(values[0] == 0);
  CHECK(values[95] == 285);
}

__global__ void scoped_atomics(int* cell, unsigned* most) {
  cuda::atomic_ref<int, cuda::thread_scope_device> sum(*cell);
  sum.fetch_add(2, cuda::memory_order_relaxed);
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> largest(*most);
  largest.fetch_max(threadIdx.x);
}

TEST_CASE("cuda::atomic_ref") {
  DeviceArray<int> cell(1, 0);
  DeviceArray<unsigned> most(1, 0);
  scoped_atomics<<<8, 64>>>(cell.get(), most.get());
  CHECK(cell.values()[0] == 1024);
  CHECK(most.values()[0] == 63);
}
