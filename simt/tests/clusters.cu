// Clusters: blocks that run together, meet, and reach each other's shared memory.
#include <cooperative_groups.h>
#include <cuda.h>

#include <cuda/ptx>

#include <cstdint>
#include <vector>

#include "device_array.hpp"
#include "tests/catch.hpp"

namespace cg = cooperative_groups;

namespace {

template <class... P>
cudaError_t launch(void (*kernel)(P...), dim3 grid, dim3 block, dim3 cluster, size_t shared,
                   P... p) {
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {cluster.x, cluster.y, cluster.z};
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, kernel, p...);
}

}  // namespace

// Every block writes into the block after it, then reads what the one before it wrote.
__global__ void __cluster_dims__(4) pass_on(int* out) {
  __shared__ int mine[32];
  cg::cluster_group cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank(), next = (rank + 1) % cluster.num_blocks();
  mine[threadIdx.x] = -1;
  cluster.sync();
  int* other = cluster.map_shared_rank(mine, int(next));
  other[threadIdx.x] = int(blockIdx.x * 100 + threadIdx.x);
  cluster.sync();
  out[blockIdx.x * 32 + threadIdx.x] = mine[threadIdx.x];
}

TEST_CASE("blocks of a cluster write into each other's shared memory") {
  DeviceArray<int> out(12 * 32);
  pass_on<<<12, 32>>>(out.get());
  const auto values = out.values();
  for (int block = 0; block < 12; ++block) {
    const int before = block / 4 * 4 + (block + 3) % 4;
    for (int i = 0; i < 32; ++i) CHECK(values[block * 32 + i] == before * 100 + i);
  }
}

__global__ void where_kernel(unsigned* out) {
  unsigned rank, count, x, y, cluster_x, clusters_y;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(count));
  asm("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(x));
  asm("mov.u32 %0, %%cluster_ctaid.y;" : "=r"(y));
  asm("mov.u32 %0, %%clusterid.x;" : "=r"(cluster_x));
  asm("mov.u32 %0, %%nclusterid.y;" : "=r"(clusters_y));
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned ok = rank == x + 2 * y && x == blockIdx.x % 2 && y == blockIdx.y % 2 &&
                      cluster_x == blockIdx.x / 2 && clusters_y == gridDim.y / 2;
  if (threadIdx.x == 0) out[block] = ok * 100 + count;
}

TEST_CASE("a cluster in two dimensions knows where it is") {
  DeviceArray<unsigned> out(6 * 4 * 2);
  REQUIRE(launch(where_kernel, dim3(6, 4, 2), dim3(32), dim3(2, 2, 1), 0, out.get()) ==
          cudaSuccess);
  for (unsigned x : out.values()) CHECK(x == 104);
  where_kernel<<<1, 32>>>(out.get());
  CHECK(out.values()[0] % 100 == 1);  // a block without a cluster is one by itself
}

// Rank 0 waits at its mbarrier for all threads of the others, through mapa; dynamic shared memory
// of each block holds its own.
__global__ void remote_kernel(int* out, int rounds) {
  extern __shared__ int values[];
  __shared__ alignas(8) uint64_t all;
  const auto address = [](const void* p) { return unsigned(__cvta_generic_to_shared(p)); };
  cg::cluster_group cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank();
  if (threadIdx.x == 0)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(&all)),
                 "r"((cluster.num_blocks() - 1) * blockDim.x));
  cluster.sync();
  for (int round = 0; round < rounds; ++round) {
    unsigned slot, barrier;
    asm volatile("mapa.shared::cluster.u32 %0, %1, 0;"
                 : "=r"(slot)
                 : "r"(address(values + rank * blockDim.x + threadIdx.x)));
    asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(barrier) : "r"(address(&all)));
    if (rank != 0) {
      asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(slot),
                   "r"(int(1000 * round + 32 * rank + threadIdx.x))
                   : "memory");
      asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(barrier)
                   : "memory");
    } else {
      asm volatile(
          "{ .reg .pred p; W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], "
          "%1; "
          "@!p bra W; }" ::"r"(address(&all)),
          "r"(round & 1)
          : "memory");
      int sum = 0;
      for (unsigned r = 1; r < cluster.num_blocks(); ++r)
        sum += values[r * blockDim.x + threadIdx.x];
      out[(blockIdx.x / cluster.num_blocks() * rounds + round) * blockDim.x + threadIdx.x] = sum;
    }
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  }
}

