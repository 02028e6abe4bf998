// Chapter 07, flash attention: O = softmax(Q K^T / sqrt(d)) V, from softmax alone to tensor cores,
// its gradients, and what is left of it when a model writes a text token by token.
//
// Build without make, for Hopper (otherwise -arch=native):
//   nvcc -O3 -std=c++17 -arch=sm_90a -I. -Xcompiler -fopenmp 07_flash_attention/*.cu -lcublas
// Each folder is a problem; its ladder.cuh lists the ways to solve it. The lesson is README.md.
//
// The line above compiles all of it at once, minutes of one core. make compiles four parts side by
// side, with PART=1 to 4, which take about as long as each other, and links them.
#ifndef PART
#define PART 0
#endif
#define IN_PART(number) (PART == 0 || PART == (number))

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "common/bench/program.cuh"

void add_fp32(bench::Program& program);
void add_bf16(bench::Program& program);
void add_fp16(bench::Program& program);
void add_backward(bench::Program& program);
void add_decoding(bench::Program& program);

#if IN_PART(1)
#include "07_flash_attention/attention/ladder.cuh"
#include "07_flash_attention/attention_16bit/ladder.cuh"
#include "07_flash_attention/softmax/ladder.cuh"

void add_fp32(bench::Program& program) {
  program.add(softmax::softmax_ladder());
  program.add(attention::attention_ladder());
}
void add_fp16(bench::Program& program) { program.add(attention::attention_16bit_ladder<__half>()); }

int main(int argc, char** argv) {
  bench::Program program("07_flash_attention",
                         "O = softmax(Q K^T / sqrt(d)) V, forward, backward and in decoding");
  add_fp32(program);
  add_bf16(program);
  add_fp16(program);
  add_backward(program);
  add_decoding(program);
  return program.main(argc, argv);
}
#endif

#if IN_PART(2)
#include "07_flash_attention/attention_16bit/ladder.cuh"

void add_bf16(bench::Program& program) {
  program.add(attention::attention_16bit_ladder<__nv_bfloat16>());
}
#endif

#if IN_PART(3)
#include "07_flash_attention/backward/ladder.cuh"

void add_backward(bench::Program& program) {
  program.add(backward::backward_ladder<float>());
  program.add(backward::backward_ladder<__nv_bfloat16>());
  program.add(backward::backward_ladder<__half>());
}
#endif

#if IN_PART(4)
#include "07_flash_attention/decode/ladder.cuh"

void add_decoding(bench::Program& program) {
  program.add(decode::decode_ladder<__nv_bfloat16>());
  program.add(decode::decode_ladder<__half>());
  program.add(decode::decode_paged_ladder<__nv_bfloat16>());
  program.add(decode::decode_paged_ladder<__half>());
}
#endif
