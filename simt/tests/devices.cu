// Several model GPUs: what the runtime says of them, kernels of theirs that wait for one another,
// and nine mistakes, each named at its lines.
#include <cuda/atomic>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "simt/include/simt/profile.h"
#include "simt/tests/marked_line.hpp"
#include "tests/by_itself.hpp"
#include "tests/catch.hpp"

namespace {

using namespace tests;

constexpr int kDevices = 8;
const std::string kSettings = "SIMT_DEVICES=8 SIMT_TIMEOUT=1";

enum class Bug { none, no_fence, device_fence, early_flag, waits_first };

__device__ void wait_for(const unsigned* flag) {
  while (*static_cast<const volatile unsigned*>(flag) == 0) {  // here: poll
  }
}

// Hands `mine` to the next device of a ring and adds what the one before has handed over. Each
// round has a flag of its own.
template <Bug bug>
__global__ void hand_on(const int* mine, int* next_inbox, unsigned* next_flag, const int* inbox,
                        const unsigned* flag, int* out, unsigned round) {
  const unsigned i = threadIdx.x;
  volatile unsigned* told = next_flag + round;
  if (bug == Bug::waits_first && i == 0) wait_for(flag + round);
  if (bug == Bug::early_flag && i == 0) {
    __threadfence_system();
    *told = 1;
  }
  next_inbox[i] = mine[i];  // here: push
  __syncthreads();
  if (i == 0) {
    if (bug == Bug::device_fence) __threadfence();
    if (bug == Bug::none || bug == Bug::waits_first) __threadfence_system();
    if (bug != Bug::early_flag) *told = 1;
    wait_for(flag + round);
    __threadfence_system();
  }
  __syncthreads();
  out[i] = mine[i] + inbox[i];  // here: take
}

__global__ void send(const int* mine, int* inbox, unsigned* flag) {
  inbox[threadIdx.x] = mine[threadIdx.x];
  __syncthreads();
  if (threadIdx.x != 0) return;
  __threadfence_system();
  *static_cast<volatile unsigned*>(flag) = 1;  // here: tell
}
__global__ void only_waits(const unsigned* flag) { wait_for(flag); }

constexpr int kCount = 64, kRounds = 10;

// Devices 0 to n - 1, each with memory, a stream and access to the memory of all others.
struct Ring {
  struct Member {
    int *mine, *inbox[kDevices], *out;
    unsigned* flag;
    cudaStream_t stream;
  };
  std::vector<Member> members;

  explicit Ring(int n) : members(n) {
    for (int d = 0; d < n; ++d) {
      Member& m = members[d];
      REQUIRE(cudaSetDevice(d) == cudaSuccess);
      for (int peer = 0; peer < n; ++peer) {
        const cudaError_t e = peer == d ? cudaSuccess : cudaDeviceEnablePeerAccess(peer, 0);
        REQUIRE((e == cudaSuccess || e == cudaErrorPeerAccessAlreadyEnabled));
      }
      cudaGetLastError();
      REQUIRE(cudaStreamCreate(&m.stream) == cudaSuccess);
      const std::vector<int> values(kCount, d + 1);
      for (int** array : {&m.mine, &m.out})
        REQUIRE(cudaMalloc(array, kCount * sizeof(int)) == cudaSuccess);
      for (int*& inbox : m.inbox) {
        REQUIRE(cudaMalloc(&inbox, kCount * sizeof(int)) == cudaSuccess);
        REQUIRE(cudaMemset(inbox, 0, kCount * sizeof(int)) == cudaSuccess);
      }
      REQUIRE(cudaMemcpy(m.mine, values.data(), kCount * sizeof(int), cudaMemcpyDefault) ==
              cudaSuccess);
      REQUIRE(cudaMalloc(&m.flag, (kRounds + 1) * sizeof(unsigned)) == cudaSuccess);
      REQUIRE(cudaMemset(m.flag, 0, (kRounds + 1) * sizeof(unsigned)) == cudaSuccess);
      REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    }
  }
  ~Ring() {
    for (Member& m : members) {
      for (int* inbox : m.inbox) cudaFree(inbox);
      cudaFree(m.mine), cudaFree(m.out), cudaFree(m.flag);
      cudaStreamDestroy(m.stream);
    }
    cudaSetDevice(0);
  }

