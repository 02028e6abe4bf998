// Comparison of a result with its reference that a NaN cannot pass, and that names the first error.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>

namespace bench {

// Memory filled with this byte reads as NaN in float, double, half and bfloat16, and as -1 in
// signed integers: an element that nobody wrote cannot look right.
constexpr unsigned char kPoisonByte = 0xFF;

struct Comparison {
  std::int64_t count = 0;        // elements compared
  std::int64_t wrong = 0;        // elements outside the bound
  std::int64_t first_wrong = 0;  // index of the first of them, if wrong > 0
  std::int64_t unwritten = 0;    // of the wrong ones, those that still hold the poison
  double expected = 0;           // at first_wrong
  double actual = 0;             // at first_wrong
  double max_error = 0;          // largest |actual - expected|; NaN if any element is NaN

  bool right() const { return wrong == 0; }

  // Adds what was found in a part of the result whose element 0 is element `first` of all.
  void add(const Comparison& part, std::int64_t first) {
    if (part.wrong > 0 && (wrong == 0 || first + part.first_wrong < first_wrong)) {
      first_wrong = first + part.first_wrong;
      expected = part.expected;
      actual = part.actual;
    }
    count += part.count;
    wrong += part.wrong;
    unwritten += part.unwritten;
    // A NaN stays, whatever comes after it.
    if (!std::isnan(max_error) && !(part.max_error <= max_error)) max_error = part.max_error;
  }

  // One line for a person, e.g. "3 of 100 wrong, the first at 17: expected 0.5, got 0.25".
  std::string describe() const {
    if (right()) return "right";
    std::string text = std::to_string(wrong) + " of " + std::to_string(count) +
                       " wrong, the first at " + std::to_string(first_wrong) + ": expected " +
                       number(expected) + ", got " + number(actual);
    if (unwritten > 0) text += " (" + std::to_string(unwritten) + " never written)";
    return text;
  }

 private:
  static std::string number(double value) {
    if (std::isnan(value)) return "NaN";  // printf shows its sign, too
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", value);
    return text;
  }
};

template <class T>
bool is_poison(const T& value) {
  unsigned char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  return std::all_of(bytes, bytes + sizeof(T), [](unsigned char b) { return b == kPoisonByte; });
}

// Compares count elements. `bound(i)` is the largest |actual - expected| allowed at element i.
// Equal infinities are right; a NaN is wrong whatever was expected.
template <class T, class U, class Bound>
Comparison compare(const T* actual, const U* expected, std::int64_t count, Bound bound) {
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  std::int64_t wrong = 0, unwritten = 0, first = kNone;
  double max_error = 0;
  bool saw_nan = false;
#pragma omp parallel for schedule(static) reduction(+ : wrong, unwritten) \
    reduction(min : first) reduction(max : max_error) reduction(|| : saw_nan)
  for (std::int64_t i = 0; i < count; ++i) {
    const double a = static_cast<double>(actual[i]);
    const double e = static_cast<double>(expected[i]);
    const double error = a == e ? 0.0 : std::fabs(a - e);
    saw_nan = saw_nan || std::isnan(error);
    max_error = std::max(max_error, error);
    if (!(error <= bound(i))) {  // written so that a NaN fails
      ++wrong;
      first = std::min(first, i);
      if (is_poison(actual[i])) ++unwritten;
    }
  }
  Comparison result;
  result.count = count;
  result.wrong = wrong;
  result.unwritten = unwritten;
  result.max_error = saw_nan ? std::numeric_limits<double>::quiet_NaN() : max_error;
  if (wrong > 0) {
    result.first_wrong = first;
    result.expected = static_cast<double>(expected[first]);
    result.actual = static_cast<double>(actual[first]);
  }
  return result;
}

// The same with one bound for all elements; 0 asks for equality.
template <class T, class U>
Comparison compare(const T* actual, const U* expected, std::int64_t count, double bound) {
  return compare(actual, expected, count, [bound](std::int64_t) { return bound; });
}

}  // namespace bench
