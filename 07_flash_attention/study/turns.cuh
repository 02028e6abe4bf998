// What two warpgroups do over time: `wgmma` to `gemm_softmax_overlap` with time stamps, beside the
// same rungs without.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "07_flash_attention/attention_16bit/08_wgmma.cuh"
#include "07_flash_attention/attention_16bit/09_ping_pong.cuh"
#include "07_flash_attention/attention_16bit/10_gemm_softmax_overlap.cuh"
#include "07_flash_attention/kit/attention_tile.cuh"
#include "07_flash_attention/problem.cuh"
#include "07_flash_attention/shape.hpp"
#include "07_flash_attention/study/stamps.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/options.hpp"
#include "common/bench/report.hpp"
#include "common/bench/settings.hpp"
#include "common/bench/timeline.hpp"
#include "common/bench/variant.cuh"
#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"
#include "common/kit/launch.cuh"

namespace attention {

// The stamps of the last run, on the device, for the shape that prepare() was called with.
class Stamps {
 public:
  static constexpr int kWarpgroups = TurnsTile::kConsumers;

  void prepare(const Shape& shape) {
    const int blocks = static_cast<int>(shape.all_heads()) *
                       kit::divide_up(static_cast<int>(shape.n_q), TurnsTile::kTileM);
    const int tiles = kit::divide_up(static_cast<int>(shape.n_k), TurnsTile::kTileN);
    if (blocks == blocks_ && tiles == table_.tiles) return;
    blocks_ = blocks;
    table_ = {nullptr, kWarpgroups, tiles};
    on_device_ = kit::DeviceBuffer<long long>(table_.place(blocks, 0, 0));
    table_.clocks = on_device_.data();
    CUDA_CHECK(cudaMemcpyToSymbol(stamp_table, &table_, sizeof table_));
  }

  void fetch() {
    on_host_.resize(on_device_.size());
    CUDA_CHECK(
        cudaMemcpy(on_host_.data(), on_device_.data(), on_device_.bytes(), cudaMemcpyDeviceToHost));
  }

  int blocks() const { return blocks_; }
  int tiles() const { return table_.tiles; }
  double at(int block, int warpgroup, int tile, Moment moment) const {
    return static_cast<double>(on_host_[table_.place(block, warpgroup, tile) + moment]);
  }

