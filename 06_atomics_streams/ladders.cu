// Chapter 06, atomics and streams: many threads and one cell, many queues and one GPU.
//
// Each folder is a problem, and its ladder.cu lists the ways to solve it; the lessons are
// README.md, streams.md and devices.md. Build without make, here:
//   nvcc -O3 -std=c++17 -I.. -Xcompiler -fopenmp {.,*}/ladder*.cu -lcurand
#include "06_atomics_streams/study/atomics_demo.cuh"
#include "06_atomics_streams/study/host_threads.cuh"
#include "common/bench/program.cuh"

namespace ladders {
bench::Ladders one_cell(), histogram(), float_max(), lock();
bench::Ladders pipeline(), default_stream(), small_kernels(), pi(), device_copy();
}  // namespace ladders

int main(int argc, char** argv) {
  return bench::run(
      {"06_atomics_streams",
       "many threads and one cell, many queues and one GPU",
       {ladders::one_cell(), ladders::histogram(), ladders::float_max(), ladders::lock(),
        ladders::pipeline(), ladders::default_stream(), ladders::small_kernels(), ladders::pi(),
        ladders::device_copy()},
       {{"atomics", "atomics: every atomic function once", atomics_streams::atomics_demo},
        {"host_threads", "host_threads: four host threads, each with a default stream",
         atomics_streams::host_threads_demo}}},
      argc, argv);
}
