// The index of `pi`: every way to estimate pi, in reading order.
#include <memory>
#include <string>
#include <vector>

#include "06_atomics_streams/pi/01_sequential.hpp"
#include "06_atomics_streams/pi/02_openmp.hpp"
#include "06_atomics_streams/pi/03_curand_host.cuh"
#include "06_atomics_streams/pi/04_curand_device.cuh"
#include "06_atomics_streams/pi/05_philox.cuh"
#include "06_atomics_streams/pi/problem.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/variant.cuh"

namespace pi {

inline bench::Variant<Pi> pi_curand_host_variant() {
  bench::Variant<Pi> variant;
  variant.name = "curand_host";
  variant.idea = "cuRAND fills an array, a kernel reads it";
  variant.place = bench::Place::device;
#if __has_include(<curand.h>)
  const auto curand = std::make_shared<std::unique_ptr<CurandHost>>();  // made at first use
  variant.run = [curand](Pi& p, cudaStream_t stream) {
    if (!*curand) *curand = std::make_unique<CurandHost>();
    (*curand)->run(p.n, p.seed, p.hits.device_data(), stream);
  };
#else
  variant.needs.missing = "needs cuRAND, which comes with the CUDA Toolkit";
#endif
  return variant;
}

inline bench::Variant<Pi> pi_curand_device_variant() {
  bench::Variant<Pi> variant;
  variant.name = "curand_device";
  variant.idea = "cuRAND's generator inside the kernel";
  variant.place = bench::Place::device;
#if __has_include(<curand_kernel.h>)
  variant.run = [](Pi& p, cudaStream_t stream) {
    pi_curand_device(p.n, p.seed, p.hits.device_data(), stream);
  };
#else
  variant.needs.missing = "needs cuRAND, which comes with the CUDA Toolkit";
#endif
  return variant;
}

bench::Ladder<Pi> ladder() {
  bench::Ladder<Pi> ladder;
  ladder.name = Pi::name;
  ladder.variants = {
      bench::baseline<Pi>("sequential", "one core throws all points",
                          [](Pi& p) { *p.hits.host_data() = pi_sequential(p.n, p.seed); }),
      bench::cpu_variant<Pi>("openmp", "all cores, the same points",
                             [](Pi& p) { *p.hits.host_data() = pi_openmp(p.n, p.seed); }),
      pi_curand_host_variant(),
      pi_curand_device_variant(),
      bench::device_variant<Pi>(
          "philox", "own generator without state, the same points again",
          [](Pi& p, cudaStream_t stream) { pi_philox(p.n, p.seed, p.hits.device_data(), stream); }),
  };
  for (auto& variant : ladder.variants) {
    const bool own = variant.name.find("curand") == std::string::npos;
    if (own) variant.check = [](const Pi& p) { return p.check_exactly(); };
  }
  ladder.settings = {bench::number(
      "n", "elements of every problem, of the lock at most 65536 (default: each its own)", 1 << 26,
      1'000'003, 1, 0xfffffffe)};
  ladder.make = [](const bench::Settings& settings, const bench::RunSettings& run) {
    return std::make_unique<Pi>(settings["n"], run.seed);
  };
  return ladder;
}

}  // namespace pi

namespace ladders {

bench::Ladders pi() { return {pi::ladder()}; }

}  // namespace ladders
