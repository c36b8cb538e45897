// `engram info`.

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/connection.h"
#include "client/model_geometry.h"
#include "client/tool/command.h"
#include "client/tool/report.h"
#include "model/digest.h"
#include "model/files/checkpoint.h"

namespace engram {
namespace {

using Json = nlohmann::ordered_json;

constexpr absl::Duration kPatience = absl::Seconds(10);

struct Arguments {
  std::string server;
  std::string checkpoint;
  std::string hash_constants;
  bool json = false;
  bool health = false;
};

Json JsonOf(const Geometry& geometry) {
  uint64_t table_bytes = 0;
  for (const uint64_t rows : geometry.rows) table_bytes += rows * geometry.packed_row_bytes();
  return {{"layer_ids", geometry.layer_ids},
          {"rows", geometry.rows},
          {"max_ngram_size", geometry.max_ngram_size},
          {"heads", geometry.heads},
          {"columns", geometry.columns()},
          {"head_dim", geometry.head_dim},
          {"packed_row_bytes", geometry.packed_row_bytes()},
          {"bf16_row_bytes", geometry.bf16_row_bytes()},
          {"vocab_size", geometry.vocab_size},
          {"compressed_vocab_size", geometry.compressed_vocab_size},
          {"table_bytes", table_bytes}};
}

Json JsonOf(const v1::Limits& limits) {
  return {{"steps_in_flight_max", limits.steps_in_flight_max()},
          {"bytes_in_flight_max", limits.bytes_in_flight_max()},
          {"segments_max", limits.segments_max()},
          {"step_tokens_max", limits.step_tokens_max()},
          {"lookup_tokens_max", limits.lookup_tokens_max()},
          {"frame_bytes_max", limits.frame_bytes_max()},
          {"session_tokens_max", limits.session_tokens_max()}};
}

Json JsonOf(const absl::StatusOr<v1::ServerStatus>& status) {
  if (!status.ok()) return status.status().ToString();
  return {{"code", status->code()},
          {"message", status->message()},
          {"streams", status->streams()},
          {"lookups", status->lookups()},
          {"steps_in_flight", status->steps_in_flight()},
          {"unsent_bytes", status->unsent_bytes()},
          {"sessions", status->sessions()},
          {"history_bytes", status->history_bytes()},
          {"resident_bytes", status->resident_bytes()},
          {"anonymous_bytes", status->anonymous_bytes()},
          {"rounds", status->rounds()},
          {"hash_ns", status->hash_ns()},
          {"gather_ns", status->gather_ns()},
          {"deliver_ns", status->deliver_ns()}};
}

absl::StatusOr<Json> InfoOfServer(const std::string& address) {
  const absl::StatusOr<v1::Model> model = FetchModel(address, kPatience);
  if (!model.ok()) return model.status();
  const absl::StatusOr<Geometry> geometry = GeometryOf(*model);
  if (!geometry.ok()) return geometry.status();
  const absl::StatusOr<std::string> health = FetchHealth(address, kPatience);
  Json formats = Json::array();
  for (const int format : model->formats()) formats.push_back(NameOfFormat(format));
  return Json{{"server", address},
              {"health", health.ok() ? *health : health.status().ToString()},
              {"server_version", model->server_version()},
              {"name", model->name()},
              {"geometry", JsonOf(*geometry)},
              {"constants_digest", HexOf(model->constants_digest())},
              {"model_digest", HexOf(model->model_digest())},
              {"table_version", model->table_version()},
              {"formats", formats},
              {"ranks", model->ranks()},
              {"combine", model->combine()},
              {"placement", model->placement()},
              {"capabilities", std::vector<std::string>(model->capabilities().begin(), model->capabilities().end())},
              {"limits", JsonOf(model->limits())},
              {"status", JsonOf(FetchServerStatus(address, kPatience))}};
}

absl::StatusOr<Json> InfoOfCheckpoint(const std::string& path, const std::string& hash_constants) {
  const absl::StatusOr<Checkpoint> checkpoint = OpenCheckpoint(path, hash_constants);
  if (!checkpoint.ok()) return checkpoint.status();
  Json tables = Json::array();
  for (const TableFiles& table : checkpoint->tables) {
    tables.push_back({{"rows", table.rows}, {"codes", table.codes.path}, {"scales", table.scales.path}});
  }
  return Json{{"checkpoint", path},
              {"name", checkpoint->name},
              {"geometry", JsonOf(checkpoint->geometry)},
              {"constants_digest", HexOf(checkpoint->constants_digest)},
              {"model_digest", HexOf(checkpoint->model_digest)},
              {"tables", tables}};
}

// Bytes that are no UTF-8, in a name for instance, must not end the program.
std::string Dump(const Json& json, int indent) { return json.dump(indent, ' ', false, Json::error_handler_t::replace); }

// One "name: value" a line, the names of nested values joined by dots.
void PrintLines(const std::string& prefix, const Json& json) {
  for (const auto& [name, value] : json.items()) {
    const std::string path = prefix.empty() ? name : absl::StrCat(prefix, ".", name);
    if (value.is_object() || (value.is_array() && !value.empty() && value.front().is_object())) {
      PrintLines(path, value);
    } else {
      absl::PrintF("%s: %s\n", path, value.is_string() ? value.get<std::string>() : Dump(value, -1));
    }
  }
}

// For probes: one word, and success only when the server takes steps.
int PrintHealth(const std::string& address) {
  const absl::StatusOr<std::string> health = FetchHealth(address, kPatience);
  if (!health.ok()) return Fail("info", health.status());
  absl::PrintF("%s\n", *health);
  return *health == "SERVING" ? 0 : kExitFailure;
}

int Run(const Arguments& arguments) {
  if (arguments.server.empty() == arguments.checkpoint.empty()) {
    return FailUsage("info", absl::InvalidArgumentError("give one of --server and --checkpoint"));
  }
  if (arguments.health && arguments.server.empty()) {
    return FailUsage("info", absl::InvalidArgumentError("--health needs --server"));
  }
  if (arguments.health) return PrintHealth(arguments.server);
  const absl::StatusOr<Json> info = arguments.server.empty()
                                        ? InfoOfCheckpoint(arguments.checkpoint, arguments.hash_constants)
                                        : InfoOfServer(arguments.server);
  if (!info.ok()) return Fail("info", info.status());
  if (arguments.json) {
    absl::PrintF("%s\n", Dump(*info, 2));
  } else {
    PrintLines("", *info);
  }
  return 0;
}

}  // namespace

void AddInfoCommand(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      app.add_subcommand("info", "Geometry, digests, limits and health of a server, or of a checkpoint");
  command->add_option("--server", arguments->server, "HOST:PORT of a server");
  command->add_option("--checkpoint", arguments->checkpoint, "Checkpoint folder or GGUF file");
  command->add_option("--hash-constants", arguments->hash_constants, "File with token map, multipliers and primes");
  command->add_flag("--json", arguments->json, "As JSON");
  command->add_flag("--health", arguments->health, "Only the server's health; exit code 0 where it is SERVING, else 1");
  command->callback([arguments, &exit_code] { exit_code = Run(*arguments); });
}

}  // namespace engram
