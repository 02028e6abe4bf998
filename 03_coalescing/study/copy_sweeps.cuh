// --sweep stride and --sweep offset: the same loads at other addresses, and what they cost.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "03_coalescing/copy/problem.cuh"
#include "03_coalescing/study/copy_gather.cuh"
#include "common/bench/compare.hpp"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/settings.hpp"
#include "common/bench/variant.cuh"
#include "common/kit/host_buffer.hpp"

namespace coalesced_copy {

// Sectors of 32 bytes that one load request of copy_gather_kernel touches, all lanes active. Holds
// for every warp if x lies on a sector boundary: warps begin 32 * stride floats apart, which are
// whole sectors.
inline int sectors_per_request(int stride, int offset) {
  constexpr int kLanes = 32;
  constexpr int kFloatsPerSector = 32 / sizeof(float);
  std::set<int> sectors;
  for (int lane = 0; lane < kLanes; ++lane) {
    sectors.insert((offset + lane * stride) / kFloatsPerSector);
  }
  return static_cast<int>(sectors.size());
}

// Elements that a gather with this stride and offset finds in an array of `size` floats.
inline std::int64_t gathered_floats(std::int64_t size, int stride, int offset) {
  return size > offset ? (size - offset - 1) / stride + 1 : 0;
}

// The gather as a variant of the problem: it fills the front of y only, and says how much.
inline bench::Variant<Copy> gather_variant(int stride, int offset) {
  auto variant = bench::device_variant<Copy>(
      "stride " + std::to_string(stride) + " offset " + std::to_string(offset), "",
      [=](Copy& p, cudaStream_t stream) {
        copy_gather(p.x.device_data(), p.y.device_data(), gathered_floats(p.n, stride, offset),
                    stride, offset, stream);
      });
  variant.check = [=](const Copy& p) {
    const std::int64_t count = gathered_floats(p.n, stride, offset);
    kit::HostBuffer<float> expected(count);
    for (std::int64_t i = 0; i < count; ++i) expected[i] = p.x.pristine()[offset + i * stride];
    return bench::compare(p.y.fetched(), expected.data(), count, 0.0);
  };
  return variant;
}

// One gather: how far apart and from where.
struct Pattern {
  int stride, offset;
};

// Times the gathers and reports useful bytes (4 read, 4 written per element) beside all bytes that
// whole sectors make of them, and the useful rate against that of the first gather, the plain copy.
inline bench::Shown sweep_patterns(const bench::RunSettings& run, Copy& problem,
                                   const std::string& name, const std::vector<Pattern>& patterns) {
  std::vector<bench::Variant<Copy>> variants;
  for (const auto& [stride, offset] : patterns) variants.push_back(gather_variant(stride, offset));
  const std::vector<double> ms = bench::time_sweep(run, problem, variants);

  bench::Sweep sweep{
      Copy::name, name, {name, "sectors", "median_ms", "gbps", "moved_gbps", "of_copy"}, {}};
  double copy_gbps = 0;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const auto [stride, offset] = patterns[i];
    const double count = static_cast<double>(gathered_floats(problem.n, stride, offset));
    const int sectors = sectors_per_request(stride, offset);
    const double gbps = 8 * count / (1e6 * ms[i]);
    const double moved_gbps = (sectors + 4) * 32 * (count / 32) / (1e6 * ms[i]);
    if (i == 0) copy_gbps = gbps;
    const double swept = name == "stride" ? stride : offset;
    sweep.points.push_back(
        {swept, static_cast<double>(sectors), ms[i], gbps, moved_gbps, gbps / copy_gbps});
  }
  return {sweep};
}

inline bench::Shown sweep_stride(const bench::RunSettings& run, const bench::Settings& settings,
                                 const std::vector<bench::Variant<Copy>>&) {
  Copy problem(settings["n"], run.seed);
  std::vector<Pattern> patterns;
  for (int stride = 1; stride <= 32; ++stride) patterns.push_back({stride, 0});
  return sweep_patterns(run, problem, "stride", patterns);
}

inline bench::Shown sweep_offset(const bench::RunSettings& run, const bench::Settings& settings,
                                 const std::vector<bench::Variant<Copy>>&) {
  Copy problem(settings["n"], run.seed);
  std::vector<Pattern> patterns;
  for (int offset = 0; offset < 32; ++offset) patterns.push_back({1, offset});
  return sweep_patterns(run, problem, "offset", patterns);
}

}  // namespace coalesced_copy