 private:
  int blocks_ = 0;
  StampTable table_ = {};
  kit::DeviceBuffer<long long> on_device_;
  std::vector<long long> on_host_;
};

// What a warpgroup does from one K that it wants to the next. Stamps of V have the number of V,
// which `ping_pong` and `gemm_softmax_overlap` multiply beside the scores of the tile after it.
using Step = std::vector<bench::Bar> (*)(const Stamps&, int block, int warpgroup, int tile);

// A rung, plain and with stamps.
struct StampedRung {
  std::string name, idea;
  void (*kernel)(AttentionMaps, Tensors<__nv_bfloat16>, int, int, float);
  void (*stamped_kernel)(AttentionMaps, Tensors<__nv_bfloat16>, int, int, float);
  Step step;
};

inline std::string lane_of(int warpgroup, const std::string& of) {
  return std::string(1, static_cast<char>('A' + warpgroup)) + ": " + of;
}

// `wgmma`: scores, softmax, output, one after the other.
inline std::vector<bench::Bar> step_of_wgmma(const Stamps& stamps, int block, int w, int tile) {
  const auto at = [&](int t, Moment moment) { return stamps.at(block, w, t, moment); };
  return {{lane_of(w, "products"), "QK", at(tile, kIssuesScores), at(tile, kHasScores)},
          {lane_of(w, "softmax"), "softmax", at(tile, kHasScores), at(tile, kWantsV)},
          {lane_of(w, "products"), "PV", at(tile, kWantsV), at(tile, kHasOutput)}};
}

// `ping_pong`: both products in a turn, waited for together; then the softmax.
inline std::vector<bench::Bar> step_of_ping_pong(const Stamps& stamps, int block, int w, int tile) {
  const auto at = [&](int t, Moment moment) { return stamps.at(block, w, t, moment); };
  return {{lane_of(w, "products"), "QK, PV", at(tile, kIssuesScores), at(tile - 1, kHasOutput)},
          {lane_of(w, "softmax"), "softmax", at(tile - 1, kHasOutput), at(tile + 1, kWantsK)},
          {lane_of(w, "softmax"), "wait", at(tile + 1, kWantsK), at(tile + 1, kIssuesScores)}};
}

// `gemm_softmax_overlap`: the softmax begins when the scores are here. Nobody looks whether PV is
// done before the softmax is.
inline std::vector<bench::Bar> step_of_overlap(const Stamps& stamps, int block, int w, int tile) {
  const auto at = [&](int t, Moment moment) { return stamps.at(block, w, t, moment); };
  return {{lane_of(w, "products"), "QK", at(tile, kIssuesScores), at(tile, kHasScores)},
          {lane_of(w, "products"), "PV", at(tile, kHasScores), at(tile - 1, kHasOutput)},
          {lane_of(w, "softmax"), "softmax", at(tile, kHasScores), at(tile + 1, kWantsK)},
          {lane_of(w, "softmax"), "wait", at(tile + 1, kWantsK), at(tile + 1, kIssuesScores)}};
}

inline std::vector<StampedRung> stamped_rungs() {
  using Tile = TurnsTile;
  return {{"wgmma_two", "without turns", attention_wgmma_kernel<__nv_bfloat16, Tile, false>,
           attention_wgmma_kernel<__nv_bfloat16, Stamped<Tile>, false>, step_of_wgmma},
          {"ping_pong", "in turns", attention_ping_pong_kernel<__nv_bfloat16, Tile, false>,
           attention_ping_pong_kernel<__nv_bfloat16, Stamped<Tile>, false>, step_of_ping_pong},
          {"gemm_softmax_overlap", "in turns, softmax beside the own product",
           attention_gemm_softmax_overlap_kernel<__nv_bfloat16, Tile, false>,
           attention_gemm_softmax_overlap_kernel<__nv_bfloat16, Stamped<Tile>, false>,
           step_of_overlap}};
}

// As the rungs launch themselves.
template <class Tile, class Kernel>
void launch_in(Kernel kernel, const Shape& shape, const Tensors<__nv_bfloat16>& t,
               cudaStream_t stream) {
  constexpr int kShared = kit::aligned_shared_bytes<BlockShared<Tile>>();
  const int n_q = static_cast<int>(shape.n_q), n_k = static_cast<int>(shape.n_k);
  const int blocks = static_cast<int>(shape.all_heads()) * kit::divide_up(n_q, Tile::kTileM);
  kit::allow_shared(kernel, kShared);
  kernel<<<blocks, Tile::kThreads, kShared, stream>>>(tensor_maps<Tile>(shape, t), t, n_q, n_k,
                                                      shape.scale() * kLog2E);
  CUDA_CHECK(cudaGetLastError());
}

// ---- what the stamps say

// Tiles in the steady state: away from the beginning and the end of a block.
constexpr int kEdgeTiles = 4, kDrawnTiles = 4;

inline int first_drawn(const Stamps& stamps) { return (stamps.tiles() - kDrawnTiles) / 2; }

inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// From one K that a warpgroup wants to the next: median over all blocks, warpgroups and tiles.
inline double tile_cycles(const Stamps& stamps) {
  std::vector<double> cycles;
  for (int block = 0; block < stamps.blocks(); ++block) {
    for (int w = 0; w < Stamps::kWarpgroups; ++w) {
      const int first = kEdgeTiles, last = stamps.tiles() - kEdgeTiles;
      cycles.push_back((stamps.at(block, w, last, kWantsK) - stamps.at(block, w, first, kWantsK)) /
                       (last - first));
    }
  }
  return median(cycles);
}

// The same of each kind of work.
inline double cycles_of(const Stamps& stamps, const StampedRung& rung, const std::string& what) {
  std::vector<double> cycles;
  for (int block = 0; block < stamps.blocks(); ++block) {
    for (int w = 0; w < Stamps::kWarpgroups; ++w) {
      for (int tile = kEdgeTiles; tile < stamps.tiles() - kEdgeTiles; ++tile) {
        for (const bench::Bar& bar : rung.step(stamps, block, w, tile)) {
          if (bar.what == what) cycles.push_back(bar.end - bar.begin);
        }
      }
    }
  }
  return cycles.empty() ? bench::kUnknown : median(std::move(cycles));
}

// A few tiles of one block, from the moment when A wants the first K of them.
inline bench::Timeline timeline_of(const Stamps& stamps, const StampedRung& rung, int block) {
  bench::Timeline timeline{Bf16::name, rung.name, "cycles", {}, {}};
  const int first = first_drawn(stamps);
  const double begin = stamps.at(block, 0, first, kIssuesScores);
  const double end = stamps.at(block, 0, first + kDrawnTiles, kIssuesScores);
  for (int w = 0; w < Stamps::kWarpgroups; ++w) {
    timeline.lanes.push_back(lane_of(w, "products"));
    timeline.lanes.push_back(lane_of(w, "softmax"));
    for (int tile = 1; tile + 1 < stamps.tiles(); ++tile) {
      for (bench::Bar bar : rung.step(stamps, block, w, tile)) {
        if (bar.end <= begin || bar.begin >= end) continue;
        bar.begin = std::max(bar.begin, begin) - begin;
        bar.end = std::min(bar.end, end) - begin;
        timeline.bars.push_back(bar);
      }
    }
  }
  return timeline;
}

// The block whose tiles take as long as those of most.
inline int typical_block(const Stamps& stamps) {
  std::vector<std::pair<double, int>> blocks;
  for (int block = 0; block < stamps.blocks(); ++block) {
    const int first = first_drawn(stamps);
    blocks.emplace_back(
        stamps.at(block, 0, first + kDrawnTiles, kWantsK) - stamps.at(block, 0, first, kWantsK),
        block);
  }
  const auto middle = blocks.begin() + static_cast<std::ptrdiff_t>(blocks.size() / 2);
  std::nth_element(blocks.begin(), middle, blocks.end());
  return middle->second;
}

// ---- the ladder

// After the table, on a device that keeps time: each rung once more, its intervals and its
// timeline.
inline bench::Shown show_turns(const bench::RunSettings& run, Bf16& problem, Stamps& stamps,
                               const std::vector<bench::Variant<Bf16>>& variants) {
  if (run.verify_only) return {};
  if (!run.device.is_real_gpu()) {
    return {"Timelines are not shown: this device models no time.\n"};
  }
  bench::Shown shown;
  bench::Sweep sweep{Bf16::name,
                     "turns",
                     {"rung", "tile_cycles", "wait_cycles", "scores_cycles", "both_cycles",
                      "softmax_cycles", "output_cycles"},
                     {}};
  int number = 8;
  for (const StampedRung& rung : stamped_rungs()) {
    for (const auto& variant : variants) {
      if (variant.name != rung.name + "_stamped") continue;
      for (int warm_up = 0; warm_up < 20; ++warm_up) variant.run(problem, nullptr);
      CUDA_CHECK(cudaDeviceSynchronize());
      stamps.fetch();
      const double tile = tile_cycles(stamps);
      const auto cycles = [&](const char* what) { return cycles_of(stamps, rung, what); };
      sweep.points.push_back({static_cast<double>(number), tile, cycles("wait"), cycles("QK"),
                              cycles("QK, PV"), cycles("softmax"), cycles("PV")});
      shown.push_back(timeline_of(stamps, rung, typical_block(stamps)));
    }
    ++number;
  }
  if (!sweep.points.empty()) shown.push_back(sweep);
  return shown;
}

inline bench::Ladder<Bf16> turns_ladder() {
  bench::Ladder<Bf16> ladder;
  ladder.name = Bf16::name;
  ladder.show_gflops = true;
  const auto stamps = std::make_shared<Stamps>();
  for (const StampedRung& rung : stamped_rungs()) {
    ladder.variants.push_back(bench::device_variant<Bf16>(
        rung.name, rung.idea,
        [rung](Bf16& p, cudaStream_t stream) {
          launch_in<TurnsTile>(rung.kernel, p.shape, p.device_data(), stream);
        },
        bench::needs_exactly_sm(90)));
    ladder.variants.push_back(bench::device_variant<Bf16>(
        rung.name + "_stamped", "the same with time stamps",
        [rung, stamps](Bf16& p, cudaStream_t stream) {
          stamps->prepare(p.shape);
          launch_in<Stamped<TurnsTile>>(rung.stamped_kernel, p.shape, p.device_data(), stream);
        },
        bench::needs_exactly_sm(90)));
  }
  ladder.settings = {bench::number("batch", "sequences", 4, 1, 1, 1 << 10),
                     bench::number("heads", "heads of a sequence", 16, 1, 1, 1 << 10),
                     bench::number("n", "queries of a sequence, and keys", 4096, 264, 1, 1 << 16)};
  const auto shape_of = [](const bench::Settings& settings) {
    const std::int64_t n = settings["n"];
    return Shape{settings["batch"], settings["heads"], n, n, TurnsTile::kD, false};
  };
  ladder.make = [shape_of](const bench::Settings& settings, const bench::RunSettings& run) {
    // Timelines show the steady state.
    constexpr int kLeast = TurnsTile::kTileN * (2 * kEdgeTiles + kDrawnTiles);
    if (!run.verify_only && run.device.is_real_gpu() && settings["n"] < kLeast) {
      throw bench::UsageError("--n: a timeline needs " + std::to_string(kLeast) + " tokens");
    }
    return std::make_unique<Bf16>(shape_of(settings), run.seed, 1, run.device.is_real_gpu());
  };
  ladder.memory = [shape_of](const bench::Settings& settings, const bench::RunSettings&) {
    return Bf16::memory(shape_of(settings));
  };
  ladder.after = [stamps](const bench::RunSettings& run, Bf16& problem, const auto& variants,
                          const bench::ProblemReport&) {
    return show_turns(run, problem, *stamps, variants);
  };
  return ladder;
}

}  // namespace attention
