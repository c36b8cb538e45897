// `engram verify`.

#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/connection.h"
#include "client/tool/checkpoint_sequences.h"
#include "client/tool/command.h"
#include "client/tool/number_option.h"
#include "client/tool/report.h"
#include "client/tool/verify_flags.h"
#include "client/tool/verify_run.h"
#include "client/tool/verify_servers.h"
#include "client/tool/verify_streams.h"
#include "model/digest.h"

namespace engram {
namespace {

struct Arguments {
  std::vector<std::string> servers;
  std::string checkpoint;
  std::string hash_constants;
  std::string duration = "10s";
  std::vector<std::string> tokens;
  std::string formats = "packed,bf16,hash_ids";
  std::string script = "random";
  ScriptOptions prefill_decode;
  StreamsOptions streams;
};

// Prints what a run found; returns the exit code.
int Report(const absl::Status& status, const std::string& first_mismatch, CompareCounts counts) {
  if (!first_mismatch.empty()) absl::PrintF("first mismatch: %s\n", first_mismatch);
  if (!status.ok()) {
    Fail("verify", status);
    ++counts.mismatches;  // whoever reads the last line alone must not take a broken run for a good one
  }
  absl::PrintF("%s\n", Summary(counts));
  return counts.mismatches == 0 ? 0 : kExitFailure;
}

int RunTraffic(const Arguments& arguments, const Oracle& oracle, const CheckpointSequences& sequences,
               const std::vector<ServerUnderTest>& servers) {
  const absl::Time start = absl::Now();
  const StreamsReport report = RunStreams(oracle, sequences, servers, arguments.streams);
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  const CompareCounts& counts = report.counts;
  const std::string unique_rows = UniqueRowsLine(arguments.streams.unique_rows, counts);
  absl::PrintF("%d streams: %s, %d of %d cancelled steps ended CANCELLED\n%s", arguments.streams.streams,
               Describe(report.traffic), counts.cancelled, counts.cancels, unique_rows);
  if (arguments.streams.shared_memory) {
    absl::PrintF("shared memory: the rows of %d steps came through it, of %d\n", counts.shared, counts.steps);
  }
  absl::PrintF("seed %d: %d tokens, %d bytes in %.3f s, %.0f tokens/s with every byte compared; non-zero rows %s\n",
               arguments.streams.seed, counts.tokens, counts.bytes, seconds,
               seconds > 0 ? static_cast<double>(counts.tokens) / seconds : 0, NonzeroPercentage(counts));
  return Report(report.status, report.first_mismatch, counts);
}

int RunScript(const Arguments& arguments, const Oracle& oracle, const CheckpointSequences& sequences,
              const ServerUnderTest& server) {
  ConnectionOptions options;
  options.address = server.address;
  const absl::StatusOr<std::unique_ptr<Connection>> connection = Connection::Connect(options);
  if (!connection.ok()) return Fail("verify", connection.status());
  ScriptOptions script = arguments.prefill_decode;
  script.format = server.formats.front();
  script.unique_rows = arguments.streams.unique_rows && script.format != v1::ROW_FORMAT_HASH_IDS;
  const ScriptedTokens source(oracle.constants(), sequences.sequences);
  Comparer comparer(oracle, {server.minus_zero_lost(), sequences.sparse});
  const absl::StatusOr<std::vector<PhaseReport>> phases =
      RunPrefillDecode(**connection, source.sequences(), oracle.geometry().max_ngram_size - 1, comparer, script);
  CompareCounts counts;
  if (phases.ok()) {
    for (const PhaseReport& phase : *phases) counts += phase.counts;
    absl::PrintF("%d sequences, %s rows\n%s%s", source.sequences().size(), NameOfFormat(script.format),
                 PhaseTable(*phases), UniqueRowsLine(arguments.streams.unique_rows, counts));
  }
  return Report(phases.status(), comparer.first_mismatch(), counts);
}

// The checkpoint's own sequences, or those of --tokens.
absl::StatusOr<CheckpointSequences> SequencesToUse(const Arguments& arguments, std::vector<TokenSequence> texts,
                                                   const Geometry& geometry) {
  absl::StatusOr<CheckpointSequences> found = ReadCheckpointSequences(arguments.checkpoint);
  if (!found.ok()) return found.status();
  if (!arguments.tokens.empty() && found->sparse) {
    return absl::InvalidArgumentError(
        absl::StrCat("--tokens: ", arguments.checkpoint, " is sparse and has rows for its own sequences only"));
  }
  if (!arguments.tokens.empty()) found->sequences = std::move(texts);
  // Random ids reach more rows than the few sequences that a checkpoint with all rows may name.
  if (arguments.script == "random" && arguments.tokens.empty() && !found->sparse) found->sequences.clear();
  if (absl::Status status = CheckTokens(found->sequences, geometry.vocab_size); !status.ok()) return status;
  return found;
}

// Reads the duration and checks what CLI11 cannot.
absl::Status CheckArguments(Arguments& arguments) {
  absl::Duration& duration = arguments.streams.duration;
  if (!absl::ParseDuration(arguments.duration, &duration) || duration <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--duration '", arguments.duration, "' is no time such as 30s or 5m"));
  }
  if (arguments.script != "random" && arguments.servers.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat("--servers: --script ", arguments.script,
                                                   " runs against one server, ", arguments.servers.size(),
                                                   " are given"));
  }
  if (arguments.script != "random" && arguments.streams.shared_memory) {
    return absl::InvalidArgumentError(absl::StrCat("--shared-memory: --script ", arguments.script, " does without"));
  }
  return ParseRowFormats(arguments.formats).status();
}

int Run(Arguments& arguments) {
  if (absl::Status status = CheckArguments(arguments); !status.ok()) return FailUsage("verify", status);
  absl::StatusOr<std::vector<TokenSequence>> texts = ReadAllSequences(arguments.tokens);
  if (!texts.ok()) return FailUsage("verify", texts.status());
  const absl::StatusOr<Oracle> oracle = Oracle::Open(arguments.checkpoint, arguments.hash_constants);
  if (!oracle.ok()) return Fail("verify", oracle.status());
  absl::StatusOr<CheckpointSequences> sequences = SequencesToUse(arguments, *std::move(texts), oracle->geometry());
  if (!sequences.ok()) return Fail("verify", sequences.status());
  if (arguments.script != "random" && HoldNoTokens(sequences->sequences)) {
    return FailUsage("verify", absl::InvalidArgumentError("--script prefill-decode needs tokens: give --tokens FILE"));
  }
  const absl::StatusOr<std::vector<ServerUnderTest>> servers =
      ReachServers(arguments.servers, arguments.formats, oracle->checkpoint());
  if (!servers.ok()) return Fail("verify", servers.status());
  for (const ServerUnderTest& server : *servers) {
    absl::PrintF("%s at %s: %s, %d ranks, %s, model %s\n", server.model.name(), server.address, server.model.combine(),
                 server.model.ranks(), server.model.placement(), HexOf(server.model.model_digest()));
    if (absl::Status able = CheckCapabilities(server, arguments.streams); !able.ok()) return Fail("verify", able);
  }
  return arguments.script == "random" ? RunTraffic(arguments, *oracle, *sequences, *servers)
                                      : RunScript(arguments, *oracle, *sequences, servers->front());
}

}  // namespace

