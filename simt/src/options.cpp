#include "options.h"

#include <sched.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "engine.h"

namespace simt {
namespace {

[[noreturn]] void reject(const char* name, const std::string& value, const std::string& expected) {
  fprintf(stderr, "simt: %s=%s: expected %s\n", name, value.c_str(), expected.c_str());
  exit(2);
}

// Runs before every constructor, also of shared libraries: all SIMT_... with their values, one
// after the other, and a word from standard input if it is asked for.
char settings[8192], word[65];

void keep_settings(int, char**, char** environment) {
  size_t end = 0;
  for (char** each = environment; *each; ++each) {
    const size_t bytes = strlen(*each) + 1;
    if (strncmp(*each, "SIMT_", 5) != 0 || end + bytes >= sizeof settings) continue;
    memcpy(settings + end, *each, bytes);
    end += bytes;
  }
  if (!setting("SIMT_SEAL")) return;
  size_t have = 0;
  ssize_t more = 0;
  while (have < sizeof word - 1 && (more = read(0, word + have, sizeof word - 1 - have)) > 0)
    have += static_cast<size_t>(more);
}
#ifdef __wasm__  // which has no such section
__attribute__((constructor(101))) void early() { keep_settings(0, nullptr, environ); }
#else
using Early = void (*)(int, char**, char**);
__attribute__((section(".preinit_array"), used)) Early early = keep_settings;
#endif

std::string variable(const char* name) {
  const char* value = setting(name);
  return value ? value : "";
}

// A whole number from least to most, with K, M or G behind it if `units`.
uint64_t number(const char* name, uint64_t otherwise, uint64_t least, uint64_t most,
                bool units = false) {
  std::string text = variable(name);
  if (text.empty()) return otherwise;
  char* end = nullptr;
  errno = 0;
  unsigned long long value = strtoull(text.c_str(), &end, 10);
  bool fits = errno == 0;
  if (units && *end && !end[1]) {
    const char* unit = strchr("KMG", *end);
    if (unit) {
      const int bits = *end == 'K' ? 10 : *end == 'M' ? 20 : 30;
      fits = fits && value <= UINT64_MAX >> bits;
      value <<= bits;
      ++end;
    }
  }
  const bool is_number = !text.empty() && strchr("0123456789", text[0]) && !*end;
  if (is_number && fits && value >= least && value <= most) return value;
  const std::string range = std::to_string(least) + " and " + std::to_string(most);
  const char* what = units ? "a size such as 512M, " : "a whole number ";
  reject(name, text, what + ("between " + range));
}

int cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return get_nprocs();
}

// Memory that programs may still take, in bytes.
uint64_t free_memory() {
  uint64_t kilobytes = 0;
  if (FILE* file = fopen("/proc/meminfo", "r")) {
    char line[128];
    while (fgets(line, sizeof line, file)) {
      unsigned long long value;
      if (sscanf(line, "MemAvailable: %llu kB", &value) == 1) kilobytes = value;
    }
    fclose(file);
  }
  return kilobytes ? kilobytes << 10 : uint64_t(1) << 31;
}

// "random" or "random:7", whose seed replaces *seed.
bool is_random(const std::string& text, uint64_t* seed) {
  if (text == "random") return true;
  if (text.rfind("random:", 0) != 0 || text.size() == 7 ||
      text.find_first_not_of("0123456789", 7) != std::string::npos)
    return false;
  *seed = strtoull(text.c_str() + 7, nullptr, 10);
  return true;
}

Options read_options() {
  Options o{};
  o.threads = static_cast<int>(number("SIMT_THREADS", cores(), 1, 4096));
  o.stack_bytes = number("SIMT_STACK_KB", 128, 16, 1 << 20) << 10;
  o.devices = static_cast<int>(number("SIMT_DEVICES", 1, 1, kMaxDevices));
  o.memory_bytes = number("SIMT_MEMORY", free_memory() / 2 / unsigned(o.devices) >> 20 << 20, 1,
                          uint64_t(1) << 46, true);
  o.multiprocessors = static_cast<int>(number("SIMT_MULTIPROCESSORS", 0, 1, 1024));
  o.patience = static_cast<double>(number("SIMT_TIMEOUT", 20, 1, 1'000'000));
  o.seed = 1;
  std::string order = variable("SIMT_ORDER"), async = variable("SIMT_ASYNC");
  if (this_run.number == 1) order = "reverse", async = "early";
  if (this_run.number > 1) order = async = "random:" + std::to_string(this_run.number);
  if (order.empty() || order == "forward") {
    o.order = Order::kForward;
  } else if (order == "reverse") {
    o.order = Order::kReverse;
  } else if (is_random(order, &o.seed)) {
    o.order = Order::kRandom;
  } else {
    reject("SIMT_ORDER", order, "forward, reverse, random or random:SEED");
  }
  o.async_seed = 1;
  if (async.empty() || async == "late") {
    o.async = Async::kLate;
  } else if (async == "early") {
    o.async = Async::kEarly;
  } else if (is_random(async, &o.async_seed)) {
    o.async = Async::kRandom;
  } else {
    reject("SIMT_ASYNC", async, "late, early, random or random:SEED");
  }
  std::string streams = variable("SIMT_STREAMS");
  if (!streams.empty() && streams != "deferred" && streams != "eager")
    reject("SIMT_STREAMS", streams, "eager or deferred");
  o.deferred = streams == "deferred";
  const std::string words = variable("SIMT_VOLATILE");
  if (!words.empty() && words != "plain" && words != "relaxed")
    reject("SIMT_VOLATILE", words, "relaxed or plain");
  o.plain_volatile = words == "plain";
  return o;
}

}  // namespace

const char* setting(const char* name) {
  const size_t length = strlen(name);
  for (const char* each = settings; *each; each += strlen(each) + 1) {
    if (strncmp(each, name, length) == 0 && each[length] == '=') return each + length + 1;
  }
  return nullptr;
}

const char* sealed_word() { return word; }

Run this_run;

const char* Run::settings() const {
  static char text[80];
  if (number == 1) return "SIMT_ORDER=reverse SIMT_ASYNC=early";
  snprintf(text, sizeof text, "SIMT_ORDER=random:%u SIMT_ASYNC=random:%u", number, number);
  return text;
}

const Options& options() {
  static const Options read = read_options();
  return read;
}

}  // namespace simt
