// The index of this problem: every way to compute the softmax of rows, in reading order.
#pragma once

#include <string>
#include <vector>

#include "07_flash_attention/softmax/01_sequential.hpp"
#include "07_flash_attention/softmax/02_openmp.hpp"
#include "07_flash_attention/softmax/03_naive.cuh"
#include "07_flash_attention/softmax/04_safe.cuh"
#include "07_flash_attention/softmax/05_online.cuh"
#include "07_flash_attention/softmax/06_cached.cuh"
#include "07_flash_attention/softmax/07_warp.cuh"
#include "07_flash_attention/softmax/problem.cuh"
#include "common/variant.cuh"
#include "common/yardsticks.cuh"

// A rung on the host: run(x, y, rows, columns); one on the device: the same with a stream.
template <class Run>
auto softmax_on_host(Run run) {
  return [run](Softmax& p) { run(p.x.on_host(), p.y.on_host(), p.rows, p.columns); };
}
template <class Run>
auto softmax_on_device(Run run) {
  return [run](Softmax& p, cudaStream_t stream) {
    run(p.x.on_device(), p.y.on_device(), p.rows, p.columns, stream);
  };
}

inline std::vector<common::Variant<Softmax>> softmax_variants() {
  using common::on_cpu, common::on_device;
  const auto naive = [](Softmax& p, cudaStream_t stream) {
    if (p.overflows()) throw common::Skip("overflows with these inputs");
    softmax_naive(p.x.on_device(), p.y.on_device(), p.rows, p.columns, stream);
  };
  return {
      on_cpu<Softmax>("sequential", "three loops over each row",
                      softmax_on_host(softmax_sequential)),
      on_cpu<Softmax>("openmp", "all cores, vector instructions", softmax_on_host(softmax_openmp)),
      on_device<Softmax>("naive", "as the formula is written: large inputs overflow", naive),
      on_device<Softmax>("safe", "the largest element first, in a pass of its own",
                         softmax_on_device(softmax_safe)),
      on_device<Softmax>("online", "the largest and the sum in one pass",
                         softmax_on_device(softmax_online)),
      on_device<Softmax>("cached", "a row that fits is kept in shared memory",
                         softmax_on_device(softmax_cached)),
      on_device<Softmax>("warp", "a short row is kept in the registers of a warp",
                         softmax_on_device(softmax_warp)),
      common::device_copy(&Softmax::x, &Softmax::y),
  };
}
