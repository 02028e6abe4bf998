// The language: qualifiers, launches in all their spellings, memory spaces, built-in variables,
// vector types.
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "simt/tests/device_array.hpp"
#include "tests/catch.hpp"

// ---- launches ---------------------------------------------------------------------------------

__global__ void store(int* out, int value) { out[threadIdx.x] = value; }
__global__ void store_next(int* out, int value) { out[threadIdx.x] = value + 1; }
static __global__ void store_static(int* out) { out[0] = 11; }
void __global__ store_odd_order(int* out) { out[0] = 12; }
__global__ void __launch_bounds__(64, 2)
    store_bounded(int* __restrict__ out, const int* __restrict__ in) {
  out[threadIdx.x] = in[threadIdx.x] * 2;
}
__global__ void declared_first(int* out, int = 7);
__global__ void declared_first(int* out, int value) { out[0] = value; }
__global__ void unnamed(int* out, int, float*) { out[0] = 13; }

template <class T>
__global__ void store_size(int* out, T) {
  out[0] = int(sizeof(T));
}
template <bool Positive, class T = int>
__global__ void store_signed(T* out, T value) {
  out[threadIdx.x] = Positive ? value : -value;
}
template <class... T>
__global__ void store_sum(int* out, T... values) {
  out[0] = (values + ...);
}
template <class F>
__global__ void apply(F f, int* out) {
  out[threadIdx.x] = f(int(threadIdx.x));
}
template <class A, class B>
struct Pair {
  A a;
  B b;
};
namespace outer {
namespace inner {
__global__ void store(int* out, int value) { out[0] = 100 + value; }
}  // namespace inner
}  // namespace outer

struct Launcher {
  int* out;
  template <int N>
  void run() {
    store_signed<(N > 2)><<<1, 32>>>(out, N);
  }
  void choose(bool next) { (next ? store_next : store)<<<1, 1>>>(this->out, 40); }
};

#define RUN(kernel, ...)            \
  do {                              \
    kernel<<<1, 32>>>(__VA_ARGS__); \
  } while (0)

// The spellings are what is tested.
// clang-format off
TEST_CASE("a launch may be written in every way that C++ allows") {
  DeviceArray<int> out(32);
  const int one = 1;
  auto first = [&] { return out.values()[0]; };
  store<<<1, 32>>>(out.get(), 1);
  CHECK(out.values()[31] == 1);
  store <<< 1 , 32 >>> (out.get(), 2);
  CHECK(first() == 2);
  store<<<dim3(1, 1), dim3((32 >> 1) << 1), (one << 2) >> 1>>>(out.get(), 3);
  CHECK(first() == 3);
  ::store /* "<<<" */ <<< /* >>> */ 1, // (
      32 >>>(out.get(), 4);
  CHECK(first() == 4);
  outer::inner::store<<<1, 1>>>(out.get(), 5);
  CHECK(first() == 105);
  store_signed<true><<<1, 32>>>(out.get(), 6);
  CHECK(first() == 6);
  ::store_signed<(3 > 4), int><<<1, 32>>>(out.get(), 7);
  CHECK(first() == -7);
  store_size<Pair<int, Pair<char, double>>><<<1, 1>>>(out.get(), Pair<int, Pair<char, double>>{});
  CHECK(first() == 24);
  store_size<<<1, 1>>>(out.get(), 1.5);
  CHECK(first() == 8);
  store_sum<<<1, 1>>>(out.get(), 1, 2, 3);
  CHECK(first() == 6);
  Launcher launcher{out.get()};
  launcher.run<3>();
  CHECK(first() == 3);
  launcher.run<1>();
  CHECK(first() == -1);
  launcher.choose(true);
  CHECK(first() == 41);
  void (*table[2])(int*, int) = {store, store_next};
  for (int i = 0; i < 2; ++i) table[i]<<<1, 32>>>(out.get(), 20);
  CHECK(first() == 21);
  if (one) store<<<1, 1>>>(out.get(), 30); else store_next<<<1, 1>>>(out.get(), 30);
  CHECK(first() == 30);
  RUN(store, out.get(), 31);
  CHECK(first() == 31);
  store_static<<<1, 1>>>(out.get());
  CHECK(first() == 11);
  store_odd_order<<<1, 1>>>(out.get());
  CHECK(first() == 12);
  declared_first<<<1, 1>>>(out.get());
  CHECK(first() == 7);
  unnamed<<<1, 1>>>(out.get(), 1, nullptr);
  CHECK(first() == 13);
  unnamed<<<1, 1>>>(out.get(), 1, 0);
  store_bounded<<<1, 32>>>(out.get(), out.get());
  CHECK(first() == 26);
  const int few = 1, many = 32;
  store<<<few<many ? few : many, many>>>(out.get(), 14);
  CHECK(out.values()[31] == 14);
  store_signed<true><<<few < many ? 1 : 2, many > few ? 32 : 64>>>(out.get(), 15);
  CHECK(out.values()[31] == 15);
  int offset = 5;
  apply<<<1, 32>>>([=] __device__(int i) { return i + offset; }, out.get());
  CHECK(out.values()[31] == 36);
}
// clang-format on

