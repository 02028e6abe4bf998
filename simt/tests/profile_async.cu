// Counters of what works beside the threads, and of ldmatrix and stmatrix, against numbers counted
// by hand.
#include <cooperative_groups.h>

#include <cstdint>
#include <string>

#include "device_array.hpp"
#include "simt/include/simt/profile.h"
#include "tests/catch.hpp"

namespace cg = cooperative_groups;

namespace {

__device__ unsigned address_of(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}
__device__ void wait(const uint64_t* barrier) {
  asm volatile(
      "{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra W; }" ::"r"(
          address_of(barrier))
      : "memory");
}

// Each of two blocks brings 256 bytes to both, and one of 32 threads sends 256 bytes away.
__global__ void __cluster_dims__(2, 1, 1) copies(const int* in, int* out) {
  __shared__ alignas(128) int tile[2][64];
  __shared__ alignas(8) uint64_t full;
  const unsigned rank = cg::this_cluster().block_rank();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address_of(&full)));
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 512;" ::"r"(address_of(&full))
                 : "memory");
  }
  cg::this_cluster().sync();
  if (threadIdx.x == 0)
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
        "[%0], [%1], 256, [%2], %3;" ::"r"(address_of(tile[rank])),
        "l"(in), "r"(address_of(&full)), "h"(static_cast<unsigned short>(3))
        : "memory");
  wait(&full);
  wait(&full);
  if (threadIdx.x == 0)
    asm volatile(
        "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;"
        "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::"l"(out + 64 * blockIdx.x),
        "r"(address_of(tile[1 - rank]))
        : "memory");
  cg::this_cluster().sync();
}

// Rows of 16 bytes, `pitch` bytes apart.
__global__ void matrices(unsigned* out, int pitch) {
  extern __shared__ __align__(128) char rows[];
  for (int i = threadIdx.x; i < 8 * pitch; i += 32) reinterpret_cast<int*>(rows)[i] = i;
  __syncwarp();
  unsigned a[4], b[2];
  float d[4] = {};
  const unsigned row = address_of(rows + threadIdx.x * pitch);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
               : "r"(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(b[0]), "=r"(b[1])
               : "r"(row));
  for (int i = 0; i < 3; ++i)
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(row), "r"(a[0]),
               "r"(a[1])
               : "memory");
  __syncwarp();
  out[threadIdx.x] = *reinterpret_cast<unsigned*>(rows + threadIdx.x * pitch) + unsigned(d[0]);
}

// Two warps of three meet, and the third only arrives; then all of them meet.
__global__ void meet_by_name(int* out) {
  if (threadIdx.x < 64)
    asm volatile("bar.sync 1, 96;" ::: "memory");
  else
    asm volatile("bar.arrive 1, 96;" ::: "memory");
  __syncthreads();
  out[threadIdx.x] = 1;
}

__global__ void meet_twice(int* out) {
  cg::this_grid().sync();
  if (threadIdx.x == 0) out[blockIdx.x] = 1;
  cg::this_grid().sync();
}

simt::SiteProfile site_of(const simt::KernelProfile& profile, simt::AccessKind kind,
                          uint64_t lanes) {
  for (const simt::SiteProfile& site : profile.sites)
    if (site.kind == kind && site.size == 16 && site.lanes == lanes) return site;
  FAIL("no such access");
  return {};
}

// Two warps meet at a named barrier, and lane 0 of each waits for an mbarrier. What comes before,
// between and after is 3 stores of a warp.
__global__ void stores_between_waits(int* out) {
  __shared__ alignas(8) uint64_t full;
  if (threadIdx.x == 0)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address_of(&full)));
  __syncthreads();
  out[threadIdx.x] = 1;
  asm volatile("bar.sync 1, 64;" ::: "memory");
  out[threadIdx.x] += 2;
  if (threadIdx.x == 40)
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address_of(&full)) : "memory");
  if (threadIdx.x % 32 == 0) wait(&full);
  __syncwarp();
  out[threadIdx.x] += 4;
}

}  // namespace

