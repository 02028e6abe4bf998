// Problem A in reading order: every way to copy.
#pragma once

#include <vector>

#include "03_coalescing/copy/01_sequential.hpp"
#include "03_coalescing/copy/02_openmp.hpp"
#include "03_coalescing/copy/03_chunked.cuh"
#include "03_coalescing/copy/04_coalesced.cuh"
#include "03_coalescing/copy/05_vectorized.cuh"
#include "03_coalescing/copy/problem.cuh"
#include "common/variant.cuh"
#include "common/yardsticks.cuh"

inline std::vector<common::Variant<Copy>> copy_variants() {
  using common::on_cpu, common::on_device;
  return {
      on_cpu<Copy>("sequential", "the loop",
                   [](Copy& p) { copy_sequential(p.x.on_host(), p.y.on_host(), p.n); }),
      on_cpu<Copy>("openmp", "one contiguous piece per core",
                   [](Copy& p) { copy_openmp(p.x.on_host(), p.y.on_host(), p.n); }),
      on_device<Copy>("chunked", "one contiguous piece per thread: 32 sectors a request",
                      [](Copy& p, cudaStream_t stream) {
                        copy_chunked(p.x.on_device(), p.y.on_device(), p.n, stream);
                      }),
      on_device<Copy>("coalesced", "neighbouring threads, neighbouring floats: 4 sectors",
                      [](Copy& p, cudaStream_t stream) {
                        copy_coalesced(p.x.on_device(), p.y.on_device(), p.n, stream);
                      }),
      on_device<Copy>("vectorized", "16 bytes per thread: 16 sectors, a quarter of the requests",
                      [](Copy& p, cudaStream_t stream) {
                        copy_vectorized(p.x.on_device(), p.y.on_device(), p.n, stream);
                      }),
      common::device_copy(&Copy::x, &Copy::y),
  };
}
