// Command line of a chapter's program, on top of getopt_long. What is not understood is refused
// with one line (UsageError); nothing is guessed and nothing is ignored.
#pragma once

#include <getopt.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/bench/lines.hpp"

namespace bench {

// A mistake in the command line. Program::main() turns it into one line on stderr and exit
// status 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

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

// Letters to add, drop or replace until one word is the other.
inline std::size_t letters_apart(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);  // from the beginning of a to each beginning of b
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

// ": did you mean verify?" for "veryfy"; "" if no known word is like this one.
inline std::string did_you_mean(const std::string& word, const std::vector<std::string>& known) {
  std::size_t least = word.size() / 3 + 1;  // two letters of three are right at least
  std::string nearest;
  for (const std::string& each : known) {
    const std::size_t apart = letters_apart(word, each);
    if (apart >= least) continue;
    least = apart;
    nearest = each;
  }
  return nearest.empty() ? "" : ": did you mean " + nearest + "?";
}

class OptionParser {
 public:
  bool has(const std::string& name) const {
    return std::any_of(options_.begin(), options_.end(),
                       [&](const Option& option) { return option.name == name; });
  }

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

  // One word out of `choices`; `take` hears its place among them.
  void add_choice(const std::string& name, const std::vector<std::string>& choices,
                  const std::string& help, std::function<void(int)> take) {
    std::string list;
    for (const std::string& choice : choices) list += (list.empty() ? "" : "|") + choice;
    add_value(name, list, help, [=](const std::string& text) {
      const auto found = std::find(choices.begin(), choices.end(), text);
      if (found != choices.end()) return take(static_cast<int>(found - choices.begin()));
      throw UsageError("--" + name + ": '" + text + "' is not one of " + list +
                       did_you_mean(text, choices));
    });
  }
  void add_choice(const std::string& name, const std::vector<std::string>& choices,
                  const std::string& help, std::string* target) {
    add_choice(name, choices, help, [=](int place) { *target = choices[place]; });
  }

  // Throws UsageError at the first argument that is not understood, or that comes twice. -h is
  // --help where there is one.
  void parse(int argc, char** argv) const {
    // Each option has a value of its own: getopt_long takes an abbreviation that fits several
    // options for the first of them if they look alike.
    constexpr int kFirst = 1000;
    std::vector<option> table;
    std::vector<std::string> names;
    for (const Option& o : options_) {
      names.push_back("--" + o.name);
      const int takes = o.placeholder.empty() ? no_argument : required_argument;
      table.push_back({o.name.c_str(), takes, nullptr, kFirst + static_cast<int>(table.size())});
    }
    table.push_back({nullptr, 0, nullptr, 0});
    optind = 0;  // glibc: start from scratch, also when called twice in one process
    opterr = 0;  // the messages are ours
    std::vector<bool> seen(options_.size(), false);
    const auto help = std::find(names.begin(), names.end(), "--help");
    // The leading ':' tells a missing value from an unknown option.
    const char* letters = help == names.end() ? ":" : ":h";
    for (int c; (c = getopt_long(argc, argv, letters, table.data(), nullptr)) != -1;) {
      if (c == 'h') c = kFirst + static_cast<int>(help - names.begin());
      if (c == '?' && optopt >= kFirst) {
        throw UsageError(names[optopt - kFirst] + " takes no value");
      }
      // A short option is named by its letter: getopt may not have stepped past its argument yet.
      const std::string given =
          c == '?' && optopt != 0 ? std::string("-") + static_cast<char>(optopt) : argv[optind - 1];
      if (c == ':') throw UsageError(given + " needs a value");
      if (c < kFirst) {
        const bool known = !given.empty() && fits_several(given);
        throw UsageError((known ? "ambiguous option " + given
                                : "unknown option " + given + did_you_mean(given, names)) +
                         " (--help lists them)");
      }
      const int index = c - kFirst;
      if (seen[index]) throw UsageError("--" + options_[index].name + " is given twice");
      seen[index] = true;
      const std::string value = optarg != nullptr ? optarg : "";
      const bool is_next_option = optarg == argv[optind - 1] && value.rfind("--", 0) == 0;
      if (is_next_option) throw UsageError(names[index] + " needs a value, not " + value);
      options_[index].take(value);
    }
    if (optind < argc) {
      throw UsageError("unexpected argument '" + std::string(argv[optind]) + "'");
    }
  }

  // A line an option, or several where they would be wider than a screen.
  std::string help() const {
    std::string lines;
    for (const Option& o : options_) {
      const std::string left = "--" + o.name + (o.placeholder.empty() ? "" : " " + o.placeholder);
      lines += wrapped(formatted("  %-22s %s", left.c_str(), o.help.c_str()), 25) + "\n";
    }
    return lines;
  }

 private:
  struct Option {
    std::string name;
    std::string placeholder;  // empty: takes no value
    std::string help;
    std::function<void(const std::string&)> take;
  };

  // Whether `given`, e.g. "--re=3", is the beginning of more than one option.
  bool fits_several(const std::string& given) const {
    const std::string stem = given.substr(0, given.find('='));
    return std::count_if(options_.begin(), options_.end(),
                         [&](const Option& o) { return ("--" + o.name).rfind(stem, 0) == 0; }) > 1;
  }

  std::vector<Option> options_;
};

}  // namespace bench
