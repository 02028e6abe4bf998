// Host, streams and copies: two that touch the same bytes, and nothing orders them. Each case is
// run as it is wrong, and is named with both of its lines, and mended, and is silent. Which of the
// two comes first is left to chance: either way it is found.
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "simt/include/simt/profile.h"
#include "simt/tests/marked_line.hpp"
#include "tests/catch.hpp"

namespace {

using tests::line_of;

__global__ void fill(int* a) {
  a[threadIdx.x] = 1;  // here: kernel writes
}
__global__ void twice(const int* a, int* b) {
  b[threadIdx.x] = 2 * a[threadIdx.x];  // here: kernel reads
}
__global__ void count(int* n) { atomicAdd(n, 1); }
__global__ void answer(volatile int* question, volatile int* flag, int* data) {
  while (*question == 0) {
  }
  *data = 42;
  __threadfence_system();
  *flag = 1;
}

__global__ void hold(const volatile int* go) {
  while (*go == 0) {
  }
}

constexpr size_t kBytes = 32 * sizeof(int);
constexpr cudaMemcpyKind kIn = cudaMemcpyHostToDevice, kOut = cudaMemcpyDeviceToHost;

// Of the host, unknown to the checks.
__attribute__((no_sanitize("thread"), noinline)) int unseen_look(const int* at) {
  return *const_cast<const volatile int*>(at);
}

// What every case has: device, page-locked and managed memory, filled, and two streams.
struct World {
  int *device, *other, *pinned, *managed;
  cudaStream_t s, t, free_running;
  cudaEvent_t event;
  int seen = 0;
  World() {
    cudaMalloc(&device, kBytes), cudaMalloc(&other, kBytes);
    cudaMallocHost(&pinned, kBytes), cudaMallocManaged(&managed, kBytes);
    cudaMemset(device, 0, kBytes), cudaMemset(other, 0, kBytes);
    for (int i = 0; i < 32; ++i) pinned[i] = managed[i] = 7;
    cudaStreamCreate(&s), cudaStreamCreate(&t);
    cudaStreamCreateWithFlags(&free_running, cudaStreamNonBlocking);
    cudaEventCreate(&event);
    cudaDeviceSynchronize();
  }
  ~World() {
    cudaDeviceSynchronize();
    cudaStreamDestroy(s), cudaStreamDestroy(t), cudaStreamDestroy(free_running);
    cudaEventDestroy(event);
    cudaFree(device), cudaFree(other), cudaFree(managed), cudaFreeHost(pinned);
  }
  // The second stream goes on when the first one has come here.
  void join() { cudaEventRecord(event, s), cudaStreamWaitEvent(t, event); }
};

struct Case {
  const char *name, *one, *other;         // the places that are named
  std::function<void(World&, bool)> run;  // mended: true
};

const std::vector<Case>& cases() {
  static const std::vector<Case> list = {
      {"managed memory, read while a kernel writes it", "early read", "kernel writes",
       [](World& w, bool mended) {
         fill<<<1, 32>>>(w.managed);
         if (mended) cudaDeviceSynchronize();
         w.seen = w.managed[31];  // here: early read
       }},
      {"managed memory, written while a kernel reads it", "early write", "kernel reads",
       [](World& w, bool mended) {
         twice<<<1, 32, 0, w.s>>>(w.managed, w.device);
         if (mended) cudaStreamSynchronize(w.s);
         w.managed[5] = 8;  // here: early write
       }},
      {"page-locked memory that a kernel writes", "mapped read", "kernel writes",
       [](World& w, bool mended) {
         fill<<<1, 32, 0, w.s>>>(w.pinned);
         cudaEventRecord(w.event, w.s);
         if (mended) cudaEventSynchronize(w.event);
         w.seen = w.pinned[3];  // here: mapped read
       }},
      {"a copy to the host, read before it is done", "copy read", "copy out",
       [](World& w, bool mended) {
         cudaMemcpyAsync(w.pinned, w.device, kBytes, kOut, w.s);  // here: copy out
         if (mended) cudaStreamSynchronize(w.s);
         w.seen = w.pinned[31];  // here: copy read
       }},
      {"a buffer filled anew under a copy", "refill", "copy in",
       [](World& w, bool mended) {
         cudaMemcpyAsync(w.device, w.pinned, kBytes, kIn, w.s);  // here: copy in
         if (mended) cudaStreamSynchronize(w.s);
         w.pinned[30] = 0;  // here: refill
       }},
      {"a wait for another stream", "wrong wait", "copy of s",
       [](World& w, bool mended) {
         cudaMemcpyAsync(w.pinned, w.device, kBytes, kOut, w.s);  // here: copy of s
         cudaStreamSynchronize(mended ? w.s : w.t);
         w.seen = w.pinned[0];  // here: wrong wait
       }},
      {"a kernel in another stream than its copy", "kernel reads", "copy beside",
       [](World& w, bool mended) {
         cudaMemcpyAsync(w.device, w.pinned, kBytes, kIn, w.s);  // here: copy beside
         if (mended) w.join();
         twice<<<1, 32, 0, w.t>>>(w.device, w.other);
       }},
      {"two kernels in two streams", "kernel reads", "kernel writes",
       [](World& w, bool mended) {
         fill<<<1, 32, 0, w.s>>>(w.device);
         twice<<<1, 32, 0, mended ? w.s : w.t>>>(w.device, w.other);
       }},
      {"a stream that does not wait for the default one", "kernel reads", "fill",
       [](World& w, bool mended) {
         cudaMemsetAsync(w.device, 1, kBytes);  // here: fill
         twice<<<1, 32, 0, mended ? w.t : w.free_running>>>(w.device, w.other);
       }},
      {"a fill beside a copy", "fill of s", "copy of t",
       [](World& w, bool mended) {
         cudaMemsetAsync(w.device, 1, kBytes, w.s);  // here: fill of s
         if (mended) w.join();
         cudaMemcpyAsync(w.pinned, w.device, kBytes, kOut, w.t);  // here: copy of t
       }},
      {"memory freed in one stream, used in another", "kernel writes", "free",
       [](World& w, bool mended) {
         int* memory = nullptr;
         cudaMallocAsync(&memory, kBytes, w.s);
         cudaStreamSynchronize(w.s);
         fill<<<1, 32, 0, w.s>>>(memory);
         fill<<<1, 32, 0, w.s>>>(w.managed);
         if (mended) w.join();
         while (unseen_look(w.managed) != 1) {  // or the kernel would write what is gone
         }
         cudaFreeAsync(memory, w.t);  // here: free
       }},
      {"a graph that the host does not wait for", "after the graph", "kernel writes",
       [](World& w, bool mended) {
         cudaGraph_t graph;
         cudaGraphExec_t executable;
         cudaStreamBeginCapture(w.s, cudaStreamCaptureModeGlobal);
         fill<<<1, 32, 0, w.s>>>(w.managed);
         cudaStreamEndCapture(w.s, &graph);
         cudaGraphInstantiate(&executable, graph, 0);
         cudaGraphLaunch(executable, w.s);
         if (mended) cudaStreamSynchronize(w.s);
         w.seen = w.managed[2];  // here: after the graph
         cudaDeviceSynchronize();
         cudaGraphExecDestroy(executable), cudaGraphDestroy(graph);
       }},
  };
  return list;
}

std::vector<simt::CheckReport> reports() {
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  return simt::check_reports();
}

void check_silent() {
  const auto found = reports();
  INFO((found.empty() ? "" : found[0].message));
  CHECK(found.empty());
}

bool names(const simt::CheckReport& report, const char* place) {
  const std::string line = "unordered.cu:" + std::to_string(line_of(place)) + ":";
  return report.message.find("simt/tests/" + line) != std::string::npos;
}

struct Signal {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
};

}  // namespace

