// `engram lookup`.

#include <algorithm>
#include <cstdio>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/connection.h"
#include "client/tool/command.h"
#include "client/tool/lookup.h"
#include "client/tool/number_option.h"
#include "client/tool/report.h"
#include "client/tool/token_file.h"

namespace engram {
namespace {

struct Arguments {
  std::string server;
  std::string tokens;
  std::string file;
  std::string sequence;
  std::string mask;
  uint64_t start_pos = 0;
  std::string lookback;
  std::string lookback_mask;
  std::string layers;
  std::string format = "packed";
  bool unique_rows = false;
  size_t chunk_tokens = 512;
  std::string output = "table";
  std::string out;
};

absl::Status Wrong(const std::string& what) { return absl::InvalidArgumentError(what); }

// The one sequence of the file, or the one of that name.
absl::StatusOr<TokenSequence> SequenceOf(const Arguments& arguments) {
  absl::StatusOr<std::vector<TokenSequence>> all = ReadSequences(arguments.file);
  if (!all.ok()) return all.status();
  if (arguments.sequence.empty() && all->size() == 1) return std::move(all->front());
  if (arguments.sequence.empty()) {
    return Wrong(absl::StrCat(arguments.file, " holds ", all->size(), " sequences: choose one by --sequence NAME"));
  }
  const auto named = [&](const TokenSequence& sequence) { return sequence.name == arguments.sequence; };
  const auto found = std::find_if(all->begin(), all->end(), named);
  if (found == all->end())
    return Wrong(absl::StrCat(arguments.file, " holds no sequence named '", arguments.sequence, "'"));
  return std::move(*found);
}

absl::Status ReadTokens(const Arguments& arguments, LookupPlan& plan) {
  if (arguments.tokens.empty() == arguments.file.empty()) return Wrong("give one of --tokens and --file");
  if (!arguments.file.empty()) {
    absl::StatusOr<TokenSequence> sequence = SequenceOf(arguments);
    if (!sequence.ok()) return sequence.status();
    plan.tokens = std::move(sequence->tokens);
    plan.mask = std::move(sequence->mask);
  } else {
    absl::StatusOr<std::vector<uint32_t>> tokens = ParseTokenIds(arguments.tokens, "--tokens");
    if (!tokens.ok()) return tokens.status();
    plan.tokens = *std::move(tokens);
  }
  if (plan.tokens.empty()) return Wrong("no token ids given");
  if (arguments.mask.empty()) return absl::OkStatus();
  absl::StatusOr<std::vector<uint8_t>> mask = ParseMask(arguments.mask, plan.tokens.size(), "--mask");
  if (!mask.ok()) return mask.status();
  plan.mask = *std::move(mask);
  return absl::OkStatus();
}

absl::Status ReadLookback(const Arguments& arguments, LookupPlan& plan) {
  absl::StatusOr<std::vector<uint32_t>> lookback = ParseTokenIds(arguments.lookback, "--lookback");
  if (!lookback.ok()) return lookback.status();
  plan.start_pos = arguments.start_pos;
  if (lookback->size() > plan.start_pos) {
    return Wrong(
        absl::StrCat("--lookback has ", lookback->size(), " ids, more than stand before --start-pos ", plan.start_pos));
  }
  if (plan.start_pos > 0 && lookback->empty()) {
    return Wrong(absl::StrCat("--start-pos ", plan.start_pos, " needs --lookback: the ids just before it"));
  }
  absl::StatusOr<std::vector<uint8_t>> mask = ParseMask(arguments.lookback_mask, lookback->size(), "--lookback-mask");
  if (!mask.ok()) return mask.status();
  plan.lookback = *std::move(lookback);
  plan.lookback_mask = *std::move(mask);
  return absl::OkStatus();
}

absl::StatusOr<LookupPlan> PlanOf(const Arguments& arguments) {
  LookupPlan plan;
  if (absl::Status status = ReadTokens(arguments, plan); !status.ok()) return status;
  if (absl::Status status = ReadLookback(arguments, plan); !status.ok()) return status;
  absl::StatusOr<std::vector<uint32_t>> layers = ParseTokenIds(arguments.layers, "--layers");
  if (!layers.ok()) return layers.status();
  const absl::StatusOr<v1::RowFormat> format = ParseRowFormat(arguments.format);
  if (!format.ok()) return format.status();
  if ((arguments.output == "safetensors") != !arguments.out.empty()) {
    return Wrong("--output safetensors and --out FILE go together");
  }
  plan.layers = *std::move(layers);
  plan.format = *format;
  plan.unique_rows = arguments.unique_rows;
  plan.chunk_tokens = arguments.chunk_tokens;
  return plan;
}

int Run(const Arguments& arguments) {
  const absl::StatusOr<LookupPlan> plan = PlanOf(arguments);
  if (!plan.ok()) return FailUsage("lookup", plan.status());
  ConnectionOptions options;
  options.address = arguments.server;
  const absl::StatusOr<std::unique_ptr<Connection>> connection = Connection::Connect(options);
  if (!connection.ok()) return Fail("lookup", connection.status());
  const absl::StatusOr<std::vector<LookedUpLayer>> layers = LookUp(**connection, *plan);
  if (!layers.ok()) return Fail("lookup", layers.status());
  if (arguments.output == "safetensors") {
    const absl::Status written = LookupToSafetensors(**connection, *plan, *layers, arguments.out);
    return written.ok() ? 0 : Fail("lookup", written);
  }
  const std::string text = arguments.output == "json" ? LookupAsJson(**connection, *plan, *layers)
                                                      : LookupAsText(**connection, *plan, *layers);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

}  // namespace

void AddLookupCommand(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("lookup", "Look up the rows of one sequence of token ids");
  command->add_option("--server", arguments->server, "HOST:PORT of the server")->required();
  command->add_option("--tokens", arguments->tokens, "Token ids, as 1,2,3");
  command->add_option("--file", arguments->file, "File of token ids: JSON lines, or ids separated by white space");
  command->add_option("--sequence", arguments->sequence, "Name of the sequence, where the file holds several");
  command->add_option("--mask", arguments->mask, "One 0 or 1 a token, as 1,0,1; 0: takes no part (default: all 1)");
  command->add_option("--start-pos", arguments->start_pos, "Position of the first token")
      ->check(WholeNumber(0))
      ->capture_default_str();
  command->add_option("--lookback", arguments->lookback, "Token ids just before --start-pos, oldest first");
  command->add_option("--lookback-mask", arguments->lookback_mask, "One 0 or 1 for each of them (default: all 1)");
  command->add_option("--layers", arguments->layers, "Decoder layer ids, as 1,14 (default: all)");
  command->add_option("--format", arguments->format, "packed, bf16 or hash_ids")->capture_default_str();
  command->add_flag("--unique-rows", arguments->unique_rows,
                    "Have rows that a frame has several times sent once; shows the same");
  command->add_option("--chunk", arguments->chunk_tokens, "Tokens of a step")
      ->check(WholeNumber(1))
      ->capture_default_str();
  command->add_option("--output", arguments->output, "How to show what comes back")
      ->check(CLI::IsMember({"table", "json", "safetensors"}))
      ->capture_default_str();
  command->add_option("--out", arguments->out, "File to write, for safetensors");
  command->callback([arguments, &exit_code] { exit_code = Run(*arguments); });
}

}  // namespace engram
