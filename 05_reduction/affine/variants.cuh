// The index of this problem: every way to reduce in order, in reading order.
#pragma once

#include <vector>

#include "05_reduction/affine/01_sequential.hpp"
#include "05_reduction/affine/02_openmp.hpp"
#include "05_reduction/affine/03_contiguous.cuh"
#include "05_reduction/affine/04_ordered_shuffle.cuh"
#include "05_reduction/affine/peers.cuh"
#include "05_reduction/affine/problem.cuh"
#include "common/variant.cuh"

inline std::vector<common::Variant<Affine>> affine_variants() {
  using common::on_cpu, common::on_device;
  return {
      on_cpu<Affine>(
          "sequential", "the loop",
          [](Affine& p) { *p.result.on_host() = affine_sequential(p.maps.on_host(), p.n); }),
      on_cpu<Affine>("openmp", "a stretch per core, combined in order",
                     [](Affine& p) { *p.result.on_host() = affine_openmp(p.maps.on_host(), p.n); }),
      on_device<Affine>("contiguous", "a run per thread; neighbours combine",
                        [](Affine& p, cudaStream_t stream) {
                          affine_contiguous(p.maps.on_device(), p.result.on_device(), p.n,
                                            p.partials.on_device(), stream);
                        }),
      on_device<Affine>("ordered_shuffle", "coalesced rows; shuffles that keep the order",
                        [](Affine& p, cudaStream_t stream) {
                          affine_ordered_shuffle(p.maps.on_device(), p.result.on_device(), p.n,
                                                 p.partials.on_device(), stream);
                        }),
      affine_peer(),
  };
}