TEST_CASE("what host, streams and copies do at the same time") {
  for (const Case& c : cases()) {
    INFO(c.name);
    {
      World w;
      c.run(w, true);
      check_silent();
    }
    World w;
    c.run(w, false);
    const auto found = reports();
    REQUIRE(found.size() == 1);
    INFO(found[0].message);
    CHECK(found[0].check == "unordered");
    CHECK(names(found[0], c.one));
    CHECK(names(found[0], c.other));
  }
}

TEST_CASE("a copy that the host waits for, beside a kernel that runs before or after it") {
  World w;
  volatile int* go = w.managed;
  *go = 0;
  const auto copy = [&] {
    int host[32];
    cudaMemcpy(host, w.device, kBytes, kOut);  // here: waited copy
    w.seen = host[0];
  };
  const auto check_named = [](const char* one, const char* other) {
    const auto found = reports();
    REQUIRE(found.size() == 1);
    INFO(found[0].message);
    CHECK(found[0].check == "unordered");
    CHECK(names(found[0], one));
    CHECK(names(found[0], other));
  };
  SECTION("after it") {
    hold<<<1, 1, 0, w.free_running>>>(go);
    fill<<<1, 32, 0, w.free_running>>>(w.device);
    copy();
    *go = 1;
    check_named("waited copy", "kernel writes");
  }
  SECTION("before it") {
    fill<<<1, 32, 0, w.free_running>>>(w.device);
    fill<<<1, 32, 0, w.free_running>>>(w.managed);
    while (unseen_look(w.managed) != 1) {
    }
    copy();
    check_named("waited copy", "kernel writes");
  }
  SECTION("the kernel only reads") {
    hold<<<1, 1, 0, w.free_running>>>(go);
    twice<<<1, 32, 0, w.free_running>>>(w.device, w.other);
    copy();
    *go = 1;
    check_silent();
  }
  SECTION("the kernel is asked for after it") {
    hold<<<1, 1, 0, w.free_running>>>(go);
    copy();
    fill<<<1, 32, 0, w.free_running>>>(w.device);
    fill<<<1, 32, 0, w.t>>>(w.other);
    *go = 1;
    check_silent();
  }
  SECTION("it takes no other copy's place") {
    cudaMemcpyAsync(w.pinned, w.device, kBytes, kOut, w.free_running);  // here: copy not waited for
    copy();
    copy();
    fill<<<1, 32, 0, w.s>>>(w.device);
    check_named("copy not waited for", "kernel writes");
  }
}

