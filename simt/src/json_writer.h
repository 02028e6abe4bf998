// JSON, written member by member. Only for the reports and the counters.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

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

// Writes a file by write(JsonWriter&): beside it first, then in its place, so that it is whole or
// as it was before; what is no regular file (a pipe) is written to. False, after a line that names
// `variable`, if that failed.
template <class Write>
bool write_json_file(const char* variable, const std::string& path, Write write) {
  struct stat known {};
  const bool in_place = stat(path.c_str(), &known) == 0 && !S_ISREG(known.st_mode);
  const std::string written = in_place ? path : path + "." + std::to_string(getpid()) + ".part";
  FILE* file = fopen(written.c_str(), "w");
  bool whole = file != nullptr;
  if (whole) {
    JsonWriter json(file);
    write(json);
    whole = fflush(file) == 0 && !ferror(file);
    whole = fclose(file) == 0 && whole;
    if (!in_place) whole = whole && rename(written.c_str(), path.c_str()) == 0;
  }
  if (!whole) {
    perror(("simt: " + std::string(variable) + "=" + path).c_str());
    if (!in_place) remove(written.c_str());
  }
  return whole;
}

}  // namespace simt