TEST_CASE("text that only looks like CUDA stays as it is") {
  const char* raw = R"(store<<<1, 1>>>(d, 1); extern __shared__ int x[];)";
  CHECK(raw[5] == '<');
  CHECK(std::string(raw).find("__shared__") == 30);
  const int million = 1'000'000;
  CHECK(million == 1000000);
  int blockDim = 5, threadIdx = 6;
  dim3 gridDim(2);
  CHECK(blockDim + threadIdx + int(gridDim.x) == 13);
}

struct Owner {  // converts to the parameter's type at the launch, and may not be copied
  int* pointer;
  explicit Owner(int* p) : pointer(p) {}
  Owner(const Owner&) = delete;
  operator int*() const { return pointer; }
};

__device__ int count_down(int& x) { return --x; }
__global__ void loop(int* out, int first, int last) {
  int n = 0, x = 3;
  while (first < last) {
    ++n;
    ++first;
  }
  while (n <= 6) ++n;
  while (n == 7) ++n;
  while (n != 9 && first < last + 3) ++n;
  while (int y = count_down(x)) n += y;
  out[0] = n;
}

TEST_CASE("the condition of a loop may compare, or declare") {
  DeviceArray<int> out(1);
  loop<<<1, 1>>>(out.get(), 2, 7);
  CHECK(out.values()[0] == 12);
}

TEST_CASE("arguments are converted once, at the launch") {
  DeviceArray<int> out(32);
  Owner owner(out.get());
  store<<<1, 1>>>(owner, 3.9);
  CHECK(out.values()[0] == 3);
}

__global__ void change_parameter(int* out, Pair<int, int> p) {
  p.a += int(threadIdx.x);
  out[threadIdx.x] = p.a;
}

TEST_CASE("every thread has its own copy of the parameters") {
  DeviceArray<int> out(64);
  change_parameter<<<1, 64>>>(out.get(), {100, 0});
  CHECK(out.values()[0] == 100);
  CHECK(out.values()[63] == 163);
}

// ---- built-in variables -----------------------------------------------------------------------

__global__ void built_in(int* out) {
  const int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const int threads = blockDim.x * blockDim.y * blockDim.z;
  out[block * threads + thread] += 1 + int(threadIdx.z) * 1000000 + int(blockIdx.y) * 1000;
}

TEST_CASE("a grid and its blocks have three dimensions") {
  DeviceArray<int> out(2 * 3 * 4 * 5 * 2 * 3, 0);
  built_in<<<dim3(2, 3, 4), dim3(5, 2, 3)>>>(out.get());
  auto values = out.values();
  for (int block = 0; block < 24; ++block)
    for (int thread = 0; thread < 30; ++thread)
      REQUIRE(values[block * 30 + thread] == 1 + thread / 10 * 1000000 + block / 2 % 3 * 1000);
}