  // As many inboxes in turn as there are devices: the flag that has come round once tells that the
  // next device has read what it got then.
  template <Bug bug = Bug::none>
  void go(unsigned round, size_t inboxes = 0) {
    for (size_t d = 0; d < members.size(); ++d) {
      Member &m = members[d], &next = members[(d + 1) % members.size()];
      const size_t box = round % (inboxes ? inboxes : members.size());
      cudaSetDevice(static_cast<int>(d));
      hand_on<bug><<<1, kCount, 0, m.stream>>>(m.mine, next.inbox[box], next.flag, m.inbox[box],
                                               m.flag, m.out, round);
    }
  }
  void wait() {
    for (size_t d = 0; d < members.size(); ++d) {
      cudaSetDevice(static_cast<int>(d));
      cudaDeviceSynchronize();
    }
  }
};

// Every report is of this check, and one names both places (one of them may be "").
void check_named(const std::string& check, const std::string& here, const std::string& there,
                 const std::string& why) {
  const auto found = simt::check_reports();
  const auto line = [](const std::string& place) {
    return "devices.cu:" + std::to_string(line_of(place));
  };
  bool named = false;
  for (const simt::CheckReport& each : found) {
    CHECK(each.check == check);
    const auto says = [&](const std::string& what) {
      return each.message.find(what) != std::string::npos;
    };
    named |= says(line(here)) && (there.empty() || says(line(there))) && says(why);
  }
  INFO(here << ": " << (found.empty() ? "no report" : found[0].message));
  CHECK(named);
}

void check_silent() {
  const auto found = simt::check_reports();
  INFO((found.empty() ? "" : found[0].message));
  CHECK(found.empty());
}

constexpr const char* kFlag = "hand over by a flag";
constexpr const char* kScope = "what has the scope of a device orders nothing for another device";

__global__ void read_peer(const int* there, int* here) {
  here[threadIdx.x] = there[threadIdx.x];  // here: pull
}

__global__ void write_slice(int* result, int slice, int device) {
  result[slice * 32 + threadIdx.x] = device + 1;  // here: slice
}

template <bool system>
__global__ void count(int* n) {
  if (system) {
    atomicAdd_system(n, 1);
  } else {
    atomicAdd(n, 1);  // here: counter
  }
}

// A value and its flag in one word, which orders itself.
__global__ void send_word(unsigned long long* there) {
  cuda::atomic_ref<unsigned long long, cuda::thread_scope_system>(there[threadIdx.x])
      .store(1ull << 32 | threadIdx.x, cuda::memory_order_relaxed);
}
__global__ void take_word(unsigned long long* here, int* out) {
  cuda::atomic_ref<unsigned long long, cuda::thread_scope_system> word(here[threadIdx.x]);
  unsigned long long found = 0;
  do {
    found = word.load(cuda::memory_order_relaxed);
  } while (found >> 32 != 1);
  out[threadIdx.x] = static_cast<int>(found);
}

// By TMA: from a block's shared memory into a peer's, behind it a flag, and from there back again.
__device__ unsigned address_of(const void* shared) {
  return static_cast<unsigned>(__cvta_generic_to_shared(shared));
}
__global__ void send_by_tma(int* there, unsigned* flag) {
  __shared__ __align__(16) int tile[kCount];
  tile[threadIdx.x] = static_cast<int>(threadIdx.x) + 7;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x != 0) return;
  asm volatile(  // here: bulk store
      "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(there),
      "r"(address_of(tile)), "r"(kCount * 4)
      : "memory");
  asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
  __threadfence_system();
  *static_cast<volatile unsigned*>(flag) = 1;
}
__global__ void take_sent(const int* here, const unsigned* flag, int* out) {
  if (threadIdx.x == 0) {
    wait_for(flag);
    __threadfence_system();
  }
  __syncthreads();
  out[threadIdx.x] = here[threadIdx.x];
}
__global__ void fetch_by_tma(const int* there, int* out) {
  __shared__ __align__(16) int tile[kCount];
  __shared__ unsigned long long arrived;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address_of(&arrived)));
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address_of(&arrived)),
        "r"(kCount * 4));
    asm volatile(  // here: bulk load
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
            "r"(address_of(tile)),
        "l"(there), "r"(kCount * 4), "r"(address_of(&arrived))
        : "memory");
  }
  __syncthreads();
  unsigned done = 0;
  while (!done) {
    asm volatile(
        "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; "
        "selp.u32 %0, 1, 0, p; }"
        : "=r"(done)
        : "r"(address_of(&arrived))
        : "memory");
  }
  out[threadIdx.x] = tile[threadIdx.x];
}

