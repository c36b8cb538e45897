#include "client/load/chart.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace engram {
namespace {

constexpr double kWidth = 860;
constexpr double kHeight = 280;
constexpr double kLeft = 76;
constexpr double kRight = kWidth - 16;
constexpr double kTop = 30;  // the legend is above
constexpr double kBottom = kHeight - 44;
constexpr size_t kColors = 4;

struct Extent {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void Take(double value, bool log) {
    if (log && value <= 0) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

Axis MakeAxis(const Extent& extent, bool log, bool from_zero, double pixel_low, double pixel_high) {
  if (log) return Axis::Log(std::isfinite(extent.low) ? extent.low : 1, extent.high, pixel_low, pixel_high);
  return Axis::Linear(from_zero ? 0 : extent.low, std::max(extent.high, extent.low), pixel_low, pixel_high);
}

std::string Line(double x1, double y1, double x2, double y2, const char* css) {
  return absl::StrFormat("<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", css, x1, y1, x2, y2);
}

std::string Text(double x, double y, const char* anchor, const std::string& text) {
  return absl::StrFormat("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, EscapeHtml(text));
}

std::string Open(double height, const std::string& label) {
  return absl::StrFormat("<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"%s\">\n", kWidth, height,
                         EscapeHtml(label));
}

// 0 %, 90 %, 99 %, ...
std::string PercentileName(double decades) {
  return absl::StrCat(ShortNumber(100 * (1 - std::pow(10, -decades))), " %");
}

std::string Grid(const ChartOptions& options, const Axis& x, const Axis& y) {
  std::string svg;
  for (const double tick : y.ticks()) {
    const double at = y.PixelOf(tick);
    svg += Line(kLeft, at, kRight, at, "grid") + Text(kLeft - 8, at + 4, "end", ShortNumber(tick));
  }
  for (const double tick : x.ticks()) {
    if (options.percentiles && tick != std::floor(tick)) continue;
    const double at = x.PixelOf(tick);
    svg += Line(at, kBottom, at, kBottom + 5, "axis");
    svg += Text(at, kBottom + 18, "middle", options.percentiles ? PercentileName(tick) : ShortNumber(tick));
  }
  svg += Line(kLeft, kBottom, kRight, kBottom, "axis");
  svg += Text((kLeft + kRight) / 2, kHeight - 6, "middle", options.x_name);
  return svg + Text(4, kTop - 12, "start", options.y_name);
}

std::string Legend(const std::vector<ChartSeries>& series) {
  std::string svg;
  double right = kRight;
  for (size_t i = series.size(); i-- > 0;) {
    svg += Text(right, kTop - 12, "end", series[i].name);
    right -= 8 * static_cast<double>(series[i].name.size()) + 20;
    svg += absl::StrFormat("<rect class=\"fill%d\" x=\"%.1f\" y=\"%.1f\" width=\"12\" height=\"12\"/>\n", i % kColors,
                           right, kTop - 22);
    right -= 16;
  }
  return svg;
}

std::string Polyline(const ChartSeries& series, size_t color, const Axis& x, const Axis& y) {
  std::string points;
  for (const auto& [at, value] : series.points) {
    absl::StrAppendFormat(&points, "%.1f,%.1f ", x.PixelOf(at), y.PixelOf(value));
  }
  // A line of one point would be nothing to see.
  if (series.points.size() == 1) {
    absl::StrAppendFormat(&points, "%.1f,%.1f ", kRight, y.PixelOf(series.points[0].second));
  }
  return absl::StrFormat("<polyline class=\"line%d\" points=\"%s\"/>\n", color % kColors, points);
}

}  // namespace

std::string LineChart(const ChartOptions& options, const std::vector<ChartSeries>& all) {
  std::vector<ChartSeries> series;
  std::copy_if(all.begin(), all.end(), std::back_inserter(series), [](const auto& one) { return !one.points.empty(); });
  if (series.empty()) return "<p>Nothing to draw.</p>\n";
  Extent x_extent;
  Extent y_extent;
  for (const ChartSeries& one : series) {
    for (const auto& [at, value] : one.points) {
      x_extent.Take(at, options.log_x);
      y_extent.Take(value, options.log_y);
    }
  }
  const Axis x = MakeAxis(x_extent, options.log_x, true, kLeft, kRight);
  const Axis y = MakeAxis(y_extent, options.log_y, true, kBottom, kTop);
  std::string svg = Open(kHeight, options.label) + Grid(options, x, y) + Legend(series);
  for (size_t i = 0; i < series.size(); ++i) svg += Polyline(series[i], i, x, y);
  return svg + "</svg>\n";
}

std::string StackedBar(const std::string& label, const std::vector<ChartPart>& parts, const std::string& unit) {
  constexpr double kBarHeight = 34;
  constexpr double kLineHeight = 22;
  double sum = 0;
  for (const ChartPart& part : parts) sum += part.value;
  if (sum <= 0) return "<p>Nothing to draw.</p>\n";
  std::string svg = Open(kBarHeight + 12 + kLineHeight * static_cast<double>(parts.size()), label);
  double x = 0;
  double y = kBarHeight + 26;
  for (size_t i = 0; i < parts.size(); ++i, y += kLineHeight) {
    const double share = parts[i].value / sum;
    absl::StrAppendFormat(&svg, "<rect class=\"fill%d\" x=\"%.1f\" y=\"0\" width=\"%.1f\" height=\"%.0f\"/>\n",
                          i % kColors, x, share * kWidth, kBarHeight);
    absl::StrAppendFormat(&svg, "<rect class=\"fill%d\" x=\"0\" y=\"%.1f\" width=\"12\" height=\"12\"/>\n", i % kColors,
                          y - 11);
    svg += Text(20, y, "start",
                absl::StrFormat("%s: %s %s (%.1f %%)", parts[i].name, ShortNumber(parts[i].value), unit, 100 * share));
    x += share * kWidth;
  }
  return svg + "</svg>\n";
}

}  // namespace engram
