// Chapter 04, matrix multiplication: C = A B from three loops to the pace of the multipliers.
//
// The fp32 half is in sgemm/, the tensor cores in bf16/, each with its list, ladder.cu; the lesson
// is README.md and tensor_cores.md. Build without make, here, for Hopper (otherwise -arch=native):
//   nvcc -O3 -std=c++17 -arch=sm_90a -I.. -Xcompiler -fopenmp {.,*}/ladder*.cu -lcublas -lcublasLt
// and, where NCCL is, -lnccl.
#include "common/bench/program.cuh"

namespace ladders {
bench::Ladders sgemm(), bf16(), quantize(), fp8(), sharded();
}

int main(int argc, char** argv) {
  return bench::run({"04_matmul",
                     "C = A B, from three loops to the pace of the multipliers",
                     {ladders::sgemm(), ladders::bf16(), ladders::quantize(), ladders::fp8(),
                      ladders::sharded()}},
                    argc, argv);
}
