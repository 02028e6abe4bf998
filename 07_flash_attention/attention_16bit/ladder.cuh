// The index of this problem: every way to compute attention with Q, K, V and O in 16 bits, where
// tensor cores do the products, in reading order. attention_16bit_ladder<T>() is that for elements
// of T: __nv_bfloat16 or __half.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "07_flash_attention/attention_16bit/01_through_shared.cuh"
#include "07_flash_attention/attention_16bit/02_mma.cuh"
#include "07_flash_attention/attention_16bit/03_swizzled.cuh"
#include "07_flash_attention/attention_16bit/04_double_buffered.cuh"
#include "07_flash_attention/attention_16bit/05_lazy_rescale.cuh"
#include "07_flash_attention/attention_16bit/06_tma.cuh"
#include "07_flash_attention/attention_16bit/07_warp_specialized.cuh"
#include "07_flash_attention/attention_16bit/08_wgmma.cuh"
#include "07_flash_attention/attention_16bit/09_ping_pong.cuh"
#include "07_flash_attention/attention_16bit/10_gemm_softmax_overlap.cuh"
#include "07_flash_attention/attention_16bit/11_persistent.cuh"
#include "07_flash_attention/attention_16bit/12_async_store.cuh"
#include "07_flash_attention/attention_16bit/13_tile_counter.cuh"
#include "07_flash_attention/attention_16bit/14_longest_first.cuh"
#include "07_flash_attention/attention_16bit/beyond/01_fragment_prefetch.cuh"
#include "07_flash_attention/attention_16bit/beyond/02_early_scores.cuh"
#include "07_flash_attention/attention_16bit/chosen.cuh"
#include "07_flash_attention/peers.cuh"
#include "07_flash_attention/problem.cuh"
#include "07_flash_attention/settings.cuh"
#include "07_flash_attention/study/extra_memory.cuh"
#include "07_flash_attention/study/sweep_n.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/variant.cuh"

namespace attention {

// In fp16 most rungs are left out: they would keep the compiler busy for minutes and show nothing
// that they do not show in bf16.
template <class T>
std::vector<bench::Variant<Problem<T>>> rungs_16bit() {
  const bench::Needs sm80 = bench::needs_sm(80), hopper = bench::needs_exactly_sm(90);
  if constexpr (std::is_same_v<T, __half>) {
    return {
        attention_rung<T>("lazy_rescale", "O is rescaled only when it must be", lazy_rescale<T>,
                          sm80),
        attention_rung<T>("longest_first", "with a mask the longest tiles first", longest_first<T>,
                          hopper),
        attention_rung<T>("early_scores", "the next queries begin beside the last V",
                          early_scores<T>, hopper),
    };
  } else {
    return {
        attention_rung<T>("through_shared", "tensor cores, 16 queries a warp", through_shared<T>,
                          sm80),
        attention_rung<T>("mma", "weights stay in registers; 32 queries a warp", mma<T>, sm80),
        attention_rung<T>("swizzled", "chunks change places: ldmatrix without bank conflicts",
                          swizzled<T>, sm80),
        attention_rung<T>("double_buffered", "the next tiles travel meanwhile (cp.async)",
                          double_buffered<T>, sm80),
        attention_rung<T>("fragment_prefetch", "operands are fetched a step ahead",
                          fragment_prefetch<T>, sm80),
        attention_rung<T>("lazy_rescale", "O is rescaled only when it must be", lazy_rescale<T>,
                          sm80),
        attention_rung<T>("tma", "TMA brings the tiles; mbarriers say when", tma<T>, hopper),
        attention_rung<T>("warp_specialized", "a producer issues, eight warps multiply",
                          warp_specialized<T>, hopper),
        attention_rung<T>("wgmma", "warpgroups multiply from shared memory", wgmma<T>, hopper),
        attention_rung<T>("wgmma_two", "the same in the tiles of the next rung, for comparison",
                          wgmma<T, 2>, hopper),
        attention_rung<T>("ping_pong", "warpgroups take turns at the tensor cores", ping_pong<T>,
                          hopper),
        attention_rung<T>("gemm_softmax_overlap", "exponentials while the tile before meets V",
                          gemm_softmax_overlap<T>, hopper),
        attention_rung<T>("persistent", "blocks stay, each with a fixed share of the tiles",
                          persistent<T>, hopper),
        attention_rung<T>("async_store", "O leaves by TMA; Q frees its buffer early",
                          async_store<T>, hopper),
        attention_rung<T>("tile_counter", "a counter hands out the tiles", tile_counter<T>, hopper),
        attention_rung<T>("longest_first", "with a mask the longest tiles first", longest_first<T>,
                          hopper),
        attention_rung<T>("early_scores", "the next queries begin beside the last V",
                          early_scores<T>, hopper),
    };
  }
}

template <class T>
bench::Ladder<Problem<T>> attention_16bit_ladder() {
  bench::Ladder<Problem<T>> ladder;
  ladder.name = Problem<T>::name;
  ladder.show_gflops = true;
  ladder.variants = rungs_16bit<T>();
  ladder.variants.insert(ladder.variants.begin(), naive_variant<T>());
  ladder.variants.push_back(chooser_16bit<T>());
  ladder.variants.push_back(cublas<T>());
  ladder.settings = settings<T>();
  ladder.make = [](const bench::Settings& settings, const bench::RunSettings& run) {
    return std::make_unique<Problem<T>>(shape_of<T>(settings, run), run.seed,
                                        static_cast<double>(settings["spread"]),
                                        run.device.is_real_gpu());
  };
  ladder.memory = [](const bench::Settings& settings, const bench::RunSettings& run) {
    return Problem<T>::memory(shape_of<T>(settings, run));
  };
  ladder.sweeps = {{"n", "n: attention by length of the sequences", sweep_n<T>}};
  ladder.after = extra_memory_and_errors<T>;
  return ladder;
}

}  // namespace attention
