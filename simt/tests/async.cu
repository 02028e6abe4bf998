// What works beside the threads: mbarriers, named barriers, copies in the background and tensor
// maps; and what is said where they are used wrongly.
#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "device_array.hpp"
#include "simt/include/simt/profile.h"
#include "tests/catch.hpp"
#include "tests/run_command.hpp"

namespace {

__device__ unsigned address_of(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}
__device__ void init(uint64_t* barrier, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address_of(barrier)), "r"(count));
}
__device__ void arrive(uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address_of(barrier)) : "memory");
}
__device__ void expect(uint64_t* barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address_of(barrier)),
               "r"(bytes)
               : "memory");
}
__device__ void wait(uint64_t* barrier, unsigned parity) {
  asm volatile(
      "{\n.reg .pred P1;\nLAB_WAIT:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n"
      "@P1 bra DONE;\nbra LAB_WAIT;\nDONE:\n}" ::"r"(address_of(barrier)),
      "r"(parity)
      : "memory");
}

}  // namespace

// The checks have named what was forgotten, and nothing else.
static void check_in_flight_is_named() {
  const auto reports = simt::check_reports();
  CHECK(!reports.empty());
  for (const simt::CheckReport& report : reports) CHECK(report.check == "in-flight");
}

// ---- mbarriers --------------------------------------------------------------------------------

// A ring of two stages: warp 0 fills, warp 1 adds up.
__global__ void ring_kernel(const int* in, int* out, int count) {
  __shared__ int stage[2][32];
  __shared__ alignas(8) uint64_t full[2], empty[2];
  if (threadIdx.x == 0)
    for (int s = 0; s < 2; ++s) {
      init(&full[s], 32);
      init(&empty[s], 32);
    }
  __syncthreads();
  const int lane = threadIdx.x % 32;
  int sum = 0;
  for (int i = 0; i < count; ++i) {
    const int s = i % 2, round = i / 2;
    if (threadIdx.x < 32) {
      wait(&empty[s], (round & 1) ^ 1);
      stage[s][lane] = in[32 * i + lane];
      arrive(&full[s]);
    } else {
      wait(&full[s], round & 1);
      sum += stage[s][31 - lane];
      arrive(&empty[s]);
    }
  }
  if (threadIdx.x >= 32) out[lane] = sum;
}

TEST_CASE("mbarriers carry a ring of stages from warp to warp") {
  const int count = 9;
  DeviceArray<int> in(32 * count), out(32);
  for (int i = 0; i < 32 * count; ++i) in[i] = i;
  ring_kernel<<<3, 64>>>(in.get(), out.get(), count);
  const auto sums = out.values();
  for (int lane = 0; lane < 32; ++lane) {
    int expected = 0;
    for (int i = 0; i < count; ++i) expected += 32 * i + 31 - lane;
    CHECK(sums[lane] == expected);
  }
}

__global__ void token_kernel(unsigned* out) {
  __shared__ alignas(8) uint64_t barrier;
  if (threadIdx.x == 0) init(&barrier, 64);
  __syncthreads();
  uint64_t token;
  asm volatile("mbarrier.arrive.shared.b64 %0, [%1];"
               : "=l"(token)
               : "r"(address_of(&barrier))
               : "memory");
  unsigned pending, done = 0;
  asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(token));
  while (!done)
    asm volatile(
        "{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
        : "=r"(done)
        : "r"(address_of(&barrier)), "l"(token)
        : "memory");
  out[threadIdx.x] = pending;
}

TEST_CASE("the token of an arrival is the state before it") {
  DeviceArray<unsigned> out(64);
  token_kernel<<<1, 64>>>(out.get());
  const auto pending = out.values();
  for (unsigned i = 0; i < 64; ++i) CHECK(pending[i] == 64 - i);
}

