// Inline PTX, instructions of one thread and of one warp: each against plain C++. And how an asm
// statement is read: predicates, labels, scopes, names, template parameters.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "device_array.hpp"
#include "tests/catch.hpp"

namespace {

// Runs `body(out)` in the kernel; out[i] is what thread i left there.
template <class T, class Body>
__global__ void run_kernel(T* out, Body body) {
  body(out);
}
template <class T, class Body>
std::vector<T> run(int count, int threads, Body body) {
  DeviceArray<T> out(count);
  run_kernel<<<1, threads>>>(out.get(), body);
  return out.values();
}

float bits_to_float(uint32_t bits) {
  float value;
  memcpy(&value, &bits, 4);
  return value;
}

bool is_about(float value, float expected, float share = 1e-5f) {
  return std::fabs(value - expected) <= share * std::fabs(expected);
}

}  // namespace

// ---- how a statement is read ------------------------------------------------------------------

template <int kValue>
__device__ int immediate(int x) {
  int y;
  asm("add.s32 %0, %1, %2;" : "=r"(y) : "r"(x), "n"(kValue + 1));
  return y;
}

TEST_CASE("asm: template parameters, names, several instructions, both ways of quoting registers") {
  const auto out = run<int>(6, 1, [] __device__(int* out) {
    out[0] = immediate<41>(100);
    int y;
    asm("{\n\t.reg .s32 t, u;\n\tmov.b32 t, %[in];\n\tmul.lo.s32 u, t, 3; // three times\n\t"
        "add.s32 %[out], u, 1; }"
        : [out] "=r"(y)
        : [in] "r"(5));
    out[1] = y;
    asm volatile(
        "{.reg .b32 r<3>; mov.u32 r0, 7; mov.u32 r1, r0; /* a comment */ add.u32 r2, r0, r1;"
        "mov.u32 %0, r2;}"
        : "=r"(out[2]));
    unsigned lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    out[3] = static_cast<int>(lane);
    asm("mov.u32 %0, %tid.x;" : "=r"(out[4]));  // nvcc takes one %, too
    asm("{ .reg .u32 %r1; mov.u32 %r1, %ntid.x; add.u32 %0, %0, %r1; sub.u32 %0, %0, %%r1; }"
        : "+r"(out[4]));
    asm volatile("" : "+r"(out[4])::"memory");
    out[5] = 9;
  });
  CHECK(out == std::vector<int>{142, 16, 14, 0, 0, 9});
}

TEST_CASE("asm: predicates, selp, loops with labels, twice in one function") {
  const auto out = run<int>(64, 32, [] __device__(int* out) {
    const int lane = threadIdx.x;
    int chosen;
    asm("{ .reg .pred p, q;\n setp.lt.s32 p|q, %1, 10;\n selp.b32 %0, 1, 2, p;\n"
        "@q add.s32 %0, %0, 100;\n @!q add.s32 %0, %0, 1000; }"
        : "=r"(chosen)
        : "r"(lane));
    out[lane] = chosen;
    int steps = 0;
    for (int i = 0; i < 2; ++i)
      asm volatile(
          "{\n.reg .pred done;\nAGAIN:\nadd.s32 %0, %0, 1;\nsetp.ge.s32 done, %0, %1;\n"
          "@done bra OUT;\nbra AGAIN;\nOUT:\n}"
          : "+r"(steps)
          : "r"(lane * (i + 1)));
    asm volatile("{ .reg .pred p; L1: add.s32 %0, %0, 1; setp.lt.s32 p, %0, 50; @p bra L1; }"
                 : "+r"(steps));
    out[32 + lane] = steps;
  });
  for (int lane = 0; lane < 32; ++lane) {
    CHECK(out[lane] == (lane < 10 ? 1001 : 102));
    CHECK(out[32 + lane] == std::max(50, std::max(std::max(lane, 1) + 1, 2 * lane) + 1));
  }
}

// ---- arithmetic -------------------------------------------------------------------------------

