// Device functions: barriers, warp functions, atomics, arithmetic.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <vector>

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

// ---- lanes of a word: each intrinsic beside what it means for one lane

int as_signed(unsigned lane, int bits) {
  return lane >> (bits - 1) ? static_cast<int>(lane) - (1 << bits) : static_cast<int>(lane);
}
int limited(int value, int least, int most) { return std::min(std::max(value, least), most); }

using OfLanes = unsigned (*)(unsigned, unsigned);
struct LaneFunction {
  const char* name;
  OfLanes of_halves, of_bytes;
  bool is_signed;
  int (*of_one)(int x, int y, int bits);
};
#define LANES(name, is_signed, value)                                                     \
  {                                                                                       \
#name, __v##name##2, __v##name##4, is_signed,                                         \
        [](int x, int y, int bits) -> int { return (void)x, (void)y, (void)bits, value; } \
  }
const LaneFunction kLaneFunctions[] = {
    LANES(add, false, x + y),
    LANES(addss, true, limited(x + y, -(1 << (bits - 1)), (1 << (bits - 1)) - 1)),
    LANES(addus, false, limited(x + y, 0, (1 << bits) - 1)),
    LANES(sub, false, x - y),
    LANES(subss, true, limited(x - y, -(1 << (bits - 1)), (1 << (bits - 1)) - 1)),
    LANES(subus, false, limited(x - y, 0, (1 << bits) - 1)),
    LANES(avgs, true, static_cast<int>(std::round((x + y) / 2.0))),
    LANES(avgu, false, static_cast<int>(std::ceil((x + y) / 2.0))),
    LANES(haddu, false, static_cast<int>(std::floor((x + y) / 2.0))),
    LANES(absdiffs, true, std::abs(x - y)),
    LANES(absdiffu, false, std::abs(x - y)),
    LANES(maxs, true, std::max(x, y)),
    LANES(maxu, false, std::max(x, y)),
    LANES(mins, true, std::min(x, y)),
    LANES(minu, false, std::min(x, y)),
    LANES(seteq, false, x == y),
    LANES(setne, false, x != y),
    LANES(setgts, true, x > y),
    LANES(setgtu, false, x > y),
    LANES(setges, true, x >= y),
    LANES(setgeu, false, x >= y),
    LANES(setlts, true, x < y),
    LANES(setltu, false, x < y),
    LANES(setles, true, x <= y),
    LANES(setleu, false, x <= y),
    LANES(cmpeq, false, -(x == y)),
    LANES(cmpne, false, -(x != y)),
    LANES(cmpgts, true, -(x > y)),
    LANES(cmpgtu, false, -(x > y)),
    LANES(cmpges, true, -(x >= y)),
    LANES(cmpgeu, false, -(x >= y)),
    LANES(cmplts, true, -(x < y)),
    LANES(cmpltu, false, -(x < y)),
    LANES(cmples, true, -(x <= y)),
    LANES(cmpleu, false, -(x <= y)),
    {"abs", [](unsigned a, unsigned) { return __vabs2(a); },
     [](unsigned a, unsigned) { return __vabs4(a); }, true,
     [](int x, int, int) { return std::abs(x); }},
    {"absss", [](unsigned a, unsigned) { return __vabsss2(a); },
     [](unsigned a, unsigned) { return __vabsss4(a); }, true,
     [](int x, int, int bits) { return std::min(std::abs(x), (1 << (bits - 1)) - 1); }},
    {"neg", [](unsigned a, unsigned) { return __vneg2(a); },
     [](unsigned a, unsigned) { return __vneg4(a); }, true, [](int x, int, int) { return -x; }},
    {"negss", [](unsigned a, unsigned) { return __vnegss2(a); },
     [](unsigned a, unsigned) { return __vnegss4(a); }, true,
     [](int x, int, int bits) { return std::min(-x, (1 << (bits - 1)) - 1); }},
};
#undef LANES

// The ends of every range, and what lies in between, in all lanes.
std::vector<unsigned> telling_words() {
  std::vector<unsigned> words = {0,          1,          0x7f80ff01, 0x80007fff, 0xffff0001,
                                 0x00ff8080, 0x01020304, 0x7fffffff, 0x80000000, ~0u,
                                 0x80808080, 0x7f7f7f7f, 0x80018001};
  for (unsigned i = 1; i <= 40; ++i) words.push_back(i * 2654435761u ^ i << 7);
  return words;
}

