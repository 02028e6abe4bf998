// Command line of a chapter's program, on top of getopt_long. What is not understood is refused
// with one line (UsageError); nothing is guessed and nothing is ignored.
#pragma once

#include <getopt.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace common {

// A mistake in the command line. run_program() turns it into one line on stderr and exit status 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Refuses a file that cannot be written, before anything is measured for it. An empty name is fine:
// the option was not given.
inline void require_writable(const std::string& option, const std::string& file) {
  if (file.empty() || std::ofstream(file, std::ios::app)) return;
  throw UsageError("--" + option + ": cannot write " + file);
}

// Decimal digits only, within [min, max]; anything else throws UsageError naming the option.
inline std::int64_t parse_integer(const std::string& option, const std::string& text,
                                  std::int64_t min, std::int64_t max) {
  errno = 0;
  char* end = nullptr;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  const bool is_number =
      !text.empty() && text.find_first_not_of("0123456789", text[0] == '-') == std::string::npos &&
      end != text.c_str();
  if (!is_number) throw UsageError("--" + option + ": '" + text + "' is not a whole number");
  if (errno == ERANGE || value < min || value > max) {
    throw UsageError("--" + option + ": " + text + " is not between " + std::to_string(min) +
                     " and " + std::to_string(max));
  }
  return value;
}

// "a,b,c" -> {"a", "b", "c"}
inline std::vector<std::string> split_commas(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (true) {
    const std::size_t comma = text.find(',', begin);
    parts.push_back(text.substr(begin, comma - begin));
    if (comma == std::string::npos) return parts;
    begin = comma + 1;
  }
}

class OptionParser {
 public:
  // An option that takes no value; `seen` is called when it is given.
  void add_flag(const std::string& name, const std::string& help, std::function<void()> seen) {
    options_.push_back({name, "", help, [seen](const std::string&) { seen(); }});
  }

  // An option with a value, shown as `placeholder` in the help.
  void add_value(const std::string& name, const std::string& placeholder, const std::string& help,
                 std::function<void(const std::string&)> take) {
    options_.push_back({name, placeholder, help, std::move(take)});
  }

  // A whole number within [min, max].
  void add_integer(const std::string& name, const std::string& help, std::int64_t* target,
                   std::int64_t min, std::int64_t max) {
    add_value(name, "N", help,
              [=](const std::string& text) { *target = parse_integer(name, text, min, max); });
  }

  // One word out of `choices`.
  void add_choice(const std::string& name, const std::vector<std::string>& choices,
                  const std::string& help, std::string* target) {
    std::string list;
    for (const std::string& choice : choices) list += (list.empty() ? "" : "|") + choice;
    add_value(name, list, help, [=](const std::string& text) {
      for (const std::string& choice : choices) {
        if (choice == text) {
          *target = text;
          return;
        }
      }
      throw UsageError("--" + name + ": '" + text + "' is not one of " + list);
    });
  }

  // Throws UsageError at the first argument that is not understood.
  void parse(int argc, char** argv) const {
    std::vector<option> table;
    for (const Option& o : options_) {
      const int takes = o.placeholder.empty() ? no_argument : required_argument;
      table.push_back({o.name.c_str(), takes, nullptr, 0});
    }
    table.push_back({nullptr, 0, nullptr, 0});
    optind = 0;  // glibc: start from scratch, also when called twice in one process
    opterr = 0;  // the messages are ours
    int index = -1;
    // The leading ':' tells a missing value from an unknown option.
    for (int c; (c = getopt_long(argc, argv, ":", table.data(), &index)) != -1;) {
      // A short option is named by its letter: getopt may not have stepped past its argument yet.
      const std::string given =
          c == '?' && optopt != 0 ? std::string("-") + static_cast<char>(optopt) : argv[optind - 1];
      if (c == ':') throw UsageError(given + " needs a value");
      if (c != 0) throw UsageError("unknown option " + given + " (--help lists them)");
      options_[index].take(optarg != nullptr ? optarg : "");
    }
    if (optind < argc) {
      throw UsageError("unexpected argument '" + std::string(argv[optind]) + "'");
    }
  }

  void print_help() const {
    for (const Option& o : options_) {
      const std::string left = "--" + o.name + (o.placeholder.empty() ? "" : " " + o.placeholder);
      std::printf("  %-22s %s\n", left.c_str(), o.help.c_str());
    }
  }

 private:
  struct Option {
    std::string name;
    std::string placeholder;  // empty: takes no value
    std::string help;
    std::function<void(const std::string&)> take;
  };
  std::vector<Option> options_;
};

}  // namespace common