TEST_CASE("bytes by TMA, what a multicast saves, and stages that were ready") {
  DeviceArray<int> in(64), out(256);
  for (int i = 0; i < 64; ++i) in[i] = i;
  simt::profile_reset();
  copies<<<4, 32>>>(in.get(), out.get());
  for (int i = 0; i < 256; ++i) CHECK(out.values()[i] == i % 64);
  const simt::BesideCounts beside = simt::profile("copies").beside;
  CHECK(beside.tma_load_bytes == 4 * 256);
  CHECK(beside.multicast_saved_bytes == 4 * 256);
  CHECK(beside.tma_store_bytes == 4 * 256);
  CHECK(beside.tensor_operations == 0);
  // All threads come before the bytes do, and come again when they are there.
  CHECK(beside.stage_waits == 2 * 4 * 32);
  CHECK(beside.stages_found() == 0.5);
}

TEST_CASE("bank conflicts of ldmatrix and stmatrix, operations of tensor cores") {
  DeviceArray<unsigned> out(32);
  for (const int pitch : {16, 128, 144}) {
    // 8 rows of 16 bytes are read at a time; at 128 bytes they all lie in the same four banks.
    const unsigned degree = pitch == 128 ? 8 : 1;
    simt::profile_reset();
    matrices<<<2, 32, 32 * 144>>>(out.get(), pitch);
    out.values();
    const simt::KernelProfile profile = simt::profile("matrices");
    const auto four = site_of(profile, simt::AccessKind::kSharedLoad, 2 * 32);
    CHECK(four.requests == 2);
    CHECK(four.wavefronts == 2 * 4 * degree);
    CHECK(four.conflict_degree() == degree);
    const auto two = site_of(profile, simt::AccessKind::kSharedLoad, 2 * 16);
    CHECK(two.wavefronts == 2 * 2 * degree);
    const auto stored = site_of(profile, simt::AccessKind::kSharedStore, 2 * 16);
    CHECK(stored.wavefronts == 2 * 2 * degree);
    CHECK(profile.beside.tensor_operations == 2u * 3 * 2 * 16 * 8 * 16);
  }
}

TEST_CASE("grid.sync() is two barriers and an atomic of every block") {
  DeviceArray<int> out(4);
  int* data = out.get();
  void* arguments[] = {&data};
  simt::profile_reset();
  REQUIRE(cudaLaunchCooperativeKernel((void*)meet_twice, dim3(4), dim3(64), arguments) ==
          cudaSuccess);
  out.values();
  const simt::KernelProfile profile = simt::profile("meet_twice");
  CHECK(profile.barriers == 4 * 2 * 2);
  CHECK(profile.barrier_requests == 4 * 2 * 2 * 2);  // two warps
  CHECK(profile.atomics.global_requests == 4 * 2);
}

TEST_CASE("a named barrier is a barrier, and an instruction of each warp that comes") {
  DeviceArray<int> out(96);
  simt::profile_reset();
  meet_by_name<<<2, 96>>>(out.get());
  out.values();
  const simt::KernelProfile profile = simt::profile("meet_by_name");
  CHECK(profile.barriers == 2 * 2);
  CHECK(profile.barrier_requests == 2 * 2 * 3);
}

TEST_CASE("what follows a wait of some lanes is counted, whoever came last") {
  DeviceArray<int> out(64);
  simt::profile_reset();
  stores_between_waits<<<1, 64>>>(out.get());
  for (const int value : out.values()) CHECK(value == 1 + 2 + 4);
  const simt::KernelProfile p = simt::profile("stores_between_waits");
  CHECK(p.global.store_requests == 2 * 3);
  CHECK(p.global.store_sectors == 2 * 3 * 4);
  CHECK(p.global.store_lanes == 64 * 3);
  CHECK(p.global.load_lanes == 64 * 2);
}
