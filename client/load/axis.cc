#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "client/load/chart.h"

namespace engram {
namespace {

constexpr double kTicks = 5;  // about so many on a linear axis

// 1, 2 or 5 times a power of ten, not below `least`.
double NiceStep(double least) {
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

}  // namespace

std::string EscapeHtml(const std::string& text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
}

std::string ShortNumber(double value) {
  if (value == 0) return "0";
  const int whole = std::max(0, static_cast<int>(std::floor(std::log10(std::abs(value)))) + 1);
  std::string text = absl::StrFormat("%.*f", std::clamp(5 - whole, 0, 4), value);
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "0" || text == "-0" ? absl::StrFormat("%.2g", value) : text;
}

Axis::Axis(bool log, double low, double high, double pixel_low, double pixel_high)
    : log_(log), low_(low), high_(high), pixel_low_(pixel_low), pixel_high_(pixel_high) {}

Axis Axis::Linear(double low, double high, double pixel_low, double pixel_high) {
  const double step = NiceStep(std::max((high - low) / kTicks, 1e-9));
  const double first = std::floor(low / step + 1e-9);
  const double last = std::max(first + 1, std::ceil(high / step - 1e-9));
  Axis axis(false, first * step, last * step, pixel_low, pixel_high);
  for (int tick = 0; tick <= static_cast<int>(last - first); ++tick) axis.ticks_.push_back((first + tick) * step);
  return axis;
}

Axis Axis::Log(double low, double high, double pixel_low, double pixel_high) {
  const double first = std::floor(std::log10(low) + 1e-9);
  const double last = std::max(first + 1, std::ceil(std::log10(std::max(high, low)) - 1e-9));
  Axis axis(true, first, last, pixel_low, pixel_high);
  for (int tick = 0; tick <= static_cast<int>(last - first); ++tick) {
    axis.ticks_.push_back(std::pow(10, first + tick));
  }
  return axis;
}

double Axis::PixelOf(double value) const {
  const double place = log_ ? std::log10(std::max(value, std::pow(10, low_))) : value;
  const double share = std::clamp((place - low_) / (high_ - low_), 0.0, 1.0);
  return pixel_low_ + share * (pixel_high_ - pixel_low_);
}

}  // namespace engram