TEST_CASE("asm: integers") {
  const auto out = run<uint32_t>(20, 1, [] __device__(uint32_t * out) {
    uint32_t a = 0x12345678, b = 0x9abcdef0;
    asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(out[0]) : "r"(a), "r"(b), "r"(0xff00ff00));
    asm("prmt.b32 %0, %1, %2, 0x5410;" : "=r"(out[1]) : "r"(a), "r"(b));
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(out[2]) : "r"(a), "r"(b), "r"(0xf6c3));
    asm("shf.l.wrap.b32 %0, %1, %2, 8;" : "=r"(out[3]) : "r"(a), "r"(b));
    asm("shf.r.clamp.b32 %0, %1, %2, %3;" : "=r"(out[4]) : "r"(a), "r"(b), "r"(40));
    asm("bfe.u32 %0, %1, 4, 8;" : "=r"(out[5]) : "r"(a));
    asm("bfe.s32 %0, %1, 28, 4;" : "=r"(out[6]) : "r"(b));
    asm("bfi.b32 %0, %1, %2, 8, 16;" : "=r"(out[7]) : "r"(0xabcd), "r"(a));
    asm("mul.hi.u32 %0, %1, %2;" : "=r"(out[8]) : "r"(a), "r"(b));
    asm("mad.lo.u32 %0, %1, %2, 3;" : "=r"(out[9]) : "r"(a), "r"(b));
    asm("bfind.u32 %0, %1;" : "=r"(out[10]) : "r"(a));
    asm("clz.b32 %0, %1;" : "=r"(out[11]) : "r"(a));
    asm("popc.b32 %0, %1;" : "=r"(out[12]) : "r"(a));
    asm("brev.b32 %0, %1;" : "=r"(out[13]) : "r"(a));
    unsigned long long wide;
    asm("mul.wide.u32 %0, %1, %2;" : "=l"(wide) : "r"(a), "r"(b));
    asm("mov.b64 {%0, %1}, %2;" : "=r"(out[14]), "=r"(out[15]) : "l"(wide));
    asm("mov.b64 %0, {%1, %2};" : "=l"(wide) : "r"(a), "r"(b));
    out[16] = wide == (uint64_t{b} << 32 | a);
    asm("min.s32 %0, %1, %2;" : "=r"(out[17]) : "r"(a), "r"(b));
    asm("dp4a.u32.s32 %0, %1, %2, 5;" : "=r"(out[18]) : "r"(0x01020304), "r"(0xff01ff02));
    asm("shr.s32 %0, %1, 40;" : "=r"(out[19]) : "r"(b));
  });
  const uint32_t a = 0x12345678, b = 0x9abcdef0;
  const uint64_t product = uint64_t{a} * b;
  CHECK(out[0] == (a ^ b ^ 0xff00ff00));
  CHECK(out[1] == 0xdef05678);
  CHECK(out[2] == 0xffbcff12);  // byte 3, the sign of 4, byte 6, the sign of 7
  CHECK(out[3] == (b << 8 | a >> 24));
  CHECK(out[4] == b);
  CHECK(out[5] == 0x67);
  CHECK(out[6] == 0xfffffff9);
  CHECK(out[7] == 0x12abcd78);
  CHECK(out[8] == uint32_t(product >> 32));
  CHECK(out[9] == uint32_t(product) + 3);
  CHECK(out[10] == 28);
  CHECK(out[11] == 3);
  CHECK(out[12] == 13);
  CHECK(out[13] == 0x1e6a2c48);
  CHECK((uint64_t{out[15]} << 32 | out[14]) == product);
  CHECK(out[16] == 1);
  CHECK(out[17] == b);
  CHECK(out[18] == uint32_t(4 * 2 - 3 + 2 - 1 + 5));
  CHECK(out[19] == 0xffffffff);
}

TEST_CASE("asm: sums with carry, in one statement and over several") {
  const auto out = run<uint64_t>(6, 1, [] __device__(uint64_t * out) {
    const unsigned ones = 0xffffffffu;
    unsigned low, high;
    asm("add.cc.u32 %0, %2, %3; addc.u32 %1, %2, %4;"
        : "=r"(low), "=r"(high)
        : "r"(ones), "r"(1), "r"(5));
    out[0] = uint64_t{high} << 32 | low;
    asm volatile("sub.cc.u32 %0, %1, %2;" : "=r"(low) : "r"(3), "r"(4));
    asm volatile("subc.u32 %0, %1, %2;" : "=r"(high) : "r"(10), "r"(2));
    out[1] = uint64_t{high} << 32 | low;
    // 128 bits: (2^64 - 1) (2^64 - 3) + 7.
    const unsigned long long a = ~0ull, b = ~0ull - 2;
    unsigned long long lower, upper;
    asm("mad.lo.cc.u64 %0, %2, %3, 7; madc.hi.u64 %1, %2, %3, 0;"
        : "=l"(lower), "=l"(upper)
        : "l"(a), "l"(b));
    out[2] = lower;
    out[3] = upper;
    asm("add.cc.u32 %0, %1, %1; addc.cc.u32 %0, %1, 0; addc.u32 %0, 0, 0;" : "=r"(low) : "r"(ones));
    out[4] = low;
    asm("add.cc.u32 %0, 1, 1; addc.u32 %0, 5, 5;" : "=r"(low));
    out[5] = low;
  });
  CHECK(out[0] == ((0xffffffffull + 5 + 1) << 32));
  CHECK(out[1] == ((10ull - 2 - 1) << 32 | 0xffffffff));
  const auto product = static_cast<unsigned __int128>(~0ull) * (~0ull - 2) + 7;
  CHECK(out[2] == static_cast<uint64_t>(product));
  CHECK(out[3] == static_cast<uint64_t>(product >> 64));
  CHECK(out[4] == 1);
  CHECK(out[5] == 10);
}

