// The index of this problem: every way to take one step of decoding, in reading order.
// decode_ladder<T>() has caches in one piece, decode_paged_ladder<T>() has them in pages; T is
// __nv_bfloat16 or __half.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "07_flash_attention/decode/01_sequential.hpp"
#include "07_flash_attention/decode/02_openmp.hpp"
#include "07_flash_attention/decode/03_prefill_kernel.cuh"
#include "07_flash_attention/decode/04_row_per_warp.cuh"
#include "07_flash_attention/decode/05_vectorized.cuh"
#include "07_flash_attention/decode/06_group.cuh"
#include "07_flash_attention/decode/07_split.cuh"
#include "07_flash_attention/decode/08_last_block_merges.cuh"
#include "07_flash_attention/decode/09_prefetch.cuh"
#include "07_flash_attention/decode/10_tensor.cuh"
#include "07_flash_attention/decode/11_cluster_merges.cuh"
#include "07_flash_attention/decode/12_persistent.cuh"
#include "07_flash_attention/decode/13_paged.cuh"
#include "07_flash_attention/decode/14_work_list.cuh"
#include "07_flash_attention/decode/beyond/01_programmatic_launch.cuh"
#include "07_flash_attention/decode/beyond/02_early_lookups.cuh"
#include "07_flash_attention/decode/chosen.cuh"
#include "07_flash_attention/decode/peers.cuh"
#include "07_flash_attention/decode/problem.cuh"
#include "07_flash_attention/decode/settings.cuh"
#include "07_flash_attention/decode/shape.hpp"
#include "07_flash_attention/study/extra_memory.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/run_settings.hpp"
#include "common/bench/settings.hpp"
#include "common/bench/variant.cuh"

namespace decode {

template <class T>
std::vector<bench::Variant<Decode<T>>> cpu_rungs() {
  using P = Decode<T>;
  std::vector<bench::Variant<P>> rungs = {
      bench::baseline<P>("sequential", "the definition, query by query",
                         [](P& p) { sequential(p.shape, p.host_data(), p.host_cache()); }),
      bench::cpu_variant<P>("openmp", "all cores; a key serves all queries that share it",
                            [](P& p) { openmp(p.shape, p.host_data(), p.host_cache()); }),
  };
  rungs[0].slow_above = 2e10;
  rungs[1].slow_above = 4e11;
  return rungs;
}

// In fp16 most rungs are left out: they show nothing that they do not show in bf16.
template <class T>
std::vector<bench::Variant<Decode<T>>> dense_rungs() {
  const bench::Needs sm80 = bench::needs_sm(80);
  std::vector<bench::Variant<Decode<T>>> rungs = cpu_rungs<T>();
  const auto without_scratch = [](auto run) {
    return [run](const Shape& shape, const Tensors<T>& t, const Scratch&, cudaStream_t stream) {
      run(shape, t, stream);
    };
  };
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    rungs.push_back(rung<T>("prefill_kernel",
                            "the forward kernel, its tile of queries empty but one",
                            without_scratch(prefill_kernel<T>)));
    rungs.push_back(rung<T>("row_per_warp", "a warp a query head, no shared memory",
                            without_scratch(row_per_warp<T>)));
    rungs.push_back(rung<T>("vectorized", "16 bytes per lane: several keys per warp",
                            without_scratch(vectorized<T>)));
    rungs.push_back(rung<T>("group", "a block a K/V head: its queries share each load",
                            without_scratch(group<T>)));
    rungs.push_back(rung<T>("split", "chunks over blocks, a second kernel merges", split<T>));
  }
  rungs.push_back(
      rung<T>("last_block_merges", "one launch: a ticket says who is last", last_block_merges<T>));
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    rungs.push_back(
        rung<T>("prefetch", "a ring of stages is filled ahead (cp.async)", prefetch<T>, sm80));
  }
  rungs.push_back(
      rung<T>("tensor", "queries padded to the tile of a tensor core", tensor<T>, sm80));
  rungs.push_back(rung<T>("cluster_merges", "few sequences: eight blocks merge in shared memory",
                          without_scratch(cluster_merges<T>), bench::needs_sm(90)));
  rungs.push_back(rung<T>("persistent", "clusters that stay, whose rings never run empty",
                          without_scratch(persistent<T>), bench::needs_sm(90)));
  rungs.push_back(rung<T>("programmatic_launch", "a launch begins while the one before it ends",
                          programmatic_launch<T>, bench::needs_sm(90)));
  return rungs;
}

// What both ladders have in common. layout_of(settings): how the caches lie.
template <class T, class LayoutOf>
bench::Ladder<Decode<T>> ladder_of(const std::string& name, LayoutOf layout_of) {
  using P = Decode<T>;
  bench::Ladder<P> ladder;
  ladder.name = name;
  ladder.settings = settings<T>();
  ladder.make = [layout_of](const bench::Settings& settings, const bench::RunSettings& run) {
    return std::make_unique<P>(shape_of(settings, run), layout_of(settings), run.seed,
                               run.device.is_real_gpu());
  };
  ladder.memory = [layout_of](const bench::Settings& settings, const bench::RunSettings& run) {
    return P::memory(shape_of(settings, run), layout_of(settings));
  };
  ladder.after = attention::extra_memory<P>;
  return ladder;
}

// --only decode_bf16/@device: all that run on the device.
template <class T>
void tag_device_rows(bench::Ladder<Decode<T>>& ladder) {
  for (auto& variant : ladder.variants) {
    if (variant.place == bench::Place::device) variant.tags = {"device"};
  }
}

template <class T>
bench::Ladder<Decode<T>> decode_ladder() {
  constexpr bool kIsHalf = std::is_same_v<T, __half>;
  auto ladder = ladder_of<T>(kIsHalf ? "decode_fp16" : "decode_bf16",
                             [](const bench::Settings&) { return Layout(); });
  ladder.variants = dense_rungs<T>();
  ladder.variants.push_back(chooser<T>());
  ladder.variants.push_back(device_read<T>());
  tag_device_rows(ladder);
  return ladder;
}

template <class T>
bench::Ladder<Decode<T>> decode_paged_ladder() {
  constexpr bool kIsHalf = std::is_same_v<T, __half>;
  auto ladder = ladder_of<T>(kIsHalf ? "decode_paged_fp16" : "decode_paged_bf16", layout_of);
  ladder.variants = cpu_rungs<T>();
  ladder.variants.push_back(
      paged_rung<T>("paged", "a page table, looked up a step ahead", paged<T>));
  ladder.variants.push_back(
      paged_rung<T>("work_list", "chunks of one length, the longest first", work_list<T>));
  ladder.variants.push_back(paged_rung<T>("early_lookups",
                                          "the first pages are found while the launch before ends",
                                          early_lookups<T>, bench::needs_sm(90)));
  ladder.variants.push_back(paged_chooser<T>());
  ladder.variants.push_back(device_read<T>());
  tag_device_rows(ladder);
  const std::int64_t most = Shape::kMostLength;
  for (const auto& setting : {
           bench::number("page", "tokens of a page", 16, 1, most),
           bench::number("window", "only so many of the newest tokens count (default: all)", 0, 1,
                         most),
           bench::flag("ragged", "sequences of random lengths, up to n"),
       }) {
    ladder.settings.push_back(setting);
  }
  return ladder;
}

}  // namespace decode
