// --sweep columns: when does a pass cost what it reads?
#pragma once

#include <cstdint>
#include <vector>

#include "07_flash_attention/softmax/problem.cuh"
#include "07_flash_attention/softmax/variants.cuh"
#include "common/harness.cuh"
#include "common/program.cuh"

// The rungs on matrices of the same number of elements, with ever longer rows. Rows that are being
// worked on at the same time stay in the L2 cache as long as they are short, and then a further
// pass is cheap.
inline void sweep_columns(common::Program& program) {
  const bool times_are_real = program.device().keeps_time();
  const std::int64_t elements = times_are_real ? std::int64_t{1} << 28 : 1 << 16;
  const std::int64_t longest = times_are_real ? 1 << 20 : 1 << 14;
  const auto on_device = [](const char* name, auto run) {
    return common::on_device<Softmax>(name, "", softmax_on_device(run));
  };
  const std::vector<common::Variant<Softmax>> variants = {
      on_device("safe", softmax_safe), on_device("online", softmax_online),
      on_device("cached", softmax_cached), on_device("warp", softmax_warp)};
  common::Sweep sweep{
      Softmax::name,
      "columns",
      {"columns", "safe_gbps", "online_gbps", "cached_gbps", "warp_gbps", "safe_over_online"},
      {}};
  for (std::int64_t columns = 1 << 10; columns <= longest; columns *= 4) {
    const std::int64_t rows = elements / columns;
    program.require_memory(Softmax::host_bytes(rows, columns),
                           Softmax::device_bytes(rows, columns));
    Softmax problem(rows, columns, program.seed());
    const std::vector<double> ms = common::time_sweep(program, problem, variants);
    const auto gbps = [&](int i) { return problem.bytes() / (1e6 * ms[i]); };
    sweep.points.push_back(
        {static_cast<double>(columns), gbps(0), gbps(1), gbps(2), gbps(3), ms[0] / ms[1]});
  }
  program.add(sweep);
}
