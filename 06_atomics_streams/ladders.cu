// Chapter 06, atomics and streams: many threads and one cell, many queues and one GPU.
//
// Each folder is a problem, and its ladder.cu lists the ways to solve it; the lesson is README.md.
// Build without make, here:
//   nvcc -O3 -std=c++17 -I.. -Xcompiler -fopenmp {.,*}/ladder*.cu -lcurand
#include "06_atomics_streams/study/atomics_demo.cuh"
#include "06_atomics_streams/study/host_threads.cuh"
#include "common/bench/program.cuh"

namespace ladders {
bench::Ladders one_cell(), histogram(), float_max(), lock();
bench::Ladders pipeline(), default_stream(), small_kernels(), pi();
}  // namespace ladders

int main(int argc, char** argv) {
  bench::Program program("06_atomics_streams",
                         "many threads and one cell, many queues and one GPU");
  program.add(ladders::one_cell());
  program.add(ladders::histogram());
  program.add(ladders::float_max());
  program.add(ladders::lock());
  program.add(ladders::pipeline());
  program.add(ladders::default_stream());
  program.add(ladders::small_kernels());
  program.add(ladders::pi());
  program.add_demo("atomics", "atomics: every atomic function once",
                   [](const bench::Program&) { atomics_streams::atomics_demo(); });
  program.add_demo("host_threads", "host_threads: four host threads, each with a default stream",
                   [](const bench::Program&) { atomics_streams::host_threads_demo(); });
  return program.main(argc, argv);
}
