// SIMT_ORDERS=8: what shows in one order of blocks and warps only is looked for in several. The
// program runs eight times, one run after the other: first as its settings say, then from the last
// block to the first with copies as early as possible, then in random orders. It is started once
// and divides before its own code begins; what it prints is shown of the first run only.

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "check_reports.h"
#include "options.h"

namespace simt {
namespace {

constexpr unsigned kMostRuns = 1000;

std::vector<CheckReports::Entry>& earlier() {
  static auto* entries = new std::vector<CheckReports::Entry>;
  return *entries;
}
int to_parent = -1;

void append(std::string* text, const std::string& field) {
  *text += std::to_string(field.size()) + ":" + field;
}

std::string next_field(const std::string& text, size_t* at) {
  const size_t colon = text.find(':', *at);
  const size_t size = std::stoul(text.substr(*at, colon - *at));
  *at = colon + 1 + size;
  return text.substr(colon + 1, size);
}

std::vector<CheckReports::Entry> read_reports(const std::string& text) {
  std::vector<CheckReports::Entry> entries;
  for (size_t at = 0; at < text.size();) {
    CheckReports::Entry entry;
    CheckReport& r = entry.report;
    r.check = next_field(text, &at);
    r.kernel = next_field(text, &at);
    r.file = next_field(text, &at);
    r.message = next_field(text, &at);
    r.line = static_cast<unsigned>(std::stoul(next_field(text, &at)));
    r.count = std::stoull(next_field(text, &at));
    entry.places.resize(std::stoul(next_field(text, &at)));
    for (std::string& place : entry.places) place = next_field(text, &at);
    entries.push_back(std::move(entry));
  }
  return entries;
}

// What the child says until it ends.
std::string read_all(int from) {
  std::string text;
  char piece[4096];
  ssize_t got = 0;
  while ((got = read(from, piece, sizeof piece)) > 0) text.append(piece, static_cast<size_t>(got));
  return text;
}

// Before any constructor of the program's.
__attribute__((constructor(101))) void divide() {
  const char* wanted = setting("SIMT_ORDERS");
  if (wanted == nullptr || *wanted == 0) return;
  char* end = nullptr;
  const unsigned long count = strtoul(wanted, &end, 10);
  if (*wanted == '-' || *end != 0 || count < 1 || count > kMostRuns) {
    fprintf(stderr, "simt: SIMT_ORDERS=%s: expected a whole number from 1 to %u\n", wanted,
            kMostRuns);
    _exit(2);
  }
  if (count == 1) return;
  int status = 0;
  for (unsigned number = 0; number < count; ++number) {
    int ends[2];
    if (pipe(ends) != 0) break;
    const pid_t child = fork();
    if (child < 0) {
      perror("simt: SIMT_ORDERS: fork");
      _exit(1);
    }
    if (child == 0) {
      close(ends[0]);
      to_parent = ends[1];
      fcntl(to_parent, F_SETFD, FD_CLOEXEC);
      this_run.number = number;
      this_run.count = static_cast<unsigned>(count);
      if (number > 0) dup2(open("/dev/null", O_RDWR), 1);
      return;
    }
    close(ends[1]);
    const std::string said = read_all(ends[0]);
    close(ends[0]);
    int ended = 0;
    waitpid(child, &ended, 0);
    const int code = WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended);
    if (status == 0) status = code;
    // One that was ended said nothing: what was known stays known.
    if (!said.empty()) earlier() = read_reports(said);
  }
  _exit(status);
}

}  // namespace

std::vector<CheckReports::Entry> reports_of_earlier_runs() { return earlier(); }

void pass_on_reports(const std::vector<CheckReports::Entry>& entries) {
  if (to_parent < 0) return;
  std::string text;
  for (const CheckReports::Entry& entry : entries) {
    const CheckReport& r = entry.report;
    for (const std::string& field : {r.check, r.kernel, r.file, r.message, std::to_string(r.line),
                                     std::to_string(r.count), std::to_string(entry.places.size())})
      append(&text, field);
    for (const std::string& place : entry.places) append(&text, place);
  }
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t wrote = write(to_parent, text.data() + done, text.size() - done);
    if (wrote <= 0) break;
    done += static_cast<size_t>(wrote);
  }
  close(to_parent);
  to_parent = -1;
}

}  // namespace simt