int* on_device(int device, size_t bytes = kCount * sizeof(int)) {
  int* made = nullptr;
  REQUIRE(cudaSetDevice(device) == cudaSuccess);
  REQUIRE(cudaMalloc(&made, bytes) == cudaSuccess);
  REQUIRE(cudaMemset(made, 0, bytes) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  return made;
}

}  // namespace

TEST_CASE("devices by themselves", "[.]") {
  int count = 0, device = -1, can = -1;
  CHECK(cudaGetDeviceCount(&count) == cudaSuccess);
  CHECK(count == kDevices);
  CHECK(cudaSetDevice(kDevices) == cudaErrorInvalidDevice);
  CHECK(cudaSetDevice(5) == cudaSuccess);
  std::thread([&] { cudaGetDevice(&device); }).join();
  CHECK(device == 0);  // each host thread has its own
  cudaGetDevice(&device);
  CHECK(device == 5);

  CHECK(cudaDeviceCanAccessPeer(&can, 5, 6) == cudaSuccess);
  CHECK(can == 1);
  CHECK(cudaDeviceCanAccessPeer(&can, 5, 5) == cudaSuccess);
  CHECK(can == 0);
  CHECK(cudaDeviceEnablePeerAccess(5, 0) == cudaErrorInvalidDevice);
  CHECK(cudaDeviceEnablePeerAccess(6, 1) == cudaErrorInvalidValue);
  CHECK(cudaDeviceDisablePeerAccess(6) == cudaErrorPeerAccessNotEnabled);
  CHECK(cudaDeviceEnablePeerAccess(6, 0) == cudaSuccess);
  CHECK(cudaDeviceEnablePeerAccess(6, 0) == cudaErrorPeerAccessAlreadyEnabled);
  CHECK(cudaDeviceDisablePeerAccess(6) == cudaSuccess);

  int *five = on_device(5), *six = on_device(6);
  cudaPointerAttributes attributes;
  CHECK(cudaPointerGetAttributes(&attributes, six) == cudaSuccess);
  CHECK(attributes.device == 6);
  CHECK(cudaMemcpyPeer(six, 6, five, 5, 64) == cudaSuccess);
  CHECK(cudaMemcpyPeer(six, 5, five, 6, 64) == cudaErrorInvalidValue);
  CHECK(cudaMemcpyPeer(six, 8, five, 5, 64) == cudaErrorInvalidDevice);

  cudaStream_t of_six, of_five;
  cudaEvent_t event;
  REQUIRE(cudaStreamCreate(&of_six) == cudaSuccess);
  REQUIRE(cudaSetDevice(5) == cudaSuccess);
  REQUIRE(cudaStreamCreate(&of_five) == cudaSuccess);
  REQUIRE(cudaEventCreate(&event) == cudaSuccess);
  CHECK(cudaEventRecord(event, of_six) == cudaErrorInvalidResourceHandle);
  CHECK(cudaEventRecord(event, of_five) == cudaSuccess);
  CHECK(cudaStreamWaitEvent(of_six, event, 0) == cudaSuccess);
  CHECK(cudaFree(six) == cudaSuccess);
  CHECK(cudaFree(five) == cudaSuccess);
  check_silent();
}

