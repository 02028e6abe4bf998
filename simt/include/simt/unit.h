// Every translation unit says how it was compiled: so that a program that was built without
// instrumentation is never run as if it were checked, and that the model GPU is the one whose code
// was compiled.
#pragma once

#include "simt/build_mode.h"

namespace simt {

struct TranslationUnit {
  TranslationUnit(bool instrumented, int architecture);
};

#ifdef __SIMT__  // a .cu file; the engine's own files are never instrumented
namespace {
const TranslationUnit this_unit{SIMT_INSTRUMENTED != 0, __CUDA_ARCH__ / 10};
}
#endif

}  // namespace simt
