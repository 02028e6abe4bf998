// JSON, written member by member. Only for the reports and the counters.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
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

// 0, or why the file could not be written by write(JsonWriter&).
template <class Write>
int error_of_writing(const std::string& path, Write write) {
  FILE* file = fopen(path.c_str(), "w");
  if (file == nullptr) return errno;
  JsonWriter json(file);
  write(json);
  const int error = fflush(file) != 0 || ferror(file) ? errno : 0;
  return fclose(file) != 0 && error == 0 ? errno : error;
}

// Writes a file beside it first, then in its place, so that it is whole or as it was before. What
// is no regular file (a pipe) is written to, and so is one that a sandbox has mounted into a folder
// which is none of its own. False, after a line that names `variable`, if that failed.
template <class Write>
bool write_json_file(const char* variable, const std::string& path, Write write) {
  struct stat known {
  }, folder{};
  const bool exists = stat(path.c_str(), &known) == 0 &&
                      stat((path.substr(0, path.rfind('/') + 1) + ".").c_str(), &folder) == 0;
  bool in_place = exists && (!S_ISREG(known.st_mode) || known.st_dev != folder.st_dev);
  int error = 0;
  if (!in_place) {
    const std::string beside = path + "." + std::to_string(getpid()) + ".part";
    error = error_of_writing(beside, write);
    if (error == 0 && rename(beside.c_str(), path.c_str()) != 0) error = errno;
    if (error != 0) remove(beside.c_str());
    in_place = error == EACCES || error == EPERM || error == EROFS || error == EBUSY;
  }
  if (in_place) error = error_of_writing(path, write);
  if (error != 0) fprintf(stderr, "simt: %s=%s: %s\n", variable, path.c_str(), strerror(error));
  return error == 0;
}

}  // namespace simt
