// When each piece of work began and ended: as text for the terminal, and for the JSON.
// tools/timeline_svg.py draws it.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include "common/bench/json.hpp"
#include "common/bench/lines.hpp"

namespace bench {

// A piece of work. `what`: what was done ("softmax"), or the number of the chunk or stream it was
// done for.
struct Bar {
  std::string lane;  // what is drawn in one row: an engine, a stream, a warpgroup
  std::string what;
  double begin = 0;
  double end = 0;
};

struct Timeline {
  std::string problem;
  std::string name;                // of the rung
  std::string unit;                // of all times: "ms", "cycles"
  std::vector<std::string> lanes;  // in the order of the rows
  std::vector<Bar> bars;

  double end() const {
    double end = 0;
    for (const Bar& bar : bars) end = std::max(end, bar.end);
    return end;
  }
};

// A number is one of '0' .. '9', 'a' .. 'z', and round again; a word its first letter.
inline char bar_character(const std::string& what) {
  if (!std::isdigit(static_cast<unsigned char>(what[0]))) return what[0];
  return "0123456789abcdefghijklmnopqrstuvwxyz"[std::stoi(what) % 36];
}

// Text of one lane, `width` characters for the whole timeline. A column shows the bar that is
// running in its middle, '.' if none is.
inline std::string lane_text(const Timeline& timeline, const std::string& lane, int width) {
  std::string text(width, '.');
  const double column_time = timeline.end() / width;
  for (const Bar& bar : timeline.bars) {
    if (bar.lane != lane) continue;
    for (int column = 0; column < width; ++column) {
      const double middle = (column + 0.5) * column_time;
      if (bar.begin <= middle && middle < bar.end) text[column] = bar_character(bar.what);
    }
  }
  return text;
}

inline void print_timeline(const Timeline& timeline) {
  std::size_t longest = 10;
  for (const std::string& lane : timeline.lanes) longest = std::max(longest, lane.size());
  const int width = static_cast<int>(kLineWidth - longest) - 3;
  std::printf("\n%s: %.*f %s from left to right\n", timeline.name.c_str(),
              timeline.unit == "ms" ? 3 : 0, timeline.end(), timeline.unit.c_str());
  for (const std::string& lane : timeline.lanes) {
    std::printf("  %-*s %s\n", static_cast<int>(longest), lane.c_str(),
                lane_text(timeline, lane, width).c_str());
  }
}

inline void write_json(JsonWriter& json, const Timeline& timeline) {
  json.begin_object();
  json.field("problem", timeline.problem);
  json.field("name", timeline.name);
  json.field("unit", timeline.unit);
  json.key("lanes");
  json.begin_array();
  for (const std::string& lane : timeline.lanes) json.value(lane);
  json.end_array();
  json.key("bars");
  json.begin_array();
  for (const Bar& bar : timeline.bars) {
    json.begin_object();
    json.field("lane", bar.lane);
    json.field("what", bar.what);
    json.field("begin", bar.begin);
    json.field("end", bar.end);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

}  // namespace bench
