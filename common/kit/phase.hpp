// SPDX-License-Identifier: MIT
// What a round trip (host arrays in, host arrays out, a GPU in between) says about its parts.
#pragma once

#include <string>
#include <vector>

namespace kit {

// One timed part of a round trip. bytes = 0: no rate is shown.
struct Phase {
  std::string name;
  double ms = 0;
  double bytes = 0;
  bool at_device_memory = false;  // its rate has the device's memory bandwidth as roof
};
using Phases = std::vector<Phase>;

}  // namespace kit
