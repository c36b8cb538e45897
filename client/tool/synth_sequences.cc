#include "client/tool/synth_sequences.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "client/tool/token_file.h"
#include "client/tool/token_source.h"
#include "model/ngram_hash.h"

namespace engram {
namespace {

std::vector<int32_t> CompressedIds(const TokenSequence& text, const std::vector<int32_t>& token_map) {
  std::vector<int32_t> ids(text.tokens.size(), kDead);
  for (size_t i = 0; i < ids.size(); ++i) {
    if (text.mask.empty() || text.mask[i] != 0) ids[i] = token_map[text.tokens[i]];
  }
  return ids;
}

std::string LineOf(const TokenSequence& text) {
  nlohmann::json line = {{"name", text.name}, {"language", text.language}, {"tokens", text.tokens}};
  if (!text.mask.empty()) line["mask"] = text.mask;
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

absl::StatusOr<SynthSequences> ReadSynthSequences(const std::vector<std::string>& paths, const Geometry& geometry,
                                                  const std::vector<int32_t>& token_map) {
  SynthSequences sequences;
  for (const std::string& path : paths) {
    const absl::StatusOr<std::vector<TokenSequence>> texts = ReadSequences(path);
    if (!texts.ok()) return texts.status();
    if (absl::Status status = CheckTokens(*texts, geometry.vocab_size); !status.ok()) return status;
    for (const TokenSequence& text : *texts) {
      sequences.ids.push_back(CompressedIds(text, token_map));
      sequences.lines += LineOf(text);
    }
  }
  if (sequences.ids.empty()) return absl::InvalidArgumentError("the --tokens files hold no sequence");
  return sequences;
}

std::vector<std::vector<uint64_t>> RowsReached(const Geometry& geometry, const HashConstants& constants,
                                               const SynthSequences& sequences) {
  const NgramHasher hasher(geometry, constants);
  std::vector<std::vector<uint64_t>> reached(geometry.layers());
  for (size_t layer = 0; layer < geometry.layers(); ++layer) {
    std::vector<uint64_t>& rows = reached[layer];
    for (const std::vector<int32_t>& ids : sequences.ids) {
      const size_t before = rows.size();
      rows.resize(before + ids.size() * geometry.columns());
      hasher.Hash(layer, ids, 0, absl::MakeSpan(rows).subspan(before));
    }
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  }
  return reached;
}

}  // namespace engram
