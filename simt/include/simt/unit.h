// Every translation unit says how it was compiled, so that a program that was built without
// instrumentation is never run as if it were checked.
#pragma once

#include "simt/build_mode.h"

namespace simt {

struct TranslationUnit {
  explicit TranslationUnit(bool instrumented);
};

#ifdef __SIMT__  // a .cu file; the engine's own files are never instrumented
namespace {
const TranslationUnit this_unit{SIMT_INSTRUMENTED != 0};
}
#endif

}  // namespace simt
