#include "simt/unit.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <vector>

#include "limits.h"
#include "options.h"

namespace simt {
namespace {

bool asks_for(const char* variable) {
  const char* value = setting(variable);
  return value && *value && strcmp(value, "0") != 0;
}

// Set by the constructors of global objects, so it must not have one itself.
int newest_architecture = 0;

// A T4, an A100, an H200.
constexpr size_t kKiB = 1024, kMiB = 1024 * 1024;
constexpr Chip kChips[] = {
    {75, 40, 1024, 16, 64 * kKiB, 64 * kKiB, 0, 4 * kMiB, 1},
    {80, 108, 2048, 32, 164 * kKiB, 163 * kKiB, 1024, 40 * kMiB, 1},
    {90, 132, 2048, 32, 228 * kKiB, 227 * kKiB, 1024, 60 * kMiB, 8},
};

}  // namespace

const Chip& chip() {
  static const std::vector<Chip> chips = [] {
    std::vector<Chip> all(std::begin(kChips), std::end(kChips));
    if (const int given = options().multiprocessors)
      for (Chip& one : all) one.multiprocessors = given;
    return all;
  }();
  for (const Chip& one : chips)
    if (one.architecture == newest_architecture) return one;
  return chips.back();
}

TranslationUnit::TranslationUnit(bool instrumented, int architecture) {
  if (architecture > newest_architecture) newest_architecture = architecture;
  if (instrumented) return;
  for (const char* variable : {"SIMT_CHECK", "SIMT_PROFILE", "SIMT_ORDERS", "SIMT_VOLATILE"}) {
    if (!asks_for(variable)) continue;
    fprintf(stderr,
            "simt: %s is set, but this program was built without checks: build it with %s=1 "
            "simt/nvcc ..., or unset it\n",
            variable, strcmp(variable, "SIMT_PROFILE") == 0 ? variable : "SIMT_CHECK");
    exit(2);
  }
}

}  // namespace simt
