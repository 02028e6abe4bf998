// The index of this problem: every way to compute the gradients, in reading order. backward_ladder
// <T>() is that for elements of T: float, __nv_bfloat16 or __half.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "07_flash_attention/backward/01_sequential.hpp"
#include "07_flash_attention/backward/02_openmp.hpp"
#include "07_flash_attention/backward/03_stored.cuh"
#include "07_flash_attention/backward/04_fused.cuh"
#include "07_flash_attention/backward/05_one_matrix.cuh"
#include "07_flash_attention/backward/06_recomputed.cuh"
#include "07_flash_attention/backward/07_through_shared.cuh"
#include "07_flash_attention/backward/08_mma.cuh"
#include "07_flash_attention/backward/09_wgmma_scores.cuh"
#include "07_flash_attention/backward/10_wgmma.cuh"
#include "07_flash_attention/backward/11_tma.cuh"
#include "07_flash_attention/backward/12_wide_atomics.cuh"
#include "07_flash_attention/backward/13_tma_fed.cuh"
#include "07_flash_attention/backward/14_overlap.cuh"
#include "07_flash_attention/backward/beyond/01_square_tiles.cuh"
#include "07_flash_attention/backward/beyond/02_ping_pong.cuh"
#include "07_flash_attention/backward/beyond/03_reduced_by_tma.cuh"
#include "07_flash_attention/backward/beyond/04_paired.cuh"
#include "07_flash_attention/backward/beyond/05_two_passes.cuh"
#include "07_flash_attention/backward/beyond/06_in_order.cuh"
#include "07_flash_attention/backward/beyond/07_paired_in_order.cuh"
#include "07_flash_attention/backward/beyond/08_deferred_dq.cuh"
#include "07_flash_attention/backward/beyond/09_longest_first.cuh"
#include "07_flash_attention/backward/beyond/10_early_finish.cuh"
#include "07_flash_attention/backward/beyond/11_lean_steps.cuh"
#include "07_flash_attention/backward/beyond/12_persistent.cuh"
#include "07_flash_attention/backward/beyond/13_errands.cuh"
#include "07_flash_attention/backward/beyond/14_persistent_in_order.cuh"
#include "07_flash_attention/backward/chosen.cuh"
#include "07_flash_attention/backward/kit/heads_done.cuh"
#include "07_flash_attention/backward/kit/row_stats.cuh"
#include "07_flash_attention/backward/problem.cuh"
#include "07_flash_attention/backward/settings.cuh"
#include "07_flash_attention/study/extra_memory.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/settings.hpp"
#include "common/bench/variant.cuh"