TEST_CASE("asm: modes of prmt, dp2a, cvt.pack, bmsk") {
  const auto out = run<uint32_t>(14, 1, [] __device__(uint32_t * out) {
    const unsigned a = 0x33221100, b = 0x77665544;
    asm("prmt.b32.f4e %0, %1, %2, 1;" : "=r"(out[0]) : "r"(a), "r"(b));
    asm("prmt.b32.b4e %0, %1, %2, 1;" : "=r"(out[1]) : "r"(a), "r"(b));
    asm("prmt.b32.rc8 %0, %1, %2, 2;" : "=r"(out[2]) : "r"(a), "r"(b));
    asm("prmt.b32.ecl %0, %1, %2, 1;" : "=r"(out[3]) : "r"(a), "r"(b));
    asm("prmt.b32.ecr %0, %1, %2, 1;" : "=r"(out[4]) : "r"(a), "r"(b));
    asm("prmt.b32.rc16 %0, %1, %2, 1;" : "=r"(out[5]) : "r"(a), "r"(b));
    asm("dp2a.lo.s32.s32 %0, %1, %2, 5;" : "=r"(out[6]) : "r"(0xfffe0003), "r"(0x04030201));
    asm("dp2a.hi.s32.u32 %0, %1, %2, 5;" : "=r"(out[7]) : "r"(0xfffe0003), "r"(0xff030201));
    asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, %3;" : "=r"(out[8]) : "r"(300), "r"(-5), "r"(0xabcd));
    asm("cvt.pack.sat.u16.s32 %0, %1, %2;" : "=r"(out[9]) : "r"(70000), "r"(-5));
    asm("bmsk.clamp.b32 %0, 4, 8;" : "=r"(out[10]));
    asm("bmsk.wrap.b32 %0, 36, 40;" : "=r"(out[11]));
    asm("{ .reg .pred p; setp.eq.u32 p, 0, 0; vote.sync.uni.pred p, p, 1; selp.u32 %0, 1, 0, p; }"
        : "=r"(out[12]));
    asm("{ .reg .pred p; match.all.sync.b32 %0|p, 7, 1; @!p mov.u32 %0, 9; }" : "=r"(out[13]));
  });
  CHECK(out[0] == 0x44332211);
  CHECK(out[1] == 0x66770011);  // bytes 1, 0, 7, 6
  CHECK(out[2] == 0x22222222);
  CHECK(out[3] == 0x33221111);
  CHECK(out[4] == 0x11111100);
  CHECK(out[5] == 0x33223322);
  CHECK(out[6] == uint32_t(3 * 1 - 2 * 2 + 5));
  CHECK(out[7] == uint32_t(3 * 3 - 2 * 255 + 5));
  CHECK(out[8] == 0xabcd7ffb);
  CHECK(out[9] == 0xffff0000);
  CHECK(out[10] == 0xff0);
  CHECK(out[11] == 0xff0);
  CHECK(out[12] == 1);
  CHECK(out[13] == 1);
}