// Bytes are promised and told by threads themselves; a thread leaves for good; the word is used
// anew.
__global__ void counted_kernel(unsigned* out) {
  __shared__ alignas(8) uint64_t barrier;
  const unsigned at = address_of(&barrier);
  if (threadIdx.x == 0) init(&barrier, 64);
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 100;" ::"r"(at) : "memory");
    arrive(&barrier);
  } else if (threadIdx.x == 1) {
    arrive(&barrier);
    asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 60;" ::"r"(at) : "memory");
    asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 40;" ::"r"(at) : "memory");
  } else if (threadIdx.x == 2) {
    uint64_t token;
    asm volatile("mbarrier.arrive_drop.shared::cta.b64 %0, [%1];"
                 : "=l"(token)
                 : "r"(at)
                 : "memory");
  } else {
    arrive(&barrier);
  }
  wait(&barrier, 0);
  if (threadIdx.x != 2) arrive(&barrier);  // 63 are enough now
  wait(&barrier, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(at) : "memory");
    init(&barrier, 1);
  }
  __syncthreads();
  if (threadIdx.x == 63)
    asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0], 1;" ::"r"(at) : "memory");
  wait(&barrier, 0);
  out[threadIdx.x] = 7;
}

TEST_CASE("expect_tx, complete_tx, arrive_drop and inval by threads") {
  DeviceArray<unsigned> out(64, 0u);
  counted_kernel<<<1, 64>>>(out.get());
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  for (const unsigned x : out.values()) CHECK(x == 7);
}

// ---- named barriers ---------------------------------------------------------------------------

// Two warps hand a value to and fro; a third one only arrives.
__global__ void named_kernel(int* out) {
  __shared__ int value;
  const int warp = threadIdx.x / 32;
  if (threadIdx.x == 0) value = 1;
  __syncthreads();
  for (int turn = 0; turn < 4; ++turn) {
    if (warp == turn % 2) {
      if (threadIdx.x % 32 == 0) value = 3 * value + turn;
    }
    if (warp < 2)
      asm volatile("bar.sync %0, %1;" ::"r"(1 + turn % 2), "r"(96) : "memory");
    else
      asm volatile("barrier.cta.arrive %0, 96;" ::"r"(1 + turn % 2) : "memory");
    if (warp == 2) asm volatile("bar.sync 5, 32;");
  }
  if (warp < 2) out[threadIdx.x] = value;
}

TEST_CASE("named barriers join some warps of a block") {
  DeviceArray<int> out(64);
  named_kernel<<<2, 96>>>(out.get());
  int value = 1;
  for (int turn = 0; turn < 4; ++turn) value = 3 * value + turn;
  for (int x : out.values()) CHECK(x == value);
}

// ---- copies -----------------------------------------------------------------------------------

// waits: 0: for nothing, 1: for all but the last group, 2: for all.
__global__ void small_copies_kernel(const int* in, int* out, int waits) {
  __shared__ alignas(16) int tile[3][32 * 4];
  const int i = threadIdx.x;
  for (int s = 0; s < 3; ++s)
    for (int j = 0; j < 4; ++j) tile[s][4 * i + j] = -1;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address_of(&tile[0][4 * i])),
               "l"(in + 4 * i)
               : "memory");
  asm volatile("cp.async.commit_group;" ::: "memory");
  // 8 bytes, of which 4 are read; and none of 4.
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(address_of(&tile[1][4 * i])),
               "l"(in + 4 * i), "r"(4)
               : "memory");
  asm volatile(
      "{ .reg .pred p; setp.eq.u32 p, 1, 1;"
      "cp.async.ca.shared.global [%0], [%1], 4, p; }" ::"r"(address_of(&tile[2][4 * i])),
      "l"(in + 4 * i)
      : "memory");
  asm volatile("cp.async.commit_group;" ::: "memory");
  if (waits == 1) asm volatile("cp.async.wait_group 1;" ::: "memory");
  if (waits == 2) asm volatile("cp.async.wait_all;" ::: "memory");
  for (int s = 0; s < 3; ++s)
    for (int j = 0; j < 4; ++j) out[12 * i + 4 * s + j] = tile[s][4 * i + j];
}

