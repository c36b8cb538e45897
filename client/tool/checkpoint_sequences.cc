#include "client/tool/checkpoint_sequences.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "model/files/json_text.h"

namespace engram {
namespace {

constexpr uint64_t kMarkerBytesMax = 1 << 20;

absl::Status Wrong(const std::string& path, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", what));
}

}  // namespace

absl::StatusOr<CheckpointSequences> ReadCheckpointSequences(const std::string& checkpoint) {
  const std::string path = absl::StrCat(checkpoint, "/engram_synth.json");
  const absl::StatusOr<nlohmann::json> parsed = ReadJsonObject(path, kMarkerBytesMax);
  if (absl::IsNotFound(parsed.status())) return CheckpointSequences();
  if (!parsed.ok()) return parsed.status();

  const nlohmann::json& marker = *parsed;
  const auto sparse = marker.find("sparse");
  if (sparse == marker.end() || !sparse->is_boolean()) return Wrong(path, "sparse must be true or false");
  CheckpointSequences found;
  found.sparse = sparse->get<bool>();
  const auto name = marker.find("sequences");
  if (name == marker.end() || name->is_null()) {
    if (found.sparse) return Wrong(path, "a sparse checkpoint must name its sequences file");
    return found;
  }
  if (!name->is_string() || name->get<std::string>().find('/') != std::string::npos) {
    return Wrong(path, "sequences must be the name of a file beside it");
  }
  absl::StatusOr<std::vector<TokenSequence>> sequences =
      ReadSequences(absl::StrCat(checkpoint, "/", name->get<std::string>()));
  if (!sequences.ok()) return sequences.status();
  found.sequences = *std::move(sequences);
  return found;
}

}  // namespace engram
