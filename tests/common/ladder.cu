// common/bench/ladder.cuh, settings.hpp: what a program makes of ladders.
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"

#include <cstdint>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/bench/compare.hpp"
#include "common/bench/guarded_array.cuh"
#include "common/bench/program.cuh"
#include "tests/catch.hpp"

namespace {

// out[i] = 1 for n elements; what runs are made with is written to `log`.
struct Ones {
  static constexpr const char* name = "ones";
  bench::GuardedArray<float> out;

  explicit Ones(std::int64_t n) : out("out", bench::Role::output, n) {}
  template <class Visit>
  void each_array(Visit visit) {
    visit(out);
  }
  bench::Comparison check() const {
    const std::vector<float> expected(out.size(), 1.0f);
    return bench::compare(out.fetched(), expected.data(), out.size(), 0.0);
  }
  bench::Sizes sizes() const { return {{"n", out.size()}}; }
  double bytes() const { return 4.0 * static_cast<double>(out.size()); }
  double flops() const { return 0; }
};

bench::Variant<Ones> writes(const std::string& name, float value) {
  return bench::cpu_variant<Ones>(name, "writes " + name, [value](Ones& problem) {
    for (std::int64_t i = 0; i < problem.out.size(); ++i) problem.out.host_data()[i] = value;
  });
}

// What the hooks and sweeps of a ladder heard, in order.
using Log = std::shared_ptr<std::string>;

bench::Ladder<Ones> ladder_called(const std::string& name, const Log& log) {
  bench::Ladder<Ones> ladder;
  ladder.name = name;
  ladder.variants = {writes("sequential", 1), writes("other", 1)};
  ladder.variants[1].tags = {"end"};
  ladder.settings = {bench::number("n", "elements", 10, 5, 1, 1000),
                     bench::choice("kind", "a word", {"plain", "fancy"}),
                     bench::flag("odd", "on or off")};
  ladder.make = [name, log](const bench::Settings& settings, const bench::RunSettings& run) {
    *log += name + " n=" + std::to_string(settings["n"]) +
            " kind=" + std::to_string(settings["kind"]) +
            " odd=" + std::to_string(settings["odd"]) + (settings.given("n") ? " given" : "") +
            " seed=" + std::to_string(run.seed) + ";";
    return std::make_unique<Ones>(settings["n"]);
  };
  ladder.memory = [](const bench::Settings& settings, const bench::RunSettings&) {
    return bench::MemoryNeed{settings["n"] > 900 ? 1e30 : 0, 0};
  };
  const auto sweep = [name, log](const bench::RunSettings&, const bench::Settings& settings,
                                 const std::vector<bench::Variant<Ones>>& variants) {
    *log += name + " swept n=" + std::to_string(settings["n"]) + " of " +
            std::to_string(variants.size()) + ";";
    bench::Sweep shown{name, "all", {"n"}, {}};
    for (const auto& variant : variants) {
      if (!variant.tags.empty()) shown.columns.push_back(variant.name);
    }
    return shown.columns.size() > 1 ? bench::Shown{shown} : bench::Shown{};
  };
  ladder.sweeps = {{"all", "sweeps everything that is tagged", sweep},
                   {"own", "sweeps rows of its own", sweep, bench::Points::of_its_own}};
  return ladder;
}

struct Outcome {
  int status;
  std::string log;
};

// A program with the ladders p and q, and a demo.
Outcome run(std::vector<std::string> arguments, bool with_wrong_one = false,
            bool is_judged = true) {
  const Log log = std::make_shared<std::string>();
  bench::Ladder<Ones> p = ladder_called("p", log), q = ladder_called("q", log);
  p.after = [log](const bench::RunSettings&, Ones&, const std::vector<bench::Variant<Ones>>&,
                  const bench::ProblemReport& report) -> bench::Shown {
    *log += "after " + std::to_string(report.rows.size()) + " rows of " + report.problem + ";";
    return {"below the table\n"};
  };
  p.is_judged = is_judged;
  q.sweeps.clear();
  if (with_wrong_one) q = q.with(writes("mine", 2));
  arguments.insert(arguments.begin(), "program");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const bench::Chapter chapter = {
      "test", "two ladders", {{p, q}}, {{"show", "shows", [log] { *log += "shown;"; }}}};
  const int status = bench::run(chapter, static_cast<int>(arguments.size()), argv.data());
  return {status, *log};
}

std::string standard_n() { return bench::query_device().is_real_gpu() ? "10" : "5"; }

}  // namespace

