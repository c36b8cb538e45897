// `engram verify`.

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/client.h"
#include "client/tool/checkpoint_sequences.h"
#include "client/tool/command.h"
#include "client/tool/report.h"
#include "client/tool/verify_run.h"
#include "model/digest.h"

namespace engram {
namespace {

struct Arguments {
  std::string server;
  std::string checkpoint;
  std::string hash_constants;
  std::string duration = "10s";
  uint64_t steps = 0;
  uint64_t seed = 1;
  std::vector<std::string> tokens;
  std::string formats = "packed,bf16,hash_ids";
  std::string script = "random";
  size_t chunk_tokens = 512;
  size_t decode_tokens = 32;
};

// The server must hold what the files hold, or comparing rows means nothing.
absl::Status CheckIdentity(const v1::Model& model, const Geometry& geometry, const Checkpoint& checkpoint) {
  const auto differ = [](const char* what, const std::string& server, const std::string& files) {
    return absl::FailedPreconditionError(
        absl::StrCat("the server's ", what, " is ", HexOf(server), ", the checkpoint's ", HexOf(files)));
  };
  if (geometry != checkpoint.geometry) {
    return absl::FailedPreconditionError(
        "the server's geometry is not the checkpoint's: compare `engram info` of both");
  }
  if (model.constants_digest() != checkpoint.constants_digest) {
    return differ("constants_digest", model.constants_digest(), checkpoint.constants_digest);
  }
  if (model.model_digest() != checkpoint.model_digest) {
    return differ("model_digest", model.model_digest(), checkpoint.model_digest);
  }
  return absl::OkStatus();
}

// What was asked for and the server has.
absl::StatusOr<std::vector<v1::RowFormat>> FormatsToUse(const std::string& wanted, const v1::Model& model) {
  absl::StatusOr<std::vector<v1::RowFormat>> formats = ParseRowFormats(wanted);
  if (!formats.ok()) return formats.status();
  const auto absent = [&model](v1::RowFormat format) {
    return std::find(model.formats().begin(), model.formats().end(), format) == model.formats().end();
  };
  formats->erase(std::remove_if(formats->begin(), formats->end(), absent), formats->end());
  if (!formats->empty()) return formats;
  return absl::FailedPreconditionError(
      absl::StrCat("the server (", model.combine(), ") has none of --formats ", wanted));
}

class Verification {
 public:
  Verification(const Arguments& arguments, const Oracle& oracle, CheckpointSequences sequences, Client& client)
      : arguments_(arguments),
        oracle_(oracle),
        sequences_(std::move(sequences)),
        client_(client),
        comparer_(oracle, {MinusZeroLost(client.model()), sequences_.sparse}) {}

  int Run(absl::Duration duration) {
    absl::StatusOr<std::vector<v1::RowFormat>> formats = FormatsToUse(arguments_.formats, client_.model());
    if (!formats.ok()) return Fail("verify", formats.status());
    const absl::Status status = arguments_.script == "random" ? RunTraffic(*formats, duration) : RunScript(*formats);
    if (!comparer_.first_mismatch().empty()) absl::PrintF("first mismatch: %s\n", comparer_.first_mismatch());
    if (!status.ok()) {
      Fail("verify", status);
      ++counts_.mismatches;  // whoever reads the last line alone must not take a broken run for a good one
    }
    absl::PrintF("%s\n", Summary(counts_));
    return counts_.mismatches == 0 ? 0 : kExitFailure;
  }

 private:
  static bool MinusZeroLost(const v1::Model& model) {
    return model.combine() == "ALL_REDUCE_BF16" && model.ranks() > 1;
  }

  absl::Status RunTraffic(const std::vector<v1::RowFormat>& formats, absl::Duration duration) {
    const HashConstants& constants = oracle_.constants();
    std::unique_ptr<TokenSource> source;
    if (sequences_.sparse) {
      source = std::make_unique<ScriptedTokens>(constants, sequences_.sequences);
    } else {
      source = std::make_unique<RandomTokens>(
          constants, arguments_.tokens.empty() ? std::vector<TokenSequence>() : sequences_.sequences);
    }
    const auto& capabilities = client_.model().capabilities();
    const bool fork = std::find(capabilities.begin(), capabilities.end(), "fork") != capabilities.end();
    Traffic traffic(oracle_.geometry(), constants, oracle_.checkpoint().constants_digest, *source,
                    {arguments_.seed, formats, client_.model().limits(), fork});
    const absl::Time start = absl::Now();
    const absl::Status status = RunRandom(client_, traffic, comparer_, duration, arguments_.steps, arguments_.seed);
    const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
    counts_ = comparer_.TakeCounts();
    absl::PrintF("seed %d: %d tokens, %d bytes in %.3f s, %.0f tokens/s with every byte compared; non-zero rows %s\n",
                 arguments_.seed, counts_.tokens, counts_.bytes, seconds,
                 seconds > 0 ? static_cast<double>(counts_.tokens) / seconds : 0, NonzeroPercentage(counts_));
    return status;
  }

