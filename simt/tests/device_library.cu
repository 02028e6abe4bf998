// Device functions: barriers, warp functions, atomics, arithmetic.
#include <cfloat>
#include <cmath>
#include <cstdint>

#include "simt/tests/device_array.hpp"
#include "tests/catch.hpp"

// ---- barriers ---------------------------------------------------------------------------------

__global__ void barrier_votes(int* out) {
  const int t = threadIdx.x;
  out[t * 3] = __syncthreads_count(t % 3 == 0);
  out[t * 3 + 1] = __syncthreads_and(t < 70);
  out[t * 3 + 2] = __syncthreads_or(t == 69);
}
__global__ void tree(const int* in, int* out) {
  __shared__ int part[256];
  part[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
  __syncthreads();
  for (unsigned half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

TEST_CASE("__syncthreads and its votes") {
  DeviceArray<int> out(70 * 3);
  barrier_votes<<<1, 70>>>(out.get());
  auto values = out.values();
  for (int t = 0; t < 70; ++t) {
    REQUIRE(values[t * 3] == 24);
    REQUIRE(values[t * 3 + 1] == 1);
    REQUIRE(values[t * 3 + 2] == 1);
  }
  DeviceArray<int> in(1024, 1), sums(4);
  tree<<<4, 256>>>(in.get(), sums.get());
  CHECK(sums.values() == std::vector<int>{256, 256, 256, 256});
}

// ---- warp functions ---------------------------------------------------------------------------

__global__ void shuffles(int* out) {
  const unsigned all = 0xffffffffu;
  const int t = threadIdx.x;
  int* mine = out + t * 8;
  mine[0] = __shfl_sync(all, t, 5);
  mine[1] = __shfl_up_sync(all, t, 3);
  mine[2] = __shfl_down_sync(all, t, 3);
  mine[3] = __shfl_xor_sync(all, t, 1);
  mine[4] = __shfl_sync(all, t, 9, 8);  // lane 9 % 8 of each group of eight
  mine[5] = __shfl_up_sync(all, t, 1, 16);
  mine[6] = __shfl_down_sync(all, t, 4, 8);
  mine[7] = int(__shfl_xor_sync(all, double(t) + 0.5, 31) * 2);
}

TEST_CASE("shuffles") {
  DeviceArray<int> out(64 * 8);
  shuffles<<<1, 64>>>(out.get());
  auto values = out.values();
  for (int t = 0; t < 64; ++t) {
    const int lane = t % 32, warp = t - lane;
    const int* mine = &values[t * 8];
    REQUIRE(mine[0] == warp + 5);
    REQUIRE(mine[1] == (lane >= 3 ? t - 3 : t));
    REQUIRE(mine[2] == (lane + 3 < 32 ? t + 3 : t));
    REQUIRE(mine[3] == (t ^ 1));
    REQUIRE(mine[4] == t / 8 * 8 + 1);
    REQUIRE(mine[5] == (t % 16 ? t - 1 : t));
    REQUIRE(mine[6] == (t % 8 < 4 ? t + 4 : t));
    REQUIRE(mine[7] == 2 * (warp + (lane ^ 31)) + 1);
  }
}

__global__ void votes(unsigned* out) {
  const unsigned all = 0xffffffffu;
  const int t = threadIdx.x;
  unsigned* mine = out + t * 8;
  mine[0] = __ballot_sync(all, t % 2);
  mine[1] = __any_sync(all, t == 3);
  mine[2] = __all_sync(all, t == 3);
  mine[3] = __match_any_sync(all, t / 4);
  int same = -1;
  mine[4] = __match_all_sync(all, 7, &same);
  mine[5] = unsigned(same);
  mine[6] = 0;
  if (t < 8) mine[6] = __activemask();
  __syncwarp();
  mine[7] = 0;
  if (t >= 16) mine[7] = __ballot_sync(0xffff0000u, t == 20);
}

TEST_CASE("votes, match and active mask") {
  DeviceArray<unsigned> out(32 * 8);
  votes<<<1, 32>>>(out.get());
  auto values = out.values();
  for (int t = 0; t < 32; ++t) {
    const unsigned* mine = &values[t * 8];
    REQUIRE(mine[0] == 0xaaaaaaaau);
    REQUIRE(mine[1] == 1);
    REQUIRE(mine[2] == 0);
    REQUIRE(mine[3] == 0xfu << t / 4 * 4);
    REQUIRE(mine[4] == 0xffffffffu);
    REQUIRE(mine[5] == 1);
    REQUIRE(mine[6] == (t < 8 ? 0xffu : 0u));
    REQUIRE(mine[7] == (t >= 16 ? 1u << 20 : 0u));
  }
}

__global__ void warp_reductions(int* out) {
  const int t = threadIdx.x;
  int* mine = out + t * 6;
  mine[0] = __reduce_add_sync(0xffffffffu, t);
  mine[1] = __reduce_min_sync(0xffffffffu, t - 10);
  mine[2] = __reduce_max_sync(0xffffffffu, t);
  mine[3] = int(__reduce_and_sync(0xffffffffu, unsigned(t | 64)));
  mine[4] = int(__reduce_or_sync(0xffffffffu, unsigned(t)));
  mine[5] = int(__reduce_xor_sync(0xffffffffu, unsigned(t == 3)));
}

TEST_CASE("warp reductions") {
  DeviceArray<int> out(32 * 6);
  warp_reductions<<<1, 32>>>(out.get());
  auto values = out.values();
  for (int t : {0, 17, 31}) {
    CHECK(values[t * 6] == 496);
    CHECK(values[t * 6 + 1] == -10);
    CHECK(values[t * 6 + 2] == 31);
    CHECK(values[t * 6 + 3] == 64);
    CHECK(values[t * 6 + 4] == 31);
    CHECK(values[t * 6 + 5] == 1);
  }
}

// Lanes of one warp take different ways and still meet, each half in its own operation.
__global__ void diverged(int* out) {
  const int t = threadIdx.x;
  if (t < 16)
    out[t] = __shfl_down_sync(0x0000ffffu, t, 1);
  else
    out[t] = __shfl_up_sync(0xffff0000u, t, 1);
}

TEST_CASE("two halves of a warp shuffle apart") {
  DeviceArray<int> out(32);
  diverged<<<1, 32>>>(out.get());
  auto values = out.values();
  CHECK(values[3] == 4);
  CHECK(values[20] == 19);
}

// ---- atomics ----------------------------------------------------------------------------------

template <class T>
__global__ void atomics(T* cell) {
  atomicAdd(&cell[0], T(1));
  atomicMin(&cell[1], T(threadIdx.x));
  atomicMax(&cell[2], T(threadIdx.x));
  atomicExch(&cell[3], T(9));
}
__global__ void integer_atomics(unsigned* cell, unsigned long long* wide, float* real,
                                double* precise) {
  atomicSub(&cell[0], 1u);
  atomicAnd(&cell[1], ~(1u << threadIdx.x % 32));
  atomicOr(&cell[2], 1u << threadIdx.x % 32);
  atomicXor(&cell[3], threadIdx.x);
  atomicInc(&cell[4], 9u);
  atomicDec(&cell[5], 9u);
  atomicAdd_block(&cell[8 + blockIdx.x], 2u);
  for (unsigned seen = atomicAdd(&cell[7], 0u), old;; seen = old) {
    old = atomicCAS(&cell[7], seen, seen + 3);
    if (old == seen) break;
  }
  atomicAdd(wide, 1ull << 40);
  atomicAdd(real, 1);
  atomicAdd_system(precise, 0.5);
}

TEST_CASE("atomics of several blocks lose nothing") {
  DeviceArray<int> cell(4, 5);
  atomics<<<64, 128>>>(cell.get());
  CHECK(cell.values() == std::vector<int>{5 + 64 * 128, 0, 127, 9});
  DeviceArray<unsigned> bits(8 + 32, 0);
  DeviceArray<unsigned long long> wide(1, 0);
  DeviceArray<float> real(1, 0);
  DeviceArray<double> precise(1, 0);
  bits[0] = 10000;
  bits[1] = 0xffffffffu;
  integer_atomics<<<32, 64>>>(bits.get(), wide.get(), real.get(), precise.get());
  auto values = bits.values();
  CHECK(values[0] == 10000 - 2048);
  CHECK(values[1] == 0);
  CHECK(values[2] == 0xffffffffu);
  CHECK(values[3] == 0);
  CHECK(values[4] == 2048 % 10);
  CHECK(values[5] == 2);  // 0, 9, 8, ..., 1, 0, 9, ...: back to 0 every ten steps
  for (int block = 0; block < 32; ++block) CHECK(values[8 + block] == 128);
  CHECK(values[7] == 3 * 2048);
  CHECK(wide.values()[0] == 2048ull << 40);
  CHECK(real.values()[0] == 2048);
  CHECK(precise.values()[0] == 1024);
}

__device__ unsigned finished;
__global__ void last_block(const int* in, int* part, int* out) {
  __shared__ bool last;
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, in[blockIdx.x * blockDim.x + threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 0) {
    part[blockIdx.x] = sum;
    __threadfence();
    last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    __threadfence();
    int total = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) total += part[b];
    *out = total;
  }
}

TEST_CASE("the last block to finish sees what the others wrote") {
  DeviceArray<int> in(4096, 1), part(16), out(1);
  for (int i = 0; i < 10; ++i) {
    last_block<<<16, 256>>>(in.get(), part.get(), out.get());
    REQUIRE(out.values()[0] == 4096);
  }
}

// ---- arithmetic -------------------------------------------------------------------------------

TEST_CASE("bit functions") {
  CHECK(__popc(0xf0f0u) == 8);
  CHECK(__popcll(~0ull) == 64);
  CHECK(__clz(0) == 32);
  CHECK(__clz(1) == 31);
  CHECK(__clzll(1) == 63);
  CHECK(__ffs(0) == 0);
  CHECK(__ffs(8) == 4);
  CHECK(__brev(1u) == 0x80000000u);
  CHECK(__brevll(2ull) == 1ull << 62);
  CHECK(__byte_perm(0x33221100u, 0x77665544u, 0x7531u) == 0x77553311u);
  CHECK(__byte_perm(0x000080ffu, 0, 0x9888u) == 0x80ffffffu);  // three bits of each selector
  CHECK(__funnelshift_l(0x80000000u, 1u, 1) == 3u);
  CHECK(__funnelshift_r(2u, 1u, 1) == 0x80000001u);
  CHECK(__fns(0b10110u, 0, 2) == 2u);
}

TEST_CASE("integer functions") {
  CHECK(__mul24(-3, 5) == -15);
  CHECK(__umulhi(0x80000000u, 4u) == 2u);
  CHECK(__mulhi(-1, 1) == -1);
  CHECK(__umul64hi(1ull << 63, 4) == 2);
  CHECK(__hadd(-1, -2) == -2);
  CHECK(__sad(3, -4, 1u) == 8u);
  CHECK(__dp4a(0x01020304, 0x01010101, 10) == 20);
  CHECK(__dp4a(int(0xffffffffu), 0x01010101, 0) == -4);
  CHECK(__vadd4(0x01ff01ffu, 0x01010101u) == 0x02000200u);
  CHECK(min(3u, 2u) == 2u);
  CHECK(max(-1, 1) == 1);
  CHECK(min(1.0f, NAN) == 1.0f);
}

TEST_CASE("conversions round as they say") {
  CHECK(__float2int_rn(2.5f) == 2);
  CHECK(__float2int_rz(-2.9f) == -2);
  CHECK(__float2int_ru(2.1f) == 3);
  CHECK(__float2int_rd(-2.1f) == -3);
  CHECK(__float2int_rz(1e20f) == INT32_MAX);
  CHECK(__float2int_rz(NAN) == 0);
  CHECK(__float2uint_rn(-1.0f) == 0u);
  CHECK(__fadd_ru(1.0f, 1e-10f) > 1.0f);
  CHECK(__fadd_rd(1.0f, 1e-10f) == 1.0f);
  CHECK(__fadd_rz(-1.0f, -1e-10f) == -1.0f);
  CHECK(__int2float_rz(16777217) == 16777216.0f);
  // What lies far below the last bit counts, too: a sum in a wider type would lose it.
  CHECK(__fadd_rd(1.0f, -1e-30f) == 1 - 0x1p-24f);
  CHECK(__fmaf_ru(1.0f, 1.0f, 1e-30f) == 1 + 0x1p-23f);
  CHECK(__fmaf_rn(0x1.000002p0f, 0x1p-24f, 1.0f) == 1 + 0x1p-23f);
  CHECK(__fsub_rz(-1.0f, -1e-30f) == -(1 - 0x1p-24f));
  CHECK(__dadd_rd(1.0, -1e-300) == 1 - 0x1p-53);
  CHECK(__dadd_ru(1.0, 1e-300) == 1 + 0x1p-52);
  CHECK(__dadd_rz(-1.0, -1e-300) == -1.0);
  CHECK(__dsub_ru(1.0, 1e-300) == 1.0);
  CHECK(__dmul_rd(0.1, 10.0) == 1.0);  // 0.1 is a little more than a tenth
  CHECK(__dmul_ru(0.1, 10.0) == 1 + 0x1p-52);
  CHECK(__ddiv_ru(1.0, 3.0) - __ddiv_rd(1.0, 3.0) == 0x1p-54);
  CHECK(__drcp_rz(-3.0) == -__ddiv_rd(1.0, 3.0));
  CHECK(__dsqrt_ru(2.0) - __dsqrt_rd(2.0) == 0x1p-52);
  CHECK(__fma_rd(0.1, 10.0, -1.0) == 0x1p-54);
  CHECK(__dmul_rd(1e300, 1e300) == DBL_MAX);
  CHECK(__ll2double_rd((1ll << 53) + 1) == 0x1p53);
  CHECK(__ull2float_ru((1ull << 40) + 1) > 0x1p40f);
  CHECK(__dadd_rn(1.0, 0x1p-53) == 1.0);  // the mode is as it was before
  CHECK(__float_as_int(1.0f) == 0x3f800000);
  CHECK(__int_as_float(0x40000000) == 2.0f);
  CHECK(__hiloint2double(__double2hiint(3.25), __double2loint(3.25)) == 3.25);
}

TEST_CASE("mathematical functions") {
  CHECK(rsqrtf(4.0f) == 0.5f);
  CHECK(std::fabs(__expf(1.0f) - 2.7182818f) < 1e-5f);
  CHECK(std::fabs(sinpif(0.5f) - 1.0f) < 1e-6f);
  CHECK(std::fabs(normcdff(0.0f) - 0.5f) < 1e-6f);
  CHECK(__saturatef(1.5f) == 1.0f);
  CHECK(__saturatef(NAN) == 0.0f);
  CHECK(__fdividef(1.0f, 4.0f) == 0.25f);
  float s, c;
  __sincosf(0.0f, &s, &c);
  CHECK(s == 0.0f);
  CHECK(c == 1.0f);
}

__global__ void loads_and_clocks(const float* in, float* out, long long* ticks) {
  const long long start = clock64();
  __stcs(&out[0], __ldg(&in[0]) + __ldcs(&in[1]));
  ticks[0] = clock64() - start;
}

TEST_CASE("cached loads and the clock") {
  DeviceArray<float> in(2, 1.5f), out(1);
  DeviceArray<long long> ticks(1);
  loads_and_clocks<<<1, 1>>>(in.get(), out.get(), ticks.get());
  CHECK(out.values()[0] == 3.0f);
  CHECK(ticks.values()[0] >= 0);
}