// The Programming Guide says that it fails; CUDA 13.0 on an H200 runs it on the stream's device.
TEST_CASE("a launch into a stream of another device", "[.]") {
  int* six = on_device(6);
  cudaStream_t of_six;
  REQUIRE(cudaStreamCreate(&of_six) == cudaSuccess);
  REQUIRE(cudaSetDevice(5) == cudaSuccess);
  read_peer<<<1, 1, 0, of_six>>>(six, six);  // here: elsewhere
  CHECK(cudaGetLastError() == cudaErrorInvalidResourceHandle);
  check_named("launch", "elsewhere", "", "a stream of device 6, and the current device is 5");
}

TEST_CASE("kernels of several devices wait for one another", "[.]") {
  for (const int n : {2, 3, 4, 8}) {
    Ring ring(n);
    for (unsigned round = 1; round <= kRounds; ++round) ring.go(round);
    for (int d = 0; d < n; ++d) {
      cudaSetDevice(d);
      std::vector<int> out(kCount);
      REQUIRE(cudaMemcpyAsync(out.data(), ring.members[d].out, kCount * sizeof(int),
                              cudaMemcpyDefault, ring.members[d].stream) == cudaSuccess);
      const int wanted = d + 1 + ((d + n - 1) % n + 1);
      CHECK(std::count(out.begin(), out.end(), wanted) == kCount);
    }
    check_silent();
  }

  // What a kernel has waited for, its stream has: a copy behind it may read what the peer pushed.
  Ring ring(2);
  ring.go(1);
  std::vector<int> inbox(kCount);
  cudaSetDevice(1);
  REQUIRE(cudaMemcpyAsync(inbox.data(), ring.members[1].inbox[1], kCount * sizeof(int),
                          cudaMemcpyDefault, ring.members[1].stream) == cudaSuccess);
  CHECK(inbox[5] == 1);
  check_silent();

  // Nor is the flag wanted any more, and the fill that resets it comes after the store that set it.
  for (unsigned round = 2; round <= 3; ++round) {
    ring.go(round);
    for (int d = 0; d < 2; ++d) {
      cudaSetDevice(d);
      REQUIRE(cudaMemsetAsync(ring.members[d].flag + round, 0, sizeof(unsigned),
                              ring.members[d].stream) == cudaSuccess);
    }
    ring.wait();
    check_silent();
  }
  // The end of a kernel does what a fence does.
  const Ring::Member &from = ring.members[0], &to = ring.members[1];
  cudaSetDevice(0);
  send<<<1, kCount, 0, from.stream>>>(from.mine, to.inbox[0], to.flag + 4);
  cudaSetDevice(1);
  only_waits<<<1, 1, 0, to.stream>>>(to.flag + 4);
  REQUIRE(cudaMemcpyAsync(inbox.data(), to.inbox[0], kCount * sizeof(int), cudaMemcpyDefault,
                          to.stream) == cudaSuccess);
  REQUIRE(cudaMemsetAsync(to.flag + 4, 0, sizeof(unsigned), to.stream) == cudaSuccess);
  ring.wait();
  CHECK(inbox[5] == 1);
  check_silent();

  auto* words = reinterpret_cast<unsigned long long*>(on_device(1, kCount * 8));
  int* out = on_device(1);
  take_word<<<1, kCount>>>(words, out);
  cudaSetDevice(0);
  send_word<<<1, kCount>>>(words);
  ring.wait();
  check_silent();

  int* n = on_device(0);
  for (const int d : {0, 1}) {
    cudaSetDevice(d);
    count<true><<<2, 32>>>(n);
  }
  ring.wait();
  int found = 0;
  CHECK(cudaMemcpy(&found, n, sizeof found, cudaMemcpyDefault) == cudaSuccess);
  CHECK(found == 128);
  check_silent();
}

