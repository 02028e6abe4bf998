// What every ladder and every chapter's program must pass, written once. A chapter's tests call
// these with sizes and arguments of their own.
#pragma once

#include <malloc.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/lines.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "tests/by_itself.hpp"
#include "tests/catch.hpp"
#include "tests/run_command.hpp"
#include "tests/verify.hpp"

namespace tests {

// The variant of that name, which must be there.
template <class Problem>
const bench::Variant<Problem>& variant_named(const std::vector<bench::Variant<Problem>>& variants,
                                             std::string_view name) {
  for (const auto& variant : variants) {
    if (variant.name == name) return variant;
  }
  throw std::invalid_argument("no variant " + std::string(name));
}

// Whether the variant of this name refuses this size, because the hardware would.
using Refuses = std::function<bool(const std::string&, const bench::Settings::Given&)>;

// The problems of one ladder, each made when it is first asked for. Catch2 runs a test case anew
// for each of its sections, and with large sizes what a problem must know, its expected result
// above all, takes longer than all that the variants do with it.
template <class Problem>
class ProblemsOf {
 public:
  static Problem& get(const bench::Ladder<Problem>& ladder, const bench::Settings::Given& size,
                      const bench::RunSettings& run) {
    // Never destroyed: when statics are, the CUDA Runtime has ended already.
    static auto& kept = *new ProblemsOf;
    if (kept.ladder_ != ladder.name) {
      kept.problems_.clear();
      kept.ladder_ = ladder.name;
    }
    auto& problem = kept.problems_[size];
    if (!problem) problem = ladder.make_problem(size, run);
    if constexpr (bench::HasScratch<Problem>::value) problem->forget_scratch();
    return *problem;
  }

 private:
  std::string ladder_;
  std::map<bench::Settings::Given, std::shared_ptr<Problem>> problems_;
};

// Operations that a loop on one core does in some seconds. What is only for a GPU has more, and a
// loop is as right there as at all sizes before.
constexpr double kMostForACore = 2e9;

// Each variant in a section of its own, at every one of the sizes, a loop for the CPU at those that
// do not take it minutes. A variant that this machine cannot run at any of them counts as skipped;
// a wrong one says at which size, which element, what was expected and what it got, and does not
// keep the others from running. Each variant skips just the sizes that `refuses` says, without it
// all or none, but for want of shared memory on a chip that has less than Hopper.
template <class Problem>
void every_variant_is_right(const bench::Ladder<Problem>& ladder,
                            const std::vector<bench::Settings::Given>& sizes,
                            const Refuses& refuses = {}) {
  bench::RunSettings run;
  run.device = bench::query_device();
  run.seed = 7;
  const bench::WorkStream stream(run.device);
  for (const auto& variant : ladder.variants) {
    DYNAMIC_SECTION(ladder.name << "/" << variant.name) {
      int right = 0;
      std::string skipped, surprise;
      for (const auto& size : sizes) {
        auto& problem = ProblemsOf<Problem>::get(ladder, size, run);
        if (variant.place == bench::Place::cpu && problem.flops() > kMostForACore) continue;
        const auto verdict = tests::verify(problem, variant, run.device, stream.get());
        INFO(ladder.name << "/" << variant.name << ", " << text_of(size) << ": " << verdict.reason);
        REQUIRE(verdict.status != bench::Status::wrong);
        if (verdict.status == bench::Status::skipped) skipped = verdict.reason;
        const bool is_short_of_memory = verdict.reason.find("shared memory") != std::string::npos &&
                                        kit::most_shared() < 227 * 1024;
        if (bench::why_skipped(variant, run.device).empty() && !is_short_of_memory) {
          const bool is_skipped = verdict.status == bench::Status::skipped;
          const bool should_skip = refuses && refuses(variant.name, size);
          const std::string what = is_skipped ? verdict.reason : "not refused";
          if (is_skipped != should_skip) surprise = text_of(size) + ": " + what;
        }
        right += bench::may_be_timed(verdict.status);
      }
      if (right == 0 && !refuses) surprise = "";  // this machine lacks what it takes
      CHECK(surprise == "");
      if (right == 0) SKIP_SECTION(skipped);
    }
  }
}

// All that a variant does on the device is in the stream that it was given. While that stream
// records a graph, nothing happens; the graph alone, launched afterwards, does all of the work.
// Whatever was put into another stream has run too early and is missing in the graph.
template <class Problem>
void every_launch_is_in_its_stream(const bench::Ladder<Problem>& ladder,
                                   const bench::Settings::Given& size) {
  bench::RunSettings run;
  run.device = bench::query_device();
  const bench::WorkStream stream(run.device);
  for (const auto& variant : ladder.variants) {
    if (variant.place != bench::Place::device || variant.kind == bench::Kind::peer) continue;
    DYNAMIC_SECTION(ladder.name << "/" << variant.name) {
      const auto problem = ladder.make_problem(size, run);
      // The first run makes what is made once, and says whether there is anything to test.
      const auto verdict = tests::verify(*problem, variant, run.device, stream.get());
      if (verdict.status == bench::Status::skipped) SKIP_SECTION(verdict.reason);
      const auto prepare = [&problem] {
        problem->each_array([](auto& array) { array.reset(bench::Side::device); });
        CUDA_CHECK(cudaDeviceSynchronize());
      };
      const auto what_is_wrong = [&]() -> std::string {
        CUDA_CHECK(cudaDeviceSynchronize());
        std::string damage;
        problem->each_array([&damage](auto& array) {
          array.fetch(bench::Side::device);
          if (damage.empty()) damage = array.damage();
        });
        const auto result = variant.check ? variant.check(*problem) : problem->check();
        if (damage.empty() && result.right()) return "";
        return ", " + text_of(size) + ": replayed from a graph of its stream: " +
               (damage.empty() ? result.describe() : damage);
      };
      prepare();
      cudaGraph_t graph = nullptr;
      cudaGraphExec_t replay = nullptr;
      CUDA_CHECK(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeRelaxed));
      variant.run(*problem, stream.get());
      CUDA_CHECK(cudaStreamEndCapture(stream.get(), &graph));
      CUDA_CHECK(cudaGraphInstantiateWithFlags(&replay, graph, 0));
      std::string wrong;
      for (int turn = 0; turn < 2 && wrong.empty(); ++turn) {  // the second finds scratch used
        prepare();
        CUDA_CHECK(cudaGraphLaunch(replay, stream.get()));
        wrong = what_is_wrong();
      }
      if (!wrong.empty()) record_broken(ladder.name + "/" + variant.name, wrong);
      CHECK(wrong == "");
      CUDA_CHECK(cudaGraphExecDestroy(replay));
      CUDA_CHECK(cudaGraphDestroy(graph));
    }
  }
}

