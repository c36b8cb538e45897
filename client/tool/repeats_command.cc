// `engram repeats`.

#include <cstdio>
#include <memory>

#include "absl/strings/str_format.h"
#include "client/tool/checkpoint_sequences.h"
#include "client/tool/command.h"
#include "client/tool/repeats.h"
#include "client/tool/report.h"
#include "client/tool/token_source.h"

namespace engram {
namespace {

struct Arguments {
  std::string checkpoint;
  std::string hash_constants;
  std::vector<std::string> tokens;
};

int Run(const Arguments& arguments) {
  const absl::StatusOr<std::vector<TokenSequence>> texts = ReadAllSequences(arguments.tokens);
  if (!texts.ok()) return FailUsage("repeats", texts.status());
  if (HoldNoTokens(*texts)) return FailUsage("repeats", absl::InvalidArgumentError("--tokens: the files hold none"));
  const absl::StatusOr<Checkpoint> checkpoint = OpenCheckpoint(arguments.checkpoint, arguments.hash_constants);
  if (!checkpoint.ok()) return Fail("repeats", checkpoint.status());
  if (absl::Status status = CheckTokens(*texts, checkpoint->geometry.vocab_size); !status.ok()) {
    return FailUsage("repeats", status);
  }
  size_t tokens = 0;
  for (const TokenSequence& text : *texts) tokens += text.tokens.size();
  absl::PrintF("%d texts, %d tokens; different rows of a window, as a share of its rows (docs/dedup.md)\n%s",
               texts->size(), tokens, RepeatTable(CountRepeats(*checkpoint, *texts), checkpoint->geometry));
  return 0;
}

}  // namespace

void AddRepeatsCommand(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("repeats", "How often texts ask for the same row again, without a server");
  command->add_option("--checkpoint", arguments->checkpoint, "Folder or GGUF file, for its hash")->required();
  command->add_option("--hash-constants", arguments->hash_constants, "File with token map, multipliers and primes");
  command->add_option("--tokens", arguments->tokens, "Files of token sequences (JSON lines)")->required();
  command->callback([arguments, &exit_code] { exit_code = Run(*arguments); });
}

}  // namespace engram
