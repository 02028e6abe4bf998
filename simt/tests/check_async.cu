// Mistakes with what works beside the threads: copies in the background, wgmma, clusters. Each is
// named with its line; the correct kernel of the same shape is not.
#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_pipeline.h>

#include <cstdint>
#include <functional>
#include <string>

#include "simt/include/simt/profile.h"
#include "simt/tests/marked_line.hpp"
#include "tests/catch.hpp"

namespace {

__device__ unsigned address_of(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

// Macros, so that a report names the line in the kernel.
// clang-format off
#define INIT(barrier, count) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address_of(barrier)), "r"(count))
#define INIT_FENCE() asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory")
#define EXPECT(barrier, bytes) asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address_of(barrier)), "r"(bytes) : "memory")
#define ARRIVE(barrier) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address_of(barrier)) : "memory")
#define WAIT(barrier, parity) asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra W; }" ::"r"(address_of(barrier)), "r"(parity) : "memory")
#define LOAD(to, from, bytes, barrier) asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(address_of(to)), "l"(from), "r"(bytes), "r"(address_of(barrier)) : "memory")
#define LOAD_BOX_AT(to, map, x, barrier) asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(address_of(to)), "l"(map), "r"(x), "r"(0), "r"(address_of(barrier)) : "memory")
#define LOAD_BOX(to, map, barrier) LOAD_BOX_AT(to, map, 0, barrier)
#define STORE_BOX_AT(from, map, x) asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(x), "r"(0), "r"(address_of(from)) : "memory")
#define STORE(to, from, bytes) asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(address_of(from)), "r"(bytes) : "memory")
#define STORES_DONE() asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;" ::: "memory")
#define PROXY_FENCE() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define FENCE() asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define COMMIT() asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define PRODUCTS_DONE() asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory")
#define PRODUCT(d, a, b) asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b))
#define PRODUCT_A(d, a, b) asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, 1, 1, 1, 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b))
#define MMA(d, x) asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %4}, {%4}, {%0, %1, %2, %3};" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(x))
// clang-format on

// A K-major tile without a swizzle, of 8 x 16 bytes each; two of them side by side along K.
__device__ uint64_t descriptor(const void* tile, unsigned stride = 256, unsigned swizzle = 0,
                               unsigned leading = 128) {
  return (address_of(tile) & 0x3ffff) >> 4 | uint64_t(leading >> 4) << 16 |
         uint64_t(stride >> 4) << 32 | uint64_t(swizzle) << 62;
}

// A product of two tiles of 64 x 16 and 16 x 8 that the threads write. `wrong`: what is forgotten.
__global__ void product_of_written_tiles(float* out, int wrong) {
  __shared__ alignas(1024) uint16_t a[64 * 16 + 2048];
  __shared__ alignas(1024) uint16_t b[8 * 16];
  __shared__ alignas(8) uint64_t full;
  for (int i = threadIdx.x; i < 64 * 16; i += 128) a[i] = 0x3f80;  // 1
  b[threadIdx.x] = 0x3f80;
  if (threadIdx.x == 0) INIT(&full, 1);
  if (wrong != 1) PROXY_FENCE();
  __syncthreads();
  float d[4] = {};
  if (wrong != 2) FENCE();
  if (wrong < 2) PRODUCT(d, descriptor(a), descriptor(b));        // here: no proxy fence
  if (wrong == 2) PRODUCT(d, descriptor(a), descriptor(b));       // here: no fence
  if (wrong == 3) PRODUCT(d, descriptor(a, 128), descriptor(b));  // here: stride too short
  if (wrong == 4) PRODUCT(d, descriptor(a, 512), descriptor(b));  // here: stride too long
  const uint16_t* other = a + (threadIdx.x < 64 ? 0 : 8);
  if (wrong == 5) PRODUCT(d, descriptor(other), descriptor(b));          // here: other descriptors
  if (wrong == 11) PRODUCT(d, descriptor(a, 8192), descriptor(b));       // here: far outside
  if (wrong == 12) PRODUCT(d, descriptor(a, 256, 0, 0), descriptor(b));  // here: no leading bytes
  if (wrong >= 6 && wrong <= 10)
    PRODUCT(d, descriptor(a), descriptor(b));  // here: never waited for
  COMMIT();
  if (wrong == 6) out[threadIdx.x] = d[0];  // here: read too early
  if (wrong == 7) d[1] = 5;                 // here: written too early
  if (wrong == 8 && threadIdx.x == 0) {
    EXPECT(&full, 512);
    LOAD(a, out, 512, &full);  // here: refilled too early
  }
  if (wrong == 9) return;
  PRODUCTS_DONE();
  if (wrong == 10) {
    d[0] += 1;
    PRODUCT(d, descriptor(a), descriptor(b));  // here: no second fence
    COMMIT();
    PRODUCTS_DONE();
  }
  if (wrong == 8) WAIT(&full, 0);
  for (int i = 0; i < 4; ++i) out[4 * threadIdx.x + i] = d[i];
}

// Ones in registers times ones in shared memory: every sum is 16.
__global__ void product_of_registers(float* out, int wrong) {
  __shared__ alignas(1024) uint16_t b[8 * 16];
  b[threadIdx.x] = 0x3f80;  // 1
  PROXY_FENCE();
  __syncthreads();
  float d[4] = {};
  unsigned a[2][4];
  for (int i = 0; i < 4; ++i) a[0][i] = a[1][i] = 0x3f803f80;
  FENCE();
  if (wrong == 1) a[0][3] = 0x3f803f80;
  PRODUCT_A(d, a[0], descriptor(b));  // here: no fence behind A
  COMMIT();
  a[1][2] = 0;                                        // of no wgmma so far
  if (wrong == 2) a[0][2] = 0;                        // here: A written too early
  if (wrong == 3) out[threadIdx.x] = float(a[0][1]);  // here: A read too early
  PRODUCTS_DONE();
  a[0][2] = 0x3f803f80;
  if (wrong != 4) FENCE();
  if (wrong == 5) a[0][2] = 0;
  PRODUCT_A(d, a[0], descriptor(b));  // here: no second fence behind A
  PRODUCT_A(d, a[0], descriptor(b));
  COMMIT();
  PRODUCTS_DONE();
  asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");  // takes nothing back
  for (int i = 0; i < 4; ++i) out[4 * threadIdx.x + i] = d[i];
}

// The tiles come by TMA, in rows of 64 bytes with a swizzle of 64 bytes.
__global__ void product_of_boxes(const __grid_constant__ CUtensorMap map_a,
                                 const __grid_constant__ CUtensorMap map_b, float* out, int wrong) {
  __shared__ alignas(1024) char a[64 * 64 + 128];
  __shared__ alignas(1024) char b[8 * 64];
  __shared__ alignas(8) uint64_t full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    EXPECT(&full, 64 * 64 + 8 * 64);
    LOAD_BOX(a + (wrong == 1 ? 64 : 0), &map_a, &full);  // here: misaligned box
    if (wrong == 3) LOAD_BOX_AT(b, &map_b, 3, &full);    // here: begins within 16 bytes
    if (wrong != 3) LOAD_BOX(b, &map_b, &full);
    if (wrong == 4) STORE_BOX_AT(b, &map_b, -8);  // here: begins before the rows
  }
  __syncthreads();
  WAIT(&full, 0);
  float d[4] = {};
  FENCE();
  PRODUCT(d, descriptor(a, 512, wrong == 2 ? 3 : 2), descriptor(b, 512, 2));  // here: swizzle
  COMMIT();
  PRODUCTS_DONE();
  out[threadIdx.x] = d[0];
}

// 128 threads double 128 numbers that a copy brings, and another takes them away.
__global__ void copied_in_and_out(const int* in, int* out, int wrong) {
  __shared__ alignas(128) int tile[128];
  __shared__ alignas(8) uint64_t full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    EXPECT(&full, wrong == 4 ? 256 : 512);
    LOAD(tile, in, 512, &full);
  }
  __syncthreads();
  if (wrong != 1) WAIT(&full, 0);  // here: more than was promised
  tile[threadIdx.x] *= 2;          // here: the copy has not come
  if (wrong != 2) PROXY_FENCE();
  if (wrong != 5) __syncthreads();
  if (threadIdx.x == 0) STORE(out, tile, 512);  // here: what threads wrote
  if (threadIdx.x == 0 && wrong != 3) STORES_DONE();
  __syncthreads();
  tile[threadIdx.x] = 0;  // here: overwritten too early
}