void AddVerifyCommand(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("verify",
                                         "Compare every byte a server returns with what a second reader takes from the "
                                         "files. Exit code 1 on a difference.");
  AddServerFlags(*command, arguments->servers);
  command->add_option("--checkpoint", arguments->checkpoint, "The folder or GGUF file it serves")->required();
  command->add_option("--hash-constants", arguments->hash_constants, "File with token map, multipliers and primes");
  auto* steps =
      command->add_option("--steps", arguments->streams.steps, "Stop after so many steps")->check(WholeNumber(1));
  auto* duration =
      command->add_option("--duration", arguments->duration, "Stop after this time, as 30s or 5m (default 10s)");
  AddTrafficFlags(*command, arguments->streams);
  command->add_option("--tokens", arguments->tokens, "Files of token sequences (JSON lines) to draw ids from");
  command->add_option("--formats", arguments->formats, "Row formats, of those the server has")->capture_default_str();
  command->add_option("--script", arguments->script, "random traffic, or each sequence once")
      ->check(CLI::IsMember({"random", "prefill-decode"}))
      ->capture_default_str();
  command->add_option("--chunk", arguments->prefill_decode.chunk_tokens, "prefill-decode: tokens of a prefill step")
      ->check(WholeNumber(1))
      ->capture_default_str();
  command->add_option("--decode", arguments->prefill_decode.decode_tokens, "prefill-decode: tokens decoded one a step")
      ->check(WholeNumber(0))
      ->capture_default_str();
  command->callback([arguments, steps, duration, &exit_code] {
    // Steps alone are no bound in time unless one was given.
    if (steps->count() > 0 && duration->count() == 0) arguments->duration = "inf";
    exit_code = Run(*arguments);
  });
}

}  // namespace engram
