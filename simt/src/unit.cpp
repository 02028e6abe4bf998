#include "simt/unit.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace simt {
namespace {

bool asks_for(const char* variable) {
  const char* value = getenv(variable);
  return value && *value && strcmp(value, "0") != 0;
}

}  // namespace

TranslationUnit::TranslationUnit(bool instrumented) {
  if (instrumented) return;
  for (const char* variable : {"SIMT_CHECK", "SIMT_PROFILE"}) {
    if (!asks_for(variable)) continue;
    fprintf(stderr,
            "simt: %s is set, but this program was built without checks: set it when building, too "
            "(%s=1 simt/nvcc ...), or unset it\n",
            variable, variable);
    exit(2);
  }
}

}  // namespace simt
