// main() of every test program: how many tests passed, and one line for each thing that is broken.
//
// One test = one innermost SECTION (or a TEST_CASE without sections). The last line of output is
//   N passed, N failed, N skipped
// and the exit status is 0 only if nothing failed. Before it stands, beside what Catch2 prints,
//   failed sgemm/tiled, m = 33, n = 1, k = 7: 1 of 33 wrong, the first at 32: expected ..., got ...
// once for each rung that is wrong, however many tests noticed it, and once for each test that
// failed for another reason. tools/run_tests.sh runs each test case in a process of its own, adds
// the numbers up and shows these lines.
//
// A kernel that reads or writes where it may not ends its process's use of the device: every call
// after it fails. What follows it in the same process is then not judged, and counts as skipped.
#include <cstdio>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_session.hpp>
#include <catch2/catch_test_case_info.hpp>
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

int passed = 0, failed = 0, skipped = 0;
std::map<std::string, int> reasons;  // of a skip -> how often
std::vector<std::string> lines;      // of what is broken
std::set<std::string> broken_rungs;  // that have a line
bool is_lost = false;                // the device

// Since the innermost section began:
std::vector<std::string> skips;
std::vector<std::pair<std::string, std::string>> broken;  // a rung and what is wrong with it

std::vector<std::string> open_sections;  // the test case's name first
tests::Witness witness;                  // of the device, if the program has one

std::string path_of(const std::vector<std::string>& sections) {
  std::string path;
  for (const std::string& section : sections) path += (path.empty() ? "" : " > ") + section;
  return path;
}

// Line breaks and what surrounds them become "; ".
std::string on_one_line(const std::string& text) {
  std::istringstream parts(text);
  std::string all;
  for (std::string part; std::getline(parts, part);) {
    part.erase(0, part.find_first_not_of(" \t"));
    if (!part.empty()) all += (all.empty() ? "" : "; ") + part;
  }
  return all;
}

// What Catch2 knows of a failed assertion, on one line.
std::string text_of(const Catch::AssertionStats& stats) {
  const Catch::AssertionResult& result = stats.assertionResult;
  const auto where = result.getSourceInfo();
  std::string text =
      path_of(open_sections) + " (" + where.file + ":" + std::to_string(where.line) + ")";
  // What has many lines, a whole table say, is for those who ask for all of the output.
  const auto is_line = [](const std::string& s) { return s.find('\n') == std::string::npos; };
  for (const auto& info : stats.infoMessages) {
    if (is_line(info.message) && !info.message.empty()) text += ": " + info.message;
  }
  if (result.hasExpression()) {
    text += ": " + std::string(result.getExpressionInMacro());
    const std::string expanded(result.getExpandedExpression());
    if (is_line(expanded)) text += ", which is " + expanded;
  }
  return text;
}

void say_what_was_found() {
  for (const std::string& line : lines) std::printf("failed %s\n", line.c_str());
  for (const auto& [reason, count] : reasons) {
    std::printf("skipped %d: %s\n", count, reason.c_str());
  }
  std::printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
  std::fflush(stdout);
}

// Counts innermost sections. Catch2 reports a test case as the outermost section, and runs the
// function once per innermost section, so a section that saw no other section start is a leaf.
class Counter : public ListenerBase {
 public:
  using ListenerBase::ListenerBase;

  void testCaseStarting(const Catch::TestCaseInfo&) override {
    failures_in_case_ = leaves_in_case_ = 0;
  }

  void sectionStarting(const Catch::SectionInfo& info) override {
    open_sections.push_back(info.name);
    is_leaf_ = true;
    skips.clear();
    broken.clear();
    assertion_.clear();
  }

  // Catch2 2 wants an answer, version 3 does not.
  using Answer = decltype(std::declval<ListenerBase&>().assertionEnded(
      std::declval<const Catch::AssertionStats&>()));
  Answer assertionEnded(const Catch::AssertionStats& stats) override {
    const Catch::AssertionResult& result = stats.assertionResult;
    if (!result.isOk() && assertion_.empty()) assertion_ = text_of(stats);
    is_fatal_ = is_fatal_ || result.getResultType() == Catch::ResultWas::FatalErrorCondition;
    return ListenerBase::assertionEnded(stats);
  }

  void sectionEnded(const Catch::SectionStats& stats) override {
    const std::string path = path_of(open_sections);
    open_sections.pop_back();
    const bool leaf = is_leaf_;
    is_leaf_ = false;  // whatever encloses this section is not a leaf
    if (!leaf) return;
    // After an exception Catch2 runs the function once more without entering a section.
    const bool extra_run = open_sections.empty() && leaves_in_case_ > 0;
    ++leaves_in_case_;
    if (is_lost) {  // often what all sections need fails already, and none is entered
      ++skipped;
      ++reasons["not judged: a test before it has cost this process its device"];
      return;
    }
    // A model of a device may have found a mistake that spoils no result.
    const std::string said = witness.said != nullptr && !is_fatal_ ? witness.said() : "";
    if (!said.empty()) assertion_ = path + ": " + said;
    if (stats.assertions.failed > 0 || !said.empty()) {
      count_failure();
    } else if (extra_run) {
      return;
    } else if (!skips.empty()) {
      ++skipped;
      for (const std::string& reason : skips) ++reasons[reason];
    } else if (stats.assertions.passed > 0) {
      ++passed;
    } else {
      assertion_ = path + ": no assertion ran";
      count_failure();
    }
    skips.clear();
    const bool asks = stats.assertions.failed > 0 && !is_fatal_ && witness.lost != nullptr;
    is_lost = asks && witness.lost();
  }

  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    // A failure outside every leaf (an exception between two sections) still has to count.
    if (stats.totals.assertions.failed > 0 && failures_in_case_ == 0 && !is_lost) count_failure();
  }

  void testRunEnded(const Catch::TestRunStats&) override {
    if (is_fatal_) say_what_was_found();  // the process ends before main() could say it
  }

 private:
  // Of the section, or of the test case, that ends now.
  void count_failure() {
    ++failed;
    ++failures_in_case_;
    for (const auto& [rung, text] : broken) {
      if (broken_rungs.insert(rung).second) lines.push_back(on_one_line(rung + text));
    }
    if (broken.empty()) lines.push_back(on_one_line(assertion_));
    broken.clear();
  }

  bool is_leaf_ = false;
  bool is_fatal_ = false;  // whether a signal ends the process
  std::string assertion_;  // the first that failed since the innermost section began
  int failures_in_case_ = 0;
  int leaves_in_case_ = 0;
};
CATCH_REGISTER_LISTENER(Counter)

}  // namespace

void tests::record_skip(const std::string& reason) { skips.push_back(reason); }

void tests::record_broken(const std::string& rung, const std::string& text) {
  broken.push_back({rung, text});
}

void tests::call_witness(const Witness& of_the_device) { witness = of_the_device; }

int main(int argc, char** argv) {
  const int catch_status = Catch::Session().run(argc, argv);
  say_what_was_found();
  if (failed > 0) return 1;
  // Catch2 3 has its own status for "every test was skipped"; skips are ours to count.
  return passed + skipped > 0 ? 0 : (catch_status != 0 ? catch_status : 1);
}
