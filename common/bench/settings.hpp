// What a reader may set about a problem, e.g. --n 1000 or --causal, and what a run has set.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bench {

// A whole number that a problem is made from. A word out of a list is kept as its place in the
// list, a flag as 0 or 1.
struct Setting {
  std::string name;                  // of the option, without its dashes
  std::string help;                  // one line
  std::int64_t standard = 0;         // unless something is given
  std::int64_t small = 0;            // the same where the CPU runs the kernels
  std::int64_t least = 0, most = 0;  // of a number
  std::vector<std::string> words;    // of a choice; a flag has one word, an empty one
  std::vector<std::int64_t> values;  // that the words stand for; none: their places
};

// A number within [least, most]; `small` is its default where the CPU runs the kernels.
inline Setting number(std::string name, std::string help, std::int64_t standard, std::int64_t small,
                      std::int64_t least, std::int64_t most) {
  return {std::move(name), std::move(help), standard, small, least, most, {}, {}};
}
inline Setting number(std::string name, std::string help, std::int64_t standard, std::int64_t least,
                      std::int64_t most) {
  return number(std::move(name), std::move(help), standard, standard, least, most);
}
// One of `words`; the first, unless something is given.
inline Setting choice(std::string name, std::string help, std::vector<std::string> words) {
  return {std::move(name), std::move(help), 0, 0, 0, 0, std::move(words), {}};
}
// One of these numbers; the first, unless something is given.
inline Setting one_of(std::string name, std::string help, std::vector<std::int64_t> values) {
  std::vector<std::string> words;
  for (const std::int64_t value : values) words.push_back(std::to_string(value));
  const std::int64_t first = values.front();
  return {std::move(name),  std::move(help),  first, first, 0, 0,
          std::move(words), std::move(values)};
}
// On or off; off, unless given.
inline Setting flag(std::string name, std::string help) {
  return {std::move(name), std::move(help), 0, 0, 0, 0, {""}, {}};
}

// The settings of one problem in one run: defaults, and what was given instead.
class Settings {
 public:
  using Given = std::map<std::string, std::int64_t>;

  // kernels_on_cpu: choose the small defaults.
  Settings(const std::vector<Setting>& settings, const Given& given, bool kernels_on_cpu)
      : given_(given) {
    for (const Setting& setting : settings) {
      const auto found = given.find(setting.name);
      const std::int64_t standard = kernels_on_cpu ? setting.small : setting.standard;
      values_[setting.name] = found != given.end() ? found->second : standard;
    }
  }

  // Throws std::out_of_range for a name that is none of the problem's settings.
  std::int64_t operator[](const std::string& name) const { return values_.at(name); }
  // Whether the reader gave it; for a default that follows another setting.
  bool given(const std::string& name) const { return given_.count(name) > 0; }

 private:
  Given given_;
  std::map<std::string, std::int64_t> values_;
};

}  // namespace bench