TEST_CASE("asm: floats, their approximations and conversions") {
  const auto out = run<float>(16, 1, [] __device__(float* out) {
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(out[0]) : "f"(-3.5f));
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(out[1]) : "f"(-130.0f));
    asm("lg2.approx.f32 %0, %1;" : "=f"(out[2]) : "f"(10.0f));
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(out[3]) : "f"(8.0f));
    asm("tanh.approx.f32 %0, %1;" : "=f"(out[4]) : "f"(0.5f));
    asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(out[5]) : "f"(3.0f), "f"(4.0f), "f"(0.5f));
    asm("max.f32 %0, %1, %2;" : "=f"(out[6]) : "f"(NAN), "f"(2.0f));
    asm("add.f32 %0, %1, 0f40490FDB;" : "=f"(out[7]) : "f"(1.0f));
    asm("cvt.rna.tf32.f32 %0, %1;"
        : "=r"(reinterpret_cast<uint32_t&>(out[8]))
        : "f"(1.00048828125f));
    asm("rsqrt.approx.f32 %0, %1;" : "=f"(out[9]) : "f"(4.0f));
    asm("cvt.rn.f32.s32 %0, %1;" : "=f"(out[10]) : "r"(-7));
    int whole;
    asm("cvt.rni.s32.f32 %0, %1;" : "=r"(whole) : "f"(2.5f));
    out[11] = static_cast<float>(whole);
    asm("cvt.rzi.s32.f32 %0, %1;" : "=r"(whole) : "f"(-2.9f));
    out[12] = static_cast<float>(whole);
    asm("add.rz.f32 %0, %1, %2;" : "=f"(out[13]) : "f"(1.0f), "f"(1.5f * 0x1p-24f));
    asm("add.rp.f32 %0, %1, %2;" : "=f"(out[14]) : "f"(1.0f), "f"(0x1p-30f));
    asm("mul.sat.f32 %0, %1, %2;" : "=f"(out[15]) : "f"(3.0f), "f"(4.0f));
  });
  CHECK(is_about(out[0], std::exp2(-3.5f)));
  CHECK(out[1] == 0.0f);
  CHECK(is_about(out[2], std::log2(10.0f)));
  CHECK(out[3] == 0.125f);
  CHECK(is_about(out[4], std::tanh(0.5f)));
  CHECK(out[5] == 12.5f);
  CHECK(out[6] == 2.0f);
  CHECK(is_about(out[7], 4.14159265f));
  CHECK(out[8] == 1.0009765625f);  // half way: away from zero
  CHECK(out[9] == 0.5f);
  CHECK(out[10] == -7.0f);
  CHECK(out[11] == 2.0f);
  CHECK(out[12] == -2.0f);
  CHECK(out[13] == 1.0f);
  CHECK(out[14] > 1.0f);
  CHECK(out[15] == 1.0f);
}

TEST_CASE("asm: pairs of small floats") {
  const auto out = run<uint32_t>(12, 1, [] __device__(uint32_t * out) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(out[0]) : "f"(1.0f), "f"(-2.0f));
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(out[1]) : "f"(1.0f), "f"(-2.0f));
    asm("cvt.rn.relu.bf16x2.f32 %0, %1, %2;" : "=r"(out[2]) : "f"(1.0f), "f"(-2.0f));
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(out[3]) : "r"(out[0]), "r"(out[0]), "r"(0x3f803f80));
    asm("add.f16x2 %0, %1, %2;" : "=r"(out[4]) : "r"(out[1]), "r"(out[1]));
    unsigned short pair;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(1.75f), "f"(-1000.0f));
    out[5] = pair;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(out[6]) : "h"(pair));
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(3.0f), "f"(0x1p-16f));
    out[7] = pair;
    unsigned short half;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(0.333333f));
    out[8] = half;
    float back;
    asm("cvt.f32.f16 %0, %1;" : "=f"(back) : "h"(half));
    out[9] = __float_as_uint(back);
    asm("max.bf16x2 %0, %1, %2;" : "=r"(out[10]) : "r"(out[0]), "r"(0u));
    asm("cvt.rz.bf16.f32 %0, %1;" : "=h"(half) : "f"(1.9999999f));
    out[11] = half;
  });
  CHECK(out[0] == 0x3f80c000);
  CHECK(out[1] == 0x3c00c000);
  CHECK(out[2] == 0x3f800000);
  CHECK(out[3] == 0x400040a0);  // 1 + 1, 4 + 1
  CHECK(out[4] == 0x4000c400);
  CHECK(out[5] == 0x3efe);  // 1.75, -448
  CHECK(out[6] == 0x3f00df00);
  CHECK(out[7] == 0x4201);
  CHECK(out[8] == 0x3555);
  CHECK(is_about(bits_to_float(out[9]), 0.333333f, 1e-3f));
  CHECK(out[10] == 0x3f800000);
  CHECK(out[11] == 0x3fff);
}

