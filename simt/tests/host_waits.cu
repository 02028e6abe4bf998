// What the host does without looking or waiting: a program that ends before its kernels, and calls
// that fail while nobody takes their result. Each program runs in a process of its own: this one
// starts itself with PROGRAM=name.
#include <cooperative_groups.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>

#include "simt/include/simt/profile.h"
#include "simt/tests/marked_line.hpp"
#include "tests/catch.hpp"
#include "tests/run_command.hpp"

namespace {

__constant__ float weights[4];

__global__ void hello() { printf("hello\n"); }
__global__ void fill(int* a) { a[threadIdx.x] = 1; }
__global__ void make_list(int** list) { *list = new int[3]; }  // here: forgotten list
__global__ void meet(int* a) {
  cooperative_groups::this_grid().sync();
  a[threadIdx.x] = 2;
}

int* array() {
  int* a = nullptr;
  if (cudaMalloc(&a, 128) != cudaSuccess) exit(3);
  return a;
}
struct Streams {
  cudaStream_t s, t;
  cudaEvent_t event;
  Streams() {
    cudaStreamCreate(&s), cudaStreamCreate(&t);
    cudaEventCreate(&event);
  }
};

// A program, and what it is told: the check and the place; nothing for a right one.
struct Program {
  std::function<void()> run;
  const char* check = nullptr;
  const char* place = nullptr;
};

const std::map<std::string, Program>& programs() {
  static const std::map<std::string, Program> list = {
      // ---- waits
      {"ends before the kernel",
       {[] { hello<<<1, 2>>>(); },  // here: never waited for
        "unwaited", "never waited for"}},
      {"waits for another stream",
       {[] {
          Streams two;
          fill<<<1, 32, 0, two.s>>>(array());  // here: other stream
          fill<<<1, 32, 0, two.t>>>(array());
          cudaStreamSynchronize(two.t);
        },
        "unwaited", "other stream"}},
      {"waits for an event before the kernel",
       {[] {
          Streams two;
          cudaEventRecord(two.event, two.s);
          fill<<<1, 32, 0, two.s>>>(array());  // here: behind the event
          cudaEventSynchronize(two.event);
        },
        "unwaited", "behind the event"}},
      {"waits for the device", {[] {
         hello<<<1, 2>>>();
         cudaDeviceSynchronize();
       }}},
      {"waits for the stream", {[] {
         Streams two;
         fill<<<1, 32, 0, two.s>>>(array());
         cudaStreamSynchronize(two.s);
       }}},
      {"waits for an event", {[] {
         Streams two;
         fill<<<1, 32, 0, two.s>>>(array());
         cudaEventRecord(two.event, two.s);
         cudaEventSynchronize(two.event);
       }}},
      {"asks until the event is there", {[] {
         Streams two;
         fill<<<1, 32, 0, two.s>>>(array());
         cudaEventRecord(two.event, two.s);
         while (cudaEventQuery(two.event) == cudaErrorNotReady) continue;
       }}},
      {"waits for a stream that waits", {[] {
         Streams two;
         fill<<<1, 32, 0, two.s>>>(array());
         cudaEventRecord(two.event, two.s);
         cudaStreamWaitEvent(two.t, two.event, 0);
         cudaStreamSynchronize(two.t);
       }}},
      {"copies the result", {[] {
         int* a = array();
         int seen = 0;
         fill<<<1, 32>>>(a);
         cudaMemcpy(&seen, a, 4, cudaMemcpyDeviceToHost);
       }}},
      {"frees the memory", {[] {
         int* a = array();
         fill<<<1, 32>>>(a);
         cudaFree(a);
       }}},
      {"resets the device", {[] {
         hello<<<1, 2>>>();
         cudaDeviceReset();
       }}},
      {"the default stream waits for the others", {[] {
         Streams two;
         int* a = array();
         int seen = 0;
         fill<<<1, 32, 0, two.s>>>(a);
         cudaMemcpy(&seen, a, 4, cudaMemcpyDeviceToHost);
       }}},
      // ---- calls that fail
      {"copies too much",
       {[] {
          static int host[64];
          cudaMemcpy(host, array(), 256, cudaMemcpyDeviceToHost);  // here: too much
        },
        "api-error", "too much"}},
      {"copies the wrong way",
       {[] {
          static int host[32];
          cudaMemcpy(host, array(), 128, cudaMemcpyHostToDevice);  // here: wrong way
        },
        "api-error", "wrong way"}},
      {"a symbol too small",
       {[] {
          static float host[8];
          cudaMemcpyToSymbol(weights, host, 32);  // here: symbol
        },
        "api-error", "symbol"}},
      {"a grid too large to meet",
       {[] {
          int* a = array();
          void* arguments[] = {&a};
          cudaLaunchCooperativeKernel((void*)meet, 10000, 1024, arguments, 0, 0);  // here: grid
        },
        "api-error", "grid"}},
      {"waits while it captures",
       {[] {
          Streams two;
          cudaGraph_t graph = nullptr;
          cudaStreamBeginCapture(two.s, cudaStreamCaptureModeGlobal);
          cudaStreamSynchronize(two.s);  // here: capture
          if (cudaStreamEndCapture(two.s, &graph) == cudaSuccess) exit(3);
        },
        "api-error", "capture"}},
      {"frees twice",
       {[] {
          int* a = array();
          if (a != nullptr) cudaFree(a), cudaFree(a);  // here: twice
        },
        "api-error", "twice"}},
      {"asks for the error later", {[] {
         int* a = array();
         cudaFree(a);
         cudaFree(a);
         if (cudaGetLastError() != cudaErrorInvalidValue) exit(3);
       }}},
      {"takes the result", {[] {
         int* a = array();
         cudaFree(a);
         if (cudaFree(a) == cudaSuccess) exit(3);
         const cudaError_t error = cudaFree(a);
         if (error == cudaSuccess) exit(3);
       }}},
  };
  return list;
}

}  // namespace

