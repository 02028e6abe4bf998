// The index of problem E: every way to estimate pi, in reading order.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "06_atomics_streams/pi/01_sequential.hpp"
#include "06_atomics_streams/pi/02_openmp.hpp"
#include "06_atomics_streams/pi/03_curand_host.cuh"
#include "06_atomics_streams/pi/04_curand_device.cuh"
#include "06_atomics_streams/pi/05_philox.cuh"
#include "06_atomics_streams/pi/problem.cuh"
#include "common/variant.cuh"

inline common::Variant<Pi> pi_curand_host_variant() {
  common::Variant<Pi> variant;
  variant.name = "curand_host";
  variant.idea = "cuRAND fills an array, a kernel reads it";
  variant.place = common::Place::device;
#if __has_include(<curand.h>)
  const auto curand = std::make_shared<std::unique_ptr<CurandHost>>();  // made at first use
  variant.run = [curand](Pi& p, cudaStream_t stream) -> common::Phases {
    if (!*curand) *curand = std::make_unique<CurandHost>();
    (*curand)->run(p.n, p.seed, p.hits.on_device(), stream);
    return {};
  };
#else
  variant.needs.missing = "needs cuRAND, which comes with the CUDA Toolkit";
#endif
  return variant;
}

inline common::Variant<Pi> pi_curand_device_variant() {
  common::Variant<Pi> variant;
  variant.name = "curand_device";
  variant.idea = "cuRAND's generator inside the kernel";
  variant.place = common::Place::device;
#if __has_include(<curand_kernel.h>)
  variant.run = [](Pi& p, cudaStream_t stream) -> common::Phases {
    pi_curand_device(p.n, p.seed, p.hits.on_device(), stream);
    return {};
  };
#else
  variant.needs.missing = "needs cuRAND, which comes with the CUDA Toolkit";
#endif
  return variant;
}

inline std::vector<common::Variant<Pi>> pi_variants() {
  std::vector<common::Variant<Pi>> variants = {
      common::on_cpu<Pi>("sequential", "one core throws all points",
                         [](Pi& p) { *p.hits.on_host() = pi_sequential(p.n, p.seed); }),
      common::on_cpu<Pi>("openmp", "all cores, the same points",
                         [](Pi& p) { *p.hits.on_host() = pi_openmp(p.n, p.seed); }),
      pi_curand_host_variant(),
      pi_curand_device_variant(),
      common::on_device<Pi>(
          "philox", "own generator without state, the same points again",
          [](Pi& p, cudaStream_t stream) { pi_philox(p.n, p.seed, p.hits.on_device(), stream); }),
  };
  for (auto& variant : variants) {
    const bool own = variant.name.find("curand") == std::string::npos;
    if (own) variant.check = [](const Pi& p) { return p.check_exactly(); };
  }
  return variants;
}