TEST_CASE("cp.async is late: what nobody waited for is not there") {
  DeviceArray<int> in(128), out(32 * 12);
  for (int i = 0; i < 128; ++i) in[i] = 1000 + i;
  for (int waits = 0; waits < 3; ++waits) {
    small_copies_kernel<<<1, 32>>>(in.get(), out.get(), waits);
    const auto values = out.values();
    for (int i = 0; i < 32; ++i) {
      const int x = 1000 + 4 * i;
      std::vector<int> expected(12, -1);
      if (waits >= 1)
        expected[0] = x, expected[1] = x + 1, expected[2] = x + 2, expected[3] = x + 3;
      if (waits == 2) expected[4] = x, expected[5] = 0, expected[8] = 0;
      INFO("waits " << waits << ", thread " << i);
      CHECK(std::vector<int>(values.begin() + 12 * i, values.begin() + 12 * i + 12) == expected);
    }
    if (waits < 2) check_in_flight_is_named();
  }
  CHECK(simt::check_reports().empty());
}

__global__ void arrive_with_copies_kernel(const int* in, int* out) {
  __shared__ alignas(16) int tile[32];
  __shared__ alignas(8) uint64_t full;
  if (threadIdx.x == 0) init(&full, 32);
  __syncthreads();
  if (threadIdx.x < 32) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(address_of(&tile[threadIdx.x])),
                 "l"(in + threadIdx.x)
                 : "memory");
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(address_of(&full))
                 : "memory");
  } else {
    wait(&full, 0);
    out[threadIdx.x - 32] = tile[63 - threadIdx.x];
  }
}

TEST_CASE("cp.async tells an mbarrier of its end") {
  DeviceArray<int> in(32), out(32);
  for (int i = 0; i < 32; ++i) in[i] = 7 * i;
  arrive_with_copies_kernel<<<1, 64>>>(in.get(), out.get());
  const auto values = out.values();
  for (int i = 0; i < 32; ++i) CHECK(values[i] == 7 * (31 - i));
}

TEST_CASE("what waits for its copies is right whenever they end") {
  const std::string self = tests::this_program();
  for (const char* order : {"early", "random:1", "random:2", "random:3", "random:4"}) {
    const auto result = tests::run_command(
        "SIMT_ASYNC=" + std::string(order) + " " + self +
        " 'cp.async tells*,mbarriers carry*,a box that is*,boxes of*,cp.reduce*' 2>&1");
    INFO(order << "\n" << result.output);
    CHECK(result.status == 0);
  }
}

// Brings 256 bytes, adds 1, sends them back or adds them to what is there.
__global__ void bulk_kernel(const int* in, int* out, int* sums, bool wait_for_load) {
  __shared__ alignas(128) int tile[64];
  __shared__ alignas(8) uint64_t full;
  tile[threadIdx.x] = -1000;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  if (threadIdx.x == 0) init(&full, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    expect(&full, 256);
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, "
        "[%3];" ::"r"(address_of(tile)),
        "l"(in), "r"(256), "r"(address_of(&full))
        : "memory");
  }
  if (wait_for_load) wait(&full, 0);
  tile[threadIdx.x] += 1;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;" ::"l"(out),
                 "r"(address_of(tile))
                 : "memory");
    asm volatile(
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], 256;" ::"l"(sums),
        "r"(address_of(tile))
        : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
  }
  __syncthreads();
  tile[threadIdx.x] = 0;
}

TEST_CASE("cp.async.bulk both ways, and adding up; a load that nobody waits for comes late") {
  DeviceArray<int> in(64), out(64), sums(64, 0);
  for (int i = 0; i < 64; ++i) in[i] = 10 * i;
  bulk_kernel<<<5, 64>>>(in.get(), out.get(), sums.get(), true);
  auto values = out.values(), total = sums.values();
  for (int i = 0; i < 64; ++i) {
    CHECK(values[i] == 10 * i + 1);
    CHECK(total[i] == 5 * (10 * i + 1));
  }
  bulk_kernel<<<1, 64>>>(in.get(), out.get(), sums.get(), false);
  for (int x : out.values()) CHECK(x == -999);
  check_in_flight_is_named();
}

