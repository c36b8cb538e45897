#include "bench_input.h"

#include <nlohmann/json.hpp>

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/tool/token_file.h"
#include "model/files/errors.h"
#include "model/files/json_text.h"
#include "model/ngram_hash.h"

namespace engram {
namespace {

constexpr uint64_t kMarkerBytesMax = 1 << 20;

absl::StatusOr<uint64_t> SeedOf(const std::string& checkpoint) {
  const std::string path = absl::StrCat(checkpoint, "/engram_synth.json");
  ENGRAM_ASSIGN_OR_RETURN(const nlohmann::json marker, ReadJsonObject(path, kMarkerBytesMax));
  const auto seed = marker.find("seed");
  if (seed == marker.end() || !seed->is_number_unsigned()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": seed must be a whole number from 0"));
  }
  return seed->get<uint64_t>();
}

absl::Status AddTokens(const TokenSequence& sequence, size_t tokens_max, BenchInput& input) {
  for (const uint32_t token : sequence.tokens) {
    if (input.tokens.size() == tokens_max) break;
    if (token >= input.geometry().vocab_size) {
      return absl::InvalidArgumentError(absl::StrCat("text ", sequence.name, ": token ", token,
                                                     " is not below vocab_size ", input.geometry().vocab_size));
    }
    input.tokens.push_back(token);
    input.compressed.push_back(input.checkpoint.constants.token_map[token]);
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<uint64_t> BenchInput::RowIds(size_t layer_index) const {
  std::vector<uint64_t> ids(tokens.size() * geometry().columns());
  NgramHasher(geometry(), checkpoint.constants).Hash(layer_index, compressed, 0, absl::MakeSpan(ids));
  return ids;
}

absl::StatusOr<BenchInput> OpenBenchInput(const BenchFiles& files) {
  BenchInput input;
  ENGRAM_ASSIGN_OR_RETURN(input.seed, SeedOf(files.checkpoint));
  ENGRAM_ASSIGN_OR_RETURN(input.checkpoint, OpenCheckpoint(files.checkpoint, ""));
  ENGRAM_ASSIGN_OR_RETURN(const std::vector<TokenSequence> sequences, ReadAllSequences(files.texts));
  for (const TokenSequence& sequence : sequences) {
    ENGRAM_RETURN_IF_ERROR(AddTokens(sequence, files.tokens_max, input));
  }
  if (input.tokens.empty()) return absl::InvalidArgumentError("the texts hold no tokens");
  return input;
}

}  // namespace engram
