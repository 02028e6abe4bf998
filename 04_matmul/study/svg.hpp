// Charts with two logarithmic axes as SVG, readable on light and dark pages.
#pragma once

#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace matmul {

class LogChart {
 public:
  static constexpr double kWidth = 720, kHeight = 400;

  LogChart(std::string x_title, std::string y_title, double x_min, double x_max, double y_min,
           double y_max)
      : x_min_(std::log10(x_min)),
        x_max_(std::log10(x_max)),
        y_min_(std::log10(y_min)),
        y_max_(std::log10(y_max)) {
    for (double y = std::ceil(y_min_); y <= y_max_ + 1e-9; ++y) {
      const double value = std::pow(10.0, y);
      stroke(x_min, value, x_max, value, "#8888", 1);
      text(kLeft - 6, at_y(value) + 4, label(value), "end");
    }
    for (double x = x_min; x <= x_max * 1.001; x *= 2) {
      stroke(x, y_min, x, y_max, "#8884", 1);
      text(at_x(x), kHeight - kBottom + 18, label(x), "middle");
    }
    text((kLeft + kWidth - kRight) / 2, kHeight - 8, x_title, "middle");
    text(kLeft, 14, y_title, "middle");
  }

  // A line through points (x, y), each above 0, with its name at the end.
  void line(const std::string& name, const std::vector<std::pair<double, double>>& points) {
    const std::string color = next_color();
    for (std::size_t i = 1; i < points.size(); ++i) {
      stroke(points[i - 1].first, points[i - 1].second, points[i].first, points[i].second, color,
             2);
    }
    legend(name, color);
  }

  void point(const std::string& name, double x, double y) {
    const std::string color = next_color();
    body_ +=
        format("<circle cx='%.1f' cy='%.1f' r='4' fill='%s'/>\n", at_x(x), at_y(y), color.c_str());
    legend(name, color);
  }

  std::string svg() const { return body_; }

 private:
  static constexpr double kLeft = 70, kRight = 150, kTop = 24, kBottom = 48;

  template <class... Values>
  static std::string format(const char* pattern, Values... values) {
    char text[512];
    std::snprintf(text, sizeof text, pattern, values...);
    return text;
  }
  static std::string label(double value) { return format("%.0f", value); }

  static double within(double value, double min, double max) {
    return std::fmin(1, std::fmax(0, (std::log10(value) - min) / (max - min)));
  }
  double at_x(double x) const {
    return kLeft + (kWidth - kLeft - kRight) * within(x, x_min_, x_max_);
  }
  double at_y(double y) const {
    return kHeight - kBottom - (kHeight - kTop - kBottom) * within(y, y_min_, y_max_);
  }

  void stroke(double x0, double y0, double x1, double y1, const std::string& color, int width) {
    body_ +=
        format("<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' stroke='%s' stroke-width='%d'/>\n",
               at_x(x0), at_y(y0), at_x(x1), at_y(y1), color.c_str(), width);
  }
  void text(double x, double y, const std::string& words, const char* anchor) {
    body_ += format(
        "<text x='%.1f' y='%.1f' text-anchor='%s' font-family='sans-serif' font-size='12' "
        "fill='#888'>%s</text>\n",
        x, y, anchor, words.c_str());
  }
  void legend(const std::string& name, const std::string& color) {
    const double y = kTop + 18.0 * series_;
    body_ += format("<rect x='%.1f' y='%.1f' width='10' height='10' fill='%s'/>\n",
                    kWidth - kRight + 12, y - 9, color.c_str());
    text(kWidth - kRight + 28, y, name, "start");
  }
  std::string next_color() {
    static const char* const kColors[] = {"#4878cf", "#d65f5f", "#5fa85f", "#b47cc7",
                                          "#c4853c", "#4fa8b8", "#8c613c", "#dc7ec0",
                                          "#999999", "#a8a832", "#3c7890", "#c03c78"};
    return kColors[series_++ % 12];
  }

  double x_min_, x_max_, y_min_, y_max_;
  int series_ = 0;
  std::string body_;
};

// One SVG file with the charts one above the other.
inline std::string stacked(const std::vector<std::string>& charts) {
  const int width = static_cast<int>(LogChart::kWidth);
  const int height = static_cast<int>(LogChart::kHeight);
  const int all = height * static_cast<int>(charts.size());
  std::string text = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 " +
                     std::to_string(width) + " " + std::to_string(all) + "'>\n";
  for (std::size_t i = 0; i < charts.size(); ++i) {
    text += "<g transform='translate(0 " + std::to_string(height * static_cast<int>(i)) + ")'>\n" +
            charts[i] + "</g>\n";
  }
  return text + "</svg>\n";
}

}  // namespace matmul