TEST_CASE("ladders run in order, at their defaults, with a hook after the first") {
  const Outcome outcome = run({"--verify"});
  CHECK(outcome.status == 0);
  const std::string n = standard_n();
  CHECK(outcome.log ==
        "p n=" + n + " kind=0 odd=0 seed=1;after 2 rows of p;q n=" + n + " kind=0 odd=0 seed=1;");
}

TEST_CASE("what is not to be judged is not run: a wrong one fails nothing, and the hook tells") {
  const Outcome outcome = run({"--verify", "--only", "p"}, false, false);
  CHECK(outcome.status == 0);
  CHECK(outcome.log.find("after 0 rows of ;") != std::string::npos);
}

TEST_CASE("settings become options, one for all ladders that have it") {
  const Outcome outcome =
      run({"--n", "7", "--kind", "fancy", "--odd", "--seed", "3", "--verify", "--only", "q"});
  CHECK(outcome.status == 0);
  CHECK(outcome.log == "q n=7 kind=1 odd=1 given seed=3;");
  CHECK(run({"--n", "0"}).status == 2);
  CHECK(run({"--n", "1001"}).status == 2);
  CHECK(run({"--kind", "odd"}).status == 2);
}

TEST_CASE("what does not fit is refused before anything is made") {
  const Outcome outcome = run({"--n", "901"});
  CHECK(outcome.status == 2);
  CHECK(outcome.log.empty());
}

TEST_CASE("--only takes tags") {
  CHECK(run({"--verify", "--only", "@end"}).log.find("after 1 rows of p;") != std::string::npos);
  CHECK(run({"--verify", "--only", "q/@end"}).log.find("p n=") == std::string::npos);
  CHECK(run({"--only", "@nosuch"}).status == 2);
}

TEST_CASE("--sweep runs the sweep of that name, and nothing else") {
  const Outcome outcome = run({"--sweep", "all", "--n", "7", "--only", "p/other"});
  if (!bench::query_device().available) {
    CHECK(outcome.status == 2);
    return;
  }
  CHECK(outcome.status == 0);
  CHECK(outcome.log == "p swept n=7 of 1;");
  CHECK(run({"--sweep", "all", "--only", "q"}).status == 2);             // q has no sweep
  CHECK(run({"--sweep", "all", "--only", "p/sequential"}).status == 2);  // shows none of these
  CHECK(run({"--sweep", "own", "--only", "p"}).status == 0);
  CHECK(run({"--sweep", "own"}).status == 0);
  // What --only leaves out, a sweep of its own rows would show all the same.
  const Outcome refused = run({"--sweep", "own", "--only", "p/other"});
  CHECK(refused.status == 2);
  CHECK(refused.log.empty());
  CHECK(run({"--sweep", "all", "--verify"}).status == 2);
  CHECK(run({"--sweep", "all", "--demo", "show"}).status == 2);
}

TEST_CASE("--demo shows something and runs no ladder") {
  const Outcome outcome = run({"--demo", "show"});
  const bool has_device = bench::query_device().available;
  CHECK(outcome.status == (has_device ? 0 : 2));
  CHECK(outcome.log == (has_device ? "shown;" : ""));
}

TEST_CASE("--list runs nothing and refuses unknown names") {
  CHECK(run({"--list"}).log.empty());
  CHECK(run({"--list"}).status == 0);
  CHECK(run({"--list", "--only", "nosuch"}).status == 2);
}

TEST_CASE("a reader's own variant joins a ladder and is judged like the others") {
  const Outcome outcome = run({"--verify"}, true);
  CHECK(outcome.status == 1);
  const auto ladder = ladder_called("p", std::make_shared<std::string>());
  CHECK(ladder.with(writes("mine", 1)).variants.back().name == "mine");
  CHECK(ladder.with(writes("mine", 1)).variants.size() == 3);
  CHECK(ladder.variants.size() == 2);  // the ladder itself stays as it was
}

TEST_CASE("a test makes a problem by naming sizes, and mistakes in names are told") {
  const Log log = std::make_shared<std::string>();
  const auto ladder = ladder_called("p", log);
  CHECK(ladder.make_problem({{"n", 12}})->out.size() == 12);
  CHECK_THROWS_AS(ladder.make_problem({{"m", 12}}), std::out_of_range);
}