// ---- shared memory ----------------------------------------------------------------------------

extern __shared__ double dynamic_of_file[];

template <int N>
__global__ void reverse(int* data) {
  static __shared__ int left[N];
  __shared__ volatile int right[N], extra;
  __shared__ struct {
    int x[3];
    float y;
  } record;
  __shared__ alignas(16) float aligned[4];
  __shared__ int* pointer;
  const int t = threadIdx.x;
  left[t] = data[t];
  if (t == 0) {
    record.x[1] = 1000;
    extra = 1;
    aligned[2] = 2;
    pointer = left;
  }
  __syncthreads();
  right[t] = pointer[N - 1 - t];
  data[t] = right[t] + record.x[1] + extra + int(aligned[2]) + int(size_t(aligned) % 16);
}

__global__ void dynamic_double(int* out) {
  dynamic_of_file[threadIdx.x] = threadIdx.x * 2.0;
  __syncthreads();
  out[threadIdx.x] = int(dynamic_of_file[31 - threadIdx.x]);
}
__global__ void dynamic_rows(int* out) {
  extern __shared__ int rows[][33];
  rows[threadIdx.x / 4][threadIdx.x % 4] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = rows[threadIdx.x / 4][threadIdx.x % 4];
}
__global__ void dynamic_float4(int* out) {
  extern __shared__ __align__(16) float4 quads[];
  quads[threadIdx.x].w = 3;
  out[threadIdx.x] = int(quads[threadIdx.x].w) + int(size_t(&quads[threadIdx.x]) % 16);
}
template <class T>
__device__ T swap_in_function(T value) {
  __shared__ T buffer[32];
  __syncthreads();
  buffer[threadIdx.x] = value;
  __syncthreads();
  return buffer[31 - threadIdx.x];
}
__global__ void use_function(int* out) {
  out[threadIdx.x] =
      swap_in_function(int(threadIdx.x)) + int(swap_in_function(float(100 * threadIdx.x)));
}

TEST_CASE("static shared memory belongs to the block") {
  DeviceArray<int> data(64);
  for (int i = 0; i < 64; ++i) data[i] = i;
  reverse<64><<<1, 64>>>(data.get());
  auto values = data.values();
  CHECK(values[0] == 63 + 1003);
  CHECK(values[63] == 1003);
  use_function<<<1, 32>>>(data.get());
  CHECK(data.values()[0] == 31 + 3100);
}

TEST_CASE("dynamic shared memory has the type that each kernel gives it") {
  DeviceArray<int> out(32);
  dynamic_double<<<1, 32, 32 * sizeof(double)>>>(out.get());
  CHECK(out.values()[0] == 62);
  dynamic_rows<<<1, 32, 8 * 33 * sizeof(int)>>>(out.get());
  CHECK(out.values()[13] == 13);
  dynamic_float4<<<1, 32, 32 * sizeof(float4)>>>(out.get());
  CHECK(out.values()[31] == 3);
}

// ---- __constant__ and __device__ --------------------------------------------------------------

__constant__ float coefficients[4] = {1, 2, 3, 4};
__device__ int counter = 5;
__device__ int2 table[2], *into_table;
__managed__ int managed_value = 9;
__device__ __constant__ int old_style[2] = {3, 4};
__device__ __managed__ int both_words = 1;

__global__ void use_symbols(float* out) {
  out[0] = coefficients[0] + coefficients[3];
  out[1] = atomicAdd(&counter, 1);
  out[2] = table[1].y;
  managed_value += 1;
  both_words += old_style[1];
}