TEST_CASE("asm: approximations of pairs, tf32 to nearest, fp16 of e5m2") {
  const auto out = run<uint32_t>(8, 1, [] __device__(uint32_t * out) {
    asm("ex2.approx.f16x2 %0, %1;" : "=r"(out[0]) : "r"(0x4200bc00u));       // 3, -1
    asm("ex2.approx.ftz.bf16x2 %0, %1;" : "=r"(out[1]) : "r"(0x4040bf80u));  // 3, -1
    asm("tanh.approx.f16x2 %0, %1;" : "=r"(out[2]) : "r"(0x0000c900u));      // 0, -10
    asm("tanh.approx.bf16x2 %0, %1;" : "=r"(out[3]) : "r"(0x4120'0000u));    // 10, 0
    asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(out[4]) : "f"(1.00048828125f));     // a tie: to even
    unsigned short pair;
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(-1.5f), "f"(96.0f));
    asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(out[5]) : "h"(pair));
    unsigned votes;
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %1, 0; bar.red.popc.u32 %0, 0, p; }"
                 : "=r"(votes)
                 : "r"(7));
    out[6] = votes;
    asm("fma.rn.relu.f16x2 %0, %1, %2, %3;"
        : "=r"(out[7])
        : "r"(0x40003c00), "r"(0x3c003c00), "r"(0x3c00c000));  // 2 + 1, 1 - 2
  });
  CHECK(out[0] == 0x48003800);
  CHECK(out[1] == 0x41003f00);
  CHECK(out[2] == 0x0000bc00);
  CHECK(out[3] == 0x3f800000);
  CHECK(out[4] == 0x3f800000);
  CHECK(out[5] == 0xbe005600);
  CHECK(out[6] == 1);
  CHECK(out[7] == 0x42000000);
}

// ---- memory -----------------------------------------------------------------------------------

__global__ void memory_kernel(float* data, unsigned* counts) {
  __shared__ alignas(16) float tile[64];
  tile[threadIdx.x] = static_cast<float>(threadIdx.x);
  __syncthreads();
  if (threadIdx.x == 0) {
    float x, y, z, w;
    const auto address = static_cast<unsigned>(__cvta_generic_to_shared(tile + 4));
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4+16];"
                 : "=f"(x), "=f"(y), "=f"(z), "=f"(w)
                 : "r"(address));
    unsigned long long policy;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    asm volatile(
        "st.global.L1::no_allocate.L2::cache_hint.v4.f32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(data),
        "f"(x), "f"(y), "f"(z), "f"(w), "l"(policy)
        : "memory");
    asm volatile("ld.global.nc.L2::cache_hint.f32 %0, [%1], %2;"
                 : "=f"(x)
                 : "l"(data + 1), "l"(policy));
    asm volatile("st.global.f32 [%0 + 16], %1;" ::"l"(data), "f"(x) : "memory");
    unsigned byte;
    asm volatile("ld.global.u8 %0, [%1];" : "=r"(byte) : "l"(reinterpret_cast<char*>(data) + 3));
    data[5] = static_cast<float>(byte);
  }
  unsigned old;
  asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(counts), "r"(2) : "memory");
  atomicAdd(&counts[1], old);
  asm volatile("red.release.gpu.global.max.s32 [%0], %1;" ::"l"(counts + 2), "r"(threadIdx.x)
               : "memory");
  asm volatile("red.global.add.v2.f32 [%0], {%1, %2};" ::"l"(data + 8), "f"(1.0f), "f"(2.0f)
               : "memory");
  asm volatile("red.global.add.noftz.bf16x2 [%0], %1;" ::"l"(data + 10), "r"(0x3f804000)
               : "memory");
  unsigned swapped;
  asm volatile("atom.relaxed.sys.cas.b32 %0, [%1], %2, %3;"
               : "=r"(swapped)
               : "l"(counts + 3), "r"(0), "r"(threadIdx.x + 1)
               : "memory");
}

TEST_CASE("asm: loads and stores in all widths, atomics of all scopes") {
  DeviceArray<float> data(16, 0.0f);
  DeviceArray<unsigned> counts(4, 0);
  memory_kernel<<<1, 64>>>(data.get(), counts.get());
  const auto f = data.values();
  const auto n = counts.values();
  CHECK(std::vector<float>(f.begin(), f.begin() + 5) == std::vector<float>{8, 9, 10, 11, 9});
  CHECK(f[5] == 0x41);  // of 8.0f
  CHECK(f[8] == 64.0f);
  CHECK(f[9] == 128.0f);
  uint32_t pair;
  memcpy(&pair, &f[10], 4);
  CHECK(pair == 0x42804300);  // 64, 128
  CHECK(n[0] == 128);
  CHECK(n[1] == 64 * 63);
  CHECK(n[2] == 63);
  CHECK(n[3] != 0);
}

// ---- warps ------------------------------------------------------------------------------------

