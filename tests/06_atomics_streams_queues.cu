// Chapter 06, the half about streams: results do not depend on what overlaps, a graph does what its
// launches do, and the timeline draws what it is given.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "06_atomics_streams/default_stream/ladder.cu"
#include "06_atomics_streams/pipeline/ladder.cu"
#include "06_atomics_streams/small_kernels/ladder.cu"
#include "06_atomics_streams/study/overlap.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/timeline.hpp"
#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"
#include "tests/by_itself.hpp"
#include "tests/catch.hpp"
#include "tests/ladder_cases.hpp"
#include "tests/run_command.hpp"
#include "tests/verify.hpp"

using namespace atomics_streams;
using namespace default_stream;
using namespace pipeline;
using namespace small_kernels;

namespace {

const std::string kProgram = TEST_BUILD "/06_atomics_streams/ladders";

using bench::Bar;
using bench::Timeline;

const Timeline kShown = {"pipeline",
                         "first",
                         "ms",
                         {"copy in", "kernel"},
                         {{"copy in", "0", 0, 4}, {"kernel", "0", 4, 8}, {"kernel", "11", 8, 10}}};

}  // namespace

TEST_CASE("pipeline: every variant is right for every number of elements and chunks") {
  const bench::DeviceFacts device = bench::query_device();
  const bench::WorkStream stream(device);
  for (const auto& variant : pipeline::ladder().variants) {
    DYNAMIC_SECTION(variant.name) {
      const std::string reason = bench::why_skipped(variant, device);
      if (!reason.empty()) SKIP_SECTION(reason);
      for (const std::int64_t n : {1, 3, 33, 257, 10'007}) {
        for (const int chunks : {1, 2, 4, 5, 9, 32}) {
          INFO("n = " << n << ", chunks = " << chunks);
          Pipeline problem(n, chunks, 3, 7);
          const auto verdict = tests::verify(problem, variant, device, stream.get());
          INFO(verdict.reason);
          CHECK(verdict.status == bench::Status::right);
        }
      }
    }
  }
}

TEST_CASE("what a pipeline holds", "[.]") {
  tests::takes_what_it_says(pipeline::ladder(), {{"n", 200'003}}, {1e6, 3e5});
}

TEST_CASE("pipeline: a run takes the memory that it says") {
  tests::passes_by_itself("SIMT_THREADS=1", "what a pipeline holds");
}

TEST_CASE("pipeline: a batch is cut into chunks that cover it") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  CHECK(Batch(10, 3, 1).chunks() == 3);
  CHECK(Batch(10, 10, 1).chunks() == 10);
  CHECK(Batch(10, 32, 1).chunks() == 10);
  CHECK(Batch(9, 4, 1).chunks() == 3);  // 3 + 3 + 3: a fourth would be empty
  CHECK(Batch(1, 4, 1).chunks() == 1);
}

TEST_CASE("pipeline: the events alone hold the order, however late each stream runs") {
#if SIMT_INSTRUMENTED || defined(__SIMT__)
  // simt can put every stream off until somebody waits for it: what no event asks for comes too
  // late.
  for (const char* settings : {"SIMT_STREAMS=deferred", "SIMT_STREAMS=eager SIMT_ORDER=reverse"}) {
    const auto result = tests::run_command(
        std::string(settings) + " " + kProgram +
        " --verify --n 5000 --chunks 9 --rounds 2 --only pipeline,default_stream,small_kernels");
    INFO(result.output);
    CHECK(result.status == 0);
  }
#else
  SKIP_TEST("needs simt");
#endif
}

TEST_CASE("pipeline: the last stage has waited for all before it, whatever the host waits for") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  Pipeline problem(10'007, 9, 3, 7);
  Batch& batch = problem.workspace();
  std::copy_n(problem.x.pristine(), problem.n, batch.pinned_in());
  batch.use_host(batch.pinned_in(), batch.pinned_out());
  pipeline_events(batch);
  CUDA_CHECK(cudaStreamSynchronize(batch.stream(2)));
  const unsigned* out = batch.pinned_out();
  CHECK(bench::compare(out, problem.expected.data(), problem.n, 0.0).right());
}

// In one stream nothing would overlap, and the result be right.
TEST_CASE("pipeline: four streams take the chunks in turn, each of them all stages of a chunk") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  struct Streams : Observer {
    std::map<int, std::vector<cudaStream_t>> of_chunk;
    void begin(const std::string&, int chunk, cudaStream_t stream) override {
      of_chunk[chunk].push_back(stream);
    }
    void end(cudaStream_t) override {}
  };
  Pipeline problem(10'007, 9, 3, 7);
  Batch& batch = problem.workspace();
  for (const auto run : {pipeline_pageable_streams, pipeline_pinned_streams}) {
    Streams streams;
    batch.use_host(batch.pinned_in(), batch.pinned_out());
    batch.set_observer(&streams);
    run(batch);
    batch.synchronize();
    batch.set_observer(nullptr);
    CHECK(static_cast<int>(streams.of_chunk.size()) == batch.chunks());
    for (const auto& [chunk, of_stages] : streams.of_chunk) {
      CHECK(of_stages == std::vector<cudaStream_t>(3, batch.stream(chunk % 4)));
    }
  }
}

TEST_CASE("pipeline: the events alone are enough if the host waits for the last stage only") {
  // The test above once more, by a simt that runs a stream only when somebody waits for it.
  tests::passes_by_itself("SIMT_STREAMS=deferred", "pipeline: the last stage has waited*");
}

TEST_CASE("default stream: the results are the same whichever it is") {
  const bench::DeviceFacts device = bench::query_device();
  const bench::WorkStream stream(device);
  for (const auto& variant : default_stream::ladder().variants) {
    DYNAMIC_SECTION(variant.name) {
      const std::string reason = bench::why_skipped(variant, device);
      if (!reason.empty()) SKIP_SECTION(reason);
      DefaultStream problem(100);
      for (int repeat = 0; repeat < 3; ++repeat) {
        const auto verdict = tests::verify(problem, variant, device, stream.get());
        INFO(verdict.reason);
        CHECK(verdict.status == bench::Status::right);
      }
    }
  }
}

TEST_CASE("default stream: the caller's stream waits for all that was launched") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  DefaultStream problem(100'000);
  std::vector<unsigned> got(problem.y.size());
  for (const EightVariant& eight : eight_variants()) {
    EightStreams streams(eight.flags);
    problem.y.reset(bench::Side::device);
    cudaStream_t caller = nullptr;
    CUDA_CHECK(cudaStreamCreateWithFlags(&caller, cudaStreamNonBlocking));
    CUDA_CHECK(cudaDeviceSynchronize());
    eight.run(streams, problem.y.device_data(), problem.rounds, caller, nullptr);
    CUDA_CHECK(cudaMemcpyAsync(got.data(), problem.y.device_data(), got.size() * sizeof(unsigned),
                               cudaMemcpyDeviceToHost, caller));
    CUDA_CHECK(cudaStreamSynchronize(caller));
    INFO(eight.name);
    CHECK(bench::compare(got.data(), problem.expected.data(), problem.y.size(), 0.0).right());
    CUDA_CHECK(cudaDeviceSynchronize());
    CUDA_CHECK(cudaStreamDestroy(caller));
  }
}

TEST_CASE("default stream: the caller's events alone are enough, however late each stream runs") {
  // The test above once more, by a simt that runs a stream only when somebody waits for it: a
  // stream that the caller forgets comes too late.
  tests::passes_by_itself("SIMT_STREAMS=deferred", "default stream: the caller's stream waits*");
}

TEST_CASE("default stream: only the legacy one holds the eight up") {
  const bench::DeviceFacts device = bench::query_device();
  if (!device.is_real_gpu()) SKIP_TEST("overlap needs a GPU");
  DefaultStream problem(100'000);
  problem.y.reset(bench::Side::device);
  const auto at_once = [&problem](const EightVariant& eight) {
    trace_eight(problem, eight);  // the first run loads the kernel
    const Timeline timeline = trace_eight(problem, eight);
    int most = 0;
    for (const Bar& a : timeline.bars) {
      int running = 0;
      const double middle = (a.begin + a.end) / 2;
      for (const Bar& b : timeline.bars) running += b.begin <= middle && middle < b.end;
      most = std::max(most, running);
    }
    return most;
  };
  const auto variants = eight_variants();
  CHECK(at_once(variants[0]) == 1);
  CHECK(at_once(variants[1]) >= 6);
  CHECK(at_once(variants[2]) >= 6);
}

TEST_CASE("small kernels: launches and graph take the same number of steps") {
  const bench::DeviceFacts device = bench::query_device();
  const bench::WorkStream stream(device);
  for (const auto& variant : small_kernels::ladder().variants) {
    DYNAMIC_SECTION(variant.name) {
      const std::string reason = bench::why_skipped(variant, device);
      if (!reason.empty()) SKIP_SECTION(reason);
      for (const int kernels : {1, 2, 3, 33}) {
        // One list for several problems: the graph must notice that its pointer has changed.
        SmallKernels first(kernels, 7), second(kernels, 8);
        for (SmallKernels* problem : {&first, &second, &first}) {
          const auto verdict = tests::verify(*problem, variant, device, stream.get());
          INFO(verdict.reason);
          CHECK(verdict.status == bench::Status::right);
        }
      }
    }
  }
}

TEST_CASE("--sweep kernels prints a table; --sweep streams needs a device that keeps time") {
  const bench::DeviceFacts device = bench::query_device();
  if (!device.available) SKIP_TEST("needs a GPU");
  const auto kernels =
      tests::run_command(kProgram + " --only small_kernels --sweep kernels --repeats 1");
  INFO(kernels.output);
  CHECK(kernels.status == 0);
  CHECK(kernels.output.find("small_kernels, swept over kernels") != std::string::npos);
  const auto streams =
      tests::run_command(kProgram + " --only pipeline --sweep streams --n 100000 --repeats 1 2>&1");
  INFO(streams.output);
  CHECK(streams.status == (device.is_real_gpu() ? 0 : 2));
}

TEST_CASE("small kernels: recording runs nothing, and each replay takes all steps") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  const kit::DeviceBuffer<unsigned> x(1);
  const unsigned start = 12345;
  const auto value = [&x] {
    unsigned got = 0;
    CUDA_CHECK(cudaDeviceSynchronize());
    CUDA_CHECK(cudaMemcpy(&got, x.data(), sizeof got, cudaMemcpyDeviceToHost));
    return got;
  };
  CUDA_CHECK(cudaMemcpy(x.data(), &start, sizeof start, cudaMemcpyHostToDevice));
  const SmallKernelsGraph graph(x.data(), 1, 5);
  CHECK(value() == start);
  unsigned expected = start;
  for (int replay = 0; replay < 3; ++replay) {
    graph.launch(nullptr);
    for (int k = 0; k < 5; ++k) expected = xorshift(expected);
    CHECK(value() == expected);
  }
  CHECK(graph.is_for(x.data(), 5));
  CHECK(!graph.is_for(x.data(), 6));
}

TEST_CASE("xorshift, which kernels and reference share, gives the published number") {
  CHECK(xorshift(2463534242u) == 723471715u);  // the first of Marsaglia's example
}

TEST_CASE("timeline: text shows in each column what runs in its middle") {
  CHECK(bench::lane_text(kShown, "copy in", 10) == "0000......");
  CHECK(bench::lane_text(kShown, "kernel", 10) == "....0000bb");
  CHECK(bench::bar_character("36") == '0');
  CHECK(bench::bar_character("softmax") == 's');
}

TEST_CASE("timeline: an engine makes one copy at a time") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  Pipeline problem(10'000, 6, 2, 7);
  problem.each_array([](auto& array) { array.reset(bench::Side::host); });
  for (const auto& rung : pipeline::ladder().variants) {
    if (rung.name == "ideal") continue;
    const Timeline timeline = trace_rung(problem, rung);
    REQUIRE(timeline.bars.size() == 18);
    for (const Bar& a : timeline.bars) {
      CHECK(a.begin <= a.end);
      for (const Bar& b : timeline.bars) {
        if (&a == &b || a.lane != b.lane || a.lane == "kernel") continue;
        CHECK((a.end <= b.begin || b.end <= a.begin));
      }
    }
  }
}

TEST_CASE("overlap is shown on a GPU only") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  const bool real_gpu = bench::query_device().is_real_gpu();
  const std::string file = TEST_BUILD "/tests/06_overlap.json";
  const auto shown = tests::run_command(kProgram + " --only pipeline --n 100000 --rounds 2" +
                                        " --repeats 2 --json " + file);
  INFO(shown.output);
  CHECK(shown.status == 0);
  CHECK((shown.output.find("of the ideal") != std::string::npos) == real_gpu);
  CHECK((tests::run_command("grep -q '\"timelines\"' " + file).status == 0) == real_gpu);
}