// 16 bytes of `ones` are combined with what `out` holds.
template <class T>
__global__ void reduce_kernel(T* out, int which) {
  __shared__ alignas(16) T ones[16 / sizeof(T)];
  if (threadIdx.x < 16 / sizeof(T)) ones[threadIdx.x] = T(threadIdx.x + 1.0f);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x > 0) return;
#define SIMT_TEST_REDUCE(number, operation)                                    \
  if (which == number)                                                         \
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." operation \
               " [%0], [%1], 16;" ::"l"(out),                                  \
               "r"(address_of(ones))                                           \
               : "memory")
  SIMT_TEST_REDUCE(0, "add.noftz.f16");
  SIMT_TEST_REDUCE(1, "add.noftz.bf16");
  SIMT_TEST_REDUCE(2, "add.f64");
  SIMT_TEST_REDUCE(3, "add.u64");
  SIMT_TEST_REDUCE(4, "min.s64");
  SIMT_TEST_REDUCE(5, "max.u32");
  SIMT_TEST_REDUCE(6, "inc.u32");
  SIMT_TEST_REDUCE(7, "dec.u32");
  SIMT_TEST_REDUCE(8, "and.b32");
  SIMT_TEST_REDUCE(9, "or.b64");
  SIMT_TEST_REDUCE(10, "xor.b32");
  SIMT_TEST_REDUCE(11, "max.bf16");
  SIMT_TEST_REDUCE(12, "add.f32");
  asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
}

template <class T>
void check_reduction(int which, std::vector<float> expected) {
  DeviceArray<T> out(expected.size());
  for (size_t i = 0; i < expected.size(); ++i) out[i] = T(3.0f);
  reduce_kernel<T><<<1, 32>>>(out.get(), which);
  const auto values = out.values();
  for (size_t i = 0; i < expected.size(); ++i) {
    INFO("reduction " << which << ", element " << i);
    CHECK(float(values[i]) == expected[i]);
  }
}

TEST_CASE("cp.reduce.async.bulk with every operation and type") {
  check_reduction<__half>(0, {4, 5, 6, 7, 8, 9, 10, 11});
  check_reduction<__nv_bfloat16>(1, {4, 5, 6, 7, 8, 9, 10, 11});
  check_reduction<double>(2, {4, 5});
  check_reduction<unsigned long long>(3, {4, 5});
  check_reduction<long long>(4, {1, 2});
  check_reduction<unsigned>(5, {3, 3, 3, 4});
  check_reduction<unsigned>(6, {0, 0, 0, 4});
  check_reduction<unsigned>(7, {1, 2, 2, 2});
  check_reduction<unsigned>(8, {1, 2, 3, 0});
  check_reduction<unsigned long long>(9, {3, 3});
  check_reduction<unsigned>(10, {2, 1, 0, 7});
  check_reduction<__nv_bfloat16>(11, {3, 3, 3, 4, 5, 6, 7, 8});
  check_reduction<float>(12, {4, 5, 6, 7});
}