// A slab goes out by TMA while another tile comes in; all wait for that one. wrong: nobody waits
// for the store, which may still read the slab.
__global__ void stored_while_loading(const int* in, int* out, bool wrong) {
  __shared__ alignas(128) int slab[128], tile[128];
  __shared__ alignas(8) uint64_t full;
  if (threadIdx.x == 0) INIT(&full, 1);
  slab[threadIdx.x] = 1;
  PROXY_FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    STORE(out, slab, 512);
    EXPECT(&full, 512);
    LOAD(tile, in, 512, &full);
  }
  WAIT(&full, 0);
  if (threadIdx.x == 0 && !wrong) STORES_DONE();
  __syncthreads();
  slab[threadIdx.x] = tile[threadIdx.x];  // here: the slab has not gone
}

// Warp 1 brings two tiles into one place; warp 0 reads each and says so, behind a proxy fence.
// `wrong`: 1: it does not say so; 2: there is no fence; 3 is right: who asks for the copy has it.
__global__ void refilled(const int* in, int* out, int wrong) {
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
      WAIT(&full, i);
      out[threadIdx.x] += tile[threadIdx.x];
      if (wrong < 2) PROXY_FENCE();
      if (wrong != 1) ARRIVE(&empty);
    } else if (threadIdx.x == 32) {
      if (i == 1 && wrong != 1) WAIT(&empty, 0);
      if (wrong == 3) PROXY_FENCE();
      EXPECT(&full, 128);
      LOAD(tile, in + 32 * i, 128, &full);  // here: somebody may still read
      if (i == 0) WAIT(&full, 0);
    }
  }
}

