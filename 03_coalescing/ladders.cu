// Chapter 03, coalescing: where the lanes of a warp look decides how much of memory's work is of
// use.
//
// Build without make:
//   nvcc -O3 -std=c++17 -I. -Xcompiler -fopenmp 03_coalescing/ladders.cu -lcublas
// The ways to do it are listed in the ladder.cuh of each problem; the lesson is README.md.
#include "03_coalescing/copy/ladder.cuh"
#include "03_coalescing/latency/ladder.cuh"
#include "03_coalescing/particles/ladder.cuh"
#include "03_coalescing/study/pitch_demo.cuh"
#include "03_coalescing/transpose/ladder.cuh"
#include "03_coalescing/window/ladder.cuh"
#include "common/bench/program.cuh"

int main(int argc, char** argv) {
  bench::Program program("03_coalescing", "which bytes a warp asks for, and how long they take");
  program.add(coalesced_copy::ladder());
  program.add(particles::ladder());
  program.add(transpose::ladder());
  program.add(window::ladder());
  program.add(latency::ladder());
  program.add_demo("pitch", "pitch: what cudaMallocPitch returns",
                   [](const bench::Program& frame) { transpose::pitch_demo(frame.device()); });
  return program.main(argc, argv);
}