TEST_CASE("__constant__, __device__ and __managed__ variables") {
  DeviceArray<float> out(3);
  const float fresh[] = {10, 20};
  const int2 entry = {7, 8};
  REQUIRE(cudaMemcpyToSymbol(coefficients, fresh, sizeof fresh) == cudaSuccess);
  REQUIRE(cudaMemcpyToSymbol(table, &entry, sizeof entry, sizeof entry) == cudaSuccess);
  use_symbols<<<1, 1>>>(out.get());
  auto values = out.values();
  CHECK(values[0] == 14);
  CHECK(values[1] == 5);
  CHECK(values[2] == 8);
  CHECK(managed_value == 10);
  CHECK(both_words == 5);
  int now = 0;
  REQUIRE(cudaMemcpyFromSymbol(&now, counter, sizeof now) == cudaSuccess);
  CHECK(now == 6);
  void* address = nullptr;
  REQUIRE(cudaGetSymbolAddress(&address, counter) == cudaSuccess);
  now = 50;
  REQUIRE(cudaMemcpy(address, &now, sizeof now, cudaMemcpyHostToDevice) == cudaSuccess);
  REQUIRE(cudaMemcpyFromSymbol(&now, counter, sizeof now) == cudaSuccess);
  CHECK(now == 50);
  size_t bytes = 0;
  REQUIRE(cudaGetSymbolSize(&bytes, coefficients) == cudaSuccess);
  CHECK(bytes == 16);
  REQUIRE(cudaMemcpyToSymbol(coefficients, fresh, 64) == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  int2* first = table;
  REQUIRE(cudaMemcpyFromSymbol(&first, into_table, sizeof first) == cudaSuccess);
  CHECK(first == nullptr);
}

// ---- first values in parentheses, and functions that look like them

constexpr int kFirst = 7;
enum Colour { kRed, kBlue };
struct Twins {
  int a, b;
  __host__ __device__ constexpr Twins(int first, int second) : a(first), b(second) {}
  __host__ __device__ constexpr explicit Twins(int both) : a(both), b(both) {}
};
using Sum = int (*)(int, int);
__device__ int one_direct(5), two_direct(-1), uninitialised;
__device__ int named_direct(kFirst), array_behind[2] = {1, 2};
__device__ Colour enum_direct(kBlue);
__device__ Twins pair_direct(3, kFirst + 1), pair_of_one(kFirst);
__device__ unsigned most_direct(std::numeric_limits<unsigned>::max());
__device__ float converted(float(kFirst) / 2);
__managed__ int managed_direct(11), managed_behind = 12;
__constant__ double constant_direct(2.5);
// Functions: a type alone, a name with a type, pointers to functions, nothing.
__device__ int of_a_pair(Twins);
__device__ int of_a_reference(const Twins&, int*);
__device__ int of_a_function(int (*)(int, int), int);
__device__ int of_a_sum(Sum);
__device__ Twins of_nothing();
__device__ int of_an_array(int[2]), of_a_colour(Colour c);
__device__ unsigned of_a_limit(std::numeric_limits<unsigned>);

__device__ int of_a_pair(Twins pair) { return pair.a + pair.b; }
__device__ int of_a_reference(const Twins& pair, int* more) { return pair.a + *more; }
__device__ int of_a_function(int (*f)(int, int), int x) { return f(x, x); }
__device__ int of_a_sum(Sum sum) { return sum(1, 2); }
__device__ Twins of_nothing() { return Twins(4); }
__device__ int of_an_array(int values[2]) { return values[1]; }
__device__ int of_a_colour(Colour c) { return c; }
__device__ unsigned of_a_limit(std::numeric_limits<unsigned> limit) { return limit.max(); }
__device__ int add_two(int a, int b) { return a + b; }

__global__ void use_direct(long long* out) {
  static int calls(100);
  static __device__ int kept[2];
  out[0] = one_direct + 10 * two_direct + uninitialised + named_direct + array_behind[1];
  out[1] = enum_direct + pair_direct.a + pair_direct.b + pair_of_one.b;
  out[2] = most_direct;
  out[3] = static_cast<long long>(2 * converted);
  out[4] = managed_direct + managed_behind + static_cast<int>(2 * constant_direct);
  out[5] = of_a_pair(pair_direct) + of_a_reference(of_nothing(), kept) + of_a_sum(add_two) +
           of_a_function(add_two, 3) + of_an_array(array_behind) + of_a_colour(kBlue);
  out[6] = of_a_limit({});
  out[7] = ++calls + ++kept[1];
  if (out == nullptr) [[maybe_unused]]
    static int unused;
  switch (out[7]) {
    default: static int labelled; out[7] += labelled;
  }
  static int &same = calls, (*function)(int, int) = add_two;
  same = function(same, 0);
}

TEST_CASE("a first value may stand in parentheses") {
  DeviceArray<long long> out(8);
  use_direct<<<1, 1>>>(out.get());
  const auto first = out.values();
  CHECK(first[0] == 5 - 10 + 7 + 2);
  CHECK(first[1] == 1 + 3 + 8 + 7);
  CHECK(first[2] == 4294967295);
  CHECK(first[3] == 7);
  CHECK(first[4] == 11 + 12 + 5);
  CHECK(first[5] == 11 + 4 + 3 + 6 + 2 + 1);
  CHECK(first[6] == 4294967295);
  CHECK(first[7] == 102);
  use_direct<<<1, 1>>>(out.get());
  CHECK(out.values()[7] == 104);
  for (const void* managed : {&managed_direct, &managed_behind}) {
    cudaPointerAttributes attributes;
    REQUIRE(cudaPointerGetAttributes(&attributes, managed) == cudaSuccess);
    CHECK(attributes.type == cudaMemoryTypeManaged);
  }
  // What is known is known by its bounds: the next byte is another variable's.
  const auto size_of = [](const auto& symbol) {
    void* address = nullptr;
    CHECK(cudaGetSymbolAddress(&address, symbol) == cudaSuccess);
    return cudaMemset(address, 0, sizeof symbol + 1);
  };
  CHECK(size_of(one_direct) == cudaErrorInvalidValue);
  CHECK(size_of(two_direct) == cudaErrorInvalidValue);
  CHECK(size_of(pair_of_one) == cudaErrorInvalidValue);
  cudaGetLastError();
}

// ---- shared memory ----------------------------------------------------------------------------

#define SHIFT 6
template <int N>
__global__ void sizes_that_compare(int* out) {
  __shared__ int shifted[(SHIFT + 2) << 1], chosen[N > 8 ? N : 8];
  extern __shared__ int rows[][N > 2 ? N : 2];
  const unsigned t = threadIdx.x;
  shifted[t] = static_cast<int>(t);
  chosen[t % 8] = 1;
  rows[t / 4][t % 4] = 10 * static_cast<int>(t);
  __syncthreads();
  if (t == 0) out[16] = static_cast<int>(sizeof shifted + sizeof chosen + sizeof rows[0]);
  out[t] = shifted[15 - t] + chosen[0] + rows[3 - t / 4][3 - t % 4];
}

TEST_CASE("the size of a __shared__ array may shift and compare") {
  DeviceArray<int> out(17);
  sizes_that_compare<4><<<1, 16, 64>>>(out.get());
  const std::vector<int> values = out.values();
  for (int t = 0; t < 16; ++t) CHECK(values[t] == 11 * (15 - t) + 1);
  CHECK(values[16] == 64 + 32 + 16);
}

// At file scope: every kernel that uses it has one of its own in each block.
__shared__ int for_all[32];
static __shared__ struct alignas(16) { float a, b; } pair_for_all;

__device__ int mirrored(int i) { return for_all[31 - i]; }
template <class F>
__device__ void apply(F f) {
  f();
}
__global__ void use_file_scope(int* out) {
  __shared__ int own;  // lies behind it, or before
  const int t = static_cast<int>(threadIdx.x);
  for_all[t] = t + 100 * static_cast<int>(blockIdx.x);
  if (t == 0) own = 7, pair_for_all.b = 3;
  __syncthreads();
  apply([=, &own] { out[32 * blockIdx.x + t] = mirrored(t) + for_all[0] * own; });
  if (t == 31) out[64 + blockIdx.x] = static_cast<int>(pair_for_all.b);
}
struct HasOne {
  int for_all;
  __device__ int get() const { return for_all; }
};
__global__ void has_names_of_its_own(int* for_all) {
  const HasOne one{5};
  for_all[threadIdx.x] = one.get();
}
__device__ int local_of_that_name(int i) {
  int for_all = 2 * i;
  return for_all;
}
__global__ void use_local(int* out) { out[threadIdx.x] = local_of_that_name(4); }

// In namespaces: by a qualified name, by `using`, in a function defined outside; and other
// variables of such a name.
namespace outer {
namespace inner {
__shared__ int for_all[32], in_namespace;
__device__ void put(int i, int value);
}  // namespace inner
__device__ int twice_that(int i) { return 2 * inner::for_all[i]; }
}  // namespace outer
namespace elsewhere {
int in_namespace = 40;
int on_the_host() { return in_namespace + 2; }
}  // namespace elsewhere
__device__ void outer::inner::put(int i, int value) {
  for_all[i] = value;
  if (i == 0) in_namespace = 1000;
}
using outer::inner::in_namespace;
__global__ void use_namespaces(int* out) {
  const int t = static_cast<int>(threadIdx.x);
  outer::inner::put(t, t);
  ::for_all[t] = 100 * t;
  __syncthreads();
  const int sum = 3 * for_all[31 - t] + outer::twice_that(t);
  out[t] = sum + (t & outer::inner::for_all[7]) + in_namespace;
}

TEST_CASE("__shared__ variables at file scope") {
  DeviceArray<int> out(66);
  use_file_scope<<<2, 32>>>(out.get());
  const std::vector<int> values = out.values();
  for (int b = 0; b < 2; ++b)
    for (int t = 0; t < 32; ++t) CHECK(values[32 * b + t] == 31 - t + 100 * b + 700 * b);
  CHECK(values[64] == 3);
  CHECK(values[65] == 3);
  has_names_of_its_own<<<1, 32>>>(out.get());
  CHECK(out.values()[3] == 5);
  use_local<<<1, 32>>>(out.get());
  CHECK(out.values()[3] == 8);
  use_namespaces<<<1, 32>>>(out.get());
  for (int t = 0; t < 32; ++t) CHECK(out.values()[t] == 300 * (31 - t) + 2 * t + (t & 7) + 1000);
  CHECK(elsewhere::on_the_host() == 42);
}

// ---- vector types -----------------------------------------------------------------------------

TEST_CASE("vector types have CUDA's sizes and alignments") {
  CHECK(sizeof(float3) == 12);
  CHECK(alignof(float3) == 4);
  CHECK(alignof(float2) == 8);
  CHECK(alignof(float4) == 16);
  CHECK(alignof(double2) == 16);
  CHECK(alignof(uchar4) == 4);
  CHECK(alignof(longlong2) == 16);
  const float4 f = make_float4(1, 2, 3, 4);
  CHECK(f.w == 4);
  const dim3 d(3, 2);
  CHECK(d.z == 1);
}

// ---- macros -----------------------------------------------------------------------------------

TEST_CASE("programs can ask where they are") {
#if defined(__CUDACC__) && defined(__NVCC__) && defined(__SIMT__)
  CHECK(__CUDA_ARCH__ == 900);
  CHECK(CUDART_VERSION == 13000);
  CHECK(__CUDACC_VER_MAJOR__ == 13);
#else
  FAIL("a macro is missing");
#endif
}