TEST_CASE("bytes between devices are counted", "[.]") {
  Ring ring(2);
  simt::profile_reset();
  ring.go(1);
  ring.wait();
  const auto pushed = simt::profile("hand_on").beside;
  CHECK(pushed.link_read_bytes == 0);
  CHECK(pushed.link_written_bytes == 2 * (kCount * sizeof(int) + sizeof(unsigned)));
  cudaSetDevice(0);
  read_peer<<<1, kCount>>>(ring.members[1].mine, ring.members[0].out);
  cudaMemcpyPeer(ring.members[0].out, 0, ring.members[1].mine, 1, 100);
  ring.wait();
  simt::profile_stop();
  CHECK(simt::profile("read_peer").beside.link_read_bytes == kCount * sizeof(int));
  CHECK(simt::profile("read_peer").beside.link_written_bytes == 0);
  CHECK(simt::profile("copies between devices").beside.link_written_bytes == 100);
  check_silent();
}

TEST_CASE("TMA copies to and from a peer's memory", "[.]") {
  constexpr std::uint64_t kBytes = kCount * sizeof(int);
  for (const int target : {1, 7}) {
    int *here = on_device(0), *there = on_device(target), *out = on_device(target);
    auto* flag = reinterpret_cast<unsigned*>(on_device(target));
    cudaSetDevice(0);
    REQUIRE(cudaDeviceEnablePeerAccess(target, 0) == cudaSuccess);
    simt::profile_reset();
    cudaSetDevice(target);
    take_sent<<<1, kCount>>>(there, flag, out);
    cudaSetDevice(0);
    send_by_tma<<<1, kCount>>>(there, flag);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    fetch_by_tma<<<1, kCount>>>(there, here);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    cudaSetDevice(target);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    simt::profile_stop();
    std::vector<int> wanted(kCount), found(kCount);
    for (int i = 0; i < kCount; ++i) wanted[i] = i + 7;
    for (const int* array : {here, out}) {
      REQUIRE(cudaMemcpy(found.data(), array, kBytes, cudaMemcpyDefault) == cudaSuccess);
      CHECK(found == wanted);
    }
    const auto sent = simt::profile("send_by_tma").beside;
    CHECK(sent.link_written_bytes == kBytes + sizeof(unsigned));
    CHECK(sent.link_read_bytes == 0);
    const auto fetched = simt::profile("fetch_by_tma").beside;
    CHECK(fetched.link_read_bytes == kBytes);
    CHECK(fetched.link_written_bytes == 0);
    CHECK(simt::profile("take_sent").beside.link_read_bytes == 0);
    check_silent();
  }
}