// Warp 0 reads what lies in a tile, warp 1 writes to it, and TMA brings another one.
__global__ void written_and_refilled(const int* in, int* out, bool wrong) {
  __shared__ alignas(128) int tile[32];
  __shared__ alignas(8) uint64_t full;
  if (threadIdx.x < 32) tile[threadIdx.x] = 1;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
  if (threadIdx.x < 32) out[threadIdx.x] = tile[31 - threadIdx.x];
  __syncthreads();
  if (threadIdx.x >= 32) tile[threadIdx.x - 32] = 2;
  if (threadIdx.x >= 32 && !wrong) PROXY_FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    EXPECT(&full, 128);
    LOAD(tile, in, 128, &full);  // here: what was written
    WAIT(&full, 0);
  }
}

// TMA takes a tile away and brings another one: both are of one proxy.
__global__ void stored_and_refilled(const int* in, int* out) {
  __shared__ alignas(128) int tile[32];
  __shared__ alignas(8) uint64_t full;
  tile[threadIdx.x] = 1;
  if (threadIdx.x == 0) INIT(&full, 1);
  PROXY_FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    STORE(out, tile, 128);
    STORES_DONE();
    EXPECT(&full, 128);
    LOAD(tile, in, 128, &full);
    WAIT(&full, 0);
  }
}

__global__ void small_copy(const int* in, int* out, bool wrong) {
  __shared__ alignas(16) int tile[128];
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(address_of(&tile[threadIdx.x])),
               "l"(in + threadIdx.x)
               : "memory");
  if (!wrong) asm volatile("cp.async.wait_all;" ::: "memory");
  out[threadIdx.x] = tile[threadIdx.x];  // here: cp.async has not come
}

__global__ void small_copy_of_c(const int* in, int* out, bool wrong) {
  __shared__ int tile[128];
  __pipeline_memcpy_async(&tile[threadIdx.x], in + threadIdx.x, 4);
  __pipeline_commit();
  if (!wrong) __pipeline_wait_prior(0);
  out[threadIdx.x] = tile[threadIdx.x];  // here: the copy of C has not come
}

__global__ void __launch_bounds__(384, 1) registers(int wrong) {
  if (threadIdx.x < 128)
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
  else if (wrong == 1)
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");  // here: too many registers
  else if (wrong == 2 ? threadIdx.x < 160 : true)
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");  // here: one warp alone
}