// Copies that say how long their lines should stay in L2, each with another policy: 32 ints by
// cp.async, of which the last four are zeros, then 32 in one piece; both are stored, and added.
__global__ void hinted_copies_kernel(const int* in, int* out, int* sums) {
  __shared__ alignas(128) int tile[64];
  __shared__ alignas(8) uint64_t full;
  uint64_t first, part, range, last;
  asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(first));
  asm volatile("createpolicy.fractional.L2::evict_normal.L2::evict_unchanged.b64 %0, 0.5;"
               : "=l"(part));
  asm volatile("createpolicy.range.global.L2::evict_last.L2::evict_first.b64 %0, [%1], 128, 256;"
               : "=l"(range)
               : "l"(in));
  asm volatile("createpolicy.fractional.L2::evict_last.b64 %0;" : "=l"(last));
  const int i = 4 * threadIdx.x;
  asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2, %3;" ::"r"(
                   address_of(tile + i)),
               "l"(in + i), "r"(i < 28 ? 16 : 0), "l"(first)
               : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  if (threadIdx.x == 0) {
    init(&full, 1);
    expect(&full, 128);
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
        "[%0], [%1], 128, [%2], %3;" ::"r"(address_of(tile + 32)),
        "l"(in + 32), "r"(address_of(&full)), "l"(part)
        : "memory");
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x > 0) return;
  wait(&full, 0);
  asm volatile(
      "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%0], [%1], 256, %2;" ::"l"(out),
      "r"(address_of(tile)), "l"(range)
      : "memory");
  asm volatile(
      "cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.add.s32 [%0], [%1], 256, "
      "%2;" ::"l"(sums),
      "r"(address_of(tile)), "l"(last)
      : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

TEST_CASE("cache hints leave copies as they are") {
  DeviceArray<int> in(64), out(64), sums(64, 1);
  for (int i = 0; i < 64; ++i) in[i] = 100 + i;
  hinted_copies_kernel<<<1, 8>>>(in.get(), out.get(), sums.get());
  const auto values = out.values(), total = sums.values();
  for (int i = 0; i < 64; ++i) {
    INFO("element " << i);
    CHECK(values[i] == (i / 4 == 7 ? 0 : 100 + i));
    CHECK(total[i] == values[i] + 1);
  }
  CHECK(simt::check_reports().empty());
}

// ---- tensor maps ------------------------------------------------------------------------------

namespace {

PFN_cuTensorMapEncodeTiled encoder() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found;
  REQUIRE(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                           cudaEnableDefault, &found) == cudaSuccess);
  REQUIRE(found == cudaDriverEntryPointSuccess);
  return reinterpret_cast<PFN_cuTensorMapEncodeTiled>(function);
}

// A dense tensor of shorts: element (i0, i1, ...) is its index.
struct Tensor {
  std::vector<cuuint64_t> sizes, pitches;
  std::vector<cuuint32_t> box;
  CUtensorMapSwizzle swizzle;

