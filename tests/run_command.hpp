// Runs a shell command and keeps what a test wants to know of it.
#pragma once

#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>

#include "common/kit/cpu_timer.hpp"

namespace tests {

struct CommandResult {
  int status = -1;     // exit status; 128 + signal if one ended it; -1 if it could not be started
  std::string output;  // standard output; add 2>&1 to the command for both
  int lines = 0;       // of the output
  double seconds = 0;
};

// The file of this program, to be started once more.
inline std::string this_program() {
  return std::filesystem::read_symlink("/proc/self/exe").string();
}

inline CommandResult run_command(const std::string& command) {
  CommandResult result;
  kit::CpuTimer timer;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return result;
  char buffer[4096];
  for (std::size_t got; (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) {
    result.output.append(buffer, got);
  }
  const int status = pclose(pipe);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.lines = static_cast<int>(std::count(result.output.begin(), result.output.end(), '\n'));
  result.seconds = timer.elapsed_ms() / 1e3;
  return result;
}

}  // namespace tests