__global__ void two_mma(float* out, bool wrong) {
  float d[4] = {};
  if (!wrong || threadIdx.x < 16)
    MMA(d, 0x3c003c00u);  // here: half of the warp
  else
    MMA(d, 0x3c003c00u);
  out[threadIdx.x] = d[0];
}

// Each block of a cluster writes into the shared memory of the other one.
__global__ void __cluster_dims__(2, 1, 1) neighbours(int* out, bool wrong) {
  __shared__ int mine;
  unsigned theirs;
  mine = 0;
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(theirs)
               : "r"(address_of(&mine)), "r"((blockIdx.x + 1) % 2));
  asm volatile("st.shared::cluster.u32 [%0], 7;" ::"r"(theirs) : "memory");  // here: nobody waits
  if (wrong) return;
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  out[blockIdx.x] = mine;
}

// One thread makes mbarriers; another one has a copy signal one of them, and the neighbour's thread
// arrives at the other.
__global__ void __cluster_dims__(2, 1, 1) shown_to_others(const int* in, int* out, int wrong) {
  __shared__ alignas(128) int tile[32];
  __shared__ alignas(8) uint64_t full, told;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    INIT(&told, 1);
    if (wrong != 1) INIT_FENCE();
  }
  if (wrong != 2) __syncthreads();
  if (threadIdx.x == 32) {
    EXPECT(&full, 128);          // here: no barrier behind init
    LOAD(tile, in, 128, &full);  // here: no fence behind init
  }
  if (wrong == 3)
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  else
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  unsigned theirs;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(theirs)
               : "r"(address_of(&told)), "r"((blockIdx.x + 1) % 2));
  if (threadIdx.x == 0)
    asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(theirs));  // here: relaxed
  WAIT(&told, 0);
  WAIT(&full, 0);
  out[threadIdx.x] = tile[threadIdx.x % 32];
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}

// A ring of two stages that one thread fills and two warps read. wrong: 1: one of them releases
// each stage twice, 2: a lane releases one stage once more.
__device__ __forceinline__ void release(uint64_t* stage) { ARRIVE(stage); }
__global__ void ring(const int* in, int* out, int wrong) {
  __shared__ alignas(128) int tiles[2][64];
  __shared__ alignas(8) uint64_t full[2], empty[2];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; ++i) {
      INIT(&full[i], 1);
      INIT(&empty[i], 2);
    }
  }
  INIT_FENCE();
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < 12; ++i) {
    const int stage = i % 2, parity = i / 2 % 2;
    if (warp == 2) {
      if (lane != 0) break;
      if (i >= 2) WAIT(&empty[stage], parity ^ 1);
      EXPECT(&full[stage], 256);                  // here: told too late
      LOAD(tiles[stage], in, 256, &full[stage]);  // here: before all had read it
      continue;
    }
    WAIT(&full[stage], parity);
    sum += tiles[stage][threadIdx.x];
    PROXY_FENCE();
    __syncwarp();
    if (lane == 0) release(&empty[stage]);                             // here: once
    if (wrong == 1 && warp == 0 && lane == 0) release(&empty[stage]);  // here: twice
    if (wrong == 2 && i == 3 && threadIdx.x == 37) release(&empty[stage]);
  }
  if (warp < 2) out[threadIdx.x] = sum;
}

// ---- running them -----------------------------------------------------------------------------

void check_silent(const std::function<void()>& run) {
  run();
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  for (const simt::CheckReport& report : simt::check_reports()) {
    UNSCOPED_INFO(report.message);
    CHECK(report.check == "nothing");
  }
}

// One report of this kind, at the line with this mark, with these words.
void check_named(const std::string& check, const std::string& place,
                 const std::function<void()>& run, const std::string& words = "") {
  run();
  cudaDeviceSynchronize();
  cudaDeviceReset();
  bool found = false;
  for (const simt::CheckReport& report : simt::check_reports()) {
    UNSCOPED_INFO(report.message);
    found |= report.check == check &&
             report.message.find("check_async.cu:" + std::to_string(tests::line_of(place))) !=
                 std::string::npos &&
             report.message.find(words) != std::string::npos;
  }
  INFO("expected: " << check << " at " << place << ": " << words);
  CHECK(found);
}