// Bytes that this process holds now: allocated by operator new or malloc, and on the device.
inline bench::MemoryNeed held_bytes() {
  const auto host = mallinfo2();
  std::size_t free = 0, all = 0;
  CUDA_CHECK(cudaMemGetInfo(&free, &all));
  return {static_cast<double>(host.uordblks) + static_cast<double>(host.hblkhd),
          static_cast<double>(all - free)};
}

// What a ladder says, before anything is allocated, that a run takes: at least what its problem
// holds when every variant has run (of a ladder without any: when every array exists) and every set
// of inputs was made, and at most twice that, or what fits would be refused. (A GPU rounds
// allocations up.) For a hidden case that passes_by_itself runs with one thread: so what simt keeps
// for itself is the same on every machine. `beside`: this and what guard words take; arrays must be
// so large that it is little beside them.
template <class Problem>
void takes_what_it_says(const bench::Ladder<Problem>& ladder, const bench::Settings::Given& size,
                        const bench::MemoryNeed& beside = {3e5, 3e5}) {
  bench::RunSettings run;
  run.device = bench::query_device();
  const bench::WorkStream stream(run.device);
  const bench::MemoryNeed before = held_bytes();
  const auto problem = ladder.make_problem(size, run);
  for (const auto& variant : ladder.variants) {
    const auto verdict = tests::verify(*problem, variant, run.device, stream.get());
    CHECK(verdict.status != bench::Status::wrong);
  }
  if (ladder.variants.empty()) {
    problem->each_array([](auto& array) { array.host_data(), array.device_data(); });
  }
  if constexpr (bench::IsBatched<Problem>::value) {
    for (int set = 0; set < 64; ++set) problem->rotate(set);
  }
  const bench::MemoryNeed now = held_bytes();
  const double host = now.host - before.host, device = now.device - before.device;
  const bench::Settings settings(ladder.settings, size, true);
  const bench::MemoryNeed said = ladder.memory(settings, run);
  const bench::MemoryNeed on_a_gpu = ladder.memory(settings, {});  // no stacks of waiting threads
  INFO(ladder.name << ", " << text_of(size));
  CHECK(host <= said.host + beside.host);
  CHECK(on_a_gpu.host <= 2 * host);
  CHECK(device <= said.device + beside.device);
  CHECK(on_a_gpu.device <= 2 * device);
}

