// One case of a test program, run once more in a process of its own.
#pragma once

#include <string>

#include "common/bench/provenance.hpp"
#include "tests/catch.hpp"
#include "tests/run_command.hpp"

namespace tests {

// The case of this program must pass by itself with these settings of simt, "SIMT_THREADS=1".
inline void passes_by_itself(const std::string& settings, const std::string& test_case) {
#if SIMT_INSTRUMENTED || defined(__SIMT__)
  const auto result = run_command(settings + " " + bench::shell_word(this_program()) + " " +
                                  bench::shell_word(test_case) + " 2>&1");
  INFO(result.output);
  CHECK(result.status == 0);
  CHECK(result.output.find("1 passed, 0 failed, 0 skipped") != std::string::npos);
#else
  (void)settings, (void)test_case;
  SKIP_TEST("needs simt");
#endif
}

}  // namespace tests
