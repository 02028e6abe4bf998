// Problem D in reading order: every way to slide a window.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "03_coalescing/window/01_sequential.hpp"
#include "03_coalescing/window/02_openmp.hpp"
#include "03_coalescing/window/03_global.cuh"
#include "03_coalescing/window/04_read_only.cuh"
#include "03_coalescing/window/05_shared.cuh"
#include "03_coalescing/window/06_constant.cuh"
#include "03_coalescing/window/07_constant_by_lane.cuh"
#include "03_coalescing/window/08_four_outputs.cuh"
#include "03_coalescing/window/09_unrolled.cuh"
#include "03_coalescing/window/chosen.cuh"
#include "03_coalescing/window/kit/weights.cuh"
#include "03_coalescing/window/problem.cuh"
#include "03_coalescing/yardsticks.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/variant.cuh"
#include "common/bench/yardsticks.cuh"

namespace window {

bench::Ladder<Window> ladder() {
  using bench::cpu_variant, bench::device_variant;
  bench::Ladder<Window> ladder;
  ladder.name = Window::name;
  ladder.variants = {
      bench::baseline<Window>("sequential", "two loops",
                              [](Window& p) {
                                window_sequential(p.x.host_data(), p.weights.host_data(),
                                                  p.y.host_data(), p.n, p.radius);
                              }),
      cpu_variant<Window>("openmp", "the outer loop on all cores",
                          [](Window& p) {
                            window_openmp(p.x.host_data(), p.weights.host_data(), p.y.host_data(),
                                          p.n, p.radius);
                          }),
      coalescing::cpu_copy_yardstick<Window>(),
      device_variant<Window>("global", "inputs and weights straight from global memory",
                             [](Window& p, cudaStream_t stream) {
                               window_global(p.x.device_data(), p.weights.device_data(),
                                             p.y.device_data(), p.n, p.radius, stream);
                             }),
      device_variant<Window>("read_only", "const __restrict__ and __ldg: nobody writes the inputs",
                             [](Window& p, cudaStream_t stream) {
                               window_read_only(p.x.device_data(), p.weights.device_data(),
                                                p.y.device_data(), p.n, p.radius, stream);
                             }),
      device_variant<Window>("shared", "tile and halo in shared memory",
                             [](Window& p, cudaStream_t stream) {
                               window_shared(p.x.device_data(), p.weights.device_data(),
                                             p.y.device_data(), p.n, p.radius, stream);
                             }),
      with_constant_weights("constant", "weights in __constant__, the same for all lanes",
                            window_constant),
      with_constant_weights("constant_by_lane", "lanes read different constants (slow on purpose)",
                            window_constant_by_lane),
      with_constant_weights("four_outputs", "four outputs per thread, inputs in registers",
                            window_four_outputs),
      with_constant_weights("unrolled", "the radius is known to the compiler", window_unrolled),
      window_chooser(),
      coalescing::copy_kernel_yardstick<Window>(),
      bench::device_copy(&Window::x, &Window::y),
  };
  ladder.settings = {
      bench::number("signal", "floats under the window (default 4000000; on a CPU 262144)",
                    4'000'000, 1 << 18, 1, INT64_MAX),
      bench::number("radius", "radius of the window (default 8)", 8, 0, kMaxRadius)};
  ladder.make = [](const bench::Settings& settings, const bench::RunSettings& run) {
    return std::make_unique<Window>(settings["signal"], static_cast<int>(settings["radius"]),
                                    run.seed);
  };
  ladder.memory = [](const bench::Settings& settings, const bench::RunSettings&) {
    return Window::memory(settings["signal"]);
  };
  return ladder;
}

}  // namespace window

namespace ladders {

bench::Ladders window() { return {window::ladder()}; }

}  // namespace ladders
