// Chapter 01, vector addition: y = x + y, from the plain loop to the bandwidth of the chip.
//
// ladder.cu lists the ways to do it; the lesson is README.md. Build without make, here:
//   nvcc -O3 -std=c++17 -I.. -Xcompiler -fopenmp ladder*.cu
#include "01_vector_add/study/memset_demo.cuh"
#include "common/bench/program.cuh"

namespace ladders {
bench::Ladders vector_add();
}

int main(int argc, char** argv) {
  return bench::run({"01_vector_add",
                     "y = x + y, from the plain loop to the limit of the chip",
                     {ladders::vector_add()},
                     {{"memset", "memset: what cudaMemset sets", vector_add::memset_demo}}},
                    argc, argv);
}
