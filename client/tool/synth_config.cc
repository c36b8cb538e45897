#include "client/tool/synth_config.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/tool/synth_tokenizer.h"
#include "model/files/file.h"

namespace engram {
namespace {

constexpr uint64_t kConfigBytesMax = 16 << 20;
constexpr uint64_t kTableBytesMax = uint64_t{1} << 60;
constexpr uint64_t kProjectionSideMax = 1 << 20;

// The object that holds the engram keys: the whole, or `text_config` in the Hugging Face form.
nlohmann::json& Section(nlohmann::json& config) {
  const auto text = config.find("text_config");
  return text != config.end() && text->is_object() && text->contains("engram_layer_ids") ? *text : config;
}

// A small positive number under one of two names, or 0: projection and gate are optional here.
uint64_t OptionalSide(const nlohmann::json& section, const char* name, const char* other) {
  for (const char* key : {name, other}) {
    const auto found = section.find(key);
    if (found == section.end() || !found->is_number_unsigned()) continue;
    const uint64_t value = found->get<uint64_t>();
    return value <= kProjectionSideMax ? value : 0;
  }
  return 0;
}

std::vector<uint64_t> SumsOfPrimes(const Geometry& geometry, const std::vector<int64_t>& primes) {
  std::vector<uint64_t> sums;
  for (size_t l = 0; l < geometry.layers(); ++l) {
    const auto begin = primes.begin() + static_cast<ptrdiff_t>(l * geometry.columns());
    sums.push_back(std::accumulate(begin, begin + geometry.columns(), uint64_t{0}));
  }
  return sums;
}

absl::Status CheckSizes(const Geometry& geometry) {
  for (const uint64_t rows : geometry.rows) {
    if (rows <= kTableBytesMax / geometry.packed_row_bytes()) continue;
    return absl::InvalidArgumentError(absl::StrCat("engram_num_embeddings has ", rows, " rows of ",
                                                   geometry.packed_row_bytes(), " bytes; a table may have ",
                                                   kTableBytesMax, " bytes at most"));
  }
  return geometry.Validate();
}

}  // namespace

absl::StatusOr<SynthConfig> LoadSynthConfig(const std::string& path, bool derive_rows) {
  absl::StatusOr<EngramConfig> engram = ReadEngramConfig(path);
  if (!engram.ok()) return engram.status();
  absl::StatusOr<std::string> text = ReadWholeFile(path, kConfigBytesMax);
  if (!text.ok()) return text.status();
  nlohmann::json json = nlohmann::json::parse(*text, nullptr, false);
  if (!json.is_object()) return absl::InvalidArgumentError(absl::StrCat(path, " is no JSON object"));

  SynthConfig config{*engram, {}, {}, {}};
  Geometry& geometry = config.engram.geometry;
  config.constants.primes = DerivePrimes(geometry, engram->engram_vocab_size);
  const std::vector<uint64_t> sums = SumsOfPrimes(geometry, config.constants.primes);
  if (sums != geometry.rows && !derive_rows) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": engram_num_embeddings is [", absl::StrJoin(geometry.rows, ", "),
                     "], but the primes from engram_vocab_size ", engram->engram_vocab_size, " on add up to [",
                     absl::StrJoin(sums, ", "), "] (--derive-rows puts these in)"));
  }
  geometry.rows = sums;
  if (absl::Status status = CheckSizes(geometry); !status.ok()) return status;
  nlohmann::json& section = Section(json);
  section["engram_num_embeddings"] = sums;
  config.projection = {OptionalSide(section, "dim", "hidden_size"), OptionalSide(section, "hc_mult", "hc_mult")};
  config.json = json.dump(1);

  config.constants.token_map = SynthTokenMap(geometry);
  if (config.engram.pad_token_id >= geometry.vocab_size) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": the pad token ", config.engram.pad_token_id,
                                                   " is not below vocab_size ", geometry.vocab_size));
  }
  config.constants.pad_id = config.constants.token_map[config.engram.pad_token_id];
  config.constants.multipliers = DeriveMultipliers(geometry);
  config.constants.offsets = OffsetsOf(geometry, config.constants.primes);
  if (absl::Status status = ValidateHashConstants(geometry, config.constants); !status.ok()) return status;
  return config;
}

}  // namespace engram
