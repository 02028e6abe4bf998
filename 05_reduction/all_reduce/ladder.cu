// The index of this problem: every way for all devices to get the sum of their arrays, in reading
// order.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "05_reduction/all_reduce/01_sequential.hpp"
#include "05_reduction/all_reduce/02_openmp.hpp"
#include "05_reduction/all_reduce/03_through_host.cuh"
#include "05_reduction/all_reduce/04_gather.cuh"
#include "05_reduction/all_reduce/05_ring.cuh"
#include "05_reduction/all_reduce/06_one_shot_pull.cuh"
#include "05_reduction/all_reduce/07_one_shot_push.cuh"
#include "05_reduction/all_reduce/08_packets.cuh"
#include "05_reduction/all_reduce/09_two_shot.cuh"
#include "05_reduction/all_reduce/10_pieces.cuh"
#include "05_reduction/all_reduce/chosen.cuh"
#include "05_reduction/all_reduce/peers.cuh"
#include "05_reduction/all_reduce/problem.cuh"
#include "05_reduction/study/sweep_messages.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/variant.cuh"

namespace all_reduce {

// A loop on the host's arrays: run(x, y, size, n), with a pointer for each rank.
template <class T, class Run>
auto on_host(Run run) {
  return [run](AllReduce<T>& p) {
    std::vector<const T*> x;
    std::vector<T*> y;
    for (int rank = 0; rank < p.size(); ++rank) {
      x.push_back(p.x[rank].host_data());
      y.push_back(p.y[rank].host_data());
    }
    run(x.data(), y.data(), p.size(), p.n);
  };
}

// The tag "messages": what --sweep messages compares.
template <class T>
bench::Ladder<AllReduce<T>> ladder() {
  using Problem = AllReduce<T>;
  using bench::tagged;
  bench::Ladder<Problem> ladder;
  ladder.name = Problem::name;
  ladder.settings = {
      bench::number("n", "elements on each device (default 16777216; on a CPU 65536)", 1 << 24,
                    1 << 16, 1, std::int64_t{1} << 34),
      bench::number("devices", "GPUs that take part, 2 to 8 (default 0: all)", 0, 0, kMostDevices)};
  ladder.make = [](const bench::Settings& settings, const bench::RunSettings& run) {
    return std::make_unique<Problem>(settings["n"], static_cast<int>(settings["devices"]),
                                     run.seed);
  };
  ladder.memory = [](const bench::Settings& settings, const bench::RunSettings&) {
    return Problem::memory(static_cast<int>(settings["devices"]), settings["n"]);
  };
  ladder.variants = {
      bench::baseline<Problem>("sequential", "the loop", on_host<T>(all_reduce_sequential<T>)),
      bench::cpu_variant<Problem>("openmp", "the elements divided among the cores",
                                  on_host<T>(all_reduce_openmp<T>)),
      team_rung<T>("through_host", "copies to the host, which adds", all_reduce_through_host<T>),
      tagged(team_rung<T>("gather", "rank 0 collects, adds and sends back", all_reduce_gather<T>),
             {"messages"}),
      tagged(in_any_order(
                 team_rung<T>("ring", "slices go round, summed on the way", all_reduce_ring<T>)),
             {"messages"}),
      tagged(team_rung<T>("one_shot_pull", "one kernel reads all peers' arrays",
                          all_reduce_one_shot_pull<T>),
             {"messages"}),
      tagged(team_rung<T>("one_shot_push", "stores into all peers' memory, then a flag",
                          all_reduce_one_shot_push<T>),
             {"messages"}),
      tagged(team_rung<T>("packets", "data and its flag in one word", all_reduce_packets<T>),
             {"messages"}),
      tagged(team_rung<T>("two_shot", "each rank adds one slice and pushes the sum to all",
                          all_reduce_two_shot<T>),
             {"messages"}),
      tagged(team_rung<T>("pieces", "the copy engines send pieces while the SMs add",
                          all_reduce_pieces<T>),
             {"messages"}),
      tagged(bench::chooser<Problem>("a library's choice: by bytes and devices",
                                     [](Problem& p, cudaStream_t stream) {
                                       std::string rung;
                                       p.with_team(stream, [&](const Team<T>& team) {
                                         rung = all_reduce_chosen(team, p.n);
                                       });
                                       return rung;
                                     }),
             {"messages"}),
      tagged(nccl_peer<T>(), {"messages"}),
  };
  ladder.sweeps = {{"messages", "messages: microseconds by bytes, in a graph, up to n",
                    sweep_messages<T>, bench::Points::of_its_own}};
  return ladder;
}

}  // namespace all_reduce

namespace ladders {

bench::Ladders all_reduce() {
  return {all_reduce::ladder<float>(), all_reduce::ladder<__nv_bfloat16>()};
}

}  // namespace ladders