template <class T>
T* zeros(size_t count) {
  T* data = nullptr;
  REQUIRE(cudaMalloc(&data, count * sizeof(T)) == cudaSuccess);
  REQUIRE(cudaMemset(data, 0, count * sizeof(T)) == cudaSuccess);
  return data;
}

CUtensorMap boxes_of(void* matrix, unsigned rows) {
  alignas(64) CUtensorMap map;
  const cuuint64_t sizes[] = {32, rows}, pitches[] = {64};
  const cuuint32_t box[] = {32, rows}, steps[] = {1, 1};
  REQUIRE(cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, matrix, sizes, pitches,
                                 box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                 CU_TENSOR_MAP_SWIZZLE_64B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                 CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS);
  return map;
}

}  // namespace

TEST_CASE("a wgmma of tiles that threads write") {
  const auto run = [](int wrong) {
    product_of_written_tiles<<<1, 128>>>(zeros<float>(512), wrong);
  };
  check_silent([&] { run(0); });
  check_named("proxy-fence", "no proxy fence", [&] { run(1); });
  check_named("wgmma", "no fence", [&] { run(2); });
  check_named("descriptor", "stride too short", [&] { run(3); });
  check_named("uninitialized", "stride too long", [&] { run(4); });
  check_named("divergent", "other descriptors", [&] { run(5); });
  check_named("wgmma", "read too early", [&] { run(6); });
  check_named("wgmma", "written too early", [&] { run(7); });
  check_named("in-flight", "refilled too early", [&] { run(8); });
  check_named("wgmma", "never waited for", [&] { run(9); });
  check_named("wgmma", "no second fence", [&] { run(10); });
  check_named("out-of-bounds", "far outside", [&] { run(11); });
  check_named("descriptor", "no leading bytes", [&] { run(12); });
}

TEST_CASE("a wgmma of registers") {
  float* out = zeros<float>(512);
  const auto run = [&](int wrong) { product_of_registers<<<1, 128>>>(out, wrong); };
  const auto first_result = [&] {
    float value = 0;
    CHECK(cudaMemcpy(&value, out, sizeof value, cudaMemcpyDeviceToHost) == cudaSuccess);
    return value;
  };
  check_silent([&] { run(0); });
  CHECK(first_result() == 48);
  check_named("wgmma", "no fence behind A", [&] { run(1); });
  out = zeros<float>(512);
  check_named("wgmma", "A written too early", [&] {
    run(2);
    CHECK(first_result() == 40);  // of the first product, half of K is missing
  });
  out = zeros<float>(512);
  check_named("wgmma", "A read too early", [&] { run(3); });
  out = zeros<float>(512);
  check_named("wgmma", "no second fence behind A", [&] { run(4); });
  out = zeros<float>(512);
  check_named("wgmma", "no second fence behind A", [&] { run(5); });
}

TEST_CASE("a wgmma of tiles that TMA brings") {
  const auto run = [](int wrong) {
    const CUtensorMap a = boxes_of(zeros<uint16_t>(64 * 32), 64);
    const CUtensorMap b = boxes_of(zeros<uint16_t>(8 * 32), 8);
    product_of_boxes<<<1, 128>>>(a, b, zeros<float>(128), wrong);
  };
  check_silent([&] { run(0); });
  check_named("misaligned", "misaligned box", [&] { run(1); });
  check_named("descriptor", "swizzle", [&] { run(2); });
  check_named("tensor-map", "begins within 16 bytes", [&] { run(3); });
  check_named("tensor-map", "begins before the rows", [&] { run(4); });
}

TEST_CASE("bulk copies in and out") {
  const auto run = [](int wrong) {
    copied_in_and_out<<<1, 128>>>(zeros<int>(128), zeros<int>(128), wrong);
  };
  check_silent([&] { run(0); });
  check_named("in-flight", "the copy has not come", [&] { run(1); });
  check_named("proxy-fence", "what threads wrote", [&] { run(2); });
  check_named("in-flight", "overwritten too early", [&] { run(3); });
  check_named(
      "deadlock", "more than was promised", [&] { run(4); },
      "whose phase of parity 0 lacks 0 of 1 arrival; 256 bytes more came than");
  check_named("race", "what threads wrote", [&] { run(5); });
}