// Memory that lives on at the end, two pieces of it from one line, and memory that does not.
void allocate_and_forget() {
  int *a = nullptr, **list = nullptr;
  for (int i = 0; i < 2; ++i) cudaMalloc(&a, 100);  // here: forgotten
  cudaMallocManaged(&list, 8);
  make_list<<<1, 1>>>(list);
  cudaDeviceSynchronize();
  cudaFree(list);
}
void allocate_and_free() {
  int* a = nullptr;
  cudaMallocAsync(reinterpret_cast<void**>(&a), 100, nullptr);
  cudaFreeAsync(a, nullptr);
  cudaFree(array());
}

__global__ void beyond(int* a) { a[1000] = 1; }
void fault_and_free() {
  int* a = array();
  beyond<<<1, 1>>>(a);
  if (cudaDeviceSynchronize() == cudaSuccess || cudaFree(a) == cudaSuccess) exit(3);
}
// For five seconds, or until the kernel has run.
void poll_memory() {
  int* flag = nullptr;
  cudaMallocHost(&flag, 128);
  *flag = 0;
  fill<<<1, 1>>>(flag);
  const auto begin = std::chrono::steady_clock::now();
  while (*static_cast<volatile int*>(flag) == 0 &&
         std::chrono::steady_clock::now() - begin < std::chrono::seconds(5)) {
  }
  cudaDeviceSynchronize();
  cudaFreeHost(flag);
}

TEST_CASE("run PROGRAM", "[.]") {
  const char* name = getenv("PROGRAM");
  REQUIRE(name != nullptr);
  if (std::string(name) == "forgets") return allocate_and_forget();
  if (std::string(name) == "frees") return allocate_and_free();
  if (std::string(name) == "faults") return fault_and_free();
  if (std::string(name) == "polls") return poll_memory();
  programs().at(name).run();
}

TEST_CASE("memory that is never freed is named if SIMT_LEAKS asks for it") {
  const auto said = [](const std::string& settings) {
    return tests::run_command(settings + " " + tests::this_program() + " 'run PROGRAM' 2>&1");
  };
  CHECK(said("PROGRAM=forgets").status == 0);
  CHECK(said("SIMT_LEAKS=1 PROGRAM=frees").status == 0);
  const tests::CommandResult result = said("SIMT_LEAKS=1 PROGRAM=forgets");
  INFO(result.output);
  CHECK(result.status == 1);
  const auto tells = [&](const std::string& what, const char* place) {
    return result.output.find("simt: error [leak]: " + what +
                              " never freed\nsimt:   allocated at simt/tests/host_waits.cu:" +
                              std::to_string(tests::line_of(place)) + "\n") != std::string::npos;
  };
  CHECK(tells("200 bytes in 2 pieces are", "forgotten"));
  CHECK(tells("12 bytes are", "forgotten list"));
  CHECK(result.output.find("\nsimt: 2 errors\n") != std::string::npos);
  const tests::CommandResult fault = said("SIMT_LEAKS=1 PROGRAM=faults");
  INFO(fault.output);
  CHECK(fault.status == 1);
  CHECK(fault.output.find("[out-of-bounds]") != std::string::npos);
  CHECK(fault.output.find("[leak]") == std::string::npos);  // nothing can be freed any more
}

TEST_CASE("a host that polls while its work waits to be waited for is told so") {
  const auto said = [](const std::string& settings) {
    return tests::run_command(settings + " SIMT_TIMEOUT=1 PROGRAM=polls " + tests::this_program() +
                              " 'run PROGRAM' 2>&1")
        .output;
  };
  const std::string hint = "one that polls memory instead waits for ever";
  CHECK(said("SIMT_STREAMS=deferred").find(hint) != std::string::npos);
  CHECK(said("").find(hint) == std::string::npos);
}

TEST_CASE("why a copy fails is told") {
  const auto said = [](const std::string& name) {
    return tests::run_command("PROGRAM='" + name + "' " + tests::this_program() +
                              " 'run PROGRAM' 2>&1")
        .output;
  };
  CHECK(said("copies the wrong way").find("goes to the device, and its target is host memory") !=
        std::string::npos);
  CHECK(said("copies too much").find("bytes past the end of") != std::string::npos);
}

TEST_CASE("what the host does not wait for or look at is named with its place") {
  for (const auto& [name, program] : programs()) {
    DYNAMIC_SECTION(name) {
      const tests::CommandResult result = tests::run_command(
          "PROGRAM='" + name + "' " + tests::this_program() + " 'run PROGRAM' 2>&1");
      INFO(result.output);
      if (program.check == nullptr) {
        CHECK(result.status == 0);
        CHECK(result.output.find("simt: error") == std::string::npos);
        continue;
      }
      CHECK(result.status == 1);
      CHECK(result.output.find(std::string("simt: error [") + program.check + "]") !=
            std::string::npos);
      const std::string place =
          "simt/tests/host_waits.cu:" + std::to_string(tests::line_of(program.place));
      CHECK(result.output.find(place) != std::string::npos);
      CHECK(result.output.find("\nsimt: 1 error\n") != std::string::npos);
    }
  }
}
