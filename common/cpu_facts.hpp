// What the CPU side of this machine is.
#pragma once

#ifdef _OPENMP
#include <omp.h>
#endif

#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

namespace common {

struct CpuFacts {
  std::string model = "unknown CPU";
  int threads = 1;             // that an OpenMP parallel region gets
  double available_bytes = 0;  // memory that can be had without swapping; 0 if unknown
};

// Reads /proc (Linux). What it cannot find keeps its default.
inline CpuFacts query_cpu() {
  CpuFacts facts;
#ifdef _OPENMP
  facts.threads = omp_get_max_threads();
#endif
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    if (line.rfind("model name", 0) == 0) {
      const std::size_t begin = line.find_first_not_of("\t :", std::strlen("model name"));
      if (begin != std::string::npos) facts.model = line.substr(begin);
      break;
    }
  }
  std::ifstream meminfo("/proc/meminfo");
  for (std::string line; std::getline(meminfo, line);) {
    std::istringstream fields(line);
    std::string key;
    double kilobytes = 0;
    if (fields >> key >> kilobytes && key == "MemAvailable:") {
      facts.available_bytes = 1024 * kilobytes;
      break;
    }
  }
  return facts;
}

}  // namespace common
