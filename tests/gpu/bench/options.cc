#include "tests/gpu/bench/options.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "model/files/errors.h"

namespace engram::bench {
namespace {

// Half a minute on a large card: fewer repetitions and rounds, and less memory where it takes time to get.
void MakeQuick(BenchOptions& options) {
  options.quick = true;
  options.pinned_bytes = kGib;
  options.engine_bytes = kGib / 4;
  options.copy_bytes = kGib;
  options.host_copy_bytes = kGib / 8;
  options.repetitions = 5;
  options.tokens = {1, 1024};
  options.engine_time = absl::Milliseconds(100);
}

absl::StatusOr<double> NumberOf(const std::string& name, const std::string& text, double min, double max) {
  double value = 0;
  if (absl::SimpleAtod(text, &value) && value >= min && value <= max) return value;
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is '", text, "'; it must be a number in [", min, ", ", max, "]"));
}

// Options with a value.
using Setter = std::function<absl::Status(BenchOptions&, const std::string& name, const std::string& value)>;

Setter Text(std::string BenchOptions::*field) {
  return [field](BenchOptions& options, const std::string&, const std::string& value) {
    options.*field = value;
    return absl::OkStatus();
  };
}

template <typename Field>
Setter Number(Field BenchOptions::*field, double min, double max, double unit = 1) {
  return [=](BenchOptions& options, const std::string& name, const std::string& text) {
    ENGRAM_ASSIGN_OR_RETURN(const double value, NumberOf(name, text, min, max));
    options.*field = static_cast<Field>(value * unit);
    return absl::OkStatus();
  };
}

const std::map<std::string, Setter>& Setters() {
  constexpr double kGibUnit = kGib;
  static const auto* const setters = new std::map<std::string, Setter>{
      {"--json", Text(&BenchOptions::json_path)},
      {"--commit", Text(&BenchOptions::commit)},
      {"--folder", Text(&BenchOptions::folder)},
      {"--seed", Number(&BenchOptions::seed, 0, 1e15)},
      {"--ranks", Number(&BenchOptions::ranks, 2, 64)},
      {"--table-gib", Number(&BenchOptions::table_bytes, 0.001, 1e6, kGibUnit)},
      {"--pinned-gib", Number(&BenchOptions::pinned_bytes, 0.001, 1e6, kGibUnit)},
      {"--engine-gib", Number(&BenchOptions::engine_bytes, 0.001, 1e6, kGibUnit)},
  };
  return *setters;
}

}  // namespace

uint64_t BenchOptions::round_rows_max() const {
  return kRowsOfAToken * *std::max_element(tokens.begin(), tokens.end());
}

absl::StatusOr<BenchOptions> ParseBenchOptions(const std::vector<std::string>& arguments) {
  BenchOptions options;
  if (std::find(arguments.begin(), arguments.end(), "--quick") != arguments.end()) MakeQuick(options);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& name = arguments[i];
    options.help = options.help || name == "--help" || name == "-h";
    options.machine = options.machine || name == "--machine";
    if (name == "--quick" || name == "--machine" || name == "--help" || name == "-h") continue;
    const auto setter = Setters().find(name);
    if (setter == Setters().end()) return absl::InvalidArgumentError(absl::StrCat("unknown option '", name, "'"));
    if (++i == arguments.size()) return absl::InvalidArgumentError(absl::StrCat(name, " needs a value"));
    ENGRAM_RETURN_IF_ERROR(setter->second(options, name, arguments[i]));
  }
  return options;
}

std::string BenchUsage() {
  return R"(Usage: bench_gpu [OPTION...]
Measures the GPU's part of a look-up on device 0, and the engine on all devices. docs/gpu.md defines every figure.

  --json FILE      the JSON document there instead of on stdout
  --commit TEXT    the commit that is measured, for the document
  --machine        only the card, the driver and the libraries
  --quick          under 30 s: fewer repetitions, sizes and modes, smaller tables in host memory
  --table-gib N    table on the device (default: 80 % of what is free, at least 64 GiB where that fits)
  --pinned-gib N   table in host memory (default 8, quick 1; at most half of what is available)
  --engine-gib N   tables of the engine, in files (default 1, quick 0.25)
  --folder DIR     for those files (default: the system's folder for temporary files)
  --ranks N        of the engine of several ranks (default: the GPUs there are, at least 2)
  --seed N         of the random ids (default 1)

Exit codes: 0 measured, and every answer that was looked at is right; 1 something failed; 2 the command line is wrong;
77 no GPU.
)";
}

}  // namespace engram::bench
