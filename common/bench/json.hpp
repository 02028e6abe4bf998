// Writes JSON: enough for the results files, no more. The caller nests begin and end correctly.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace bench {

// Bytes of the UTF-8 character that `text` begins with; 0 if it begins with none.
inline std::size_t utf8_bytes(std::string_view text) {
  const auto at = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = at(0);
  if (lead < 0x80) return 1;
  const std::size_t bytes = lead < 0xc2   ? 0
                            : lead < 0xe0 ? 2
                            : lead < 0xf0 ? 3
                            : lead < 0xf5 ? 4
                                          : 0;
  if (bytes == 0 || bytes > text.size()) return 0;
  // The second byte must not make a longer form of what fits fewer bytes (e0, f0), half of a pair
  // of UTF-16 (ed), or what lies beyond Unicode (f4).
  const unsigned least = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const unsigned most = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  if (at(1) < least || at(1) > most) return 0;
  for (std::size_t i = 2; i < bytes; ++i) {
    if (at(i) < 0x80 || at(i) > 0xbf) return 0;
  }
  return bytes;
}

class JsonWriter {
 public:
  void begin_object() { open('{'); }
  void end_object() { close('}'); }
  void begin_array() { open('['); }
  void end_array() { close(']'); }

  void key(std::string_view name) {
    separate();
    quote(name);
    text_ += ':';
    after_key_ = true;
  }

  void value(std::string_view text) {
    separate();
    quote(text);
  }
  void value(const char* text) { value(std::string_view(text)); }
  void value(std::int64_t number) {
    separate();
    text_ += std::to_string(number);
  }
  void value(int number) { value(static_cast<std::int64_t>(number)); }
  void value(bool truth) {
    separate();
    text_ += truth ? "true" : "false";
  }
  // Whole numbers exactly, others with 9 digits, more than any clock has. JSON knows no NaN and no
  // infinity: both become null, "not measured".
  void value(double number) {
    separate();
    if (!std::isfinite(number)) {
      text_ += "null";
      return;
    }
    constexpr double kExact = 9007199254740992;  // 2^53: beyond, a double skips whole numbers
    const bool whole = std::fabs(number) <= kExact && number == std::floor(number);
    char digits[32];
    std::snprintf(digits, sizeof digits, whole ? "%.0f" : "%.9g", number);
    text_ += digits;
  }

  template <class T>
  void field(std::string_view name, const T& content) {
    key(name);
    value(content);
  }

  const std::string& text() const { return text_; }

 private:
  void separate() {
    if (after_key_) {
      after_key_ = false;
    } else if (!text_.empty() && text_.back() != '{' && text_.back() != '[') {
      text_ += ',';
    }
  }
  void open(char bracket) {
    separate();
    text_ += bracket;
  }
  void close(char bracket) { text_ += bracket; }

  void quote(std::string_view raw) {
    text_ += '"';
    while (!raw.empty()) {
      const char c = raw.front();
      const std::size_t bytes = utf8_bytes(raw);
      if (bytes == 0) {
        text_ += "\\ufffd";  // a command line and an environment may hold any byte, JSON may not
      } else if (c == '"' || c == '\\') {
        text_ += '\\';
        text_ += c;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        char escaped[8];
        std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
        text_ += escaped;
      } else {
        text_ += raw.substr(0, bytes);
      }
      raw.remove_prefix(bytes > 0 ? bytes : 1);
    }
    text_ += '"';
  }

  std::string text_;
  bool after_key_ = false;
};

}  // namespace bench
