// Charts as inline SVG, coloured by the style sheet of report_html.cc.

#ifndef ENGRAM_CLIENT_LOAD_CHART_H_
#define ENGRAM_CLIENT_LOAD_CHART_H_

#include <string>
#include <utility>
#include <vector>

namespace engram {

// Text for HTML and SVG, attributes included.
std::string EscapeHtml(const std::string& text);

// Up to five significant digits, without an exponent where it can be read without: "1234", "0.00123".
std::string ShortNumber(double value);

// Where values lie on a line of pixels.
class Axis {
 public:
  // From 0, or from `low` in steps of 1, 2 or 5 times a power of ten.
  static Axis Linear(double low, double high, double pixel_low, double pixel_high);
  // Values from `low` (above 0); whole decades.
  static Axis Log(double low, double high, double pixel_low, double pixel_high);

  double PixelOf(double value) const;  // values outside lie on the ends
  const std::vector<double>& ticks() const { return ticks_; }

 private:
  Axis(bool log, double low, double high, double pixel_low, double pixel_high);

  bool log_;
  double low_;
  double high_;
  double pixel_low_;
  double pixel_high_;
  std::vector<double> ticks_;
};

struct ChartSeries {
  std::string name;
  std::vector<std::pair<double, double>> points;  // x ascending
};

struct ChartOptions {
  std::string label;  // what it shows, for those who cannot see it
  std::string x_name;
  std::string y_name;
  bool log_x = false;
  bool log_y = false;
  bool percentiles = false;  // x is log10(1/(1-share)); ticks read 0, 90, 99 ...
};

// Lines through the points of up to four series, with axes and a legend. Series without points are left out; without
// any, a note stands in its place.
std::string LineChart(const ChartOptions& options, const std::vector<ChartSeries>& series);

struct ChartPart {
  std::string name;
  double value = 0;  // at least 0
};

// One bar of parts, each as long as its share, with a legend of values and shares. `unit` follows the values.
std::string StackedBar(const std::string& label, const std::vector<ChartPart>& parts, const std::string& unit);

}  // namespace engram

#endif  // ENGRAM_CLIENT_LOAD_CHART_H_
