// The shared memory of other blocks of a cluster: each mistake is named with its line, and the
// right kernel of the same shape is silent.
#include <cooperative_groups.h>

#include <cuda/ptx>

#include <cstdint>
#include <functional>
#include <string>

#include "simt/include/simt/profile.h"
#include "simt/tests/marked_line.hpp"
#include "tests/catch.hpp"

namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;

namespace {

constexpr unsigned kThreads = 32;

// Where the neighbour has the same variable.
template <class T>
__device__ T* of_neighbour(T* own) {
  auto cluster = cg::this_cluster();
  return cluster.map_shared_rank(own, (cluster.block_rank() + 1) % cluster.num_blocks());
}

// wrong: 1: written before the neighbour has written its own first value, 2: read before the
// neighbour has written, 3: the first values are missing, and nothing is written
__global__ void __cluster_dims__(2) to_the_neighbour(int* out, int wrong) {
  __shared__ int box[kThreads];
  auto cluster = cg::this_cluster();
  if (wrong != 3) box[threadIdx.x] = 1;  // here: first value
  if (wrong == 1)
    __syncthreads();
  else
    cluster.sync();
  if (wrong != 3) of_neighbour(box)[threadIdx.x] = 7 + static_cast<int>(threadIdx.x);  // here: sent
  if (wrong == 2)
    __syncthreads();
  else
    cluster.sync();
  out[blockIdx.x * kThreads + threadIdx.x] = box[threadIdx.x];  // here: taken
  cluster.sync();
}

// wrong: 1: far behind the end, 2: misaligned, 3: never written
__global__ void __cluster_dims__(2) from_the_neighbour(int* out, int wrong) {
  __shared__ int box[kThreads];
  auto cluster = cg::this_cluster();
  if (wrong != 3) box[threadIdx.x] = static_cast<int>(threadIdx.x);
  cluster.sync();
  const char* at = reinterpret_cast<const char*>(of_neighbour(box));
  if (wrong == 1) at += 4 * kThreads;
  if (wrong == 2) at += 2;
  const unsigned element = wrong == 2 ? 0 : threadIdx.x;
  out[blockIdx.x * kThreads + threadIdx.x] =
      reinterpret_cast<const int*>(at)[element];  // here: remote read
  cluster.sync();
}

// The same by instructions, with an address of mapa.
__global__ void __cluster_dims__(2) by_instructions(int* out, int wrong) {
  __shared__ int box[kThreads];
  auto cluster = cg::this_cluster();
  box[threadIdx.x] = 1;
  if (wrong != 1) cluster.sync();
  unsigned theirs;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(theirs)
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(box + threadIdx.x))),
                 "r"(cluster.block_rank() ^ 1));
  if (wrong == 2) theirs += 4 * kThreads;
  asm volatile("st.shared::cluster.u32 [%0], 7;" ::"r"(theirs) : "memory");  // here: instruction
  cluster.sync();
  out[blockIdx.x * kThreads + threadIdx.x] = box[threadIdx.x];
}

// The other blocks count in that of rank 0. wrong: 1: before it has set the count to 0, 2: for as
// far as the own block only, 3: one reads the count before all have come
__global__ void __cluster_dims__(4) counts(int* out, int wrong) {
  __shared__ int count;
  auto cluster = cg::this_cluster();
  if (threadIdx.x == 0) count = 0;  // here: count set
  if (wrong == 1)
    __syncthreads();
  else
    cluster.sync();
  int* all = cluster.map_shared_rank(&count, 0);
  if (cluster.block_rank() != 0) {
    if (wrong == 2)
      atomicAdd_block(all, 1);  // here: counted for one block
    else
      atomicAdd(all, 1);  // here: counted
  }
  if (wrong != 3) cluster.sync();
  if (cluster.block_rank() == 0 && threadIdx.x == 0)
    out[blockIdx.x / 4] = count;  // here: count read
  cluster.sync();
}

// Two threads of one block write one word of the neighbour's.
__global__ void __cluster_dims__(2) twice_to_one_word(int* out, bool wrong) {
  __shared__ int word;
  auto cluster = cg::this_cluster();
  word = 0;
  cluster.sync();
  if (threadIdx.x == 3) *of_neighbour(&word) = 3;
  if (!wrong) __syncthreads();
  if (threadIdx.x == 9) *of_neighbour(&word) = 9;  // here: second of one block
  cluster.sync();
  if (threadIdx.x == 0) out[blockIdx.x] = word;
}

// One block hands over by a word in the shared memory of the other. wrong: without a fence.
__global__ void __cluster_dims__(2) by_a_flag(int* out, bool wrong) {
  __shared__ int data, flag;
  auto cluster = cg::this_cluster();
  if (threadIdx.x == 0) flag = 0;
  cluster.sync();
  if (cluster.block_rank() == 0 && threadIdx.x == 0) {
    *cluster.map_shared_rank(&data, 1) = 42;  // here: data sent
    if (!wrong) __threadfence();
    *static_cast<volatile int*>(cluster.map_shared_rank(&flag, 1)) = 1;
  }
  if (cluster.block_rank() == 1 && threadIdx.x == 5) {
    while (*static_cast<volatile int*>(&flag) == 0) {
    }
    __threadfence();
    *out = data;  // here: data taken
  }
  cluster.sync();
}

