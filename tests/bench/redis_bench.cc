// redis_bench --redis PORT --server HOST:PORT ...: tokens a second of pipelined MGET against those of Stream, in turn,
// for the same rows. Prints one JSON object.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "load.h"
#include "model/files/errors.h"
#include "redis_rows.h"

namespace engram {
namespace {

using nlohmann::json;

struct Arguments {
  BenchFiles files;
  int redis_port = 0;
  std::string server;
  uint32_t tokens = 512;  // of a step
  double seconds = 2;
  size_t pairs = 5;
};

absl::StatusOr<json> Measure(const BenchInput& input, const Arguments& arguments) {
  ENGRAM_ASSIGN_OR_RETURN(const std::unique_ptr<RedisRows> redis, RedisRows::Connect(input, arguments.redis_port));
  ENGRAM_ASSIGN_OR_RETURN(const uint64_t keys, redis->Fill());
  const LoadPlan plan{arguments.server, false, arguments.tokens, /*in_flight=*/2, 0};
  json pairs;
  uint64_t rows_checked = 0;
  for (size_t i = 0; i < arguments.pairs; ++i) {
    ENGRAM_ASSIGN_OR_RETURN(const LoadFigures stream, RunLoad(input, plan, 1, arguments.seconds));
    ENGRAM_ASSIGN_OR_RETURN(const double mget, redis->Measure(arguments.tokens, arguments.seconds));
    pairs.push_back({{"stream", stream.tokens_per_second}, {"redis", mget}});
    rows_checked += stream.rows_checked;
  }
  return json{{"pairs", pairs}, {"keys", keys}, {"rows_checked", rows_checked + redis->rows_checked()}};
}

absl::Status Run(const Arguments& arguments) {
  ENGRAM_ASSIGN_OR_RETURN(const BenchInput input, OpenBenchInput(arguments.files));
  ENGRAM_ASSIGN_OR_RETURN(const json figures, Measure(input, arguments));
  std::cout << figures.dump() << std::endl;
  return absl::OkStatus();
}

}  // namespace
}  // namespace engram

int main(int argc, char** argv) {
  CLI::App app{"Redis beside engram-server"};
  engram::Arguments arguments;
  app.add_option("--checkpoint", arguments.files.checkpoint, "That engram-server serves")->required();
  app.add_option("--texts", arguments.files.texts, "Files of token sequences")->required();
  app.add_option("--tokens-max", arguments.files.tokens_max, "Of all texts: Redis holds the rows they reach");
  app.add_option("--redis", arguments.redis_port, "Port of redis-server on 127.0.0.1")->required();
  app.add_option("--server", arguments.server, "HOST:PORT of engram-server")->required();
  app.add_option("--tokens", arguments.tokens, "Of a step")->check(CLI::Range(1, 4096));
  app.add_option("--seconds", arguments.seconds, "Of a window")->check(CLI::Range(0.01, 600.0));
  app.add_option("--pairs", arguments.pairs, "Of windows")->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = engram::Run(arguments);
  if (!status.ok()) std::fprintf(stderr, "redis_bench: %s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
