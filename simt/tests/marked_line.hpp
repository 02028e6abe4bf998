// Finds lines by a comment, so that a test can say which line a report must name.
#pragma once

#include <fstream>
#include <string>

#include "tests/catch.hpp"

namespace tests {

// The line of the file that calls this which ends with the comment "here: <place>".
inline int line_of(const std::string& place, const char* path = __builtin_FILE()) {
  std::ifstream file(path);
  std::string text;
  const std::string mark = "// here: " + place;
  for (int line = 1; std::getline(file, text); ++line) {
    if (text.size() > mark.size() &&
        text.compare(text.size() - mark.size(), mark.size(), mark) == 0) {
      return line;
    }
  }
  FAIL("no line is marked " << place);
  return 0;
}

}  // namespace tests