  absl::Status RunScript(const std::vector<v1::RowFormat>& formats) {
    if (sequences_.sequences.empty()) {
      return absl::InvalidArgumentError("--script prefill-decode needs sequences: give --tokens FILE");
    }
    const ScriptedTokens source(oracle_.constants(), sequences_.sequences);
    const ScriptOptions options{formats.front(), arguments_.chunk_tokens, arguments_.decode_tokens};
    absl::StatusOr<std::vector<PhaseReport>> phases =
        RunPrefillDecode(client_, source.sequences(), oracle_.geometry().max_ngram_size - 1, comparer_, options);
    if (!phases.ok()) return phases.status();
    for (const PhaseReport& phase : *phases) counts_ += phase.counts;
    absl::PrintF("%d sequences, %s rows\n%s", source.sequences().size(), NameOfFormat(options.format),
                 PhaseTable(*phases));
    return absl::OkStatus();
  }

  const Arguments& arguments_;
  const Oracle& oracle_;
  const CheckpointSequences sequences_;
  Client& client_;
  Comparer comparer_;
  CompareCounts counts_;
};

// The checkpoint's own sequences, or those of --tokens.
absl::StatusOr<CheckpointSequences> SequencesToUse(const Arguments& arguments, const Geometry& geometry) {
  absl::StatusOr<CheckpointSequences> found = ReadCheckpointSequences(arguments.checkpoint);
  if (!found.ok()) return found.status();
  if (!arguments.tokens.empty() && found->sparse) {
    return absl::InvalidArgumentError(
        absl::StrCat("--tokens: ", arguments.checkpoint, " is sparse and has rows for its own sequences only"));
  }
  if (!arguments.tokens.empty()) found->sequences.clear();
  for (const std::string& path : arguments.tokens) {
    absl::StatusOr<std::vector<TokenSequence>> texts = ReadSequences(path);
    if (!texts.ok()) return texts.status();
    std::move(texts->begin(), texts->end(), std::back_inserter(found->sequences));
  }
  if (absl::Status status = CheckTokens(found->sequences, geometry.vocab_size); !status.ok()) return status;
  return found;
}

int Run(const Arguments& arguments) {
  absl::Duration duration;
  if (!absl::ParseDuration(arguments.duration, &duration) || duration <= absl::ZeroDuration()) {
    return FailUsage("verify", absl::InvalidArgumentError(
                                   absl::StrCat("--duration '", arguments.duration, "' is no time such as 30s or 5m")));
  }
  const absl::StatusOr<Oracle> oracle = Oracle::Open(arguments.checkpoint, arguments.hash_constants);
  if (!oracle.ok()) return Fail("verify", oracle.status());
  absl::StatusOr<CheckpointSequences> sequences = SequencesToUse(arguments, oracle->geometry());
  if (!sequences.ok()) return Fail("verify", sequences.status());

  ClientOptions options;
  options.address = arguments.server;
  const absl::StatusOr<std::unique_ptr<Client>> client = Client::Connect(options);
  if (!client.ok()) return Fail("verify", client.status());
  const v1::Model& model = (*client)->model();
  const absl::Status same = CheckIdentity(model, (*client)->geometry(), oracle->checkpoint());
  if (!same.ok()) return Fail("verify", same);
  absl::PrintF("%s at %s: %s, %d ranks, %s, model %s\n", model.name(), arguments.server, model.combine(), model.ranks(),
               model.placement(), HexOf(model.model_digest()));
  return Verification(arguments, *oracle, *std::move(sequences), **client).Run(duration);
}

}  // namespace

void AddVerifyCommand(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("verify",
                                         "Compare every byte a server returns with what a second reader takes from the "
                                         "files. Exit code 1 on a difference.");
  command->add_option("--server", arguments->server, "HOST:PORT of the server")->required();
  command->add_option("--checkpoint", arguments->checkpoint, "The folder or GGUF file it serves")->required();
  command->add_option("--hash-constants", arguments->hash_constants, "File with token map, multipliers and primes");
  auto* steps =
      command->add_option("--steps", arguments->steps, "Stop after so many steps")->check(CLI::PositiveNumber);
  auto* duration =
      command->add_option("--duration", arguments->duration, "Stop after this time, as 30s or 5m (default 10s)");
  command->add_option("--seed", arguments->seed, "Of the random traffic")->capture_default_str();
  command->add_option("--tokens", arguments->tokens, "Files of token sequences (JSON lines) to draw ids from");
  command->add_option("--formats", arguments->formats, "Row formats, of those the server has")->capture_default_str();
  command->add_option("--script", arguments->script, "random traffic, or each sequence once")
      ->check(CLI::IsMember({"random", "prefill-decode"}))
      ->capture_default_str();
  command->add_option("--chunk", arguments->chunk_tokens, "prefill-decode: tokens of a prefill step")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--decode", arguments->decode_tokens, "prefill-decode: tokens decoded one a step")
      ->capture_default_str();
  command->callback([arguments, steps, duration, &exit_code] {
    // Steps alone are no bound in time unless one was given.
    if (steps->count() > 0 && duration->count() == 0) arguments->duration = "inf";
    exit_code = Run(*arguments);
  });
}

}  // namespace engram
