// common/kit/check.cuh: an error says where, what, its name and its meaning.
#include "common/kit/check.cuh"

#include <cstddef>
#include <stdexcept>
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

TEST_CASE("sizes for which memory lacks are refused, with what is needed and what is free") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  CHECK_NOTHROW(kit::require_memory(1e6, 1e6));
  const double free = kit::free_host_bytes();
  CHECK(free > 1e6);
  CHECK(free < 1e15);
  for (const bool on_host : {true, false}) {
    try {
      kit::require_memory(on_host ? 2e18 : 0, on_host ? 0 : 2e18);
      FAIL("no machine has so much");
    } catch (const std::invalid_argument& error) {
      const std::string text = error.what();
      CHECK(text.find("needs 2000000000.00 GB of ") == 0);
      // Without a GPU it is all the host's.
      const char* where = on_host || !kit::kHasGpu ? "host memory" : "device memory";
      CHECK(text.find(where) != std::string::npos);
    }
  }
}
