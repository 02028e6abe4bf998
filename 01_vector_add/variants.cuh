// The index of this chapter: every way to compute y = x + y, in reading order.
#pragma once

#include <vector>

#include "01_vector_add/01_sequential.hpp"
#include "01_vector_add/02_openmp.hpp"
#include "01_vector_add/03_cuda.cuh"
#include "01_vector_add/04_born_on_device.cuh"
#include "01_vector_add/05_grid_stride.cuh"
#include "01_vector_add/06_vectorized.cuh"
#include "01_vector_add/07_coarsened.cuh"
#include "01_vector_add/08_bulk_copy.cuh"
#include "01_vector_add/09_pinned.cuh"
#include "01_vector_add/10_unified.cuh"
#include "01_vector_add/11_unified_prefetch.cuh"
#include "01_vector_add/peers.cuh"
#include "01_vector_add/problem.cuh"
#include "common/variant.cuh"

inline std::vector<common::Variant<VectorAdd>> vector_add_variants() {
  using common::on_cpu, common::on_device, common::round_trip;
  return {
      on_cpu<VectorAdd>("sequential", "the loop",
                        [](VectorAdd& p) {
                          vector_add_sequential(p.x.on_host(), p.y.on_host(), p.n);
                        }),
      on_cpu<VectorAdd>("openmp", "the loop, shared out over all cores",
                        [](VectorAdd& p) {
                          vector_add_openmp(p.x.on_host(), p.y.on_host(), p.n);
                        }),
      vector_add_cpu_stream(),
      round_trip<VectorAdd>("cuda", "the whole life cycle: allocate, copy in, launch, copy out, free",
                            [](VectorAdd& p) {
                              return vector_add_cuda(p.x.on_host(), p.y.on_host(), p.n);
                            }),
      round_trip<VectorAdd>("born_on_device", "the input is made on the device: no copy in",
                            [](VectorAdd& p) {
                              return vector_add_born_on_device(p.y.on_host(), p.n, p.x_seed,
                                                               p.y_seed);
                            }),
      on_device<VectorAdd>("grid_stride", "any grid covers any n; blocks from the SM count",
                           [](VectorAdd& p, cudaStream_t stream) {
                             vector_add_grid_stride(p.x.on_device(), p.y.on_device(), p.n, stream);
                           }),
      on_device<VectorAdd>("vectorized", "float4: 16 bytes per load and store",
                           [](VectorAdd& p, cudaStream_t stream) {
                             vector_add_vectorized(p.x.on_device(), p.y.on_device(), p.n, stream);
                           }),
      on_device<VectorAdd>("coarsened", "several independent loads in flight per thread",
                           [](VectorAdd& p, cudaStream_t stream) {
                             vector_add_coarsened(p.x.on_device(), p.y.on_device(), p.n, stream);
                           }),
      on_device<VectorAdd>("bulk_copy", "the copy engine fills shared memory (sm_90)",
                           [](VectorAdd& p, cudaStream_t stream) {
                             vector_add_bulk_copy(p.x.on_device(), p.y.on_device(), p.n, stream);
                           },
                           common::needs_sm(90)),
      round_trip<VectorAdd>("pinned", "page-locked host memory: faster copies",
                            [](VectorAdd& p) {
                              return vector_add_pinned(p.x.on_host(), p.y.on_host(), p.n);
                            }),
      round_trip<VectorAdd>("unified", "managed memory: pages move when touched",
                            [](VectorAdd& p) {
                              return vector_add_unified(p.x.on_host(), p.y.on_host(), p.n);
                            }),
      round_trip<VectorAdd>("unified_prefetch", "managed memory, moved in advance",
                            [](VectorAdd& p) {
                              return vector_add_unified_prefetch(p.x.on_host(), p.y.on_host(), p.n);
                            }),
      vector_add_peer(),
      vector_add_device_copy(),
  };
}
