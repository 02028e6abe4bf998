// What a function returns as a structure is stored, in every way that C++ has: the checks and the
// counters see the store, under the line that makes it.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "simt/include/simt/profile.h"
#include "simt/tests/device_array.hpp"
#include "simt/tests/marked_line.hpp"
#include "tests/catch.hpp"

namespace {

struct Complex {
  float re, im;
  __device__ __noinline__ Complex conjugate() const { return {re, -im}; }
};
__device__ __noinline__ Complex operator*(Complex a, Complex b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
struct Big {
  int values[12];
};
struct Three {  // a size without a register of its own
  unsigned char bytes[3];
};
union Word {
  float number;
  unsigned bits;
};

__device__ __noinline__ float4 shade(int v) { return make_float4(static_cast<float>(v), 2, 3, 4); }
__device__ __noinline__ float4 shadow(int v) {
  return make_float4(static_cast<float>(-v), 2, 3, 4);
}
__device__ __noinline__ Complex complex(int v) { return {static_cast<float>(v), 1}; }
__device__ __noinline__ Big big(int v) {
  Big made{};
  for (int k = 0; k < 12; ++k) made.values[k] = v + k;
  return made;
}
__device__ __noinline__ Three three(int v) { return {{static_cast<unsigned char>(v), 1, 2}}; }
__device__ __noinline__ Word word(int v) {
  Word made;
  made.bits = static_cast<unsigned>(v);
  return made;
}
template <class T>
__device__ __noinline__ T made_of(int v) {
  return {static_cast<float>(v), 5};
}
__device__ __noinline__ float4& element(float4* to, int i) { return to[i]; }

struct Shader {
  __device__ virtual float4 of(int v) const = 0;
};
struct Bright : Shader {
  __device__ float4 of(int v) const override { return shade(v + 1); }
};

struct Pair {
  Complex first, second;
};
struct MadeOfMembers {
  Complex first, second;
  __device__ explicit MadeOfMembers(int v)
      : first(complex(v)), second{complex(v + 1)} {}  // here: members
};
struct MadeOfDefaults {
  int seed;
  Complex first = complex(seed);
};

// ---- the ways: each stores one element. No two are the same to the compiler, which would make one
// function of them, at one line.

#define WAY(Name, Type, ...)                                               \
  struct Name {                                                            \
    using Element = Type;                                                  \
    static __device__ void put(Element* to, int i, int v) { __VA_ARGS__; } \
    static int line() { return __LINE__; }                                 \
  };

WAY(HalfOfFloat, __half, to[i] = __float2half(static_cast<float>(v)))
WAY(HalfOfInt, __half, to[i] = __int2half_rn(v))
WAY(Bfloat16OfFloat, __nv_bfloat16, to[i] = __float2bfloat16(static_cast<float>(v)))
WAY(PairOfHalves, __half2, to[i] = __floats2half2_rn(static_cast<float>(v), 1))
WAY(PairOfBfloat16, __nv_bfloat162, to[i] = __floats2bfloat162_rn(static_cast<float>(v), 1))
WAY(HalvesJoined, __half2, to[i] = __halves2half2(__half(1.0f), __half(static_cast<float>(v))))
WAY(MakeFloat4, float4, to[i] = make_float4(static_cast<float>(v), 0, 0, 0))
WAY(MakeChar3, uchar3, to[i] = make_uchar3(static_cast<unsigned char>(v), 0, 0))
WAY(UserFunction, float4, to[i] = shade(v))
WAY(Larger, Big, to[i] = big(v))
WAY(ThreeBytes, Three, to[i] = three(v))
WAY(Union, Word, to[i] = word(v))
WAY(Template, Complex, to[i] = made_of<Complex>(v))
WAY(Operator, Complex, const Complex c = complex(v); to[i] = c * c)
WAY(Method, Complex, const Complex c = complex(v); to[i] = c.conjugate())
WAY(
    Lambda, float4, const auto f = [](int w) { return shade(w); }; to[i] = f(v))
WAY(Pointer, float4, float4 (*volatile f)(int) = shade; to[i] = f(v))
WAY(Virtual, float4, Bright bright; const Shader* volatile s = &bright; to[i] = s->of(v))
WAY(ThroughReference, float4, float4& r = to[i]; r = shade(v))
WAY(ThroughFunction, float4, element(to, i) = shade(v))
WAY(ThroughPointer, float4, float4* p = to + i; *p++ = shade(v))
WAY(Conditional, float4, to[i] = v % 2 == 0 ? shade(v) : shadow(v))
WAY(ConditionOnTheLeft, float4, (v < 0 ? to[0] : to[i]) = shade(v))
WAY(Behind, float4, if (v < 0) to[0] = shade(0); else to[i] = shade(v))
WAY(InALoop, float4, for (int k = i; k == i; to[k] = shade(v), ++k))
WAY(
    Case, float4, switch (v < 0) {
      case 0: to[i] = shade(v);
    })
WAY(Chain, float4, float4 own; to[i] = own = shade(v))
WAY(Cast, float4, *reinterpret_cast<float4*>(&to[i].x) = shadow(v))
WAY(Bytes, uint4, reinterpret_cast<float4&>(to[i]) = shade(v + 2))
WAY(Member, Pair, to[i].first = complex(v); to[i].second = complex(v))
WAY(Whole, Pair, to[i] = Pair{complex(v), complex(1)})
WAY(Braces, Pair, to[i] = {complex(v), complex(1)})
WAY(Placed, Big, new (to + i) Big(big(v)))
WAY(PlacedBraces, Pair, new (to + i) Pair{complex(v), complex(1)})
WAY(PlacedMembers, MadeOfMembers, new (to + i) MadeOfMembers(v))
WAY(PlacedDefaults, MadeOfDefaults, new (to + i) MadeOfDefaults{v})

template <class Way>
__global__ void store(typename Way::Element* to, int together) {
  const int v = static_cast<int>(threadIdx.x);
  Way::put(to, v / together, v);
}

template <class Way>
__global__ void store_shared(typename Way::Element* to, int together) {
  __shared__ alignas(16) char memory[32 * sizeof(typename Way::Element)];
  auto* own = reinterpret_cast<typename Way::Element*>(memory);
  const int v = static_cast<int>(threadIdx.x);
  Way::put(own, v / together, v);
  __syncthreads();
  const auto* from = reinterpret_cast<const unsigned char*>(own);
  auto* bytes = reinterpret_cast<unsigned char*>(to);
  for (int k = v; k < static_cast<int>(sizeof memory) / together; k += 32) bytes[k] = from[k];
}

template <class Way>
struct Run {
  using Element = typename Way::Element;
  static constexpr int kThreads = 32;

  Element* to = nullptr;
  Run() { REQUIRE(cudaMalloc(&to, kThreads * sizeof(Element)) == cudaSuccess); }
  ~Run() { cudaFree(to); }

  void compare() {
    std::vector<unsigned char> seen(kThreads * sizeof(Element)), wanted(seen.size());
    REQUIRE(cudaMemcpy(seen.data(), to, seen.size(), cudaMemcpyDeviceToHost) == cudaSuccess);
    for (int i = 0; i < kThreads; ++i) Way::put(reinterpret_cast<Element*>(wanted.data()), i, i);
    CHECK(seen == wanted);
  }
  void silent() {
    for (const simt::CheckReport& report : simt::check_reports()) FAIL_CHECK(report.message);
  }
  // A race of two threads for each element.
  void named(const char* kernel) {
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    const int line = std::is_same_v<Way, PlacedMembers> ? tests::line_of("members") : Way::line();
    int races = 0;
    for (const simt::CheckReport& report : simt::check_reports()) {
      CAPTURE(report.message);
      CHECK(report.check == "race");
      CHECK(static_cast<int>(report.line) == line);
      races += report.kernel.find(kernel) == 0;
    }
    CHECK(races > 0);
  }
};

template <class Way>
void is_seen(const char* name) {
  CAPTURE(name);
  Run<Way> run;
  simt::profile_reset();
  store<Way><<<1, 32>>>(run.to, 1);
  run.compare();
  const simt::KernelProfile profile = simt::profile("store<");
  simt::profile_stop();
  run.silent();
  const auto bytes = sizeof(typename Way::Element) * 32;
  CHECK(profile.global.store_bytes == bytes);
  CHECK(profile.global.load_requests == 0);

  store<Way><<<1, 32>>>(run.to, 2);
  run.named("store<");

  store_shared<Way><<<1, 32>>>(run.to, 1);
  run.compare();
  run.silent();
  store_shared<Way><<<1, 32>>>(run.to, 2);
  run.named("store_shared<");
}

}  // namespace

#define SEEN(Way) is_seen<Way>(#Way)

TEST_CASE("a stored result: conversions and make_ functions") {
  SEEN(HalfOfFloat);
  SEEN(HalfOfInt);
  SEEN(Bfloat16OfFloat);
  SEEN(PairOfHalves);
  SEEN(PairOfBfloat16);
  SEEN(HalvesJoined);
  SEEN(MakeFloat4);
  SEEN(MakeChar3);
}

TEST_CASE("a stored result: functions of the program") {
  SEEN(UserFunction);
  SEEN(Larger);
  SEEN(ThreeBytes);
  SEEN(Union);
  SEEN(Template);
  SEEN(Operator);
  SEEN(Method);
  SEEN(Lambda);
  SEEN(Pointer);
  SEEN(Virtual);
}

TEST_CASE("a stored result: places to store it") {
  SEEN(ThroughReference);
  SEEN(ThroughFunction);
  SEEN(ThroughPointer);
  SEEN(Conditional);
  SEEN(ConditionOnTheLeft);
  SEEN(Behind);
  SEEN(InALoop);
  SEEN(Case);
  SEEN(Chain);
  SEEN(Cast);
  SEEN(Bytes);
}

TEST_CASE("a stored result: structures made of results") {
  SEEN(Member);
  SEEN(Whole);
  SEEN(Braces);
  SEEN(Placed);
  SEEN(PlacedBraces);
  SEEN(PlacedMembers);
  SEEN(PlacedDefaults);
}
