// Scopes: what orders the threads of a block orders nothing for another block. Each case has a
// scope that reaches too short, and is named, and one that reaches far enough, and is silent.
#include <cuda/atomic>

#include <string>
#include <vector>

#include "simt/include/simt/profile.h"
#include "simt/tests/marked_line.hpp"
#include "tests/catch.hpp"

namespace {

using namespace tests;

// ---- counters

template <bool enough>
__global__ void count(int* n) {
  if (enough) {
    atomicAdd(n, 1);
  } else {
    atomicAdd_block(n, 1);  // here: counter
  }
}
// One scope reaches, the other one does not: both must.
__global__ void mixed_count(int* n) {
  if (blockIdx.x == 0) {
    atomicAdd(n, 1);
  } else {
    atomicMax_block(n, 5);  // here: mixed
  }
}
__global__ void count_in_each_block(int* n) { atomicAdd_block(&n[blockIdx.x], 1); }

// ---- messages, from thread 0 of the first block to thread 32 of the last one

__device__ bool sends() { return blockIdx.x == 0 && threadIdx.x == 0; }
__device__ bool receives() { return blockIdx.x == gridDim.x - 1 && threadIdx.x == 32; }

template <bool enough>
__global__ void fence_of_sender(int* data, int* flag, int* out) {
  if (sends()) {
    *data = 1;
    if (enough) {
      __threadfence();
    } else {
      __threadfence_block();
    }
    atomicExch(flag, 1);
  } else if (receives()) {
    while (atomicAdd(flag, 0) == 0) {
    }
    __threadfence();
    *out = *data;  // here: fence of sender
  }
}
template <bool enough>
__global__ void fence_of_receiver(int* data, int* flag, int* out) {
  if (sends()) {
    *data = 1;
    __threadfence();
    atomicExch(flag, 1);
  } else if (receives()) {
    while (atomicAdd(flag, 0) == 0) {
    }
    if (enough) {
      __threadfence();
    } else {
      __threadfence_block();
    }
    *out = *data;  // here: fence of receiver
  }
}
template <bool enough>
__global__ void scope_of_flag(int* data, int* flag, int* out) {
  if (sends()) {
    *data = 1;
    __threadfence();
    if (enough) {
      atomicExch(flag, 1);
    } else {
      atomicExch_block(flag, 1);
    }
  } else if (receives()) {
    while (atomicAdd(flag, 0) == 0) {
    }
    __threadfence();
    *out = *data;  // here: scope of flag
  }
}
template <cuda::thread_scope scope>
__global__ void released(int* data, int* flag, int* out) {
  cuda::atomic_ref<int, scope> ready(*flag);
  if (sends()) {
    *data = 1;
    ready.store(1, cuda::memory_order_release);
  } else if (receives()) {
    while (ready.load(cuda::memory_order_acquire) == 0) {
    }
    *out = *data;  // here: released
  }
}
template <cuda::thread_scope scope>
__global__ void fenced(int* data, int* flag, int* out) {
  cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
  if (sends()) {
    *data = 1;
    cuda::atomic_thread_fence(cuda::memory_order_release, scope);
    ready.store(1, cuda::memory_order_relaxed);
  } else if (receives()) {
    while (ready.load(cuda::memory_order_relaxed) == 0) {
    }
    cuda::atomic_thread_fence(cuda::memory_order_acquire, scope);
    *out = *data;  // here: fenced
  }
}
template <bool enough>
__global__ void by_ptx(int* data, int* flag, int* out) {
  if (sends()) {
    *data = 1;
    if (enough) {
      asm volatile("st.release.gpu.global.s32 [%0], 1;" ::"l"(flag) : "memory");
    } else {
      asm volatile("st.release.cta.global.s32 [%0], 1;" ::"l"(flag) : "memory");
    }
  } else if (receives()) {
    int seen = 0;
    while (seen == 0) asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(seen) : "l"(flag));
    *out = *data;  // here: by PTX
  }
}

// ---- a lock, in which every block adds

template <bool enough>
__global__ void locked(int* sum, int* lock) {
  if (threadIdx.x % 32 != 0) return;
  if (enough) {
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    __threadfence();
  } else {
    while (atomicCAS_block(lock, 0, 1) != 0) {
    }
    __threadfence_block();
  }
  *sum += 1;  // here: locked
  if (enough) {
    __threadfence();
    atomicExch(lock, 0);
  } else {
    __threadfence_block();
    atomicExch_block(lock, 0);
  }
}