  size_t count() const {
    size_t n = 1;
    for (auto s : sizes) n *= s;
    return n;
  }
  CUresult encode(CUtensorMap* map, void* base,
                  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_UINT16) const {
    const cuuint32_t steps[5] = {1, 1, 1, 1, 1};
    return encoder()(map, type, cuuint32_t(sizes.size()), base, sizes.data(), pitches.data(),
                     box.data(), steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                     CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  }
  // What lies at box element `i`, counted along dimension 0 first; zero outside.
  uint16_t value(const std::vector<int>& first, size_t i) const {
    size_t at = 0, stride = 1;
    for (size_t d = 0; d < sizes.size(); ++d) {
      const long x = long(i % box[d]) + first[d];
      i /= box[d];
      if (x < 0 || x >= long(sizes[d])) return 0;
      at += size_t(x) * stride;
      stride *= sizes[d];
    }
    return static_cast<uint16_t>(at);
  }
};

struct First {
  int at[5];
};

template <int kRank>
__global__ void box_kernel(const __grid_constant__ CUtensorMap map,
                           const __grid_constant__ CUtensorMap target, First c, int bytes,
                           uint16_t* out) {
  extern __shared__ __align__(1024) char tile[];
  __shared__ alignas(8) uint64_t full;
  if (threadIdx.x == 0) {
    init(&full, 1);
    expect(&full, bytes);
    const unsigned to = address_of(tile), barrier = address_of(&full);
    if constexpr (kRank == 1)
      asm volatile(
          "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "
          "[%1, {%2}], [%3];" ::"r"(to),
          "l"(&map), "r"(c.at[0]), "r"(barrier)
          : "memory");
    if constexpr (kRank == 2)
      asm volatile(
          "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "
          "[%1, {%2, %3}], [%4];" ::"r"(to),
          "l"(&map), "r"(c.at[0]), "r"(c.at[1]), "r"(barrier)
          : "memory");
    if constexpr (kRank == 3)  // with a cache hint, which changes nothing
      asm volatile(
          "{ .reg .b64 policy; createpolicy.fractional.L2::evict_first.b64 policy, 1.0;"
          "cp.async.bulk.tensor.3d.shared::cta.global.tile.mbarrier::complete_tx::bytes"
          ".L2::cache_hint [%0], [%1, {%2, %3, %4}], [%5], policy; }" ::"r"(to),
          "l"(&map), "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]), "r"(barrier)
          : "memory");
    if constexpr (kRank == 4)
      asm volatile(
          "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "
          "[%1, {%2, %3, %4, %5}], [%6];" ::"r"(to),
          "l"(&map), "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]), "r"(c.at[3]), "r"(barrier)
          : "memory");
    if constexpr (kRank == 5)
      asm volatile(
          "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], "
          "[%1, {%2, %3, %4, %5, %6}], [%7];" ::"r"(to),
          "l"(&map), "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]), "r"(c.at[3]), "r"(c.at[4]),
          "r"(barrier)
          : "memory");
  }
  __syncthreads();
  wait(&full, 0);
  for (int i = threadIdx.x; i < bytes / 2; i += blockDim.x)
    out[i] = reinterpret_cast<uint16_t*>(tile)[i];
  __syncthreads();
  if (kRank == 2 && c.at[0] >= 0 && threadIdx.x == 0) {
    asm volatile(
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(
            &target),
        "r"(c.at[0]), "r"(c.at[1]), "r"(address_of(tile))
        : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
}

template <int kRank>
void check_box(const Tensor& tensor, std::vector<int> first) {
  DeviceArray<uint16_t> data(tensor.count()), target(tensor.count(), 7777);
  for (size_t i = 0; i < tensor.count(); ++i) data[i] = static_cast<uint16_t>(i);
  alignas(64) CUtensorMap map, to;
  REQUIRE(tensor.encode(&map, data.get()) == CUDA_SUCCESS);
  REQUIRE(tensor.encode(&to, target.get()) == CUDA_SUCCESS);
  size_t elements = 1;
  for (auto b : tensor.box) elements *= b;
  DeviceArray<uint16_t> out(elements);
  First c{};
  for (int d = 0; d < kRank; ++d) c.at[d] = first[d];
  box_kernel<kRank><<<1, 64, 2 * elements>>>(map, to, c, int(2 * elements), out.get());
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  const auto got = out.values();
  const unsigned spans[] = {0, 1, 3, 7};  // which bits of the row number move the 16-byte pieces
  for (size_t i = 0; i < elements; ++i) {
    // Where element i of the box lies: 16-byte pieces exchanged by bits 7 .. 9 of the address.
    const size_t byte = 2 * i;
    const size_t at = byte ^ ((byte >> 7 & spans[tensor.swizzle]) << 4);
    INFO("element " << i);
    REQUIRE(got[at / 2] == tensor.value(first, i));
  }
  if (kRank != 2) return;
  // The box went back to where it came from, nothing else. One that begins before the rows stays.
  const auto written = target.values();
  for (size_t i = 0; i < tensor.count(); ++i) {
    const long x = long(i % tensor.sizes[0]) - first[0], y = long(i / tensor.sizes[0]) - first[1];
    const bool inside = x >= 0 && x < long(tensor.box[0]) && y >= 0 && y < long(tensor.box[1]);
    REQUIRE(written[i] == (inside && first[0] >= 0 ? uint16_t(i) : 7777));
  }
}

}  // namespace

TEST_CASE("boxes of tensors: every swizzle, edges, 1 to 5 dimensions") {
  for (int swizzle = 0; swizzle < 4; ++swizzle) {
    const cuuint32_t width = swizzle == 0 ? 24 : 8u << swizzle;
    const Tensor matrix{{80, 40}, {160}, {width, 16}, CUtensorMapSwizzle(swizzle)};
    INFO("swizzle " << swizzle);
    check_box<2>(matrix, {0, 0});
    check_box<2>(matrix, {16, 8});
    check_box<2>(matrix, {72, 33});    // over both edges
    check_box<2>(matrix, {-8, -5});    // before both
    check_box<2>(matrix, {200, 100});  // outside
  }
  check_box<1>({{100}, {}, {64}, CU_TENSOR_MAP_SWIZZLE_NONE}, {56});
  check_box<3>({{64, 6, 5}, {128, 768}, {64, 4, 2}, CU_TENSOR_MAP_SWIZZLE_128B}, {0, 3, 4});
  check_box<4>({{32, 5, 3, 4}, {64, 320, 960}, {32, 2, 2, 3}, CU_TENSOR_MAP_SWIZZLE_64B},
               {0, 4, 1, -1});
  check_box<5>({{16, 3, 2, 3, 2}, {32, 96, 192, 576}, {8, 2, 2, 2, 2}, CU_TENSOR_MAP_SWIZZLE_NONE},
               {8, 1, 0, 2, 1});
}

// As seen on an H200: rows that end within 16 bytes are loaded up to their end, and stored with
// what follows within these.
TEST_CASE("boxes at the end of rows that are no multiple of 16 bytes") {
  const Tensor tensor{{77, 16}, {160}, {16, 16}, CU_TENSOR_MAP_SWIZZLE_NONE};
  DeviceArray<uint16_t> data(80 * 16, 5), target(80 * 16, 7777), out(16 * 16);
  alignas(64) CUtensorMap map, to;
  REQUIRE(tensor.encode(&map, data.get()) == CUDA_SUCCESS);
  REQUIRE(tensor.encode(&to, target.get()) == CUDA_SUCCESS);
  First c{};
  c.at[0] = 72;
  box_kernel<2><<<1, 64, 512>>>(map, to, c, 512, out.get());
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  const auto loaded = out.values(), stored = target.values();
  for (int i = 0; i < 16 * 16; ++i) CHECK(loaded[i] == (i % 16 < 5 ? 5 : 0));
  for (int i = 0; i < 80 * 16; ++i) {
    const int x = i % 80;
    CHECK(stored[i] == (x < 72 ? 7777 : x < 77 ? 5 : 0));
  }
}

// What lies in a box is combined with what lies in the tensor, by every operation.
template <class T>
__global__ void reduce_box_kernel(const __grid_constant__ CUtensorMap map, int which) {
  __shared__ alignas(128) T tile[4][16];
  tile[threadIdx.x / 16][threadIdx.x % 16] = T(threadIdx.x % 7);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x > 0) return;
#define SIMT_TEST_REDUCE_BOX(number, operation)                               \
  if (which == number)                                                        \
  asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta." operation \
               ".tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map),          \
               "r"(16), "r"(1), "r"(address_of(tile))                         \
               : "memory")
  SIMT_TEST_REDUCE_BOX(0, "add");
  SIMT_TEST_REDUCE_BOX(1, "min");
  SIMT_TEST_REDUCE_BOX(2, "max");
  SIMT_TEST_REDUCE_BOX(3, "and");
  SIMT_TEST_REDUCE_BOX(4, "or");
  SIMT_TEST_REDUCE_BOX(5, "xor");
  SIMT_TEST_REDUCE_BOX(6, "inc");
  SIMT_TEST_REDUCE_BOX(7, "dec");
  asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
}