// Exit status 2 and one line on stderr, at once, for what no program takes and for `more`, which
// this one does not take. `quick` makes a run small.
inline void refuses_bad_arguments(const std::string& program, const std::string& quick,
                                  const std::vector<std::string>& more) {
  std::vector<std::string> all = {"--only nosuch",
                                  "--only ''",
                                  "--nosuch",
                                  "stray",
                                  "-x 5",
                                  "--repeats 0",
                                  "--repeats 1.5",
                                  "--seed -1",
                                  "--repeats",
                                  "--s 1",
                                  "--sweep nosuch",
                                  "--demo nosuch",
                                  "--seed 99999999999999999999"};
  all.push_back("--seed 1 --seed 2 " + quick);
  all.push_back("--json /nonexistent/out.json " + quick);
  all.insert(all.end(), more.begin(), more.end());
  for (const std::string& arguments : all) {
    INFO(arguments);
    const auto result = run_command(program + " " + arguments + " 2>&1 >/dev/null");
    CHECK(result.status == 2);
    CHECK(result.lines == 1);
    CHECK(result.seconds < 20.0);  // on a busy machine, too
  }
}

// "problem/variant" of every variant, in the order of the ladders.
template <class... Problem>
std::vector<std::string> names_of(const bench::Ladder<Problem>&... ladders) {
  std::vector<std::string> names;
  const auto add = [&names](const auto& ladder) {
    for (const auto& variant : ladder.variants) names.push_back(ladder.name + "/" + variant.name);
  };
  (add(ladders), ...);
  return names;
}

inline std::vector<std::string> names_of(const std::vector<bench::Ladders>& all) {
  std::vector<std::string> names;
  for (const bench::Ladders& ladders : all) {
    for (const bench::AnyLadder& ladder : ladders) {
      for (const auto& variant : ladder.variants) names.push_back(ladder.name + "/" + variant.name);
    }
  }
  return names;
}

// --list prints each variant once, one a line, in order.
inline void lists_every_variant(const std::string& program, const std::vector<std::string>& names) {
  const auto result = run_command(program + " --list");
  CHECK(result.status == 0);
  REQUIRE(result.lines == static_cast<int>(names.size()));
  std::size_t at = 0;
  for (const std::string& name : names) {
    INFO(name);
    CHECK(result.output.compare(at, name.size() + 1, name + " ") == 0);
    at = result.output.find('\n', at) + 1;
  }
}

// A run of everything at a small size ends with status 0 and has a row for each variant: right, or
// skipped with a reason. No line is wider than a terminal. `names` are in the order of the rows.
inline void small_run_is_right(const std::string& program, const std::string& quick,
                               const std::vector<std::string>& names) {
  const auto result = run_command(program + " " + quick);
  INFO(result.output);
  CHECK(result.status == 0);
  std::istringstream lines(result.output);
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    CHECK(line.size() <= bench::kLineWidth);
  }
  std::size_t end = 0;  // of the row before
  for (const std::string& name : names) {
    INFO(name);
    const std::string row = "\n" + name.substr(name.find('/') + 1) + " ";
    // Behind a table of times there may be others with the same names; their rows have no verdict.
    std::string line;
    bool is_wrong = false, is_right = false;
    while (!is_wrong && !is_right) {
      const std::size_t begin = result.output.find(row, end);
      REQUIRE(begin != std::string::npos);
      end = result.output.find('\n', begin + 1);
      line = result.output.substr(begin + 1, end - begin - 1);
      is_wrong = line.find("wrong:") != std::string::npos;
      is_right =
          line.find("right") != std::string::npos || line.find("skipped:") != std::string::npos;
    }
    if (is_wrong) record_broken(name, ", " + quick + ": " + line.substr(line.find("wrong:")));
    CHECK(!is_wrong);
  }
}

}  // namespace tests
