// The index of this problem: every way to compute prefix sums, in reading order.
#pragma once

#include <vector>

#include "05_reduction/scan/01_sequential.hpp"
#include "05_reduction/scan/02_openmp.hpp"
#include "05_reduction/scan/03_hillis_steele.cuh"
#include "05_reduction/scan/04_blelloch.cuh"
#include "05_reduction/scan/05_three_kernels.cuh"
#include "05_reduction/scan/06_reduce_then_scan.cuh"
#include "05_reduction/scan/07_registers.cuh"
#include "05_reduction/scan/08_single_pass.cuh"
#include "05_reduction/scan/09_pipelined.cuh"
#include "05_reduction/scan/peers.cuh"
#include "05_reduction/scan/problem.cuh"
#include "common/variant.cuh"

inline std::vector<common::Variant<Scan>> scan_variants() {
  using common::on_cpu, common::on_device;
  return {
      on_cpu<Scan>("sequential", "the loop",
                   [](Scan& p) { scan_sequential(p.x.on_host(), p.y.on_host(), p.n); }),
      on_cpu<Scan>("openmp", "a stretch per core: sum, meet, scan",
                   [](Scan& p) { scan_openmp(p.x.on_host(), p.y.on_host(), p.n); }),
      on_device<Scan>("hillis_steele", "one block, ten additions an element",
                      [](Scan& p, cudaStream_t stream) {
                        scan_hillis_steele(p.x.on_device(), p.y.on_device(), p.n, stream);
                      }),
      on_device<Scan>("blelloch", "one block, two additions an element",
                      [](Scan& p, cudaStream_t stream) {
                        scan_blelloch(p.x.on_device(), p.y.on_device(), p.n, stream);
                      }),
      on_device<Scan>("three_kernels", "all blocks: scan tiles, scan totals, add",
                      [](Scan& p, cudaStream_t stream) {
                        scan_three_kernels(p.x.on_device(), p.y.on_device(), p.n,
                                           p.totals.on_device(), stream);
                      }),
      on_device<Scan>("reduce_then_scan", "the first kernel only sums",
                      [](Scan& p, cudaStream_t stream) {
                        scan_reduce_then_scan(p.x.on_device(), p.y.on_device(), p.n,
                                              p.totals.on_device(), stream);
                      }),
      on_device<Scan>("registers", "tiles in registers, shuffles instead of barriers",
                      [](Scan& p, cudaStream_t stream) {
                        scan_registers(p.x.on_device(), p.y.on_device(), p.n, p.totals.on_device(),
                                       stream);
                      }),
      on_device<Scan>("single_pass", "decoupled look-back: one read, one write",
                      [](Scan& p, cudaStream_t stream) {
                        scan_single_pass(p.x.on_device(), p.y.on_device(), p.n,
                                         p.states.on_device(), p.counters.on_device(), stream);
                      }),
      on_device<Scan>(
          "pipelined", "warps with jobs, tiles in a ring (sm_90)",
          [](Scan& p, cudaStream_t stream) {
            scan_pipelined(p.x.on_device(), p.y.on_device(), p.n, p.states.on_device(),
                           p.counters.on_device(), stream);
          },
          common::needs_sm(90)),
      scan_peer(),
      scan_device_copy(),
  };
}