static long reduced(int which, long old, long value) {
  switch (which) {
    case 0: return old + value;
    case 1: return std::min(old, value);
    case 2: return std::max(old, value);
    case 3: return old & value;
    case 4: return old | value;
    case 5: return old ^ value;
    case 6: return old >= value ? 0 : old + 1;
    default: return old == 0 || old > value ? value : old - 1;
  }
}

template <class T>
void check_reduced_boxes(CUtensorMapDataType type, int operations, int least) {
  for (int which = 0; which < operations; ++which) {
    DeviceArray<T> data(24 * 8);  // 8 rows of 24, of which the box covers the last 8 of rows 1 .. 4
    for (int i = 0; i < 192; ++i) data[i] = T(float(i % 11 + least));
    alignas(64) CUtensorMap map;
    const cuuint64_t sizes[] = {24, 8}, pitches[] = {24 * sizeof(T)};
    const cuuint32_t box[] = {16, 4}, steps[] = {1, 1};
    REQUIRE(encoder()(&map, type, 2, data.get(), sizes, pitches, box, steps,
                      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                      CU_TENSOR_MAP_L2_PROMOTION_NONE,
                      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS);
    reduce_box_kernel<T><<<1, 64>>>(map, which);
    const auto values = data.values();
    for (int row = 0; row < 8; ++row)
      for (int column = 0; column < 24; ++column) {
        const int i = 24 * row + column;
        long expected = i % 11 + least;
        if (row >= 1 && row < 5 && column >= 16)
          expected = reduced(which, expected, ((row - 1) * 16 + column - 16) % 7);
        INFO("operation " << which << ", row " << row << ", column " << column);
        REQUIRE(float(values[i]) == float(expected));
      }
  }
}

TEST_CASE("a box that is combined with what lies in the tensor") {
  check_reduced_boxes<int>(CU_TENSOR_MAP_DATA_TYPE_INT32, 6, -5);
  check_reduced_boxes<unsigned>(CU_TENSOR_MAP_DATA_TYPE_UINT32, 8, 0);
  check_reduced_boxes<float>(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 1, -5);
  check_reduced_boxes<__half>(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 3, -5);
  check_reduced_boxes<__nv_bfloat16>(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3, -5);
  check_reduced_boxes<unsigned long long>(CU_TENSOR_MAP_DATA_TYPE_UINT64, 6, 0);
  CHECK(simt::check_reports().empty());
}

TEST_CASE("a tensor map is refused as the driver refuses it") {
  DeviceArray<uint16_t> data(4096);
  alignas(64) CUtensorMap map;
  const Tensor good{{64, 64}, {128}, {64, 8}, CU_TENSOR_MAP_SWIZZLE_128B};
  CHECK(good.encode(&map, data.get()) == CUDA_SUCCESS);
  CHECK(good.encode(&map, data.get() + 1) == CUDA_ERROR_INVALID_VALUE);
  Tensor bad = good;
  bad.pitches = {120};
  CHECK(bad.encode(&map, data.get()) == CUDA_ERROR_INVALID_VALUE);
  bad = good;
  bad.box = {64, 257};
  CHECK(bad.encode(&map, data.get()) == CUDA_ERROR_INVALID_VALUE);
  bad = good;
  bad.box = {72, 8};  // 144 bytes in a swizzle of 128
  CHECK(bad.encode(&map, data.get()) == CUDA_ERROR_INVALID_VALUE);
  bad = good;
  bad.box = {4, 8};  // 8 bytes
  CHECK(bad.encode(&map, data.get()) == CUDA_ERROR_INVALID_VALUE);
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSuccess;
  const char* text = nullptr;
  CHECK(cuGetErrorString(CUDA_ERROR_INVALID_VALUE, &text) == CUDA_SUCCESS);
  CHECK(std::string(text) == "invalid argument");
  CHECK(cudaGetDriverEntryPoint("cuNothing", &function, cudaEnableDefault, &found) == cudaSuccess);
  CHECK(found == cudaDriverEntryPointSymbolNotFound);
}
