// The index of this problem: every way to compute attention in fp32, in reading order.
#include <memory>
#include <string>

#include "07_flash_attention/attention/01_sequential.hpp"
#include "07_flash_attention/attention/02_openmp.hpp"
#include "07_flash_attention/attention/03_naive.cuh"
#include "07_flash_attention/attention/04_online.cuh"
#include "07_flash_attention/attention/05_kv_outer.cuh"
#include "07_flash_attention/attention/06_q_outer.cuh"
#include "07_flash_attention/attention/07_register_tile.cuh"
#include "07_flash_attention/attention/08_vectorized.cuh"
#include "07_flash_attention/attention/09_base_2.cuh"
#include "07_flash_attention/attention/10_async_copy.cuh"
#include "07_flash_attention/attention/chosen.cuh"
#include "07_flash_attention/peers.cuh"
#include "07_flash_attention/problem.cuh"
#include "07_flash_attention/settings.cuh"
#include "07_flash_attention/study/extra_memory.cuh"
#include "07_flash_attention/study/sweep_n.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/variant.cuh"

namespace attention {

bench::Ladder<Fp32> attention_ladder() {
  auto sequential_rung = bench::baseline<Fp32>("sequential", "the definition, query by query",
                                               [](Fp32& p) { sequential(p.shape, p.host_data()); });
  sequential_rung.slow_above = 2e10;
  auto openmp_rung = bench::cpu_variant<Fp32>("openmp", "all cores, vector instructions",
                                              [](Fp32& p) { openmp(p.shape, p.host_data()); });
  openmp_rung.slow_above = 6e11;
  const auto kv_outer_rung = [](Fp32& p, cudaStream_t stream) {
    kv_outer(p.shape, p.device_data(), p.workspace.get<float>(2 * p.shape.rows()), stream);
  };

  bench::Ladder<Fp32> ladder;
  ladder.name = Fp32::name;
  ladder.show_gflops = true;
  ladder.variants = {
      sequential_rung,
      openmp_rung,
      naive_variant<float>(),
      attention_rung<float>("online", "a warp a query, softmax as the keys pass by", online),
      bench::device_variant<Fp32>(
          "kv_outer", "tiles; keys outside, queries inside (FlashAttention)", kv_outer_rung),
      attention_rung<float>("q_outer", "queries outside, keys inside (FlashAttention-2)", q_outer),
      attention_rung<float>("register_tile", "8 x 4 scores a thread", register_tile),
      attention_rung<float>("vectorized", "V and the output 16 bytes at a time", vectorized),
      attention_rung<float>("base_2", "less around the products: base 2, few masks, one sum",
                            base_2),
      attention_rung<float>("async_copy", "the next tile travels meanwhile (cp.async)", async_copy,
                            bench::needs_sm(80)),
      attention_chooser(),
      cublas<float>(),
  };
  ladder.settings = settings<float>();
  ladder.make = [](const bench::Settings& settings, const bench::RunSettings& run) {
    return std::make_unique<Fp32>(shape_of<float>(settings, run), run.seed,
                                  static_cast<double>(settings["spread"]),
                                  run.device.is_real_gpu());
  };
  ladder.memory = [](const bench::Settings& settings, const bench::RunSettings& run) {
    return Fp32::memory(shape_of<float>(settings, run));
  };
  ladder.sweeps = {{"n", "n: attention by length of the sequences", sweep_n<float>}};
  ladder.after = extra_memory_and_errors<float>;
  return ladder;
}

}  // namespace attention

namespace ladders {

bench::Ladders attention() { return {attention::attention_ladder()}; }

}  // namespace ladders
