// Problem D in reading order: every way to slide a window.
#pragma once

#include <cstdint>
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
#include "03_coalescing/window/problem.cuh"
#include "03_coalescing/yardsticks.cuh"
#include "common/variant.cuh"
#include "common/yardsticks.cuh"

// Sees to it that constant memory holds the weights of this problem. They go there once per
// problem, not once per launch: a program sets its coefficients and then uses them.
inline void use_weights_of(const Window& p, cudaStream_t stream) {
  static std::uint64_t owner = 0;
  if (owner != p.id) window_set_weights(p.weights.pristine(), p.taps(), stream);
  owner = p.id;
}

// A rung that finds its weights in constant memory: void run(x, y, n, radius, stream).
template <class Run>
common::Variant<Window> with_constant_weights(const std::string& name, const std::string& idea,
                                              Run run) {
  return common::on_device<Window>(name, idea, [run](Window& p, cudaStream_t stream) {
    use_weights_of(p, stream);
    run(p.x.on_device(), p.y.on_device(), p.n, p.radius, stream);
  });
}

inline std::vector<common::Variant<Window>> window_variants() {
  using common::on_cpu, common::on_device;
  return {
      on_cpu<Window>("sequential", "two loops",
                     [](Window& p) {
                       window_sequential(p.x.on_host(), p.weights.on_host(), p.y.on_host(), p.n,
                                         p.radius);
                     }),
      on_cpu<Window>("openmp", "the outer loop on all cores",
                     [](Window& p) {
                       window_openmp(p.x.on_host(), p.weights.on_host(), p.y.on_host(), p.n,
                                     p.radius);
                     }),
      cpu_copy_yardstick<Window>(),
      on_device<Window>("global", "inputs and weights straight from global memory",
                        [](Window& p, cudaStream_t stream) {
                          window_global(p.x.on_device(), p.weights.on_device(), p.y.on_device(),
                                        p.n, p.radius, stream);
                        }),
      on_device<Window>("read_only", "const __restrict__ and __ldg: nobody writes the inputs",
                        [](Window& p, cudaStream_t stream) {
                          window_read_only(p.x.on_device(), p.weights.on_device(), p.y.on_device(),
                                           p.n, p.radius, stream);
                        }),
      on_device<Window>("shared", "tile and halo in shared memory",
                        [](Window& p, cudaStream_t stream) {
                          window_shared(p.x.on_device(), p.weights.on_device(), p.y.on_device(),
                                        p.n, p.radius, stream);
                        }),
      with_constant_weights("constant", "weights in __constant__, the same for all lanes",
                            window_constant),
      with_constant_weights("constant_by_lane", "lanes read different constants (slow on purpose)",
                            window_constant_by_lane),
      with_constant_weights("four_outputs", "four outputs a thread, inputs in registers",
                            window_four_outputs),
      with_constant_weights("unrolled", "the radius is known to the compiler", window_unrolled),
      copy_kernel_yardstick<Window>(),
      common::device_copy(&Window::x, &Window::y),
  };
}