TEST_CASE("asm: shuffles, votes, elections, barriers of a warp") {
  const auto out = run<unsigned>(32 * 6, 32, [] __device__(unsigned* out) {
    const unsigned lane = threadIdx.x;
    unsigned value;
    asm volatile("shfl.sync.bfly.b32 %0, %1, 5, 0x1f, 0xffffffff;" : "=r"(value) : "r"(lane * 10));
    out[lane] = value;
    unsigned inside;
    asm volatile(
        "{ .reg .pred p; shfl.sync.up.b32 %0|p, %2, 3, 0, 0xffffffff; selp.u32 %1, 1, 0, p; }"
        : "=r"(value), "=r"(inside)
        : "r"(lane));
    out[32 + lane] = value + 100 * inside;
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, 0x181f, -1;" : "=r"(value) : "r"(lane), "r"(2));
    out[64 + lane] = value;
    asm volatile("{ .reg .pred p; setp.gt.u32 p, %1, 20; vote.sync.ballot.b32 %0, p, 0xffffffff; }"
                 : "=r"(value)
                 : "r"(lane));
    out[96 + lane] = value;
    unsigned leader;
    asm volatile("{ .reg .pred p; elect.sync %0|p, 0xffffffff; selp.u32 %1, 1, 0, p; }"
                 : "=r"(leader), "=r"(value));
    out[128 + lane] = leader * 10 + value;
    asm volatile("redux.sync.add.u32 %0, %1, 0xffffffff;" : "=r"(value) : "r"(lane));
    out[160 + lane] = value;
    asm volatile("bar.warp.sync 0xffffffff;");
  });
  for (unsigned lane = 0; lane < 32; ++lane) {
    CHECK(out[lane] == (lane ^ 5) * 10);
    CHECK(out[32 + lane] == (lane >= 3 ? lane - 3 + 100 : lane));
    CHECK(out[64 + lane] == (lane & 24) + 2);
    CHECK(out[96 + lane] == 0xffe00000u);
    CHECK(out[128 + lane] == (lane == 0 ? 1u : 0u));
    CHECK(out[160 + lane] == 496);
  }
}

__global__ void matrices_kernel(const uint16_t* in, uint16_t* out, unsigned* turned) {
  __shared__ alignas(16) uint16_t a[64], b[64];
  a[threadIdx.x] = in[threadIdx.x];
  a[32 + threadIdx.x] = in[32 + threadIdx.x];
  __syncwarp();
  const auto row_a = static_cast<unsigned>(__cvta_generic_to_shared(&a[8 * (threadIdx.x % 8)]));
  const auto row_b = static_cast<unsigned>(__cvta_generic_to_shared(&b[8 * (threadIdx.x % 8)]));
  unsigned x, y;
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(x) : "r"(row_a));
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(y) : "r"(x));
  turned[threadIdx.x] = y;
  asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared::cta.b16 [%0], {%1};" ::"r"(row_b),
               "r"(x)
               : "memory");
  __syncwarp();
  out[threadIdx.x] = b[threadIdx.x];
  out[32 + threadIdx.x] = b[32 + threadIdx.x];
}

TEST_CASE("asm: ldmatrix, movmatrix, stmatrix of one matrix") {
  DeviceArray<uint16_t> in(64), out(64);
  DeviceArray<unsigned> turned(32);
  for (int i = 0; i < 64; ++i) in[i] = static_cast<uint16_t>(100 + i);
  matrices_kernel<<<1, 32>>>(in.get(), out.get(), turned.get());
  const auto t = turned.values();
  const auto o = out.values();
  for (int row = 0; row < 8; ++row)
    for (int column = 0; column < 8; ++column) {
      CHECK(o[8 * row + column] == 100 + 8 * column + row);
      CHECK((t[4 * row + column / 2] >> 16 * (column % 2) & 0xffff) ==
            unsigned(100 + 8 * column + row));
    }
}

// mma against a plain product, for every type of element: A is 16 x K, B is K x 8, small integers.
__host__ __device__ int element_a(int row, int k) { return (row * 7 + k * 3) % 5 - 2; }
__host__ __device__ int element_b(int k, int column) { return (k * 5 + column * 11) % 7 - 3; }

template <class Encode>
__device__ unsigned packed(int bits, Encode encode) {
  unsigned word = 0;
  for (int e = 0; e < 32 / bits; ++e)
    word |= (encode(e) & (bits == 32 ? ~0u : (1u << bits) - 1)) << bits * e;
  return word;
}

template <class Encode>
__device__ void fragments(int bits, int a_registers, Encode encode, unsigned* a, unsigned* b) {
  const int lane = threadIdx.x, group = lane / 4, in_group = lane % 4, per = 32 / bits;
  for (int r = 0; r < a_registers; ++r)
    a[r] = packed(bits, [&](int e) {
      return encode(element_a(group + 8 * (r % 2), in_group * per + e + r / 2 * 4 * per));
    });
  for (int r = 0; r < a_registers / 2; ++r)
    b[r] = packed(
        bits, [&](int e) { return encode(element_b(in_group * per + e + r * 4 * per, group)); });
}