TEST_CASE("what has an order, in whatever way, is silent") {
  World w;
  SECTION("other elements of one array") {
    fill<<<1, 16>>>(w.managed);
    w.managed[20] = 3;
    check_silent();
  }
  SECTION("two that read") {
    twice<<<1, 32, 0, w.s>>>(w.managed, w.device);
    twice<<<1, 32, 0, w.t>>>(w.managed, w.other);
    w.seen = w.managed[0];
    check_silent();
  }
  SECTION("atomics of two kernels") {
    count<<<4, 32, 0, w.s>>>(w.device);
    count<<<4, 32, 0, w.t>>>(w.device);
    check_silent();
  }
  SECTION("the default stream waits for the others, and they for it") {
    fill<<<1, 32, 0, w.s>>>(w.device);
    twice<<<1, 32>>>(w.device, w.other);
    twice<<<1, 32, 0, w.t>>>(w.other, w.device);
    cudaMemcpy(w.pinned, w.device, kBytes, kOut);
    w.seen = w.pinned[0];
    CHECK(w.seen == 4);
    check_silent();
  }
  SECTION("it waits for what a destroyed stream has begun, too") {
    cudaStream_t gone;
    cudaStreamCreate(&gone);
    fill<<<1, 32, 0, gone>>>(w.device);
    cudaStreamSynchronize(gone);
    cudaStreamDestroy(gone);
    twice<<<1, 32, 0, w.t>>>(w.device, w.other);
    check_silent();
  }
  SECTION("a stream after the host has waited for another") {
    fill<<<1, 32, 0, w.s>>>(w.device);
    cudaStreamSynchronize(w.s);
    twice<<<1, 32, 0, w.t>>>(w.device, w.other);
    check_silent();
  }
  SECTION("a query that has succeeded") {
    fill<<<1, 32, 0, w.s>>>(w.managed);
    while (cudaStreamQuery(w.s) != cudaSuccess) {
    }
    w.seen = w.managed[0];
    CHECK(w.seen == 1);
    check_silent();
  }
  SECTION("a host function tells the host") {
    Signal signal;
    fill<<<1, 32, 0, w.s>>>(w.managed);
    cudaLaunchHostFunc(
        w.s,
        [](void* data) {
          Signal& mine = *static_cast<Signal*>(data);
          std::lock_guard<std::mutex> lock(mine.mutex);
          mine.done = true;
          mine.changed.notify_all();
        },
        &signal);
    {
      std::unique_lock<std::mutex> lock(signal.mutex);
      signal.changed.wait(lock, [&] { return signal.done; });
    }
    w.seen = w.managed[0];
    CHECK(w.seen == 1);
    check_silent();
  }
  SECTION("host and kernel talk by volatile words") {
    w.managed[0] = w.managed[1] = w.managed[2] = 0;
    answer<<<1, 1>>>(w.managed, w.managed + 1, w.managed + 2);
    *const_cast<volatile int*>(w.managed) = 1;
    while (*const_cast<volatile int*>(w.managed + 1) == 0) {
    }
    w.seen = w.managed[2];
    CHECK(w.seen == 42);
    check_silent();
  }
  SECTION("an array that was freed and made again") {
    for (int i = 0; i < 3; ++i) {
      int* again = nullptr;
      cudaMallocManaged(&again, kBytes);
      again[0] = i;
      fill<<<1, 32>>>(again);
      cudaFree(again);
    }
    check_silent();
  }
}

TEST_CASE("bytes that nobody wrote, copied to the host") {
  int *half = nullptr, host[64];
  REQUIRE(cudaMalloc(&half, sizeof host) == cudaSuccess);
  fill<<<1, 32>>>(half);
  SECTION("some of them") {
    cudaMemcpy(host, half, sizeof host, kOut);  // here: unwritten
    const auto found = reports();
    REQUIRE(found.size() == 1);
    INFO(found[0].message);
    CHECK(found[0].check == "uninitialized");
    CHECK(found[0].line == static_cast<unsigned>(line_of("unwritten")));
    CHECK(found[0].message.find("of which nobody wrote 128") != std::string::npos);
  }
  SECTION("none of them") {
    cudaMemcpy(host, half, kBytes, kOut);
    check_silent();
  }
  REQUIRE(cudaFree(half) == cudaSuccess);
}