template <class Function>
unsigned lane_by_lane(unsigned a, unsigned b, int bits, bool is_signed, Function f) {
  unsigned result = 0;
  const unsigned mask = (1u << bits) - 1;
  for (int at = 0; at < 32; at += bits) {
    const unsigned x = a >> at & mask, y = b >> at & mask;
    const int value = is_signed ? f(as_signed(x, bits), as_signed(y, bits), bits)
                                : f(static_cast<int>(x), static_cast<int>(y), bits);
    result |= (static_cast<unsigned>(value) & mask) << at;
  }
  return result;
}

TEST_CASE("intrinsics of halves and bytes, lane by lane") {
  for (const LaneFunction& each : kLaneFunctions) {
    INFO(each.name);
    unsigned wrong = 0;
    for (const unsigned a : telling_words())
      for (const unsigned b : telling_words()) {
        wrong += each.of_halves(a, b) != lane_by_lane(a, b, 16, each.is_signed, each.of_one);
        wrong += each.of_bytes(a, b) != lane_by_lane(a, b, 8, each.is_signed, each.of_one);
      }
    CHECK(wrong == 0);
  }
  CHECK(__vsads4(0x80ff0001u, 0x7f010003u) == 255 + 2 + 0 + 2);
  CHECK(__vsadu4(0x80ff0001u, 0x7f010003u) == 1 + 254 + 0 + 2);
  CHECK(__vsads2(0x8000ffffu, 0x7fff0001u) == 65535 + 2);
  CHECK(__vsadu2(0x8000ffffu, 0x7fff0001u) == 1 + 65534);
}

TEST_CASE("minimum and maximum of three, and dot products of halves and bytes") {
  CHECK(__vimax3_s32(-5, 3, 2) == 3);
  CHECK(__vimin3_s32(-5, 3, 2) == -5);
  CHECK(__vimax3_u32(~0u, 3, 2) == ~0u);
  CHECK(__vimin3_s32_relu(-5, 3, 2) == 0);
  CHECK(__vimax_s32_relu(-5, -3) == 0);
  CHECK(__vimin_s32_relu(5, 3) == 3);
  CHECK(__vimax3_s16x2(0x0001ffff, 0x00020005, 0xffff0003) == 0x00020005);
  CHECK(__vimin3_u16x2(0x0001ffff, 0x00020005, 0xffff0003) == 0x00010003);
  CHECK(__vimax3_s16x2_relu(0xfffeffff, 0xfffd0005, 0xffff0003) == 0x00000005);
  CHECK(__viaddmax_s32(2, 3, 4) == 5);
  CHECK(__viaddmax_s32(INT32_MAX, 1, 4) == 4);  // the sum wraps
  CHECK(__viaddmin_u32(~0u, 2, 4) == 1);
  CHECK(__viaddmin_s32_relu(-2, 1, 4) == 0);
  CHECK(__viaddmax_s16x2(0x00017fff, 0x00010001, 0x00000000) == 0x00020000);
  bool high = false, low = false, first = false;
  CHECK(__vibmax_s32(-1, 1, &first) == 1);
  CHECK(!first);
  CHECK(__vibmin_u32(7, 7, &first) == 7);
  CHECK(first);
  CHECK(__vibmax_s16x2(0xffff0002, 0x00010001, &high, &low) == 0x00010002);
  CHECK(!high);
  CHECK(low);
  CHECK(__vibmin_u16x2(0xffff0002, 0x00010001, &high, &low) == 0x00010001);
  CHECK(!high);
  CHECK(!low);
  CHECK(__dp2a_lo(int(0xfffe0003u), 0x01020405, 10) == 10 + 3 * 5 - 2 * 4);
  CHECK(__dp2a_hi(int(0xfffe0003u), int(0xff020405u), 10) == 10 + 3 * 2 + 2);
  CHECK(__dp2a_lo(0xfffe0003u, 0x0102ff05u, 10u) == 10 + 3 * 5 + 65534u * 255);
  CHECK(__dp2a_hi(make_short2(3, -2), make_char4(5, 4, 2, -1), 10) == 18);
  CHECK(__dp2a_lo(make_ushort2(3, 2), make_uchar4(5, 255, 0, 0), 10u) == 535);
  CHECK(__dp4a(make_char4(1, -2, 3, 4), make_char4(5, 6, 7, 8), 1) == 47);
  CHECK(__urhadd(~0u, 2) == 0x80000001u);
  CHECK(llmax(-1, 1) == 1);
  CHECK(ullmin(~0ull, 1) == 1);
}