__device__ unsigned as_e4m3(int value) {
  unsigned short pair;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(float(value)));
  return pair & 255;
}
__device__ unsigned as_half(int value) {
  unsigned short half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(float(value)));
  return half;
}

// which: 0 f16, 1 bf16 k8, 2 tf32, 3 s8, 4 e4m3, 5 f16 with f16 accumulators
__global__ void mma_kernel(int which, float* out) {
  unsigned a[4], b[2];
  float d[4] = {0.5f, 0.5f, 0.5f, 0.5f};
  const auto store = [&](int i, float value) {
    out[(threadIdx.x / 4 + 8 * (i / 2)) * 8 + 2 * (threadIdx.x % 4) + i % 2] = value;
  };
  if (which == 0) {
    fragments(16, 4, as_half, a, b);
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  } else if (which == 1) {
    fragments(
        16, 2, [](int v) { return __float_as_uint(float(v)) >> 16; }, a, b);
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(b[0]));
  } else if (which == 2) {
    fragments(
        32, 4, [](int v) { return __float_as_uint(float(v)); }, a, b);
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  } else if (which == 3) {
    fragments(
        8, 4, [](int v) { return unsigned(v); }, a, b);
    int s[4] = {1, 1, 1, 1};
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+r"(s[0]), "+r"(s[1]), "+r"(s[2]), "+r"(s[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    for (int i = 0; i < 4; ++i) d[i] = s[i] - 0.5f;
  } else if (which == 4) {
    fragments(8, 4, as_e4m3, a, b);
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  } else {
    fragments(16, 4, as_half, a, b);
    unsigned h[2] = {0x38003800, 0x38003800};  // 0.5
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, "
        "{%6, %7}, {%0, %1};"
        : "+r"(h[0]), "+r"(h[1])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    for (int i = 0; i < 4; ++i) {
      const __half_raw raw{static_cast<unsigned short>(h[i / 2] >> 16 * (i % 2))};
      d[i] = __half2float(__half(raw));
    }
  }
  for (int i = 0; i < 4; ++i) store(i, d[i]);
}

TEST_CASE("asm: mma.sync with every type of element") {
  const int depths[] = {16, 8, 8, 32, 32, 16};
  for (int which = 0; which < 6; ++which) {
    DeviceArray<float> out(128);
    mma_kernel<<<1, 32>>>(which, out.get());
    const auto d = out.values();
    for (int row = 0; row < 16; ++row)
      for (int column = 0; column < 8; ++column) {
        int sum = 0;
        for (int k = 0; k < depths[which]; ++k) sum += element_a(row, k) * element_b(k, column);
        INFO("type " << which << ", row " << row << ", column " << column);
        REQUIRE(d[8 * row + column] == sum + 0.5f);
      }
  }
}

// The other shapes: `a_registers` of A and what an element of it is; D has sixteen rows, or eight.
__device__ unsigned as_e5m2(int value) {
  unsigned short pair;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(float(value)));
  return pair & 255;
}

#define SIMT_TEST_MMA(shape, letter, a_list, b_list, ...)                               \
  asm volatile("mma.sync.aligned." shape " {%0, %1, %2, %3}, {" a_list "}, {" b_list    \
               "}, {%0, %1, %2, %3};"                                                   \
               : "+" letter(d[0]), "+" letter(d[1]), "+" letter(d[2]), "+" letter(d[3]) \
               : __VA_ARGS__)
#define SIMT_TEST_A4B2 "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])
#define SIMT_TEST_A2B1 "r"(a[0]), "r"(a[1]), "r"(b[0])

