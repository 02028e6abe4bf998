// JSON, written member by member. Only for the reports and the counters.
#pragma once

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <string>

namespace simt {

// A string as JSON writes it, with the quotation marks.
inline std::string json_string(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      snprintf(escape, sizeof escape, "\\u%04x", c);
      quoted += escape;
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

// Members one after another: name, value, comma where needed.
class JsonWriter {
 public:
  explicit JsonWriter(FILE* out) : out_(out) {}
  void open(const char* bracket) {
    fputs(bracket, out_);
    first_ = true;
  }
  void close(const char* bracket) {
    fputs(bracket, out_);
    first_ = false;
  }
  void name(const char* text) {
    element();
    fprintf(out_, "\"%s\":", text);
    first_ = true;  // what follows is the value
  }
  void element() {
    if (!first_) fputc(',', out_);
    first_ = false;
  }
  void member(const char* key, const std::string& value) {
    name(key);
    fputs(json_string(value).c_str(), out_);
    first_ = false;
  }
  void member(const char* key, uint64_t value) {
    name(key);
    fprintf(out_, "%" PRIu64, value);
    first_ = false;
  }
  void member(const char* key, double value) {
    name(key);
    fprintf(out_, "%.6g", value);
    first_ = false;
  }

 private:
  FILE* out_;
  bool first_ = true;
};

}  // namespace simt
