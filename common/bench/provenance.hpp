// Where a measurement comes from: which sources, built by which compiler, when, on a GPU in which
// state.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>

// The Makefile says how it built the program; a build by hand need not.
#ifndef BUILD_FLAGS
#define BUILD_FLAGS "flags unknown: not built by make"
#endif

namespace bench {

// First line that the shell command prints, without its newline; empty if it fails or prints
// nothing.
inline std::string first_line_of(const std::string& command) {
  std::string line;
  if (FILE* pipe = popen((command + " 2>/dev/null").c_str(), "r")) {
    char text[256];
    if (std::fgets(text, sizeof text, pipe) != nullptr) line = text;
    if (pclose(pipe) != 0) line.clear();
  }
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
  return line;
}

// `text` as one word of a shell command, whatever it holds.
inline std::string shell_word(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

inline std::string compiler_text() {
  std::string text;
#if defined(__SIMT__)
  text = "simt, ";
#elif defined(__CUDACC_VER_MAJOR__)
  text = "nvcc " + std::to_string(__CUDACC_VER_MAJOR__) + "." +
         std::to_string(__CUDACC_VER_MINOR__) + "." + std::to_string(__CUDACC_VER_BUILD__) + ", ";
#endif
  return text + "g++ " __VERSION__;
}

// The commit of the repository that `folder` lies in, "-dirty" if something there was changed.
inline std::string commit_of(const std::string& folder) {
  const std::string line =
      first_line_of("git -C " + shell_word(folder) + " describe --always --dirty --abbrev=12");
  return line.empty() ? "unknown" : line;
}

// The commit of the sources: COMMIT from the environment (a copy without .git), else that of the
// repository which the program's own file lies in.
inline std::string commit() {
  if (const char* given = std::getenv("COMMIT")) return given;
  std::error_code unknown;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", unknown);
  return unknown ? "unknown" : commit_of(program.parent_path().string());
}

inline std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  return text;
}

// Clock and power at this moment, e.g. "1980 MHz, 120 W"; empty without nvidia-smi.
inline std::string gpu_state() {
  return first_line_of("nvidia-smi --query-gpu=clocks.sm,power.draw --format=csv,noheader");
}

}  // namespace bench
