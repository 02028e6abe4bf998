// What the CPU side of this machine is.
#pragma once

#ifdef _OPENMP
#include <omp.h>
#endif

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

namespace bench {

struct CpuFacts {
  std::string model = "unknown CPU";
  int threads = 1;             // that an OpenMP parallel region gets
  double available_bytes = 0;  // memory that can be had without swapping; 0 if unknown
};

// First number in a file, or the one behind `key`; -1 if there is none ("max" stands for no limit).
inline double number_in(const std::string& file, const std::string& key = "") {
  std::ifstream stream(file);
  double number = -1;
  if (key.empty()) return stream >> number ? number : -1;
  for (std::string line, word; std::getline(stream, line);) {
    std::istringstream fields(line);
    if (fields >> word >> number && word == key) return number;
  }
  return -1;
}

// Bytes that the container's limit leaves free, -1 without a limit. Files that the kernel keeps in
// memory count as free: it drops them when asked. `folder` is where control groups are mounted;
// their versions 2 and 1 use other names.
inline double container_bytes(const std::string& folder) {
  struct Names {
    const char *limit, *used, *stat, *cached;
  };
  for (const Names& names :
       {Names{"/memory.max", "/memory.current", "/memory.stat", "inactive_file"},
        Names{"/memory/memory.limit_in_bytes", "/memory/memory.usage_in_bytes",
              "/memory/memory.stat", "total_inactive_file"}}) {
    const double limit = number_in(folder + names.limit), used = number_in(folder + names.used);
    const double cached = std::max(0.0, number_in(folder + names.stat, names.cached));
    if (limit >= 0 && used >= 0) return std::max(0.0, limit - used + cached);
  }
  return -1;
}

// The control group of this process below the mounted root, "/a/b" (version 2); empty: the root.
inline std::string own_group() {
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (line.rfind("0::/", 0) == 0) return line.substr(std::strlen("0::"));
  }
  return "";
}

// As container_bytes, for a process in `group`: what it and all groups above it leave free.
inline double group_bytes(const std::string& folder, std::string group) {
  double least = container_bytes(folder);
  for (; group.size() > 1; group.erase(group.rfind('/'))) {
    const double free = container_bytes(folder + group);
    if (free >= 0) least = least < 0 ? free : std::min(least, free);
  }
  return least;
}

// Reads /proc (Linux). What it cannot find keeps its default. control_groups: where the limits of
// containers are.
inline CpuFacts query_cpu(const std::string& control_groups = "/sys/fs/cgroup") {
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
  const double in_container = group_bytes(control_groups, own_group());
  if (in_container >= 0) facts.available_bytes = std::min(facts.available_bytes, in_container);
  return facts;
}

}  // namespace bench
