// Files that a program writes: refused before anything is measured for them, and never left half
// written.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "common/bench/options.hpp"

namespace bench {

// Refuses a file that cannot be written, or that holds something other than JSON, which would be
// lost; a named FIFO, too, where writing waits until somebody reads. Touches nothing. An empty name
// is fine: the option was not given.
inline void require_writable(const std::string& option, const std::string& file) {
  namespace fs = std::filesystem;
  if (file.empty()) return;
  std::error_code ignored;
  const auto folder = fs::path(file).parent_path();
  const bool exists = fs::exists(file, ignored);
  const bool writable = exists ? !fs::is_directory(file, ignored) && access(file.c_str(), W_OK) == 0
                               : access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) == 0;
  const std::string name = "--" + option + ": ";
  if (!writable) throw UsageError(name + "cannot write " + file);
  // That of /dev/stdout has no name.
  const fs::path named = fs::canonical(file, ignored);
  if (fs::is_fifo(fs::status(named, ignored))) throw UsageError(name + file + " is a FIFO");
  if (!fs::is_regular_file(file, ignored)) return;
  char first = '{';
  std::ifstream(file) >> first;
  if (first != '{') throw UsageError(name + file + " is no JSON, and would be replaced");
}

// Writes beside the file first and then takes its place in one step: on a full disk the file that
// was there before stays as it was. What is no regular file (a pipe, /dev/stdout) is written to.
// Throws std::runtime_error.
inline void write_file(const std::string& file, const std::string& text) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const bool in_place = fs::exists(file, ignored) && !fs::is_regular_file(file, ignored);
  // A link stays one.
  const bool is_link = !in_place && fs::is_symlink(fs::symlink_status(file, ignored));
  const std::string to = is_link ? fs::weakly_canonical(file, ignored).string() : file;
  const std::string written = in_place ? file : to + "." + std::to_string(getpid()) + ".part";
  std::ofstream stream(written);
  stream << text;
  stream.close();
  if (stream && (in_place || std::rename(written.c_str(), to.c_str()) == 0)) return;
  if (!in_place) std::remove(written.c_str());
  throw std::runtime_error("cannot write " + file);
}

}  // namespace bench
