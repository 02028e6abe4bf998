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

// Most rungs are functions of (x, y, n), or (x, y, n, stream): these hand them their arguments.
template <class Add>
auto with_host_arrays(Add add) {
  return [add](VectorAdd& p) { return add(p.x.on_host(), p.y.on_host(), p.n); };
}
template <class Add>
auto with_device_arrays(Add add) {
  return [add](VectorAdd& p, cudaStream_t stream) {
    add(p.x.on_device(), p.y.on_device(), p.n, stream);
  };
}

inline std::vector<common::Variant<VectorAdd>> vector_add_variants() {
  using common::on_cpu, common::on_device, common::round_trip;
  const auto born_on_device = [](VectorAdd& p) {
    return vector_add_born_on_device(p.y.on_host(), p.n, p.x_seed, p.y_seed);
  };
  return {
      on_cpu<VectorAdd>("sequential", "the loop", with_host_arrays(vector_add_sequential)),
      on_cpu<VectorAdd>("openmp", "the loop, shared out over all cores",
                        with_host_arrays(vector_add_openmp)),
      vector_add_cpu_stream(),
      round_trip<VectorAdd>("cuda", "the whole life cycle: allocate, copy, launch, copy back, free",
                            with_host_arrays(vector_add_cuda)),
      round_trip<VectorAdd>("born_on_device", "the input is made on the device: no copy in",
                            born_on_device),
      on_device<VectorAdd>("grid_stride", "any grid covers any n; blocks from the SM count",
                           with_device_arrays(vector_add_grid_stride)),
      on_device<VectorAdd>("vectorized", "float4: 16 bytes per load and store",
                           with_device_arrays(vector_add_vectorized)),
      on_device<VectorAdd>("coarsened", "several independent loads in flight per thread",
                           with_device_arrays(vector_add_coarsened)),
      on_device<VectorAdd>("bulk_copy", "the copy engine fills shared memory (sm_90)",
                           with_device_arrays(vector_add_bulk_copy), common::needs_sm(90)),
      round_trip<VectorAdd>("pinned", "page-locked host memory: faster copies",
                            with_host_arrays(vector_add_pinned)),
      round_trip<VectorAdd>("unified", "managed memory: pages move when touched",
                            with_host_arrays(vector_add_unified)),
      round_trip<VectorAdd>("unified_prefetch", "managed memory, moved in advance",
                            with_host_arrays(vector_add_unified_prefetch)),
      vector_add_peer(),
      vector_add_device_copy(),
  };
}
