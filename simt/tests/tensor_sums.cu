// The suite of sums as its program runs it, on fewer cases: the instructions that simt carries out
// give the bits that an H200 gave.
#define main compare_sums
#include "simt/suites/tensor_sums/tensor_sums.cu"
#undef main

#include "tests/catch.hpp"

TEST_CASE("sums of tensor cores are an H200's, bit for bit") {
  std::string words[] = {"tensor_sums", "--blocks", "2", "--compare",
                         "simt/suites/tensor_sums/on_gpu.txt"};
  char* arguments[5];
  for (int i = 0; i < 5; ++i) arguments[i] = &words[i][0];
  CHECK(compare_sums(5, arguments) == 0);
}
