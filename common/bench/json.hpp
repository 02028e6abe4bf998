// Writes JSON: enough for the results files, no more. The caller nests begin and end correctly.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace bench {

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

  // Bytes above 0x7f are left alone: what is UTF-8 stays UTF-8.
  void quote(std::string_view raw) {
    text_ += '"';
    for (const char c : raw) {
      if (c == '"' || c == '\\') text_ += '\\';
      if (static_cast<unsigned char>(c) >= 0x20) {
        text_ += c;
        continue;
      }
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
      text_ += escaped;
    }
    text_ += '"';
  }

  std::string text_;
  bool after_key_ = false;
};

}  // namespace bench
