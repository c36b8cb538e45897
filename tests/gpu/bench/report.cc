#include "tests/gpu/bench/report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace engram::bench {
namespace {

// Fields of every row; the others are parameters and ratios.
bool IsFigure(const std::string& name) {
  return name == "name" || name == "unit" || name == "median" || name == "min" || name == "max" ||
         name == "repetitions" || name == "rows_checked";
}

std::string TextOf(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_number_float() ? absl::StrFormat("%.3f", value.get<double>()) : value.dump();
}

std::string ParametersOf(const Json& row) {
  std::string text;
  for (const auto& [name, value] : row.items()) {
    if (!IsFigure(name)) absl::StrAppend(&text, text.empty() ? "" : " ", name, "=", TextOf(value));
  }
  return text;
}

}  // namespace

void BenchReport::Add(const std::string& name, const Json& parameters, const std::string& unit, const Samples& samples,
                      uint64_t checked) {
  Json row = {{"name", name}};
  row.update(parameters);
  row.update({{"unit", unit},
              {"median", samples.median},
              {"min", samples.min},
              {"max", samples.max},
              {"repetitions", samples.count},
              {"rows_checked", checked}});
  rows_.push_back(row);
}

void BenchReport::AddRatio(const std::string& name, double value) { rows_.back()[name] = value; }

void BenchReport::Append(const Json& rows) { rows_.insert(rows_.end(), rows.begin(), rows.end()); }

std::string BenchReport::Table() const {
  std::string text = absl::StrFormat("%-16s %14s %14s %14s %-9s %s\n", "name", "median", "min", "max", "unit", "of");
  for (const Json& row : rows_) {
    absl::StrAppendFormat(&text, "%-16s %14.3f %14.3f %14.3f %-9s %s\n", row["name"].get<std::string>(),
                          row["median"].get<double>(), row["min"].get<double>(), row["max"].get<double>(),
                          row["unit"].get<std::string>(), ParametersOf(row));
  }
  return text;
}

}  // namespace engram::bench
