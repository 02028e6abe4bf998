// Text for a terminal of 80 columns.
#pragma once

#include <algorithm>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>

namespace bench {

constexpr std::size_t kLineWidth = 80;

// Whether lines can change on a terminal of this kind, the TERM of the environment, if there is
// one.
inline bool takes_escapes(const char* kind) {
  return kind != nullptr && std::strcmp(kind, "dumb") != 0;
}

// What printf would print.
[[gnu::format(printf, 1, 2)]] inline std::string formatted(const char* pattern, ...) {
  std::va_list values, again;
  va_start(values, pattern);
  va_copy(again, values);
  std::string text(std::vsnprintf(nullptr, 0, pattern, values), '\0');
  std::vsnprintf(text.data(), text.size() + 1, pattern, again);
  va_end(again);
  va_end(values);
  return text;
}

// The words of `text` on as many lines as they need, without a line's end. What follows the first
// line begins `indent` blanks from the left; a word longer than a line stays whole.
inline std::string wrapped(const std::string& text, std::size_t indent) {
  std::string lines;
  std::size_t begin = 0, at = 0;  // of the line; of what is not yet taken
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(' ', at + 1), text.size());
    if (at > 0 && lines.size() - begin + end - at > kLineWidth) {
      lines += '\n';
      begin = lines.size();
      lines += std::string(indent, ' ');
      ++at;  // the blank
    }
    lines += text.substr(at, end - at);
    at = end;
  }
  return lines;
}

}  // namespace bench
