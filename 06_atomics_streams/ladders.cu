// Chapter 06, atomics and streams: many threads and one cell, many queues and one GPU.
//
// Build without make:
//   nvcc -O3 -std=c++17 -I. -Xcompiler -fopenmp 06_atomics_streams/ladders.cu -lcurand
// Each folder is a problem; its ladder.cuh lists the ways to solve it. The lesson is README.md.
#include "06_atomics_streams/default_stream/ladder.cuh"
#include "06_atomics_streams/float_max/ladder.cuh"
#include "06_atomics_streams/histogram/ladder.cuh"
#include "06_atomics_streams/lock/ladder.cuh"
#include "06_atomics_streams/one_cell/ladder.cuh"
#include "06_atomics_streams/pi/ladder.cuh"
#include "06_atomics_streams/pipeline/ladder.cuh"
#include "06_atomics_streams/small_kernels/ladder.cuh"
#include "06_atomics_streams/study/atomics_demo.cuh"
#include "06_atomics_streams/study/host_threads.cuh"
#include "common/bench/program.cuh"

int main(int argc, char** argv) {
  bench::Program program("06_atomics_streams",
                         "many threads and one cell, many queues and one GPU");
  program.add(one_cell::wrong_on_purpose());
  program.add(one_cell::ladder());
  program.add(histogram::ladder());
  program.add(float_max::ladder());
  program.add(lock::ladder());
  program.add(pipeline::ladder());
  program.add(default_stream::ladder());
  program.add(small_kernels::ladder());
  program.add(pi::ladder());
  program.add_demo("atomics", "atomics: every atomic function once",
                   [](const bench::Program&) { atomics_streams::atomics_demo(); });
  program.add_demo("host_threads", "host_threads: four host threads, each with a default stream",
                   [](const bench::Program&) { atomics_streams::host_threads_demo(); });
  return program.main(argc, argv);
}