namespace {

bool near(double value, double wanted, double relative) {
  return std::fabs(value - wanted) <= relative * std::fabs(wanted);
}
// By the integral of exp(x cos t) cos(order t) over half a turn: periodic, so few points do.
double bessel_by_integral(int order, double x) {
  const int points = 200;
  double sum = 0;
  for (int i = 0; i < points; ++i) {
    const double t = M_PI * (i + 0.5) / points;
    sum += std::exp(x * (std::cos(t) - 1)) * std::cos(order * t);
  }
  return sum / points * std::exp(x);
}

}  // namespace

TEST_CASE("inverses of the error function, norms, Bessel functions") {
  for (const double x : {1e-300, 1e-9, 0.1, 0.4999, 0.5, 0.51, 0.9, 0.999999, 1 - 0x1p-53}) {
    INFO(x);
    CHECK(near(std::erf(erfinv(x)), x, 4e-16));
    CHECK(erfinv(-x) == -erfinv(x));
    if (x < 0.9999)
      CHECK(near(erfinvf(static_cast<float>(x)), erfinv(static_cast<float>(x)), 1e-7));
  }
  for (const double y : {1e-307, 1e-100, 1e-20, 0.01, 0.49, 0.5, 0.7, 0.99999, 1.3, 1.5}) {
    INFO(y);
    CHECK(near(std::erfc(erfcinv(y)), y, 1e-12));  // which is steep there
    CHECK(near(normcdf(normcdfinv(y / 2)), y / 2, 1e-12));
  }
  CHECK(near(erfinv(0.5), 0.47693627620446987, 3e-16));
  CHECK(near(normcdfinv(0.975), 1.9599639845400543, 1e-15));
  CHECK(erfinv(1.0) == INFINITY);
  CHECK(erfinvf(-1.0f) == -INFINITY);
  CHECK(std::isnan(erfinv(1.1)));
  CHECK(erfcinv(0.0) == INFINITY);
  CHECK(erfcinv(2.0) == -INFINITY);
  CHECK(normcdfinv(0.0) == -INFINITY);
  CHECK(normcdfinvf(1.0f) == INFINITY);
  CHECK(normcdfinv(0.5) == 0);
  for (const double x : {-5.0, -0.1, 0.0, 0.3, 1.0, 5.0, 24.9, 25.1, 60.0}) {
    INFO(x);
    const long double exact = std::exp(static_cast<long double>(x) * x) * erfcl(x);
    CHECK(near(erfcx(x), static_cast<double>(exact), 2e-15));
  }
  CHECK(near(erfcx(1e10), 1 / (1e10 * std::sqrt(M_PI)), 1e-15));
  CHECK(erfcx(INFINITY) == 0);
  CHECK(erfcx(-30.0) == INFINITY);

  const double side[] = {3, 4, 12, 84};
  const float side_f[] = {3, 4, 12, 84}, one_infinite[] = {NAN, INFINITY};
  CHECK(norm(4, side) == 85);
  CHECK(rnorm(3, side) == 1 / 13.0);
  CHECK(normf(4, side_f) == 85);
  CHECK(rnormf(3, side_f) == 1 / 13.0f);
  CHECK(normf(2, one_infinite) == INFINITY);
  CHECK(rnormf(2, one_infinite) == 0);
  CHECK(norm(0, side) == 0);
  CHECK(near(norm4d(1e200, 2e200, 2e200, 4e200), 5e200, 4e-16));
  CHECK(rnorm3d(2, 3, 6) == 1 / 7.0);
  CHECK(rnorm4d(2, 4, 5, 6) == 1 / 9.0);
  CHECK(rnorm4df(2, 4, 5, 6) == 1 / 9.0f);
  CHECK(rhypot(3.0, 4.0) == 0.2);

  for (const double x : {0.0, 1e-8, 0.5, 3.0, 12.0, 29.9, 30.1, 100.0, 700.0}) {
    INFO(x);
    CHECK(near(cyl_bessel_i0(x), bessel_by_integral(0, x), 1e-13));
    if (x > 1e-3) CHECK(near(cyl_bessel_i1(x), bessel_by_integral(1, x), 1e-13));
    CHECK(cyl_bessel_i0(-x) == cyl_bessel_i0(x));
    CHECK(cyl_bessel_i1(-x) == -cyl_bessel_i1(x));
  }
  CHECK(near(cyl_bessel_i0f(1.0f), 1.2660658777520084, 1e-7));
  CHECK(near(cyl_bessel_i1f(1.0f), 0.5651591039924851, 1e-7));
  CHECK(cyl_bessel_i0(INFINITY) == INFINITY);
  CHECK(cyl_bessel_i1(-INFINITY) == -INFINITY);
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
