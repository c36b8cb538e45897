// load_bench --subject HOST:PORT --reference HOST:PORT ...: engram-server and the echo service in turn under the same
// load from the same client; or, with --shared-memory, engram-server with rows in shared memory and with rows in
// messages. For each number of tokens and of streams one JSON object a line.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "load.h"
#include "model/files/errors.h"

namespace engram {
namespace {

using nlohmann::json;

struct Arguments {
  BenchFiles files;
  std::string subject;
  std::string reference;
  std::vector<uint32_t> tokens;
  std::vector<uint32_t> streams;
  uint32_t in_flight = 1;
  double pace_ms = 0;
  double seconds = 1;
  size_t pairs = 7;
  bool shared = false;

  // What the subject is measured beside; "" for nothing.
  const std::string& beside() const { return shared ? subject : reference; }
};

constexpr double kMicros = 1e6;

json JsonOf(const LoadFigures& figures) {
  return {{"tokens_per_second", figures.tokens_per_second},
          {"bytes_per_second", figures.row_bytes / figures.seconds},
          {"steps", figures.latencies.size()},
          {"p50_us", kMicros * figures.Percentile(50)},
          {"p99_us", kMicros * figures.Percentile(99)},
          {"rows_checked", figures.rows_checked}};
}

// The windows of one side: one after the other, and all their steps together.
struct Side {
  json windows = json::array();
  LoadFigures all;

  void Add(const LoadFigures& figures) {
    windows.push_back(JsonOf(figures));
    all.seconds += figures.seconds;
    all.row_bytes += figures.row_bytes;
    all.rows_checked += figures.rows_checked;
    all.latencies.insert(all.latencies.end(), figures.latencies.begin(), figures.latencies.end());
  }
  json Summary() {
    std::sort(all.latencies.begin(), all.latencies.end());
    return {{"windows", windows},
            {"p50_us", kMicros * all.Percentile(50)},
            {"p90_us", kMicros * all.Percentile(90)},
            {"p99_us", kMicros * all.Percentile(99)},
            {"steps", all.latencies.size()},
            {"bytes_per_second", all.row_bytes / all.seconds},
            {"rows_checked", all.rows_checked}};
  }
};

absl::StatusOr<json> MeasureCell(const BenchInput& input, const Arguments& arguments, uint32_t tokens,
                                 uint32_t streams) {
  LoadPlan plan{arguments.subject, false, tokens, arguments.in_flight, arguments.pace_ms / 1000, false};
  Side subject;
  Side reference;
  for (size_t pair = 0; pair < arguments.pairs; ++pair) {
    plan.server = arguments.subject;
    plan.echo = false;
    plan.shared = arguments.shared;
    ENGRAM_ASSIGN_OR_RETURN(const LoadFigures mine, RunLoad(input, plan, streams, arguments.seconds));
    subject.Add(mine);
    if (arguments.beside().empty()) continue;
    plan.server = arguments.beside();
    plan.echo = !arguments.shared;
    plan.shared = false;
    ENGRAM_ASSIGN_OR_RETURN(const LoadFigures echo, RunLoad(input, plan, streams, arguments.seconds));
    reference.Add(echo);
  }
  return json{{"tokens", tokens},
              {"streams", streams},
              {"in_flight", arguments.in_flight},
              {"subject", subject.Summary()},
              {"reference", arguments.beside().empty() ? json() : reference.Summary()}};
}

absl::Status Run(const Arguments& arguments) {
  ENGRAM_ASSIGN_OR_RETURN(const BenchInput input, OpenBenchInput(arguments.files));
  for (const uint32_t tokens : arguments.tokens) {
    for (const uint32_t streams : arguments.streams) {
      ENGRAM_ASSIGN_OR_RETURN(const json cell, MeasureCell(input, arguments, tokens, streams));
      std::cout << cell.dump() << std::endl;
    }
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace engram

int main(int argc, char** argv) {
  CLI::App app{"engram-server beside an echo service"};
  engram::Arguments arguments;
  app.add_option("--checkpoint", arguments.files.checkpoint, "That engram-server serves")->required();
  app.add_option("--texts", arguments.files.texts, "Files of token sequences")->required();
  app.add_option("--subject", arguments.subject, "HOST:PORT of engram-server")->required();
  app.add_option("--reference", arguments.reference, "HOST:PORT of echo_server; none: engram-server alone");
  app.add_flag("--shared-memory", arguments.shared, "Rows through shared memory, beside rows in messages; no echo");
  app.add_option("--tokens", arguments.tokens, "Of a step")->required()->delimiter(',')->check(CLI::Range(1, 4096));
  app.add_option("--streams", arguments.streams, "At once")->required()->delimiter(',')->check(CLI::Range(1, 1024));
  app.add_option("--in-flight", arguments.in_flight, "Steps of a stream")->check(CLI::Range(1, 64));
  app.add_option("--pace-ms", arguments.pace_ms, "Between the beginnings of steps; 0: one behind the other");
  app.add_option("--seconds", arguments.seconds, "Of a window")->check(CLI::Range(0.01, 600.0));
  app.add_option("--pairs", arguments.pairs, "Of windows")->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = engram::Run(arguments);
  if (!status.ok()) std::fprintf(stderr, "load_bench: %s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
