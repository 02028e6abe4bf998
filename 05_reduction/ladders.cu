// Chapter 05, reduction and scan: many numbers become one, or as many sums of all before them.
//
// Each problem's folder has its list, ladder.cu; the lessons are README.md and scan.md. Build
// without make, here:
//   nvcc -O3 -std=c++17 -I.. -Xcompiler -fopenmp {.,*}/ladder*.cu
#include "common/bench/program.cuh"

namespace ladders {
bench::Ladders sum(), affine(), scan(), all_reduce();
}

int main(int argc, char** argv) {
  return bench::run({"05_reduction",
                     "sums, reductions in order, prefix sums, and sums over several GPUs",
                     {ladders::sum(), ladders::affine(), ladders::scan(), ladders::all_reduce()}},
                    argc, argv);
}
