// Chapter 04, matrix multiplication: C = A B from three loops to the pace of the multipliers.
//
// Build without make, for Hopper (otherwise -arch=native):
//   nvcc -O3 -std=c++17 -arch=sm_90a -I. -Xcompiler -fopenmp 04_matmul/ladders.cu -lcublas
// The fp32 half is in sgemm/, the tensor cores in bf16/, each with its ladder.cuh; the lesson is
// README.md and tensor_cores.md.
#include <memory>

#include "04_matmul/bf16/ladder.cuh"
#include "04_matmul/sgemm/ladder.cuh"
#include "04_matmul/study/plot.cuh"
#include "04_matmul/study/roofline.cuh"
#include "common/bench/program.cuh"

int main(int argc, char** argv) {
  bench::Program program("04_matmul", "C = A B, from three loops to the pace of the multipliers");
  const matmul::Plot plot(program);
  program.add(plot.of(matmul::sgemm::ladder(), matmul::fp32_roof));
  const auto reference = std::make_shared<matmul::bf16::KnownReference>();
  program.add(plot.of(matmul::bf16::ladder<false>(reference), matmul::bf16_roof));
  program.add(plot.of(matmul::bf16::ladder<true>(reference), matmul::bf16_roof));
  return program.main(argc, argv);
}
