// How a rung says that it cannot run here, at this size or on this device.
#pragma once

#include <stdexcept>

namespace kit {

// what() names what is missing: Skip("needs rows of 16 bytes"). The row, the test and the sanitizer
// run of the rung then say skipped, with this reason; no other rung takes its place.
class Skip : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace kit
