// A place in the user's source, taken where a device function or API function is called.
#pragma once

namespace simt {

struct Location {
  const char* file = "";
  int line = 0;

  // As a default argument, `Location at = Location::here()` names the caller's line.
  static constexpr Location here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

}  // namespace simt
