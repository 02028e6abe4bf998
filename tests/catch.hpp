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

// All of these are defined in main.cpp.

// Marks the test case or section that is running now as skipped.
void record_skip(const std::string& reason);

// If the test case or section that is running now fails, this is why: `rung` names what is broken,
// and has one line in the output of the program, however many tests notice it.
void record_broken(const std::string& rung, const std::string& text);

// Who is asked about the device behind each test. Either may be null.
struct Witness {
  std::string (*said)() = nullptr;  // what a model of a device found since it was asked last
  bool (*lost)() = nullptr;         // whether every further call fails; asked if a test has failed
};
void call_witness(const Witness& of_the_device);

}  // namespace tests

// Leaves the running test function and counts the innermost section as skipped, never as passed.
#define SKIP_TEST(reason)         \
  do {                            \
    ::tests::record_skip(reason); \
    return;                       \
  } while (false)

// The same of one section in a loop of them. SKIP_TEST would leave the loop, too, and Catch2 would
// never hear of the sections that the loop has not come to.
#define SKIP_SECTION(reason)      \
  {                               \
    ::tests::record_skip(reason); \
    continue;                     \
  }
