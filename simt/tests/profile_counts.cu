// The counters of whole kernels, against values worked out by hand.
#include <cuda_fp16.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "simt/include/simt/profile.h"
#include "tests/catch.hpp"
#include "tests/run_command.hpp"

namespace {

using simt::AccessKind;

constexpr int kThreads = 256;

template <class T>
T* zeros(size_t count) {
  T* pointer = nullptr;
  REQUIRE(cudaMalloc(&pointer, count * sizeof(T)) == cudaSuccess);
  REQUIRE(cudaMemset(pointer, 0, count * sizeof(T)) == cudaSuccess);
  return pointer;
}

// The counts of what `launch` does.
template <class Launch>
simt::KernelProfile counted(const char* kernel, Launch launch) {
  simt::profile_reset();
  launch();
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  simt::KernelProfile profile = simt::profile(kernel);
  simt::profile_stop();
  CHECK(simt::check_reports().empty());
  return profile;
}

const simt::SiteProfile& site(const simt::KernelProfile& profile, AccessKind kind, int line = 0) {
  for (const simt::SiteProfile& candidate : profile.sites) {
    if (candidate.kind == kind && (line == 0 || static_cast<int>(candidate.line) == line)) {
      return candidate;
    }
  }
  FAIL("no " << to_string(kind) << " in line " << line);
  return profile.sites[0];
}

// ---- global memory

__global__ void copy(const float* in, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i];
}
__global__ void clear_vectors(uint4* out) {
  out[blockIdx.x * blockDim.x + threadIdx.x] = make_uint4(0, 0, 0, 0);
}
__global__ void copy_strided(const float* in, float* out, int stride) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i * stride];
}
__global__ void copy_offset(const float* in, float* out, int offset) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i + offset];
}
__global__ void copy_vectors(const float4* in, float4* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i];
}
// Halves that go from memory straight into a function, and sums that stay there.
__global__ void add_halves(const __half* in, const __half2* pairs, __half* sums, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = __half2float(in[i]) + __low2float(__hadd2(pairs[i], pairs[i]));
  sums[i] += in[i];
}
__global__ void broadcast(const float* in, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[blockIdx.x];
}
__global__ void transpose_naive(const float* in, float* out, int n) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  out[x * n + y] = in[y * n + x];
}
template <int kPad>
__global__ void transpose_tiled(const float* in, float* out, int n) {
  __shared__ float tile[32][32 + kPad];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  tile[threadIdx.y][threadIdx.x] = in[y * n + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
  out[y * n + x] = tile[threadIdx.x][threadIdx.y];
}
__global__ void guarded_copy(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}

// ---- shared memory

template <class T>
__global__ void read_shared(T* out, int stride) {
  __shared__ T values[1024];
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) values[i] = T();
  __syncthreads();
  out[threadIdx.x] = values[threadIdx.x * stride % 1024];
}

// ---- branches

constexpr int kEvenLine = __LINE__ + 5;
constexpr int kOddLine = __LINE__ + 6;
__global__ void even_odd(const float* in, float* out) {
  const int i = threadIdx.x;
  if (i % 2 == 0) {
    out[i] = in[i] * 2;
  } else {
    out[i] = in[i + 64] + 1;
  }
}
__global__ void by_warp(const float* in, float* out) {
  const int i = threadIdx.x;
  if (i / 32 % 2 == 0) {
    out[i] = in[i] * 2;
  } else {
    out[i] = in[i + 64] + 1;
  }
}
// Lane l goes round l + 1 times: 32 + 31 + ... + 1 = 528 reads in 32 requests.
__global__ void triangle(const float* in, float* out) {
  float sum = 0;
  for (int k = 0; k <= static_cast<int>(threadIdx.x); ++k) sum += in[k * 32 + threadIdx.x];
  out[threadIdx.x] = sum;
}
// Bit k of the lane's number decides whether it reads in turn k: 16 lanes in each of 5 turns.
__global__ void skip_some(const float* in, float* out) {
  float sum = 0;
  for (int k = 0; k < 5; ++k) {
    if (threadIdx.x >> k & 1) sum += in[k * 32 + threadIdx.x];
  }
  out[threadIdx.x] = sum;
}
__device__ __noinline__ float twice(const float* in, int i) { return in[i] * 2; }
__global__ void call_in_a_branch(const float* in, float* out) {
  float value = 0;
  if (threadIdx.x % 2 == 0) value = twice(in, threadIdx.x);
  out[threadIdx.x] = value;
}

