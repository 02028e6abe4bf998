// common/cuda_check.cuh: an error says where, what, its name and its meaning.
#include "common/cuda_check.cuh"

#include <string>

#include "common/device_facts.cuh"
#include "tests/catch.hpp"

__global__ void nothing_kernel() {}

TEST_CASE("success passes") { CHECK_NOTHROW(CUDA_CHECK(cudaSuccess)); }

TEST_CASE("an error is thrown with file, line, expression, name and meaning") {
  try {
    CUDA_CHECK(cudaErrorInvalidValue);
    FAIL("CUDA_CHECK let an error pass");
  } catch (const common::CudaError& error) {
    CHECK(error.code() == cudaErrorInvalidValue);
    const std::string text = error.what();
    CHECK(text.find("cuda_check.cu:") != std::string::npos);
    CHECK(text.find(": cudaErrorInvalidValue: cudaErrorInvalidValue (1): invalid argument") !=
          std::string::npos);
  }
}

TEST_CASE("a launch that cannot start is found by cudaGetLastError") {
  if (!common::query_device().available) SKIP_TEST("needs a GPU");
  nothing_kernel<<<1, 2048>>>();  // a block has at most 1024 threads
  CHECK_THROWS_AS(CUDA_CHECK(cudaGetLastError()), common::CudaError);
  CHECK(cudaGetLastError() == cudaSuccess);  // reported once, then gone
}
