// Chapter 01, vector addition: y = x + y, from the plain loop to the bandwidth of the chip.
//
// Build without make:  nvcc -O3 -std=c++17 -I. -Xcompiler -fopenmp 01_vector_add/ladders.cu
// The ways to do it are listed in ladder.cuh; the lesson is README.md.
#include "01_vector_add/ladder.cuh"
#include "01_vector_add/study/memset_demo.cuh"
#include "common/bench/program.cuh"

int main(int argc, char** argv) {
  bench::Program program("01_vector_add",
                         "y = x + y, from the plain loop to the limit of the chip");
  program.add(vector_add::ladder());
  program.add_demo("memset", "memset: what cudaMemset sets",
                   [](const bench::Program&) { vector_add::memset_demo(); });
  return program.main(argc, argv);
}