TEST_CASE("threads of other blocks arrive at an mbarrier") {
  const int rounds = 3;
  DeviceArray<int> out(2 * rounds * 32);
  REQUIRE(launch(remote_kernel, dim3(6), dim3(32), dim3(3), 3 * 32 * sizeof(int), out.get(),
                 rounds) == cudaSuccess);
  const auto sums = out.values();
  for (int cluster = 0; cluster < 2; ++cluster)
    for (int round = 0; round < rounds; ++round)
      for (int i = 0; i < 32; ++i)
        CHECK(sums[(cluster * rounds + round) * 32 + i] == 2 * (1000 * round + i) + 32 + 64);
}

// Each block fetches its part and sends it to all of the cluster.
__global__ void multicast_kernel(const int* in, int* out) {
  __shared__ alignas(128) int tile[4][32];
  __shared__ alignas(8) uint64_t full;
  const auto address = [](const void* p) { return unsigned(__cvta_generic_to_shared(p)); };
  const unsigned rank = cg::this_cluster().block_rank();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(&full)));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(&full)),
                 "r"(512)
                 : "memory");
  }
  cg::this_cluster().sync();
  if (threadIdx.x == 0)
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
        "[%0], [%1], 128, [%2], %3;" ::"r"(address(tile[rank])),
        "l"(in + 32 * rank), "r"(address(&full)), "h"(static_cast<unsigned short>(15))
        : "memory");
  asm volatile(
      "{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra W; }" ::"r"(
          address(&full))
      : "memory");
  int sum = 0;
  for (int r = 0; r < 4; ++r) sum += tile[r][threadIdx.x];
  out[blockIdx.x * 32 + threadIdx.x] = sum;
  cg::this_cluster().sync();
}

// All threads of the other blocks add to what lies in block 0, which waits for the bytes.
__global__ void reduce_async_kernel(unsigned* out) {
  __shared__ unsigned sum;
  __shared__ alignas(8) uint64_t full;
  const auto address = [](const void* p) { return unsigned(__cvta_generic_to_shared(p)); };
  const unsigned rank = cg::this_cluster().block_rank();
  if (rank == 0 && threadIdx.x == 0) {
    sum = 100;
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(&full)));
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(&full)),
                 "r"(3 * 32 * 4)
                 : "memory");
  }
  cg::this_cluster().sync();
  if (rank != 0) {
    unsigned there, barrier;
    asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(there) : "r"(address(&sum)));
    asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(barrier) : "r"(address(&full)));
    asm volatile(
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, "
        "[%2];" ::"r"(there),
        "r"(32 * rank + threadIdx.x), "r"(barrier)
        : "memory");
  } else {
    asm volatile(
        "{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra W; }" ::
            "r"(address(&full))
        : "memory");
    out[threadIdx.x] = sum;
  }
  cg::this_cluster().sync();
}

TEST_CASE("red.async adds up in another block and tells its mbarrier") {
  DeviceArray<unsigned> out(32);
  REQUIRE(launch(reduce_async_kernel, dim3(4), dim3(32), dim3(4), 0, out.get()) == cudaSuccess);
  for (const unsigned sum : out.values()) CHECK(sum == 100 + (32 + 127) * 96 / 2);
}

// Rank 1 sends to rank 0 what it has: a vector by st.async, 64 bytes by a copy.
__global__ void send_kernel(unsigned* out) {
  __shared__ alignas(16) unsigned vector[4], bytes[16], mine[16];
  __shared__ alignas(8) uint64_t full;
  const auto address = [](const void* p) { return unsigned(__cvta_generic_to_shared(p)); };
  const unsigned rank = cg::this_cluster().block_rank();
  mine[threadIdx.x % 16] = 100 + threadIdx.x % 16;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(&full)));
    asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(&full)),
                 "r"(rank == 0 ? 16 + 64 : 0)
                 : "memory");
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  cg::this_cluster().sync();
  unsigned place, there, to, barrier;
  asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(there) : "r"(address(vector)));
  asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(to) : "r"(address(bytes)));
  asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(barrier) : "r"(address(&full)));
  asm("getctarank.shared::cluster.u32 %0, %1;" : "=r"(place) : "r"(there));
  if (rank == 1 && threadIdx.x == 0) {
    asm volatile(
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, "
        "[%5];" ::"r"(there),
        "r"(1), "r"(2), "r"(3), "r"(4), "r"(barrier)
        : "memory");
    asm volatile(
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 64, "
        "[%2];" ::"r"(to),
        "r"(address(mine)), "r"(barrier)
        : "memory");
  }
  if (rank == 0) {
    asm volatile(
        "{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra W; }" ::
            "r"(address(&full))
        : "memory");
    out[threadIdx.x] = 1000 * vector[threadIdx.x % 4] + bytes[threadIdx.x % 16] + 10000 * place;
  }
  cg::this_cluster().sync();
}

