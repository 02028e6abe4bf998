// common/kit/check.cuh: an error says where, what, its name and its meaning.
#include "common/kit/check.cuh"

#include <cstddef>
#include <string>

#include "common/bench/device_facts.cuh"
#include "tests/catch.hpp"

__global__ void nothing_kernel() {}

TEST_CASE("success passes") { CHECK_NOTHROW(CUDA_CHECK(cudaSuccess)); }

TEST_CASE("an error is thrown with file, line, expression, name and meaning") {
  try {
    CUDA_CHECK(cudaErrorInvalidValue);
    FAIL("CUDA_CHECK let an error pass");
  } catch (const kit::CudaError& error) {
    CHECK(error.code() == cudaErrorInvalidValue);
    const std::string text = error.what();
    CHECK(text.find("check.cu:") != std::string::npos);
    CHECK(text.find(": cudaErrorInvalidValue: cudaErrorInvalidValue (1): invalid argument") !=
          std::string::npos);
  }
}

TEST_CASE("a launch that cannot start is found by cudaGetLastError") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  nothing_kernel<<<1, 2048>>>();  // a block has at most 1024 threads
  CHECK_THROWS_AS(CUDA_CHECK(cudaGetLastError()), kit::CudaError);
  CHECK(cudaGetLastError() == cudaSuccess);  // reported once, then gone
}

TEST_CASE("an error that was reported is gone: the next check speaks of the next call") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  void* memory = nullptr;
  CHECK_THROWS_AS(CUDA_CHECK(cudaMalloc(&memory, std::size_t{1} << 60)), kit::CudaError);
  CHECK(cudaGetLastError() == cudaSuccess);
}
