// The index of problem B: every way to treat a branch on data, in reading order.
#pragma once

#include <vector>

#include "02_warp_divergence/branch/01_sequential.hpp"
#include "02_warp_divergence/branch/02_openmp.hpp"
#include "02_warp_divergence/branch/03_divergent.cuh"
#include "02_warp_divergence/branch/04_select.cuh"
#include "02_warp_divergence/branch/05_vote.cuh"
#include "02_warp_divergence/branch/06_aligned.cuh"
#include "02_warp_divergence/branch/07_tiled.cuh"
#include "02_warp_divergence/branch/08_partitioned.cuh"
#include "02_warp_divergence/branch/peers.cuh"
#include "02_warp_divergence/branch/problem.cuh"
#include "common/variant.cuh"

inline std::vector<common::Variant<Branch>> branch_variants() {
  using common::on_cpu, common::on_device;
  return {
      on_cpu<Branch>("sequential", "the loop with its branch",
                     [](Branch& p) { branch_sequential(p.x.on_host(), p.y.on_host(), p.n); }),
      on_cpu<Branch>("openmp", "the loop, shared out over all cores",
                     [](Branch& p) { branch_openmp(p.x.on_host(), p.y.on_host(), p.n); }),
      on_device<Branch>("divergent", "the branch as it stands, a thread per element",
                        [](Branch& p, cudaStream_t stream) {
                          branch_divergent(p.x.on_device(), p.y.on_device(), p.n, stream);
                        }),
      on_device<Branch>("select", "no branch: every lane computes both paths and picks",
                        [](Branch& p, cudaStream_t stream) {
                          branch_select(p.x.on_device(), p.y.on_device(), p.n, stream);
                        }),
      on_device<Branch>("vote", "a warp in which no lane needs the expensive path skips it",
                        [](Branch& p, cudaStream_t stream) {
                          branch_vote(p.x.on_device(), p.y.on_device(), p.n, stream);
                        }),
      on_device<Branch>("aligned",
                        "the block queues its expensive elements: the branch falls between warps",
                        [](Branch& p, cudaStream_t stream) {
                          branch_aligned(p.x.on_device(), p.y.on_device(), p.n, stream);
                        }),
      on_device<Branch>("tiled", "eight elements a thread: the queue fills whole warps",
                        [](Branch& p, cudaStream_t stream) {
                          branch_tiled(p.x.on_device(), p.y.on_device(), p.n, stream);
                        }),
      on_device<Branch>("partitioned",
                        "all expensive elements listed first, then done 32 at a time",
                        [](Branch& p, cudaStream_t stream) {
                          branch_partitioned(p.x.on_device(), p.y.on_device(), p.n,
                                             p.places.on_device(), p.count.on_device(), stream);
                        }),
      branch_peer(),
      branch_device_copy(),
  };
}
