// A timeline of what ran when: as text for the terminal and as SVG for a page.
#pragma once

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "common/bench/output_file.hpp"

namespace atomics_streams {

struct Bar {
  std::string lane;  // what is drawn in one row: an engine or a stream
  int label = 0;     // which stream or chunk it belongs to; printed as one character
  double begin_ms = 0;
  double end_ms = 0;
};

struct Timeline {
  std::string title;
  std::vector<std::string> lanes;  // in the order of the rows
  std::vector<Bar> bars;

  double end_ms() const {
    double end = 0;
    for (const Bar& bar : bars) end = std::max(end, bar.end_ms);
    return end;
  }
};

// Those of one problem; they share a scale.
using Timelines = std::vector<Timeline>;

// '0' .. '9', 'a' .. 'z', and round again.
inline char label_character(int label) {
  return "0123456789abcdefghijklmnopqrstuvwxyz"[label % 36];
}

// Text of one lane, `width` characters for the whole timeline. A column shows the bar that is
// running in its middle, '.' if none is.
inline std::string lane_text(const Timeline& timeline, const std::string& lane, int width) {
  std::string text(width, '.');
  const double ms_per_column = timeline.end_ms() / width;
  for (const Bar& bar : timeline.bars) {
    if (bar.lane != lane) continue;
    for (int column = 0; column < width; ++column) {
      const double middle = (column + 0.5) * ms_per_column;
      if (bar.begin_ms <= middle && middle < bar.end_ms) text[column] = label_character(bar.label);
    }
  }
  return text;
}

inline void print_timeline(const Timeline& timeline) {
  constexpr int kWidth = 84;
  std::printf("\n%s: %.3f ms from left to right\n", timeline.title.c_str(), timeline.end_ms());
  for (const std::string& lane : timeline.lanes) {
    std::printf("  %-10s %s\n", lane.c_str(), lane_text(timeline, lane, kWidth).c_str());
  }
}

// One picture of all timelines below each other. Those of a group share a scale. Colours are
// mid-tones, text is grey and there is no background: it reads on white and on black.
inline std::string timelines_svg(const std::vector<Timelines>& groups) {
  constexpr int kLeft = 110, kPlot = 700, kRow = 22, kTitle = 30, kGap = 14;
  static const char* const kColours[] = {"#4e79a7", "#f28e2b", "#59a14f", "#e15759",
                                         "#b07aa1", "#76b7b2", "#9c755f", "#edc948"};
  int height = 0;
  for (const auto& group : groups) {
    for (const Timeline& timeline : group) {
      height += kTitle + kRow * static_cast<int>(timeline.lanes.size()) + kGap;
    }
  }
  char text[256];
  std::snprintf(text, sizeof text,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
                "font-family=\"sans-serif\" font-size=\"13\" fill=\"#808080\">\n",
                kLeft + kPlot + 10, height);
  std::string svg = text;
  // Grey that reads on white is too dark on black, and the other way round.
  svg +=
      "<style>[fill=\"#808080\"]{fill:#57606a}[stroke=\"#808080\"]{stroke:#57606a}"
      "@media(prefers-color-scheme:dark){[fill=\"#808080\"]{fill:#a9b4bf}"
      "[stroke=\"#808080\"]{stroke:#a9b4bf}}</style>\n";
  int y = 0;
  for (const auto& group : groups) {
    double end = 0;
    for (const Timeline& timeline : group) end = std::max(end, timeline.end_ms());
    const auto x_of = [=](double ms) { return kLeft + kPlot * (end > 0 ? ms / end : 0); };
    for (const Timeline& timeline : group) {
      std::snprintf(text, sizeof text,
                    "<text x=\"0\" y=\"%d\" font-weight=\"bold\">%s: %.2f ms</text>\n", y + 19,
                    timeline.title.c_str(), timeline.end_ms());
      svg += text;
      y += kTitle;
      for (const std::string& lane : timeline.lanes) {
        std::snprintf(text, sizeof text,
                      "<text x=\"0\" y=\"%d\">%s</text>\n"
                      "<line x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\" stroke=\"#808080\" "
                      "stroke-opacity=\"0.35\"/>\n",
                      y + 15, lane.c_str(), kLeft, kLeft + kPlot, y + kRow, y + kRow);
        svg += text;
        for (const Bar& bar : timeline.bars) {
          if (bar.lane != lane) continue;
          std::snprintf(text, sizeof text,
                        "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" rx=\"1.5\" "
                        "fill=\"%s\" fill-opacity=\"0.8\"/>\n",
                        x_of(bar.begin_ms), y + 3,
                        std::max(0.5, x_of(bar.end_ms) - x_of(bar.begin_ms)), kRow - 5,
                        kColours[bar.label % 8]);
          svg += text;
        }
        y += kRow;
      }
      y += kGap;
    }
  }
  return svg + "</svg>\n";
}

inline void write_timelines(const std::string& path, const std::vector<Timelines>& groups) {
  bench::write_file(path, timelines_svg(groups));
}

}  // namespace atomics_streams