TEST_CASE("mistakes between devices are named at their lines", "[.]") {
  {
    Ring ring(2);
    ring.go<Bug::no_fence>(1);
    ring.wait();
    check_named("unordered", "push", "take", kFlag);
  }
  {
    Ring ring(2);
    ring.go<Bug::device_fence>(1);
    ring.wait();
    check_named("unordered", "push", "take", kScope);
  }
  {
    Ring ring(2);
    ring.go<Bug::early_flag>(1);
    ring.wait();
    check_named("unordered", "push", "take", kFlag);
  }
  {
    Ring ring(2);  // one inbox: the next message comes before the last one was read
    ring.go(1, 1);
    ring.go(2, 1);
    ring.wait();
    check_named("unordered", "push", "take", kFlag);
  }
  {
    Ring ring(2);  // both write the first slice
    for (const int d : {0, 1}) {
      cudaSetDevice(d);
      write_slice<<<1, 32, 0, ring.members[d].stream>>>(ring.members[0].out, 0, d);
    }
    ring.wait();
    check_named("unordered", "slice", "", "device 1 writes");
  }
  {
    Ring ring(2);
    int* n = on_device(0);
    for (const int d : {0, 1}) {
      cudaSetDevice(d);
      count<false><<<1, 32>>>(n);
    }
    ring.wait();
    check_named("unordered", "counter", "", kScope);
  }
  {
    Ring ring(2);  // nobody tells the second stream to wait for the copy
    cudaSetDevice(0);
    cudaMemcpyPeerAsync(ring.members[1].inbox[0], 1, ring.members[0].mine, 0, kCount * sizeof(int),
                        ring.members[0].stream);  // here: peer copy
    cudaSetDevice(1);
    read_peer<<<1, kCount, 0, ring.members[1].stream>>>(ring.members[1].inbox[0],
                                                        ring.members[1].out);
    ring.wait();
    check_named("unordered", "pull", "", "cudaStreamWaitEvent");
  }
  {
    Ring ring(2);  // a flag that a third stream sets, too
    const Ring::Member &from = ring.members[0], &to = ring.members[1];
    cudaSetDevice(0);
    send<<<1, kCount, 0, from.stream>>>(from.mine, to.inbox[0], to.flag);
    cudaSetDevice(1);
    cudaMemsetAsync(to.flag, 1, sizeof(unsigned), to.stream);  // here: fill of a flag
    ring.wait();
    check_named("unordered", "tell", "fill of a flag", "cudaStreamWaitEvent");
  }
}

TEST_CASE("access that was not enabled", "[.]") {
  int *there = on_device(1), *here = on_device(0);
  read_peer<<<1, 32>>>(there, here);
  CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
  check_named("peer-access", "pull", "", "cudaDeviceEnablePeerAccess(1, 0)");
}

TEST_CASE("TMA to memory whose access was not enabled", "[.]") {
  int* there = on_device(1);
  auto* flag = reinterpret_cast<unsigned*>(on_device(0));
  send_by_tma<<<1, kCount>>>(there, flag);
  CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
  check_named("peer-access", "bulk store", "", "cudaDeviceEnablePeerAccess(1, 0)");
}

TEST_CASE("TMA from memory whose access was not enabled", "[.]") {
  int *there = on_device(1), *here = on_device(0);
  fetch_by_tma<<<1, kCount>>>(there, here);
  CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
  check_named("peer-access", "bulk load", "", "cudaDeviceEnablePeerAccess(1, 0)");
}

TEST_CASE("all wait before they send", "[.]") {
  Ring ring(2);
  ring.go<Bug::waits_first>(1);
  ring.wait();
  check_named("deadlock", "poll", "", "loops at");
}

TEST_CASE("several devices") {
  passes_by_itself(kSettings, "devices by themselves");
  passes_by_itself(kSettings, "kernels of several devices wait for one another");
  passes_by_itself(kSettings + " SIMT_THREADS=1",
                   "kernels of several devices wait for one another");
  passes_by_itself(kSettings + " SIMT_STREAMS=deferred",
                   "kernels of several devices wait for one another");
  passes_by_itself(kSettings, "bytes between devices are counted");
  passes_by_itself(kSettings, "TMA copies to and from a peer's memory");
}

TEST_CASE("mistakes between several devices") {
  passes_by_itself(kSettings, "mistakes between devices are named at their lines");
  passes_by_itself(kSettings + " SIMT_THREADS=1 SIMT_ORDER=reverse",
                   "mistakes between devices are named at their lines");
  passes_by_itself(kSettings, "access that was not enabled");
  passes_by_itself(kSettings, "TMA to memory whose access was not enabled");
  passes_by_itself(kSettings, "TMA from memory whose access was not enabled");
  passes_by_itself(kSettings, "all wait before they send");
  passes_by_itself(kSettings, "a launch into a stream of another device");
}