namespace backward {

// Those for tensor cores, in 16 bits.
template <class T>
void add_tensor_rungs(std::vector<bench::Variant<Backward<T>>>& rungs) {
  constexpr bool kAll = !std::is_same_v<T, __half>;
  const bench::Needs sm80 = bench::needs_sm(80), hopper = bench::needs_exactly_sm(90);
  const auto add = [&](const char* name, const char* idea, auto run, const bench::Needs& needs) {
    rungs.push_back(rung<T>(name, idea, run, row_stats_and_dq_scratch, needs));
  };
  if constexpr (kAll) {
    add(
        "through_shared", "tensor cores, a warp at a time; P and dS through shared memory",
        [](auto d) { return through_shared<T, d>; }, sm80);
  }
  add(
      "mma", "P and dS stay in registers; the next tiles come meanwhile",
      [](auto d) { return mma<T, d>; }, sm80);
  add(
      "square_tiles", "mma.sync; warps that share keys exchange scores",
      [](auto d) { return square_tiles<T, d>; }, sm80);
  if constexpr (kAll) {
    add(
        "wgmma_scores", "S and dP by wgmma, from shared memory",
        [](auto d) { return wgmma_scores<T, d>; }, hopper);
    add(
        "wgmma", "all five products by wgmma, nothing transposed",
        [](auto d) { return wgmma<T, d>; }, hopper);
    add(
        "tma", "one thread has TMA bring two stages", [](auto d) { return tma<T, d>; }, hopper);
    add(
        "wide_atomics", "dQ in the order of registers, 16 bytes an atomic",
        [](auto d) { return wide_atomics<T, d>; }, hopper);
    add(
        "tma_fed", "a third warpgroup feeds, by TMA", [](auto d) { return tma_fed<T, d>; }, hopper);
    add(
        "reduced_by_tma", "dQ leaves through shared memory; TMA adds",
        [](auto d) { return reduced_by_tma<T, d>; }, hopper);
  }
  add(
      "overlap", "weights under dP, dQ leaves under dK", [](auto d) { return overlap<T, d>; },
      hopper);
  if constexpr (kAll) {
    add(
        "deferred_dq", "dQ a step later: no wait for the others' dS",
        [](auto d) { return deferred_dq<T, d>; }, hopper);
  }
  add(
      "longest_first", "with a mask the tiles of keys with most queries first",
      [](auto d) { return longest_first<T, d>; }, hopper);
  add(
      "ping_pong", "warpgroups take turns in beginning a step",
      [](auto d) { return ping_pong<T, d>; }, hopper);
  rungs.push_back(rung<T>(
      "early_finish", "dQ of finished heads is rounded under the last blocks",
      [](auto d) { return early_finish<T, d>; }, heads_done_scratch, hopper));
  if constexpr (kAll) {
    rungs.push_back(rung<T>(
        "lean_steps", "no divisions in a step, and loads that know their space",
        [](auto d) { return lean_steps<T, d>; }, heads_done_scratch, hopper));
  }
  rungs.push_back(rung<T>(
      "persistent", "a block per SM draws tiles of keys; the next ones come meanwhile",
      [](auto d) { return persistent<T, d>; }, persistent_scratch, hopper));
  rungs.push_back(rung<T>(
      "errands", "D and zeros of later heads are made under the products",
      [](auto d) { return errands<T, d>; }, errands_scratch, hopper));
  add(
      "paired", "d = 256: a product a warpgroup; two blocks share 128 keys",
      [](auto d) { return paired<T, d>; }, hopper);
}

// The rungs in reading order, up to the fastest. In fp16 those are left out that show nothing that
// they do not show in bf16, and that no other program calls.
template <class T>
std::vector<bench::Variant<Backward<T>>> fast_rungs() {
  using P = Backward<T>;
  constexpr bool kAll = !std::is_same_v<T, __half>;
  std::vector<bench::Variant<P>> rungs = {
      bench::baseline<P>("sequential", "the definition, pair by pair",
                         [](P& p) { sequential(p.shape, p.host_data()); }),
      bench::cpu_variant<P>("openmp", "all cores; a loop over queries, one over keys",
                            [](P& p) { openmp(p.shape, p.host_data()); }),
  };
  if constexpr (kAll) {
    rungs.push_back(rung<T>(
        "stored", "five products, all matrices in memory", [](auto) { return stored<T>; },
        stored_scratch));
    rungs.push_back(rung<T>(
        "fused", "a kernel makes P and dS at once", [](auto) { return fused<T>; }, fused_scratch));
    rungs.push_back(rung<T>(
        "one_matrix", "a block owns keys; only dS is stored",
        [](auto d) { return one_matrix<T, d>; }, one_matrix_scratch));
  }
  rungs.push_back(rung<T>(
      "recomputed", "weights anew from the log-sum-exp; atomics for dQ",
      [](auto d) { return recomputed<T, d>; }, row_stats_and_dq_scratch));
  if constexpr (kAll) {
    rungs.push_back(rung<T>(
        "two_passes", "a kernel for dK and dV, one for dQ; no atomics",
        [](auto d) { return two_passes<T, d>; }, row_stats_scratch));
  }
  if constexpr (P::kIs16Bit) add_tensor_rungs<T>(rungs);
  return rungs;
}

template <class T>
bench::Ladder<Backward<T>> backward_ladder() {
  using P = Backward<T>;
  constexpr bool kIs16Bit = P::kIs16Bit;
  bench::Ladder<P> ladder;
  ladder.name = P::name;
  ladder.show_gflops = true;
  ladder.variants = fast_rungs<T>();
  const auto last_page = chosen<T>(ladder.variants);
  if constexpr (kIs16Bit) {
    ladder.variants.push_back(rung<T>(
        "in_order", "blocks add to dQ in turn: the same bits in each run",
        [](auto d) { return in_order<T, d>; }, in_order_scratch, bench::needs_exactly_sm(90)));
    ladder.variants.push_back(rung<T>(
        "persistent_in_order", "a block per SM, whose couriers add in turn",
        [](auto d) { return persistent_in_order<T, d>; }, persistent_in_order_scratch,
        bench::needs_exactly_sm(90)));
    ladder.variants.push_back(rung<T>(
        "paired_in_order", "d = 256: clusters add to dQ in turn",
        [](auto d) { return paired_in_order<T, d>; }, paired_in_order_scratch,
        bench::needs_exactly_sm(90)));
  }
  for (auto& variant : ladder.variants) {
    if (variant.needs.compute_capability >= 80) {
      variant.tags = {"tensor"};  // --only backward_bf16/@tensor: those for tensor cores
    } else if (variant.place == bench::Place::cpu) {
      variant.slow_above = variant.name == "sequential" ? 2e10 : 2e11;
    } else {
      variant.slow_above = 2e12;
    }
  }
  ladder.variants.push_back(last_page);
  ladder.settings = settings<T>();
  ladder.make = [](const bench::Settings& settings, const bench::RunSettings& run) {
    return std::make_unique<P>(shape_of<T>(settings), run.seed, run.device.is_real_gpu());
  };
  ladder.memory = [](const bench::Settings& settings, const bench::RunSettings&) {
    return P::memory(shape_of<T>(settings));
  };
  ladder.after = attention::extra_memory<P>;
  return ladder;
}

}  // namespace backward
