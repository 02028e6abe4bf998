// Catch2 as the tests see it: version 2 (one header) and version 3 (a library) behind one name.
//
// Use only what both versions offer: TEST_CASE, SECTION, DYNAMIC_SECTION, CHECK, REQUIRE, INFO,
// CHECK_THROWS_AS and their kin. Version 2 has no SKIP, so skips are ours: SKIP_TEST below.
#pragma once

#include <string>

#if __has_include(<catch2/catch_test_macros.hpp>)
#define TESTS_CATCH_VERSION 3
#include <catch2/catch_test_macros.hpp>
#elif __has_include(<catch2/catch.hpp>)
#define TESTS_CATCH_VERSION 2
#include <catch2/catch.hpp>
#else
#error "Catch2 not found: run ./setup.sh"
#endif

namespace tests {

// Marks the test case or section that is running now as skipped (defined in main.cpp).
void record_skip(const std::string& reason);

}  // namespace tests

// Leaves the running test function and counts the innermost section as skipped, never as passed.
#define SKIP_TEST(reason)         \
  do {                            \
    ::tests::record_skip(reason); \
    return;                       \
  } while (false)
