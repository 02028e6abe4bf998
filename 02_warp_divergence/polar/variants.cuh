// The index of problem A: every way from an angle to a point, in reading order.
#pragma once

#include <vector>

#include "02_warp_divergence/polar/01_sequential.hpp"
#include "02_warp_divergence/polar/02_openmp.hpp"
#include "02_warp_divergence/polar/03_divergent.cuh"
#include "02_warp_divergence/polar/04_uniform.cuh"
#include "02_warp_divergence/polar/05_vector_store.cuh"
#include "02_warp_divergence/polar/06_fast_math.cuh"
#include "02_warp_divergence/polar/07_coarsened.cuh"
#include "02_warp_divergence/polar/peers.cuh"
#include "02_warp_divergence/polar/problem.cuh"
#include "common/variant.cuh"

// The variant's result is held to the bounds of the fast intrinsics.
inline common::Variant<Polar> with_fast_bounds(common::Variant<Polar> variant) {
  variant.check = [](const Polar& p) { return p.check_fast(); };
  return variant;
}

inline std::vector<common::Variant<Polar>> polar_variants() {
  using common::on_cpu, common::on_device;
  return {
      on_cpu<Polar>("sequential", "the loop",
                    [](Polar& p) { polar_sequential(p.phi.on_host(), p.z.on_host(), p.n); }),
      on_cpu<Polar>("openmp", "the loop, shared out over all cores",
                    [](Polar& p) { polar_openmp(p.phi.on_host(), p.z.on_host(), p.n); }),
      on_device<Polar>("divergent", "a thread per number: even ones cos, odd ones sin",
                       [](Polar& p, cudaStream_t stream) {
                         polar_divergent(p.phi.on_device(), p.z.on_device(), p.n, stream);
                       }),
      on_device<Polar>("uniform", "a thread per point: all lanes do the same",
                       [](Polar& p, cudaStream_t stream) {
                         polar_uniform(p.phi.on_device(), p.z.on_device(), p.n, stream);
                       }),
      on_device<Polar>("vector_store", "sincosf, and one 8-byte store per point",
                       [](Polar& p, cudaStream_t stream) {
                         polar_vector_store(p.phi.on_device(), p.points_on_device(), p.n, stream);
                       }),
      with_fast_bounds(
          on_device<Polar>("fast_math", "__sincosf: the special function units, 2^-21.2 off",
                           [](Polar& p, cudaStream_t stream) {
                             polar_fast_math(p.phi.on_device(), p.points_on_device(), p.n, stream);
                           })),
      on_device<Polar>("coarsened", "several angles in flight per thread; accurate again",
                       [](Polar& p, cudaStream_t stream) {
                         polar_coarsened(p.phi.on_device(), p.points_on_device(), p.n, stream);
                       }),
      polar_peer(),
      polar_stream(),
      polar_stream_coarsened(),
  };
}
