// Chapter 07, flash attention: O = softmax(Q K^T / sqrt(d)) V, from softmax alone to tensor cores,
// its gradients, and what is left of it when a model writes a text token by token.
//
// Build without make, for Hopper (otherwise -arch=native):
//   nvcc -O3 -std=c++17 -arch=sm_90a -I. -Xcompiler -fopenmp 07_flash_attention/*.cu -lcublas
// Each folder is a problem; its ladder.cuh lists the ways to solve it. The lesson is README.md.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "07_flash_attention/attention/ladder.cuh"
#include "07_flash_attention/attention_16bit/ladder.cuh"
#include "07_flash_attention/backward/ladder.cuh"
#include "07_flash_attention/decode/ladder.cuh"
#include "07_flash_attention/softmax/ladder.cuh"
#include "common/bench/program.cuh"

int main(int argc, char** argv) {
  bench::Program program("07_flash_attention",
                         "O = softmax(Q K^T / sqrt(d)) V, forward, backward and in decoding");
  program.add(softmax::softmax_ladder());
  program.add(attention::attention_ladder());
  program.add(attention::attention_16bit_ladder<__nv_bfloat16>());
  program.add(attention::attention_16bit_ladder<__half>());
  program.add(backward::backward_ladder<float>());
  program.add(backward::backward_ladder<__nv_bfloat16>());
  program.add(backward::backward_ladder<__half>());
  program.add(decode::decode_ladder<__nv_bfloat16>());
  program.add(decode::decode_ladder<__half>());
  program.add(decode::decode_paged_ladder<__nv_bfloat16>());
  program.add(decode::decode_paged_ladder<__half>());
  return program.main(argc, argv);
}
