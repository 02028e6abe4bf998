// main() of every test program: how many tests passed, and one line for each thing that is broken.
//
// One test = one innermost SECTION (or a TEST_CASE without sections). The last line of output is
//   N passed, N failed, N skipped
// and the exit status is 0 only if nothing failed. Before it stands, beside what Catch2 prints,
//   failed sgemm/tiled, m = 33, n = 1, k = 7: 1 of 33 wrong, the first at 32: expected ..., got ...
// once for each rung that is wrong, however many tests noticed it, and once for each test that
// failed for another reason. tools/run_tests.sh adds the numbers up and shows these lines.
//
// A kernel that reads or writes where it may not ends its process's use of the device: every call
// after it fails. So that one broken rung does not fail the others, the program then starts itself
// again, and the new process judges what is left.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <set>
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

#include "tests/tally.hpp"

namespace {

constexpr const char* kTallyVariable = "TESTS_TALLY";  // where the next process finds the tally

tests::Tally tally;
std::vector<std::string> skips_of_this_run;  // reasons given since the innermost section began
std::vector<tests::Broken> broken_in_this_run;
std::vector<std::string> open_sections;  // the test case's name first
tests::Witness witness;                  // of the device, if the program has one
char** arguments_of_main = nullptr;      // null: this process may not be followed by another one

std::string path_of(const std::vector<std::string>& sections) {
  std::string path;
  for (const std::string& section : sections) path += (path.empty() ? "" : " > ") + section;
  return path;
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

// The tally goes with the program into its next process, which begins behind the last test.
void go_on_in_a_new_process() {
  std::cout.flush();
  std::fflush(nullptr);
  const int file = memfd_create("tally", 0);
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  std::ofstream(path) << tests::to_text(tally);
  setenv(kTallyVariable, path.c_str(), 1);
  execv("/proc/self/exe", arguments_of_main);
  std::perror("the tests that follow have no process of their own");
  arguments_of_main = nullptr;
}

void take_tally_of_the_process_before() {
  const char* path = std::getenv(kTallyVariable);
  if (path == nullptr) return;
  std::ifstream file(path);
  tally = tests::tally_from(file);
  close(std::atoi(path + std::string(path).rfind('/') + 1));
  unsetenv(kTallyVariable);
}

void say_what_was_found() {
  for (const tests::Broken& broken : tally.broken) {
    std::printf("failed %s\n", broken.line().c_str());
  }
  for (const auto& [reason, count] : tally.reasons) {
    std::printf("skipped %d: %s\n", count, reason.c_str());
  }
  std::printf("%d passed, %d failed, %d skipped\n", tally.passed, tally.failed, tally.skipped);
  std::fflush(stdout);
}

// Counts innermost sections. Catch2 reports a test case as the outermost section, and runs the
// function once per innermost section, so a section that saw no other section start is a leaf.
class Counter : public ListenerBase {
 public:
  using ListenerBase::ListenerBase;

  void testCaseStarting(const Catch::TestCaseInfo& info) override {
    name_ = info.name;
    failures_in_case_ = 0;
    leaves_in_case_ = static_cast<int>(tally.judged_sections.size());  // in the process before
  }

  void sectionStarting(const Catch::SectionInfo& info) override {
    open_sections.push_back(info.name);
    is_leaf_ = true;
    skips_of_this_run.clear();
    broken_in_this_run.clear();
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
    if (!leaf || tally.judged_sections.count(path) > 0) return;
    // After an exception Catch2 runs the function once more without entering a section.
    const bool extra_run = open_sections.empty() && leaves_in_case_ > 0;
    ++leaves_in_case_;
    // A model of a device may have found a mistake that spoils no result.
    const std::string said = witness.said != nullptr && !is_fatal_ ? witness.said() : "";
    if (!said.empty()) assertion_ = path + ": " + said;
    if (stats.assertions.failed > 0 || !said.empty()) {
      count_failure();
    } else if (extra_run) {
      return;
    } else if (!skips_of_this_run.empty()) {
      ++tally.skipped;
      for (const std::string& reason : skips_of_this_run) ++tally.reasons[reason];
    } else if (stats.assertions.passed > 0) {
      ++tally.passed;
    } else {
      assertion_ = path + ": no assertion ran";
      count_failure();
    }
    skips_of_this_run.clear();
    (open_sections.empty() ? tally.judged_cases : tally.judged_sections).insert(path);
    const bool asks = stats.assertions.failed > 0 && !is_fatal_ && witness.lost != nullptr;
    if (asks && arguments_of_main != nullptr && witness.lost()) go_on_in_a_new_process();
  }

  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    // A failure outside every leaf (an exception between two sections) still has to count.
    if (stats.totals.assertions.failed > 0 && failures_in_case_ == 0) count_failure();
    tally.judged_cases.insert(name_);
    tally.judged_sections.clear();
  }

  void testRunEnded(const Catch::TestRunStats&) override {
    if (is_fatal_) say_what_was_found();  // the process ends before main() could say it
  }

 private:
  // Of the section, or of the test case, that ends now.
  void count_failure() {
    ++tally.failed;
    ++failures_in_case_;
    std::set<std::string> told;  // one test may find a rung wrong twice
    for (const tests::Broken& broken : broken_in_this_run) {
      if (told.insert(broken.rung).second) tally.add(broken);
    }
    if (broken_in_this_run.empty()) tally.add({"", assertion_});
    broken_in_this_run.clear();
  }

  std::string name_;  // of the test case
  bool is_leaf_ = false;
  bool is_fatal_ = false;  // whether a signal ends the process
  std::string assertion_;  // the first that failed since the innermost section began
  int failures_in_case_ = 0;
  int leaves_in_case_ = 0;
};
CATCH_REGISTER_LISTENER(Counter)

// A test specification that leaves out what was judged before.
std::string without(const std::string& test_case) {
  std::string text = "~\"";
  for (const char c : test_case) {
    if (std::string("\\\",[]*").find(c) != std::string::npos) text += '\\';
    text += c;
  }
  return text + '"';
}

}  // namespace

void tests::record_skip(const std::string& reason) { skips_of_this_run.push_back(reason); }

void tests::record_broken(const std::string& rung, const std::string& text) {
  broken_in_this_run.push_back({rung, text});
}

bool tests::was_judged() {
  return !tally.judged_sections.empty() && tally.judged_sections.count(path_of(open_sections)) > 0;
}

void tests::call_witness(const Witness& of_the_device) { witness = of_the_device; }

int main(int argc, char** argv) {
  take_tally_of_the_process_before();
  Catch::Session session;
  for (const std::string& name : tally.judged_cases) {
    session.configData().testsOrTags.push_back(without(name));
  }
  // Who chooses what is to run watches it: that ends with its process.
  if (argc == 1) arguments_of_main = argv;
  const int catch_status = session.run(argc, argv);
  say_what_was_found();
  if (tally.failed > 0) return 1;
  // Catch2 3 has its own status for "every test was skipped"; skips are ours to count.
  return tally.passed + tally.skipped > 0 ? 0 : (catch_status != 0 ? catch_status : 1);
}
