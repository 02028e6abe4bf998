// What the CPU side of this machine is.
#pragma once

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>

#include "common/kit/check.cuh"
#include "common/kit/cpu_timer.hpp"

namespace bench {

struct CpuFacts {
  std::string model = "unknown CPU";
  int threads = 1;             // that an OpenMP parallel region gets
  double available_bytes = 0;  // memory that can be had without swapping; 0 if unknown
};

// Bytes that a container's limit leaves free; -1 without a limit ("max"). `folder` is where control
// groups (version 2) are mounted, which in a container are its own.
inline double container_bytes(const std::string& folder) {
  double limit = -1, used = 0;
  if (!(std::ifstream(folder + "/memory.max") >> limit)) return -1;
  std::ifstream(folder + "/memory.current") >> used;
  return std::max(0.0, limit - used);
}

// Reads /proc (Linux). What it cannot find keeps its default. control_groups: where the limits of
// containers are.
inline CpuFacts query_cpu(const std::string& control_groups = "/sys/fs/cgroup") {
  CpuFacts facts;
  facts.threads = std::max(1, kit::openmp_threads());
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    if (line.rfind("model name", 0) == 0) {
      const std::size_t begin = line.find_first_not_of("\t :", std::strlen("model name"));
      if (begin != std::string::npos) facts.model = line.substr(begin);
      break;
    }
  }
  facts.available_bytes = kit::free_host_bytes();
  const double in_container = container_bytes(control_groups);
  if (in_container >= 0) facts.available_bytes = std::min(facts.available_bytes, in_container);
  return facts;
}

}  // namespace bench