TEST_CASE("st.async and a copy from the shared memory of one block into that of another") {
  DeviceArray<unsigned> out(32);
  REQUIRE(launch(send_kernel, dim3(2), dim3(32), dim3(2), 0, out.get()) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  const auto values = out.values();
  for (unsigned i = 0; i < 32; ++i) CHECK(values[i] == 1000 * (i % 4 + 1) + 100 + i % 16);
}

__global__ void send_by_functions(int* out) {
  namespace ptx = cuda::ptx;
  __shared__ alignas(16) int words[4];
  __shared__ alignas(16) double pair[2];
  __shared__ uint64_t full;
  auto cluster = cg::this_cluster();
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&full, 1);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cluster, ptx::space_shared, &full,
                                   16 + 16);
  }
  cluster.sync();
  if (threadIdx.x == 0) {
    const unsigned peer = cluster.block_rank() ^ 1;
    const int rank = static_cast<int>(cluster.block_rank());
    int* their_words = cluster.map_shared_rank(words, peer);
    double* their_pair = cluster.map_shared_rank(pair, peer);
    uint64_t* their_full = cluster.map_shared_rank(&full, peer);
    const int two[] = {20 + rank, 30 + rank};
    const double values[] = {0.5, 1.5};
    ptx::st_async(their_words, 10 + rank, their_full);
    ptx::st_async(their_words + 1, 40 + rank, their_full);
    ptx::st_async(their_words + 2, two, their_full);
    ptx::st_async(their_pair, values, their_full);
  }
  while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &full, 0)) {
  }
  if (threadIdx.x < 4) out[4 * blockIdx.x + threadIdx.x] = words[threadIdx.x];
  if (threadIdx.x == 4) out[8 + blockIdx.x] = static_cast<int>(10 * (pair[0] + pair[1]));
  cluster.sync();
}

TEST_CASE("st_async of cuda::ptx") {
  DeviceArray<int> out(10);
  REQUIRE(launch(send_by_functions, dim3(2), dim3(32), dim3(2), 0, out.get()) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(out.values() == std::vector<int>{11, 41, 21, 31, 10, 40, 20, 30, 20, 20});
}

TEST_CASE("a copy to all blocks of the cluster") {
  DeviceArray<int> in(128), out(8 * 32);
  for (int i = 0; i < 128; ++i) in[i] = i * i;
  REQUIRE(launch(multicast_kernel, dim3(8), dim3(32), dim3(4), 0, static_cast<const int*>(in.get()),
                 out.get()) == cudaSuccess);
  const auto sums = out.values();
  for (int block = 0; block < 8; ++block)
    for (int i = 0; i < 32; ++i) {
      int sum = 0;
      for (int r = 0; r < 4; ++r) sum += (32 * r + i) * (32 * r + i);
      CHECK(sums[32 * block + i] == sum);
    }
}

__global__ void early_leavers(int* out) {
  if (threadIdx.x >= 16) return;  // threads that have exited are not waited for
  cg::this_cluster().sync();
  out[blockIdx.x * 16 + threadIdx.x] = 1;
}

TEST_CASE("what a cluster may be") {
  DeviceArray<int> out(64, 0);
  REQUIRE(launch(early_leavers, dim3(4), dim3(32), dim3(2), 0, out.get()) == cudaSuccess);
  for (int x : out.values()) CHECK(x == 1);
  CHECK(launch(early_leavers, dim3(5), dim3(32), dim3(2), 0, out.get()) ==
        cudaErrorInvalidClusterSize);
  CHECK(launch(early_leavers, dim3(16), dim3(32), dim3(16), 0, out.get()) ==
        cudaErrorInvalidClusterSize);
  CHECK(launch(pass_on, dim3(16), dim3(32), dim3(2), 0, out.get()) == cudaErrorInvalidClusterSize);
  cudaGetLastError();
  REQUIRE(cudaFuncSetAttribute(early_leavers, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) ==
          cudaSuccess);
  DeviceArray<int> more(16 * 16, 0);
  REQUIRE(launch(early_leavers, dim3(16), dim3(32), dim3(16), 0, more.get()) == cudaSuccess);
  for (int x : more.values()) CHECK(x == 1);
}
