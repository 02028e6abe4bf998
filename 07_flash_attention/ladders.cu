// Chapter 07, flash attention: O = softmax(Q K^T / sqrt(d)) V, from softmax alone to tensor cores,
// its gradients, what a server asks of it when it reads prompts and when a model writes a text
// token by token, and one sequence over several GPUs.
//
// Each folder is a problem. Its ladder.cu lists the ways to solve it, or ladder.cuh, where each
// type of element is compiled by itself; the lesson is README.md. Build without make, here, for
// Hopper (otherwise -arch=native; minutes on one core):
//   nvcc -O3 -std=c++17 -arch=sm_90a -I.. -Xcompiler -fopenmp {.,*}/ladder*.cu -lcublas
#include "common/bench/program.cuh"

namespace ladders {
bench::Ladders softmax(), attention(), attention_16bit_bf16(), attention_16bit_fp16();
bench::Ladders backward_fp32(), backward_bf16(), backward_fp16();
bench::Ladders attention_fp8(), prefill(), decode_bf16(), decode_fp16(), ring();
}  // namespace ladders

int main(int argc, char** argv) {
  return bench::run(
      {"07_flash_attention",
       "O = softmax(Q K^T / sqrt(d)) V, forward, backward, of prompts, in decoding, "
       "over several GPUs",
       {ladders::softmax(), ladders::attention(), ladders::attention_16bit_bf16(),
        ladders::attention_16bit_fp16(), ladders::attention_fp8(), ladders::backward_fp32(),
        ladders::backward_bf16(), ladders::backward_fp16(), ladders::prefill(),
        ladders::decode_bf16(), ladders::decode_fp16(), ladders::ring()}},
      argc, argv);
}
