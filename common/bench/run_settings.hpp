// How to run variants, whoever asks: a program with a command line, or a test.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "common/bench/device_facts.cuh"

namespace bench {

struct RunSettings {
  DeviceFacts device;
  std::uint64_t seed = 1;    // of the random input
  int repeats = 0;           // samples of each variant; 0: until steady
  bool quick = false;        // a short look: fewer samples, the slowest loops left out
  bool cold = true;          // fill the L2 cache with other data before each sample
  bool verify_only = false;  // check, time nothing
  bool time_model = false;   // time kernels that the CPU runs, too
  bool slow = false;         // run variants that take minutes, too
  // Hears what is being done now; an empty text when all is done.
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

}  // namespace bench
