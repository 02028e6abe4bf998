// main() of every test program, and the count it ends with.
//
// One test = one innermost SECTION (or a TEST_CASE without sections). The last line of output is
//   N passed, N failed, N skipped
// and the exit status is 0 only if nothing failed. tools/run_tests.sh adds these lines up.
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_session.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>

#include "tests/catch.hpp"
using ListenerBase = Catch::EventListenerBase;
#else
#define CATCH_CONFIG_RUNNER
#include "tests/catch.hpp"
using ListenerBase = Catch::TestEventListenerBase;
#endif

namespace {

struct Tally {
  int passed = 0;
  int failed = 0;
  int skipped = 0;
  std::map<std::string, int> reasons;  // reason of a skip -> how often
};
Tally tally;
std::vector<std::string> skips_of_this_run;  // reasons given since the innermost section began

// Counts innermost sections. Catch2 reports a test case as the outermost section, and runs the
// function once per innermost section, so a section that saw no other section start is a leaf.
class Counter : public ListenerBase {
 public:
  using ListenerBase::ListenerBase;

  void testCaseStarting(const Catch::TestCaseInfo&) override {
    failures_in_case_ = 0;
    leaves_in_case_ = 0;
  }

  void sectionStarting(const Catch::SectionInfo&) override {
    ++depth_;
    is_leaf_ = true;
    skips_of_this_run.clear();
  }

  void sectionEnded(const Catch::SectionStats& stats) override {
    const bool leaf = is_leaf_;
    is_leaf_ = false;  // whatever encloses this section is not a leaf
    --depth_;
    if (!leaf) return;
    // After an exception Catch2 runs the function once more without entering a section.
    const bool extra_run = depth_ == 0 && leaves_in_case_ > 0;
    ++leaves_in_case_;
    if (stats.assertions.failed > 0) {
      ++tally.failed;
      ++failures_in_case_;
    } else if (!skips_of_this_run.empty()) {
      ++tally.skipped;
      for (const std::string& reason : skips_of_this_run) ++tally.reasons[reason];
    } else if (stats.assertions.passed > 0) {
      ++tally.passed;
    } else if (!extra_run) {
      std::printf("no assertion ran in section '%s'\n", stats.sectionInfo.name.c_str());
      ++tally.failed;
      ++failures_in_case_;
    }
    skips_of_this_run.clear();
  }

  // A failure outside every leaf (an exception between two sections) still has to count.
  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    if (stats.totals.assertions.failed > 0 && failures_in_case_ == 0) ++tally.failed;
  }

 private:
  bool is_leaf_ = false;
  int depth_ = 0;
  int failures_in_case_ = 0;
  int leaves_in_case_ = 0;
};
CATCH_REGISTER_LISTENER(Counter)

}  // namespace

void tests::record_skip(const std::string& reason) { skips_of_this_run.push_back(reason); }

int main(int argc, char** argv) {
  const int catch_status = Catch::Session().run(argc, argv);
  for (const auto& [reason, count] : tally.reasons) {
    std::printf("skipped %d: %s\n", count, reason.c_str());
  }
  std::printf("%d passed, %d failed, %d skipped\n", tally.passed, tally.failed, tally.skipped);
  if (tally.failed > 0) return 1;
  // Catch2 3 has its own status for "every test was skipped"; skips are ours to count.
  return tally.passed + tally.skipped > 0 ? 0 : (catch_status != 0 ? catch_status : 1);
}