// From hand to hand: inside of a block its scope is enough, between blocks it takes the device's.
__global__ void relay(int* data, int* flag, int* out) {
  const int hand = static_cast<int>(2 * blockIdx.x + threadIdx.x / 32);
  if (threadIdx.x % 32 != 0) return;
  if (hand > 0) {
    while (atomicAdd(flag, 0) != hand) {
    }
    if (hand == 2) {
      __threadfence();
    } else {
      __threadfence_block();
    }
  }
  *out = *data += 1;
  if (hand == 1) {
    __threadfence();
  } else {
    __threadfence_block();
  }
  atomicExch(flag, hand + 1);
}

int* zeros(size_t count) {
  int* made = nullptr;
  REQUIRE(cudaMalloc(&made, count * sizeof(int)) == cudaSuccess);
  REQUIRE(cudaMemset(made, 0, count * sizeof(int)) == cudaSuccess);
  return made;
}

// What was reported since the last call.
std::vector<simt::CheckReport> reports() {
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  return simt::check_reports();
}

// A race at the marked line, and why.
void check_named(const std::string& place) {
  const auto found = reports();
  const std::string line = "scopes.cu:" + std::to_string(line_of(place)) + ":";
  bool named = false;
  for (const simt::CheckReport& each : found) {
    CHECK(each.check == "race");
    named |= each.message.find(line) != std::string::npos &&
             each.message.find("what has the scope of a block orders nothing for another block") !=
                 std::string::npos;
  }
  INFO((found.empty() ? "no report" : found[0].message));
  CHECK(named);
}

void check_silent() {
  const auto found = reports();
  INFO((found.empty() ? "" : found[0].message));
  CHECK(found.empty());
}

using Message = void (*)(int*, int*, int*);
int send(Message kernel, unsigned blocks) {
  int *out = zeros(1), seen = 0;
  kernel<<<blocks, 64>>>(zeros(1), zeros(1), out);
  REQUIRE(cudaMemcpy(&seen, out, sizeof seen, cudaMemcpyDeviceToHost) == cudaSuccess);
  return seen;
}

}  // namespace

TEST_CASE("atomics of block scope race with those of other blocks") {
  count<true><<<4, 64>>>(zeros(1));
  check_silent();
  count_in_each_block<<<4, 64>>>(zeros(4));
  check_silent();
  count<false><<<1, 64>>>(zeros(1));
  check_silent();
  count<false><<<4, 64>>>(zeros(1));
  check_named("counter");
  mixed_count<<<2, 1>>>(zeros(1));
  check_named("mixed");
}

TEST_CASE("a message needs fences, flags, releases and acquires that reach its reader") {
  const struct {
    const char* place;
    Message too_short, enough;
  } cases[] = {
      {"fence of sender", fence_of_sender<false>, fence_of_sender<true>},
      {"fence of receiver", fence_of_receiver<false>, fence_of_receiver<true>},
      {"scope of flag", scope_of_flag<false>, scope_of_flag<true>},
      {"released", released<cuda::thread_scope_block>, released<cuda::thread_scope_device>},
      {"fenced", fenced<cuda::thread_scope_block>, fenced<cuda::thread_scope_system>},
      {"by PTX", by_ptx<false>, by_ptx<true>},
  };
  for (const auto& c : cases) {
    INFO(c.place);
    CHECK(send(c.enough, 2) == 1);
    check_silent();
    CHECK(send(c.enough, 1) == 1);
    check_silent();
    CHECK(send(c.too_short, 1) == 1);  // in one block it reaches
    check_silent();
    CHECK(send(c.too_short, 2) == 1);
    check_named(c.place);
  }
}

TEST_CASE("a lock of block scope guards nothing between blocks") {
  locked<true><<<4, 128>>>(zeros(1), zeros(1));
  check_silent();
  locked<false><<<1, 128>>>(zeros(1), zeros(1));
  check_silent();
  locked<false><<<4, 128>>>(zeros(1), zeros(1));
  check_named("locked");
}

TEST_CASE("a message may go through threads of a block by its scope, and on by the device's") {
  CHECK(send(relay, 2) == 4);
  check_silent();
}