// which: 0 f16 k8, 1 bf16 k16, 2 tf32 k4, 3 s8 k16, 4 u8 times s8 k32, 5 s4 k64, 6 e5m2 k32,
// 7 e4m3 k16, 8 s8 m8n8k16
__global__ void mma_shapes_kernel(int which, float* out) {
  unsigned a[4], b[2];
  float d[4] = {};
  const auto as_float = [](int v) { return __float_as_uint(float(v)); };
  const auto as_bfloat16 = [](int v) { return __float_as_uint(float(v)) >> 16; };
  const auto as_integer = [](int v) { return unsigned(v); };
  if (which == 0) {
    fragments(16, 2, as_half, a, b);
    SIMT_TEST_MMA("m16n8k8.row.col.f32.f16.f16.f32", "f", "%4, %5", "%6", SIMT_TEST_A2B1);
  } else if (which == 1) {
    fragments(16, 4, as_bfloat16, a, b);
    SIMT_TEST_MMA("m16n8k16.row.col.f32.bf16.bf16.f32", "f", "%4, %5, %6, %7", "%8, %9",
                  SIMT_TEST_A4B2);
  } else if (which == 2) {
    fragments(32, 2, as_float, a, b);
    SIMT_TEST_MMA("m16n8k4.row.col.f32.tf32.tf32.f32", "f", "%4, %5", "%6", SIMT_TEST_A2B1);
  } else if (which == 6) {
    fragments(8, 4, as_e5m2, a, b);
    SIMT_TEST_MMA("m16n8k32.row.col.f32.e5m2.e5m2.f32", "f", "%4, %5, %6, %7", "%8, %9",
                  SIMT_TEST_A4B2);
  } else if (which == 7) {
    fragments(8, 2, as_e4m3, a, b);
    SIMT_TEST_MMA("m16n8k16.row.col.f32.e4m3.e4m3.f32", "f", "%4, %5", "%6", SIMT_TEST_A2B1);
  } else {
    const auto sums = [&](auto multiply) {
      int s[4] = {};
      multiply(s);
      for (int i = 0; i < 4; ++i) d[i] = float(s[i]);
    };
    if (which == 3) {
      fragments(8, 2, as_integer, a, b);
      sums([&](int* d) {
        SIMT_TEST_MMA("m16n8k16.row.col.s32.s8.s8.s32", "r", "%4, %5", "%6", SIMT_TEST_A2B1);
      });
    } else if (which == 4) {  // an element of A is two more
      fragments(8, 4, as_integer, a, b);
      for (unsigned& x : a) x = __vadd4(x, 0x02020202);
      sums([&](int* d) {
        SIMT_TEST_MMA("m16n8k32.row.col.s32.u8.s8.s32", "r", "%4, %5, %6, %7", "%8, %9",
                      SIMT_TEST_A4B2);
      });
    } else if (which == 5) {
      fragments(4, 4, as_integer, a, b);
      sums([&](int* d) {
        SIMT_TEST_MMA("m16n8k64.row.col.s32.s4.s4.s32", "r", "%4, %5, %6, %7", "%8, %9",
                      SIMT_TEST_A4B2);
      });
    } else {
      fragments(8, 2, as_integer, a, b);
      sums([&](int* d) {
        asm volatile(
            "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, "
            "{%0, %1};"
            : "+r"(d[0]), "+r"(d[1])
            : "r"(a[0]), "r"(b[0]));
      });
    }
  }
  for (int i = 0; i < 4; ++i)
    out[(threadIdx.x / 4 + 8 * (i / 2)) * 8 + 2 * (threadIdx.x % 4) + i % 2] = d[i];
}

TEST_CASE("asm: mma.sync in its other shapes") {
  const int depths[] = {8, 16, 4, 16, 32, 64, 32, 16, 16};
  for (int which = 0; which < 9; ++which) {
    DeviceArray<float> out(128);
    mma_shapes_kernel<<<1, 32>>>(which, out.get());
    const auto d = out.values();
    for (int row = 0; row < (which == 8 ? 8 : 16); ++row)
      for (int column = 0; column < 8; ++column) {
        int sum = 0;
        for (int k = 0; k < depths[which]; ++k)
          sum += (element_a(row, k) + (which == 4 ? 2 : 0)) * element_b(k, column);
        INFO("shape " << which << ", row " << row << ", column " << column);
        REQUIRE(d[8 * row + column] == sum);
      }
  }
}

__global__ void mma_double_kernel(double* out) {
  const int lane = threadIdx.x, group = lane / 4, in_group = lane % 4;
  const double a = element_a(group, in_group), b = element_b(in_group, group);
  double c[2] = {0.25, 0.25};
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
               : "+d"(c[0]), "+d"(c[1])
               : "d"(a), "d"(b));
  for (int i = 0; i < 2; ++i) out[8 * group + 2 * in_group + i] = c[i];
}

TEST_CASE("asm: mma.sync in double") {
  DeviceArray<double> out(64);
  mma_double_kernel<<<1, 32>>>(out.get());
  const auto d = out.values();
  for (int row = 0; row < 8; ++row)
    for (int column = 0; column < 8; ++column) {
      double sum = 0.25;
      for (int k = 0; k < 4; ++k) sum += element_a(row, k) * element_b(k, column);
      CHECK(d[8 * row + column] == sum);
    }
}
