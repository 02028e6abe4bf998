// Chapter 05, reduction and scan: many numbers become one, or as many sums of all before them.
//
// Build without make:  nvcc -O3 -std=c++17 -I. -Xcompiler -fopenmp 05_reduction/ladders.cu
// The ways to do it are listed in the ladder.cuh of each problem; the lesson is README.md.
#include "05_reduction/affine/ladder.cuh"
#include "05_reduction/kit/operators.cuh"
#include "05_reduction/scan/ladder.cuh"
#include "05_reduction/sum/ladder.cuh"
#include "common/bench/program.cuh"

int main(int argc, char** argv) {
  bench::Program program("05_reduction", "sums, reductions in order, and prefix sums");
  program.add(reduction::ladder());
  program.add(reduction::extremum_ladder<reduction::Max>());
  program.add(reduction::extremum_ladder<reduction::ArgMax>());
  program.add(affine::ladder());
  program.add(scan::ladder());
  return program.main(argc, argv);
}
