// One case of a test program, run once more in a process of its own.
#pragma once

#include <string>

#include "common/bench/provenance.hpp"
#include "common/kit/launch.cuh"
#include "tests/catch.hpp"
#include "tests/run_command.hpp"

namespace tests {

// The case of this program, of so many sections, must pass by itself with these settings of simt,
// "SIMT_THREADS=1".
inline void passes_by_itself(const std::string& settings, const std::string& test_case,
                             int sections = 1) {
#if SIMT_INSTRUMENTED || defined(__SIMT__)
  const auto result = run_command(settings + " " + bench::shell_word(this_program()) + " " +
                                  bench::shell_word(test_case) + " 2>&1");
  INFO(result.output);
  CHECK(result.status == 0);
  const std::string counts = std::to_string(sections) + " passed, 0 failed, 0 skipped\n";
  CHECK(result.output.find('\n' + counts) != std::string::npos);
#else
  (void)settings, (void)test_case, (void)sections;
  SKIP_TEST("needs simt");
#endif
}

// True if the case at hand, of so many sections, has passed or failed on a smaller GPU of simt's
// instead, where a block has several tiles at a tenth of the work; false on a real GPU, and in the
// process that does it.
inline bool ran_on_a_smaller_gpu(int sections) {
#if SIMT_INSTRUMENTED || defined(__SIMT__)
  constexpr int kEnough = 12;
  if (kit::multiprocessor_count() <= kEnough) return false;
  std::string name;
  for (const char c : Catch::getResultCapture().getCurrentTestName()) {
    if (c == ',') name += '\\';  // which would separate two names
    name += c;
  }
  passes_by_itself("SIMT_MULTIPROCESSORS=" + std::to_string(kEnough), '"' + name + '"', sections);
  return true;
#else
  (void)sections;
  return false;
#endif
}

}  // namespace tests