// By an mbarrier of the other block. wrong: it does not wait.
__global__ void __cluster_dims__(2) by_an_mbarrier(int* out, bool wrong) {
  __shared__ int data[kThreads];
  __shared__ uint64_t full;
  auto cluster = cg::this_cluster();
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&full, kThreads);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  cluster.sync();
  of_neighbour(data)[threadIdx.x] = 2 * static_cast<int>(threadIdx.x);
  ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster,
                       of_neighbour(&full));
  while (!wrong && !ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &full, 0)) {
  }
  out[blockIdx.x * kThreads + threadIdx.x] = data[kThreads - 1 - threadIdx.x];  // here: not waited
  cluster.sync();
}

// A guess, and a swap that checks it, in the memory of rank 0.
__global__ void __cluster_dims__(2) most(int* out) {
  __shared__ int best;
  auto cluster = cg::this_cluster();
  if (threadIdx.x == 0) best = -1;
  cluster.sync();
  int* all = cluster.map_shared_rank(&best, 0);
  const int mine = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  int seen = *all;
  while (seen < mine) {
    const int assumed = seen;
    seen = atomicCAS(all, assumed, mine);
    if (seen == assumed) break;
  }
  cluster.sync();
  if (mine == 0) *out = best;
}

int* numbers() {
  int* data = nullptr;
  REQUIRE(cudaMalloc(&data, 65536) == cudaSuccess);
  REQUIRE(cudaMemset(data, 0, 65536) == cudaSuccess);
  return data;
}

void check_silent(const std::function<void()>& run) {
  run();
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  for (const simt::CheckReport& report : simt::check_reports()) {
    UNSCOPED_INFO(report.message);
    CHECK(report.check == "nothing");
  }
}

// A report of this kind names the lines with these marks.
void check_named(const std::string& check, const std::string& one, const std::string& other,
                 const std::function<void()>& run) {
  run();
  cudaDeviceSynchronize();
  cudaDeviceReset();
  const auto place = [](const std::string& mark) {
    return "check_clusters.cu:" + std::to_string(tests::line_of(mark));
  };
  bool found = false;
  for (const simt::CheckReport& report : simt::check_reports()) {
    UNSCOPED_INFO(report.message);
    found |= report.check == check && report.message.find(place(one)) != std::string::npos &&
             report.message.find(place(other)) != std::string::npos;
  }
  INFO("expected: " << check << " at " << one << " and " << other);
  CHECK(found);
}

}  // namespace

TEST_CASE("a value for the neighbour comes after its first one, and before it is read") {
  const auto run = [](int wrong) { to_the_neighbour<<<2, kThreads>>>(numbers(), wrong); };
  check_silent([&] { run(0); });
  check_named("race", "sent", "first value", [&] { run(1); });
  check_named("race", "sent", "taken", [&] { run(2); });
  check_named("uninitialized", "taken", "taken", [&] { run(3); });
}

TEST_CASE("what is read of a neighbour lies there, is aligned and was written") {
  const auto run = [](int wrong) { from_the_neighbour<<<2, kThreads>>>(numbers(), wrong); };
  check_silent([&] { run(0); });
  check_named("out-of-bounds", "remote read", "remote read", [&] { run(1); });
  check_named("misaligned", "remote read", "remote read", [&] { run(2); });
  check_named("uninitialized", "remote read", "remote read", [&] { run(3); });
}

TEST_CASE("instructions with an address of mapa are looked at, too") {
  const auto run = [](int wrong) { by_instructions<<<2, kThreads>>>(numbers(), wrong); };
  check_silent([&] { run(0); });
  check_named("race", "instruction", "instruction", [&] { run(1); });
  check_named("out-of-bounds", "instruction", "instruction", [&] { run(2); });
}

TEST_CASE("a count that the other blocks of a cluster add to") {
  const auto run = [](int wrong) { counts<<<8, kThreads>>>(numbers(), wrong); };
  check_silent([&] { run(0); });
  check_named("race", "counted", "count set", [&] { run(1); });
  check_named("race", "counted for one block", "counted for one block", [&] { run(2); });
  check_named("race", "counted", "count read", [&] { run(3); });
}

TEST_CASE("two threads of one block in the memory of another") {
  const auto run = [](bool wrong) { twice_to_one_word<<<2, kThreads>>>(numbers(), wrong); };
  check_silent([&] { run(false); });
  check_named("race", "second of one block", "second of one block", [&] { run(true); });
}

TEST_CASE("a word or an mbarrier of another block hands over") {
  check_silent([] { by_a_flag<<<2, kThreads>>>(numbers(), false); });
  check_named("race", "data taken", "data sent",
              [] { by_a_flag<<<2, kThreads>>>(numbers(), true); });
  check_silent([] { by_an_mbarrier<<<2, kThreads>>>(numbers(), false); });
  check_named("race", "not waited", "not waited",
              [] { by_an_mbarrier<<<2, kThreads>>>(numbers(), true); });
}

TEST_CASE("the first guess of a compare-and-swap in another block's memory") {
  check_silent([] { most<<<2, kThreads>>>(numbers()); });
}

TEST_CASE("what the blocks before have done in shared memory is forgotten") {
  check_silent([] { counts<<<16000, kThreads>>>(numbers(), 0); });
  check_named("race", "counted", "count read", [] { counts<<<16000, kThreads>>>(numbers(), 3); });
}
