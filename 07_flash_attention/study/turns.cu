// What two warpgroups do over time in `wgmma` to `gemm_softmax_overlap` of attention in bf16,
// measured on the chip: what the figure of hopper.md is drawn from. `make timelines` records it.
//
// Build without make:
//   nvcc -O3 -std=c++17 -arch=sm_90a -I. -Xcompiler -fopenmp 07_flash_attention/study/turns.cu
#include "07_flash_attention/study/turns.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/program.cuh"

int main(int argc, char** argv) {
  return bench::run({"07_flash_attention/study/turns",
                     "what two warpgroups of attention do over time",
                     {{attention::turns_ladder()}}},
                    argc, argv);
}