// ---- variables

__constant__ float factors[4] = {1, 2, 3, 4};
__device__ float offsets[32];
__global__ void scale_by_constant(float* out) {
  out[threadIdx.x] = factors[threadIdx.x % 4] + offsets[threadIdx.x];
}

// ---- atomics

__global__ void count_all(unsigned* counter) { atomicAdd(counter, 1u); }
__global__ void count_own(unsigned* counters) { atomicAdd(&counters[threadIdx.x], 1u); }
__global__ void count_shared(unsigned* out) {
  __shared__ unsigned count[4];
  if (threadIdx.x < 4) count[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&count[threadIdx.x % 4], 1u);
  __syncthreads();
  if (threadIdx.x < 4) out[threadIdx.x] = count[threadIdx.x];
}

// ---- a kernel with a bit of everything

template <int kTile>
__global__ void matmul(const float* a, const float* b, float* c, int n) {
  __shared__ float as[kTile][kTile], bs[kTile][kTile];
  const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (int tile = 0; tile < n; tile += kTile) {
    as[threadIdx.y][threadIdx.x] = a[row * n + tile + threadIdx.x];
    bs[threadIdx.y][threadIdx.x] = b[(tile + threadIdx.y) * n + column];
    __syncthreads();
    for (int k = 0; k < kTile; ++k) sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

}  // namespace

struct alignas(16) Indexed {  // bytes 4 to 7 belong to no member
  float value;
  long long index;
};
struct alignas(16) Filled {
  float x, y;
  long long index;
};
template <class T>
__global__ void copy_structures(const T* in, T* out) {
  __shared__ T tile[32];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncwarp();
  out[threadIdx.x] = tile[threadIdx.x];
}

struct Pair {  // 8 bytes, aligned to 4
  unsigned a, b;
};
struct Six {
  float v[6];
};
__global__ void copy_pairs_at_once(const Pair* in, Pair* out) {
  reinterpret_cast<uint2*>(out)[threadIdx.x] = reinterpret_cast<const uint2*>(in)[threadIdx.x];
}

// What a pointer leads to need not be an object with a size.
struct Declared;
__global__ void copy_past(const Declared*, void*, int (*call)(int), Indexed* to) {
  if (call == nullptr) to[2 * threadIdx.x + 1] = to[2 * threadIdx.x];
}

TEST_CASE("a structure with a gap goes member by member, without one whole") {
  // The second of them: the kernel gets a pointer into the middle of the memory.
  Indexed* indexed = zeros<Indexed>(66);
  const auto p =
      counted("copy_structures", [&] { copy_structures<<<1, 32>>>(indexed + 1, indexed + 33); });
  CHECK(p.global.load_requests == 2);
  CHECK(p.global.store_requests == 2);
  CHECK(p.global.load_sectors == 2 * 17);  // 512 bytes from the middle of a sector
  CHECK(p.global.load_bytes_used == 32 * (4 + 8));
  CHECK(p.shared.load_requests == 2);
  // A stride of 16 bytes: 4 lanes meet in each bank, and 2 of each half warp.
  CHECK(p.shared.load_wavefronts == 4 + 2 * 2);
  CHECK(p.shared.store_wavefronts == 4 + 2 * 2);
  CHECK(site(p, AccessKind::kGlobalLoad).size == 4);
  const auto past =
      counted("copy_past", [&] { copy_past<<<1, 8>>>(nullptr, nullptr, nullptr, indexed); });
  CHECK(past.global.store_requests == 2);
  cudaFree(indexed);

  Filled* filled = zeros<Filled>(64);
  const auto whole =
      counted("copy_structures", [&] { copy_structures<<<1, 32>>>(filled, filled + 32); });
  CHECK(whole.global.load_requests == 1);
  CHECK(whole.shared.load_requests == 1);
  CHECK(whole.shared.load_wavefronts == 4);
  cudaFree(filled);
}

TEST_CASE("through a pointer no access is wider than the structure's alignment") {
  Pair* pairs = zeros<Pair>(64);
  const auto p = counted("copy_structures", [&] { copy_structures<<<1, 32>>>(pairs, pairs + 32); });
  CHECK(site(p, AccessKind::kGlobalLoad).size == 4);
  CHECK(p.global.load_requests == 2);
  CHECK(p.global.load_sectors == 2 * 8);
  CHECK(p.global.load_lanes == 64);
  CHECK(p.global.store_requests == 2);
  // Where a __shared__ variable lies is known, so both members go at once.
  CHECK(p.shared.load_requests == 1);
  CHECK(p.shared.store_requests == 1);

  // Nor is it narrower, where the code says that the address is a multiple of more.
  const auto whole =
      counted("copy_pairs_at_once", [&] { copy_pairs_at_once<<<1, 32>>>(pairs, pairs + 32); });
  CHECK(whole.global.load_requests == 1);
  CHECK(whole.global.store_requests == 1);
  cudaFree(pairs);

  Six* sixes = zeros<Six>(64);
  const auto six =
      counted("copy_structures", [&] { copy_structures<<<1, 32>>>(sixes, sixes + 32); });
  CHECK(six.global.load_requests == 6);
  CHECK(six.global.load_sectors == 6 * 24);
  cudaFree(sixes);
}

TEST_CASE("a constant vector is stored by one instruction") {
  uint4* out = nullptr;
  REQUIRE(cudaMalloc(&out, 64 * sizeof(uint4)) == cudaSuccess);
  const auto p = counted("clear_vectors", [&] { clear_vectors<<<1, 64>>>(out); });
  CHECK(p.global.store_requests == 2);
  CHECK(p.global.store_sectors_per_request() == 16);
  cudaFree(out);
}

TEST_CASE("halves that functions take by value are loads and stores") {
  __half *in = zeros<__half>(256), *sums = zeros<__half>(256);
  const auto p = counted("add_halves", [&] {
    add_halves<<<1, kThreads>>>(in, zeros<__half2>(256), sums, zeros<float>(256));
  });
  // Of 64 bytes: `in` twice, the sums; of 128 bytes: the pairs, once for each argument.
  CHECK(p.global.load_requests == 8 * 5);
  CHECK(p.global.load_bytes_used == 8 * (3 * 64 + 2 * 128));
  CHECK(p.global.store_requests == 8 * 2);
  CHECK(p.global.store_bytes_used == 8 * (64 + 128));
}

TEST_CASE("coalescing") {
  const int n = 1024;
  float *in = zeros<float>(n * 40), *out = zeros<float>(n);
  const auto loads = [&](int stride) {
    return counted("copy_strided",
                   [&] { copy_strided<<<n / kThreads, kThreads>>>(in, out, stride); })
        .global.load_sectors_per_request();
  };
  SECTION("a copy of floats") {
    const auto p = counted("copy", [&] { copy<<<n / kThreads, kThreads>>>(in, out); });
    CHECK(p.launches == 1);
    CHECK(p.threads == 1024);
    CHECK(p.warps == 32);
    CHECK(p.global.load_requests == 32);
    CHECK(p.global.load_sectors_per_request() == 4);
    CHECK(p.global.store_sectors_per_request() == 4);
    CHECK(p.global.load_bytes_used == 4096);
    CHECK(p.global.load_bytes_moved() == 4096);
    CHECK(p.reads_per_thread() == 1);
    CHECK(p.writes_per_thread() == 1);
    CHECK(p.active_lanes_per_instruction() == 32);
    CHECK(p.divergent_branches == 0);
    CHECK(site(p, AccessKind::kGlobalLoad).file == "simt/tests/profile_counts.cu");
  }
  SECTION("strides") {
    CHECK(loads(1) == 4);
    CHECK(loads(2) == 8);
    CHECK(loads(8) == 32);
    CHECK(loads(33) == 32);
  }
  SECTION("one float off") {
    const auto p = counted("copy_offset", [&] { copy_offset<<<4, kThreads>>>(in, out, 1); });
    CHECK(p.global.load_sectors_per_request() == 5);
    CHECK(p.global.store_sectors_per_request() == 4);
  }
  SECTION("float4") {
    const auto p = counted("copy_vectors", [&] {
      copy_vectors<<<1, kThreads>>>(reinterpret_cast<float4*>(in), reinterpret_cast<float4*>(out));
    });
    CHECK(p.global.load_sectors_per_request() == 16);
    CHECK(p.global.store_sectors_per_request() == 16);
    CHECK(site(p, AccessKind::kGlobalLoad).size == 16);
  }
  SECTION("broadcast") {
    const auto p = counted("broadcast", [&] { broadcast<<<4, kThreads>>>(in, out); });
    CHECK(p.global.load_sectors_per_request() == 1);
    CHECK(p.global.load_bytes_used == 32 * 4);
  }
  SECTION("a tail") {
    const auto p = counted("guarded_copy", [&] { guarded_copy<<<4, kThreads>>>(in, out, 1000); });
    CHECK(p.global.load_requests == 32);
    CHECK(p.global.load_lanes == 1000);
    CHECK(p.divergent_branches == 1);
  }
}

TEST_CASE("transposition") {
  const int n = 64;
  float *in = zeros<float>(n * n), *out = zeros<float>(n * n);
  const dim3 grid(n / 32, n / 32), block(32, 32);
  SECTION("naive: 4 sectors read, 32 written") {
    const auto p =
        counted("transpose_naive", [&] { transpose_naive<<<grid, block>>>(in, out, n); });
    CHECK(p.global.load_sectors_per_request() == 4);
    CHECK(p.global.store_sectors_per_request() == 32);
  }
  SECTION("through a tile: both 4, but a 32-way conflict") {
    const auto p =
        counted("transpose_tiled", [&] { transpose_tiled<0><<<grid, block>>>(in, out, n); });
    CHECK(p.global.store_sectors_per_request() == 4);
    CHECK(p.shared.load_conflict_degree() == 32);
    CHECK(p.shared.load_max_degree == 32);
    CHECK(p.shared.store_conflict_degree() == 1);
    CHECK(p.barriers == 4);
  }
  SECTION("padded: none") {
    const auto p =
        counted("transpose_tiled", [&] { transpose_tiled<1><<<grid, block>>>(in, out, n); });
    CHECK(p.shared.load_conflict_degree() == 1);
    CHECK(p.shared.load_wavefronts == p.shared.load_requests);
    CHECK(p.shared.load_lanes == n * n);
    CHECK(p.shared.store_lanes == n * n);
  }
}

TEST_CASE("bank conflicts by stride") {
  float* out = zeros<float>(32);
  const auto degree = [&](int stride) {
    return counted("read_shared", [&] { read_shared<<<1, 32>>>(out, stride); })
        .shared.load_conflict_degree();
  };
  CHECK(degree(0) == 1);
  CHECK(degree(1) == 1);
  CHECK(degree(2) == 2);
  CHECK(degree(3) == 1);
  CHECK(degree(32) == 32);
  double* doubles = zeros<double>(32);
  const auto p = counted("read_shared", [&] { read_shared<<<1, 32>>>(doubles, 1); });
  CHECK(p.shared.load_wavefronts == 2);
  CHECK(p.shared.load_conflict_degree() == 1);
}

TEST_CASE("active lanes") {
  float *in = zeros<float>(2048), *out = zeros<float>(64);
  SECTION("even and odd: half of the warp at a time") {
    const auto p = counted("even_odd", [&] { even_odd<<<1, 64>>>(in, out); });
    CHECK(site(p, AccessKind::kGlobalLoad, kEvenLine).active_lanes() == 16);
    CHECK(site(p, AccessKind::kGlobalLoad, kOddLine).active_lanes() == 16);
    CHECK(p.divergent_branches == 2);
    CHECK(p.active_lanes_per_instruction() < 32);
  }
  SECTION("warp by warp: all of them") {
    const auto p = counted("by_warp", [&] { by_warp<<<1, 64>>>(in, out); });
    CHECK(p.active_lanes_per_instruction() == 32);
    CHECK(p.divergent_branches == 0);
  }
  SECTION("loops of different length") {
    const auto p = counted("triangle", [&] { triangle<<<1, 32>>>(in, out); });
    CHECK(p.global.load_requests == 32);
    CHECK(site(p, AccessKind::kGlobalLoad).active_lanes() == 16.5);
    CHECK(p.global.store_requests == 1);
    CHECK(p.divergent_branches == 31);
  }
  SECTION("turns that some lanes skip") {
    const auto p = counted("skip_some", [&] { skip_some<<<1, 32>>>(in, out); });
    CHECK(p.global.load_requests == 5);
    CHECK(p.global.load_lanes == 80);
    CHECK(p.global.store_requests == 1);
  }
  SECTION("a function called in a branch") {
    const auto p = counted("call_in_a_branch", [&] { call_in_a_branch<<<1, 32>>>(in, out); });
    CHECK(p.global.load_requests == 1);
    CHECK(site(p, AccessKind::kGlobalLoad).active_lanes() == 16);
    CHECK(p.global.store_requests == 1);
  }
}

TEST_CASE("the busiest thread and the busiest block, of all launches") {
  auto* data = zeros<float>(4 * kThreads);
  const simt::KernelProfile even = counted("copy", [&] {
    copy<<<2, kThreads>>>(data, data + 2 * kThreads);
    copy<<<4, 64>>>(data, data + 2 * kThreads);
  });
  CHECK(even.busiest.load_bytes.thread == 2 * 4);
  CHECK(even.busiest.load_bytes.block == (kThreads + 64) * 4);
  CHECK(even.busiest.store_bytes.thread == 2 * 4);
  CHECK(even.busiest.store_bytes.block == (kThreads + 64) * 4);
  CHECK(even.busiest.steps.block == (kThreads + 64) * even.busiest.steps.thread / 2);
  CHECK(even.instruction_lanes == (2 * kThreads + 4 * 64) * even.busiest.steps.thread / 2);

  auto* numbers = zeros<float>(32 * 33);
  const simt::KernelProfile uneven =
      counted("triangle", [&] { triangle<<<1, 32>>>(numbers, data); });
  CHECK(uneven.busiest.load_bytes.thread == 32 * 4);
  CHECK(uneven.busiest.load_bytes.block == 528 * 4);
  CHECK(uneven.busiest.store_bytes.thread == 4);
  CHECK(uneven.busiest.store_bytes.block == 32 * 4);
  cudaFree(numbers);
  cudaFree(data);
}

TEST_CASE("each block has warps of its own, the last one with fewer threads") {
  auto* data = zeros<float>(512);
  const auto p = counted("copy", [&] { copy<<<3, 48>>>(data, data + 256); });
  CHECK(p.blocks == 3);
  CHECK(p.threads == 144);
  CHECK(p.warps == 6);
  cudaFree(data);
}

TEST_CASE("constant memory is no global memory, a __device__ variable is") {
  float* out = zeros<float>(32);
  const auto p = counted("scale_by_constant", [&] { scale_by_constant<<<1, 32>>>(out); });
  CHECK(p.global.load_requests == 1);
  CHECK(p.global.load_sectors_per_request() == 4);
}

TEST_CASE("atomics") {
  unsigned* out = zeros<unsigned>(64);
  SECTION("one address for all") {
    const auto p = counted("count_all", [&] { count_all<<<1, 64>>>(out); });
    CHECK(p.atomics.global_requests == 2);
    CHECK(p.atomics.global_lanes == 64);
    CHECK(p.atomics.max_serialization == 32);
    CHECK(p.atomics.average_serialization() == 32);
  }
  SECTION("one each") {
    const auto p = counted("count_own", [&] { count_own<<<1, 64>>>(out); });
    CHECK(p.atomics.max_serialization == 1);
  }
  SECTION("four in shared memory") {
    const auto p = counted("count_shared", [&] { count_shared<<<1, 64>>>(out); });
    CHECK(p.atomics.shared_requests == 2);
    CHECK(p.atomics.max_serialization == 8);
    CHECK(p.barriers == 2);
  }
}

TEST_CASE("a tiled matrix product") {
  const int n = 64;
  float *a = zeros<float>(n * n), *b = zeros<float>(n * n), *c = zeros<float>(n * n);
  const auto p =
      counted("matmul", [&] { matmul<16><<<dim3(n / 16, n / 16), dim3(16, 16)>>>(a, b, c, n); });
  CHECK(p.reads_per_thread() == 2 * n / 16);  // instead of 2 * n
  CHECK(p.writes_per_thread() == 1);
  CHECK(p.barriers == 16 * 2 * n / 16);
  CHECK(p.barrier_requests == 8 * p.barriers);  // of 8 warps
  // A warp is two rows of 16: two pieces of 64 bytes.
  CHECK(p.global.load_sectors_per_request() == 4);
  CHECK(p.shared.load_conflict_degree() == 1);
  CHECK(p.active_lanes_per_instruction() == 32);
}

TEST_CASE("launches of a kernel add up, and a reset forgets") {
  float *in = zeros<float>(1024), *out = zeros<float>(1024);
  const auto p = counted("copy", [&] {
    copy<<<4, kThreads>>>(in, out);
    copy<<<2, kThreads>>>(in, out);
  });
  CHECK(p.launches == 2);
  CHECK(p.threads == 1536);
  CHECK(p.global.load_requests == 48);
  simt::profile_reset();
  CHECK(simt::profiles().empty());
  CHECK(simt::profile("copy").launches == 0);
  simt::profile_stop();
  copy<<<4, kThreads>>>(in, out);
  cudaDeviceSynchronize();
  CHECK(simt::profile("copy").launches == 0);
}

TEST_CASE("run all kernels", "[.]") {
  const int n = 128;
  float *a = zeros<float>(n * n), *b = zeros<float>(n * n), *c = zeros<float>(n * n);
  matmul<16><<<dim3(n / 16, n / 16), dim3(16, 16)>>>(a, b, c, n);
  transpose_naive<<<dim3(n / 32, n / 32), dim3(32, 32)>>>(a, c, n);
  transpose_tiled<0><<<dim3(n / 32, n / 32), dim3(32, 32)>>>(a, c, n);
  even_odd<<<1, 64>>>(a, c);
  triangle<<<1, 32>>>(a, c);
  count_all<<<20, 64>>>(reinterpret_cast<unsigned*>(c));
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE("the same counts with one core and with two, and as JSON") {
  const auto json = [](const std::string& environment, const std::string& name) {
    const std::string path = std::string(TEST_BUILD) + "/profile_counts_" + name + ".json";
    const tests::CommandResult result =
        tests::run_command(environment + " SIMT_PROFILE=1 SIMT_PROFILE_JSON=" + path + " " +
                           tests::this_program() + " 'run all kernels' 2>&1");
    INFO(result.output);
    CHECK(result.status == 0);
    return tests::run_command("cat " + path).output;
  };
  const std::string one = json("SIMT_THREADS=1", "1");
  CHECK(one.size() > 1000);
  CHECK(one == json("SIMT_THREADS=2", "2"));
  CHECK(one == json("SIMT_THREADS=2", "3"));
  CHECK(one.find("\"schema\":1") != std::string::npos);
  CHECK(one.find("\"kernel\":\"transpose_naive\"") != std::string::npos);
  CHECK(one.find("\"store_sectors_per_request\":32") != std::string::npos);
  CHECK(one.find("\"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum\":16384") != std::string::npos);
}

TEST_CASE("counters under Nsight Compute's names") {
  const int n = 64;  // 4 blocks of 1024 threads: 128 warps
  const float* in = zeros<float>(n * n);
  float* out = zeros<float>(n * n);
  const auto metrics = [&](auto kernel) {
    simt::profile_reset();
    kernel<<<dim3(n / 32, n / 32), dim3(32, 32)>>>(in, out, n);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    std::map<std::string, double> found;
    for (const simt::KernelProfile& profile : simt::profiles())
      for (const simt::NsightMetric& metric : simt::nsight_metrics(profile))
        found[metric.name] += metric.value;
    return found;
  };
  using Expected = std::vector<std::pair<std::string, double>>;
  const std::string global = "_pipe_lsu_mem_global_op_", shared = "_mem_shared_op_";
  const auto check = [](std::map<std::string, double> found, const Expected& expected) {
    for (const auto& [name, value] : expected) {
      INFO(name);
      REQUIRE(found.count(name) == 1);
      CHECK(found[name] == value);
    }
  };
  check(metrics(transpose_naive),
        {{"launch__grid_size", 4},
         {"launch__thread_count", 4096},
         {"smsp__warps_launched.sum", 128},
         {"smsp__sass_inst_executed_op_global_ld.sum", 128},
         {"smsp__sass_inst_executed_op_global_st.sum", 128},
         {"l1tex__t_requests" + global + "ld.sum", 128},
         {"l1tex__t_sectors" + global + "ld.sum", 128 * 4},
         {"l1tex__t_sectors" + global + "st.sum", 128 * 32},
         {"l1tex__t_bytes" + global + "st.sum", 128 * 32 * 32},
         {"l1tex__average_t_sectors_per_request" + global + "ld.ratio", 4},
         {"l1tex__average_t_sectors_per_request" + global + "st.ratio", 32},
         {"smsp__sass_inst_executed_op_shared_ld.sum", 0}});
  check(metrics(transpose_tiled<0>),
        {{"l1tex__t_sectors" + global + "st.sum", 128 * 4},
         {"smsp__sass_inst_executed_op_shared_ld.sum", 128},
         {"smsp__sass_inst_executed_op_shared_st.sum", 128},
         {"smsp__sass_l1tex_data_pipe_lsu_wavefronts" + shared + "ld.sum", 128 * 32},
         {"l1tex__data_pipe_lsu_wavefronts" + shared + "st.sum", 128},
         {"l1tex__data_bank_conflicts_pipe_lsu" + shared + "ld.sum", 128 * 31},
         {"l1tex__data_bank_conflicts_pipe_lsu" + shared + "st.sum", 0}});
}

TEST_CASE("SIMT_PROFILE=ncu prints Nsight Compute's names") {
  const tests::CommandResult result =
      tests::run_command("SIMT_PROFILE=ncu " + tests::this_program() + " 'run all kernels' 2>&1");
  INFO(result.output);
  const size_t kernel = result.output.find("\ntranspose_naive\n");
  REQUIRE(kernel != std::string::npos);
  const std::string name = "  l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum ";
  const size_t metric = result.output.find(name, kernel);
  REQUIRE(metric != std::string::npos);
  CHECK(std::atof(result.output.c_str() + metric + name.size()) == 16384);
}

TEST_CASE("SIMT_PROFILE=1 prints a table") {
  const tests::CommandResult result =
      tests::run_command("SIMT_PROFILE=1 " + tests::this_program() + " 'run all kernels' 2>&1");
  INFO(result.output);
  CHECK(result.output.find("transpose_naive: 1 launch, 16384 threads in 512 warps") !=
        std::string::npos);
  CHECK(result.output.find("simt/tests/profile_counts.cu:") != std::string::npos);
}
