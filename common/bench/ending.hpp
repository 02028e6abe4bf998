// A program that a signal ends (Ctrl-C, a time limit, a closed terminal) says so in one line, and
// no file of it stays half written.
#pragma once

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <string>

namespace bench {

// While one lives, this file is not whole: a signal that ends the program removes it. One at a
// time.
class PartialFile {
 public:
  explicit PartialFile(const std::string& file) { current() = file.c_str(); }
  ~PartialFile() { current() = nullptr; }
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  // For a signal handler, which may neither allocate nor lock.
  static std::atomic<const char*>& current() {
    static std::atomic<const char*> file{nullptr};
    return file;
  }
};

// While one lives, the signals that end a program are told, and then end it as they would have
// without: who started it sees which one it was. A signal that was ignored stays ignored (nohup).
class EndingTold {
 public:
  // The line begins with the program's name.
  explicit EndingTold(const std::string& name) {
    const std::string start = isatty(STDERR_FILENO) != 0 ? "\r\033[K" : "";  // over the progress
    // Past a limit of the size of files (ulimit -f) writing is to fail, and to be told, like on a
    // full disk.
    std::signal(SIGXFSZ, SIG_IGN);
    for (int i = 0; i < kCount; ++i) {
      line(i) = start + name + ": ended by " + kSignals[i].name + '\n';
      struct sigaction action = {};
      sigaction(kSignals[i].number, nullptr, &before_[i]);
      if (before_[i].sa_handler == SIG_IGN) continue;
      action.sa_handler = tell;
      action.sa_flags = SA_RESETHAND | SA_ONSTACK;
      sigaction(kSignals[i].number, &action, nullptr);
    }
  }
  ~EndingTold() {
    for (int i = 0; i < kCount; ++i) sigaction(kSignals[i].number, &before_[i], nullptr);
  }
  EndingTold(const EndingTold&) = delete;
  EndingTold& operator=(const EndingTold&) = delete;

 private:
  struct Signal {
    int number;
    const char* name;
  };
  static constexpr int kCount = 4;
  static constexpr Signal kSignals[kCount] = {
      {SIGINT, "SIGINT"}, {SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"}, {SIGQUIT, "SIGQUIT"}};

  static std::string& line(int i) {
    static std::string lines[kCount];
    return lines[i];
  }

  static void tell(int number) {
    if (const char* file = PartialFile::current()) unlink(file);
    for (int i = 0; i < kCount; ++i) {
      if (kSignals[i].number != number) continue;
      const auto written = write(STDERR_FILENO, line(i).data(), line(i).size());
      (void)written;  // there is nobody left to tell
    }
    raise(number);  // held back until this returns, and by then what it does is the default
  }

  struct sigaction before_[kCount];
};

}  // namespace bench