TEST_CASE("a store that nobody waits for, while others wait for a load") {
  const auto run = [](bool wrong) {
    stored_while_loading<<<1, 128>>>(zeros<int>(128), zeros<int>(128), wrong);
  };
  check_silent([&] { run(false); });
  check_named("in-flight", "the slab has not gone", [&] { run(true); });
}

TEST_CASE("a stage that is refilled") {
  const auto run = [](int wrong) { refilled<<<1, 64>>>(zeros<int>(64), zeros<int>(32), wrong); };
  check_silent([&] { run(0); });
  check_silent([&] { run(3); });
  check_named("race", "somebody may still read", [&] { run(1); });
  check_named(
      "proxy-fence", "somebody may still read", [&] { run(2); }, "read by thread");
}

TEST_CASE("an arrival too many is named where it is, and what comes of it") {
  const auto run = [](int wrong) { ring<<<1, 96>>>(zeros<int>(64), zeros<int>(64), wrong); };
  check_silent([&] { run(0); });
  check_named(
      "race", "before all had read it", [&] { run(2); },
      "thread (37,0,0) arrived at the mbarrier empty[1] before anybody had waited for its last "
      "phase: at ");
  const std::string file = " at simt/tests/check_async.cu:";
  check_named(
      "mbarrier", "told too late", [&] { run(1); },
      "thread (0,0,0) arrived at the mbarrier empty[1] twice in one phase:" + file +
          std::to_string(tests::line_of("once")) + " and" + file +
          std::to_string(tests::line_of("twice")));
}

TEST_CASE("a tile that is refilled after other uses") {
  const auto run = [](bool wrong) {
    written_and_refilled<<<1, 64>>>(zeros<int>(32), zeros<int>(32), wrong);
  };
  check_silent([&] { run(false); });
  check_named(
      "proxy-fence", "what was written", [&] { run(true); }, "written by thread");
  check_silent([&] { stored_and_refilled<<<1, 32>>>(zeros<int>(32), zeros<int>(32)); });
}

TEST_CASE("mbarriers that others than their maker use") {
  const auto run = [](int wrong) {
    shown_to_others<<<2, 64>>>(zeros<int>(32), zeros<int>(64), wrong);
  };
  check_silent([&] { run(0); });
  check_silent([&] { run(3); });
  check_named("mbarrier-init", "no fence behind init", [&] { run(1); });
  check_named("mbarrier-init", "relaxed", [&] { run(1); });
  check_named("mbarrier-init", "no barrier behind init", [&] { run(2); });
}

TEST_CASE("cp.async without a wait") {
  const auto run = [](bool wrong) {
    small_copy<<<1, 128>>>(zeros<int>(128), zeros<int>(128), wrong);
  };
  check_silent([&] { run(false); });
  check_named("in-flight", "cp.async has not come", [&] { run(true); });
  const auto in_c = [](bool wrong) {
    small_copy_of_c<<<1, 128>>>(zeros<int>(128), zeros<int>(128), wrong);
  };
  check_silent([&] { in_c(false); });
  check_named("in-flight", "the copy of C has not come", [&] { in_c(true); });
}

TEST_CASE("setmaxnreg within what there is") {
  check_silent([] { registers<<<1, 384>>>(0); });
  check_named("setmaxnreg", "too many registers", [] { registers<<<1, 384>>>(1); });
  check_named("setmaxnreg", "one warp alone", [] { registers<<<1, 384>>>(2); });
}

TEST_CASE("lanes of a warp at two mma") {
  check_silent([] { two_mma<<<1, 32>>>(zeros<float>(32), false); });
  check_named("divergent", "half of the warp", [] { two_mma<<<1, 32>>>(zeros<float>(32), true); });
}

TEST_CASE("shared memory of a block that may have ended") {
  check_silent([] { neighbours<<<2, 1>>>(zeros<int>(2), false); });
  check_named("cluster", "nobody waits", [] { neighbours<<<2, 1>>>(zeros<int>(2), true); });
}
